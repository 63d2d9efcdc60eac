//! A folder index: the chunks of a folder's files, kept in step with the files. It opens no file: bytes come in as values.

use std::collections::BTreeMap;
use std::path::Path;

use md5::{Digest, Md5};

use super::chunk::{ChunkLimits, chunked, size};
use super::chunk_index::{self, ChunkIndex, FileState, IndexError, StoredChunk};
use super::extract::{self, Document, DocumentKind, Unreadable};
use super::lexical::Snapshot;
use super::windows::WindowLimit;
use crate::domain::{FileStamp, RelPath};

/// Grows with every change of what is stored or of how text becomes terms; older indexes are made anew.
const VERSION: u32 = 4;

/// A file as a folder listing names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: RelPath,
    /// Differs when the content may have changed.
    pub stamp: FileStamp,
    /// Bytes.
    pub size: u64,
}

/// What must be done to follow a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexUpdate {
    /// New, or with another stamp.
    pub read: Vec<Listed>,
    pub gone: Vec<RelPath>,
}

impl IndexUpdate {
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

pub struct FolderIndex {
    chunk_index: ChunkIndex,
    files: BTreeMap<RelPath, FileState>,
    limits: ChunkLimits,
}

impl FolderIndex {
    /// # Errors
    /// When memory is short.
    pub fn in_memory(limits: ChunkLimits) -> Result<Self, IndexError> {
        Self::of(ChunkIndex::in_memory(index_settings(limits))?, limits)
    }

    /// The index in `folder`, or an empty one where there is none.
    ///
    /// # Errors
    /// When it was made by another version or with other limits, is damaged, or cannot be written: clear the folder and
    /// try again, it is a cache.
    pub fn on_disk(folder: &Path, limits: ChunkLimits) -> Result<Self, IndexError> {
        Self::of(ChunkIndex::on_disk(folder, index_settings(limits))?, limits)
    }

    fn of(chunk_index: ChunkIndex, limits: ChunkLimits) -> Result<Self, IndexError> {
        let mut index = Self { chunk_index, files: BTreeMap::new(), limits };
        index.recall()?;
        Ok(index)
    }

    /// What the index holds is what counts: after a failed commit some of it is not what was put.
    fn recall(&mut self) -> Result<(), IndexError> {
        let files = self.chunk_index.files()?.into_iter();
        self.files = files.filter_map(|file| Some((RelPath::parse(&file.path).ok()?, file))).collect();
        Ok(())
    }

    pub fn files(&self) -> impl Iterator<Item = &FileState> {
        self.files.values()
    }

    /// `listing` is all of the folder, by path.
    pub fn plan(&self, listing: &[Listed]) -> IndexUpdate {
        debug_assert!(listing.is_sorted_by(|a, b| a.path < b.path), "a listing is sorted and names no file twice");
        let mut plan = IndexUpdate::default();
        let mut known = self.files.iter().peekable();
        for file in listing {
            while let Some((path, _)) = known.next_if(|(path, _)| **path < file.path) {
                plan.gone.push(path.clone());
            }
            match known.next_if(|(path, _)| **path == file.path) {
                Some((_, state)) if state.stamp == file.stamp => {}
                _ => plan.read.push(file.clone()),
            }
        }
        plan.gone.extend(known.map(|(path, _)| path.clone()));
        plan
    }

    /// Whether the index holds a file with just this content; its new stamp is noted then. `content` is a [`fingerprint`].
    pub fn holds(&mut self, file: &Listed, content: &str) -> bool {
        match self.files.get_mut(&file.path) {
            Some(known) if known.content == content => {
                known.stamp = file.stamp;
                true
            }
            _ => false,
        }
    }

    /// Puts a text file in, or its new content in place of the old one. `bytes` is the content or why it cannot be had.
    /// True if anything changed.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn put(&mut self, file: &Listed, bytes: Result<Vec<u8>, Unreadable>) -> Result<bool, IndexError> {
        let content = bytes.as_ref().map(|bytes| fingerprint(bytes)).unwrap_or_default();
        if !content.is_empty() && self.holds(file, &content) {
            return Ok(false);
        }
        let read = bytes.and_then(|bytes| match DocumentKind::of(&file.path) {
            None => extract::text(&file.path, bytes),
            Some(_) => Err(Unreadable::NoReader("this index is of text files only".to_owned())),
        });
        self.insert(file, content, read)
    }

    /// Puts in what was read of a file, in the place of what was there of it. `content` is its [`fingerprint`], empty where it
    /// could not be opened. True if anything changed.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn insert(
        &mut self,
        file: &Listed,
        content: String,
        read: Result<Document, Unreadable>,
    ) -> Result<bool, IndexError> {
        let (chunks, problem) = match read {
            Ok(document) => {
                let cut = chunked(&file.path, &document, self.limits, &size);
                let stored = cut.chunks.into_iter().map(|chunk| StoredChunk {
                    id: chunk.id,
                    source: file.path.to_string(),
                    title: cut.title.clone(),
                    heading: chunk.heading,
                    text: document.text[chunk.range.clone()].to_owned(),
                    range: chunk.range,
                    lines: document.is_file.then_some(chunk.lines),
                    tokens: chunk.tokens as u32,
                    units: chunk.units,
                });
                (stored.collect(), None)
            }
            Err(problem) => (Vec::new(), Some(problem)),
        };
        // What is no fault of the file is tried again: no file has this stamp, and nothing is known of its content.
        let (stamp, content) = match problem {
            Some(Unreadable::NoReader(_)) => (FileStamp::default(), String::new()),
            _ => (file.stamp, content),
        };
        let known = self.files.get(&file.path);
        if problem.is_some() && known.is_some_and(|known| known.problem == problem && known.stamp == stamp) {
            return Ok(false);
        }
        let places = known.map(|known| known.places.clone()).unwrap_or_default();
        let mut state = FileState { path: file.path.to_string(), stamp, content, places, problem };
        self.chunk_index.put(&mut state, &chunks)?;
        self.files.insert(file.path.clone(), state);
        Ok(true)
    }

    /// # Errors
    /// When the index cannot be written.
    pub fn remove(&mut self, path: &RelPath) -> Result<(), IndexError> {
        if self.files.remove(path).is_some() {
            self.chunk_index.remove(path.as_str())?;
        }
        Ok(())
    }

    /// Makes the changes since the last commit visible and, on disk, durable; all of them or none.
    ///
    /// # Errors
    /// When the index cannot be written; it then knows what it held before.
    pub fn commit(&mut self) -> Result<(), IndexError> {
        let committed = self.chunk_index.commit();
        if committed.is_err() {
            self.recall()?;
        }
        committed
    }

    /// # Errors
    /// When the index is damaged.
    pub fn snapshot(&self) -> Result<Snapshot, IndexError> {
        self.chunk_index.snapshot(self.files.values())
    }
}

fn index_settings(limits: ChunkLimits) -> chunk_index::ChunkIndexSettings {
    let mark = format!("miniclaw index {VERSION}, chunks of {} tokens, {} repeated", limits.tokens, limits.overlap);
    chunk_index::ChunkIndexSettings { mark, window: WindowLimit(limits.tokens) }
}

/// Tells whether a content changed; no protection against who wants two files to look the same.
pub fn fingerprint(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Md5::digest(bytes))
}
