//! Hits: picks the best windows that are separate answers, and explains their ranks.

use tantivy::DocAddress;

use super::analyse::WritingSystem;
use super::confidence::{Assessment, FLOOR, Meaning};
use super::cosine_scale::Nearness;
use super::duplicates::Words;
use super::fuse::{Candidate, Ranked, ScoredCandidates};
use super::lexical::TermMatches;
use super::passage::Passage;
use super::search::{Cosines, SearchError, Searchable};
use super::windows::{ScoredWindows, Window};
use crate::domain::Hit;
use crate::domain::knowledge::{
    LateScore, LexicalScore, NearMiss, NearMissReason, ScoreExplanation, TermScore, VectorScore,
};

/// The windows with the scores of all retrievers.
pub(super) struct Answers<'a> {
    pub searchable: &'a Searchable<'a>,
    /// Writing system of the question.
    pub script: WritingSystem,
    pub matches: &'a [TermMatches],
    pub assessment: Assessment,
    pub scored: &'a ScoredWindows<'a>,
    pub cosines: Option<Cosines<'a>>,
    /// Score of each window.
    pub late: Option<Vec<f64>>,
    pub best_of_chunks: Vec<f64>,
}

/// A window that shares more than this fraction of the shorter window's tokens with a better one is not a separate answer.
const MAX_SHARED: f64 = 0.25;
/// The same limit for the second pass, if the first one finds too few windows.
const MAX_SHARED_FALLBACK: f64 = 0.5;
/// Maximum number of windows with other text that one is compared with to find those with the same text.
const MAX_OTHERS: usize = 16;
/// Maximum difference of the lexical scores of two windows with the same text, relative to the one that ranks first.
const MAX_DIFFERENCE: f64 = 0.2;

/// A window that is a separate answer.
pub(super) struct Chosen {
    pub ranked: Ranked<usize>,
    /// The first passage of the file with this text.
    passage: Passage,
    text: Words,
    /// The other windows with this text.
    duplicates: Vec<usize>,
}

impl Chosen {
    fn windows(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.ranked.candidate.address).chain(self.duplicates.iter().copied())
    }
}

