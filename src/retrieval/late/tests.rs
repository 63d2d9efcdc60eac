use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::knowledge::WeightReason;
use crate::retrieval::analyse::Analyser;
use crate::retrieval::fuse::LATE_WEIGHT;
use crate::retrieval::tests::index;
use crate::retrieval::{FolderIndex, Ranking, SearchOutcome, SearchRequest, Searchable};

const DIMENSION: usize = 20;

/// An embedder whose pieces are words; the vector of a word is derived from its CRC-32.
struct Words;

impl TokenEmbedder for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn embed_tokens(&self, _: EmbeddingInput, text: &str) -> Result<EmbeddedText, EmbedError> {
        let word = |word: &str| {
            let hash = crc32fast::hash(word.as_bytes());
            let vector = (0..DIMENSION as u32).map(|at| ((hash.rotate_left(at) % 101) as f32 - 30.0) / 50.0).collect();
            TokenVector { piece: hash % 1000, start: word.as_ptr().addr() - text.as_ptr().addr(), vector }
        };
        Ok(EmbeddedText { vector: Vec::new(), tokens: text.split_whitespace().map(word).collect() })
    }
}

fn words(text: &str) -> Vec<TokenVector> {
    Words.embed_tokens(EmbeddingInput::Passage, text).unwrap().tokens
}

fn filled(index: &FolderIndex) -> RwLock<TokenVectors> {
    let tokens = RwLock::new(TokenVectors::open(tempfile::tempfile().unwrap(), "words", DIMENSION).unwrap());
    fill(&tokens, &Words, &index.snapshot().unwrap(), &mut |_| Ok(())).unwrap();
    tokens
}

fn ask(index: &FolderIndex, query: &str, tokens: Option<&RwLock<TokenVectors>>) -> SearchOutcome {
    let snapshot = index.snapshot().unwrap();
    let searchable = Searchable {
        snapshot: &snapshot,
        rows: &[],
        vectors: None,
        fetched: None,
        tokens,
        analyser: &Analyser::default(),
        ranking: Ranking::default(),
        window: WindowLimit(256),
    };
    let pieces = Some(words(query));
    let words_only = crate::retrieval::wants_words_only(query);
    let asked =
        SearchRequest { query, k: 10, near_misses: 3, query_vector: None, pieces, words_only, vector_weight: None };
    searchable.search(&asked).unwrap()
}

const FILES: [(&str, &str); 3] = [
    ("memory/a.md", "# Birds\n\nThe heron waits in the reeds.\n\nIt eats fish and frogs.\n"),
    ("memory/b.md", "A heron stood near the bridge. Nobody saw it leave.\n"),
    ("memory/c.md", "Bridges are made of stone.\n"),
];

#[test]
fn hits_show_what_late_interaction_added() {
    let index = index(&FILES);
    let tokens = filled(&index);
    for (question, reason) in
        [("heron at the bridge", WeightReason::NoModel), ("heron_bridge", WeightReason::Identifier)]
    {
        let found = ask(&index, question, Some(&tokens));
        assert_eq!((found.weights.late, found.weights.reason), (Some(LATE_WEIGHT), reason));
        for hit in found.hits.iter().chain(found.near_misses.iter().map(|missed| &missed.hit)) {
            let how = hit.how.as_ref().unwrap();
            let late = how.late.unwrap();
            let words = how.lexical.as_ref().map_or(0.0, |late| late.share);
            assert!((late.weight * late.share + (1.0 - late.weight) * words - hit.score).abs() < 1e-12);
            assert!((0.0..=1.0).contains(&late.score) && (0.0..=1.0).contains(&late.share));
        }
    }
}

