//! Libraries in a database: the rows of a file, and which chunks may answer a question by its words.
//!
//! The database finds candidates by numbers of terms; what they are worth is computed here, by the same formulas as in an index.

use std::collections::HashMap;

use super::analyse::{Analyser, Query, QueryTerm};
use super::chunk_index::{StoredChunk, WINDOW_PARTS, file_order};
use super::fetched::{FetchedChunks, number_of, times};
use super::index::StoredFile;
use super::lexical::{Bm25, TermMatches, idf};
use super::prepared::{PackedUnit, PreparedChunk, script_number};
use super::search::CANDIDATES_PER_RETRIEVER;
use super::snapshot::IndexSnapshot;
use super::span::{self, WindowLimit};
use crate::domain::library_rows::{ChunkId, ChunkRow, FetchedRow, LibraryFile, LibraryTotals, WordMatch};

/// About how many chunks are compared for a question; a term that more of them contain only counts together with another one.
const COMPARED: i64 = 5_000;
/// Fewer candidates than this are filled up with chunks that only contain a common term.
const FEW: i64 = 4 * CANDIDATES_PER_RETRIEVER as i64;
/// About how many entries of the index of words are read for terms that more chunks contain.
const READ: i64 = 50_000;
/// Maximum number of terms that are combined in pairs.
const MAX_PAIRED: usize = 6;
/// Maximum number of chunks that one query returns.
pub const MOST_COMPARED: i64 = 2 * COMPARED;

/// Returns the rows of a file.
///
/// # Errors
/// Returns an error if a chunk cannot be represented.
pub fn rows_of(file: &StoredFile, analyser: &Analyser, window: WindowLimit) -> tantivy::Result<LibraryFile> {
    let prepared = PreparedChunk::all(&file.chunks, analyser)?;
    let units: Vec<&[PackedUnit]> = prepared.iter().map(|chunk| chunk.analysed.units.as_slice()).collect();
    let lengths = span::lengths(&units, window);
    let windows = lengths.iter().map(|length| (length * WINDOW_PARTS).round() as i64).sum();
    let centres = units.iter().map(|units| units.iter().filter(|unit| unit.fresh).count() as i64).sum();
    let order = file_order(&file.state.path) as i64;
    let chunks = file.chunks.iter().zip(prepared).map(|(chunk, prepared)| row(chunk, prepared, order));
    Ok(LibraryFile {
        path: file.state.path.clone(),
        state: super::prepared::json_text(&file.state)?,
        chunks: chunks.collect(),
        windows,
        centres,
    })
}

fn row(chunk: &StoredChunk, prepared: PreparedChunk, file_order: i64) -> ChunkRow {
    let PreparedChunk { analysed, json, key, script } = prepared;
    let words = analysed.words.split_terminator(' ').map(|word| number_of(&QueryTerm::Term(word.to_owned())));
    let characters = analysed.characters.split_terminator(' ').filter_map(|text| text.chars().next());
    let characters = characters.map(|c| number_of(&QueryTerm::Character(c)));
    let lines = chunk.lines.unwrap_or_default();
    ChunkRow {
        file_order,
        key: key as i64,
        script: script_number(script) as i16,
        words: analysed.count as i32,
        sequence: words.chain(characters).flat_map(i64::to_le_bytes).collect(),
        units: analysed.units.into_iter().flat_map(PackedUnit::packed).flat_map(u64::to_le_bytes).collect(),
        start: chunk.range.start as i32,
        lines: (lines.0 as i32, lines.1 as i32),
        body: json,
    }
}

/// Returns a chunk as it is displayed.
///
/// # Errors
/// Returns an error if the row is damaged.
pub fn chunk_of(row: &FetchedRow) -> tantivy::Result<StoredChunk> {
    super::fetched::stored_chunk(row)
}

/// The number of a term, and how many chunks contain it.
type TermFrequency = (i64, i64);

/// What a question asks a library in a database for.
pub struct WordQuery {
    terms: Vec<(i64, TermMatches)>,
    totals: LibraryTotals,
}