impl Answers<'_> {
    pub fn candidates(&self) -> Vec<Candidate<usize>> {
        let cosine = |chunk: DocAddress| self.cosines.as_ref().and_then(|cosines| cosines.of(chunk));
        let mut candidates = Vec::with_capacity(self.scored.windows.len());
        // Windows of one chunk are consecutive, and so are those that overlap the same next chunk.
        for windows in self.scored.windows.chunk_by(|a, b| a.chunk == b.chunk) {
            let chunk = windows[0].chunk;
            let own = cosine(chunk);
            let foreign = self.script.is_foreign_to(self.searchable.snapshot.script(chunk));
            for windows in windows.chunk_by(|a, b| a.overlapping_chunk == b.overlapping_chunk) {
                // The texts of both vectors contain the window's centre.
                let overlapping = windows[0].overlapping_chunk.filter(|_| own.is_some()).and_then(cosine);
                let cosine = own.map(|own| overlapping.map_or(own, |overlapping| own.max(overlapping)));
                for window in windows {
                    let at = candidates.len();
                    let late = self.late.as_ref().map(|scores| scores[at]);
                    let (tie_breaker, lexical) = (window.tie_breaker, window.score);
                    candidates.push(Candidate { address: at, tie_breaker, lexical, cosine, late, foreign });
                }
            }
        }
        candidates
    }

    /// Returns the best windows that are separate answers, best first; windows of the second pass come last.
    ///
    /// # Errors
    /// Returns an error if the index is damaged.
    pub fn chosen(&self, ranked: &ScoredCandidates<usize>, count: usize) -> Result<Vec<Chosen>, SearchError> {
        let shared = |a: usize, b: usize, share: f64| {
            let (a, b) = (&self.scored.windows[a], &self.scored.windows[b]);
            f64::from(a.shared(b)) > share * f64::from(a.length().min(b.length()))
        };
        let mut chosen: Vec<Chosen> = Vec::with_capacity(count);
        for limit in [MAX_SHARED, MAX_SHARED_FALLBACK] {
            for ranked in ranked.iter() {
                if chosen.len() >= count {
                    return Ok(chosen);
                }
                let is_known = |window: usize| {
                    let mut others = chosen.iter().flat_map(Chosen::windows);
                    others.any(|better| better == window || shared(better, window, limit))
                };
                if is_known(ranked.candidate.address) {
                    continue;
                }
                let mut found = self.separate(ranked)?;
                match chosen.iter().position(|other| self.are_duplicates(other, &found)) {
                    Some(other) => chosen[other].duplicates.push(ranked.candidate.address),
                    None => {
                        self.find_duplicates(&mut found, is_known)?;
                        chosen.push(found);
                    }
                }
            }
        }
        Ok(chosen)
    }

    fn separate(&self, ranked: Ranked<usize>) -> Result<Chosen, SearchError> {
        let passage = self.passage(&self.scored.windows[ranked.candidate.address])?;
        Ok(Chosen { ranked, text: Words::of(&passage.text), passage, duplicates: Vec::new() })
    }

    /// Whether two windows of a file have the same text under the same heading, and the same words of the question.
    fn are_duplicates(&self, one: &Chosen, other: &Chosen) -> bool {
        let words = |chosen: &Chosen| self.words(&self.scored.windows[chosen.ranked.candidate.address]);
        (&one.passage.source, &one.passage.heading) == (&other.passage.source, &other.passage.heading)
            && one.text.are_the_same(&other.text)
            && words(one) == words(other)
    }

    /// Finds the windows of the same file with the same text as `found`. The first passage in the file becomes its passage, so that a
    /// file is cited at the same place whatever the question is.
    fn find_duplicates(&self, found: &mut Chosen, is_known: impl Fn(usize) -> bool) -> Result<(), SearchError> {
        let windows = &self.scored.windows;
        let best = &windows[found.ranked.candidate.address];
        let (words, heading) = (self.words(best), found.passage.heading.clone());
        let mut others = 0;
        for (at, window) in self.alike(best) {
            let is_counted = found.duplicates.iter().any(|&other| windows[other].shared(window) > 0);
            if is_counted || is_known(at) || self.words(window) != words {
                continue;
            }
            let passage = self.passage(window)?;
            if passage.heading != heading || !found.text.are_the_same(&Words::of(&passage.text)) {
                others += 1;
                if others == MAX_OTHERS {
                    break;
                }
                continue;
            }
            found.duplicates.push(at);
            if passage.range.start < found.passage.range.start {
                found.passage = passage;
            }
        }
        Ok(())
    }

    /// Returns the other windows of the file with a centre of the same size and nearly the same score, those with the nearest score
    /// first.
    fn alike(&self, best: &Window) -> Vec<(usize, &Window)> {
        let size = |window: &Window| {
            let unit = &self.scored.spans[window.span].units[window.centre].1;
            (unit.terms, unit.tokens)
        };
        let (of_best, difference) = (size(best), |window: &Window| (window.score - best.score).abs());
        let is_alike = |(_, window): &(usize, &Window)| {
            size(window) == of_best
                && difference(window) <= MAX_DIFFERENCE * best.score
                && window.shared(best) == 0
                && self.searchable.snapshot.same_file(window.chunk, best.chunk)
        };
        let mut alike: Vec<_> = self.scored.windows.iter().enumerate().filter(is_alike).collect();
        alike.sort_by(|(_, a), (_, b)| difference(a).total_cmp(&difference(b)));
        alike
    }

    /// Returns which words of the question a window has.
    fn words(&self, window: &Window) -> Vec<bool> {
        self.scored.parts(window).take(self.matches.len()).map(|(score, _)| score > 0.0).collect()
    }

    fn passage(&self, window: &Window) -> Result<Passage, SearchError> {
        Ok(self.searchable.snapshot.passage(window.begin, window.end, window.chunk)?)
    }

    pub fn hit(&self, rank: u32, chosen: Chosen) -> Hit {
        let Chosen { ranked, passage, duplicates, .. } = chosen;
        let duplicates = duplicates.len() as u32;
        let Ranked { candidate, lexical_share, vector_share, vector_weight, late_share, late_weight, fused } = ranked;
        let window = &self.scored.windows[candidate.address];
        let lexical = (candidate.lexical > 0.0).then(|| LexicalScore {
            score: window.score,
            rank: 1 + self.chunks_better_than(window.score),
            share: lexical_share,
            terms: self.terms(window),
        });
        let (mean, bias) = self.cosines.as_ref().map_or((0.0, 0.0), |cosines| (cosines.mean, cosines.bias));
        let vector = candidate.cosine.map(|cosine| VectorScore {
            cosine,
            mean: Some(mean),
            rank: 1 + self.cosines.as_ref().map_or(0, |cosines| cosines.nearer_than(cosine)),
            share: vector_share,
        });
        let late = candidate.late.map(|score| LateScore { score, share: late_share, weight: late_weight });
        let nearness = candidate.cosine.map(|cosine| Nearness {
            cosine,
            mean,
            raised: if candidate.foreign { bias } else { 0.0 },
        });
        let evidence = self.assessment.evidence(&self.relative_scores(window));
        let meaning = Meaning { nearness, late: candidate.late, is_foreign: candidate.foreign };
        let confidence = self.assessment.confidence(&evidence, meaning);
        Hit {
            text: passage.text,
            score: fused,
            confidence: Some(confidence),
            weak: confidence < FLOOR,
            source: passage.source,
            heading: (!passage.heading.is_empty()).then_some(passage.heading),
            lines: passage.lines,
            range: (passage.range.start, passage.range.end),
            how: Some(ScoreExplanation {
                rank,
                vector_weight,
                lexical,
                vector,
                late,
                evidence: Some(evidence),
                duplicates,
            }),
        }
    }

    /// Returns the score that each word contributes, relative to its idf.
    fn relative_scores(&self, window: &Window) -> Vec<f64> {
        let scores = self.matches.iter().zip(self.scored.parts(window));
        scores.map(|(term, (score, _))| score / term.idf.max(f64::MIN_POSITIVE)).collect()
    }

    /// Returns the score that each word and pair of words contributes.
    fn terms(&self, window: &Window) -> Vec<TermScore> {
        let label = |term: usize| self.matches[term].term.label();
        let words = (0..self.matches.len()).map(|term| (label(term), self.matches[term].document_frequency()));
        let pairs = self
            .scored
            .pairs()
            .iter()
            .map(|pair| (format!("{} + {}", label(pair.first), label(pair.second)), pair.document_frequency));
        let all = words.chain(pairs).zip(self.scored.parts(window)).filter(|(_, (score, _))| *score > 0.0);
        all.map(|((term, texts), (score, times))| TermScore { term, score, times, texts }).collect()
    }

    /// Returns how many chunks have a window with a higher score.
    fn chunks_better_than(&self, score: f64) -> u32 {
        self.best_of_chunks.partition_point(|&best| best > score) as u32
    }
}