#[test]
fn quotations_and_chunks_without_vectors_are_unaffected() {
    let index = index(&FILES);
    let shown =
        |found: &SearchOutcome| serde_json::to_value((&found.hits, &found.near_misses, &found.weights)).unwrap();
    let before = ask(&index, "heron at the bridge", None);
    let tokens = filled(&index);
    let snapshot = index.snapshot().unwrap();
    for (_, missing) in snapshot.keys() {
        let others = snapshot.keys().map(|(_, key)| key).filter(|key| *key != missing);
        let some = tokens.read().unwrap().copy(others, tempfile::tempfile().unwrap(), "words").unwrap();
        let found = ask(&index, "heron at the bridge", Some(&RwLock::new(some)));
        assert_eq!(shown(&found), shown(&before), "one of the candidates lacks its vectors");
    }
    assert!(before.weights.late.is_none() && before.hits.iter().all(|hit| hit.how.as_ref().unwrap().late.is_none()));
    let quoted = "\"heron stood\"";
    assert_eq!(shown(&ask(&index, quoted, Some(&tokens))), shown(&ask(&index, quoted, None)));
}

#[test]
fn grown_index_restarts_and_changed_one_adds() {
    let texts: Vec<(String, String)> =
        (0..13).map(|n| (format!("memory/{n}.md"), format!("Note {n} about rain.\n"))).collect();
    let some = |count: usize| {
        let files: Vec<(&str, &str)> =
            texts[..count].iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        index(&files).snapshot().unwrap()
    };
    let tokens = RwLock::new(TokenVectors::open(tempfile::tempfile().unwrap(), "words", DIMENSION).unwrap());
    let mut progress = Vec::new();
    for (count, made) in [(3, 3), (12, 9), (12, 0), (13, 13)] {
        progress.clear();
        let mut filled = |chunk: &FilledChunk| {
            progress.push(chunk.done);
            Ok(())
        };
        fill(&tokens, &Words, &some(count), &mut filled).unwrap();
        assert_eq!((progress.len(), tokens.read().unwrap().len()), (made, count), "{count}");
    }
    fill(&tokens, &Words, &index(&[]).snapshot().unwrap(), &mut |_| panic!("nothing to make")).unwrap();
}

/// Rounds a vector to 127 steps on either side of 0. A value halfway between two steps is rounded as [`SignQueries`] rounds it,
/// so the steps are multiplied as there: divided, such a value may come to the next step.
fn quantised(vector: Vec<f32>) -> Vec<f32> {
    let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let steps = 127.0 / most;
    vector.iter().map(|value| (value * steps).round() / steps).collect()
}

