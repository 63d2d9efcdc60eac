//! A note: a Markdown file as Obsidian writes them, with front matter, tags, and links to other notes.
//!
//! What is understood is what Obsidian documents: `[[note]]`, `[[note|text]]`, `[[note#heading]]`, `![[embed]]`, block ids at the
//! end of a line (`^id`), comments between `%%`, tags (`#a/b`), and the fields `title`, `aliases` and `tags` of the front matter.
//! Links of Markdown to other notes count too. Nothing in code does.

mod front_matter;
pub mod names;
pub mod relink;
mod scan;

use std::collections::HashSet;
use std::ops::Range;

use super::extract::{self, Document, Unreadable};
use crate::domain::RelPath;

pub use front_matter::Properties;
pub use names::FileNames;

/// Maximum number of links, and of tags, of one note; the others do not count.
const MAX_LINKS: usize = 10_000;
const MAX_TAGS: usize = 1_000;

/// What a note says about itself and other notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    pub title: Option<String>,
    pub aliases: Vec<String>,
    /// Without the `#`, as first written; no tag twice, whatever its case.
    pub tags: Vec<String>,
    /// In the order of the text.
    pub links: Vec<NoteLink>,
}

/// A link to a note or another file.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteLink {
    /// The file as it is written, without a heading or block; empty for a place in the same note.
    pub target: String,
    /// Line in the file, from 1.
    pub line: u32,
    /// Byte range of the whole link in the file.
    pub range: Range<usize>,
    /// Byte range of the target in the file, as it is written there.
    pub written: Range<usize>,
    /// Whether it is written with double brackets; else it is a link of Markdown.
    pub is_wiki: bool,
    /// Whether the file is shown in place of the link.
    pub embed: bool,
}

/// Returns whether a file is a note, by its name.
pub fn is_note(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && (ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown"))
    })
}

/// Reads a note. Any text is one.
pub fn parse(text: &str) -> Note {
    let (properties, body) = front_matter::split(text);
    let mut note = Note { title: properties.title, aliases: properties.aliases, ..Note::default() };
    let mut known = HashSet::new();
    for tag in &properties.tags {
        add_tag(&mut note.tags, &mut known, tag);
    }
    let scanned = scan::scan(text, body);
    for tag in scanned.tags {
        add_tag(&mut note.tags, &mut known, &text[tag]);
    }
    note.links = scanned.links;
    note
}

/// Adds a tag, unless it is among the `known` ones, which are in lower case.
fn add_tag(tags: &mut Vec<String>, known: &mut HashSet<String>, tag: &str) {
    if tags.len() < MAX_TAGS && known.insert(tag.to_lowercase()) {
        tags.push(tag.to_owned());
    }
}

/// Returns whether a tag is the wanted one or below it: `a/b` is below `a`. Case does not count.
pub fn has_tag(tag: &str, wanted: &str) -> bool {
    let (tag, wanted) = (tag.to_lowercase(), wanted.to_lowercase());
    tag.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the document of a text file of a project. For a note, what no reader sees (comments, block ids) is blanked, so that
/// lines and byte ranges stay the same, and its aliases belong to its title, by which all of its chunks are found.
///
/// # Errors
/// Returns an error if the bytes are not UTF-8 or contain zero bytes.
pub fn document(path: &RelPath, bytes: Vec<u8>) -> Result<Document, Unreadable> {
    let document = extract::text(path, bytes)?;
    if !is_note(path.as_str()) {
        return Ok(document);
    }
    let (properties, body) = front_matter::split(&document.text);
    let hidden = scan::scan(&document.text, body).hidden;
    let title = title(path.file_name(), &properties);
    let text = blanked(document.text, &hidden);
    Ok(Document { title, text, ..document })
}

/// Returns the title of a note, with its aliases; `None` if it has neither.
fn title(file_name: &str, properties: &Properties) -> Option<String> {
    let Properties { title, aliases, .. } = properties;
    if aliases.is_empty() {
        return title.clone();
    }
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
    Some(format!("{} ({})", title.as_deref().unwrap_or(stem), aliases.join(", ")))
}

/// Replaces ranges by blanks of the same length; line breaks stay.
fn blanked(text: String, ranges: &[Range<usize>]) -> String {
    if ranges.is_empty() {
        return text;
    }
    let mut blanked = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        blanked.push_str(&text[done..range.start]);
        let blank = |byte: u8| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' };
        blanked.extend(text[range.clone()].bytes().map(blank));
        done = range.end;
    }
    blanked.push_str(&text[done..]);
    blanked
}

/// A question about notes: the tags that they must have, and the other words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteQuery {
    /// Without the `#`.
    pub tags: Vec<String>,
    pub words: String,
}