/// Returns the best score of each chunk, highest first.
pub(super) fn best_of_chunks(windows: &[Window]) -> Vec<f64> {
    // The windows of a chunk are consecutive.
    let chunks = windows.chunk_by(|a, b| a.chunk == b.chunk);
    let mut best: Vec<f64> =
        chunks.map(|chunk| chunk.iter().fold(0.0, |best, window| window.score.max(best))).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    best
}

/// Explains why `missed` ranks behind `last`, the last hit.
pub(super) fn missed_by(last: &Ranked<usize>, missed: &Ranked<usize>, hit: Hit) -> NearMiss {
    let behind = last.fused - missed.fused;
    let words = missed.lexical_share < last.lexical_share;
    let meaning = match missed.candidate.late {
        Some(_) => missed.semantic_score() < last.semantic_score(),
        None => missed.candidate.cosine.is_some() && missed.vector_share < last.vector_share,
    };
    let reason = match (missed.candidate.lexical > 0.0, words, meaning) {
        (false, ..) => NearMissReason::NoSharedWord,
        (true, true, true) => NearMissReason::BothWeaker,
        (true, false, true) => NearMissReason::FartherMeaning,
        (true, ..) if missed.candidate.cosine.is_none() && last.candidate.cosine.is_some() => {
            NearMissReason::NoVectorYet
        }
        (true, ..) => NearMissReason::WeakerWords,
    };
    let shares = |ranked: &Ranked<usize>| {
        let vector = ranked.candidate.cosine.map(|_| format!(", meaning {:.2}", ranked.vector_share));
        let late = ranked.candidate.late.map(|_| format!(", piece by piece {:.2}", ranked.late_share));
        format!("words {:.2}{}{}", ranked.lexical_share, vector.unwrap_or_default(), late.unwrap_or_default())
    };
    let what = match reason {
        NearMissReason::NoSharedWord => "No word of the question stands in it",
        NearMissReason::WeakerWords => "Its words answer the question less",
        NearMissReason::FartherMeaning => "Its meaning is farther from the question",
        NearMissReason::BothWeaker => "Both its words and its meaning are farther from the question",
        NearMissReason::NoVectorYet => "Its vector is still to be made",
    };
    let detail = format!("{what}: {}; the last hit has {}. {behind:.3} points behind.", shares(missed), shares(last));
    NearMiss { hit, behind, reason, detail }
}
