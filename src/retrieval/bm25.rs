//! BM25 over an inverted index of its own (Robertson and Zaragoza 2009, with Lucene's form of the idf, which is never
//! negative).
//!
//! What is indexed is named by a slot. Scores do not depend on the order in which slots came and went.

use std::collections::HashMap;

use super::analyse::{Analyser, QueryTerm};

/// How soon repetitions of a term stop counting.
const K1: f64 = 1.2;
/// How much long texts are held back.
const B: f64 = 0.75;

/// Stands for one indexed text; given again after its text was removed.
pub type Slot = u32;

#[derive(Default)]
pub struct Bm25 {
    analyser: Analyser,
    terms: HashMap<Box<str>, u32>,
    /// For each term, the texts that hold it, in no order. Entries of removed slots stay until the next clean-up.
    postings: Vec<Vec<Posting>>,
    /// The number of terms of each slot's text.
    slots: Vec<State>,
    free: Vec<Slot>,
    live: usize,
    removed: usize,
    total_length: u64,
}

#[derive(Clone, Copy)]
struct Posting {
    slot: Slot,
    times: u32,
}

#[derive(Clone, Copy)]
enum State {
    Live { length: u32 },
    Removed,
}

/// What one word of a question adds to a score.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    pub term: String,
    pub score: f64,
    /// How often the text holds it.
    pub times: u32,
    /// How many texts hold it.
    pub texts: usize,
}

impl Bm25 {
    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    pub fn add(&mut self, text: &str) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(State::Removed);
            self.slots.len() as Slot - 1
        });
        let Self { analyser, terms, postings, .. } = self;
        let mut length = 0;
        analyser.terms(text, |term| {
            length += 1;
            let number = match terms.get(term) {
                Some(&number) => number,
                None => {
                    postings.push(Vec::new());
                    terms.insert(term.into(), postings.len() as u32 - 1);
                    postings.len() as u32 - 1
                }
            };
            let postings = &mut postings[number as usize];
            match postings.last_mut() {
                Some(last) if last.slot == slot => last.times += 1,
                _ => postings.push(Posting { slot, times: 1 }),
            }
        });
        self.slots[slot as usize] = State::Live { length };
        self.live += 1;
        self.total_length += u64::from(length);
        slot
    }

    /// Removing a slot that is free changes nothing.
    pub fn remove(&mut self, slot: Slot) {
        let Some(&State::Live { length }) = self.slots.get(slot as usize) else { return };
        self.total_length -= u64::from(length);
        self.slots[slot as usize] = State::Removed;
        self.live -= 1;
        self.removed += 1;
        if self.removed > 64 + self.live / 4 {
            self.clean_up();
        }
    }

    /// Drops the postings of removed slots, so that they can be given again, and terms nothing holds any more.
    fn clean_up(&mut self) {
        let slots = &self.slots;
        for postings in &mut self.postings {
            postings.retain(|posting| matches!(slots[posting.slot as usize], State::Live { .. }));
        }
        let mut kept = Vec::with_capacity(self.postings.len());
        let postings = &mut self.postings;
        self.terms.retain(|_, number| {
            let list = std::mem::take(&mut postings[*number as usize]);
            let keep = !list.is_empty();
            if keep {
                *number = kept.len() as u32;
                kept.push(list);
            }
            keep
        });
        self.postings = kept;
        let removed = |&(_, state): &(usize, &State)| matches!(state, State::Removed);
        self.free = self.slots.iter().enumerate().filter(removed).map(|(slot, _)| slot as Slot).collect();
        self.removed = 0;
    }

    /// Every text that shares a term with `question`, with its score (above 0), in no order.
    pub fn scores(&self, question: &str) -> Vec<(Slot, f64)> {
        let mut scores = vec![0.0; self.slots.len()];
        let mut touched = Vec::new();
        for (term, weight) in self.weighted(question) {
            let (matches, idf) = self.matches(&term);
            for (posting, length) in matches {
                let score = &mut scores[posting.slot as usize];
                if *score == 0.0 {
                    touched.push(posting.slot);
                }
                *score += weight * idf * self.saturation(posting.times, length);
            }
        }
        touched.into_iter().map(|slot| (slot, scores[slot as usize])).collect()
    }

    /// What each word of `question` adds to the score of `slot`; words that add nothing are left out.
    pub fn explain(&self, question: &str, slot: Slot) -> Vec<Contribution> {
        let mut contributions = Vec::new();
        for (term, weight) in self.weighted(question) {
            let (matches, idf) = self.matches(&term);
            if let Some((posting, length)) = matches.iter().find(|(posting, _)| posting.slot == slot) {
                contributions.push(Contribution {
                    term: term.label(),
                    score: weight * idf * self.saturation(posting.times, *length),
                    times: posting.times,
                    texts: matches.len(),
                });
            }
        }
        contributions
    }

    /// The different terms of a question in the order they first stand in, with how often they do. Its single characters
    /// take their place if no text holds any of them.
    fn weighted(&self, question: &str) -> Vec<(QueryTerm, f64)> {
        let terms = counted(self.analyser.query(question));
        if terms.iter().any(|(term, _)| self.is_held(term)) {
            return terms;
        }
        counted(self.analyser.query_characters(question))
    }

    fn is_held(&self, term: &QueryTerm) -> bool {
        match term {
            QueryTerm::Term(term) => self.terms.get(term.as_str()).is_some_and(|&number| {
                self.postings[number as usize].iter().any(|p| matches!(self.slots[p.slot as usize], State::Live { .. }))
            }),
            QueryTerm::Character(_) => !self.matches(term).0.is_empty(),
        }
    }

    /// The live texts that hold `term` with their lengths, and the term's idf.
    fn matches(&self, term: &QueryTerm) -> (Vec<(Posting, u32)>, f64) {
        let mut found = Vec::new();
        match term {
            QueryTerm::Term(term) => {
                if let Some(&number) = self.terms.get(term.as_str()) {
                    self.live_postings(number, &mut found);
                }
            }
            QueryTerm::Character(c) => {
                for (_, &number) in self.terms.iter().filter(|(term, _)| is_pair_with(term, *c)) {
                    self.live_postings(number, &mut found);
                }
                found.sort_unstable_by_key(|(posting, _)| posting.slot);
                found.dedup_by(|later, kept| {
                    let same = later.0.slot == kept.0.slot;
                    if same {
                        kept.0.times += later.0.times;
                    }
                    same
                });
            }
        }
        let (all, holding) = (self.live as f64, found.len() as f64);
        (found, (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln())
    }

    fn live_postings(&self, number: u32, found: &mut Vec<(Posting, u32)>) {
        found.extend(self.postings[number as usize].iter().filter_map(|posting| {
            match self.slots[posting.slot as usize] {
                State::Live { length } => Some((*posting, length)),
                State::Removed => None,
            }
        }));
    }

    fn saturation(&self, times: u32, length: u32) -> f64 {
        let average = self.total_length as f64 / self.live.max(1) as f64;
        let times = f64::from(times);
        times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * f64::from(length) / average.max(1.0)))
    }
}

