//! One search: queries both retrievers, then fuses and explains their results.

use std::sync::RwLock;
use std::time::Instant;

use tantivy::DocAddress;

use super::analyse::{Analyser, Query, WritingSystem, holds_identifier};
use super::confidence::{AssessedIndex, Assessment};
use super::cosine_scale::CosineScale;
use super::fuse::{Ranked, VECTOR_WEIGHT, ranked};
use super::hits::{Answers, best_of_chunks, missed_by};
use super::late::{self, TokenVectors};
use super::lexical::Bm25;
use super::prepared::{numbered_script, script_number};
use super::snapshot::IndexSnapshot;
use super::vectors::{self, Vectors};
use super::windows::{Candidates, ScoredWindows, WindowLimit, windows};
use crate::domain::knowledge::{NearMiss, SearchTimings, SearchedTerm, WeightReason, Weights};
use crate::domain::library_rows::ScriptMean;
use crate::domain::{Embedder, Hit, TokenVector};

/// Number of candidates of each retriever, independent of `k`, so that the best hit is the same for every `k`.
pub(super) const CANDIDATES_PER_RETRIEVER: usize = 50;
/// Number of candidates selected by the 8-bit codes before the exact cosines pick the best [`CANDIDATES_PER_RETRIEVER`] of them.
pub const RERANK_CANDIDATES: usize = 3 * CANDIDATES_PER_RETRIEVER;
/// Maximum number of hits of a search.
pub const MAX_HITS: usize = 100;

/// The scoring parameters; part of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranking {
    pub bm25: Bm25,
    /// Weight of the vector retriever when both retrievers answer, 0 to 1. Absent: the best weight for the model.
    pub vector_weight: Option<f64>,
    /// What the cosines of the model mean.
    pub cosine_scale: CosineScale,
}

impl Ranking {
    /// Sets what depends on the model: its own weight, if none is configured, and what its cosines mean.
    pub fn for_model(self, model: &dyn Embedder) -> Self {
        Self {
            vector_weight: self.vector_weight.or(Some(model.weight())),
            cosine_scale: CosineScale::of(model.id()),
            ..self
        }
    }
}

/// The parameters of a search.
pub struct SearchRequest<'a> {
    pub query: &'a str,
    /// Maximum number of hits.
    pub k: usize,
    /// Maximum number of near misses: the next best results, explained.
    pub near_misses: usize,
    /// The question's vector for the vector retriever; absent if that retriever is not used.
    pub query_vector: Option<vectors::QueryVector>,
    /// The pieces of the question for late interaction; absent if it is not used.
    pub pieces: Option<Vec<TokenVector>>,
    /// Why the vector retriever is not used, if it is not.
    pub words_only: Option<WeightReason>,
    /// Overrides the weight of the vector retriever; late interaction is then not used.
    pub vector_weight: Option<f64>,
}

/// The chunks and vectors that a search uses.
pub struct Searchable<'a> {
    pub snapshot: &'a IndexSnapshot,
    /// Each chunk that has a vector, with its row; sorted by address.
    pub rows: &'a [(DocAddress, u32)],
    pub vectors: Option<&'a RwLock<Vectors>>,
    /// The cosines of `rows`, if a database has computed them.
    pub fetched: Option<&'a FetchedCosines>,
    pub tokens: Option<&'a RwLock<TokenVectors>>,
    pub analyser: &'a Analyser,
    pub ranking: Ranking,
    pub window: WindowLimit,
}

