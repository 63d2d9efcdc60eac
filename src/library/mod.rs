//! A searchable folder of documents. Every search first updates the index from the files that changed.
//!
//! Everything here blocks and is called where blocking is allowed. What takes long (many new files, many new vectors) is
//! done by a thread beside; searches answer from what there is until then, and say so.

mod background;
mod documents;
pub mod exam;
mod follow;
mod meaning;
mod pieces;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::retrieval::Address;

use crate::domain::knowledge::{Embedded, ModelName, Search, SearchTimings, WeightReason};
use crate::domain::{EmbedError, Embedder, Hit, Root, TokenEmbedder};
use crate::extraction::Extractor;
use crate::retrieval::analyse::Analyser;
use crate::retrieval::chunk_index::{FileState, IndexError, StoredChunk};
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{
    ChunkLimits, FolderIndex, Ranking, SearchError, SearchRequest, Searchable, Snapshot, wants_words_only,
};
use crate::store::{FolderScan, Home, StoreError};

use background::{Background, Task};
use documents::Refused;
use meaning::Store;
use pieces::Pieces;

/// Gives the embedding model, loading it the first time.
pub type LoadEmbedder = Arc<dyn Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync>;

/// Gives the model of late interaction, loading it the first time; `None` where none is wanted.
pub type LoadTokenEmbedder = Arc<dyn Fn() -> Result<Option<Arc<dyn TokenEmbedder>>, EmbedError> + Send + Sync>;

/// The questions about a folder (`miniclaw eval`): no document of it.
pub const TESTS: &str = "tests.jsonl";

/// How many of the next best are explained beside the hits.
const NEAR_MISSES: usize = 3;

/// Where an index is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStorage {
    /// Made anew at each start.
    InMemory,
    OnDisk,
}

/// Everything a library is made with.
pub struct LibrarySettings {
    /// One of the home's folders.
    pub root: Root,
    pub keep: IndexStorage,
    pub limits: ChunkLimits,
    pub ranking: Ranking,
    pub embedder: LoadEmbedder,
    pub tokens: LoadTokenEmbedder,
    /// Reads what is no text.
    pub extractor: Extractor,
}

/// What a library is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// Nothing was asked yet.
    #[default]
    NotBuilt,
    Building,
    Embedding,
    Ready,
}

/// How far it is with that: files while building, chunks while embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    pub state: IndexState,
    pub done: u32,
    pub total: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// One of the home's folders, searchable.
pub struct Library {
    home: Home,
    settings: LibrarySettings,
    /// [`LARGE`], but for tests.
    large: usize,
    analyser: Analyser,
    /// Locked before `index`.
    seen: Mutex<FolderState>,
    /// Opened with the first look at the folder.
    index: Mutex<Option<FolderIndex>>,
    view: RwLock<Arc<View>>,
    store: Mutex<Option<Arc<Store>>>,
    pieces: Mutex<Pieces>,
    /// What is found unreadable, by fingerprint.
    refused: OnceLock<Refused>,
    /// While this is locked, nothing else is.
    background: Background,
    tell: OnceLock<Box<dyn Fn(IndexProgress) + Send + Sync>>,
}

/// The folder at the last look.
#[derive(Default)]
struct FolderState {
    look: FolderScan,
    /// The index holds what was seen then.
    indexed: bool,
}

/// What searches see until the next change.
#[derive(Default)]
struct View {
    snapshot: Option<Arc<Snapshot>>,
    store: Option<Arc<Store>>,
    /// Each chunk that has a vector, with its row.
    rows: Vec<(Address, u32)>,
}

/// With so many chunks, looking for changed files is done beside searching.
const LARGE: usize = 20_000;

impl View {
    fn embedded(&self) -> Embedded {
        let total = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.len());
        Embedded { done: self.rows.len() as u32, total: total as u32 }
    }
}

/// What a question may add to itself.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// How many hits.
    pub k: usize,
    /// How many of the next best are explained.
    pub near_misses: usize,
    /// Overrules the choice of weights.
    pub vector_weight: Option<f64>,
}

impl SearchOptions {
    pub fn best(k: usize) -> Self {
        Self { k, near_misses: NEAR_MISSES, vector_weight: None }
    }
}

/// A library as a person looks at it.
pub struct Overview {
    pub files: Vec<FileState>,
    /// Files beyond as many as are indexed.
    pub left_out: usize,
    pub embedded: Embedded,
    pub progress: IndexProgress,
    pub model: Option<ModelName>,
    /// Why there is no model, when one was looked for.
    pub no_model: Option<EmbedError>,
    pub bytes_on_disk: u64,
}

impl Library {
    pub fn new(home: Home, settings: LibrarySettings) -> Self {
        Self {
            home,
            settings,
            large: LARGE,
            analyser: Analyser::default(),
            seen: Mutex::default(),
            index: Mutex::default(),
            view: RwLock::default(),
            store: Mutex::default(),
            pieces: Mutex::default(),
            refused: OnceLock::new(),
            background: Background::default(),
            tell: OnceLock::new(),
        }
    }

    pub fn root(&self) -> Root {
        self.settings.root
    }

