//! The shelf: chunks and the files they come from in a tantivy index, in memory or on disk.
//!
//! A file is one document with its state, and one document for each of its chunks. A commit is atomic: after a crash
//! the shelf is what the last commit left.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Term};

use super::analyse::{Analyser, Script};
use super::chunk::Unit;
use super::lexical::Snapshot;
use super::windows::{self, WindowLimit};
use crate::domain::FileStamp;

/// What the writer may hold before it writes a segment, in bytes; tantivy's least.
const WRITER_MEMORY: usize = 15_000_000;

/// Where one document of the index keeps what.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// The home path, of files and of their chunks.
    pub path: Field,
    /// One fixed term, to find all files.
    kind: Field,
    /// A [`FileState`] as JSON.
    file: Field,
    /// A [`StoredChunk`] as JSON.
    chunk: Field,
    /// The terms of a chunk.
    pub words: Field,
    /// Its characters of scripts without blanks.
    pub characters: Field,
    /// How many terms a chunk has.
    length: Field,
    /// The key of its vector.
    key: Field,
    /// The file's number, and the chunk's place in the file.
    order: Field,
    /// Three values a unit, see [`PackedUnit`].
    units: Field,
    /// The sum of the lengths of the windows around its fresh units, in [`WINDOW_PARTS`] of a term.
    windows: Field,
    /// Its [`Script`], as a number.
    script: Field,
}

pub(super) fn script_number(script: Script) -> u64 {
    match script {
        Script::Mixed => 0,
        Script::Spaced => 1,
        Script::Unspaced => 2,
    }
}

pub(super) fn numbered_script(number: u64) -> Script {
    match number {
        1 => Script::Spaced,
        2 => Script::Unspaced,
        _ => Script::Mixed,
    }
}

/// A unit as the index keeps it: bytes from the chunk's begin and their number; the first term's position and the number
/// of terms; tokens, and whether it is fresh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PackedUnit {
    pub start: u32,
    pub bytes: u32,
    pub first_term: u32,
    pub terms: u32,
    pub tokens: u32,
    pub fresh: bool,
}

impl PackedUnit {
    const VALUES: usize = 3;

    fn packed(self) -> [u64; Self::VALUES] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [pair(self.start, self.bytes), pair(self.first_term, self.terms), pair(u32::from(self.fresh), self.tokens)]
    }

    pub fn all(values: impl Iterator<Item = u64>) -> Vec<Self> {
        let values: Vec<u64> = values.collect();
        let (high, low) = (|value: u64| (value >> 32) as u32, |value: u64| value as u32);
        let units = values.as_chunks::<{ Self::VALUES }>().0.iter();
        units
            .map(|&[place, terms, rest]| Self {
                start: high(place),
                bytes: low(place),
                first_term: high(terms),
                terms: low(terms),
                tokens: low(rest),
                fresh: high(rest) == 1,
            })
            .collect()
    }
}

/// A chunk's terms, each followed by a blank: what the index takes apart again at the blanks, which no term holds.
struct Analysed {
    words: String,
    /// The number of `words`.
    count: u32,
    characters: String,
    units: Vec<PackedUnit>,
}

impl Analysed {
    fn of(chunk: &StoredChunk, analyser: &Analyser) -> Self {
        let mut all = Self {
            words: String::with_capacity(2 * chunk.text.len()),
            count: 0,
            characters: String::new(),
            units: Vec::with_capacity(chunk.units.len()),
        };
        all.take(&chunk.head(), analyser);
        for unit in &chunk.units {
            let (from, to) = (unit.range.start - chunk.range.start, unit.range.end - chunk.range.start);
            let first_term = all.count;
            all.take(&chunk.text[from..to], analyser);
            all.units.push(PackedUnit {
                start: from as u32,
                bytes: (to - from) as u32,
                first_term,
                terms: all.count - first_term,
                tokens: unit.tokens as u32,
                fresh: unit.fresh,
            });
        }
        all
    }

    fn take(&mut self, text: &str, analyser: &Analyser) {
        analyser.terms(text, |term| {
            self.words.extend([term, " "]);
            self.count += 1;
        });
        analyser.characters(text, |c| self.characters.extend([c, ' ']));
    }
}

