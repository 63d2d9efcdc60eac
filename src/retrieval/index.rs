//! A folder index: the chunks of a folder's files, kept in sync with the files. It opens none of them: callers pass in the bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use md5::{Digest, Md5};

use super::chunk::{ChunkLimits, chunked, size};
use super::chunk_index::{self, ChunkIndex, FileState, IndexError, StoredChunk};
use super::extract::{self, Document, DocumentKind, Unreadable};
use super::snapshot::IndexSnapshot;
use super::windows::WindowLimit;
use crate::domain::{FileStamp, RelPath};

/// Version of the stored format and of the text analysis; increase it with every change of either. Older indexes are rebuilt.
const VERSION: u32 = 4;

/// An entry of a folder listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: RelPath,
    /// Different whenever the content may have changed.
    pub stamp: FileStamp,
    /// Size in bytes.
    pub size: u64,
}

/// The changes that bring an index in sync with its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexUpdate {
    /// Files that are new or have another stamp.
    pub read: Vec<Listed>,
    pub gone: Vec<RelPath>,
}

impl IndexUpdate {
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

/// Returns the document of the bytes of a text file.
pub type TextReader = fn(&RelPath, Vec<u8>) -> Result<Document, Unreadable>;

pub struct FolderIndex {
    chunk_index: ChunkIndex,
    files: BTreeMap<RelPath, FileState>,
    limits: ChunkLimits,
}

impl FolderIndex {
    /// # Errors
    /// Returns an error if the index cannot be created in memory.
    pub fn in_memory(limits: ChunkLimits) -> Result<Self, IndexError> {
        Self::of(ChunkIndex::in_memory(index_settings(limits))?, limits)
    }

    /// Opens the index in `folder`, or creates an empty one if there is none.
    ///
    /// # Errors
    /// Returns an error if the index was built by another version or with other limits, is damaged, or cannot be written. It is
    /// a cache: clear the folder and retry.
    pub fn on_disk(folder: &Path, limits: ChunkLimits) -> Result<Self, IndexError> {
        Self::of(ChunkIndex::on_disk(folder, index_settings(limits))?, limits)
    }

    /// Opens a copy in memory of an index on disk, from the contents of its files by their names.
    ///
    /// # Errors
    /// Returns the errors of [`FolderIndex::on_disk`], and an error if there is no index.
    pub fn of_files(files: &BTreeMap<String, Vec<u8>>, limits: ChunkLimits) -> Result<Self, IndexError> {
        Self::of(ChunkIndex::of_files(files, index_settings(limits))?, limits)
    }

    fn of(chunk_index: ChunkIndex, limits: ChunkLimits) -> Result<Self, IndexError> {
        let mut index = Self { chunk_index, files: BTreeMap::new(), limits };
        index.reload_files()?;
        Ok(index)
    }

    /// Reloads the list of files from the index, because after a failed commit it can differ from what was added.
    fn reload_files(&mut self) -> Result<(), IndexError> {
        let files = self.chunk_index.files()?.into_iter();
        self.files = files.filter_map(|file| Some((RelPath::parse(&file.path).ok()?, file))).collect();
        Ok(())
    }

    pub fn files(&self) -> impl Iterator<Item = &FileState> {
        self.files.values()
    }

    /// Returns the files below a folder.
    pub fn files_below(&self, folder: &RelPath) -> impl Iterator<Item = RelPath> {
        let prefix = format!("{folder}/");
        let (below, after) = (prefix.clone(), self.files.range(folder.clone()..).map(|(path, _)| path));
        // A name that continues that of the folder may sort before what is in the folder.
        let from_first = after.skip_while(move |path| path.as_str() < below.as_str());
        from_first.take_while(move |path| path.as_str().starts_with(&prefix)).cloned()
    }

    /// Compares the index with the folder. `listing` contains all files of the folder, sorted by path.
    pub fn plan(&self, listing: &[Listed]) -> IndexUpdate {
        plan(&self.files, listing)
    }

    /// Returns whether the index holds this file with exactly this content, and if so remembers its new stamp. `content` is a
    /// [`fingerprint`].
    pub fn holds(&mut self, file: &Listed, content: &str) -> bool {
        match self.files.get_mut(&file.path) {
            Some(known) if known.content == content => {
                known.stamp = file.stamp;
                true
            }
            _ => false,
        }
    }

    /// Adds a text file to the index, or replaces its content. `bytes` is the content or the reason why it is unavailable.
    /// Returns whether anything changed.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written.
    pub fn put(&mut self, file: &Listed, bytes: Result<Vec<u8>, Unreadable>) -> Result<bool, IndexError> {
        self.put_read(file, bytes, extract::text)
    }

    /// Like [`FolderIndex::put`], with a text as `read` makes it of the bytes.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written.
    pub fn put_read(
        &mut self,
        file: &Listed,
        bytes: Result<Vec<u8>, Unreadable>,
        read: TextReader,
    ) -> Result<bool, IndexError> {
        let content = bytes.as_ref().map(|bytes| fingerprint(bytes)).unwrap_or_default();
        if !content.is_empty() && self.holds(file, &content) {
            return Ok(false);
        }
        let read = bytes.and_then(|bytes| match DocumentKind::of(&file.path) {
            None => read(&file.path, bytes),
            Some(_) => Err(Unreadable::NoReader("this index is of text files only".to_owned())),
        });
        self.insert(file, content, read)
    }

