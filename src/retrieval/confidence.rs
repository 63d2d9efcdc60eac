//! Confidence: how likely a passage answers its question, judged by evidence that does not depend on the other passages.
//!
//! The fused score orders the passages of one search, so the best one always has a high score, whether it answers or not. The
//! confidence is a logistic function of the [`Evidence`], with coefficients for questions in scripts with and without spaces,
//! and for searches with and without vectors and late interaction. `eval/fit-confidence.py` fits them on the questions of an
//! evaluation kit, between right passages and the best passages for questions of other sets; docs/retrieval.md has the figures.
//! What a cosine means depends on the model: the [`CosineScale`].

use super::analyse::{Analyser, QueryTerm, WritingSystem, is_letter};
use super::cosine_scale::{CHARACTERS, CosineScale, Nearness, SATURATED, WORDS, WORDS_AND_LATE, logistic};
use super::lexical::{TermMatches, idf};
use crate::domain::knowledge::Evidence;

/// Hits with a lower confidence are weak. The constant terms of the coefficients are chosen so that at least 97 % of the right
/// passages reach it.
pub const FLOOR: f64 = 0.5;
/// Words are weighted as in an index of at least this many chunks: in a small index, a word that no text contains would outweigh
/// all others.
const LEAST_CHUNKS: usize = 5_000;
/// From this many chunks on, the evidence of words counts as it was fitted. In a smaller index, fewer passages have some of a
/// question's words by chance: see [`leniency`].
const FULL_CHUNKS: f64 = 80.0;
/// The same for scripts without spaces.
const FULL_CHUNKS_UNSPACED: f64 = 11.0;
/// An index with a smaller share of these chunks counts like one with this share: otherwise one common word would do in a single note.
const LEAST_SHARE: f64 = 1.0 / 16.0;

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
    pub scale: CosineScale,
}

/// What is known of a passage besides its words.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meaning {
    /// Absent if it has no vector, or the question has none.
    pub nearness: Option<Nearness>,
    /// Score of late interaction, if it was used.
    pub late: Option<f64>,
    /// Whether it is in another script than the question.
    pub is_foreign: bool,
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

    /// Returns how likely a passage answers the question.
    pub fn confidence(&self, evidence: &Evidence, meaning: Meaning) -> f64 {
        let (AssessedIndex { chunks, scale }, Meaning { nearness, late, is_foreign }) = (self.index, meaning);
        let cosine = nearness.and_then(|nearness| scale.scaled(nearness, chunks));
        let (near, late) = if is_foreign { (None, None) } else { (cosine, late) };
        let coefficients = match (self.script, near) {
            (script, Some(_)) => scale.coefficients(script, late.is_some()),
            (WritingSystem::Unspaced, None) => &CHARACTERS,
            (_, None) if late.is_some() => &WORDS_AND_LATE,
            (_, None) => &WORDS,
        };
        let words = coefficients.log_odds(evidence, near.unwrap_or_default(), late.unwrap_or_default());
        let words = logistic(words + leniency(chunks, self.script));
        let alone = cosine.map_or(0.0, |cosine| scale.bounds().confidence(cosine, self.script, (chunks, is_foreign)));
        words.max(alone)
    }
}

