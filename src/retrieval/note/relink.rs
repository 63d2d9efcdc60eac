//! Keeps the links of notes to files that are renamed: which links would mean something else, and what to write instead.

use std::ops::Range;

use super::{FileNames, NoteLink, is_note, parse};

/// The renaming of a file or folder. Paths are relative to the root of the project.
pub struct Renaming {
    from: String,
    to: String,
    /// The files before it, and after it.
    before: FileNames,
    after: FileNames,
}

/// A part of a text, and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEdit {
    pub range: Range<usize>,
    pub text: String,
}

/// A note whose links have been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relinked {
    pub text: String,
    /// In the order of the text, with ranges in the former text.
    pub edits: Vec<LinkEdit>,
}

impl Renaming {
    /// Takes the paths of all files as they are before the renaming or after it. Returns `None` if files are at both paths:
    /// then links to the former path have a file.
    pub fn new(paths: &[String], from: &str, to: &str) -> Option<Self> {
        let is_at = |path: &String, at: &str| moved(path, at, at).is_some();
        if paths.iter().any(|path| is_at(path, from)) && paths.iter().any(|path| is_at(path, to)) {
            return None;
        }
        let all = |old: &str, new: &str| {
            let path = |path: &String| moved(path, old, new).unwrap_or_else(|| path.clone());
            FileNames::new(paths.iter().map(path).collect())
        };
        Some(Self { before: all(to, from), after: all(from, to), from: from.to_owned(), to: to.to_owned() })
    }

    /// Returns the target with which a link in the note `path` means the same file as before; `None` if it does anyway, if it
    /// meant none, or if no link can mean the file. `path` may be that before the renaming or after it.
    pub fn target(&self, path: &str, link: &NoteLink) -> Option<String> {
        let note = moved(path, &self.to, &self.from).unwrap_or_else(|| path.to_owned());
        let target = Some(link.target.as_str()).filter(|target| !target.is_empty())?;
        let meant = self.before.resolve(target, &note)?;
        // Other programs find only the files of links that are paths.
        let is_path = !link.is_wiki && self.before.at(target, &note) == Some(meant);
        let file = moved(meant, &self.from, &self.to).unwrap_or_else(|| meant.to_owned());
        let note = moved(&note, &self.from, &self.to).unwrap_or(note);
        let means_it = |target: &str| {
            self.after.resolve(target, &note) == Some(file.as_str())
                && (!is_path || self.after.at(target, &note) == Some(file.as_str()))
        };
        if means_it(target) {
            return None;
        }
        let fits = |target: &String| if link.is_wiki { fits_wikilink(target) } else { is_note(target) };
        let candidates = if is_path { paths(target, &note, &file) } else { names(target, &note, &file) };
        candidates.into_iter().find(|candidate| fits(candidate) && means_it(candidate))
    }

    /// Returns the text of the note `path` with links that mean the same files as before; `None` if nothing is to be changed,
    /// or if the new links could not be read as they are meant.
    pub fn relinked(&self, path: &str, text: &str) -> Option<Relinked> {
        let links = parse(text).links;
        let (mut new, mut edits, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
        let mut targets = Vec::with_capacity(links.len());
        for link in &links {
            let Some(target) = self.target(path, link) else {
                targets.push(link.target.clone());
                continue;
            };
            let written = if link.is_wiki { target.clone() } else { percent_encoded(&target) };
            new.push_str(&text[done..link.written.start]);
            new.push_str(&written);
            done = link.written.end;
            edits.push(LinkEdit { range: link.written.clone(), text: written });
            targets.push(target);
        }
        new.push_str(&text[done..]);
        let read = parse(&new).links;
        let is_read = |((old, target), link): ((&NoteLink, &String), &NoteLink)| {
            (old.line, old.embed, old.is_wiki, target) == (link.line, link.embed, link.is_wiki, &link.target)
        };
        let agrees = read.len() == links.len() && links.iter().zip(&targets).zip(&read).all(is_read);
        (agrees && !edits.is_empty()).then_some(Relinked { text: new, edits })
    }
}

/// Returns the path of a file after `from` has become `to`; `None` if it is neither there nor below.
fn moved(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

/// Returns what can be written for a file where `target` was written, best first: as short as it was, then unambiguous.
fn names(target: &str, note: &str, file: &str) -> Vec<String> {
    let short = shortened(target, file);
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut names = Vec::new();
    if target.starts_with("./") || target.starts_with("../") {
        let path = relative(note, short);
        names.push(if path.starts_with("../") { path } else { format!("./{path}") });
    } else if target.starts_with('/') {
        names.push(format!("/{short}"));
    } else if !target.contains('/') {
        names.push(name(short));
        names.push(name(file));
    }
    names.extend([short.to_owned(), file.to_owned(), format!("/{short}"), format!("/{file}")]);
    names
}

/// Like [`names`], for a link of Markdown that is a path.
fn paths(target: &str, note: &str, file: &str) -> Vec<String> {
    let (path, absolute) = (relative(note, file), format!("/{file}"));
    let dotted = format!("./{path}");
    if target.starts_with('/') {
        vec![absolute]
    } else if target.starts_with("./") {
        vec![if path.starts_with("../") { path } else { dotted }, absolute]
    } else {
        vec![path, dotted, absolute]
    }
}

/// Returns the path of a file without `.md`, if the target was written without an ending.
fn shortened<'f>(target: &str, file: &'f str) -> &'f str {
    match file.rsplit_once('.') {
        Some((path, ending)) if ending.eq_ignore_ascii_case("md") && !is_note(target) => path,
        _ => file,
    }
}

