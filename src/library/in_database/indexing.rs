//! Brings the rows of a library up to date with its files.

use std::sync::{Arc, PoisonError};

use super::InDatabase;
use crate::domain::embedder::EmbeddingInput;
use crate::domain::library_rows::{ChunkId, LibraryFile};
use crate::domain::{EmbedError, RelPath};
use crate::heap;
use crate::library::background::Task;
use crate::library::embedding::Store;
use crate::library::refresh::{MAX_FOREGROUND_BYTES, TRIM_THRESHOLD};
use crate::library::{FolderState, IndexProgress, IndexState, Library, LibraryError, documents};
use crate::retrieval::Listed;
use crate::retrieval::analyse::Analyser;
use crate::retrieval::chunk_index::FileState;
use crate::retrieval::extract::DocumentKind;
use crate::retrieval::index::{IndexUpdate, StoredFile, fingerprint, plan};
use crate::retrieval::library_chunks::{chunk_of, rows_of};
use crate::retrieval::search::SearchError;
use crate::retrieval::windows::WindowLimit;
use crate::store::LibraryModel;

/// Chunks that are stored together; a file with more of them is stored alone.
const BATCH_CHUNKS: usize = 400;
/// Texts that are embedded together, and stored together.
const BATCH_TEXTS: usize = 16;
/// Chunks without a vector that are read at once.
const READ_CHUNKS: i64 = 256;

/// Files that wait to be stored together.
#[derive(Default)]
pub(super) struct FileBatch {
    files: Vec<(FileState, LibraryFile)>,
    chunks: usize,
}

impl FileBatch {
    fn is_full(&self) -> bool {
        self.chunks >= BATCH_CHUNKS
    }
}

impl InDatabase {
    /// Adds a file to those that are stored next, and stores them if they are enough.
    pub(super) fn put(
        &self,
        batch: &mut FileBatch,
        file: StoredFile,
        (analyser, window): (&Analyser, WindowLimit),
    ) -> Result<(), LibraryError> {
        let rows = rows_of(&file, analyser, window).map_err(SearchError::from)?;
        batch.chunks += rows.chunks.len();
        batch.files.push((file.state, rows));
        if batch.is_full() { self.store(batch) } else { Ok(()) }
    }

    /// Stores the files of a batch, all or none.
    pub(super) fn store(&self, batch: &mut FileBatch) -> Result<(), LibraryError> {
        let FileBatch { files, .. } = std::mem::take(batch);
        if files.is_empty() {
            return Ok(());
        }
        let (states, rows): (Vec<FileState>, Vec<LibraryFile>) = files.into_iter().unzip();
        self.database.ask(|database| database.put(&rows))?;
        let known = states.into_iter().filter_map(|state| Some((RelPath::parse(&state.path).ok()?, state)));
        self.files().extend(known);
        self.count()
    }

    pub(super) fn remove(&self, paths: &[RelPath]) -> Result<(), LibraryError> {
        if paths.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = paths.iter().map(RelPath::to_string).collect();
        self.database.ask(|database| database.remove(&names))?;
        self.files().retain(|path, _| !paths.contains(path));
        self.count()
    }

    /// Makes room for the vectors of a model, unless they are those that the database has.
    pub(super) fn use_model(&self, model: LibraryModel) -> Result<(), LibraryError> {
        if self.opened().model.as_ref() == Some(&model) {
            return Ok(());
        }
        self.database.ask(|rows| rows.use_model(&model))?;
        self.opened.write().unwrap_or_else(PoisonError::into_inner).model = Some(model);
        *self.means.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.count()
    }

    /// Notes the new stamps of files whose content is the same.
    fn set_stamps(&self, files: Vec<FileState>) -> Result<(), LibraryError> {
        let text = |state: &FileState| Some((state.path.clone(), serde_json::to_string(state).ok()?));
        let states: Vec<(String, String)> = files.iter().filter_map(text).collect();
        if states.is_empty() {
            return Ok(());
        }
        self.database.ask(|database| database.set_states(&states))?;
        let known = files.into_iter().filter_map(|state| Some((RelPath::parse(&state.path).ok()?, state)));
        self.files().extend(known);
        Ok(())
    }
}

impl Library {
    /// Updates the rows from the files: at once, or in the background if much is new. Returns whether the library is still in the
    /// database.
    pub(in crate::library) fn refresh_in_database(
        self: &Arc<Self>,
        place: &Arc<InDatabase>,
        (listing, seen): (&[Listed], &mut FolderState),
    ) -> Result<bool, LibraryError> {
        let update = plan(&place.files(), listing);
        if update.is_empty() {
            seen.indexed = !self.leave_if_small(place)?;
            return Ok(seen.indexed);
        }
        let is_document = |file: &&Listed| DocumentKind::of(&file.path).is_some();
        let bytes: u64 = update.read.iter().map(|file| file.size).sum();
        if bytes <= MAX_FOREGROUND_BYTES && !update.read.iter().any(|file| is_document(&file)) {
            let updated = self.update_rows(place, update, |_| {});
            self.show_rows();
            updated?;
            self.embed_if_used();
            return Ok(true);
        }
        let total = update.read.len() as u32;
        self.report(IndexProgress { state: IndexState::Building, done: 0, total });
        let place = place.clone();
        self.spawn_background(Task::BuildIndex, move |library, running| {
            let report = |done| library.report(IndexProgress { state: IndexState::Building, done, total });
            if let Err(error) = library.update_rows(&place, update, report) {
                tracing::warn!(folder = library.folder(), %error, "indexing in the database stopped");
            }
            heap::trim_heap();
            drop(running);
            library.report(IndexProgress { state: IndexState::Ready, ..IndexProgress::default() });
            library.show_rows();
            library.embed_if_used();
        });
        self.background.wait(Task::BuildIndex, documents::DOCUMENT_WAIT);
        Ok(true)
    }

