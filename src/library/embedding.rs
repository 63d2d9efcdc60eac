//! The vectors of a library: computed in the background and cached by the hash of their text.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::retrieval::Address;

use super::background::{ModelFailure, Task};
use super::pieces::QueryPieces;
use super::{InDatabase, IndexProgress, IndexState, Library};
use crate::domain::knowledge::{ModelName, WeightReason};
use crate::domain::{EmbedError, Embedder, EmbeddingInput};
use crate::heap;
use crate::retrieval::chunk_index::key;
use crate::retrieval::vectors::QueryVector;
use crate::retrieval::{IndexSnapshot, LOCAL_MODELS, Vectors};

/// Number of texts per call of the embedder; progress is reported between calls.
const BATCH_TEXTS: usize = 16;
/// Minimum interval between progress reports.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// How long a search waits for the model to load.
const LOAD_WAIT: Duration = Duration::from_millis(700);
/// Share of embedded chunks below which the vector retriever is not used.
const MIN_EMBEDDED_SHARE: f64 = 0.9;
/// Stale vectors are dropped if the cache has more than twice as many vectors as there are chunks, plus this number.
pub(super) const MAX_STALE_VECTORS: usize = 256;

/// An embedding model and its vectors.
pub struct Store {
    pub model: ModelName,
    pub embedder: Arc<dyn Embedder>,
    pub vectors: RwLock<Vectors>,
}

impl Store {
    pub fn has(&self, indexed: &str) -> bool {
        self.read().row(key(indexed)).is_some()
    }

    /// Returns the vector of a text by its key, if there is one.
    pub fn vector(&self, key: u64) -> std::io::Result<Option<Vec<f32>>> {
        let vectors = self.read();
        vectors.row(key).map(|row| vectors.vector(row)).transpose()
    }

    pub fn rows(&self, snapshot: &IndexSnapshot) -> Vec<(Address, u32)> {
        let vectors = self.read();
        snapshot.keys().filter_map(|(address, key)| Some((address, vectors.row(key)?))).collect()
    }

