//! A searchable folder of documents. Every search first updates the index from the files that changed.
//!
//! All functions block; call them only where blocking is allowed. Long work (many new files, many new vectors) runs on
//! background threads; until it is done, searches answer from what is indexed, and report that.

mod background;
#[cfg(test)]
mod conversation_tests;
mod conversations;
mod documents;
mod embedding;
pub mod evaluation;
mod in_database;
mod overview;
mod pieces;
#[cfg(test)]
mod pieces_tests;
pub mod project;
mod project_files;
pub mod projects;
mod purge;
pub mod recall;
mod refresh;
pub mod stored;
#[cfg(test)]
mod tests;
pub mod vault;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::retrieval::Address;

use crate::domain::knowledge::{Embedded, Search, SearchTimings, WeightReason};
use crate::domain::{EmbedError, Embedder, Hit, Root, TokenEmbedder, TranscriptKind};
use crate::extraction::Extractor;
use crate::retrieval::analyse::Analyser;
use crate::retrieval::chunk_index::IndexError;
use crate::retrieval::late::MAX_CHUNKS;
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{
    ChunkLimits, FolderIndex, IndexSnapshot, Ranking, SearchError, SearchRequest, Searchable, wants_words_only,
};
use crate::store::{ConversationScan, FolderScan, Home, StoreError};

use background::{Background, Task};
use conversations::ConversationHeads;
use documents::Refused;
use embedding::Store;
pub use in_database::SearchedIn;
pub use in_database::copying::DatabaseCopy;
use in_database::{InDatabase, Placement};
pub use overview::{FileChunk, LibrarySize, Overview};
use pieces::Pieces;
pub use project_files::IndexCounts;

/// Returns the embedding model, loading it on the first call.
pub type LoadEmbedder = Arc<dyn Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync>;

/// Returns the model of late interaction, loading it on the first call; `None` if none is configured.
pub type LoadTokenEmbedder = Arc<dyn Fn() -> Result<Option<Arc<dyn TokenEmbedder>>, EmbedError> + Send + Sync>;

/// The file with a folder's retrieval tests (`miniclaw eval`); not indexed as a document.
pub const TESTS: &str = "tests.jsonl";

/// Number of hits of a search that does not say how many: for the search tools, RAG mode and the API alike.
pub const DEFAULT_HITS: usize = 3;
/// Number of next-best results that are explained in addition to the hits.
pub const NEAR_MISSES: usize = 3;

/// Where an index is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStorage {
    /// Rebuilt at each start.
    InMemory,
    OnDisk,
}

/// What a library is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LibrarySource {
    /// The files of a root.
    Folder(Root),
    /// The conversations of a home.
    Conversations(TranscriptKind),
}

impl LibrarySource {
    /// Returns the name by which people know it.
    fn name(&self) -> String {
        match self {
            Self::Folder(root) => root.to_string(),
            Self::Conversations(TranscriptKind::Messages) => "conversations".to_owned(),
            Self::Conversations(TranscriptKind::ToolResults) => "tool-results".to_owned(),
        }
    }
}

/// The settings and models of a library.
pub struct LibrarySettings {
    pub source: LibrarySource,
    pub keep: IndexStorage,
    pub limits: ChunkLimits,
    pub ranking: Ranking,
    pub embedder: LoadEmbedder,
    pub tokens: LoadTokenEmbedder,
    /// Blocks while vectors that can wait should not be computed, for a bounded time.
    pub wait_for_idle_time: Arc<dyn Fn() + Send + Sync>,
    /// Reads the documents that are not plain text.
    pub extractor: Extractor,
    /// From how many chunks on it is indexed and searched in the database behind the home, if there is one; `None` for never.
    pub database_from: Option<usize>,
}

/// What a library is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// The index has not been opened yet.
    #[default]
    NotBuilt,
    Building,
    Embedding,
    Ready,
}

/// Progress in a state: counts files while building, chunks while embedding.
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
    #[error("the vectors could not be rewritten: {0}")]
    Vectors(std::io::Error),
}

