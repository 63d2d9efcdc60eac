//! Two legs' scores made one: each is brought to a share between 0 and 1 over the candidates of both, and the shares are
//! weighted (convex combination, Bruch et al. 2023). Reciprocal rank fusion and a heavy vector both lose to the lexical
//! leg alone on the data sets in docs/retrieval.md.

use crate::domain::knowledge::{WeightReason, Weights};

/// How much the vector leg counts when both answer.
pub const VECTOR_WEIGHT: f64 = 0.2;
/// How much it counts for texts in another script than the question.
const OTHER_SCRIPT_WEIGHT: f64 = 0.8;

/// One chunk that a leg put forward, with what each leg says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<A> {
    pub address: A,
    /// Decides between equal scores.
    pub order: (u64, u32),
    /// 0 when no word of the question stands in it.
    pub lexical: f64,
    /// Absent when it has no vector yet.
    pub cosine: Option<f64>,
    /// It is in another script than the question.
    pub foreign: bool,
}

/// A candidate with its shares, and their sum by weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked<A> {
    pub candidate: Candidate<A>,
    pub lexical_share: f64,
    /// The lexical share stands in for a vector that is still to be made.
    pub vector_share: f64,
    pub vector_weight: f64,
    pub fused: f64,
}

impl Weights {
    pub fn lexical_only(reason: WeightReason) -> Self {
        Self { lexical: 1.0, vector: 0.0, other_script: 0.0, reason }
    }

    pub fn with_vector(vector: f64, reason: WeightReason) -> Self {
        Self { lexical: 1.0 - vector, vector, other_script: vector.max(OTHER_SCRIPT_WEIGHT), reason }
    }

    fn of<A>(&self, candidate: &Candidate<A>) -> f64 {
        if candidate.foreign { self.other_script } else { self.vector }
    }
}

/// The candidates, best first. No candidate is left out, however low its score.
pub fn ranked<A: Copy>(candidates: Vec<Candidate<A>>, weights: Weights) -> Vec<Ranked<A>> {
    // The lowest score of words is none.
    let lexical = Scale { low: 0.0, high: candidates.iter().fold(0.0, |high, candidate| candidate.lexical.max(high)) };
    let cosine = Scale::of(candidates.iter().filter_map(|candidate| candidate.cosine));
    let mut ranked: Vec<Ranked<A>> = candidates
        .into_iter()
        .map(|candidate| {
            let lexical_share = if candidate.lexical > 0.0 { lexical.share(candidate.lexical) } else { 0.0 };
            let vector_share = candidate.cosine.map_or(lexical_share, |cosine_of| cosine.share(cosine_of));
            let vector_weight = weights.of(&candidate);
            let fused = (1.0 - vector_weight) * lexical_share + vector_weight * vector_share;
            Ranked { candidate, lexical_share, vector_share, vector_weight, fused }
        })
        .collect();
    ranked.sort_by(|a, b| b.fused.total_cmp(&a.fused).then_with(|| a.candidate.order.cmp(&b.candidate.order)));
    ranked
}

/// The lowest and the highest of a leg's scores.
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
