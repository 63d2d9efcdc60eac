//! Fuses the retrievers' scores: normalises each to a share between 0 and 1 over the candidates of both, and sums the weighted
//! shares (convex combination, Bruch et al. 2023). On the data sets in docs/retrieval.md, both reciprocal rank fusion and a
//! high vector weight are worse than the lexical retriever alone.

use crate::domain::knowledge::{WeightReason, Weights};

/// Default weight of the vector retriever when both retrievers answer.
pub const VECTOR_WEIGHT: f64 = 0.2;
/// Maximum weight of the vector retriever when late interaction is used too.
const VECTOR_WEIGHT_BESIDE_LATE: f64 = 0.1;
/// Weight of late interaction.
pub const LATE_WEIGHT: f64 = 0.45;
/// Minimum weight of the vector retriever for texts in another script than the question.
const OTHER_SCRIPT_WEIGHT: f64 = 0.8;

/// A candidate answer with its score by each retriever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<A> {
    pub address: A,
    /// Tie-breaker for equal scores.
    pub tie_breaker: (u32, u32),
    /// Lexical score; 0 if the candidate contains no word of the question.
    pub lexical: f64,
    /// Cosine with the question; absent if the candidate has no vector yet.
    pub cosine: Option<f64>,
    /// Score of late interaction; present for all candidates or for none.
    pub late: Option<f64>,
    /// Whether it is in another script than the question.
    pub foreign: bool,
}

/// A candidate with its shares and their weighted sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked<A> {
    pub candidate: Candidate<A>,
    pub lexical_share: f64,
    /// The lexical share if the candidate has no vector yet.
    pub vector_share: f64,
    pub vector_weight: f64,
    pub late_share: f64,
    pub late_weight: f64,
    pub fused: f64,
}

impl<A> Ranked<A> {
    /// Returns the part of the score that comes from the vector retriever and late interaction.
    pub fn semantic_score(&self) -> f64 {
        self.vector_weight * self.vector_share + self.late_weight * self.late_share
    }
}

impl Weights {
    pub fn lexical_only(reason: WeightReason) -> Self {
        Self { lexical: 1.0, vector: 0.0, other_script: 0.0, late: None, reason }
    }

    pub fn with_vector(vector: f64, reason: WeightReason) -> Self {
        let other_script = vector.max(OTHER_SCRIPT_WEIGHT);
        Self { lexical: 1.0 - vector, vector, other_script, late: None, reason }
    }

    /// Returns the weights for a search with late interaction.
    pub fn with_late(self) -> Self {
        let vector = self.vector.min(VECTOR_WEIGHT_BESIDE_LATE);
        Self { lexical: 1.0 - vector - LATE_WEIGHT, vector, late: Some(LATE_WEIGHT), ..self }
    }

    /// Returns the weights of the vector retriever and of late interaction for a candidate.
    fn of<A>(&self, candidate: &Candidate<A>) -> (f64, f64) {
        if candidate.foreign { (self.other_script, 0.0) } else { (self.vector, self.late.unwrap_or_default()) }
    }
}

/// Candidates with the data that their scores are computed from.
pub struct ScoredCandidates<A> {
    candidates: Vec<Candidate<A>>,
    weights: Weights,
    lexical: Scale,
    cosine: Scale,
    late: Scale,
    /// Indices of the candidates, best first.
    order: Vec<u32>,
}

/// Ranks the candidates. Keeps all of them, however low their scores.
pub fn ranked<A: Copy>(candidates: Vec<Candidate<A>>, weights: Weights) -> ScoredCandidates<A> {
    // The lowest possible lexical score is 0: no word matches.
    let lexical = Scale { low: 0.0, high: candidates.iter().fold(0.0, |high, candidate| candidate.lexical.max(high)) };
    let cosine = Scale::of(candidates.iter().filter_map(|candidate| candidate.cosine));
    let late = Scale::of(candidates.iter().filter_map(|candidate| candidate.late));
    let mut ranking = ScoredCandidates { candidates, weights, lexical, cosine, late, order: Vec::new() };
    let fused =
        |(at, candidate): (usize, &Candidate<A>)| (ranking.of(candidate).fused, candidate.tie_breaker, at as u32);
    // Many candidates are ranked but few are read: sort only their scores.
    let mut scores: Vec<(f64, (u32, u32), u32)> = ranking.candidates.iter().enumerate().map(fused).collect();
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    ranking.order = scores.into_iter().map(|(_, _, at)| at).collect();
    ranking
}

impl<A: Copy> ScoredCandidates<A> {
    /// Returns all candidates, best first.
    pub fn iter(&self) -> impl Iterator<Item = Ranked<A>> {
        self.order.iter().map(|&at| self.of(&self.candidates[at as usize]))
    }

    fn of(&self, candidate: &Candidate<A>) -> Ranked<A> {
        let lexical_share = if candidate.lexical > 0.0 { self.lexical.share(candidate.lexical) } else { 0.0 };
        let vector_share = candidate.cosine.map_or(lexical_share, |cosine| self.cosine.share(cosine));
        let late_share = candidate.late.map_or(0.0, |score| self.late.share(score));
        let (vector_weight, late_weight) = self.weights.of(candidate);
        let fused = (1.0 - vector_weight - late_weight) * lexical_share
            + vector_weight * vector_share
            + late_weight * late_share;
        Ranked { candidate: *candidate, lexical_share, vector_share, vector_weight, late_share, late_weight, fused }
    }
}

/// The lowest and highest score of a retriever.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(scores: impl Iterator<Item = f64>) -> Self {
        let start = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        scores.fold(start, |scale, score| Self { low: scale.low.min(score), high: scale.high.max(score) })
    }

    /// Returns a score's share, 0 to 1. If all scores are equal, each is as good as the best and gets 1.
    fn share(&self, score: f64) -> f64 {
        if self.high > self.low { (score - self.low) / (self.high - self.low) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_weighted_and_foreign_script_uses_vectors() {
        let weights = Weights::with_vector(0.2, WeightReason::Balanced).with_late();
        let words = 1.0 - 0.1 - LATE_WEIGHT;
        assert_eq!((weights.vector, weights.late), (0.1, Some(LATE_WEIGHT)));
        assert!((weights.lexical - words).abs() < 1e-12);
        let candidate = |address: u32, lexical: f64, cosine: f64, late: f64| Candidate {
            address,
            tie_breaker: (address, 0),
            lexical,
            cosine: Some(cosine),
            late: Some(late),
            foreign: address == 3,
        };
        let all = vec![candidate(1, 4.0, 0.2, 0.3), candidate(2, 2.0, 0.6, 0.5), candidate(3, 0.0, 0.5, 0.4)];
        let ranked = ranked(all, weights);
        let scores: Vec<(u32, f64)> = ranked.iter().map(|ranked| (ranked.candidate.address, ranked.fused)).collect();
        let expected = [(2, words * 0.5 + 0.1 + LATE_WEIGHT), (3, 0.8 * 0.75), (1, words)];
        for ((address, score), (right, exact)) in scores.iter().zip(expected) {
            assert!(*address == right && (score - exact).abs() < 1e-9, "{scores:?}");
        }
    }

    #[test]
    fn late_interaction_counts_without_vectors() {
        let weights = Weights::lexical_only(WeightReason::Identifier).with_late();
        assert_eq!((weights.vector, weights.other_script, weights.late), (0.0, 0.0, Some(LATE_WEIGHT)));
        assert!((weights.lexical + LATE_WEIGHT - 1.0).abs() < 1e-12);
    }
}
