//! Late interaction: matches each piece of the question with the piece nearest in meaning around the centre of a window
//! (ColBERT's MaxSim: Khattab and Zaharia 2020, arXiv:2004.12832). The farther a match is from the centre, the less it counts.
//!
//! For a piece *j* of the question and a unit *u*, `m(u, j)` is the largest dot product of *j*'s vector (minus the mean,
//! normalised to length 1) and the signs of a piece in *u*. A window with the centre *c* has `s(j) = max over its units of
//! exp(−½(d/160)²) · max(m(u, j), 0)` for the distance *d* in tokens from *c* (160 for windows of 256 tokens), and its score is
//! the mean of all `s(j)`, weighted by idf.

mod store;

use std::sync::{PoisonError, RwLock};

use miniclaw_embed::signs::SignQuery;

use super::lexical::idf;
use super::snapshot::IndexSnapshot;
use super::span::{Kernel, Span, WindowLimit};
use super::windows::ScoredWindows;
use crate::domain::{EmbedError, EmbeddedText, EmbeddingInput, TokenEmbedder, TokenVector};
pub use store::TokenVectors;

/// Standard deviation of the kernel, as a fraction of the window's length.
const SPREAD: f64 = 0.625;
/// Number of chunks whose pieces are sampled to compute the mean. They are all held in memory for that: 35 MB.
const SAMPLED_CHUNKS: usize = 64;
/// An index of more chunks has no late interaction: its vectors would take 180 MB on disk and at least five minutes of a processor.
pub const MAX_CHUNKS: usize = 10_000;

/// A piece of the question, prepared for comparison.
struct QueryPiece {
    idf: f64,
    vector: SignQuery,
}

/// Compares the candidates with the question.
pub(super) struct LateInteraction<'a> {
    pub tokens: &'a TokenVectors,
    pub snapshot: &'a IndexSnapshot,
    pub window: WindowLimit,
}

impl LateInteraction<'_> {
    /// Returns the score of each window, 0 to 1. Returns `None` if the question has no pieces or a chunk in the spans has no
    /// vectors yet: scores for only some windows would not be comparable.
    pub fn scores(&self, question: &[&TokenVector], scored: &ScoredWindows<'_>) -> Option<Vec<f64>> {
        let mean = self.tokens.mean()?;
        let query_pieces: Vec<QueryPiece> = question
            .iter()
            .map(|token| QueryPiece {
                idf: self.idf(token.piece),
                vector: SignQuery::new(&centred(&token.vector, mean)),
            })
            .collect();
        let all: f64 = query_pieces.iter().map(|piece| piece.idf).sum();
        (all > 0.0).then_some(())?;
        let spans = scored.spans.iter().map(|span| self.closeness(&query_pieces, span));
        let closeness = spans.collect::<Option<Vec<_>>>()?;
        let kernel = Kernel::of(self.window, SPREAD);
        let score = |window: &super::windows::Window| {
            let (span, closeness) = (&scored.spans[window.span], &closeness[window.span]);
            let mut best = vec![0.0f64; query_pieces.len()];
            for unit in window.around.clone() {
                let near = kernel.at(span.offsets.doubled_distance(unit, window.centre));
                for (best, found) in best.iter_mut().zip(&closeness[unit * query_pieces.len()..]) {
                    *best = best.max(near * f64::from(*found));
                }
            }
            best.iter().zip(&query_pieces).map(|(best, piece)| best * piece.idf).sum::<f64>() / all
        };
        Some(scored.windows.iter().map(score).collect())
    }

    fn idf(&self, piece: u32) -> f64 {
        let document_frequency = self.snapshot.keys().filter(|(_, key)| self.tokens.holds(*key, piece)).count();
        idf(self.snapshot.len(), document_frequency as u32)
    }

    /// Returns, for each unit of a span and each piece of the question, the largest dot product, or 0 if none is positive.
    fn closeness(&self, query_pieces: &[QueryPiece], span: &Span) -> Option<Vec<f32>> {
        let mut closeness = vec![0.0f32; span.offsets.units() * query_pieces.len()];
        for (part_index, part) in span.parts.iter().enumerate() {
            let signs = self.tokens.read(self.snapshot.key(part.chunk))?;
            for (start, bits) in signs.each() {
                let Some(unit) = span.fresh_unit(part_index, start) else { continue };
                let own = &mut closeness[unit * query_pieces.len()..];
                own.iter_mut().zip(query_pieces).for_each(|(most, piece)| *most = most.max(piece.vector.product(bits)));
            }
        }
        Some(closeness)
    }
}

