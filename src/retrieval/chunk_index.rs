//! The chunk index: chunks and the files they come from in a tantivy index, in memory or on disk.
//!
//! For each file, the index has one document with its state and one document for each of its chunks. Commits are atomic: after
//! a crash, the index is in the state of the last commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::index::SegmentMeta;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy, Term};

use super::analyse::Analyser;
use super::chunk::Unit;
use super::chunk_positions::{ChunkEdit, CurrentChunk, IndexedChunk, Position};
use super::chunk_writer::{ChunkWriter, writer};
use super::extract::Unreadable;
use super::lexical::IndexedChunks;
use super::prepared::{PackedUnit, PreparedChunk, json, script_number};
use super::snapshot::IndexSnapshot;
use super::span::{self, WindowLimit};
use crate::domain::FileStamp;

/// The fields of the index's documents.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// The home path of the file, in its own document and in those of its chunks.
    pub path: Field,
    /// A fixed term that marks the documents of files, to find them all.
    kind: Field,
    /// A [`FileState`] as JSON.
    file: Field,
    /// A [`StoredChunk`] as JSON.
    chunk: Field,
    /// The terms of a chunk.
    pub words: Field,
    /// Its characters of scripts without spaces between words.
    pub characters: Field,
    /// Number of terms of a chunk.
    length: Field,
    /// The key of its vector.
    key: Field,
    /// The file's order ([`file_order`]) and the chunk's order number in the file.
    order: Field,
    /// Three values per unit, see [`PackedUnit`].
    units: Field,
    /// The sum of the lengths of the windows around its fresh units, in [`WINDOW_PARTS`] of a term.
    windows: Field,
    /// Its [`WritingSystem`], as a number.
    script: Field,
}

const FILE: &str = "file";
/// Tantivy's name for the tokenizer that only splits at whitespace.
const WHITESPACE_TOKENIZER: &str = "whitespace";
/// Lengths are stored as integers in this fraction of a term, so that their sum does not depend on the order.
pub(super) const WINDOW_PARTS: f64 = 1024.0;
/// Mask of the order bits that distinguish the chunks of a file.
pub(super) const WITHIN_FILE: u64 = 0xff_ffff;
/// Order number of a file's own document; those of its chunks are higher.
const FILE_DOCUMENT: u32 = 0;

/// The state of a file in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    /// Different whenever the file may have changed.
    pub stamp: FileStamp,
    /// MD5 of the content in hexadecimal: detects changes, does not protect against deliberate collisions.
    pub content: String,
    /// Its chunks, in document order.
    #[serde(rename = "places")]
    pub(super) chunks: Arc<[IndexedChunk]>,
    /// Why the file could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Unreadable>,
}

impl FileState {
    /// Returns whether the file cannot be read for the same reason as before.
    pub fn is_still_unreadable(&self, before: &Self) -> bool {
        self.problem.is_some() && self.problem == before.problem && self.stamp == before.stamp
    }

    pub(super) fn without_chunks(&self) -> Self {
        Self { chunks: Arc::default(), ..self.clone() }
    }
}

/// A chunk with all the data that is displayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredChunk {
    pub id: String,
    pub source: String,
    pub title: String,
    pub heading: String,
    /// Byte range, stored in the file's [`IndexedChunk`]s like the lines, because an edit moves all chunks after it.
    #[serde(skip)]
    pub range: std::ops::Range<usize>,
    /// First and last line, 1-based; absent if the text is not the file itself.
    #[serde(skip)]
    pub lines: Option<(u32, u32)>,
    pub tokens: u32,
    pub text: String,
    /// Used for indexing; not stored with the chunk.
    #[serde(skip)]
    pub units: Vec<Unit>,
}

impl StoredChunk {
    /// Returns the text that is indexed and embedded: the title and headings, then the chunk's text.
    pub fn indexed(&self) -> String {
        format!("{}\n{}", self.heading_context(), self.text)
    }

