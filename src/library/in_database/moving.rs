//! Moves a library into the database once it has enough chunks, and back once it has clearly fewer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::indexing::FileBatch;
use super::{InDatabase, Placement};
use crate::domain::RelPath;
use crate::heap;
use crate::library::background::Task;
use crate::library::{IndexProgress, IndexState, Library, LibraryError};
use crate::retrieval::IndexSnapshot;
use crate::retrieval::chunk_index::FileState;
use crate::retrieval::index::version_tag;
use crate::store::LibraryDatabase;

/// Vectors that are stored together.
const BATCH_VECTORS: usize = 200;
/// How long nothing is moved after that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(60);

impl Library {
    /// Begins to move the library into the database if it has become large enough. Until it is there, it is searched here.
    pub(in crate::library) fn move_if_large(self: &Arc<Self>) {
        let Some(from) = self.settings.database_from else { return };
        let has_rows = match &*self.lock(&self.placement) {
            Placement::Here { has_rows } => *has_rows,
            _ => return,
        };
        let is_busy = self.background.is_running(Task::BuildIndex) || self.background.is_running(Task::MoveToDatabase);
        let failed = self.background.state().move_failed;
        if is_busy || failed.is_some_and(|at: Instant| at.elapsed() < RETRY_PAUSE) {
            return;
        }
        let chunks = self.view().snapshot.as_ref().map_or(0, |snapshot| snapshot.len());
        if (chunks < from && !has_rows) || chunks == 0 {
            return;
        }
        let Some(database) = self.database() else { return };
        self.spawn_background(Task::MoveToDatabase, move |library, running| {
            let moved = if chunks < from { library.drop_rows(&database) } else { library.move_to(&database) };
            if let Err(error) = moved {
                tracing::warn!(folder = library.folder(), %error, "the library stays on this machine for now");
                library.background.state().move_failed = Some(Instant::now());
            }
            heap::trim_heap();
            drop(running);
            let view = library.view();
            library.show(view.snapshot.clone(), view.store.clone());
            library.embed_if_used();
        });
    }

    /// Removes what an interrupted move has left.
    fn drop_rows(&self, database: &Arc<LibraryDatabase>) -> Result<(), LibraryError> {
        database.ask(|rows| rows.delete())?;
        *self.lock(&self.placement) = Placement::Here { has_rows: false };
        Ok(())
    }

    fn move_to(&self, database: &Arc<LibraryDatabase>) -> Result<(), LibraryError> {
        let tag = version_tag(self.settings.limits);
        database.ask(|rows| rows.create(&tag))?;
        let Some(opened) = database.ask(|rows| rows.open())? else { return Ok(()) };
        let place = Arc::new(InDatabase::new(database.clone(), opened)?);
        while !self.is_closed() && self.copy_files(&place)? {}
        self.copy_vectors(&place)?;
        if self.is_closed() {
            return Ok(());
        }
        database.ask(|rows| rows.set_complete())?;
        // From here on the next look at the folder finds what has changed meanwhile.
        let _held = self.forget_index();
        *self.lock(&self.placement) = Placement::Database(place);
        self.show(None, None);
        self.drop_local()?;
        tracing::info!(folder = self.folder(), "the library is searched in the database from now on");
        Ok(())
    }

    /// Copies the files that differ from those in the database; returns whether there were any.
    fn copy_files(&self, place: &InDatabase) -> Result<bool, LibraryError> {
        let (files, snapshot): (Vec<FileState>, Arc<IndexSnapshot>) = {
            let index = self.lock(&self.index);
            let Some(index) = index.as_ref() else { return Ok(false) };
            (index.files().cloned().collect(), Arc::new(index.snapshot()?))
        };
        let is_same = |known: &FileState, file: &FileState| known.content == file.content && known.stamp == file.stamp;
        let path = |file: &FileState| RelPath::parse(&file.path).ok();
        let all: Vec<RelPath> = files.iter().filter_map(path).collect();
        let gone: Vec<RelPath> =
            place.files().keys().filter(|known| all.binary_search(known).is_err()).cloned().collect();
        place.remove(&gone)?;
        let total = files.len() as u32;
        let mut batch = FileBatch::default();
        let mut changed = !gone.is_empty();
        for (done, (file, path)) in (1..).zip(files.iter().zip(&all)).take_while(|_| !self.is_closed()) {
            if place.files().get(path).is_some_and(|known| is_same(known, file)) {
                continue;
            }
            let stored = self.lock(&self.index).as_ref().map(|index| index.stored_file(path, &snapshot)).transpose()?;
            if let Some(stored) = stored.flatten() {
                changed = true;
                place.put(&mut batch, stored, self.analysis())?;
            }
            self.report(IndexProgress { state: IndexState::Building, done, total });
        }
        place.store(&mut batch)?;
        Ok(changed)
    }

    /// Copies the vectors that are here, so that they are not computed again.
    fn copy_vectors(&self, place: &InDatabase) -> Result<(), LibraryError> {
        let view = self.view();
        let (Some(store), Some(snapshot)) = (&view.store, &view.snapshot) else { return Ok(()) };
        if let Err(error) = self.prepare_vectors(place, store) {
            tracing::warn!(folder = self.folder(), %error, "the library in the database is searched by words alone");
            return Ok(());
        }
        let mut vectors = Vec::with_capacity(BATCH_VECTORS);
        for (_, key) in snapshot.keys().take_while(|_| !self.is_closed()) {
            let found = store.vector(key).map_err(LibraryError::Vectors)?;
            vectors.extend(found.map(|vector| (key as i64, vector)));
            if vectors.len() == BATCH_VECTORS {
                place.database.ask(|rows| rows.put_vectors(&vectors))?;
                vectors.clear();
            }
        }
        place.database.ask(|rows| rows.put_vectors(&vectors))?;
        place.count()
    }

    /// Removes the index and the vectors on this machine.
    fn drop_local(&self) -> Result<(), LibraryError> {
        let (caches, name) = (self.home.caches(), self.cache_prefix());
        caches.clear_folder(&name).or_else(|_| caches.clear_folder(&name))?;
        for cache in caches.names(&format!("{name}-"))? {
            if cache.ends_with(".vectors") || cache.ends_with(".tokens") {
                caches.remove_all(&cache)?;
            }
        }
        Ok(())
    }

    /// Takes the library out of the database if it has become clearly smaller than what belongs there. Returns whether it did.
    pub(super) fn leave_if_small(&self, place: &InDatabase) -> Result<bool, LibraryError> {
        let from = self.settings.database_from.unwrap_or(usize::MAX);
        // A library of about this size must not move to and fro.
        if place.totals().chunks as u128 * 10 >= from as u128 * 9 {
            return Ok(false);
        }
        place.database.ask(|rows| rows.delete())?;
        *self.lock(&self.placement) = Placement::Here { has_rows: false };
        self.show(None, self.view().store.clone());
        Ok(true)
    }
}
