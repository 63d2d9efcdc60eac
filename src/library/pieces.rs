//! Late interaction in a library: the vectors of the pieces of its texts, computed in the background.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use super::background::{ModelFailure, Task};
use super::embedding::{MAX_STALE_VECTORS, PROGRESS_INTERVAL};
use super::{IndexProgress, IndexState, Library};
use crate::domain::{EmbedError, EmbeddedText, EmbeddingInput, TokenEmbedder};
use crate::retrieval::late::{self, FilledChunk};
use crate::retrieval::{IndexSnapshot, TokenVectors};
use crate::store::StoreError;

/// A late-interaction model and its vectors.
pub struct PieceStore {
    embedder: Arc<dyn TokenEmbedder>,
    pub tokens: RwLock<TokenVectors>,
}

/// A question for late interaction.
pub(super) struct QueryPieces {
    pub embedded: EmbeddedText,
    /// What to compare its pieces with.
    pub store: Arc<PieceStore>,
}

#[derive(Default)]
pub(super) struct Pieces {
    store: Option<Arc<PieceStore>>,
    /// The last failure of the model or its cache.
    failed: Option<ModelFailure>,
}

impl Pieces {
    /// Drops the model's vectors; the next use opens them again.
    pub fn forget(&mut self) {
        self.store = None;
    }
}

impl PieceStore {
    /// Whether the vectors are of this model.
    pub fn is_of(&self, model: &str) -> bool {
        self.embedder.id() == model
    }

    fn lacks(&self, snapshot: &IndexSnapshot) -> bool {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let missing = || snapshot.keys().any(|(_, key)| !tokens.has(key));
        !snapshot.is_empty() && (tokens.needs_new_mean(snapshot.len()) || missing())
    }
}

impl Library {
    /// Returns the question for late interaction, if that is configured and works, and the index is not too large for it. Does
    /// not wait for a model that is being loaded.
    pub(super) fn embed_query_pieces(self: &Arc<Self>, query: &str) -> Option<QueryPieces> {
        if self.background.is_running(Task::LoadModel) || self.view().embedded().total as usize > self.late_limit {
            return None;
        }
        let store = self.piece_store()?;
        self.embed_missing();
        match store.embedder.embed_tokens(EmbeddingInput::Query, query) {
            Ok(embedded) => Some(QueryPieces { embedded, store }),
            Err(error) => {
                self.no_pieces(error);
                None
            }
        }
    }

    /// Returns the model and its vectors, opening them on the first call. A library in the database has none.
    pub(super) fn piece_store(&self) -> Option<Arc<PieceStore>> {
        if self.known_in_database().is_some() {
            return None;
        }
        let mut pieces = self.lock(&self.pieces);
        if pieces.store.is_some() || pieces.failed.as_ref().is_some_and(ModelFailure::is_recent) {
            return pieces.store.clone();
        }
        match self.open_pieces() {
            Ok(store) => pieces.store = store,
            Err(error) => {
                drop(pieces);
                self.no_pieces(error);
                return None;
            }
        }
        pieces.store.clone()
    }

    fn open_pieces(&self) -> Result<Option<Arc<PieceStore>>, EmbedError> {
        let Some(embedder) = (self.settings.tokens)()? else { return Ok(None) };
        let file = self.home.caches().file(&self.pieces_name(&*embedder)).map_err(|error| kept(&error))?;
        let tokens = TokenVectors::open(file, embedder.id(), embedder.dimension()).map_err(|error| kept(&error))?;
        Ok(Some(Arc::new(PieceStore { embedder, tokens: RwLock::new(tokens) })))
    }

    fn pieces_name(&self, embedder: &dyn TokenEmbedder) -> String {
        format!("{}-{}.tokens", self.cache_prefix(), embedder.id())
    }

    fn no_pieces(&self, error: EmbedError) {
        if !matches!(error, EmbedError::Missing(_) | EmbedError::Closed) {
            tracing::warn!(folder = self.folder(), %error, "search goes on without late interaction");
        }
        self.lock(&self.pieces).failed = Some(ModelFailure::now(error));
    }

    pub(super) fn uses_pieces(&self) -> bool {
        self.lock(&self.pieces).store.is_some()
    }