/// The results of a search.
pub struct SearchOutcome {
    pub weights: Weights,
    pub terms: Vec<SearchedTerm>,
    pub ignored: Vec<String>,
    pub hits: Vec<Hit>,
    pub near_misses: Vec<NearMiss>,
    /// Only the timings that are measured here.
    pub took: SearchTimings,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("the index cannot be read: {0}")]
    Index(#[from] tantivy::TantivyError),
    #[error("the vectors cannot be read: {0}")]
    Vectors(#[from] std::io::Error),
}

/// Returns why the question should be answered by words only, if it is a quotation or contains an identifier.
pub fn wants_words_only(query: &str) -> Option<WeightReason> {
    let query = query.trim();
    let quotes = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』')];
    let quoted = |&(open, close): &(char, char)| query.starts_with(open) && query.ends_with(close);
    if query.chars().count() > 2 && quotes.iter().any(quoted) {
        return Some(WeightReason::Quoted);
    }
    holds_identifier(query).then_some(WeightReason::Identifier)
}

impl Searchable<'_> {
    /// Answers a question.
    ///
    /// # Errors
    /// Returns an error if the index or the vectors cannot be read.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchOutcome, SearchError> {
        let mut took = SearchTimings::default();
        let started = Instant::now();
        let Query { terms, ignored, characters } = self.analyser.query(request.query);
        let matches = self.snapshot.matches(terms, characters)?;
        let lexical_candidates = self.best(self.snapshot.scores(&matches, self.ranking.bm25));
        took.lexical = micros(started);

        let started = Instant::now();
        let script = WritingSystem::of(request.query);
        let cosines = self.cosines(request.query_vector.as_ref(), script)?;
        took.vector = micros(started);

        let started = Instant::now();
        let weights = self.weights(request);
        let addresses = |scores: &[(DocAddress, f64)]| scores.iter().map(|&(address, _)| address).collect::<Vec<_>>();
        let vector_candidates =
            cosines.as_ref().filter(|_| weights.vector > 0.0).map(|cosines| addresses(&cosines.best));
        let candidates =
            Candidates { lexical: &addresses(&lexical_candidates), vector: &vector_candidates.unwrap_or_default() };
        let scored = windows(self.snapshot, &matches, &candidates, self.window)?;
        let late = self.late(request, &scored, weights.reason);
        let weights = if late.is_some() { weights.with_late() } else { weights };
        let best_of_chunks = best_of_chunks(&scored.windows);
        let index = AssessedIndex { chunks: self.snapshot.len(), scale: self.ranking.cosine_scale };
        let assessment = Assessment::new(request.query, &matches, self.analyser, index);
        let answers = Answers {
            searchable: self,
            script,
            matches: &matches,
            assessment,
            scored: &scored,
            cosines,
            late,
            best_of_chunks,
        };
        let ranked = ranked(answers.candidates(), weights);
        let k = request.k.min(MAX_HITS);
        let chosen = answers.chosen(&ranked, k + request.near_misses)?;
        let numbered = chosen.into_iter().zip(1..);
        let mut shown: Vec<(Ranked<usize>, Hit)> =
            numbered.map(|(chosen, rank)| (chosen.ranked, answers.hit(rank, chosen))).collect();
        let missed = shown.split_off(k.min(shown.len()));
        let last = shown.last().map(|(last, _)| *last);
        let near_misses =
            last.map(|last| missed.into_iter().map(|(missed, hit)| missed_by(&last, &missed, hit)).collect());
        let hits = shown.into_iter().map(|(_, hit)| hit).collect();
        took.fuse = micros(started);
        let terms = matches
            .iter()
            .map(|term| SearchedTerm { term: term.term.label(), texts: term.document_frequency(), idf: term.idf })
            .collect();
        Ok(SearchOutcome { weights, terms, ignored, hits, near_misses: near_misses.unwrap_or_default(), took })
    }

    /// Returns the [`CANDIDATES_PER_RETRIEVER`] best scores of a retriever, best first; equal scores in the order of the chunks.
    fn best(&self, mut scores: Vec<(DocAddress, f64)>) -> Vec<(DocAddress, f64)> {
        let order = |a: &(DocAddress, f64), b: &(DocAddress, f64)| {
            let rank = |address| self.snapshot.rank(address);
            b.1.total_cmp(&a.1).then_with(|| rank(a.0).cmp(&rank(b.0)))
        };
        if scores.len() > CANDIDATES_PER_RETRIEVER {
            scores.select_nth_unstable_by(CANDIDATES_PER_RETRIEVER, order);
            scores.truncate(CANDIDATES_PER_RETRIEVER);
        }
        scores.sort_by(order);
        scores
    }

    fn weights(&self, request: &SearchRequest) -> Weights {
        if let (Some(weight), true) = (request.vector_weight, request.query_vector.is_some()) {
            return Weights::with_vector(weight.clamp(0.0, 1.0), WeightReason::Asked);
        }
        match request.words_only {
            Some(reason) => Weights::lexical_only(reason),
            None if request.query_vector.is_none() => Weights::lexical_only(WeightReason::NoModel),
            None => Weights::with_vector(self.ranking.vector_weight.unwrap_or(VECTOR_WEIGHT), WeightReason::Balanced),
        }
    }

    /// Returns late interaction's score of each window, or `None` if it is not used or a vector it needs does not exist yet.
    fn late(&self, request: &SearchRequest, scored: &ScoredWindows, reason: WeightReason) -> Option<Vec<f64>> {
        let (Some(pieces), Some(tokens)) = (&request.pieces, self.tokens) else { return None };
        if matches!(reason, WeightReason::Quoted | WeightReason::Asked) {
            return None;
        }
        let tokens = tokens.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let late = late::LateInteraction { tokens: &tokens, snapshot: self.snapshot, window: self.window };
        late.scores(&self.content_pieces(request.query, pieces), scored)
    }

    /// Returns the pieces without those of question words and punctuation, which the lexical retriever ignores too. They occur
    /// in hardly any text, so their idf would give them the highest weight. Returns all pieces if there are no others.
    fn content_pieces<'p>(&self, query: &str, pieces: &'p [TokenVector]) -> Vec<&'p TokenVector> {
        let ends = pieces.iter().skip(1).map(|next| next.start).chain([query.len()]);
        let is_content = |(piece, end): &(&TokenVector, usize)| {
            query.get(piece.start..*end).is_none_or(|text| self.analyser.has_content_words(text))
        };
        let content: Vec<_> = pieces.iter().zip(ends).filter(is_content).map(|(piece, _)| piece).collect();
        if content.is_empty() { pieces.iter().collect() } else { content }
    }

    /// Returns the exact cosines of the best chunks by vector, best first, and the approximate cosine of every chunk. Those of
    /// chunks in another script than the question are raised by [`script_bias`].
    fn cosines(
        &self,
        question: Option<&vectors::QueryVector>,
        script: WritingSystem,
    ) -> Result<Option<Cosines<'_>>, SearchError> {
        if let (Some(fetched), true) = (self.fetched, question.is_some()) {
            return Ok(Some(self.fetched_cosines(fetched, script)));
        }
        let (Some(question), Some(vectors)) = (question, self.vectors) else { return Ok(None) };
        let vectors = vectors.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let numbers: Vec<u32> = self.rows.iter().map(|&(_, row)| row).collect();
        let mut near = vectors.near(question, &numbers);
        let is_foreign = |at: usize| script.is_foreign_to(self.snapshot.script(self.rows[at].0));
        let foreign: Vec<bool> = (0..near.len()).map(is_foreign).collect();
        let bias = script_bias(&near, &foreign);
        near.iter_mut().zip(&foreign).filter(|(_, foreign)| **foreign).for_each(|(near, _)| *near += bias);
        let mut best = Vec::with_capacity(RERANK_CANDIDATES);
        for at in highest(&near, RERANK_CANDIDATES) {
            let (address, row) = self.rows[at];
            let raised = if foreign[at] { bias } else { 0.0 };
            best.push((address, f64::from(vectors.cosine(question, row)? + raised)));
        }
        let mean = near.iter().map(|near| f64::from(*near)).sum::<f64>() / near.len().max(1) as f64;
        Ok(Some(Cosines { best: self.best(best), rows: self.rows, near, mean, bias: f64::from(bias) }))
    }

    fn fetched_cosines(&self, fetched: &FetchedCosines, script: WritingSystem) -> Cosines<'_> {
        let raised = |(&(address, _), cosine): (&(DocAddress, u32), &f64)| {
            let bias = if script.is_foreign_to(self.snapshot.script(address)) { fetched.bias } else { 0.0 };
            (address, cosine + bias)
        };
        let all: Vec<(DocAddress, f64)> = self.rows.iter().zip(&fetched.cosines).map(raised).collect();
        let near = all.iter().map(|(_, cosine)| *cosine as f32).collect();
        Cosines { best: self.best(all), rows: self.rows, near, mean: fetched.mean, bias: fetched.bias }
    }
}