fn counted(terms: Vec<QueryTerm>) -> Vec<(QueryTerm, f64)> {
    let mut counted: Vec<(QueryTerm, f64)> = Vec::new();
    let mut places: HashMap<QueryTerm, usize> = HashMap::new();
    for term in terms {
        let place = *places.entry(term.clone()).or_insert(counted.len());
        match counted.get_mut(place) {
            Some((_, times)) => *times += 1.0,
            None => counted.push((term, 1.0)),
        }
    }
    counted
}

/// Pairs and single characters are the only terms of one or two characters of their scripts.
fn is_pair_with(term: &str, c: char) -> bool {
    term.len() <= 8 && term.contains(c) && term.chars().count() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_score_is_the_formula_and_the_sum_of_its_explanation() {
        let mut index = Bm25::default();
        let a = index.add("red apple red");
        index.add("green pear");
        let idf = (1.0f64 + (2.0 - 1.0 + 0.5) / 1.5).ln();
        let expected = idf * 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 3.0 / 2.5));
        let scores = index.scores("Which red one?");
        assert_eq!(scores.len(), 1);
        assert!((scores[0].1 - expected).abs() < 1e-12);
        let contributions = index.explain("Which red apple?", a);
        assert_eq!(contributions.iter().map(|c| c.term.as_str()).collect::<Vec<_>>(), ["red", "appl"]);
        assert_eq!((contributions[0].times, contributions[0].texts), (2, 1));
        let sum: f64 = contributions.iter().map(|c| c.score).sum();
        assert_eq!(sum, index.scores("Which red apple?")[0].1);
    }

    #[test]
    fn one_character_finds_every_pair_it_stands_in() {
        let mut index = Bm25::default();
        let cat = index.add("小猫爱吃鱼");
        index.add("小狗");
        let found: Vec<Slot> = index.scores("猫").iter().map(|&(slot, _)| slot).collect();
        assert_eq!(found, [cat]);
        assert_eq!(index.explain("猫", cat)[0].times, 2);
    }

    fn sorted(index: &Bm25, question: &str) -> Vec<String> {
        let mut scores: Vec<String> = index.scores(question).iter().map(|(_, score)| format!("{score:.9}")).collect();
        scores.sort();
        scores
    }

    proptest! {
        #[test]
        fn what_was_removed_leaves_no_trace(
            texts in prop::collection::vec("([abc猫狗] ?){1,6}", 1..120),
            gone in prop::collection::vec(any::<bool>(), 120),
        ) {
            let mut index = Bm25::default();
            let mut fresh = Bm25::default();
            for round in 0..2 {
                for (text, _) in texts.iter().zip(&gone).filter(|(_, gone)| **gone || round == 0) {
                    index.add(text);
                }
                if round == 0 {
                    for slot in 0..texts.len() as Slot {
                        if gone[slot as usize] {
                            index.remove(slot);
                        }
                    }
                }
            }
            for text in &texts {
                fresh.add(text);
            }
            prop_assert_eq!(index.len(), fresh.len());
            for question in ["a", "b c", "猫", "猫狗 a"] {
                prop_assert_eq!(sorted(&index, question), sorted(&fresh, question));
            }
        }
    }
}