    /// The name of the root.
    pub fn folder(&self) -> &'static str {
        self.settings.root.name()
    }

    /// Who is told how far it is; set once.
    pub fn on_progress(&self, tell: impl Fn(IndexProgress) + Send + Sync + 'static) {
        let _ = self.tell.set(Box::new(tell));
    }

    /// The best pieces, of the files as they are now.
    ///
    /// # Errors
    /// When the folder or its index cannot be read.
    pub fn search(self: &Arc<Self>, query: &str, options: SearchOptions) -> Result<Search, LibraryError> {
        let started = Instant::now();
        let look = || self.follow().map(|()| started.elapsed().as_micros() as u64);
        let (looked, ahead) = if self.view().snapshot.as_ref().is_some_and(|all| all.len() >= self.large) {
            // Looking takes about as long as searching: both are begun, and the answer counts if nothing has changed.
            std::thread::scope(|scope| {
                let looking = scope.spawn(look);
                let ahead = self.answer(query, options);
                (looking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), Some(ahead))
            })
        } else {
            (look(), None)
        };
        let refresh = looked?;
        let (mut found, _) = match ahead {
            Some(Ok((found, view))) if Arc::ptr_eq(&view, &self.view()) => (found, view),
            _ => self.answer(query, options)?,
        };
        found.took_us.refresh = refresh;
        Ok(found)
    }

    /// The best pieces of what is indexed, and what that was.
    fn answer(self: &Arc<Self>, query: &str, options: SearchOptions) -> Result<(Search, Arc<View>), LibraryError> {
        let wanted = options.vector_weight.is_none().then(|| wants_words_only(query)).flatten();
        let mut found = self.ask(query, options, wanted)?;
        if found.0.hits.is_empty() && wanted.is_some() && options.k > 0 {
            // The very words stand nowhere: then what is near in meaning is better than nothing.
            found = self.ask(query, options, None)?;
        }
        Ok(found)
    }

    fn ask(
        self: &Arc<Self>,
        query: &str,
        options: SearchOptions,
        wanted: Option<WeightReason>,
    ) -> Result<(Search, Arc<View>), LibraryError> {
        let started = Instant::now();
        let (meaning, words_only) = match wanted {
            Some(reason) => (None, Some(reason)),
            None => match self.meaning(query) {
                Ok(question) => (Some(question), None),
                Err(reason) => (None, Some(reason)),
            },
        };
        let quoted = words_only == Some(WeightReason::Quoted) || options.vector_weight.is_some();
        let pieces = if quoted { None } else { self.pieces(query) };
        let embed = started.elapsed().as_micros() as u64;
        // Taken after the model was looked for: that may have brought the vectors.
        let view = self.view();
        let (pieces, piece_store) = pieces.unzip();

        let asked = SearchRequest {
            query,
            k: options.k,
            near_misses: options.near_misses,
            meaning,
            pieces,
            words_only,
            vector_weight: options.vector_weight,
        };
        let empty;
        let snapshot = match &view.snapshot {
            Some(snapshot) => snapshot,
            None => {
                empty = Arc::new(FolderIndex::in_memory(self.settings.limits)?.snapshot()?);
                &empty
            }
        };
        let searchable = Searchable {
            snapshot,
            rows: &view.rows,
            vectors: view.store.as_ref().map(|store| &store.vectors),
            tokens: piece_store.as_ref().map(|store| &store.tokens),
            analyser: &self.analyser,
            ranking: match &view.store {
                Some(store) => self.settings.ranking.for_model(store.embedder.weight()),
                None => self.settings.ranking,
            },
            window: WindowLimit(self.settings.limits.tokens),
        };
        let found = searchable.search(&asked)?;
        let search = Search {
            query: query.to_owned(),
            folder: self.folder().to_owned(),
            k: options.k as u32,
            weights: found.weights,
            terms: found.terms,
            ignored: found.ignored,
            model: view.store.as_ref().map(|store| store.model.clone()),
            embedded: view.embedded(),
            hits: found.hits,
            near_misses: found.near_misses,
            took_us: SearchTimings { embed, ..found.took },
        };
        Ok((search, view))
    }

    /// The `k` best pieces.
    ///
    /// # Errors
    /// As [`Library::search`].
    pub fn best(self: &Arc<Self>, query: &str, k: usize) -> Result<Vec<Hit>, LibraryError> {
        Ok(self.search(query, SearchOptions { k, near_misses: 0, vector_weight: None })?.hits)
    }

    /// The chunks of a file, in its order, and whether each has its vector.
    ///
    /// # Errors
    /// As [`Library::search`].
    pub fn chunks(self: &Arc<Self>, path: &str) -> Result<Vec<(StoredChunk, bool)>, LibraryError> {
        self.follow()?;
        let view = self.view();
        let Some(snapshot) = &view.snapshot else { return Ok(Vec::new()) };
        let chunks = snapshot.chunks_of(path).map_err(SearchError::from)?;
        let has_vector = |chunk: &StoredChunk| view.store.as_ref().is_some_and(|store| store.has(&chunk.indexed()));
        Ok(chunks.into_iter().map(|chunk| (has_vector(&chunk), chunk)).map(|(has, chunk)| (chunk, has)).collect())
    }

    pub fn overview(&self) -> Overview {
        let view = self.view();
        let files = self.lock(&self.index).as_ref().map(|index| index.files().cloned().collect()).unwrap_or_default();
        let bytes_on_disk = self.home.caches().size(self.folder());
        let state = self.background.state();
        Overview {
            files,
            left_out: state.left_out,
            embedded: view.embedded(),
            progress: state.progress,
            model: view.store.as_ref().map(|store| store.model.clone()),
            no_model: state.no_model.as_ref().map(|failure| failure.error.clone()),
            bytes_on_disk,
        }
    }

    /// How many files are not indexed because there are too many, at the last look.
    pub fn left_out(&self) -> usize {
        self.background.state().left_out
    }

    /// Waits until everything is indexed and embedded; for programs that measure.
    ///
    /// # Errors
    /// As [`Library::search`].
    pub fn settle(self: &Arc<Self>) -> Result<(), LibraryError> {
        self.follow()?;
        self.background.wait(Task::BuildIndex, Duration::MAX);
        self.prepare();
        self.background.wait(Task::MakeVectors, Duration::MAX);
        Ok(())
    }

    fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A panic in between leaves a cache that the next look at the folder brings in step again.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
