//! Late interaction: matches each piece of the question with the piece nearest in meaning around the centre of a window
//! (ColBERT's MaxSim: Khattab and Zaharia 2020, arXiv:2004.12832). The farther a match is from the centre, the less it counts.
//!
//! For a piece *j* of the question and a unit *u*, `m(u, j)` is the largest dot product of *j*'s vector (minus the mean,
//! normalised to length 1) and the signs of a piece in *u*. A window with the centre *c* has `s(j) = max over its units of
//! exp(−½(d/160)²) · max(m(u, j), 0)` for the distance *d* in tokens from *c* (160 for windows of 256 tokens), and its score is
//! the mean of all `s(j)`, weighted by idf.

mod store;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use miniclaw_embed::signs::SignQueries;

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

/// Number of parts of spans for which another thread helps. Starting one takes about as long as comparing two parts.
const PARTS_PER_THREAD: usize = 32;
/// Maximum number of threads that help at the same time, for all questions together, whatever the number of processors is.
const MAX_HELPERS: usize = 7;
/// Number of threads that help now.
static HELPING: AtomicUsize = AtomicUsize::new(0);

/// Threads that may help with a question: at most one for each processor but the first, for all questions together.
struct Helpers(usize);

impl Helpers {
    fn reserve(wanted: usize) -> Self {
        let most = thread::available_parallelism().map_or(0, |processors| processors.get() - 1).min(MAX_HELPERS);
        let mut reserved = 0;
        let reserve = |helping: usize| {
            reserved = wanted.min(most.saturating_sub(helping));
            Some(helping + reserved)
        };
        let _ = HELPING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve);
        Self(reserved)
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        HELPING.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// A part of a span.
struct Part<'a> {
    span: &'a Span,
    index: usize,
    /// Whether each of its own units is in a window.
    in_window: &'a [bool],
    /// Where to put the largest dot products of its own units.
    closeness: &'a mut [f32],
}

/// Compares the candidates with the question.
pub(super) struct LateInteraction<'a> {
    pub tokens: &'a TokenVectors,
    pub snapshot: &'a IndexSnapshot,
    pub window: WindowLimit,
}

impl LateInteraction<'_> {
    /// Returns the score of each window, 0 to 1. Returns `None` if the question has no pieces or a chunk of a window has no
    /// vectors yet: scores for only some windows would not be comparable.
    pub fn scores(&self, question: &[&TokenVector], scored: &ScoredWindows<'_>) -> Option<Vec<f64>> {
        let mean = self.tokens.mean()?;
        let idf = self.idf(question);
        let all: f64 = idf.iter().sum();
        (all > 0.0).then_some(())?;
        let vectors: Vec<Vec<f32>> = question.iter().map(|token| centred(&token.vector, mean)).collect();
        let query_pieces = SignQueries::new(&vectors);
        let closeness = self.closeness(&query_pieces, scored)?;
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
            best.iter().zip(&idf).map(|(best, idf)| best * idf).sum::<f64>() / all
        };
        Some(scored.windows.iter().map(score).collect())
    }

    /// Returns the idf of each piece among the chunks of the index.
    fn idf(&self, question: &[&TokenVector]) -> Vec<f64> {
        let mut document_frequencies = vec![0; question.len()];
        for distinct in self.snapshot.keys().filter_map(|(_, key)| self.tokens.distinct_pieces(key)) {
            for (document_frequency, token) in document_frequencies.iter_mut().zip(question) {
                *document_frequency += u32::from(distinct.binary_search(&token.piece).is_ok());
            }
        }
        document_frequencies
            .into_iter()
            .map(|document_frequency| idf(self.snapshot.len(), document_frequency))
            .collect()
    }

    /// Returns, for each unit of each span and each piece of the question, the largest dot product, or 0 if none is positive or
    /// the unit is in no window.
    fn closeness(&self, query_pieces: &SignQueries, scored: &ScoredWindows) -> Option<Vec<Vec<f32>>> {
        let pieces = query_pieces.len();
        let in_window = scored.units_in_windows();
        let mut closeness: Vec<_> = in_window.iter().map(|units| vec![0.0f32; units.len() * pieces]).collect();
        let mut parts = Vec::new();
        for ((span, in_window), closeness) in scored.spans.iter().zip(&in_window).zip(&mut closeness) {
            let mut rest = closeness.as_mut_slice();
            for (index, units) in span.own.iter().enumerate() {
                let (closeness, after) = rest.split_at_mut(units.len() * pieces);
                let part = Part { span, index, in_window: &in_window[units.clone()], closeness };
                if part.in_window.contains(&true) {
                    parts.push(part);
                }
                rest = after;
            }
        }
        self.compare_all(query_pieces, parts).then_some(closeness)
    }

    /// Compares the pieces of all parts with those of the question, on several threads. Returns whether all of them have
    /// vectors.
    fn compare_all(&self, query_pieces: &SignQueries, parts: Vec<Part>) -> bool {
        let helpers = Helpers::reserve(parts.len() / PARTS_PER_THREAD);
        let (parts, is_complete) = (Mutex::new(parts.into_iter()), AtomicBool::new(true));
        let work = || {
            let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(part) = next().filter(|_| is_complete.load(Ordering::Relaxed)) {
                if self.compare(query_pieces, part).is_none() {
                    is_complete.store(false, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers.0 {
                // If the system has no thread left, this one does all of the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        is_complete.into_inner()
    }

    /// Compares the pieces of a part with those of the question. Returns `None` if it has no vectors yet.
    fn compare(&self, query_pieces: &SignQueries, part: Part) -> Option<()> {
        let Part { span, index, in_window, closeness } = part;
        let signs = self.tokens.read(self.snapshot.key(span.parts[index].chunk))?;
        let units = &span.units[span.own[index].clone()];
        let mut begun = 0;
        for (start, bits) in signs.each() {
            begun += units[begun..].iter().take_while(|(_, unit)| unit.start <= start).count();
            let Some(own) = begun.checked_sub(1) else { continue };
            if units[own].1.fresh && in_window[own] {
                let highest = &mut closeness[own * query_pieces.len()..][..query_pieces.len()];
                query_pieces.raise_to_products(bits, highest);
            }
        }
        Some(())
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