/// A folder, made searchable.
pub struct Library {
    home: Home,
    /// The name of the source.
    folder: String,
    settings: LibrarySettings,
    /// [`LARGE`]; tests set it to other values.
    large: usize,
    /// [`MAX_CHUNKS`]; tests set it to other values.
    late_limit: usize,
    analyser: Analyser,
    /// Locked before `index`.
    seen: Mutex<FolderState>,
    /// Opened by the first scan of the folder.
    index: Mutex<Option<FolderIndex>>,
    /// The number of files in it, for whoever must not wait for its lock.
    indexed_files: AtomicUsize,
    /// Where the index is. Only the lock of `background` is taken while this one is held.
    placement: Mutex<Placement>,
    view: RwLock<Arc<View>>,
    store: Mutex<Option<Arc<Store>>>,
    pieces: Mutex<Pieces>,
    /// What is known of the conversations, if it is of them. No other lock is taken while this one is held.
    heads: Mutex<Arc<ConversationHeads>>,
    /// The documents found unreadable, by fingerprint.
    refused: OnceLock<Refused>,
    /// Innermost lock: no other lock is taken while this one is held.
    background: Background,
    progress_callback: OnceLock<Box<dyn Fn(IndexProgress) + Send + Sync>>,
}

/// The folder as of the last scan.
#[derive(Default)]
struct FolderState {
    scan: FolderScan,
    conversations: ConversationScan,
    /// Whether the index holds everything that the scan found.
    indexed: bool,
}

/// What searches use until the next change replaces it.
#[derive(Default)]
struct View {
    snapshot: Option<Arc<IndexSnapshot>>,
    store: Option<Arc<Store>>,
    /// Each chunk that has a vector, with the vector's row.
    rows: Vec<(Address, u32)>,
    /// Set if the library is searched in the database; there is no snapshot then.
    database: Option<Arc<InDatabase>>,
}

/// Number of chunks from which on the scan for changed files runs in parallel with the search.
const LARGE: usize = 20_000;

impl View {
    fn embedded(&self) -> Embedded {
        if let Some(place) = &self.database {
            return place.embedded(self.store.as_ref().map(|store| &store.model));
        }
        let total = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.len());
        Embedded { done: self.rows.len() as u32, total: total as u32 }
    }
}

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Number of hits.
    pub k: usize,
    /// Number of next-best results that are explained.
    pub near_misses: usize,
    /// Overrides the automatic choice of weights.
    pub vector_weight: Option<f64>,
}

impl SearchOptions {
    pub fn best(k: usize) -> Self {
        Self { k, near_misses: NEAR_MISSES, vector_weight: None }
    }
}

impl Library {
    pub fn new(home: Home, settings: LibrarySettings) -> Self {
        Self {
            home,
            folder: settings.source.name(),
            seen: Mutex::new(FolderState::of(&settings.source)),
            settings,
            large: LARGE,
            late_limit: MAX_CHUNKS,
            analyser: Analyser::default(),
            index: Mutex::default(),
            indexed_files: AtomicUsize::new(0),
            placement: Mutex::default(),
            view: RwLock::default(),
            store: Mutex::default(),
            pieces: Mutex::default(),
            heads: Mutex::default(),
            refused: OnceLock::new(),
            background: Background::default(),
            progress_callback: OnceLock::new(),
        }
    }

    /// Returns the root whose files it is of; `None` for conversations.
    pub fn root(&self) -> Option<&Root> {
        match &self.settings.source {
            LibrarySource::Folder(root) => Some(root),
            LibrarySource::Conversations(_) => None,
        }
    }

    /// Returns the name of what it is of: `memory`, `project/{id}`, `conversations`.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns what the names of its caches begin with. A project's caches are beside the others, and no id of a project
    /// can make two of them equal, because ids have no dot.
    fn cache_prefix(&self) -> String {
        match self.root() {
            Some(Root::Project(id)) => format!("project.{id}.index"),
            _ => self.folder.clone(),
        }
    }

    /// Sets the callback for progress; only the first call has an effect.
    pub fn on_progress(&self, callback: impl Fn(IndexProgress) + Send + Sync + 'static) {
        let _ = self.progress_callback.set(Box::new(callback));
    }

