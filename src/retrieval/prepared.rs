//! Prepares chunks for the index: computes their terms and units as the index stores them. This is most of the work of
//! indexing, and needs only the chunk.

use std::thread;

use serde::Serialize;

use super::analyse::{Analyser, WritingSystem};
use super::chunk_index::{StoredChunk, key};

/// Minimum number of chunks per thread when a file's chunks are split over at most [`MAX_THREADS`] threads.
const MIN_CHUNKS_PER_THREAD: usize = 48;
const MAX_THREADS: usize = 4;

/// The data that the index stores for a chunk and that does not depend on other chunks.
pub(super) struct PreparedChunk {
    pub analysed: Analysed,
    pub json: Vec<u8>,
    pub key: u64,
    pub script: WritingSystem,
}

impl PreparedChunk {
    fn of(chunk: &StoredChunk, analyser: &Analyser) -> tantivy::Result<Self> {
        let (analysed, key) = (Analysed::of(chunk, analyser), key(&chunk.indexed()));
        Ok(Self { analysed, json: json(chunk)?, key, script: WritingSystem::of(&chunk.text) })
    }

    /// Prepares chunks of a file, on several threads if there are many.
    pub fn all(chunks: &[StoredChunk], analyser: &Analyser) -> tantivy::Result<Vec<Self>> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (chunks.len() / MIN_CHUNKS_PER_THREAD).clamp(1, cores.min(MAX_THREADS));
        let prepare = |share: &[StoredChunk]| -> tantivy::Result<Vec<Self>> {
            share.iter().map(|chunk| Self::of(chunk, analyser)).collect()
        };
        let mut shares = chunks.chunks(chunks.len().div_ceil(threads).max(1));
        let Some(first) = shares.next() else { return Ok(Vec::new()) };
        thread::scope(|scope| {
            let others: Vec<_> = shares.map(|share| scope.spawn(move || prepare(share))).collect();
            let mut all = prepare(first)?;
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(all)
        })
    }
}

/// A chunk's terms, each followed by a space. The index splits them at the spaces; no term contains a space.
pub(super) struct Analysed {
    pub words: String,
    /// Number of terms in `words`.
    pub count: u32,
    pub characters: String,
    pub units: Vec<PackedUnit>,
}

impl Analysed {
    fn of(chunk: &StoredChunk, analyser: &Analyser) -> Self {
        let mut all = Self {
            words: String::with_capacity(2 * chunk.text.len()),
            count: 0,
            characters: String::new(),
            units: Vec::with_capacity(chunk.units.len()),
        };
        all.take(&chunk.heading_context(), analyser);
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

/// A unit as the index stores it: byte offset in the chunk and number of bytes; position of the first term and number of
/// terms; number of tokens, and whether it is fresh.
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

    pub fn packed(self) -> [u64; Self::VALUES] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [pair(self.start, self.bytes), pair(self.first_term, self.terms), pair(u32::from(self.fresh), self.tokens)]
    }

    pub fn all(values: impl Iterator<Item = u64>) -> Vec<Self> {
        let values: Vec<u64> = values.collect();
        let (high, low) = (|value: u64| (value >> 32) as u32, |value: u64| value as u32);
        let units = values.as_chunks::<{ Self::VALUES }>().0.iter();
        units
            .map(|&[position, terms, rest]| Self {
                start: high(position),
                bytes: low(position),
                first_term: high(terms),
                terms: low(terms),
                tokens: low(rest),
                fresh: high(rest) == 1,
            })
            .collect()
    }
}

pub(super) fn script_number(script: WritingSystem) -> u64 {
    match script {
        WritingSystem::Mixed => 0,
        WritingSystem::Spaced => 1,
        WritingSystem::Unspaced => 2,
    }
}

pub(super) fn numbered_script(number: u64) -> WritingSystem {
    match number {
        1 => WritingSystem::Spaced,
        2 => WritingSystem::Unspaced,
        _ => WritingSystem::Mixed,
    }
}

pub(super) fn json(value: &impl Serialize) -> tantivy::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))
}

pub(super) fn json_text(value: &impl Serialize) -> tantivy::Result<String> {
    serde_json::to_string(value).map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))
}