/// Subtracts the mean and normalises to length 1.
fn centred(vector: &[f32], mean: &[f32]) -> Vec<f32> {
    let centred = vector.iter().zip(mean).map(|(value, mean)| value - mean);
    let length = centred.clone().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    centred.map(|value| value / length).collect()
}

/// A chunk whose vectors were computed.
pub struct FilledChunk<'a> {
    pub key: u64,
    /// The vector of its whole text.
    pub vector: &'a [f32],
    /// Number of chunks that are done.
    pub done: usize,
}

/// Computes and stores the missing vectors of the pieces of the chunks of `snapshot`, and calls `on_filled` after each chunk.
///
/// # Errors
/// Returns an error if the model, the index or the store fails, or the one that `on_filled` returns.
pub fn fill(
    tokens: &RwLock<TokenVectors>,
    embedder: &dyn TokenEmbedder,
    snapshot: &IndexSnapshot,
    on_filled: &mut dyn FnMut(&FilledChunk) -> Result<(), EmbedError>,
) -> Result<(), EmbedError> {
    if snapshot.is_empty() {
        return Ok(());
    }
    let read = || tokens.read().unwrap_or_else(PoisonError::into_inner);
    let write = || tokens.write().unwrap_or_else(PoisonError::into_inner);
    let mut made = |address, key, done| -> Result<(Vec<TokenVector>, usize), EmbedError> {
        let chunk = snapshot.chunk(address).map_err(|error| failed(&error))?;
        let indexed = chunk.indexed();
        let EmbeddedText { vector, tokens } = embedder.embed_tokens(EmbeddingInput::Passage, &indexed)?;
        on_filled(&FilledChunk { key, vector: &vector, done })?;
        Ok((tokens, indexed.len() - chunk.text.len()))
    };
    if read().needs_new_mean(snapshot.len()) {
        let mut sample = Vec::new();
        for (address, key) in snapshot.keys().step_by(snapshot.len().div_ceil(SAMPLED_CHUNKS)) {
            sample.push((key, made(address, key, sample.len() + 1)?));
        }
        let own = sample
            .iter()
            .flat_map(|(_, (made, heading_bytes))| made.iter().filter(|token| token.start >= *heading_bytes));
        let mean = mean(own.map(|token| token.vector.as_slice()), embedder.dimension());
        let mut tokens = write();
        tokens.reset(mean, snapshot.len()).map_err(|error| failed(&error))?;
        for (key, (made, heading_bytes)) in &sample {
            tokens.add(*key, made, *heading_bytes).map_err(|error| failed(&error))?;
        }
    }
    let missing: Vec<_> = snapshot.keys().filter(|(_, key)| !read().has(*key)).collect();
    for (number, (address, key)) in missing.iter().enumerate() {
        let (made, heading_bytes) = made(*address, *key, snapshot.len() - missing.len() + number + 1)?;
        write().add(*key, &made, heading_bytes).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn failed(error: &dyn std::fmt::Display) -> EmbedError {
    EmbedError::Unavailable(format!("The vectors of pieces cannot be kept: {error}."))
}

fn mean<'a>(vectors: impl Iterator<Item = &'a [f32]>, dimension: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; dimension];
    let mut count = 0usize;
    for vector in vectors {
        sums.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f64::from(*value));
        count += 1;
    }
    sums.iter().map(|sum| (sum / count.max(1) as f64) as f32).collect()
}

#[cfg(test)]
mod tests;