const FILE: &str = "file";
/// What tantivy calls the tokenizer that cuts at blanks and does nothing else.
const AT_BLANKS: &str = "whitespace";
/// Lengths are kept as whole numbers of such parts: their sum is then the same in any order.
pub(super) const WINDOW_PARTS: f64 = 1024.0;
/// The bits of an order that count the chunks of a file.
pub(super) const MOST_CHUNKS: u64 = 0xff_ffff;

/// What the shelf knows about a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    /// Differs when the file may have changed.
    pub stamp: FileStamp,
    /// MD5 of the content, in hexadecimal: a change detector, not a protection.
    pub content: String,
    pub chunks: u32,
    /// Why the file could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A chunk with everything that is shown of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredChunk {
    pub id: String,
    pub source: String,
    pub title: String,
    pub heading: String,
    pub range: std::ops::Range<usize>,
    /// Absent where the file is not the text it was read as.
    pub lines: Option<(u32, u32)>,
    pub tokens: u32,
    pub text: String,
    /// For the index; not stored with the chunk.
    #[serde(skip)]
    pub units: Vec<Unit>,
}

impl StoredChunk {
    /// What is indexed and embedded: where it stands, then what it says.
    pub fn indexed(&self) -> String {
        format!("{}\n{}", self.head(), self.text)
    }

