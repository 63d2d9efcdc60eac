//! The mentions of a note in the other notes of its project: those that are links, and those that could be.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use super::project_search::{LineSearch, search_lines_of};
use crate::domain::Place;
use crate::library::vault::Notes;
use crate::retrieval::note::is_note;
use crate::store::{Home, StoreError};

/// Maximum number of mentions of either kind.
pub const MAX_MENTIONS: usize = 200;
/// Maximum characters of a line that is returned.
const LONGEST_LINE: usize = 300;
/// Minimum characters of a name that is looked for where it is no link: shorter ones are part of other words too often.
const SHORTEST_NAME: usize = 3;
/// Maximum number of names of a note that are looked for.
const MAX_NAMES: usize = 5;
/// Time after which no further name is looked for.
const TIME: Duration = Duration::from_secs(5);

/// A line of another note that mentions a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Path of the other note, relative to the root of the project.
    pub path: String,
    /// From 1.
    pub line: u64,
    /// At most 300 characters.
    pub text: String,
}

/// Who mentions a note, in the order of paths and lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    pub linked: Vec<Mention>,
    /// Whether there are more than 200 of them.
    pub more_linked: bool,
    /// Lines with the name, the title or an alias of the note, but without a link to it.
    pub unlinked: Vec<Mention>,
}

/// Returns who mentions the note in `place`. Blocks.
///
/// # Errors
/// Returns an error if the project cannot be read.
pub fn mentions(home: &Home, notes: &Notes, place: &Place) -> Result<Mentions, StoreError> {
    let links = notes.links_to(place.path());
    let mut found = Mentions { more_linked: links.len() > MAX_MENTIONS, ..Mentions::default() };
    let mut by_file: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for link in links.iter().take(MAX_MENTIONS) {
        by_file.entry(&link.path).or_default().push(u64::from(link.line));
    }
    for (path, lines) in by_file {
        let Ok(other) = Place::parse(&format!("{}/{path}", place.root())) else { continue };
        let Ok(text) = home.read_text(&other) else { continue };
        let all: Vec<&str> = text.content.lines().collect();
        for line in lines {
            let text = all.get(line as usize - 1).unwrap_or(&"").trim().chars().take(LONGEST_LINE).collect();
            found.linked.push(Mention { path: path.to_owned(), line, text });
        }
    }
    found.unlinked = unlinked(home, notes, place)?;
    Ok(found)
}

fn unlinked(home: &Home, notes: &Notes, place: &Place) -> Result<Vec<Mention>, StoreError> {
    let linked: HashSet<(&str, u64)> =
        notes.links_to(place.path()).iter().map(|link| (link.path.as_str(), u64::from(link.line))).collect();
    let root = Place::of_root(place.root().clone());
    let is_other = |other: &Place| other.path() != place.path() && is_note(other.path()) && !other.is_hidden();
    let (mut found, started) = (BTreeMap::new(), Instant::now());
    for name in names(notes, place) {
        if started.elapsed() > TIME {
            break;
        }
        let search = LineSearch { text: &name, case_sensitive: false, most: 2 * MAX_MENTIONS + linked.len() };
        for line in search_lines_of(home, &root, &search, &is_other)?.lines {
            let path = line.place.path();
            if !linked.contains(&(path, line.number)) && has_word(&line.text, &name) {
                found.insert((path.to_owned(), line.number), line.text);
            }
        }
    }
    let mentions = found.into_iter().take(MAX_MENTIONS);
    Ok(mentions.map(|((path, line), text)| Mention { path, line, text: text.trim().to_owned() }).collect())
}

/// Returns the names by which others may mention a note.
fn names(notes: &Notes, place: &Place) -> Vec<String> {
    let name = place.file_name();
    let mut names = vec![name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()];
    if let Some(note) = notes.get(place.path()) {
        names.extend(note.title.clone());
        names.extend(note.aliases.iter().cloned());
    }
    let is_long = |name: &String| name.chars().count() >= SHORTEST_NAME || !name.is_ascii();
    names.retain(is_long);
    names.truncate(MAX_NAMES);
    names
}

/// Whether a text has a name where no letter or digit is next to it. Scripts without spaces have no such bounds.
fn has_word(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let bounds = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || !c.is_ascii());
    text.match_indices(&name)
        .any(|(at, found)| bounds(text[..at].chars().next_back()) && bounds(text[at + found.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};
    use crate::library::vault::Vault;

    #[test]
    fn mentions_are_links_or_names_in_other_notes() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let write = |path: &str, text: &str| std::fs::write(folder.path().join("scratch").join(path), text).unwrap();
        write("Green tea.md", "---\naliases: [Sencha]\n---\nGreen tea is Sencha.");
        write("a.md", "x\nSee [[green tea]] and green tea.\nGreen tea, again. Sencha!\n");
        write("b.md", "Greentea Senchas evergreen teapot\n");
        write("code.rs", "// green tea\n");
        let root = Root::Project(ProjectId::scratch());
        let notes = Vault::new(home.clone(), root.clone()).notes().unwrap();
        let found = mentions(&home, &notes, &Place::of_root(root).child("Green tea.md").unwrap()).unwrap();
        let mention = |line, text: &str| Mention { path: "a.md".to_owned(), line, text: text.to_owned() };
        assert_eq!(found.linked, [mention(2, "See [[green tea]] and green tea.")]);
        assert_eq!(found.unlinked, [mention(3, "Green tea, again. Sencha!")]);
    }

    #[test]
    fn lines_of_other_files_do_not_displace_mentions() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let write = |path: &str, text: &str| std::fs::write(folder.path().join("scratch").join(path), text).unwrap();
        write("a.csv", &"green tea\n".repeat(3 * MAX_MENTIONS));
        write("Green tea.md", &"Green tea.\n".repeat(3 * MAX_MENTIONS));
        write("b.md", &"See [[green tea]].\n".repeat(3 * MAX_MENTIONS));
        write("c.md", "I like green tea.\n");
        let root = Root::Project(ProjectId::scratch());
        let notes = Vault::new(home.clone(), root.clone()).notes().unwrap();
        let found = mentions(&home, &notes, &Place::of_root(root).child("Green tea.md").unwrap()).unwrap();
        let mention = Mention { path: "c.md".to_owned(), line: 1, text: "I like green tea.".to_owned() };
        assert_eq!(found.unlinked, [mention]);
    }
}