    pub(super) fn heading_context(&self) -> String {
        let Self { title, heading, .. } = self;
        if heading.is_empty() {
            title.clone()
        } else if heading.strip_prefix(title.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" › "))
        {
            heading.clone()
        } else {
            format!("{title} › {heading}")
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Built by another version or with other settings; it must be rebuilt.
    #[error("the index was made with other settings")]
    Outdated,
    #[error("the index failed: {0}")]
    Index(#[from] tantivy::TantivyError),
}

pub struct ChunkIndex {
    index: Index,
    reader: IndexReader,
    writer: ChunkWriter,
    fields: Fields,
    analyser: Analyser,
    settings: ChunkIndexSettings,
}

/// The settings of an index, which must not change during its lifetime.
#[derive(Clone, Debug)]
pub struct ChunkIndexSettings {
    /// Text that identifies the version and the settings.
    pub version_tag: String,
    pub window: WindowLimit,
}

impl ChunkIndex {
    /// Creates an empty index in memory.
    ///
    /// # Errors
    /// Returns an error if the index cannot be created.
    pub fn in_memory(settings: ChunkIndexSettings) -> Result<Self, IndexError> {
        let (schema, fields) = schema();
        Self::new(Index::create_in_ram(schema), fields, settings)
    }

    /// Opens the index in `folder`, or creates one if there is none.
    ///
    /// # Errors
    /// Returns [`IndexError::Outdated`] if the existing index has another version tag or schema, and another error if it is damaged or
    /// cannot be written.
    pub fn on_disk(folder: &Path, settings: ChunkIndexSettings) -> Result<Self, IndexError> {
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let (schema, fields) = schema();
        if Index::exists(&directory).map_err(tantivy::TantivyError::from)? {
            return Self::existing(Index::open(directory)?, settings);
        }
        let mut chunk_index = Self::new(Index::create(directory, schema, IndexSettings::default())?, fields, settings)?;
        chunk_index.commit()?;
        Ok(chunk_index)
    }

    /// Opens a copy in memory of an index on disk, from the contents of its files by their names.
    ///
    /// # Errors
    /// Returns the errors of [`Self::on_disk`], and an error if there is no index.
    pub fn of_files(files: &BTreeMap<String, Vec<u8>>, settings: ChunkIndexSettings) -> Result<Self, IndexError> {
        let directory = RamDirectory::create();
        // The locks of the process that uses the original say nothing about the copy.
        for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with(".lock")) {
            directory.atomic_write(Path::new(name), bytes).map_err(tantivy::TantivyError::from)?;
        }
        Self::existing(Index::open(directory)?, settings)
    }

    fn existing(index: Index, settings: ChunkIndexSettings) -> Result<Self, IndexError> {
        let (schema, fields) = schema();
        if index.schema() != schema || index.load_metas()?.payload.as_deref() != Some(&settings.version_tag) {
            return Err(IndexError::Outdated);
        }
        Self::new(index, fields, settings)
    }

    fn new(index: Index, fields: Fields, settings: ChunkIndexSettings) -> Result<Self, IndexError> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, writer: ChunkWriter::default(), fields, analyser: Analyser::default(), settings })
    }

    /// Returns the files in the index.
    ///
    /// # Errors
    /// Returns an error if the index on disk is damaged.
    pub fn files(&self) -> Result<Vec<FileState>, IndexError> {
        let searcher = self.reader.searcher();
        let term = Term::from_field_text(self.fields.kind, FILE);
        let query = tantivy::query::TermQuery::new(term, IndexRecordOption::Basic);
        let found = searcher.search(&query, &tantivy::collector::DocSetCollector)?;
        let mut files = Vec::with_capacity(found.len());
        for address in found {
            files.push(parsed(&searcher.doc(address)?, self.fields.file)?);
        }
        Ok(files)
    }

    /// Adds a file with its chunks, or replaces its previous chunks, and indexes only the chunks affected by the difference.
    /// `file` must list the previous chunks in `chunks`; afterwards it lists the new ones.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written. Committed data is not lost, and the call can be retried.
    pub fn put(&mut self, file: &mut FileState, chunks: &[StoredChunk]) -> Result<(), IndexError> {
        let of_file = file_order(&file.path);
        let now = chunks.iter().map(now).collect::<tantivy::Result<Vec<_>>>()?;
        let WindowLimit(reach) = self.settings.window;
        let edit = ChunkEdit::of(&file.chunks, &now, reach);
        let known = !file.chunks.is_empty();
        file.chunks = edit.chunks.as_slice().into();
        let around = edit.around(&now, reach);
        let prepared = PreparedChunk::all(&chunks[around.clone()], &self.analyser)?;
        let units: Vec<&[PackedUnit]> = prepared.iter().map(|chunk| chunk.analysed.units.as_slice()).collect();
        let lengths = span::lengths(&units, self.settings.window);
        let mut documents = vec![self.file_document(file)?];
        for ((number, prepared), length) in around.zip(prepared).zip(lengths) {
            if edit.written.contains(&number) {
                let mut document = self.chunk_document(&file.path, prepared);
                document.add_u64(self.fields.order, of_file | u64::from(edit.chunks[number].order));
                document.add_u64(self.fields.windows, (length * WINDOW_PARTS).round() as u64);
                documents.push(document);
            }
        }
        if known {
            for order in edit.gone.into_iter().chain([FILE_DOCUMENT]) {
                let term = Term::from_field_u64(self.fields.order, of_file | u64::from(order));
                self.writer.get(&self.index)?.delete_term(term);
            }
        } else {
            self.remove(&file.path)?;
        }
        for document in documents {
            self.writer.get(&self.index)?.add_document(document)?;
        }
        Ok(())
    }

    /// Removes a file and its chunks.
    ///
    /// # Errors
    /// See [`ChunkIndex::put`].
    pub fn remove(&mut self, path: &str) -> Result<(), IndexError> {
        let term = Term::from_field_text(self.fields.path, path);
        self.writer.get(&self.index)?.delete_term(term);
        Ok(())
    }

    /// Makes all changes since the last commit visible to later snapshots, atomically.
    ///
    /// # Errors
    /// See [`ChunkIndex::put`].
    pub fn commit(&mut self) -> Result<(), IndexError> {
        let version_tag = self.settings.version_tag.clone();
        let committed = (|| {
            let mut commit = self.writer.get(&self.index)?.prepare_commit()?;
            commit.set_payload(&version_tag);
            commit.commit()?;
            self.reader.reload()?;
            Ok(())
        })();
        match committed {
            Ok(()) => self.writer.committed(),
            Err(_) => self.writer.discard(),
        }
        committed
    }

    /// Releases the writer if at `now` nothing has been changed for a while. Returns whether it was released.
    ///
    /// # Errors
    /// Returns an error if segments could not be merged; what is committed is not lost.
    pub fn release_idle_writer(&mut self, now: Instant) -> Result<bool, IndexError> {
        Ok(self.writer.finish_if_idle(now)?)
    }

    /// Rewrites the segments that still hold removed documents, so that no byte of these is left in the index's files. Call it
    /// after a commit.
    ///
    /// # Errors
    /// Returns an error if the index cannot be written; what is committed is not lost.
    pub fn drop_removed(&mut self) -> Result<(), IndexError> {
        // Merges under way would use the same segments.
        self.writer.finish()?;
        let metas = self.index.searchable_segment_metas()?;
        let stale: Vec<_> = metas.iter().filter(|meta| meta.num_deleted_docs() > 0).map(SegmentMeta::id).collect();
        drop(metas);
        let mut writer = writer(&self.index)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if !stale.is_empty() {
            writer.merge(&stale).wait()?;
        }
        // What searched the segments of before keeps their files open, and not their names.
        self.reader.reload()?;
        let collected = writer.garbage_collect_files().wait()?;
        match collected.failed_to_delete_files.first() {
            Some(file) => Err(tantivy::TantivyError::InternalError(format!("{} stays", file.display())).into()),
            None => Ok(()),
        }
    }

    /// Returns a snapshot of the last commit. `files` are the files of that commit.
    ///
    /// # Errors
    /// Returns an error if the index on disk is damaged.
    pub fn snapshot<'f>(&self, files: impl Iterator<Item = &'f FileState>) -> Result<IndexSnapshot, IndexError> {
        Ok(IndexedChunks::new(self.reader.searcher(), self.fields, files)?.into())
    }

    fn file_document(&self, file: &FileState) -> Result<TantivyDocument, IndexError> {
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.path, &file.path);
        document.add_text(self.fields.kind, FILE);
        document.add_u64(self.fields.order, file_order(&file.path) | u64::from(FILE_DOCUMENT));
        document.add_bytes(self.fields.file, &json(file)?);
        Ok(document)
    }

    fn chunk_document(&self, path: &str, prepared: PreparedChunk) -> TantivyDocument {
        let PreparedChunk { analysed, json, key, script } = prepared;
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.path, path);
        document.add_bytes(self.fields.chunk, &json);
        document.add_u64(self.fields.length, u64::from(analysed.count));
        document.add_u64(self.fields.key, key);
        document.add_u64(self.fields.script, script_number(script));
        for value in analysed.units.into_iter().flat_map(PackedUnit::packed) {
            document.add_u64(self.fields.units, value);
        }
        document.add_text(self.fields.words, analysed.words);
        document.add_text(self.fields.characters, analysed.characters);
        document
    }
}

