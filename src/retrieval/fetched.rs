//! Chunks that were fetched from a database as candidates of one search, with the figures of the whole library, so that they get the
//! scores that an index of all chunks would give them.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::DocAddress;

use super::analyse::{QueryTerm, WritingSystem};
use super::chunk_index::{StoredChunk, WINDOW_PARTS, key};
use super::lexical::{Bm25, TermMatches, TermPositions};
use super::prepared::{PackedUnit, numbered_script};
use crate::domain::library_rows::{FetchedRow, LibraryTotals};

/// Fetched chunks. The address of a chunk is its place among them.
pub(super) struct FetchedChunks {
    rows: Vec<FetchedRow>,
    /// Consecutive for chunks that follow each other in a file; with gaps elsewhere.
    ranks: Vec<u32>,
    units: Vec<Arc<[PackedUnit]>>,
    totals: LibraryTotals,
    frequencies: HashMap<i64, i64>,
}

/// Returns the number of a term. Words have numbers from 0 on, characters have negative ones.
pub(super) fn number_of(term: &QueryTerm) -> i64 {
    match term {
        QueryTerm::Term(word) => (key(word) & i64::MAX as u64) as i64,
        QueryTerm::Character(c) => -i64::from(u32::from(*c)) - 1,
    }
}

/// Returns how often a number occurs in a sequence.
pub(super) fn times(sequence: &[u8], number: i64) -> u32 {
    let number = number.to_le_bytes();
    sequence.as_chunks::<8>().0.iter().map(|other| u32::from(*other == number)).sum()
}

/// Returns how many tokens of these units do not repeat the chunk before.
pub(super) fn fresh_tokens(units: &[u8]) -> u32 {
    unpacked(units).iter().filter(|unit| unit.fresh).map(|unit| unit.tokens).sum()
}

fn unpacked(units: &[u8]) -> Vec<PackedUnit> {
    PackedUnit::all(units.as_chunks::<8>().0.iter().map(|value| u64::from_le_bytes(*value)))
}

impl FetchedChunks {
    /// `rows` are sorted by the order of the files and then by their place there.
    pub fn new(rows: Vec<FetchedRow>, totals: LibraryTotals, frequencies: HashMap<i64, i64>) -> Self {
        let mut ranks: Vec<u32> = Vec::with_capacity(rows.len());
        let mut last: Option<(&FetchedRow, u32)> = None;
        for row in &rows {
            let rank = last.map_or(0, |(before, rank)| {
                let follows = row.id.is_of_same_file(before.id) && row.id.0 == before.id.0 + 1;
                rank + if follows { 1 } else { 2 }
            });
            ranks.push(rank);
            last = Some((row, rank));
        }
        let units = rows.iter().map(|row| unpacked(&row.chunk.units).into()).collect();
        Self { rows, ranks, units, totals, frequencies }
    }

    fn row(&self, address: DocAddress) -> &FetchedRow {
        &self.rows[address.doc_id as usize]
    }

    fn addresses(&self) -> impl Iterator<Item = (DocAddress, &FetchedRow)> {
        self.rows.iter().enumerate().map(|(at, row)| (DocAddress::new(0, at as u32), row))
    }

    pub fn len(&self) -> usize {
        self.totals.chunks as usize
    }

    pub fn keys(&self) -> impl Iterator<Item = (DocAddress, u64)> {
        self.addresses().map(|(address, row)| (address, row.chunk.key as u64))
    }

    pub fn key(&self, address: DocAddress) -> u64 {
        self.row(address).chunk.key as u64
    }

    pub fn rank(&self, address: DocAddress) -> u32 {
        self.ranks[address.doc_id as usize]
    }

    pub fn of_same_file(&self, rank: u32, other: DocAddress) -> Option<DocAddress> {
        let at = self.ranks.binary_search(&rank).ok()?;
        let address = DocAddress::new(0, at as u32);
        self.same_file(address, other).then_some(address)
    }

    pub fn same_file(&self, a: DocAddress, b: DocAddress) -> bool {
        self.row(a).id.is_of_same_file(self.row(b).id)
    }

    pub fn units(&self, address: DocAddress) -> Arc<[PackedUnit]> {
        self.units[address.doc_id as usize].clone()
    }

    pub fn script(&self, address: DocAddress) -> WritingSystem {
        numbered_script(self.row(address).chunk.script as u64)
    }

    pub fn average_window(&self) -> f64 {
        self.totals.windows as f64 / WINDOW_PARTS / self.totals.centres.max(1) as f64
    }

    pub fn document_frequency(&self, term: &QueryTerm) -> u32 {
        self.frequencies.get(&number_of(term)).map_or(0, |count| *count as u32)
    }

    pub fn postings_of(&self, term: &QueryTerm) -> Vec<(DocAddress, u32)> {
        let number = number_of(term);
        let times = self.addresses().map(|(address, row)| (address, times(&row.chunk.sequence, number)));
        times.filter(|(_, times)| *times > 0).collect()
    }

    pub fn term_positions(&self, term: &TermMatches, chunks: &[DocAddress]) -> TermPositions {
        let mut found = TermPositions::default();
        let number = number_of(&term.term);
        let bytes = number.to_le_bytes();
        for chunk in chunks {
            let row = self.row(*chunk);
            let (numbers, _) = row.chunk.sequence.as_chunks::<8>();
            match &term.term {
                QueryTerm::Term(_) => {
                    let words = numbers.iter().take(row.chunk.words as usize);
                    found.positions.extend((0..).zip(words).filter(|(_, other)| **other == bytes).map(|(at, _)| at));
                }
                QueryTerm::Character(_) => {
                    let count = times(&row.chunk.sequence, number);
                    found.positions.extend(std::iter::repeat_n(u32::MAX, count as usize));
                }
            }
            found.end();
        }
        found
    }

    pub fn chunk(&self, address: DocAddress) -> tantivy::Result<StoredChunk> {
        stored_chunk(self.row(address))
    }

    pub fn chunks_of(&self, path: &str) -> tantivy::Result<Vec<StoredChunk>> {
        let mut found = Vec::new();
        for row in &self.rows {
            found.push(stored_chunk(row)?);
        }
        found.retain(|chunk| chunk.source == path);
        Ok(found)
    }

    pub fn scores(&self, matches: &[TermMatches], bm25: Bm25) -> Vec<(DocAddress, f64)> {
        let average = self.totals.length as f64 / self.totals.chunks.max(1) as f64;
        let mut scores = vec![0.0; self.rows.len()];
        for term in matches {
            for &(address, times) in &term.postings {
                let length = self.row(address).chunk.words as u32;
                scores[address.doc_id as usize] += term.contribution((times, length), average, bm25);
            }
        }
        self.addresses()
            .zip(scores)
            .map(|((address, _), score)| (address, score))
            .filter(|(_, score)| *score > 0.0)
            .collect()
    }
}

/// Returns a chunk as it is displayed.
///
/// # Errors
/// Returns an error if the row is damaged.
pub(super) fn stored_chunk(row: &FetchedRow) -> tantivy::Result<StoredChunk> {
    let damaged = |_| tantivy::TantivyError::InternalError("a stored chunk is damaged".to_owned());
    let mut chunk: StoredChunk = serde_json::from_slice(&row.chunk.body).map_err(damaged)?;
    let start = row.chunk.start as usize;
    chunk.range = start..start + chunk.text.len();
    let (first, last) = row.chunk.lines;
    chunk.lines = (first > 0).then_some((first as u32, last as u32));
    Ok(chunk)
}
