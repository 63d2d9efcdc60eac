//! The lexical retriever: tantivy stores the postings of all chunks, in memory or on disk; the score is BM25 (Robertson and
//! Zaragoza 2009, with Lucene's form of the idf, which is never negative).
//!
//! The score is computed here and not by tantivy, because it must be exact and explainable: a chunk that was deleted but
//! not yet merged away must not count, or the same files would get other scores after a rebuild; lengths are exact and not
//! quantised; and k1 and b are configurable.

use std::sync::{Arc, OnceLock};

use tantivy::columnar::Column;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, Term};

use super::analyse::{QueryTerm, WritingSystem};
use super::chunk::Unit;
use super::chunk_index::{Fields, FileState, StoredChunk, WINDOW_PARTS, WITHIN_FILE, file_order};
use super::chunk_positions::Position;
use super::prepared::{PackedUnit, numbered_script};

/// The parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// Term frequency saturation: the smaller, the sooner repetitions of a term stop counting.
    pub k1: f64,
    /// Length normalisation: how much long texts are penalised, 0 to 1.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// All chunks of an index as of one commit. Searching needs no lock.
pub(super) struct IndexedChunks {
    searcher: Searcher,
    fields: Fields,
    segments: Vec<Segment>,
    chunks: usize,
    total_length: u64,
    /// All chunks in order, each with a number that identifies its file.
    ranked: Vec<(DocAddress, u32)>,
    average_window: f64,
}

/// A segment of the tantivy index; each column holds a value for every document of the segment.
struct Segment {
    /// Number of terms; [`NO_CHUNK`] if the document is deleted or is not a chunk.
    lengths: Vec<u32>,
    keys: Vec<u64>,
    /// Position in `ranked`. It orders equal scores independently of the order in which the chunks were indexed.
    ranks: Vec<u32>,
    positions: Vec<Position>,
    packed_units: Column<u64>,
    /// Unpacked on first use.
    units: Vec<OnceLock<Arc<[PackedUnit]>>>,
    scripts: Column<u64>,
}

const NO_CHUNK: u32 = u32::MAX;

/// The positions of a term in several chunks.
#[derive(Default)]
pub(super) struct TermPositions {
    /// For each chunk, the end of its positions.
    ends: Vec<u32>,
    pub(super) positions: Vec<u32>,
}

impl TermPositions {
    /// Returns the positions in the chunk with this number, ascending; `u32::MAX` per occurrence if only the count is known.
    pub fn of(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.positions[start as usize..self.ends[number] as usize]
    }

    pub(super) fn end(&mut self) {
        self.ends.push(self.positions.len() as u32);
    }
}

/// A term of a question with its occurrences in the index.
pub struct TermMatches {
    pub term: QueryTerm,
    pub idf: f64,
    /// Number of occurrences in the question.
    pub(super) query_frequency: f64,
    /// Number of chunks that contain the term.
    pub(super) document_frequency: u32,
    /// Chunks that contain the term and its frequency in them, sorted by address: all, or those that were fetched.
    pub(super) postings: Vec<(DocAddress, u32)>,
}

impl TermMatches {
    /// Returns the number of chunks that contain the term.
    pub fn document_frequency(&self) -> u32 {
        self.document_frequency
    }

    pub(super) fn weight(&self) -> f64 {
        self.query_frequency * self.idf
    }

    /// Returns what the term adds to the score of a chunk that contains it so many times and has so many words; `average` is the
    /// mean number of words of all chunks.
    pub(super) fn contribution(&self, (times, length): (u32, u32), average: f64, bm25: Bm25) -> f64 {
        let (times, length) = (f64::from(times), f64::from(length));
        let saturation = times * (bm25.k1 + 1.0)
            / (times + bm25.k1 * (1.0 - bm25.b + bm25.b * length / average.max(f64::MIN_POSITIVE)));
        self.query_frequency * self.idf * saturation
    }
}

/// Returns the inverse document frequency of a term that `document_frequency` of all chunks contain.
pub(super) fn idf(chunks: usize, document_frequency: u32) -> f64 {
    let containing = f64::from(document_frequency);
    (1.0 + (chunks as f64 - containing + 0.5) / (containing + 0.5)).ln()
}

