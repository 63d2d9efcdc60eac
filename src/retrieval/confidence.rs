//! Confidence: how likely a passage answers its question, judged by evidence that does not depend on the other passages.
//!
//! The fused score orders the passages of one search, so the best one always has a high score, whether it answers or not. The
//! confidence is a logistic function of the [`Evidence`], with coefficients for questions in scripts with and without spaces,
//! and for searches with and without vectors. `eval/fit-confidence.py` fits them on half of the questions of an evaluation kit,
//! between right passages and the best passages for questions of other sets; docs/retrieval.md has the figures of the other half.

use super::analyse::{Analyser, QueryTerm, WritingSystem, is_letter};
use super::lexical::{TermMatches, idf};
use crate::domain::knowledge::Evidence;

/// Hits with a lower confidence are weak. The constant terms of the coefficients are chosen so that at least 97 % of the right
/// passages reach it.
pub const FLOOR: f64 = 0.5;
/// Words are weighted as in an index of at least this many chunks: in a small index, a word that no text contains would outweigh
/// all others.
const LEAST_CHUNKS: usize = 5_000;
/// Added to the coverage before its logarithm.
const COVERAGE_OFFSET: f64 = 0.1;
/// An index of fewer chunks counts like one of this many.
const FEWEST_CHUNKS: u32 = 10;
/// From this many chunks on, the evidence of words counts as it was fitted. In a smaller index, fewer passages have some of a
/// question's words by chance: see [`leniency`].
const FULL_CHUNKS: f64 = 80.0;
/// The same for scripts without spaces.
const FULL_CHUNKS_UNSPACED: f64 = 11.0;
/// The highest share of a word's weight that BM25 counts, reciprocally: its `k1 + 1`.
const SATURATED: f64 = 2.2;

/// The coefficients of a logistic function.
struct Coefficients {
    coverage: f64,
    weight: f64,
    best: f64,
    nowhere: f64,
    missing_names: f64,
    characters: f64,
    chunks: f64,
    cosine: f64,
    constant: f64,
}

/// For words alone, in scripts with spaces between words.
const WORDS: Coefficients = Coefficients {
    coverage: 6.38,
    weight: 4.43,
    best: 0.0,
    nowhere: 0.0,
    missing_names: -1.47,
    characters: 0.0,
    chunks: -0.52,
    cosine: 0.0,
    constant: -2.3,
};
/// For words alone, in scripts without spaces.
const CHARACTERS: Coefficients = Coefficients {
    coverage: 5.36,
    weight: 2.64,
    best: 0.358,
    nowhere: -0.49,
    missing_names: -0.66,
    characters: -10.84,
    chunks: -0.72,
    cosine: 0.0,
    constant: 3.7,
};
/// For words and vectors, in scripts with spaces.
const WORDS_AND_VECTORS: Coefficients = Coefficients {
    coverage: 6.11,
    weight: 1.63,
    best: 0.0,
    nowhere: -5.12,
    missing_names: -2.05,
    characters: 0.0,
    chunks: -1.33,
    cosine: 15.06,
    constant: 8.25,
};
/// For words and vectors, in scripts without spaces.
const CHARACTERS_AND_VECTORS: Coefficients = Coefficients {
    coverage: 7.25,
    weight: 0.30,
    best: 0.0,
    nowhere: 1.43,
    missing_names: -0.45,
    characters: -7.89,
    chunks: -0.86,
    cosine: 20.78,
    constant: 9.93,
};

/// For the cosine alone, where a passage has few or none of the words: its coefficient, what is subtracted for each unit of the
/// logarithm of the number of chunks (the best of many unrelated chunks is nearer than the best of a few), and the cosine that
/// an index of one chunk would need.
const COSINE_ALONE: f64 = 20.0;
const COSINE_FOR_CHUNKS: f64 = 0.02;
const LEAST_COSINE: f64 = 0.27;
/// The same for a passage in another script than the question, which cannot have its words.
const LEAST_COSINE_OTHER_SCRIPT: f64 = 0.156;

/// Returns the cosine of unrelated texts by a model: some models see all texts as similar. The coefficients are those of the
/// default model, where it is about 0; that of multilingual-e5-small is an estimate from few texts.
pub fn unrelated_cosine(model: &str) -> f64 {
    if model.contains("e5") { 0.76 } else { 0.0 }
}

/// A question with the weights of its words, and its names.
pub(super) struct Assessment {
    /// Weight of each term.
    weights: Vec<f64>,
    total: f64,
    nowhere: f64,
    /// The terms of each name or number.
    names: Vec<Vec<usize>>,
    script: WritingSystem,
    /// Whether only single characters are searched, because no text has two of them side by side.
    characters: bool,
    index: AssessedIndex,
}

