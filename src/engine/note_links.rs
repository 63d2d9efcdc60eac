//! Updates the links of notes after a file or folder of their project was renamed, when a person asks for it.

use super::documents::{Documents, FileVersion, ReplacedText};
use super::{EngineError, blocking};
use crate::domain::Place;
use crate::library::vault::Notes;
use crate::retrieval::note::relink::{LinkEdit, Relinked, Renaming};
use crate::store::{Home, StoreError, etag};

/// Maximum number of notes that are changed at once.
pub const MAX_FILES: usize = 2_000;

/// What was renamed: both places are in the same project.
#[derive(Clone, Debug)]
pub struct Renamed {
    pub from: Place,
    pub to: Place,
}

/// The links that a renaming leaves without their file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleLinks {
    pub count: usize,
    /// Number of notes that have them.
    pub files: usize,
}

/// A note whose links were updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatedNote {
    pub place: Place,
    /// Hash of its new content.
    pub etag: String,
    /// In the order of the text.
    pub links: Vec<UpdatedLink>,
}

/// A part of a note that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatedLink {
    /// Byte at which it begins in the new text.
    pub at: usize,
    pub now: String,
    pub was: String,
}

/// The notes that an update has changed.
#[derive(Debug, Default)]
pub struct UpdatedNotes {
    pub notes: Vec<UpdatedNote>,
    /// Whether there are more than can be changed at once.
    pub more: bool,
}

/// Counts the links that would mean another file, or none. Blocks.
pub fn stale_links(notes: &Notes, renamed: &Renamed) -> StaleLinks {
    let mut stale = StaleLinks::default();
    if let Some(renaming) = renaming(notes, renamed) {
        for (_, count) in stale_notes(notes, &renaming) {
            stale.files += 1;
            stale.count += count;
        }
    }
    stale
}

/// Rewrites the links that a renaming has left without their file, in all of these notes or in none.
///
/// # Errors
/// Returns an error if the files cannot be read or written, or change at the same time.
pub async fn update_links(
    documents: &Documents,
    home: Home,
    notes: std::sync::Arc<Notes>,
    renamed: Renamed,
) -> Result<UpdatedNotes, EngineError> {
    let (updated, texts) = blocking(move || planned(&home, &notes, &renamed)).await?;
    documents.replace_texts(texts).await?;
    Ok(updated)
}

fn planned(home: &Home, notes: &Notes, renamed: &Renamed) -> Result<(UpdatedNotes, Vec<ReplacedText>), StoreError> {
    let (mut updated, mut texts) = (UpdatedNotes::default(), Vec::new());
    let Some(renaming) = renaming(notes, renamed) else { return Ok((updated, texts)) };
    for (path, _) in stale_notes(notes, &renaming) {
        if texts.len() == MAX_FILES {
            updated.more = true;
            break;
        }
        // A note that went or changed since its links were counted is left as it is.
        let Ok(place) = Place::parse(&format!("{}/{path}", renamed.from.root())) else { continue };
        let Ok(read) = home.read_text(&place) else { continue };
        let Some(Relinked { text, edits }) = renaming.relinked(path, &read.content) else { continue };
        let links = links(&read.content, &edits);
        updated.notes.push(UpdatedNote { place: place.clone(), etag: etag(text.as_bytes()), links });
        texts.push(ReplacedText { place, before: etag(read.content.as_bytes()), text });
    }
    Ok((updated, texts))
}

/// Restores the links of notes that an update has changed, in all of them or in none.
///
/// # Errors
/// Returns [`StoreError::Conflict`] if one of the notes has changed since.
pub async fn restore_links(
    documents: &Documents,
    home: Home,
    notes: Vec<UpdatedNote>,
) -> Result<Vec<FileVersion>, EngineError> {
    let texts = blocking(move || notes.iter().map(|note| restored(&home, note)).collect::<Result<_, _>>()).await?;
    documents.replace_texts(texts).await
}

fn restored(home: &Home, UpdatedNote { place, etag, links }: &UpdatedNote) -> Result<ReplacedText, StoreError> {
    let text = home.read_text(place)?.content;
    let changed = || StoreError::Conflict { path: place.to_string(), etag: Some(crate::store::etag(text.as_bytes())) };
    let (mut former, mut done) = (String::with_capacity(text.len()), 0);
    for UpdatedLink { at, now, was } in links {
        let kept = text.get(done..*at).filter(|_| text[*at..].starts_with(now.as_str())).ok_or_else(changed)?;
        former.push_str(kept);
        former.push_str(was);
        done = at + now.len();
    }
    former.push_str(&text[done..]);
    Ok(ReplacedText { place: place.clone(), before: etag.clone(), text: former })
}

fn renaming(notes: &Notes, Renamed { from, to }: &Renamed) -> Option<Renaming> {
    Renaming::new(notes.names.paths(), from.path(), to.path())
}

/// Returns the notes with links that a renaming leaves without their file, and the number of these links.
fn stale_notes<'n>(notes: &'n Notes, renaming: &'n Renaming) -> impl Iterator<Item = (&'n str, usize)> {
    notes.iter().filter_map(|(path, note)| {
        let count = note.links.iter().filter(|link| renaming.target(path, link).is_some()).count();
        (count > 0).then_some((path, count))
    })
}

/// Returns where the edits of a text are in the new text.
fn links(text: &str, edits: &[LinkEdit]) -> Vec<UpdatedLink> {
    let (mut longer, mut shorter) = (0, 0);
    let link = |LinkEdit { range, text: now }: &LinkEdit| {
        let link =
            UpdatedLink { at: range.start + longer - shorter, now: now.clone(), was: text[range.clone()].to_owned() };
        longer += now.len();
        shorter += range.len();
        link
    };
    edits.iter().map(link).collect()
}
