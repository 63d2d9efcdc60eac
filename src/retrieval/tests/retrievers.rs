//! Tests both retrievers together: which questions each of them decides.

use super::*;
use crate::domain::knowledge::{NearMissReason, WeightReason};

const CAR: &str = "The automobile stands in the garage.";
const FRUIT: &str = "An apple a day is fruit enough.";
const CHINESE: &str = "狗在花园里睡觉。";

fn folder() -> FolderIndex {
    index(&[("knowledge/car.md", CAR), ("knowledge/fruit.md", FRUIT), ("knowledge/zh.md", CHINESE)])
}

fn meanings() -> Meanings {
    Meanings::of(&[&["automobile", "vehicle", "garage"], &["apple", "fruit"], &["dog", "狗"]])
}

#[test]
fn paraphrased_question_is_answered_by_vectors() {
    let found = ask(&folder(), "vehicle", 1, Some(&meanings()));
    assert_eq!(found.hits[0].source, "knowledge/car.md");
    assert_eq!(found.weights.reason, WeightReason::Balanced);
    let how = found.hits[0].how.as_ref().unwrap();
    assert!(how.lexical.is_none() && how.vector.as_ref().is_some_and(|vector| vector.rank == 1 && vector.cosine > 0.9));
}

#[test]
fn foreign_script_question_is_answered_by_vectors() {
    let question = "Where does the dog sleep, in the garage or at the fruit?";
    let found = ask(&folder(), question, 3, Some(&meanings()));
    let place = |source: &str| found.hits.iter().find(|hit| hit.source == source).unwrap().how.clone().unwrap();
    assert_eq!(place("knowledge/zh.md").vector_weight, found.weights.other_script);
    assert_eq!(place("knowledge/car.md").vector_weight, found.weights.vector);
    assert!(found.weights.other_script > found.weights.vector);
    let alone = ask(&folder(), "Where does the dog sleep?", 1, Some(&meanings()));
    assert_eq!(alone.hits[0].source, "knowledge/zh.md");
}

#[test]
fn names_and_quotations_use_words_only() {
    for (question, reason) in [("garage_door", WeightReason::Identifier), ("\"apple a day\"", WeightReason::Quoted)] {
        let found = ask(&folder(), question, 3, Some(&meanings()));
        assert_eq!((found.weights.reason, found.weights.vector), (reason, 0.0));
        assert!(found.hits.iter().all(|hit| hit.how.as_ref().unwrap().vector.is_none()));
    }
}

#[test]
fn fused_score_equals_its_explanation() {
    let found = ask(&folder(), "fruit in the garage", 3, Some(&meanings()));
    for hit in found.hits.iter().chain(found.near_misses.iter().map(|missed| &missed.hit)) {
        let how = hit.how.as_ref().unwrap();
        let lexical = how.lexical.as_ref().map_or(0.0, |leg| leg.share);
        let vector = how.vector.as_ref().map_or(lexical, |leg| leg.share);
        assert!((how.vector_weight * vector + (1.0 - how.vector_weight) * lexical - hit.score).abs() < 1e-12);
    }
}

#[test]
fn word_only_hit_is_kept() {
    let nothing = Meanings::of(&[]);
    let found = ask(&folder(), "automobile", 3, Some(&nothing));
    assert_eq!(found.hits[0].source, "knowledge/car.md");
    assert_eq!(found.hits.len(), 3, "what is far is last, not left out");
    let missed = ask(&folder(), "automobile", 1, Some(&nothing)).near_misses;
    assert!(missed.iter().all(|missed| missed.reason == NearMissReason::NoSharedWord), "{missed:#?}");
}

#[test]
fn chunk_without_vector_is_scored_by_words() {
    let index = folder();
    let snapshot = index.snapshot().unwrap();
    let vectors = RwLock::new(Vectors::open(tempfile::tempfile().unwrap(), "made", 16).unwrap());
    let searchable = Searchable {
        snapshot: &snapshot,
        rows: &[],
        vectors: Some(&vectors),
        fetched: None,
        tokens: None,
        analyser: &Analyser::default(),
        ranking: Ranking::default(),
        window: WindowLimit(256),
    };
    let asked = SearchRequest {
        query: "automobile apple",
        k: 3,
        near_misses: 0,
        query_vector: Some(QueryVector::new(meanings().vector("automobile"))),
        pieces: None,
        words_only: None,
        vector_weight: None,
    };
    let found = searchable.search(&asked).unwrap();
    assert_eq!(found.hits.len(), 2);
    assert_eq!(found.hits[0].score, 1.0);
}

#[test]
fn weight_can_be_overridden() {
    let index = folder();
    let snapshot = index.snapshot().unwrap();
    let meanings = meanings();
    let vectors = RwLock::new(Vectors::open(tempfile::tempfile().unwrap(), "made", 16).unwrap());
    let mut rows = Vec::new();
    for (address, key) in snapshot.keys() {
        vectors.write().unwrap().add(key, &meanings.vector(&snapshot.chunk(address).unwrap().text)).unwrap();
        rows.push((address, vectors.read().unwrap().row(key).unwrap()));
    }
    let first = |weight: f64| {
        let searchable = Searchable {
            snapshot: &snapshot,
            rows: &rows,
            vectors: Some(&vectors),
            fetched: None,
            tokens: None,
            analyser: &Analyser::default(),
            ranking: Ranking::default(),
            window: WindowLimit(256),
        };
        let query_vector = Some(QueryVector::new(meanings.vector("vehicle")));
        let asked = SearchRequest {
            query: "apple",
            k: 1,
            near_misses: 0,
            query_vector,
            pieces: None,
            words_only: None,
            vector_weight: Some(weight),
        };
        let found = searchable.search(&asked).unwrap();
        assert_eq!(found.weights.reason, WeightReason::Asked);
        found.hits[0].source.clone()
    };
    assert_eq!((first(0.1).as_str(), first(0.9).as_str()), ("knowledge/fruit.md", "knowledge/car.md"));
}