/// Computes the scores directly from the definition, without tables or a store.
fn naive(late: &LateInteraction, question: &[TokenVector], scored: &ScoredWindows) -> Vec<f64> {
    let texts: Vec<BTreeSet<u32>> = late
        .snapshot
        .keys()
        .map(|(address, _)| words(&late.snapshot.chunk(address).unwrap().indexed()))
        .map(|tokens| tokens.into_iter().map(|token| token.piece).collect())
        .collect();
    let idf = |piece: u32| {
        let (n, df) = (texts.len() as f64, texts.iter().filter(|text| text.contains(&piece)).count() as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    };
    // For each span, the unit of each token and its products.
    let products: Vec<Vec<(usize, Vec<f64>)>> =
        scored.spans.iter().map(|span| naive_products(late, question, span)).collect();
    let score = |window: &crate::retrieval::windows::Window| {
        let span = &scored.spans[window.span];
        let mut best = vec![0.0f64; question.len()];
        for (unit, products) in products[window.span].iter().filter(|(unit, _)| window.around.contains(unit)) {
            let distance = f64::from(span.offsets.doubled_distance(*unit, window.centre)) / 2.0;
            let near = (-0.5 * (distance / 160.0).powi(2)).exp();
            best.iter_mut().zip(products).for_each(|(best, product)| *best = best.max(near * product.max(0.0)));
        }
        let weights = question.iter().map(|token| idf(token.piece));
        let sum: f64 = best.iter().zip(weights.clone()).map(|(best, idf)| best * idf).sum();
        sum / weights.sum::<f64>()
    };
    scored.windows.iter().map(score).collect()
}

fn naive_products(late: &LateInteraction, question: &[TokenVector], span: &Span) -> Vec<(usize, Vec<f64>)> {
    let mean = late.tokens.mean().unwrap();
    let question: Vec<_> = question.iter().map(|asked| quantised(centred(&asked.vector, mean))).collect();
    let product = |q: &Vec<f32>, token: &TokenVector| {
        let signs = token.vector.iter().zip(mean).map(|(d, mean)| if d > mean { 1.0 } else { -1.0 });
        f64::from(q.iter().zip(signs).map(|(q, sign)| q * sign).sum::<f32>() / (DIMENSION as f32).sqrt())
    };
    let mut found = Vec::new();
    for (part_index, part) in span.parts.iter().enumerate() {
        let chunk = late.snapshot.chunk(part.chunk).unwrap();
        let heading_bytes = chunk.indexed().len() - chunk.text.len();
        for token in words(&chunk.indexed()) {
            let start = token.start.checked_sub(heading_bytes).map(|start| start as u32);
            let has_begun = |&at: &usize| start.is_some_and(|start| span.units[at].1.start <= start);
            let unit = span.own[part_index].clone().rev().find(has_begun);
            if let Some(unit) = unit.filter(|&at| span.units[at].1.fresh) {
                found.push((unit, question.iter().map(|q| product(q, &token)).collect()));
            }
        }
    }
    found
}

#[test]
fn helpers_of_all_questions_are_bounded() {
    let most = thread::available_parallelism().unwrap().get() - 1;
    let all: Vec<Helpers> = (0..20).map(|_| Helpers::reserve(3)).collect();
    assert!(all.iter().map(|helpers| helpers.0).sum::<usize>() <= most.min(MAX_HELPERS));
    assert_eq!(Helpers::reserve(0).0, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn scores_match_definition(
        texts in prop::collection::vec("([a-f]{1,3}[ .\n]{1,2}){1,120}|([a-f]{1,3}[ .\n]{1,2}){600,900}", 1..3),
        query in "([a-f]{1,3} ){1,6}",
        every in 1_usize..4,
    ) {
        let names: Vec<String> = (0..texts.len()).map(|number| format!("memory/{number}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
        let index = index(&files);
        let tokens = filled(&index);
        let (tokens, snapshot) = (tokens.read().unwrap(), index.snapshot().unwrap());
        let analysed = Analyser::default().query(&query);
        let matches = snapshot.matches(analysed.terms, analysed.characters).unwrap();
        let some: Vec<_> = snapshot.keys().map(|(address, _)| address).step_by(every).collect();
        let candidates = crate::retrieval::windows::Candidates { lexical: &some, vector: &[] };
        let scored = crate::retrieval::windows::windows(&snapshot, &matches, &candidates, WindowLimit(256)).unwrap();
        let late = LateInteraction { tokens: &tokens, snapshot: &snapshot, window: WindowLimit(256) };
        let question = words(&query);
        let scores = late.scores(&question.iter().collect::<Vec<_>>(), &scored).unwrap();
        for (score, naive) in scores.iter().zip(naive(&late, &question, &scored)) {
            prop_assert!((score - naive).abs() < 1e-5, "{score} {naive}");
        }
        // Only the chunks that are in a window are needed, and each of them is.
        let in_window = scored.units_in_windows();
        let mut needed = BTreeSet::new();
        for (span, in_window) in scored.spans.iter().zip(&in_window) {
            let reached = span.parts.iter().zip(&span.own).filter(|(_, own)| in_window[(*own).clone()].contains(&true));
            needed.extend(reached.map(|(part, _)| snapshot.key(part.chunk)));
        }
        let has_scores = |missing: Option<u64>| {
            let kept = needed.iter().copied().filter(|key| Some(*key) != missing);
            let tokens = tokens.copy(kept, tempfile::tempfile().unwrap(), "words").unwrap();
            let late = LateInteraction { tokens: &tokens, snapshot: &snapshot, window: WindowLimit(256) };
            late.scores(&question.iter().collect::<Vec<_>>(), &scored).is_some()
        };
        prop_assert!(has_scores(None));
        prop_assert!(needed.iter().all(|key| !has_scores(Some(*key))));
    }
}
