//! Removes what the indexes hold of a conversation that is deleted for ever: its chunks and their vectors, on disk too.

use std::collections::HashSet;
use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};

use super::conversations::remove;
use super::embedding::Store;
use super::pieces::Pieces;
use super::{FolderState, Library, LibraryError};
use crate::domain::SessionId;
use crate::retrieval::{FolderIndex, IndexSnapshot, Vectors};
use crate::store::StoreError;

/// The locks of an index that is being dropped.
pub(super) struct ForgottenIndex<'a> {
    _seen: MutexGuard<'a, FolderState>,
    _index: MutexGuard<'a, Option<FolderIndex>>,
    _store: MutexGuard<'a, Option<Arc<Store>>>,
    _pieces: MutexGuard<'a, Pieces>,
}

impl Library {
    /// Removes a conversation from the index and the caches of vectors, so that no byte of it is left in their files. If that
    /// fails, everything is removed, and the next search builds it anew.
    ///
    /// # Errors
    /// Returns an error if the files can be neither rewritten nor removed.
    pub fn purge(&self, id: &SessionId) -> Result<(), StoreError> {
        self.purge_in_place(id).or_else(|error| {
            tracing::warn!(folder = self.folder(), %error, "the index is removed whole; the next search builds it anew");
            self.clear()
        })
    }

    fn purge_in_place(&self, id: &SessionId) -> Result<(), LibraryError> {
        let name = self.cache_prefix();
        // No index says which vectors are of other conversations.
        let is_stored = self.home.caches().names(&name)?.contains(&name);
        let mut seen = self.lock(&self.seen);
        let mut guard = self.lock(&self.index);
        if guard.is_none() && !is_stored {
            drop((guard, seen));
            return Ok(self.clear()?);
        }
        seen.indexed = false;
        if guard.is_none() {
            *guard = Some(self.open()?);
        }
        let Some(index) = guard.as_mut() else { return Ok(()) };
        remove(index, id)?;
        index.commit()?;
        index.drop_removed()?;
        let snapshot = index.snapshot()?;
        self.publish(index)?;
        self.purge_vectors(&snapshot)?;
        self.purge_pieces(&snapshot)?;
        Ok(())
    }

    /// Rewrites the caches of vectors without those that no chunk has, also those of models that are not in use.
    fn purge_vectors(&self, snapshot: &IndexSnapshot) -> Result<(), LibraryError> {
        let keys: HashSet<u64> = snapshot.keys().map(|(_, key)| key).collect();
        let mut opened = self.lock(&self.store);
        let used = opened.as_ref().map(|store| self.cache_name(&*store.embedder));
        let caches = self.home.caches();
        for name in caches.names(&format!("{}-", self.cache_prefix()))? {
            if name.ends_with(".vectors") {
                let next = format!("{name}.next");
                let fresh = match opened.as_ref().filter(|_| used.as_ref() == Some(&name)) {
                    Some(store) => {
                        let vectors = store.vectors.read().unwrap_or_else(PoisonError::into_inner);
                        Some(vectors.copy(keys.iter().copied(), caches.file(&next)?, &store.model.id))
                    }
                    None => copy_of_any(caches.file(&name)?, &keys, caches.file(&next)?),
                };
                match fresh.transpose().map_err(LibraryError::Vectors)? {
                    Some(fresh) => {
                        caches.rename(&next, &name)?;
                        if used.as_ref() == Some(&name)
                            && let Some(store) = opened.as_mut()
                        {
                            // A new one: whoever still embeds the texts of before writes into the file that is gone.
                            let (model, embedder) = (store.model.clone(), store.embedder.clone());
                            *store = Arc::new(Store { model, embedder, vectors: RwLock::new(fresh) });
                        }
                    }
                    None => caches.remove_all(&name)?,
                }
            } else if name.ends_with(".next") {
                // A crash has left it.
                caches.remove_all(&name)?;
            }
        }
        let store = opened.clone();
        drop(opened);
        self.show(self.view().snapshot.clone(), store);
        Ok(())
    }

    /// Forgets the index and its vectors in memory; the next search opens or builds them. What it returns is held until the files are
    /// removed, so that no vectors that are being made bring them back.
    pub(super) fn forget_index(&self) -> ForgottenIndex<'_> {
        let mut seen = self.lock(&self.seen);
        let mut index = self.lock(&self.index);
        let (mut store, mut pieces) = (self.lock(&self.store), self.lock(&self.pieces));
        seen.indexed = false;
        (*index, *store) = (None, None);
        self.indexed_files.store(0, Ordering::Relaxed);
        pieces.forget();
        *self.lock(&self.heads) = Arc::default();
        ForgottenIndex { _seen: seen, _index: index, _store: store, _pieces: pieces }
    }

    /// Drops the index and its vectors, also on disk. The next search builds them anew.
    ///
    /// # Errors
    /// Returns an error if its files cannot be removed.
    pub fn clear(&self) -> Result<(), StoreError> {
        let _held = self.forget_index();
        self.show(None, None);
        let (caches, name) = (self.home.caches(), self.cache_prefix());
        // A merge that is being stopped may still write into the folder.
        caches.clear_folder(&name).or_else(|_| caches.clear_folder(&name))?;
        caches.remove_all(&format!("{name}-"))
    }
}

/// Copies the vectors of these keys from the cache of any model; `None` if the file is none.
fn copy_of_any(file: File, keys: &HashSet<u64>, next: File) -> Option<std::io::Result<Vectors>> {
    match Vectors::open_any(file) {
        Ok(Some((vectors, model))) => Some(vectors.copy(keys.iter().copied(), next, &model)),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    }
}
