//! Keeps the index in sync with the folder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::background::Task;
use super::conversations::ConversationHeads;
use super::{IndexProgress, IndexState, IndexStorage, Library, LibraryError, LibrarySource, TESTS, View, documents};
use crate::domain::Root;
use crate::heap;
use crate::retrieval::chunk_index::IndexError;
use crate::retrieval::index::IndexUpdate;
use crate::retrieval::{FolderIndex, Listed};
use crate::store::FolderScan;

/// More new bytes than this are indexed in the background, while searches go on: a second's work.
pub(super) const MAX_FOREGROUND_BYTES: u64 = 4 << 20;
/// Bytes read between two commits.
pub(super) const BATCH_BYTES: u64 = 4 << 20;
/// Number of bytes read after which freed memory is returned to the system.
pub(super) const TRIM_THRESHOLD: u64 = 256 << 10;

impl Library {
    /// Updates the index from the files: at once, or in the background if much is new.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed or the index cannot be written.
    pub fn refresh(self: &Arc<Self>) -> Result<(), LibraryError> {
        let refreshed = self.refresh_now();
        self.move_if_large();
        refreshed
    }

    /// Releases the memory and threads that changes of the index need, if at `now` there has been none for a while.
    pub fn release_idle_writer(&self, now: Instant) {
        // Whoever holds the lock uses them.
        let Ok(mut index) = self.index.try_lock() else { return };
        let released = index.as_mut().map_or(Ok(false), |index| index.release_idle_writer(now));
        drop(index);
        match released {
            Ok(true) => heap::trim_heap(),
            Ok(false) => {}
            Err(error) => tracing::warn!(folder = self.folder(), %error, "the index could not merge its segments"),
        }
    }

    fn refresh_now(self: &Arc<Self>) -> Result<(), LibraryError> {
        if self.background.is_running(Task::BuildIndex) || self.is_closed() {
            return Ok(());
        }
        let root = match &self.settings.source {
            LibrarySource::Folder(root) => root,
            LibrarySource::Conversations(kind) => return self.refresh_conversations(*kind),
        };
        let mut seen = self.lock(&self.seen);
        let changed = self.home.rescan(root, &mut seen.scan);
        seen.indexed &= matches!(changed, Ok(false));
        self.background.state().left_out = seen.scan.left_out();
        changed?;
        if seen.indexed {
            return Ok(());
        }
        let listing = self.listing(&seen.scan);
        let listing = if matches!(root, Root::Project(_)) { self.searched(listing) } else { listing };
        if let Some(place) = self.placed_in_database()? {
            if self.view().database.is_none() {
                self.show(None, self.view().store.clone());
            }
            if self.refresh_in_database(&place, (&listing, &mut seen))? {
                return Ok(());
            }
        }
        let mut guard = self.lock(&self.index);
        if self.is_closed() {
            return Ok(());
        }
        let opened = guard.is_none();
        if opened {
            *guard = Some(self.open()?);
        }
        let Some(index) = guard.as_mut() else { return Ok(()) };
        let plan = index.plan(&listing);
        if plan.is_empty() {
            if opened {
                self.publish(index)?;
            }
            seen.indexed = true;
            return Ok(());
        }
        let (text, documents) = documents::split_documents(plan);
        let bytes = text.read.iter().map(|file| file.size).sum::<u64>();
        if bytes > MAX_FOREGROUND_BYTES {
            self.publish(index)?;
            drop(guard);
            self.build_in_background(text, documents);
            return Ok(());
        }
        self.apply(index, &text)?;
        self.publish(index)?;
        drop(guard);
        if bytes > TRIM_THRESHOLD {
            heap::trim_heap();
        }
        if documents.is_empty() {
            self.embed_if_used();
        } else {
            drop(seen);
            self.build_in_background(IndexUpdate::default(), documents);
            self.background.wait(Task::BuildIndex, documents::DOCUMENT_WAIT);
        }
        Ok(())
    }

    /// Updates the index after a file change was noticed; does nothing if no search has opened the index yet. Failures
    /// are logged: the next search meets them again.
    pub fn refresh_if_open(self: &Arc<Self>) {
        let is_open = || self.lock(&self.index).is_some() || self.known_in_database().is_some();
        if self.background.is_running(Task::BuildIndex) || !is_open() {
            return;
        }
        if let Err(error) = self.refresh() {
            tracing::warn!(folder = self.folder(), %error, "the index could not follow the files");
        }
    }

    fn listing(&self, scan: &FolderScan) -> Vec<Listed> {
        let tests = format!("{}/{TESTS}", self.folder());
        let documents = scan.files().into_iter().filter(|file| file.path.as_str() != tests);
        documents
            .map(|file| Listed { path: file.path.rel_path().clone(), stamp: file.stamp, size: file.size })
            .collect()
    }