/// The index in which a question is assessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssessedIndex {
    /// Number of chunks.
    pub chunks: usize,
    /// Cosine of unrelated texts by the model: [`unrelated_cosine`].
    pub unrelated_cosine: f64,
}

impl Assessment {
    pub fn new(query: &str, matches: &[TermMatches], analyser: &Analyser, index: AssessedIndex) -> Self {
        let weight = |term: &TermMatches| idf(index.chunks.max(LEAST_CHUNKS), term.document_frequency());
        let weights: Vec<f64> = matches.iter().map(weight).collect();
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let absent = matches.iter().zip(&weights).filter(|(term, _)| term.document_frequency() == 0);
        let nowhere = absent.map(|(_, weight)| weight).sum::<f64>() / total;
        let labels: Vec<String> = matches.iter().map(|term| term.term.label()).collect();
        let names = names(query).into_iter().filter_map(|name| {
            let mut terms = Vec::new();
            analyser.terms(name, |term| terms.extend(labels.iter().position(|label| label == term)));
            (!terms.is_empty()).then_some(terms)
        });
        let is_pair = |term: &TermMatches| matches!(&term.term, QueryTerm::Term(term) if !term.is_ascii());
        let is_single = |term: &TermMatches| matches!(term.term, QueryTerm::Character(_));
        Self {
            weights,
            total,
            nowhere,
            names: names.collect(),
            script: WritingSystem::of(query),
            characters: matches.iter().any(is_single) && !matches.iter().any(is_pair),
            index,
        }
    }

    /// Returns the evidence for a passage. `scores` holds the score of each term in it relative to the term's idf.
    pub fn evidence(&self, scores: &[f64]) -> Evidence {
        let held: Vec<f64> =
            self.weights.iter().zip(scores).map(|(w, score)| w * (score / SATURATED).min(1.0)).collect();
        let weight: f64 = held.iter().sum();
        let is_missing = |name: &&Vec<usize>| !name.iter().any(|&term| scores.get(term).is_some_and(|s| *s > 0.0));
        Evidence {
            coverage: weight / self.total,
            weight,
            best: held.iter().copied().fold(0.0, f64::max),
            nowhere: self.nowhere,
            names: self.names.len() as u32,
            missing_names: self.names.iter().filter(is_missing).count() as u32,
            characters: self.characters,
            chunks: u32::try_from(self.index.chunks).unwrap_or(u32::MAX),
        }
    }

    /// Returns how likely a passage answers the question. `is_foreign` says that it is in another script.
    pub fn confidence(&self, evidence: &Evidence, cosine: Option<f64>, is_foreign: bool) -> f64 {
        let AssessedIndex { chunks, unrelated_cosine } = self.index;
        let cosine = cosine.map(|cosine| (cosine - unrelated_cosine) / (1.0 - unrelated_cosine));
        let coefficients = match (self.script, cosine.filter(|_| !is_foreign)) {
            (WritingSystem::Unspaced, None) => &CHARACTERS,
            (WritingSystem::Unspaced, Some(_)) => &CHARACTERS_AND_VECTORS,
            (_, None) => &WORDS,
            (_, Some(_)) => &WORDS_AND_VECTORS,
        };
        let words = coefficients.log_odds(evidence, cosine.unwrap_or_default());
        let words = logistic(words + leniency(chunks, self.script));
        let least = if is_foreign { LEAST_COSINE_OTHER_SCRIPT } else { LEAST_COSINE };
        let least = least + COSINE_FOR_CHUNKS * (chunks.max(1) as f64).ln();
        let alone = cosine.map_or(0.0, |cosine| logistic(COSINE_ALONE * (cosine - least)));
        words.max(alone)
    }
}

impl Coefficients {
    fn log_odds(&self, evidence: &Evidence, cosine: f64) -> f64 {
        let missing = f64::from(evidence.missing_names) / f64::from(evidence.names.max(1));
        self.constant
            + self.coverage * (evidence.coverage + COVERAGE_OFFSET).ln()
            + self.weight * (SATURATED * evidence.weight).ln_1p()
            + self.best * evidence.best
            + self.nowhere * evidence.nowhere
            + self.missing_names * missing
            + self.characters * f64::from(u8::from(evidence.characters))
            + self.chunks * f64::from(evidence.chunks.max(FEWEST_CHUNKS)).ln()
            + self.cosine * cosine
    }
}