impl NoteQuery {
    /// Takes `#tag` and `tag:tag` out of a question. In quotation marks, nothing is a tag.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        if text.trim_start().starts_with(['"', '“', '「', '『']) {
            return Self { words: text.to_owned(), ..query };
        }
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            let tag =
                word.strip_prefix("tag:").map(|tag| tag.trim_start_matches('#')).or_else(|| word.strip_prefix('#'));
            match tag.filter(|tag| scan::tag_length(tag) == tag.len() && !tag.is_empty()) {
                Some(tag) => query.tags.push(tag.trim_end_matches('/').to_owned()),
                None => words.push(word),
            }
        }
        if query.tags.is_empty() {
            return Self { words: text.to_owned(), ..query };
        }
        query.words = words.join(" ");
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEA: &str = "---\ntitle: Green tea\naliases: [Sencha, 煎茶]\ntags:\n  - drink/tea\n  - Japan\n---\n# Notes\n\n\
        See [[Water]], [[kettles/Iron|the kettle]] and [[#Steep]] %%not [[Secret]] #hidden%% #japan #hot-water.\n\
        `[[Code]] #code` and \\[[Escaped]] ![[leaf.png]] ^block-1\n\n\
        ```\n[[Fenced]] #fenced\n```\n\n[cups](../things/Tea%20cup.md#blue) [web](https://x.org/a.md) #1 a#b #2nd\n%%\n\
        [[Commented]]\n%%\n[[Last#Head^b]]\n";

    fn targets(text: &str) -> Vec<(String, u32, bool)> {
        parse(text).links.into_iter().map(|link| (link.target, link.line, link.embed)).collect()
    }

    #[test]
    fn note_has_title_aliases_tags_and_links() {
        let note = parse(TEA);
        assert_eq!(note.title.as_deref(), Some("Green tea"));
        assert_eq!(note.aliases, ["Sencha", "煎茶"]);
        assert_eq!(note.tags, ["drink/tea", "Japan", "hot-water", "2nd"]);
        let links = [("Water", 10, false), ("kettles/Iron", 10, false), ("", 10, false), ("leaf.png", 11, true)];
        let last = [("../things/Tea cup.md", 17, false), ("Last", 21, false)];
        let wanted: Vec<_> =
            links.iter().chain(&last).map(|(to, line, embed)| ((*to).to_owned(), *line, *embed)).collect();
        assert_eq!(targets(TEA), wanted);
        for link in &note.links {
            assert!(TEA[link.range.clone()].starts_with(['[', '!']), "{link:?}");
        }
    }

    #[test]
    fn fields_may_be_written_in_the_ways_that_people_use() {
        for (text, tags, aliases) in [
            ("---\ntags: a, b c\nalias: One\n---\n", &["a", "b", "c"][..], &["One"][..]),
            ("---\ntag: \"#x\"\naliases: One, Two\n---\n", &["x"], &["One", "Two"]),
            ("---\r\nTags: [X, x]\r\nAliases:\r\n- 7\r\n---\r\n#y\r\n", &["X", "y"], &["7"]),
            ("---\ntags: [unclosed\n---\n#after", &["after"], &[]),
            ("---\nnever closed\n#in", &["in"], &[]),
            ("\n---\ntags: late\n---\n", &[], &[]),
            ("---\n---\n", &[], &[]),
        ] {
            let note = parse(text);
            assert_eq!(
                (note.tags, note.aliases),
                (tags.iter().map(|t| (*t).to_owned()).collect(), aliases.iter().map(|t| (*t).to_owned()).collect()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn document_of_a_note_hides_comments_and_keeps_positions() {
        let path = RelPath::parse("project/x/Tea.md").unwrap();
        let document = document(&path, TEA.as_bytes().to_vec()).unwrap();
        assert_eq!(document.title.as_deref(), Some("Green tea (Sencha, 煎茶)"));
        assert_eq!((document.text.len(), document.text.lines().count()), (TEA.len(), TEA.lines().count()));
        assert!(!document.text.contains("Secret") && !document.text.contains("Commented"));
        assert!(!document.text.contains("^block-1") && document.text.contains("[[Water]]"));
        let code = RelPath::parse("project/x/a.rs").unwrap();
        assert_eq!(super::document(&code, b"a %%b%%".to_vec()).unwrap().text, "a %%b%%");
    }

    #[test]
    fn question_names_the_tags_that_count() {
        let parsed = |text: &str| {
            let NoteQuery { tags, words } = NoteQuery::parse(text);
            (tags.join(","), words)
        };
        let pair = |tags: &str, words: &str| (tags.to_owned(), words.to_owned());
        assert_eq!(parsed("#tea how  hot tag:drink/x"), pair("tea,drink/x", "how hot"));
        assert_eq!(parsed("issue #12 in C#"), pair("", "issue #12 in C#"));
        assert_eq!(parsed("tag:#茶"), pair("茶", ""));
        assert_eq!(parsed("\"#tea\""), pair("", "\"#tea\""));
        assert!(has_tag("Drink/Tea", "drink") && has_tag("a", "A") && !has_tag("drinks", "drink"));
    }

    #[test]
    fn hostile_text_is_read_in_linear_time() {
        for piece in ["[[", "[", "](", "`", "``` ", "%%", "#a/", "![[a|", "^a ", "\\", "~~~\n", "> "] {
            let text = piece.repeat((1 << 18) / piece.len());
            let note = parse(&text);
            assert!(note.links.len() <= MAX_LINKS && note.tags.len() <= MAX_TAGS, "{piece:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_note_with_ranges_in_bounds(
            text in "(\\[\\[|\\]\\]|!|%%|#|\\||\\^|`|```|~~~|\n|---\n|a|茶|\u{301}| |\\[x\\]\\(|\\)|tags: |- |\\\\|é|\r\n){0,60}",
        ) {
            let note = parse(&text);
            for link in &note.links {
                prop_assert!(text.get(link.range.clone()).is_some() && link.line >= 1);
            }
            let path = RelPath::parse("project/x/a.md").unwrap();
            if let Ok(document) = document(&path, text.clone().into_bytes()) {
                prop_assert_eq!(document.text.len(), text.len());
                prop_assert_eq!(document.text.matches('\n').count(), text.matches('\n').count());
            }
        }
    }
}
