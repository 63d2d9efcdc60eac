//! The chunks that a search reads: all of an index here, or those that were fetched from a database as candidates. Windows, fusion
//! and explanation are the same for both.

use std::sync::Arc;

use tantivy::DocAddress;

use super::analyse::{QueryTerm, WritingSystem};
use super::chunk_index::StoredChunk;
use super::fetched::FetchedChunks;
use super::lexical::{Bm25, IndexedChunks, TermMatches, TermPositions, idf};
use super::prepared::PackedUnit;

/// An immutable view of chunks.
pub struct IndexSnapshot(Chunks);

enum Chunks {
    Indexed(IndexedChunks),
    Fetched(FetchedChunks),
}

impl From<IndexedChunks> for IndexSnapshot {
    fn from(chunks: IndexedChunks) -> Self {
        Self(Chunks::Indexed(chunks))
    }
}

impl From<FetchedChunks> for IndexSnapshot {
    fn from(chunks: FetchedChunks) -> Self {
        Self(Chunks::Fetched(chunks))
    }
}

/// Calls a method of the chunks, wherever they are.
macro_rules! of_chunks {
    ($snapshot:expr, $chunks:ident => $call:expr) => {
        match &$snapshot.0 {
            Chunks::Indexed($chunks) => $call,
            Chunks::Fetched($chunks) => $call,
        }
    };
}

impl IndexSnapshot {
    /// Returns the number of chunks, also of those that were not fetched.
    pub fn len(&self) -> usize {
        of_chunks!(self, chunks => chunks.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns every chunk that is here with the key of its vector.
    pub fn keys(&self) -> Box<dyn Iterator<Item = (DocAddress, u64)> + '_> {
        of_chunks!(self, chunks => Box::new(chunks.keys()))
    }

    pub(super) fn key(&self, address: DocAddress) -> u64 {
        of_chunks!(self, chunks => chunks.key(address))
    }

    /// Returns a chunk's number among all chunks, file by file. Chunks with equal scores are sorted in this order, and those with
    /// consecutive numbers in one file follow each other there.
    pub(super) fn rank(&self, address: DocAddress) -> u32 {
        of_chunks!(self, chunks => chunks.rank(address))
    }

    /// Returns the chunk with this number if it belongs to the same file as `other`.
    pub(super) fn of_same_file(&self, rank: u32, other: DocAddress) -> Option<DocAddress> {
        of_chunks!(self, chunks => chunks.of_same_file(rank, other))
    }

    pub(super) fn same_file(&self, a: DocAddress, b: DocAddress) -> bool {
        of_chunks!(self, chunks => chunks.same_file(a, b))
    }

    pub(super) fn units(&self, address: DocAddress) -> Arc<[PackedUnit]> {
        of_chunks!(self, chunks => chunks.units(address))
    }

    pub(super) fn script(&self, address: DocAddress) -> WritingSystem {
        of_chunks!(self, chunks => chunks.script(address))
    }

    /// Returns the mean length of windows in terms, weighted by the kernel.
    pub(super) fn average_window(&self) -> f64 {
        of_chunks!(self, chunks => chunks.average_window())
    }

    /// Returns the positions of a term in `chunks`, which are sorted by address.
    pub(super) fn term_positions(&self, term: &TermMatches, chunks: &[DocAddress]) -> tantivy::Result<TermPositions> {
        match &self.0 {
            Chunks::Indexed(indexed) => indexed.term_positions(term, chunks),
            Chunks::Fetched(fetched) => Ok(fetched.term_positions(term, chunks)),
        }
    }

    /// Returns a chunk with its current position in the file.
    ///
    /// # Errors
    /// Returns an error if the index is damaged.
    pub fn chunk(&self, address: DocAddress) -> tantivy::Result<StoredChunk> {
        of_chunks!(self, chunks => chunks.chunk(address))
    }

    /// Returns the chunks of a file that are here, in document order.
    ///
    /// # Errors
    /// See [`IndexSnapshot::chunk`].
    pub fn chunks_of(&self, path: &str) -> tantivy::Result<Vec<StoredChunk>> {
        of_chunks!(self, chunks => chunks.chunks_of(path))
    }

    /// Returns the chunks of a file with their units; none of those that were fetched.
    pub(super) fn chunks_with_units(&self, path: &str) -> tantivy::Result<Vec<StoredChunk>> {
        match &self.0 {
            Chunks::Indexed(indexed) => indexed.chunks_with_units(path),
            Chunks::Fetched(_) => Ok(Vec::new()),
        }
    }

    /// Looks up the distinct terms of a question, in the question's order. If the index contains none of them, looks up the
    /// single characters of the question instead.
    ///
    /// # Errors
    /// See [`IndexSnapshot::chunk`].
    pub fn matches(&self, terms: Vec<QueryTerm>, characters: Vec<QueryTerm>) -> tantivy::Result<Vec<TermMatches>> {
        let found = self.matches_of(terms)?;
        if characters.is_empty() || found.iter().any(|matches| matches.document_frequency > 0) {
            return Ok(found);
        }
        let by_character = self.matches_of(characters)?;
        Ok(if by_character.iter().any(|matches| matches.document_frequency > 0) { by_character } else { found })
    }

    fn matches_of(&self, terms: Vec<QueryTerm>) -> tantivy::Result<Vec<TermMatches>> {
        let mut found: Vec<TermMatches> = Vec::new();
        for term in terms {
            if let Some(known) = found.iter_mut().find(|known| known.term == term) {
                known.query_frequency += 1.0;
                continue;
            }
            let (postings, document_frequency) = match &self.0 {
                Chunks::Indexed(indexed) => {
                    let postings = indexed.postings_of(&term)?;
                    let document_frequency = postings.len() as u32;
                    (postings, document_frequency)
                }
                Chunks::Fetched(fetched) => (fetched.postings_of(&term), fetched.document_frequency(&term)),
            };
            let idf = idf(self.len(), document_frequency);
            found.push(TermMatches { term, idf, query_frequency: 1.0, document_frequency, postings });
        }
        Ok(found)
    }

    /// Returns the score (above 0) and address of every chunk that contains at least one of the terms.
    pub fn scores(&self, matches: &[TermMatches], bm25: Bm25) -> Vec<(DocAddress, f64)> {
        of_chunks!(self, chunks => chunks.scores(matches, bm25))
    }
}