/// Returns what is added to the log-odds in a small index. A hit then is strong from `FLOOR × √(chunks / full)` of the fitted
/// confidence on.
fn leniency(chunks: usize, script: WritingSystem) -> f64 {
    let full = if script == WritingSystem::Unspaced { FULL_CHUNKS_UNSPACED } else { FULL_CHUNKS };
    let bound = FLOOR * (chunks.max(1) as f64 / full).sqrt().min(1.0);
    ((1.0 - bound) / bound).ln()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns the words of a question that name something: with a digit, an underscore or a capital inside, or with a capital first
/// that does not begin a sentence.
fn names(question: &str) -> Vec<&str> {
    let is_in_word = |c: char| is_letter(c) || matches!(c, '\'' | '’');
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(found) = question[at..].find(is_in_word) {
        let start = at + found;
        let rest = &question[start..];
        let word = &rest[..rest.find(|c| !is_in_word(c)).unwrap_or(rest.len())];
        at = start + word.len();
        let before = question[..start].trim_end_matches([' ', '"', '“', '\'', '`', '(']);
        let begins = before.is_empty() || before.ends_with(['.', '?', '!', ':', '\n', '。', '？', '！', '：']);
        let mut characters = word.chars();
        let capital = characters.next().is_some_and(char::is_uppercase);
        let named_inside = characters.any(char::is_uppercase);
        let coded = word.chars().any(|c| c.is_numeric() || c == '_');
        if (coded || named_inside || (capital && !begins)) && word != "I" && !word.starts_with("I'") {
            names.push(word);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOTHING: Evidence = Evidence {
        coverage: 0.0,
        weight: 0.0,
        best: 0.0,
        nowhere: 0.5,
        names: 1,
        missing_names: 1,
        characters: false,
        chunks: 600,
    };

    fn assessment(question: &str, chunks: usize) -> Assessment {
        Assessment::new(question, &[], &Analyser::default(), AssessedIndex { chunks, unrelated_cosine: 0.0 })
    }

    #[test]
    fn names_have_capitals_digits_or_underscores_inside() {
        let names = |question| names(question).join(" ");
        assert_eq!(names("When did Caroline's group meet in May 2023? Who came? I forgot."), "Caroline's May 2023");
        assert_eq!(names("What does the UpdateChecker of br_if do?"), "UpdateChecker br_if");
        assert_eq!(names("那个50岁的人是谁？"), "50");
        assert_eq!(names("“Where” is it"), "");
    }

    #[test]
    fn passage_with_nothing_of_the_question_is_weak() {
        for question in ["Who keeps penguins?", "谁养企鹅？"] {
            let assessment = assessment(question, 600);
            for cosine in [None, Some(0.1)] {
                let confidence = assessment.confidence(&NOTHING, cosine, false);
                assert!(confidence < 0.1, "{question} {cosine:?}: {confidence}");
            }
        }
    }

    #[test]
    fn passage_with_all_words_or_a_near_meaning_is_strong() {
        let assessment = assessment("Who keeps penguins?", 600);
        let all = Evidence { coverage: 0.8, weight: 10.0, best: 7.0, nowhere: 0.0, missing_names: 0, ..NOTHING };
        assert!(assessment.confidence(&all, None, false) > 0.9);
        assert!(assessment.confidence(&all, Some(0.3), false) > 0.9);
        assert!(assessment.confidence(&NOTHING, Some(0.5), false) > FLOOR, "another word for the same");
        assert!(assessment.confidence(&NOTHING, Some(0.35), false) < FLOOR);
        assert!(assessment.confidence(&NOTHING, Some(0.35), true) > FLOOR, "another script cannot have the words");
    }

    #[test]
    fn best_of_more_unrelated_chunks_must_be_nearer() {
        let confidence = |chunks| assessment("Who keeps penguins?", chunks).confidence(&NOTHING, Some(0.38), false);
        assert!(confidence(10) > FLOOR && confidence(10_000) < FLOOR);
    }

    proptest! {
        #[test]
        fn more_of_a_question_never_lowers_confidence(
            coverage in 0.0..1.0f64, weight in 0.0..40.0f64, cosine in prop::option::of(-0.2..0.9f64), more in 0.0..1.0f64,
            question in prop_oneof![Just("Who keeps penguins?"), Just("谁养企鹅？")],
        ) {
            let assessment = assessment(question, 600);
            let less = Evidence { coverage, weight, ..NOTHING };
            let grown = Evidence { coverage: coverage + more * (1.0 - coverage), weight: weight + more, ..NOTHING };
            let (low, high) = (assessment.confidence(&less, cosine, false), assessment.confidence(&grown, cosine, false));
            prop_assert!((0.0..=1.0).contains(&low) && high >= low);
            let nearer = cosine.map(|cosine| cosine + more * 0.1);
            prop_assert!(assessment.confidence(&less, nearer, false) >= low);
        }
    }
}