    /// Returns the best hits, after updating the index from changed files.
    ///
    /// # Errors
    /// Returns an error if the folder or its index cannot be read.
    pub fn search(self: &Arc<Self>, query: &str, options: SearchOptions) -> Result<Search, LibraryError> {
        let started = Instant::now();
        let look = || self.refresh().map(|()| started.elapsed().as_micros() as u64);
        let (looked, ahead) = if self.view().embedded().total as usize >= self.large {
            // The scan takes about as long as the search: both run in parallel, and the answer counts if nothing has
            // changed.
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

    /// Searches what is indexed; also returns the view that was searched.
    fn answer(self: &Arc<Self>, query: &str, options: SearchOptions) -> Result<(Search, Arc<View>), LibraryError> {
        let wanted = options.vector_weight.is_none().then(|| wants_words_only(query)).flatten();
        let mut found = self.ask(query, options, wanted)?;
        if found.0.hits.is_empty() && wanted.is_some() && options.k > 0 {
            // No chunk contains the exact words: hits near in meaning are better than none.
            found = self.ask(query, options, None)?;
        }
        Ok(found)
    }

    /// Searches what is indexed; by words alone if there is a reason for it.
    fn ask(
        self: &Arc<Self>,
        query: &str,
        options: SearchOptions,
        wanted: Option<WeightReason>,
    ) -> Result<(Search, Arc<View>), LibraryError> {
        let started = Instant::now();
        let is_quoted = wanted == Some(WeightReason::Quoted);
        let loaded = if is_quoted { Err(WeightReason::Quoted) } else { self.loaded() };
        let has_pieces = !is_quoted && options.vector_weight.is_none();
        let pieces = has_pieces.then(|| self.embed_query_pieces(query)).flatten();
        let embedded = match wanted {
            Some(reason) => Err(reason),
            None => loaded.and_then(|store| self.embed_query(&store, (query, pieces.as_ref()))),
        };
        let words_only = embedded.as_ref().err().copied();
        let query_vector = embedded.ok();
        let embed = started.elapsed().as_micros() as u64;
        // Read after the model was requested, because loading it may have added the vectors.
        let view = self.view();
        let (pieces, piece_store) = pieces.map(|pieces| (pieces.embedded.tokens, pieces.store)).unzip();

        let request = SearchRequest {
            query,
            k: options.k,
            near_misses: options.near_misses,
            query_vector,
            pieces,
            words_only,
            vector_weight: options.vector_weight,
        };
        let ranking = match &view.store {
            Some(store) => self.settings.ranking.for_model(&*store.embedder),
            None => self.settings.ranking,
        };
        let window = WindowLimit(self.settings.limits.tokens);
        let fetch = |place: &Arc<InDatabase>| place.fetch(&request, (&self.analyser, ranking), window);
        let fetched = view.database.as_ref().map(fetch).transpose()?;
        let empty;
        let snapshot = match (&fetched, &view.snapshot) {
            (Some(fetched), _) => &fetched.snapshot,
            (None, Some(snapshot)) => &**snapshot,
            (None, None) => {
                empty = FolderIndex::in_memory(self.settings.limits)?.snapshot()?;
                &empty
            }
        };
        let searchable = Searchable {
            snapshot,
            rows: fetched.as_ref().map_or(&view.rows, |fetched| &fetched.rows),
            vectors: view.store.as_ref().map(|store| &store.vectors),
            fetched: fetched.as_ref().map(|fetched| &fetched.cosines),
            tokens: piece_store.as_ref().map(|store| &store.tokens),
            analyser: &self.analyser,
            ranking,
            window,
        };
        let found = searchable.search(&request)?;
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
            withheld: 0,
            near_misses: found.near_misses,
            took_us: SearchTimings { embed, ..found.took },
        };
        Ok((search, view))
    }

    /// Returns the `k` best hits.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Library::search`].
    pub fn best(self: &Arc<Self>, query: &str, k: usize) -> Result<Vec<Hit>, LibraryError> {
        Ok(self.search(query, SearchOptions { k, near_misses: 0, vector_weight: None })?.hits)
    }

    /// Waits until everything is indexed and embedded; for measurements.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Library::search`].
    pub fn wait_until_ready(self: &Arc<Self>) -> Result<(), LibraryError> {
        self.refresh()?;
        self.background.wait(Task::BuildIndex, Duration::MAX);
        self.background.wait(Task::MoveToDatabase, Duration::MAX);
        self.prepare();
        self.background.wait(Task::MakeVectors, Duration::MAX);
        Ok(())
    }

    fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Locks a mutex, ignoring poisoning: after a panic, the next scan of the folder brings the cache up to date.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