    /// Stores the vector of a text.
    ///
    /// # Errors
    /// Returns an error if it has another dimension or cannot be written.
    pub fn add(&self, key: u64, vector: &[f32]) -> Result<(), EmbedError> {
        self.write().add(key, vector).map_err(|error| EmbedError::Unavailable(error.to_string()))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vectors> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vectors> {
        self.vectors.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets everything else on this machine go first from now on, in this thread.
fn run_at_lowest_priority() {
    if let Err(error) = rustix::process::nice(19) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

impl Library {
    /// Loads the model and computes the missing vectors, so that they are ready for the first search.
    pub fn warm(self: &Arc<Self>) {
        if let Err(error) = self.refresh() {
            tracing::warn!(folder = self.folder(), %error, "the folder cannot be indexed");
        }
        self.prepare();
    }

    /// Opens the configured models and computes missing vectors in the background.
    pub(super) fn prepare(self: &Arc<Self>) {
        let vectors = self.store().is_ok();
        let pieces = self.piece_store().is_some();
        if vectors || pieces {
            self.embed_missing();
        }
    }

    /// Returns the question as a vector, or the reason why the search goes by words alone. If late interaction has the same model,
    /// `pieces` has the vector already.
    pub(super) fn embed_query(
        self: &Arc<Self>,
        store: &Store,
        (query, pieces): (&str, Option<&QueryPieces>),
    ) -> Result<QueryVector, WeightReason> {
        self.embed_missing();
        if !store.embedder.knows(query) {
            return Err(WeightReason::UnknownLanguage);
        }
        let embedded = self.view().embedded();
        if f64::from(embedded.done) < f64::from(embedded.total) * MIN_EMBEDDED_SHARE {
            return Err(WeightReason::Embedding);
        }
        if let Some(pieces) = pieces.filter(|pieces| pieces.store.is_of(&store.model.id)) {
            return Ok(QueryVector::new(pieces.embedded.vector.clone()));
        }
        let vector = store.embedder.embed(EmbeddingInput::Query, &[query]).map_err(|error| {
            self.failed(error);
            WeightReason::EmbeddingFailed
        })?;
        vector.into_iter().next().map(QueryVector::new).ok_or(WeightReason::EmbeddingFailed)
    }

    /// Returns the model and its vectors if they are ready soon. Loading goes on in the background; searches go by
    /// words until then.
    pub(super) fn loaded(self: &Arc<Self>) -> Result<Arc<Store>, WeightReason> {
        let reason = |error: &EmbedError| match error {
            EmbedError::Missing(_) => WeightReason::NoModel,
            EmbedError::Withheld => WeightReason::Withheld,
            _ => WeightReason::EmbeddingFailed,
        };
        if let Some(store) = self.view().store.clone() {
            return Ok(store);
        }
        if let Some(error) = self.background.recent_failure() {
            return Err(reason(&error));
        }
        let begun = self.spawn_background(Task::LoadModel, |library, running| {
            let _ = library.store();
            library.piece_store();
            heap::trim_heap();
            drop(running);
        });
        if !begun {
            return Err(WeightReason::EmbeddingFailed);
        }
        if !self.background.wait(Task::LoadModel, LOAD_WAIT) {
            return Err(WeightReason::Embedding);
        }
        let failed = || self.background.recent_failure().map_or(WeightReason::EmbeddingFailed, |error| reason(&error));
        self.view().store.clone().ok_or_else(failed)
    }

    /// Returns the model and its vectors, opening them on the first call.
    pub(super) fn store(&self) -> Result<Arc<Store>, EmbedError> {
        let mut opened = self.lock(&self.store);
        if let Some(store) = opened.as_ref() {
            return Ok(store.clone());
        }
        if let Some(error) = self.background.recent_failure() {
            return Err(error);
        }
        let store = self.open_store().map_err(|error| self.failed(error))?;
        self.background.state().no_model = None;
        *opened = Some(store.clone());
        let snapshot = self.view().snapshot.clone();
        self.show(snapshot, Some(store.clone()));
        Ok(store)
    }

    fn open_store(&self) -> Result<Arc<Store>, EmbedError> {
        let embedder = (self.settings.embedder)()?;
        let broken =
            |error: &dyn std::fmt::Display| EmbedError::Unavailable(format!("The vectors cannot be kept: {error}."));
        let file = self.home.caches().file(&self.cache_name(&*embedder)).map_err(|error| broken(&error))?;
        let vectors = Vectors::open(file, embedder.id(), embedder.dimension()).map_err(|error| broken(&error))?;
        self.drop_unused_vectors(embedder.id());
        let model = ModelName { id: embedder.id().to_owned(), dimension: embedder.dimension() as u32 };
        Ok(Arc::new(Store { model, embedder, vectors: RwLock::new(vectors) }))
    }

    pub(super) fn cache_name(&self, embedder: &dyn Embedder) -> String {
        self.cache_name_of(embedder.id())
    }

    fn cache_name_of(&self, model: &str) -> String {
        format!("{}-{model}.vectors", self.cache_prefix())
    }

    /// Removes the vectors of the models that run here, other than the one in use. Those of a service are left: it may cost
    /// something to get them again.
    fn drop_unused_vectors(&self, used: &str) {
        for model in LOCAL_MODELS.into_iter().filter(|model| *model != used) {
            if let Err(error) = self.home.caches().remove_all(&self.cache_name_of(model)) {
                tracing::warn!(folder = self.folder(), %error, "old vectors are kept");
            }
        }
    }

    fn failed(&self, error: EmbedError) -> EmbedError {
        if !matches!(error, EmbedError::Missing(_) | EmbedError::Withheld | EmbedError::Closed) {
            tracing::warn!(folder = self.folder(), %error, "search goes on without vectors");
        }
        self.background.state().no_model = Some(ModelFailure::now(error.clone()));
        error
    }

    /// Embeds after a change of files, but only if a model is already in use, so that a save does not load it.
    pub(super) fn embed_if_used(self: &Arc<Self>) {
        if self.lock(&self.store).is_some() || self.uses_pieces() {
            self.embed_missing();
        }
    }

    /// Computes missing vectors in the background, of texts and then of their pieces, unless that is already running.
    pub(super) fn embed_missing(self: &Arc<Self>) {
        let view = self.view();
        let (embedded, is_there) = (view.embedded(), view.store.is_some());
        let wanted = is_there && embedded.done < embedded.total && self.background.recent_failure().is_none();
        if !(wanted || self.lacks_pieces()) {
            return;
        }
        self.spawn_background(Task::MakeVectors, move |library, running| {
            run_at_lowest_priority();
            // These also bring the vectors of whole texts if one model computes both.
            library.make_pieces();
            if let Some(store) = library.view().store.clone().filter(|_| wanted) {
                match library.known_in_database() {
                    Some(place) => library.embed_in_database(&place, &store),
                    None => library.embed(&store),
                }
            }
            heap::trim_heap();
            // Before the task ends, so that whoever waits for it searches with the vectors, and once more to report the state after it.
            library.show_vectors();
            drop(running);
            library.show_vectors();
        });
    }

    /// Makes the vectors that are stored visible to searches.
    fn show_vectors(&self) {
        // So that what is cleared meanwhile is not shown again.
        let _index = self.lock(&self.index);
        let view = self.view();
        self.show(view.snapshot.clone(), view.store.clone());
    }

    fn embed_in_database(&self, place: &InDatabase, store: &Arc<Store>) {
        if let Err(error) = self.embed_rows(place, store) {
            self.failed(error);
        }
    }

    /// Embeds until nothing is missing, including what changes meanwhile.
    fn embed(&self, store: &Arc<Store>) {
        loop {
            let Some(snapshot) = self.view().snapshot.clone() else { return };
            let missing = {
                let vectors = store.read();
                let missing = snapshot.keys().filter(|(_, key)| vectors.row(*key).is_none());
                missing.collect::<Vec<_>>()
            };
            if missing.is_empty() {
                break;
            }
            if let Err(error) = self.embed_all(store, &snapshot, &missing) {
                self.failed(error);
                return;
            }
        }
        if let Err(error) = self.drop_garbage(store) {
            tracing::warn!(folder = self.folder(), %error, "old vectors are kept");
        }
    }

    fn embed_all(&self, store: &Store, snapshot: &IndexSnapshot, missing: &[(Address, u64)]) -> Result<(), EmbedError> {
        let total = snapshot.len() as u32;
        let mut shown = Instant::now();
        for (batch, chunks) in missing.chunks(BATCH_TEXTS).enumerate() {
            let mut texts = Vec::with_capacity(chunks.len());
            for (address, _) in chunks {
                let chunk = snapshot.chunk(*address).map_err(|error| EmbedError::Unavailable(error.to_string()))?;
                texts.push(chunk.indexed());
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let made = store.embedder.embed(EmbeddingInput::Passage, &texts)?;
            if self.is_closed() {
                return Err(EmbedError::Closed);
            }
            let mut vectors = store.write();
            for ((_, key), vector) in chunks.iter().zip(&made) {
                vectors.add(*key, vector).map_err(|error| EmbedError::Unavailable(error.to_string()))?;
            }
            drop(vectors);
            if shown.elapsed() > PROGRESS_INTERVAL {
                shown = Instant::now();
                let done = total - missing.len() as u32 + (batch * BATCH_TEXTS + chunks.len()) as u32;
                self.report(IndexProgress { state: IndexState::Embedding, done, total });
            }
        }
        Ok(())
    }

    /// Replaces the vector file by one without stale vectors. Safe during searches: a search holds a view, and rows and
    /// file are replaced together by a new view.
    fn drop_garbage(&self, store: &Arc<Store>) -> Result<(), Box<dyn std::error::Error>> {
        let Some(snapshot) = self.view().snapshot.clone() else { return Ok(()) };
        let kept = store.read().len();
        if kept <= 2 * snapshot.len() + MAX_STALE_VECTORS {
            return Ok(());
        }
        let name = self.cache_name(&*store.embedder);
        let next = format!("{name}.next");
        let fresh = {
            let keys = snapshot.keys().map(|(_, key)| key);
            store.read().copy(keys, self.home.caches().file(&next)?, &store.model.id)?
        };
        let mut opened = self.lock(&self.store);
        if !opened.as_ref().is_some_and(|used| Arc::ptr_eq(used, store)) {
            // They were cleared meanwhile.
            return Ok(self.home.caches().remove_all(&next)?);
        }
        self.home.caches().rename(&next, &name)?;
        let store = Arc::new(Store {
            model: store.model.clone(),
            embedder: store.embedder.clone(),
            vectors: RwLock::new(fresh),
        });
        *opened = Some(store.clone());
        self.show(Some(snapshot), Some(store));
        Ok(())
    }
}