impl WordQuery {
    /// Returns the numbers of everything in a question whose frequency counts.
    pub fn numbers(query: &Query) -> Vec<i64> {
        query.terms.iter().chain(&query.characters).map(number_of).collect()
    }

    /// `frequencies` says how many chunks contain each number.
    pub fn new(query: &Query, frequencies: &HashMap<i64, i64>, totals: LibraryTotals) -> Self {
        let known = |terms: &[QueryTerm]| {
            let mut found: Vec<(i64, TermMatches)> = Vec::new();
            for term in terms {
                let number = number_of(term);
                match found.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, known)) => known.query_frequency += 1.0,
                    None => {
                        let document_frequency = frequencies.get(&number).map_or(0, |count| *count as u32);
                        let idf = idf(totals.chunks as usize, document_frequency);
                        let term = term.clone();
                        let postings = Vec::new();
                        let matches = TermMatches { term, idf, query_frequency: 1.0, document_frequency, postings };
                        found.push((number, matches));
                    }
                }
            }
            found.retain(|(_, matches)| matches.document_frequency > 0);
            found
        };
        let terms = known(&query.terms);
        let terms = if terms.is_empty() { known(&query.characters) } else { terms };
        Self { terms, totals }
    }

    /// Returns groups of numbers: chunks that contain all of a group are candidates. The rarest terms are groups of their own until
    /// [`COMPARED`] chunks contain one of them; the others count in pairs, or more if a pair is still in too many chunks. The pairs
    /// of the rarest come first, and there are only as many as can be read quickly.
    pub fn groups(&self) -> Vec<Vec<i64>> {
        let (rare, common) = self.by_frequency();
        let mut groups: Vec<Vec<i64>> = rare.iter().map(|(number, _)| vec![*number]).collect();
        let chunks = self.totals.chunks.max(1) as f64;
        let common = &common[..common.len().min(MAX_PAIRED)];
        let (mut compared, mut read) = (0.0, 0);
        for (first, (number, frequency)) in common.iter().enumerate() {
            for second in first + 1..common.len() {
                let mut group = vec![*number];
                let mut expected = *frequency as f64;
                for (other, frequency) in &common[second..] {
                    if group.len() > 1 && expected <= COMPARED as f64 {
                        break;
                    }
                    group.push(*other);
                    expected *= *frequency as f64 / chunks;
                }
                compared += expected;
                read += frequency + common[second].1;
                if !groups.is_empty() && (compared > COMPARED as f64 || read > READ) {
                    return groups;
                }
                groups.push(group);
            }
        }
        if groups.is_empty() {
            groups.extend(common.iter().map(|(number, _)| vec![*number]));
        }
        groups
    }

    /// Returns a common term whose chunks fill up a list of this many candidates, if that is few and not too many contain it.
    pub fn filler(&self, found: usize) -> Option<i64> {
        let (rare, common) = self.by_frequency();
        let is_few = (found as i64) < FEW && !(rare.is_empty() && common.len() == 1);
        common.first().filter(|(_, frequency)| is_few && (found == 0 || *frequency <= READ)).map(|(number, _)| *number)
    }

    /// Returns the terms of which few chunks contain one, and the others; the rarest first.
    fn by_frequency(&self) -> (Vec<TermFrequency>, Vec<TermFrequency>) {
        let mut terms: Vec<TermFrequency> =
            self.terms.iter().map(|(number, matches)| (*number, i64::from(matches.document_frequency))).collect();
        terms.sort_unstable_by_key(|&(number, frequency)| (frequency, number));
        let mut sum = 0;
        let rare = terms.iter().take_while(|(_, frequency)| {
            sum += frequency;
            sum <= COMPARED
        });
        let count = rare.count();
        let common = terms.split_off(count);
        (terms, common)
    }

    /// Returns the best of these chunks by BM25.
    pub fn best(&self, found: &[WordMatch], bm25: Bm25) -> Vec<ChunkId> {
        let average = self.totals.length as f64 / self.totals.chunks.max(1) as f64;
        let mut scored: Vec<(f64, i64, ChunkId)> = Vec::with_capacity(found.len());
        for chunk in found {
            let length = chunk.words as u32;
            let mut score = 0.0;
            for (number, term) in &self.terms {
                let times = times(&chunk.sequence, *number);
                if times > 0 {
                    score += term.contribution((times, length), average, bm25);
                }
            }
            scored.push((score, chunk.file_order, chunk.id));
        }
        let order = |a: &(f64, i64, ChunkId), b: &(f64, i64, ChunkId)| {
            b.0.total_cmp(&a.0).then_with(|| (a.1 as u64).cmp(&(b.1 as u64))).then_with(|| a.2.cmp(&b.2))
        };
        scored.sort_unstable_by(order);
        scored.dedup_by_key(|(_, _, id)| *id);
        scored.truncate(CANDIDATES_PER_RETRIEVER);
        scored.into_iter().map(|(_, _, id)| id).collect()
    }
}

