//! The judged answers of a set: which hits of a question are right.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::kit_documents::lines;

/// A range is found if this many of its bytes are, or half of them if it is shorter than twice as long. The kit's scorer
/// judges alike.
const ENOUGH_BYTES: usize = 400;

/// The judged answers of the questions, by the questions' ids.
pub(super) struct Judgements(HashMap<String, Vec<Answer>>);

/// What answers a question.
pub(super) enum Answer {
    Range { file: String, range: Range<usize> },
    Passage(String),
}

/// A line of `qrels.jsonl`.
#[derive(Deserialize)]
struct Judgement {
    query_id: String,
    file: Option<String>,
    #[serde(default)]
    start: usize,
    #[serde(default)]
    end: usize,
    doc_id: Option<String>,
    #[serde(default = "relevant")]
    score: i64,
}

fn relevant() -> i64 {
    1
}

impl Judgements {
    pub fn read(set: &Path) -> anyhow::Result<Self> {
        let mut answers: HashMap<String, Vec<Answer>> = HashMap::new();
        for judgement in lines::<Judgement>(&set.join("qrels.jsonl"))? {
            let answer = match (judgement.file, judgement.doc_id) {
                (Some(file), _) => Answer::Range { file, range: judgement.start..judgement.end },
                (None, Some(passage)) if judgement.score > 0 => Answer::Passage(passage),
                _ => continue,
            };
            answers.entry(judgement.query_id).or_default().push(answer);
        }
        Ok(Self(answers))
    }

    /// Returns the answers to a question.
    pub fn of(&self, query: &str) -> &[Answer] {
        self.0.get(query).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a hit of this name answers the question.
    pub fn is_right(&self, query: &str, name: &str) -> bool {
        let hit = parse_range(name);
        self.of(query).iter().any(|answer| match (answer, &hit) {
            (Answer::Passage(id), _) => id == name,
            (Answer::Range { file, range }, Some((found, hit))) => {
                let shared = range.end.min(hit.end).saturating_sub(range.start.max(hit.start));
                found == file && 2 * shared >= range.len().min(2 * ENOUGH_BYTES)
            }
            (Answer::Range { .. }, None) => false,
        })
    }
}

/// Parses the name of a hit in a file: `path#START-END`.
pub(super) fn parse_range(name: &str) -> Option<(&str, Range<usize>)> {
    let (file, range) = name.rsplit_once('#')?;
    let (start, end) = range.split_once('-')?;
    Some((file, start.parse().ok()?..end.parse().ok()?))
}