impl IndexedChunks {
    pub(super) fn new<'f>(
        searcher: Searcher,
        fields: Fields,
        files: impl Iterator<Item = &'f FileState>,
    ) -> tantivy::Result<Self> {
        let mut segments = Vec::new();
        let (mut chunks, mut total_length) = (0, 0);
        let mut orders = Vec::new();
        let (mut window_lengths, mut windows) = (0, 0usize);
        for (number, reader) in searcher.segment_readers().iter().enumerate() {
            let lengths_column = reader.fast_fields().u64("length")?;
            let keys_column = reader.fast_fields().u64("key")?;
            let orders_column = reader.fast_fields().u64("order")?;
            let windows_column = reader.fast_fields().u64("windows")?;
            let units = reader.fast_fields().u64("units")?;
            let scripts = reader.fast_fields().u64("script")?;
            let mut lengths = vec![NO_CHUNK; reader.max_doc() as usize];
            let mut keys = vec![0; reader.max_doc() as usize];
            for doc in reader.doc_ids_alive() {
                let Some(length) = lengths_column.first(doc) else { continue };
                lengths[doc as usize] = length as u32;
                keys[doc as usize] = keys_column.first(doc).unwrap_or_default();
                orders.push((orders_column.first(doc).unwrap_or_default(), DocAddress::new(number as u32, doc)));
                window_lengths += windows_column.first(doc).unwrap_or_default();
                windows += PackedUnit::all(units.values_for_doc(doc)).iter().filter(|unit| unit.fresh).count();
                chunks += 1;
                total_length += length;
            }
            let (ranks, positions) = (vec![0; lengths.len()], vec![Position::default(); lengths.len()]);
            let unpacked = vec![OnceLock::new(); lengths.len()];
            segments.push(Segment { lengths, keys, ranks, positions, packed_units: units, units: unpacked, scripts });
        }
        orders.sort_unstable_by_key(|&(order, _)| order);
        for file in files {
            let order = file_order(&file.path);
            let first = orders.partition_point(|&(at, _)| at < order);
            for (chunk, &(_, address)) in file.chunks.iter().zip(&orders[first..]) {
                segments[address.segment_ord as usize].positions[address.doc_id as usize] = chunk.at;
            }
        }
        let mut ranked = Vec::with_capacity(orders.len());
        for (number, of_file) in orders.chunk_by(|(a, _), (b, _)| a & !WITHIN_FILE == b & !WITHIN_FILE).enumerate() {
            for &(_, address) in of_file {
                segments[address.segment_ord as usize].ranks[address.doc_id as usize] = ranked.len() as u32;
                ranked.push((address, number as u32));
            }
        }
        let average_window = window_lengths as f64 / WINDOW_PARTS / windows.max(1) as f64;
        Ok(Self { searcher, fields, segments, chunks, total_length, ranked, average_window })
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.chunks
    }

    /// Returns every chunk with the key of its vector.
    pub fn keys(&self) -> impl Iterator<Item = (DocAddress, u64)> {
        self.segments.iter().enumerate().flat_map(|(segment, columns)| {
            let chunks = columns.lengths.iter().zip(&columns.keys).enumerate();
            chunks
                .filter(|(_, (length, _))| **length != NO_CHUNK)
                .map(move |(doc, (_, key))| (DocAddress::new(segment as u32, doc as u32), *key))
        })
    }

    pub(super) fn key(&self, address: DocAddress) -> u64 {
        self.segments[address.segment_ord as usize].keys[address.doc_id as usize]
    }

    /// Returns a chunk's number among all chunks, file by file. Chunks with equal scores are sorted in this order.
    pub(super) fn rank(&self, address: DocAddress) -> u32 {
        self.segments[address.segment_ord as usize].ranks[address.doc_id as usize]
    }

    /// Returns the chunk with this number if it belongs to the same file as `other`.
    pub(super) fn of_same_file(&self, rank: u32, other: DocAddress) -> Option<DocAddress> {
        let &(address, _) = self.ranked.get(rank as usize)?;
        self.same_file(address, other).then_some(address)
    }

    pub(super) fn same_file(&self, a: DocAddress, b: DocAddress) -> bool {
        let file = |address| self.ranked[self.rank(address) as usize].1;
        file(a) == file(b)
    }

    pub(super) fn units(&self, address: DocAddress) -> Arc<[PackedUnit]> {
        let segment = &self.segments[address.segment_ord as usize];
        let unpacked = || PackedUnit::all(segment.packed_units.values_for_doc(address.doc_id)).into();
        segment.units[address.doc_id as usize].get_or_init(unpacked).clone()
    }

    pub(super) fn script(&self, address: DocAddress) -> WritingSystem {
        let number = self.segments[address.segment_ord as usize].scripts.first(address.doc_id);
        numbered_script(number.unwrap_or_default())
    }

    /// Returns the mean length of windows in terms, weighted by the kernel.
    pub(super) fn average_window(&self) -> f64 {
        self.average_window
    }

    /// Returns the positions of a term in `chunks`, which are sorted by address.
    pub(super) fn term_positions(&self, term: &TermMatches, chunks: &[DocAddress]) -> tantivy::Result<TermPositions> {
        let mut found = TermPositions::default();
        let word = match &term.term {
            QueryTerm::Term(text) => Term::from_field_text(self.fields.words, text),
            QueryTerm::Character(_) => {
                for chunk in chunks {
                    let known = term.postings.binary_search_by_key(chunk, |&(address, _)| address);
                    let times = known.map_or(0, |at| term.postings[at].1);
                    found.positions.extend(std::iter::repeat_n(u32::MAX, times as usize));
                    found.end();
                }
                return Ok(found);
            }
        };
        for chunks in chunks.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let inverted = self.searcher.segment_reader(chunks[0].segment_ord).inverted_index(word.field())?;
            let mut postings = inverted.read_postings(&word, IndexRecordOption::WithFreqsAndPositions)?;
            for &address in chunks {
                if let Some(postings) = &mut postings {
                    if postings.doc() < address.doc_id {
                        postings.seek(address.doc_id);
                    }
                    if postings.doc() == address.doc_id {
                        postings.append_positions_with_offset(0, &mut found.positions);
                    }
                }
                found.end();
            }
        }
        Ok(found)
    }

    /// Returns a chunk with its current position in the file.
    ///
    /// # Errors
    /// Returns an error if the index on disk is damaged.
    pub fn chunk(&self, address: DocAddress) -> tantivy::Result<StoredChunk> {
        let mut chunk = self.fields.chunk(&self.searcher.doc(address)?)?;
        let at = self.segments[address.segment_ord as usize].positions[address.doc_id as usize];
        let start = at.start as usize;
        (chunk.range, chunk.lines) = (start..start + chunk.text.len(), at.lines());
        Ok(chunk)
    }

    /// Returns the chunks of a file, in document order.
    pub fn chunks_of(&self, path: &str) -> tantivy::Result<Vec<StoredChunk>> {
        let term = Term::from_field_text(self.fields.path, path);
        let mut found = Vec::new();
        for (address, _) in self.postings(&term)? {
            found.push(self.chunk(address)?);
        }
        found.sort_by_key(|chunk| chunk.range.start);
        Ok(found)
    }

    /// Returns the chunks of a file with their units, in document order.
    pub(super) fn chunks_with_units(&self, path: &str) -> tantivy::Result<Vec<StoredChunk>> {
        let mut found = Vec::new();
        for (address, _) in self.postings(&Term::from_field_text(self.fields.path, path))? {
            let mut chunk = self.chunk(address)?;
            let start = chunk.range.start;
            let unit = |unit: &PackedUnit| {
                let from = start + unit.start as usize;
                Unit { range: from..from + unit.bytes as usize, tokens: unit.tokens as usize, fresh: unit.fresh }
            };
            chunk.units = self.units(address).iter().map(unit).collect();
            found.push(chunk);
        }
        found.sort_by_key(|chunk| chunk.range.start);
        Ok(found)
    }

    pub(super) fn postings_of(&self, term: &QueryTerm) -> tantivy::Result<Vec<(DocAddress, u32)>> {
        self.postings(&match term {
            QueryTerm::Term(text) => Term::from_field_text(self.fields.words, text),
            QueryTerm::Character(c) => Term::from_field_text(self.fields.characters, c.encode_utf8(&mut [0; 4])),
        })
    }

    fn postings(&self, term: &Term) -> tantivy::Result<Vec<(DocAddress, u32)>> {
        let mut found = Vec::new();
        for (number, (reader, segment)) in self.searcher.segment_readers().iter().zip(&self.segments).enumerate() {
            let inverted = reader.inverted_index(term.field())?;
            let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if segment.lengths[doc as usize] != NO_CHUNK {
                    found.push((DocAddress::new(number as u32, doc), postings.term_freq()));
                }
                doc = postings.advance();
            }
        }
        Ok(found)
    }

    /// Returns the score (above 0) and address of every chunk that contains at least one of the terms.
    pub fn scores(&self, matches: &[TermMatches], bm25: Bm25) -> Vec<(DocAddress, f64)> {
        let mut scores: Vec<Vec<f64>> = self.segments.iter().map(|segment| vec![0.0; segment.lengths.len()]).collect();
        let mut touched = Vec::new();
        let average = self.total_length as f64 / self.chunks.max(1) as f64;
        for term in matches {
            for &(address, times) in &term.postings {
                let score = &mut scores[address.segment_ord as usize][address.doc_id as usize];
                if *score == 0.0 {
                    touched.push(address);
                }
                let length = self.segments[address.segment_ord as usize].lengths[address.doc_id as usize];
                *score += term.contribution((times, length), average, bm25);
            }
        }
        let score = |address: DocAddress| scores[address.segment_ord as usize][address.doc_id as usize];
        touched.into_iter().map(|address| (address, score(address))).collect()
    }
}