/// Chunks that are fetched from a database until those around each candidate are there.
#[derive(Default)]
pub struct FetchedContext {
    rows: HashMap<ChunkId, FetchedRow>,
}

impl FetchedContext {
    /// Adds chunks that were fetched.
    pub fn add(&mut self, rows: Vec<FetchedRow>) {
        self.rows.extend(rows.into_iter().map(|row| (row.id, row)));
    }

    /// Returns the ranges that are still to be fetched for windows around the candidates; `reach` is the number of chunks that were
    /// fetched on either side of each. What is missing there is not in the file.
    pub fn missing(
        &self,
        candidates: &[ChunkId],
        (reach, next): (i64, i64),
        limit: WindowLimit,
    ) -> Vec<(ChunkId, ChunkId)> {
        let mut ranges = Vec::new();
        for candidate in candidates {
            if self.ends_within(*candidate, (-1, reach), limit) {
                ranges.push((ChunkId(candidate.0 - next), ChunkId(candidate.0 - reach - 1)));
            }
            if self.ends_within(*candidate, (1, reach), limit) {
                ranges.push((ChunkId(candidate.0 + reach + 1), ChunkId(candidate.0 + next)));
            }
        }
        merged(ranges)
    }

    /// Returns whether the chunks on one side of a candidate go on after `reach` chunks without `limit` tokens.
    fn ends_within(&self, candidate: ChunkId, (step, reach): (i64, i64), WindowLimit(limit): WindowLimit) -> bool {
        let mut tokens = 0;
        for distance in 1..=reach {
            let Some(row) = self.rows.get(&ChunkId(candidate.0 + step * distance)) else { return false };
            tokens += super::fetched::fresh_tokens(&row.chunk.units).max(1);
            if tokens >= limit as u32 {
                return false;
            }
        }
        true
    }

    /// Returns the chunks as what a search reads. `frequencies` says how many chunks of the library contain each number.
    pub fn into_snapshot(
        self,
        totals: LibraryTotals,
        frequencies: HashMap<i64, i64>,
    ) -> (IndexSnapshot, Vec<Option<f64>>) {
        let mut rows: Vec<FetchedRow> = self.rows.into_values().collect();
        rows.sort_unstable_by_key(|row| (row.chunk.file_order as u64, row.id));
        let cosines = rows.iter().map(|row| row.cosine).collect();
        (FetchedChunks::new(rows, totals, frequencies).into(), cosines)
    }
}

/// Returns the ranges around candidates that are fetched first.
pub fn around(candidates: &[ChunkId], reach: i64) -> Vec<(ChunkId, ChunkId)> {
    merged(candidates.iter().map(|id| (ChunkId(id.0 - reach), ChunkId(id.0 + reach))).collect())
}

/// Joins ranges that overlap.
fn merged(mut ranges: Vec<(ChunkId, ChunkId)>) -> Vec<(ChunkId, ChunkId)> {
    ranges.sort_unstable();
    let mut joined: Vec<(ChunkId, ChunkId)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}
