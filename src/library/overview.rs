//! What a library has, for display: its files with their chunks, and what it is doing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{IndexProgress, Library, LibraryError, SearchedIn};
use crate::domain::EmbedError;
use crate::domain::knowledge::{Embedded, ModelName};
use crate::retrieval::SearchError;
use crate::retrieval::chunk_index::{FileState, StoredChunk};

/// A chunk of a file, for display.
pub struct FileChunk {
    pub chunk: StoredChunk,
    pub has_vector: bool,
}

/// The state of a library, for display.
pub struct Overview {
    pub files: Vec<FileState>,
    /// Number of files that are not indexed because there are too many.
    pub left_out: usize,
    pub embedded: Embedded,
    pub progress: IndexProgress,
    pub model: Option<ModelName>,
    /// Why there is no model, if loading or using it failed.
    pub no_model: Option<EmbedError>,
    /// On this machine, or in the database if it is searched there.
    pub bytes_on_disk: u64,
    pub searched_in: SearchedIn,
}

/// How large an index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LibrarySize {
    pub files: usize,
    /// On this machine.
    pub bytes: u64,
}

impl Library {
    /// Returns the size of the index as of its last change. It waits neither for a change under way nor for the database.
    pub fn size(&self) -> LibrarySize {
        let files = match &self.view().database {
            Some(place) => place.file_count(),
            None => self.indexed_files.load(Ordering::Relaxed),
        };
        LibrarySize { files, bytes: self.home.caches().size(&self.cache_prefix()) }
    }

    /// Returns the chunks of a file in order.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Library::search`].
    pub fn chunks(self: &Arc<Self>, path: &str) -> Result<Vec<FileChunk>, LibraryError> {
        self.refresh()?;
        let view = self.view();
        if let Some(place) = &view.database {
            return place.chunks_of(path);
        }
        let Some(snapshot) = &view.snapshot else { return Ok(Vec::new()) };
        let chunks = snapshot.chunks_of(path).map_err(SearchError::from)?;
        let has_vector = |chunk: &StoredChunk| view.store.as_ref().is_some_and(|store| store.has(&chunk.indexed()));
        Ok(chunks.into_iter().map(|chunk| FileChunk { has_vector: has_vector(&chunk), chunk }).collect())
    }

    pub fn overview(&self) -> Overview {
        let view = self.view();
        let of_index =
            || self.lock(&self.index).as_ref().map(|index| index.files().cloned().collect()).unwrap_or_default();
        let files = view.database.as_ref().map_or_else(of_index, |place| place.file_states());
        let bytes_on_disk = match &view.database {
            Some(place) => place.bytes(),
            None => self.home.caches().size(&self.cache_prefix()),
        };
        let searched_in = self.searched_in();
        let state = self.background.state();
        Overview {
            files,
            left_out: state.left_out,
            embedded: view.embedded(),
            progress: state.progress,
            model: view.store.as_ref().map(|store| store.model.clone()),
            no_model: state.no_model.as_ref().map(|failure| failure.error.clone()),
            bytes_on_disk,
            searched_in,
        }
    }

    /// Returns how many files the last scan left out of the index because there are too many.
    pub fn left_out(&self) -> usize {
        self.background.state().left_out
    }
}