    /// Tells searches that the rows have changed.
    fn show_rows(&self) {
        let view = self.view();
        self.show(view.snapshot.clone(), view.store.clone());
    }

    fn update_rows(
        &self,
        place: &InDatabase,
        update: IndexUpdate,
        on_progress: impl Fn(u32),
    ) -> Result<(), LibraryError> {
        place.remove(&update.gone)?;
        let (mut batch, mut same) = (FileBatch::default(), Vec::new());
        let mut read_bytes = 0;
        for (done, file) in (1..).zip(&update.read).take_while(|_| !self.is_closed()) {
            if let Some(state) = self.update_file(place, &mut batch, file)? {
                same.push(state);
            }
            read_bytes += file.size;
            if read_bytes > TRIM_THRESHOLD {
                heap::trim_heap();
                read_bytes = 0;
            }
            on_progress(done);
        }
        place.store(&mut batch)?;
        place.set_stamps(same)
    }

    /// Returns what chunks are analysed with.
    pub(super) fn analysis(&self) -> (&Analyser, WindowLimit) {
        (&self.analyser, WindowLimit(self.settings.limits.tokens))
    }

    /// Returns the new state of a file whose content is stored already.
    fn update_file(
        &self,
        place: &InDatabase,
        batch: &mut FileBatch,
        file: &Listed,
    ) -> Result<Option<FileState>, LibraryError> {
        let known = place.files().get(&file.path).cloned();
        let (content, read) = match documents::bytes(&self.home, &file.path) {
            Ok(bytes) => {
                let content = fingerprint(&bytes);
                if let Some(known) = known.as_ref().filter(|known| known.content == content) {
                    let mut state = known.clone();
                    state.stamp = file.stamp;
                    return Ok(Some(state));
                }
                (content, self.extract(file, bytes))
            }
            Err(why) => (String::new(), Err(why)),
        };
        let stored = StoredFile::of(file, content, read, self.settings.limits);
        if !known.is_some_and(|known| stored.state.is_still_unreadable(&known)) {
            place.put(batch, stored, self.analysis())?;
        }
        Ok(None)
    }

    /// Embeds the chunks that have no vector.
    pub(in crate::library) fn embed_rows(&self, place: &InDatabase, store: &Store) -> Result<(), EmbedError> {
        self.prepare_vectors(place, store)?;
        let failed = |error: LibraryError| EmbedError::Unavailable(error.to_string());
        let mut after = ChunkId(i64::MIN);
        loop {
            let opened = place.opened();
            let database = &place.database;
            let asked = (|| -> Result<_, LibraryError> {
                let reading = database.ask(|rows| rows.read(&opened))?;
                let found = database.ask_reading(&reading, |reading| reading.without_vector(after, READ_CHUNKS))?;
                database.done(reading);
                Ok(found)
            })();
            let missing = asked.map_err(failed)?;
            let Some(last) = missing.last() else { return Ok(()) };
            after = last.id;
            for rows in missing.chunks(BATCH_TEXTS) {
                let mut texts = Vec::with_capacity(rows.len());
                for row in rows {
                    texts.push(chunk_of(row).map_err(|error| failed(SearchError::from(error).into()))?.indexed());
                }
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let made = store.embedder.embed(EmbeddingInput::Passage, &texts)?;
                if self.is_closed() {
                    return Err(EmbedError::Closed);
                }
                let vectors: Vec<(i64, Vec<f32>)> = rows.iter().map(|row| row.chunk.key).zip(made).collect();
                database.ask(|rows| rows.put_vectors(&vectors)).map_err(|error| failed(error.into()))?;
            }
            place.count().map_err(failed)?;
            let embedded = place.embedded(Some(&store.model));
            self.report(IndexProgress { state: IndexState::Embedding, done: embedded.done, total: embedded.total });
        }
    }

    /// Makes room for the vectors of the model, unless they are those that the database has.
    pub(super) fn prepare_vectors(&self, place: &InDatabase, store: &Store) -> Result<(), EmbedError> {
        let model = LibraryModel { id: store.model.id.clone(), dimension: store.model.dimension };
        place.use_model(model).map_err(|error| EmbedError::Unavailable(error.to_string()))
    }
}
