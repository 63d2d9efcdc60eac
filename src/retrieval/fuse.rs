//! Fuses the retrievers' scores: each is brought to a share between 0 and 1 over the candidates of both, and the shares are
//! weighted (convex combination, Bruch et al. 2023). Reciprocal rank fusion and a heavy vector both lose to the lexical
//! retriever alone on the data sets in docs/retrieval.md.

use crate::domain::knowledge::{WeightReason, Weights};

/// How much the vector retriever counts when both answer.
pub const VECTOR_WEIGHT: f64 = 0.2;
/// The most it counts beside late interaction.
const VECTOR_WEIGHT_BESIDE_LATE: f64 = 0.1;
/// How much late interaction counts.
pub const LATE_WEIGHT: f64 = 0.45;
/// How much the vector retriever counts for texts in another script than the question.
const OTHER_SCRIPT_WEIGHT: f64 = 0.8;

/// One chunk that a retriever put forward, with what each retriever says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<A> {
    pub address: A,
    /// Decides between equal scores.
    pub order: (u32, u32),
    /// 0 when no word of the question stands in it.
    pub lexical: f64,
    /// Absent when it has no vector yet.
    pub cosine: Option<f64>,
    /// The score of late interaction, of all candidates or of none.
    pub late: Option<f64>,
    /// It is in another script than the question.
    pub foreign: bool,
}

/// A candidate with its shares, and their sum by weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked<A> {
    pub candidate: Candidate<A>,
    pub lexical_share: f64,
    /// The lexical share stands in for a vector that is still to be made.
    pub vector_share: f64,
    pub vector_weight: f64,
    pub late_share: f64,
    pub late_weight: f64,
    pub fused: f64,
}

impl<A> Ranked<A> {
    /// What vector retriever and late interaction add.
    pub fn by_meaning(&self) -> f64 {
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

    /// The same beside late interaction.
    pub fn with_late(self) -> Self {
        let vector = self.vector.min(VECTOR_WEIGHT_BESIDE_LATE);
        Self { lexical: 1.0 - vector - LATE_WEIGHT, vector, late: Some(LATE_WEIGHT), ..self }
    }

    /// The weights of the vector retriever and of late interaction.
    fn of<A>(&self, candidate: &Candidate<A>) -> (f64, f64) {
        if candidate.foreign { (self.other_script, 0.0) } else { (self.vector, self.late.unwrap_or_default()) }
    }
}

/// Candidates with what their scores are made of.
pub struct ScoredCandidates<A> {
    candidates: Vec<Candidate<A>>,
    weights: Weights,
    lexical: Scale,
    cosine: Scale,
    late: Scale,
    /// Their places, best first.
    order: Vec<u32>,
}

/// Ranks the candidates. None is left out, however low its score.
pub fn ranked<A: Copy>(candidates: Vec<Candidate<A>>, weights: Weights) -> ScoredCandidates<A> {
    // The lowest score of words is none.
    let lexical = Scale { low: 0.0, high: candidates.iter().fold(0.0, |high, candidate| candidate.lexical.max(high)) };
    let cosine = Scale::of(candidates.iter().filter_map(|candidate| candidate.cosine));
    let late = Scale::of(candidates.iter().filter_map(|candidate| candidate.late));
    let mut ranking = ScoredCandidates { candidates, weights, lexical, cosine, late, order: Vec::new() };
    let fused = |(at, candidate): (usize, &Candidate<A>)| (ranking.of(candidate).fused, candidate.order, at as u32);
    // Many are ranked and few looked at: only their scores are kept.
    let mut scores: Vec<(f64, (u32, u32), u32)> = ranking.candidates.iter().enumerate().map(fused).collect();
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    ranking.order = scores.into_iter().map(|(_, _, at)| at).collect();
    ranking
}

impl<A: Copy> ScoredCandidates<A> {
    /// All, best first.
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

/// The lowest and the highest of a retriever's scores.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(scores: impl Iterator<Item = f64>) -> Self {
        let start = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        scores.fold(start, |scale, score| Self { low: scale.low.min(score), high: scale.high.max(score) })
    }

    /// 1 where all scores are equal: each is as good as the best.
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
        assert_eq!((weights.vector, weights.late), (0.1, Some(0.45)));
        assert!((weights.lexical - 0.45).abs() < 1e-12);
        let candidate = |address: u32, lexical: f64, cosine: f64, late: f64| Candidate {
            address,
            order: (address, 0),
            lexical,
            cosine: Some(cosine),
            late: Some(late),
            foreign: address == 3,
        };
        let all = vec![candidate(1, 4.0, 0.2, 0.3), candidate(2, 2.0, 0.6, 0.5), candidate(3, 0.0, 0.5, 0.4)];
        let ranked = ranked(all, weights);
        let scores: Vec<(u32, f64)> = ranked.iter().map(|ranked| (ranked.candidate.address, ranked.fused)).collect();
        let expected = [(2, 0.45 * 0.5 + 0.1 + 0.45), (3, 0.8 * 0.75), (1, 0.45)];
        for ((address, score), (right, exact)) in scores.iter().zip(expected) {
            assert!(*address == right && (score - exact).abs() < 1e-9, "{scores:?}");
        }
    }

    #[test]
    fn late_interaction_counts_beside_no_vectors_too() {
        let weights = Weights::lexical_only(WeightReason::Identifier).with_late();
        assert_eq!((weights.lexical, weights.vector, weights.other_script, weights.late), (0.55, 0.0, 0.0, Some(0.45)));
    }
}