/// Returns the order of a file: the upper bits of the orders of its chunks.
pub(super) fn file_order(path: &str) -> u64 {
    u64::from_be_bytes(digest(path.as_bytes())) & !WITHIN_FILE
}

/// Returns a chunk in the form that is compared with the indexed chunks.
fn now(chunk: &StoredChunk) -> tantivy::Result<CurrentChunk> {
    let mut stored = json(chunk)?;
    let mut tokens = 0;
    for unit in &chunk.units {
        for number in [unit.range.start - chunk.range.start, unit.range.len(), unit.tokens, usize::from(unit.fresh)] {
            stored.extend((number as u64).to_le_bytes());
        }
        tokens += if unit.fresh { unit.tokens } else { 0 };
    }
    let hash = u64::from_be_bytes(digest(&stored));
    Ok(CurrentChunk { hash, at: Position::new(chunk.range.start, chunk.lines), tokens })
}

impl Fields {
    pub(super) fn chunk(&self, document: &TantivyDocument) -> tantivy::Result<StoredChunk> {
        parsed(document, self.chunk)
    }
}

/// Returns the key of an indexed text's vector in the vector cache.
pub fn key(indexed: &str) -> u64 {
    u64::from_be_bytes(digest(indexed.as_bytes()))
}

fn digest(bytes: &[u8]) -> [u8; 8] {
    use md5::{Digest, Md5};
    let hash: [u8; 16] = Md5::digest(bytes).into();
    std::array::from_fn(|at| hash[at])
}