/// The cosines of fetched chunks with the question.
pub struct FetchedCosines {
    pub cosines: Vec<f64>,
    /// By how much those of chunks in another script than the question are raised.
    pub bias: f64,
    /// Mean cosine of all chunks of the library, after that.
    pub mean: f64,
}

impl FetchedCosines {
    /// Returns the bias of a question from the means of all vectors, as [`script_bias`] computes it from all cosines.
    pub fn bias(question: &str, vector: &[f32], means: &[ScriptMean]) -> f64 {
        let script = WritingSystem::of(question);
        let mean = |foreign: bool| {
            let is_meant = |mean: &&ScriptMean| script.is_foreign_to(numbered_script(mean.script as u64)) == foreign;
            let sums = means
                .iter()
                .filter(is_meant)
                .map(|mean| (mean.chunks, mean.chunks as f64 * cosine(&mean.mean, vector)));
            let (count, sum) = sums.fold((0, 0.0), |(count, sum), (chunks, part)| (count + chunks, sum + part));
            (count >= i64::from(MIN_TEXTS_OF_SCRIPT)).then(|| sum / count as f64)
        };
        mean(false).zip(mean(true)).map_or(0.0, |(own, foreign)| (own - foreign).max(0.0))
    }

    /// Returns the mean cosine of all chunks from the means of all vectors, those in another script than the question raised by
    /// `bias`; 0 if there are none.
    pub fn mean((question, vector): (&str, &[f32]), means: &[ScriptMean], bias: f64) -> f64 {
        let script = WritingSystem::of(question);
        let (mut count, mut sum) = (0, 0.0);
        for mean in means {
            let is_foreign = script.is_foreign_to(numbered_script(mean.script as u64));
            let raised = if is_foreign { bias } else { 0.0 };
            count += mean.chunks;
            sum += mean.chunks as f64 * (cosine(&mean.mean, vector) + raised);
        }
        sum / count.max(1) as f64
    }