    /// Adds the text that was read from a file, or replaces its previous text. `content` is the [`fingerprint`] of the file, or
    /// empty if it could not be opened. Returns whether anything changed.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written.
    pub fn insert(
        &mut self,
        file: &Listed,
        content: String,
        read: Result<Document, Unreadable>,
    ) -> Result<bool, IndexError> {
        let StoredFile { mut state, chunks } = StoredFile::of(file, content, read, self.limits);
        let known = self.files.get(&file.path);
        if known.is_some_and(|known| state.is_still_unreadable(known)) {
            return Ok(false);
        }
        state.chunks = known.map(|known| known.chunks.clone()).unwrap_or_default();
        self.chunk_index.put(&mut state, &chunks)?;
        self.files.insert(file.path.clone(), state);
        Ok(true)
    }

    /// Removes a file and its chunks from the index.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written.
    pub fn remove(&mut self, path: &RelPath) -> Result<(), IndexError> {
        if self.files.remove(path).is_some() {
            self.chunk_index.remove(path.as_str())?;
        }
        Ok(())
    }

    /// Makes the changes since the last commit visible and, on disk, durable; all of them or none.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written; the index is then back at its last commit.
    pub fn commit(&mut self) -> Result<(), IndexError> {
        let committed = self.chunk_index.commit();
        if committed.is_err() {
            self.reload_files()?;
        }
        committed
    }

    /// Releases the memory and threads that changes need, if at `now` there has been none for a while. Returns whether they were
    /// released.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written; what is committed is not lost.
    pub fn release_idle_writer(&mut self, now: Instant) -> Result<bool, IndexError> {
        self.chunk_index.release_idle_writer(now)
    }

    /// Rewrites what still holds removed chunks, so that nothing of them is left in the index's files. Call it after a commit.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written; it can still be used.
    pub fn drop_removed(&mut self) -> Result<(), IndexError> {
        self.chunk_index.drop_removed()
    }

    /// Returns a file as it would have to be stored elsewhere, or `None` if the last commit does not have it.
    ///
    /// # Errors
    /// Returns an error if the index is damaged.
    pub fn stored_file(&self, path: &RelPath, snapshot: &IndexSnapshot) -> Result<Option<StoredFile>, IndexError> {
        let Some(state) = self.files.get(path) else { return Ok(None) };
        let chunks = snapshot.chunks_with_units(path.as_str())?;
        Ok(Some(StoredFile { state: state.without_chunks(), chunks }))
    }

    /// Returns a snapshot of the chunks of the last commit.
    ///
    /// # Errors
    /// Returns an error if the index is damaged.
    pub fn snapshot(&self) -> Result<IndexSnapshot, IndexError> {
        self.chunk_index.snapshot(self.files.values())
    }
}

/// A file as it was read, with its chunks.
pub struct StoredFile {
    pub state: FileState,
    pub chunks: Vec<StoredChunk>,
}

impl StoredFile {
    /// Splits the text that was read from a file. `content` is the [`fingerprint`] of the file, or empty if it could not be opened.
    pub fn of(file: &Listed, content: String, read: Result<Document, Unreadable>, limits: ChunkLimits) -> Self {
        let (chunks, problem) = match read {
            Ok(document) => {
                let cut = chunked(&file.path, &document, limits, &size);
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
        // A failure that is not the file's fault is retried: no file has the default stamp or an empty fingerprint.
        let (stamp, content) = match problem {
            Some(Unreadable::NoReader(_)) => (FileStamp::default(), String::new()),
            _ => (file.stamp, content),
        };
        let state = FileState { path: file.path.to_string(), stamp, content, chunks: Arc::default(), problem };
        Self { state, chunks }
    }
}

/// Compares indexed files with their folder. `listing` contains all files of the folder, sorted by path.
pub fn plan(files: &BTreeMap<RelPath, FileState>, listing: &[Listed]) -> IndexUpdate {
    debug_assert!(listing.is_sorted_by(|a, b| a.path < b.path), "a listing is sorted and names no file twice");
    let mut plan = IndexUpdate::default();
    let mut known = files.iter().peekable();
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

fn index_settings(limits: ChunkLimits) -> chunk_index::ChunkIndexSettings {
    chunk_index::ChunkIndexSettings { version_tag: version_tag(limits), window: WindowLimit(limits.tokens) }
}

/// Returns what an index is made by: one of another tag has to be made anew.
pub fn version_tag(limits: ChunkLimits) -> String {
    format!("miniclaw index {VERSION}, chunks of {} tokens, {} repeated", limits.tokens, limits.overlap)
}

/// Returns the MD5 of a content in hexadecimal, to detect changes. It does not protect against deliberate collisions.
pub fn fingerprint(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Md5::digest(bytes))
}
