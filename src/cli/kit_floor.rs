//! What a minimum confidence does: how many answerable questions keep a right hit, and how many others get a strong one.
//!
//! Two kinds of questions have no answer in a set's documents: those that the set says have none (in LoCoMo, what one person
//! did is asked of the other), and those of other sets.

use std::fmt;

use serde_json::json;

use super::kit::Set;
use super::kit_documents::{NamedHit, Query};
use super::kit_judgements::Judgements;
use crate::retrieval::analyse::WritingSystem;

/// The category of questions that the documents do not answer.
pub(super) const UNANSWERABLE: &str = "adversarial";
/// Number of questions of each other set that are put to a set.
const OF_EACH_SET: usize = 40;
/// Distance of the questions of a set whose scopes the others are put to, in turn: a prime, so that all scopes are reached.
const STRIDE: usize = 7919;
/// Number of first hits that count: as many as are handed to the model.
const FIRST: usize = 3;
/// The floors of the table.
const FLOORS: [f64; 11] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Answerable,
    Unanswerable,
    /// Of another set.
    Foreign,
    /// Of another set, in another script than this set's questions.
    OtherScript,
}

/// A question that is put to a set's documents.
#[derive(Clone)]
pub(super) struct Asked {
    pub kind: Kind,
    pub query: Query,
}

impl Asked {
    pub fn own(query: &Query) -> Self {
        let kind = if query.category == UNANSWERABLE { Kind::Unanswerable } else { Kind::Answerable };
        Self { kind, query: query.clone() }
    }
}

/// Returns questions of the other sets, spread evenly over each, and put to the scopes of this set in turn.
pub(super) fn foreign(set: &Set, all: &[Set]) -> Vec<Asked> {
    let mut asked = Vec::new();
    for other in all.iter().filter(|other| other.name != set.name) {
        let queries: Vec<&Query> = other.queries.iter().filter(|query| query.category != UNANSWERABLE).collect();
        let step = queries.len().div_ceil(OF_EACH_SET).max(1);
        for query in queries.into_iter().step_by(step) {
            let Some(host) = set.queries.get(asked.len() * STRIDE % set.queries.len().max(1)) else { continue };
            let script = |query: &Query| WritingSystem::of(&query.text);
            let kind = if script(query).is_foreign_to(script(host)) { Kind::OtherScript } else { Kind::Foreign };
            asked.push(Asked { kind, query: Query { scope: host.scope.clone(), ..query.clone() } });
        }
    }
    asked
}

/// The confidence in the hits of one set and mode.
pub(super) struct Floor {
    set: String,
    mode: String,
    /// The highest confidence in a right hit, of each answerable question that has one among the first.
    right: Vec<f64>,
    /// The highest confidence in a hit, of each question of the other kinds.
    unanswerable: Vec<f64>,
    foreign: Vec<f64>,
    other_script: Vec<f64>,
    /// A line for each question with what its hits are judged by.
    pub evidence: String,
}

impl Floor {
    pub fn new(set: &str, mode: &str) -> Self {
        Self {
            set: set.to_owned(),
            mode: mode.to_owned(),
            right: Vec::new(),
            unanswerable: Vec::new(),
            foreign: Vec::new(),
            other_script: Vec::new(),
            evidence: String::new(),
        }
    }

    pub fn header() -> String {
        let floors = FLOORS.map(|floor| format!("{floor:.2}")).join("\t");
        format!("share of questions with a strong hit, by floor\nset\tmode\tquestions\tn\t{floors}")
    }

    pub fn add(&mut self, asked: &Asked, hits: &[NamedHit], judgements: &Judgements) {
        let is_right =
            |hit: &NamedHit| asked.kind == Kind::Answerable && judgements.is_right(&asked.query.id, &hit.name);
        let query = &asked.query;
        let script = WritingSystem::of(&query.text);
        let first = &hits[..hits.len().min(FIRST)];
        let written = first.iter().map(|named| {
            let how = named.hit.how.as_ref();
            let vector = how.and_then(|how| how.vector.as_ref());
            json!({"right": is_right(named), "confidence": named.hit.confidence,
                "cosine": vector.map(|vector| vector.cosine), "mean": vector.and_then(|vector| vector.mean),
                "late": how.and_then(|how| how.late).map(|late| late.score),
                "other_script": script.is_foreign_to(WritingSystem::of(&named.hit.text)),
                "evidence": how.and_then(|how| how.evidence)})
        });
        let line = json!({"id": query.id, "query": query.text, "kind": format!("{:?}", asked.kind),
            "script": format!("{script:?}"), "hits": written.collect::<Vec<_>>()});
        self.evidence.push_str(&format!("{line}\n"));
        let first = first.iter();
        let best = |best: f64, hit: &NamedHit| best.max(hit.hit.confidence.unwrap_or_default());
        match asked.kind {
            Kind::Answerable => {
                let right: Vec<&NamedHit> = first.filter(|hit| is_right(hit)).collect();
                if !right.is_empty() {
                    self.right.push(right.into_iter().fold(0.0, best));
                }
            }
            Kind::Unanswerable => self.unanswerable.push(first.fold(0.0, best)),
            Kind::Foreign => self.foreign.push(first.fold(0.0, best)),
            Kind::OtherScript => self.other_script.push(first.fold(0.0, best)),
        }
    }
}

/// A line for each kind of questions.
impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("right hit found", &self.right),
            ("unanswerable", &self.unanswerable),
            ("of other sets", &self.foreign),
            ("in another script", &self.other_script),
        ];
        let rows = kinds.iter().filter(|(_, confidences)| !confidences.is_empty()).map(|(kind, confidences)| {
            let share = |floor: f64| confidences.iter().filter(|confidence| **confidence >= floor).count();
            let share = |floor: f64| format!("{:.3}", share(floor) as f64 / confidences.len() as f64);
            let shares = FLOORS.map(share).join("\t");
            format!("{}\t{}\t{kind}\t{}\t{shares}", self.set, self.mode, confidences.len())
        });
        f.write_str(&rows.collect::<Vec<_>>().join("\n"))
    }
}