    /// Returns the scripts that are foreign to a question, as numbers.
    pub fn foreign_scripts(question: &str) -> Vec<i16> {
        let script = WritingSystem::of(question);
        let all = [WritingSystem::Mixed, WritingSystem::Spaced, WritingSystem::Unspaced];
        all.into_iter().filter(|other| script.is_foreign_to(*other)).map(|other| script_number(other) as i16).collect()
    }
}

fn cosine(mean: &[f32], vector: &[f32]) -> f64 {
    mean.iter().zip(vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// With fewer texts in one of the scripts, their mean says nothing.
const MIN_TEXTS_OF_SCRIPT: u32 = 3;

/// Returns by how much the mean cosine of texts in another script than the question is below that of the others; 0 if it is
/// not. A multilingual model places texts of one language near each other, whatever they say: multilingual-e5-small ranks
/// most texts in the question's language above the right one in another.
fn script_bias(cosines: &[f32], foreign: &[bool]) -> f32 {
    let mean = |wanted: bool| {
        let those = cosines.iter().zip(foreign).filter(|(_, foreign)| **foreign == wanted);
        let (sum, count) = those.fold((0.0, 0_u32), |(sum, count), (cosine, _)| (sum + f64::from(*cosine), count + 1));
        (count >= MIN_TEXTS_OF_SCRIPT).then(|| sum / f64::from(count))
    };
    mean(false).zip(mean(true)).map_or(0.0, |(own, foreign)| (own - foreign).max(0.0) as f32)
}

/// Returns the positions of the `count` highest values, in no particular order; among equal values, the first.
fn highest(values: &[f32], count: usize) -> impl Iterator<Item = usize> + use<> {
    // Integer keys that sort by descending value, then by ascending position: one comparison instead of two.
    let key = |(at, value): (usize, &f32)| {
        let bits = value.to_bits();
        let rising = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        u64::from(!rising) << 32 | at as u64
    };
    let mut keys: Vec<u64> = values.iter().enumerate().map(key).collect();
    if keys.len() > count {
        keys.select_nth_unstable(count);
        keys.truncate(count);
    }
    keys.into_iter().map(|key| (key & u64::from(u32::MAX)) as usize)
}

pub(super) struct Cosines<'a> {
    /// Exact cosines, best first.
    best: Vec<(DocAddress, f64)>,
    /// All chunks that have a vector, sorted by address; `near` holds their approximate cosines.
    rows: &'a [(DocAddress, u32)],
    near: Vec<f32>,
    /// Mean cosine of all chunks.
    pub mean: f64,
    /// By how much those of chunks in another script than the question were raised.
    pub bias: f64,
}

impl Cosines<'_> {
    pub fn of(&self, chunk: DocAddress) -> Option<f64> {
        let exact = self.best.iter().find(|(address, _)| *address == chunk);
        let near = || self.rows.binary_search_by_key(&chunk, |row| row.0).ok().map(|at| f64::from(self.near[at]));
        exact.map(|&(_, cosine)| cosine).or_else(near)
    }

    /// Returns how many chunks are nearer to the question.
    pub fn nearer_than(&self, cosine: f64) -> u32 {
        match self.best.iter().position(|&(_, other)| other <= cosine) {
            Some(at) => at as u32,
            None => self.near.iter().filter(|near| f64::from(**near) > cosine).count() as u32,
        }
    }
}

fn micros(since: Instant) -> u64 {
    since.elapsed().as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn other_script_is_raised_to_mean_of_own_script() {
        let cosines = [0.9, 0.7, 0.8, 0.5, 0.3, 0.4];
        let bias = |foreign: [bool; 6]| script_bias(&cosines, &foreign);
        assert!((bias([false, false, false, true, true, true]) - 0.4).abs() < 1e-6);
        assert_eq!(bias([true, true, true, false, false, false]), 0.0, "texts that are nearer anyway are not lowered");
        assert_eq!(bias([false, false, false, false, true, true]), 0.0, "too few to compare");
        assert_eq!((bias([true; 6]), script_bias(&[], &[])), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn top_k_equals_sorted_prefix(
            values in prop::collection::vec(prop_oneof![-1.0f32..1.0, Just(0.0), Just(-0.0), Just(0.5)], 0..60),
            count in 0usize..70,
        ) {
            let mut sorted: Vec<usize> = (0..values.len()).collect();
            sorted.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
            sorted.truncate(count);
            sorted.sort_unstable();
            let mut found: Vec<usize> = highest(&values, count).collect();
            found.sort_unstable();
            prop_assert_eq!(found, sorted);
        }
    }
}