/// Returns what is added to the log-odds in a small index. A hit then is strong from `FLOOR × √(chunks / full)` of the fitted
/// confidence on.
fn leniency(chunks: usize, script: WritingSystem) -> f64 {
    let full = if script == WritingSystem::Unspaced { FULL_CHUNKS_UNSPACED } else { FULL_CHUNKS };
    let bound = FLOOR * (chunks as f64 / full).clamp(LEAST_SHARE, 1.0).sqrt();
    ((1.0 - bound) / bound).ln()
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
        Assessment::new(
            question,
            &[],
            &Analyser::default(),
            AssessedIndex { chunks, scale: CosineScale::SentenceEncoder },
        )
    }

    fn near(cosine: f64) -> Meaning {
        of_model(cosine, 0.0)
    }

    fn of_model(cosine: f64, mean: f64) -> Meaning {
        Meaning { nearness: Some(Nearness { cosine, mean, raised: 0.0 }), ..Meaning::default() }
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
            for meaning in [Meaning::default(), near(0.1)] {
                let confidence = assessment.confidence(&NOTHING, meaning);
                assert!(confidence < 0.1, "{question} {meaning:?}: {confidence}");
            }
        }
    }

    #[test]
    fn passage_with_all_words_or_a_near_meaning_is_strong() {
        let assessment = assessment("Who keeps penguins?", 600);
        let all = Evidence { coverage: 0.8, weight: 10.0, best: 7.0, nowhere: 0.0, missing_names: 0, ..NOTHING };
        assert!(assessment.confidence(&all, Meaning::default()) > 0.9);
        assert!(assessment.confidence(&all, near(0.3)) > 0.9);
        assert!(assessment.confidence(&NOTHING, near(0.5)) > FLOOR, "another word for the same");
        assert!(assessment.confidence(&NOTHING, near(0.35)) < FLOOR);
        let foreign = Meaning { is_foreign: true, ..near(0.35) };
        assert!(assessment.confidence(&NOTHING, foreign) > FLOOR, "another script cannot have the words");
    }

    #[test]
    fn small_index_needs_fewer_of_the_words() {
        let evidence = |chunks: usize| Evidence {
            coverage: 0.23,
            weight: 4.0,
            best: 4.0,
            nowhere: 0.5,
            names: 0,
            missing_names: 0,
            chunks: chunks as u32,
            ..NOTHING
        };
        let of =
            |chunks: usize| assessment("name of my landlord", chunks).confidence(&evidence(chunks), Meaning::default());
        assert!(of(5) > FLOOR && of(80) < FLOOR, "{} {}", of(5), of(80));
        assert_eq!(leniency(80, WritingSystem::Spaced), 0.0);
        assert_eq!(leniency(11, WritingSystem::Unspaced), 0.0);
        for question in ["Who keeps penguins?", "谁养企鹅？"] {
            assert!(assessment(question, 1).confidence(&NOTHING, Meaning::default()) < 0.1, "{question}");
        }
    }

    #[test]
    fn cosines_are_judged_by_the_scale_of_their_model() {
        let of = |model: &str, cosine: f64, mean: f64| {
            let index = AssessedIndex { chunks: 600, scale: CosineScale::of(model) };
            let assessment = Assessment::new("Who keeps penguins?", &[], &Analyser::default(), index);
            assessment.confidence(&NOTHING, of_model(cosine, mean)) >= FLOOR
        };
        let models = [
            ("use-multilingual-v3.1", 0.5, 0.3, 0.05),
            ("multilingual-e5-small-q4", 0.88, 0.82, 0.78),
            ("text-embedding-3-small", 0.55, 0.3, 0.1),
            ("text-embedding-ada-002", 0.85, 0.77, 0.72),
        ];
        for (model, near, far, mean) in models {
            assert!(of(model, near, mean) && !of(model, far, mean), "{model}");
        }
    }

    #[test]
    fn unknown_scale_is_not_measured_in_two_chunks() {
        let index = AssessedIndex { chunks: 2, scale: CosineScale::Unknown };
        let assessment = Assessment::new("Who keeps penguins?", &[], &Analyser::default(), index);
        let by_words = assessment.confidence(&NOTHING, Meaning::default());
        assert_eq!(assessment.confidence(&NOTHING, of_model(0.9, 0.5)), by_words);
    }

    #[test]
    fn best_of_more_unrelated_chunks_must_be_nearer() {
        let confidence = |chunks| assessment("Who keeps penguins?", chunks).confidence(&NOTHING, near(0.38));
        assert!(confidence(10) > FLOOR && confidence(10_000) < FLOOR);
    }

    #[test]
    fn late_interaction_counts_unless_the_script_is_another() {
        let index = AssessedIndex { chunks: 600, scale: CosineScale::E5 };
        let assessment = Assessment::new("Who keeps penguins?", &[], &Analyser::default(), index);
        let some = Evidence { coverage: 0.3, weight: 4.0, best: 4.0, nowhere: 0.2, ..NOTHING };
        let of = |late: f64, cosine: Option<f64>, is_foreign: bool| {
            let nearness = cosine.map(|cosine| Nearness { cosine, mean: 0.78, raised: 0.0 });
            assessment.confidence(&some, Meaning { nearness, late: Some(late), is_foreign })
        };
        for cosine in [None, Some(0.82)] {
            assert!(of(0.6, cosine, false) > FLOOR && of(0.2, cosine, false) < FLOOR, "{cosine:?}");
            assert_eq!(of(0.6, cosine, true), of(0.2, cosine, true), "{cosine:?}");
        }
    }

    proptest! {
        #[test]
        fn more_of_a_question_never_lowers_confidence(
            coverage in 0.0..1.0f64, weight in 0.0..40.0f64, cosine in prop::option::of(-0.2..0.9f64), more in 0.0..1.0f64,
            late in prop::option::of(0.0..0.9f64), scale in prop_oneof![Just(CosineScale::SentenceEncoder), Just(CosineScale::E5)],
            question in prop_oneof![Just("Who keeps penguins?"), Just("谁养企鹅？")],
        ) {
            let index = AssessedIndex { chunks: 600, scale };
            let assessment = Assessment::new(question, &[], &Analyser::default(), index);
            let less = Evidence { coverage, weight, ..NOTHING };
            let grown = Evidence { coverage: coverage + more * (1.0 - coverage), weight: weight + more, ..NOTHING };
            let of = |evidence: &Evidence, cosine: Option<f64>, late: Option<f64>| {
                let nearness = cosine.map(|cosine| Nearness { cosine, mean: 0.0, raised: 0.0 });
                assessment.confidence(evidence, Meaning { nearness, late, is_foreign: false })
            };
            let (low, high) = (of(&less, cosine, late), of(&grown, cosine, late));
            prop_assert!((0.0..=1.0).contains(&low) && high >= low);
            let nearer = |value: f64| value + more * 0.1;
            prop_assert!(of(&less, cosine.map(nearer), late) >= low && of(&less, cosine, late.map(nearer)) >= low);
        }
    }
}