/// Returns the path of a file relative to the folder of a note.
fn relative(note: &str, file: &str) -> String {
    let folder: Vec<&str> = note.split('/').rev().skip(1).collect();
    let folder: Vec<&str> = folder.into_iter().rev().collect();
    let names: Vec<&str> = file.split('/').collect();
    let shared = folder.iter().zip(&names[..names.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = folder[shared..].iter().map(|_| "..");
    up.chain(names[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

fn fits_wikilink(target: &str) -> bool {
    target.trim() == target && !target.contains(['[', ']', '|', '#', '^', '\\', '\n', '\r'])
}

/// Returns an address for a path. Letters of all scripts stay, as people write them.
fn percent_encoded(path: &str) -> String {
    let mut address = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            ' ' | '%' | '(' | ')' | '<' | '>' | '[' | ']' | '#' | '?' | '\\' | '`' | '"' | '|' | '*' | '_' | '~' => {
                address.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            letter if letter.is_ascii_control() => address.push_str(&format!("%{:02X}", u32::from(letter))),
            letter => address.push(letter),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paths_of(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn relinked(paths: &[&str], (from, to): (&str, &str), (path, text): (&str, &str)) -> Option<String> {
        let renaming = Renaming::new(&paths_of(paths), from, to)?;
        Some(renaming.relinked(path, text)?.text)
    }

    #[test]
    fn links_of_each_form_follow_a_renamed_note() {
        let paths = ["Tea.md", "a/Note.md", "a/Other.md"];
        let text = "---\nx: \"[[Tea]]\"\n---\n[[Tea]] [[tea|the | tea]] ![[Tea#Hot ^b]] [[ Tea.md ]] | [[Tea\\|t]] | [[/Tea]] [[../Tea]]\n\
            [t](../Tea.md#hot) [t](<../Tea.md>) [t](/Tea.md) [t](Tea.md) ![t](../Tea.md)\n\
            `[[Tea]]` \\[[Tea]] %%[[Tea]]%% [[Teapot]]\n```\n[[Tea]] [t](../Tea.md)\n```\n";
        let wanted = "---\nx: \"[[Tea]]\"\n---\n[[Green 茶]] [[Green 茶|the | tea]] ![[Green 茶#Hot ^b]] [[ Green 茶.md ]] | \
            [[Green 茶\\|t]] | [[/b/Green 茶]] [[../b/Green 茶]]\n\
            [t](../b/Green%20茶.md#hot) [t](<../b/Green%20茶.md>) [t](/b/Green%20茶.md) [t](Green%20茶.md) \
            ![t](../b/Green%20茶.md)\n\
            `[[Tea]]` \\[[Tea]] %%[[Tea]]%% [[Teapot]]\n```\n[[Tea]] [t](../Tea.md)\n```\n";
        let renamed = ("Tea.md", "b/Green 茶.md");
        assert_eq!(relinked(&paths, renamed, ("a/Note.md", text)).as_deref(), Some(wanted), "before it is renamed");
        let after = ["b/Green 茶.md", "a/Note.md", "a/Other.md"];
        assert_eq!(relinked(&after, renamed, ("a/Note.md", text)).as_deref(), Some(wanted), "after it was renamed");
        assert_eq!(relinked(&after, renamed, ("a/Note.md", wanted)), None, "nothing is left to be changed");
        let both = ["Tea.md", "b/Green 茶.md", "a/Note.md"];
        assert_eq!(relinked(&both, renamed, ("a/Note.md", text)), None, "the links have a file");
    }

    #[test]
    fn only_links_that_would_mean_something_else_change() {
        let paths = ["Tea.md", "x/Tea.md", "x/Note.md", "y/Note.md"];
        // Moved with the same name, a name still finds it.
        assert_eq!(relinked(&["Tea.md", "Note.md"], ("Tea.md", "z/Tea.md"), ("Note.md", "[[Tea]] [[Tea.md|t]]")), None);
        // A name that another file would get becomes a path.
        let moved = relinked(&paths, ("Tea.md", "z/Tea.md"), ("y/Note.md", "[[Tea]]"));
        assert_eq!(moved.as_deref(), Some("[[z/Tea]]"));
        // The nearer file takes over the name of one that has not moved.
        let nearer =
            relinked(&["Tea.md", "a/Leaf.md", "a/Note.md"], ("a/Leaf.md", "a/Tea.md"), ("a/Note.md", "[[Tea]]"));
        assert_eq!(nearer.as_deref(), Some("[[/Tea]]"));
        // The moved note keeps its own links.
        for at in ["a/Note.md", "b/c/Note.md"] {
            let (renamed, text) = (("a/Note.md", "b/c/Note.md"), "[t](Tea.md) [[./Tea]]");
            let own = relinked(&[at, "a/Tea.md"], renamed, (at, text));
            assert_eq!(own.as_deref(), Some("[t](../../a/Tea.md) [[../../a/Tea]]"), "{at}");
        }
        // A folder.
        let folder = relinked(&["old/Tea.md", "Note.md"], ("old", "new"), ("Note.md", "[[old/Tea]] [t](old/Tea.md)"));
        assert_eq!(folder.as_deref(), Some("[[new/Tea]] [t](new/Tea.md)"));
        // Names that no link can have.
        assert_eq!(relinked(&["Tea.md", "Note.md"], ("Tea.md", "a#b.md"), ("Note.md", "[[Tea]]")), None);
        let encoded = relinked(&["Tea.md", "Note.md"], ("Tea.md", "a#b.md"), ("Note.md", "[[Tea]] [t](Tea.md)"));
        assert_eq!(encoded.as_deref(), Some("[[Tea]] [t](a%23b.md)"));
    }

    proptest! {
        #[test]
        fn parser_reads_rewritten_links_as_they_are_meant(
            text in "(\\[\\[|\\]\\]|!|%%|#h|\\||\\^|`|\n```\n|\n|Tea|a/|\\.\\./|\\.md|[xy]| |\\[x\\]\\(|\\)|<|>|\\\\|茶){0,40}",
            names in prop::collection::btree_set("(a/|b/){0,2}(Tea|x|y|茶|x y|T#a|\\[a|100%)\\.(md|markdown|png)", 1..8),
            (from, to, note) in (any::<prop::sample::Index>(), "(a/|b/|c d/){0,2}(Tea|new|x|茶 2|T#a|\\[a|5%)\\.(md|txt)", any::<prop::sample::Index>()),
        ) {
            let names: Vec<String> = names.into_iter().collect();
            let (from, note) = (from.get(&names).clone(), note.get(&names).clone());
            prop_assume!(!names.contains(&to));
            let Some(renaming) = Renaming::new(&names, &from, &to) else { return Ok(()) };
            let (links, before) = (parse(&text).links, FileNames::new(names.clone()));
            let Some(Relinked { text: new, edits }) = renaming.relinked(&note, &text) else { return Ok(()) };
            let after = FileNames::new(names.iter().map(|path| moved(path, &from, &to).unwrap_or_else(|| path.clone())).collect());
            let read = parse(&new).links;
            prop_assert_eq!(links.len(), read.len());
            let place = moved(&note, &from, &to).unwrap_or_else(|| note.clone());
            let mut changed = 0;
            for (old, link) in links.iter().zip(&read) {
                let meant = before.resolve(&old.target, &note).map(|path| moved(path, &from, &to).unwrap_or_else(|| path.to_owned()));
                if text[old.written.clone()] != new[link.written.clone()] {
                    prop_assert_eq!(after.resolve(&link.target, &place), meant.as_deref());
                    changed += 1;
                }
                // Everything around the target stays.
                prop_assert_eq!(&text[old.range.start..old.written.start], &new[link.range.start..link.written.start]);
                prop_assert_eq!(&text[old.written.end..old.range.end], &new[link.written.end..link.range.end]);
            }
            prop_assert_eq!(changed, edits.len());
            prop_assert!(renaming.relinked(&note, &new).is_none(), "a second time changes nothing");
        }
    }
}
