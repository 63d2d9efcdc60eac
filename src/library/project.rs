//! A search by meaning in a project, which also knows the notes in it.

use std::sync::Arc;
use std::time::Duration;

use super::vault::{Notes, Vault};
use super::{IndexCounts, IndexProgress, Library, LibraryError, SearchOptions};
use crate::domain::Hit;
use crate::domain::Place;
use crate::domain::knowledge::Search;
use crate::retrieval::note::NoteQuery;
use crate::retrieval::search::MAX_HITS;

/// Characters of the beginning of a note that is found by its tags only.
const BEGINNING: usize = 600;
/// Maximum number of notes that a found note names in each direction.
pub const MAX_LINKED: usize = 8;

/// The index and the notes of one project.
pub struct ProjectLibrary {
    pub library: Arc<Library>,
    pub vault: Vault,
}

/// What is searched for.
pub struct ProjectQuery<'q> {
    /// A question. `#tag` and `tag:tag` in it leave only notes with all of these tags.
    pub text: &'q str,
    /// Maximum number of passages, at most 100.
    pub most: usize,
    /// How long the search waits for an index that is being built. After that it answers from what is indexed.
    pub patience: Duration,
    /// Which files may be found, by their paths; all if absent.
    pub only: Option<&'q (dyn Fn(&str) -> bool + Sync)>,
}

/// The passages that answer a question, best first.
pub struct FoundPassages {
    pub search: Search,
    pub passages: Vec<FoundPassage>,
    pub progress: IndexProgress,
    pub counts: IndexCounts,
}

pub struct FoundPassage {
    pub hit: Hit,
    /// Path of its file, relative to the root of the project.
    pub path: String,
    /// Absent if it is no note, or has none.
    pub title: Option<String>,
    pub tags: Vec<String>,
    /// The first notes that link to it, and how many do.
    pub linked_from: (Vec<String>, usize),
    /// The first files that it links to, and how many.
    pub links_to: (Vec<String>, usize),
}

/// Maximum characters of a passage: one word, or one line of blanks, can be as long as its file.
const MAX_PASSAGE: usize = 8_000;

impl ProjectLibrary {
    /// Searches the project, after bringing its index up to date. Blocks.
    ///
    /// # Errors
    /// Returns an error if the folder or its index cannot be read.
    pub fn search(&self, query: &ProjectQuery<'_>) -> Result<FoundPassages, LibraryError> {
        let ProjectQuery { text, most, patience, only } = *query;
        let most = most.clamp(1, MAX_HITS);
        let wanted = NoteQuery::parse(text);
        let notes = self.vault.notes()?;
        self.library.refresh_for(patience)?;
        let k = if wanted.tags.is_empty() && only.is_none() { most } else { MAX_HITS };
        let tags = wanted.tags.join(" ");
        let words = if wanted.words.trim().is_empty() { &tags } else { &wanted.words };
        let mut search = self.library.search(words, SearchOptions { k, near_misses: 0, vector_weight: None })?;
        if let Some(only) = only {
            search.hits.retain(|hit| Place::parse(&hit.source).is_ok_and(|place| only(place.path())));
        }
        if !wanted.tags.is_empty() {
            let hits = std::mem::take(&mut search.hits);
            let is_wanted = |path: &str| only.is_none_or(|only| only(path)) && notes.has_tags(path, &wanted.tags);
            search.hits = self.tagged(hits, &is_wanted, (&notes, most));
        }
        search.hits.truncate(most);
        let passages = search.hits.iter().map(|hit| passage(hit, &notes)).collect();
        Ok(FoundPassages { search, passages, progress: self.library.progress(), counts: self.library.counts() })
    }

    /// Returns the hits in the wanted notes, then the beginnings of the other ones.
    fn tagged(&self, hits: Vec<Hit>, is_wanted: &dyn Fn(&str) -> bool, (notes, most): (&Notes, usize)) -> Vec<Hit> {
        let root = self.library.folder();
        let is_hit = |hit: &Hit| Place::parse(&hit.source).is_ok_and(|place| is_wanted(place.path()));
        let mut found: Vec<Hit> = hits.into_iter().filter(is_hit).take(most).collect();
        for (path, _) in notes.iter().filter(|(path, _)| is_wanted(path)) {
            let source = format!("{root}/{path}");
            if found.len() >= most {
                break;
            }
            if found.iter().any(|hit| hit.source == source) {
                continue;
            }
            found.extend(self.beginning(source));
        }
        found
    }

    fn beginning(&self, source: String) -> Option<Hit> {
        let text = self.library.home.read_text(&Place::parse(&source).ok()?).ok()?.content;
        let text: String = text.chars().take(BEGINNING).collect();
        let lines = Some((1, text.lines().count().max(1) as u32));
        let range = (0, text.len());
        Some(Hit { range, text, score: 0.0, confidence: None, weak: false, source, heading: None, lines, how: None })
    }
}

fn passage(hit: &Hit, notes: &Notes) -> FoundPassage {
    let path = Place::parse(&hit.source).map(|place| place.path().to_owned()).unwrap_or_default();
    let note = notes.get(&path);
    let mut from: Vec<&str> = notes.links_to(&path).iter().map(|link| link.path.as_str()).collect();
    from.dedup();
    let to = notes.links_from(&path);
    let first = |paths: &[&str]| (paths.iter().take(MAX_LINKED).map(|path| (*path).to_owned()).collect(), paths.len());
    let mut hit = hit.clone();
    hit.text = hit.text.chars().take(MAX_PASSAGE).collect();
    FoundPassage {
        hit,
        title: note.and_then(|note| note.title.clone()),
        tags: note.map(|note| note.tags.clone()).unwrap_or_default(),
        linked_from: first(&from),
        links_to: first(&to),
        path,
    }
}