    fn head(&self) -> String {
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
pub enum ShelfError {
    /// Made by another version or with other settings: to be made anew.
    #[error("the index was made with other settings")]
    Outdated,
    #[error("the index failed: {0}")]
    Index(#[from] tantivy::TantivyError),
}

pub struct Shelf {
    index: Index,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    fields: Fields,
    analyser: Analyser,
    plan: Plan,
}

/// What a shelf is made with; part of what must not change while it lives.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names the version and the settings.
    pub mark: String,
    pub window: WindowLimit,
}

impl Shelf {
    /// # Errors
    /// When memory is short.
    pub fn in_memory(plan: Plan) -> Result<Self, ShelfError> {
        let (schema, fields) = schema();
        Self::new(Index::create_in_ram(schema), fields, plan)
    }

    /// Opens the shelf in `folder`, or begins one where it is empty.
    ///
    /// # Errors
    /// [`ShelfError::Outdated`] when the one there has another mark; otherwise when it is damaged or cannot be written.
    pub fn on_disk(folder: &Path, plan: Plan) -> Result<Self, ShelfError> {
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let (schema, fields) = schema();
        if Index::exists(&directory).map_err(tantivy::TantivyError::from)? {
            let index = Index::open(directory)?;
            if index.schema() != schema || index.load_metas()?.payload.as_deref() != Some(&plan.mark) {
                return Err(ShelfError::Outdated);
            }
            return Self::new(index, fields, plan);
        }
        let mut shelf = Self::new(Index::create(directory, schema, IndexSettings::default())?, fields, plan)?;
        shelf.commit()?;
        Ok(shelf)
    }

    fn new(index: Index, fields: Fields, plan: Plan) -> Result<Self, ShelfError> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, writer: None, fields, analyser: Analyser::default(), plan })
    }

    /// The files on the shelf.
    ///
    /// # Errors
    /// When the index on disk is damaged.
    pub fn files(&self) -> Result<Vec<FileState>, ShelfError> {
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

    /// Puts a file with its chunks in the place of what was there of it.
    ///
    /// # Errors
    /// When the index cannot be written; nothing is lost, the next call begins anew.
    pub fn put(&mut self, file: &FileState, chunks: &[StoredChunk]) -> Result<(), ShelfError> {
        let order = u64::from_be_bytes(digest(file.path.as_bytes())) & !MOST_CHUNKS;
        let analysed: Vec<Analysed> = chunks.iter().map(|chunk| Analysed::of(chunk, &self.analyser)).collect();
        let units: Vec<&[PackedUnit]> = analysed.iter().map(|chunk| chunk.units.as_slice()).collect();
        let lengths = windows::lengths(&units, self.plan.window);
        let mut documents = vec![self.file_document(file)?];
        for (number, (chunk, analysed)) in chunks.iter().zip(analysed).enumerate() {
            let mut document = self.chunk_document(chunk, analysed)?;
            document.add_u64(self.fields.order, order | (number as u64).min(MOST_CHUNKS));
            document.add_u64(self.fields.windows, (lengths[number] * WINDOW_PARTS).round() as u64);
            documents.push(document);
        }
        self.remove(&file.path)?;
        for document in documents {
            self.writer()?.add_document(document)?;
        }
        Ok(())
    }

    /// # Errors
    /// As [`Shelf::put`].
    pub fn remove(&mut self, path: &str) -> Result<(), ShelfError> {
        let term = Term::from_field_text(self.fields.path, path);
        self.writer()?.delete_term(term);
        Ok(())
    }

    /// Makes all changes since the last commit part of the next snapshot, together.
    ///
    /// # Errors
    /// As [`Shelf::put`].
    pub fn commit(&mut self) -> Result<(), ShelfError> {
        let mark = self.plan.mark.clone();
        let committed = (|| {
            let mut commit = self.writer()?.prepare_commit()?;
            commit.set_payload(&mark);
            commit.commit()?;
            self.reader.reload()?;
            Ok(())
        })();
        if committed.is_err() {
            // A writer that failed once stays failed.
            self.writer = None;
        }
        committed
    }

    /// # Errors
    /// When the index on disk is damaged.
    pub fn snapshot(&self) -> Result<Snapshot, ShelfError> {
        Ok(Snapshot::new(self.reader.searcher(), self.fields)?)
    }

    fn writer(&mut self) -> Result<&mut IndexWriter, ShelfError> {
        if self.writer.is_none() {
            self.writer = Some(self.index.writer_with_num_threads(1, WRITER_MEMORY)?);
        }
        self.writer.as_mut().ok_or(ShelfError::Outdated)
    }

    fn file_document(&self, file: &FileState) -> Result<TantivyDocument, ShelfError> {
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.path, &file.path);
        document.add_text(self.fields.kind, FILE);
        document.add_bytes(self.fields.file, &json(file)?);
        Ok(document)
    }

    fn chunk_document(&self, chunk: &StoredChunk, analysed: Analysed) -> Result<TantivyDocument, ShelfError> {
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.path, &chunk.source);
        document.add_bytes(self.fields.chunk, &json(chunk)?);
        document.add_u64(self.fields.length, u64::from(analysed.count));
        document.add_u64(self.fields.key, key(&chunk.indexed()));
        document.add_u64(self.fields.script, script_number(Script::of(&chunk.text)));
        for value in analysed.units.into_iter().flat_map(PackedUnit::packed) {
            document.add_u64(self.fields.units, value);
        }
        document.add_text(self.fields.words, analysed.words);
        document.add_text(self.fields.characters, analysed.characters);
        Ok(document)
    }
}

impl Fields {
    pub(super) fn chunk(&self, document: &TantivyDocument) -> tantivy::Result<StoredChunk> {
        parsed(document, self.chunk)
    }
}

/// Names the vector of an indexed text in the cache of vectors.
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
        let indexing = indexing.set_tokenizer(AT_BLANKS);
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
        order: schema.add_u64_field("order", tantivy::schema::FAST),
        units: schema.add_u64_field("units", tantivy::schema::FAST),
        windows: schema.add_u64_field("windows", tantivy::schema::FAST),
        script: schema.add_u64_field("script", tantivy::schema::FAST),
    };
    (schema.build(), fields)
}

fn json(value: &impl Serialize) -> tantivy::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))
}

fn parsed<T: for<'de> Deserialize<'de>>(document: &TantivyDocument, field: Field) -> tantivy::Result<T> {
    let damaged = || tantivy::TantivyError::InternalError("a stored document is damaged".to_owned());
    let bytes = document.get_first(field).and_then(|value| value.as_bytes()).ok_or_else(damaged)?;
    serde_json::from_slice(bytes).map_err(|_| damaged())
}