fn schema() -> (Schema, Fields) {
    let indexed = |option| {
        let indexing = TextFieldIndexing::default().set_fieldnorms(false).set_index_option(option);
        let indexing = indexing.set_tokenizer(WHITESPACE_TOKENIZER);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut schema = Schema::builder();
    let fields = Fields {
        path: schema.add_text_field("path", STRING),
        kind: schema.add_text_field("kind", STRING),
        file: schema.add_bytes_field("file", STORED),
        chunk: schema.add_bytes_field("chunk", STORED),
        words: schema.add_text_field("words", indexed(IndexRecordOption::WithFreqsAndPositions)),
        characters: schema.add_text_field("characters", indexed(IndexRecordOption::WithFreqs)),
        length: schema.add_u64_field("length", tantivy::schema::FAST),
        key: schema.add_u64_field("key", tantivy::schema::FAST),
        order: schema.add_u64_field("order", tantivy::schema::FAST | tantivy::schema::INDEXED),
        units: schema.add_u64_field("units", tantivy::schema::FAST),
        windows: schema.add_u64_field("windows", tantivy::schema::FAST),
        script: schema.add_u64_field("script", tantivy::schema::FAST),
    };
    (schema.build(), fields)
}

fn parsed<T: for<'de> Deserialize<'de>>(document: &TantivyDocument, field: Field) -> tantivy::Result<T> {
    let damaged = || tantivy::TantivyError::InternalError("a stored document is damaged".to_owned());
    let bytes = document.get_first(field).and_then(|value| value.as_bytes()).ok_or_else(damaged)?;
    serde_json::from_slice(bytes).map_err(|_| damaged())
}