    /// Whether vectors are missing and can be computed. An index of too many chunks needs none.
    pub(super) fn lacks_pieces(&self) -> bool {
        let pieces = self.lock(&self.pieces);
        let pausing = pieces.failed.as_ref().is_some_and(ModelFailure::is_recent);
        let Some(store) = pieces.store.clone().filter(|_| !pausing) else { return false };
        drop(pieces);
        let snapshot = self.view().snapshot.clone();
        snapshot.is_some_and(|snapshot| snapshot.len() <= self.late_limit && store.lacks(&snapshot))
    }

    /// Computes vectors until nothing is missing, including what changes meanwhile. If those of whole texts come from the same
    /// model, they are stored, too.
    pub(super) fn make_pieces(&self) {
        while self.lacks_pieces() {
            let (Some(store), Some(snapshot)) = (self.piece_store(), self.view().snapshot.clone()) else { return };
            let whole = self.view().store.clone().filter(|whole| store.is_of(&whole.model.id));
            let mut shown = Instant::now();
            let mut keep = |chunk: &FilledChunk| {
                if let Some(whole) = &whole {
                    whole.add(chunk.key, chunk.vector)?;
                }
                if shown.elapsed() > PROGRESS_INTERVAL {
                    shown = Instant::now();
                    let (done, total) = (chunk.done as u32, snapshot.len() as u32);
                    self.report(IndexProgress { state: IndexState::Embedding, done, total });
                }
                (self.settings.wait_for_idle_time)();
                if self.is_closed() { Err(EmbedError::Closed) } else { Ok(()) }
            };
            let filled = late::fill(&store.tokens, &*store.embedder, &snapshot, &mut keep);
            if let Err(error) = filled.and_then(|()| self.drop_old_pieces(&store, &snapshot)) {
                self.no_pieces(error);
            }
        }
    }

    fn drop_old_pieces(&self, store: &Arc<PieceStore>, snapshot: &IndexSnapshot) -> Result<(), EmbedError> {
        let tokens = store.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let is_small = tokens.len() <= 2 * snapshot.len() + MAX_STALE_VECTORS;
        drop(tokens);
        if is_small { Ok(()) } else { self.rewrite_pieces(store, snapshot) }
    }

    /// Rewrites the caches of pieces without those of texts that are not in the index. Those of models that are not in use are
    /// removed.
    pub(super) fn purge_pieces(&self, snapshot: &IndexSnapshot) -> Result<(), StoreError> {
        let caches = self.home.caches();
        let is_cache = |name: &String| name.ends_with(".tokens");
        let names: Vec<String> =
            caches.names(&format!("{}-", self.cache_prefix()))?.into_iter().filter(is_cache).collect();
        if names.is_empty() {
            return Ok(());
        }
        let store = self.piece_store();
        let kept = store.and_then(|store| {
            let name = self.pieces_name(&*store.embedder);
            self.rewrite_pieces(&store, snapshot).is_ok().then_some(name)
        });
        for name in names.iter().filter(|name| Some(*name) != kept.as_ref()) {
            self.lock(&self.pieces).forget();
            caches.remove_all(name)?;
        }
        Ok(())
    }

    fn rewrite_pieces(&self, store: &Arc<PieceStore>, snapshot: &IndexSnapshot) -> Result<(), EmbedError> {
        let tokens = store.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let name = self.pieces_name(&*store.embedder);
        let next = format!("{name}.next");
        let file = self.home.caches().file(&next).map_err(|error| kept(&error))?;
        let keys = snapshot.keys().map(|(_, key)| key);
        let fresh = tokens.copy(keys, file, store.embedder.id()).map_err(|error| kept(&error))?;
        let mut pieces = self.lock(&self.pieces);
        if !pieces.store.as_ref().is_some_and(|used| Arc::ptr_eq(used, store)) {
            // They were cleared meanwhile.
            return self.home.caches().remove_all(&next).map_err(|error| kept(&error));
        }
        self.home.caches().rename(&next, &name).map_err(|error| kept(&error))?;
        // A new one: whoever still computes those of the texts of before writes into the file that is gone.
        let fresh = PieceStore { embedder: store.embedder.clone(), tokens: RwLock::new(fresh) };
        pieces.store = Some(Arc::new(fresh));
        Ok(())
    }
}

fn kept(error: &dyn std::fmt::Display) -> EmbedError {
    EmbedError::Unavailable(format!("The vectors of pieces cannot be kept: {error}."))
}