    /// Opens the index. The index on disk is a cache: it is rebuilt if it cannot be used. If it cannot be stored (a
    /// full disk), it is built in memory.
    pub(super) fn open(&self) -> Result<FolderIndex, LibraryError> {
        let limits = self.settings.limits;
        if self.settings.keep == IndexStorage::InMemory {
            return Ok(FolderIndex::in_memory(limits)?);
        }
        let name = self.cache_prefix();
        let first = FolderIndex::on_disk(&self.home.caches().folder(&name)?, limits);
        let error = match first {
            Ok(index) => return Ok(index),
            Err(error) => error,
        };
        if !matches!(error, IndexError::Outdated) {
            tracing::warn!(folder = self.folder(), %error, "the index on disk cannot be used and is made anew");
        }
        self.home.caches().clear_folder(&name)?;
        FolderIndex::on_disk(&self.home.caches().folder(&name)?, limits).or_else(|error| {
            tracing::warn!(folder = self.folder(), %error, "the index cannot be kept on disk and is kept in memory");
            Ok(FolderIndex::in_memory(limits)?)
        })
    }

    fn apply(&self, index: &mut FolderIndex, plan: &IndexUpdate) -> Result<(), LibraryError> {
        let mut changed = false;
        for path in &plan.gone {
            index.remove(path)?;
            changed = true;
        }
        for file in &plan.read {
            let bytes = documents::bytes(&self.home, &file.path);
            changed |= index.put_read(file, bytes, self.text_reader())?;
        }
        if changed {
            index.commit()?;
        }
        Ok(())
    }

    fn build_in_background(self: &Arc<Self>, text: IndexUpdate, documents: Vec<Listed>) {
        let total = (text.read.len() + documents.len()) as u32;
        self.report(IndexProgress { state: IndexState::Building, done: 0, total });
        self.spawn_background(Task::BuildIndex, move |library, running| {
            if let Err(error) = library.build(text, &documents) {
                tracing::warn!(folder = library.folder(), %error, "building the index stopped");
            }
            heap::trim_heap();
            drop(running);
            library.report(IndexProgress { state: IndexState::Ready, ..IndexProgress::default() });
            library.move_if_large();
            library.embed_if_used();
        });
    }

    /// Indexes text files before documents: text is quick, while documents may take long.
    fn build(self: &Arc<Self>, plan: IndexUpdate, documents: &[Listed]) -> Result<(), LibraryError> {
        let total = (plan.read.len() + documents.len()) as u32;
        let mut done = 0;
        let mut rest = plan.read.as_slice();
        let mut gone = plan.gone;
        while !(rest.is_empty() && gone.is_empty() || self.is_closed()) {
            let mut bytes = 0;
            let fits = |file: &&Listed| {
                bytes += file.size;
                bytes <= BATCH_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let batch = IndexUpdate { read: rest[..count].to_vec(), gone: std::mem::take(&mut gone) };
            rest = &rest[count..];
            let mut guard = self.lock(&self.index);
            if let Some(index) = guard.as_mut() {
                self.apply(index, &batch)?;
                self.publish(index)?;
            }
            drop(guard);
            done += count as u32;
            self.report(IndexProgress { state: IndexState::Building, done, total });
        }
        self.read_documents(documents, |read| {
            self.report(IndexProgress { state: IndexState::Building, done: done + read, total });
        })
    }

    /// Makes the index's last commit visible to searches.
    pub(super) fn publish(&self, index: &FolderIndex) -> Result<(), LibraryError> {
        let snapshot = Arc::new(index.snapshot()?);
        self.indexed_files.store(index.files().count(), Ordering::Relaxed);
        if matches!(self.root(), Some(Root::Project(_))) {
            self.count(index);
        }
        if matches!(self.settings.source, LibrarySource::Conversations(_)) {
            *self.lock(&self.heads) = Arc::new(ConversationHeads::of(index));
        }
        let store = self.view().store.clone();
        self.show(Some(snapshot), store);
        Ok(())
    }

    pub(super) fn show(
        &self,
        snapshot: Option<Arc<crate::retrieval::IndexSnapshot>>,
        store: Option<Arc<super::Store>>,
    ) {
        let rows = match (&snapshot, &store) {
            (Some(snapshot), Some(store)) => store.rows(snapshot),
            _ => Vec::new(),
        };
        let view = View { snapshot, store, rows, database: self.known_in_database() };
        let embedded = view.embedded();
        *self.view.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(view);
        if !self.background.is_running(Task::BuildIndex) && !self.background.is_running(Task::MakeVectors) {
            self.report(IndexProgress { state: IndexState::Ready, done: embedded.done, total: embedded.total });
        }
    }
}
