//! Tests that chunks which were fetched as candidates have the scores that an index of all chunks gives them.

use std::collections::HashMap;

use super::{index, put};
use crate::domain::RelPath;
use crate::domain::library_rows::{ChunkId, ChunkRow, FetchedRow, LibraryFile, LibraryTotals, ScriptMean, WordMatch};
use crate::retrieval::analyse::{Analyser, WritingSystem};
use crate::retrieval::library_chunks::{FetchedContext, WordQuery, around, rows_of};
use crate::retrieval::prepared::script_number;
use crate::retrieval::search::SearchRequest;
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{ChunkLimits, FetchedCosines, FolderIndex, Ranking, Searchable, wants_words_only};

const WINDOW: WindowLimit = WindowLimit(256);

/// What a database would have of an index.
struct Rows {
    chunks: HashMap<ChunkId, ChunkRow>,
    totals: LibraryTotals,
    frequencies: HashMap<i64, i64>,
}

fn numbers(sequence: &[u8]) -> Vec<i64> {
    sequence.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

impl Rows {
    fn of(index: &FolderIndex, paths: &[&str]) -> Self {
        let snapshot = index.snapshot().unwrap();
        let mut rows = Self { chunks: HashMap::new(), totals: LibraryTotals::default(), frequencies: HashMap::new() };
        for (number, path) in (1..).zip(paths) {
            let file = index.stored_file(&RelPath::parse(path).unwrap(), &snapshot).unwrap().unwrap();
            let LibraryFile { chunks, windows, centres, .. } = rows_of(&file, &Analyser::default(), WINDOW).unwrap();
            rows.totals.windows += windows;
            rows.totals.centres += centres;
            for (place, chunk) in (0..).zip(chunks) {
                rows.totals.chunks += 1;
                rows.totals.length += i64::from(chunk.words);
                let mut distinct = numbers(&chunk.sequence);
                distinct.sort_unstable();
                distinct.dedup();
                for term in distinct {
                    *rows.frequencies.entry(term).or_default() += 1;
                }
                rows.chunks.insert(ChunkId(number << ChunkId::PLACE_BITS | place), chunk);
            }
        }
        rows
    }

    fn fetched(&self, ranges: &[(ChunkId, ChunkId)]) -> Vec<FetchedRow> {
        let within = |id: &ChunkId| ranges.iter().any(|(first, last)| first <= id && id <= last);
        let found = self.chunks.iter().filter(|(id, _)| within(id));
        found.map(|(id, chunk)| FetchedRow { id: *id, chunk: chunk.clone(), cosine: None }).collect()
    }

    /// Searches as a library in a database does.
    fn ask(&self, question: &str) -> serde_json::Value {
        let query = Analyser::default().query(question);
        let words = WordQuery::new(&query, &self.frequencies, self.totals);
        let groups = words.groups();
        let has_all = |chunk: &ChunkRow, group: &[i64]| {
            let numbers = numbers(&chunk.sequence);
            group.iter().all(|term| numbers.contains(term))
        };
        let is_found = |chunk: &ChunkRow| groups.iter().any(|group| has_all(chunk, group));
        let matched = self.chunks.iter().filter(|(_, chunk)| is_found(chunk)).map(|(id, chunk)| WordMatch {
            id: *id,
            file_order: chunk.file_order,
            words: chunk.words,
            sequence: chunk.sequence.clone(),
        });
        let best = words.best(&matched.collect::<Vec<_>>(), Ranking::default().bm25);
        let mut context = FetchedContext::default();
        context.add(self.fetched(&around(&best, 1)));
        context.add(self.fetched(&context.missing(&best, (1, 64), WINDOW)));
        let (snapshot, _) = context.into_snapshot(self.totals, self.frequencies.clone());
        let searchable = Searchable {
            snapshot: &snapshot,
            rows: &[],
            vectors: None,
            fetched: Some(&FetchedCosines { cosines: Vec::new(), bias: 0.0, mean: 0.0 }),
            tokens: None,
            analyser: &Analyser::default(),
            ranking: Ranking::default(),
            window: WINDOW,
        };
        let words_only = wants_words_only(question);
        let (k, near_misses) = (5, 3);
        let request = SearchRequest {
            query: question,
            k,
            near_misses,
            query_vector: None,
            pieces: None,
            words_only,
            vector_weight: None,
        };
        let found = searchable.search(&request).unwrap();
        serde_json::json!([found.hits, found.near_misses, found.terms, found.ignored, found.weights])
    }
}

#[test]
fn fetched_candidates_score_as_in_an_index() {
    let long: String = (0..400)
        .map(|number| {
            format!(
                "Sentence {number} speaks of the {} river. 数据库{number}的索引。\n\n",
                ["old", "new", "wide"][number % 3]
            )
        })
        .collect();
    let short = "# Headings\n\n## River\n\nOne.\n\n## Bridge\n\nTwo words.\n\n## Old bridge\n\nThree of them.\n";
    let files = [("a/long.md", long.as_str()), ("b/short.md", short), ("c.txt", "A bridge over the wide river.")];
    let built = index(&files);
    let rows = Rows::of(&built, &files.map(|(path, _)| path));
    for question in [
        "old river",
        "bridge",
        "wide river bridge",
        "数据库的索引",
        "索",
        "sentence 7",
        "\"old river\"",
        "zebra",
        "headings",
    ] {
        let exact = super::ask(&built, question, 5, None);
        let exact = serde_json::json!([exact.hits, exact.near_misses, exact.terms, exact.ignored, exact.weights]);
        assert_eq!(rows.ask(question), exact, "{question}");
    }
}

#[test]
fn means_of_scripts_say_what_all_cosines_say() {
    let (english, chinese) = (WritingSystem::of("old river"), WritingSystem::of("数据库的索引"));
    let mean = |script, chunks, mean| ScriptMean { script: script_number(script) as i16, chunks, mean };
    let means = [mean(english, 6, vec![0.5, 0.1]), mean(chinese, 4, vec![0.2, 0.3])];
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    // In the question's own script, the mean cosine is 0.5, and in the other one 0.2.
    let question = ("old river", [1.0, 0.0].as_slice());
    let bias = FetchedCosines::bias(question.0, question.1, &means);
    assert!(near(bias, 0.3), "{bias}");
    assert!(near(FetchedCosines::mean(question, &means, bias), 0.5), "those in the other script are raised");
    assert!(near(FetchedCosines::mean(question, &means, 0.0), (6.0 * 0.5 + 4.0 * 0.2) / 10.0));
    assert!(near(FetchedCosines::mean(question, &[], 0.0), 0.0));
}

#[test]
fn common_terms_count_in_groups() {
    let mut built = FolderIndex::in_memory(ChunkLimits::default()).unwrap();
    put(&mut built, "a.txt", "alpha beta gamma delta");
    built.commit().unwrap();
    let query = Analyser::default().query("alpha beta gamma delta");
    let numbers = WordQuery::numbers(&query);
    let totals = LibraryTotals { chunks: 1_000_000, length: 100_000_000, ..LibraryTotals::default() };
    let of = |frequencies: [i64; 4]| {
        let frequencies = numbers.iter().copied().zip(frequencies).filter(|(_, count)| *count > 0).collect();
        let words = WordQuery::new(&query, &frequencies, totals);
        let place = |number: &i64| numbers.iter().position(|known| known == number).unwrap();
        let groups = words.groups().iter().map(|group| group.iter().map(place).collect::<Vec<_>>()).collect::<Vec<_>>();
        (groups, words.filler(10).as_ref().map(place))
    };
    assert_eq!(of([10, 20, 4_000, 0]), (vec![vec![0], vec![1], vec![2]], None), "few chunks have them");
    assert_eq!(of([10, 20_000, 30_000, 0]), (vec![vec![0], vec![1, 2]], Some(1)));
    let (groups, filler) = of([0, 300_000, 400_000, 500_000]);
    assert_eq!(groups, [[1, 2, 3]], "a pair is still in too many");
    assert_eq!(filler, None, "so many are not read to fill up a list");
    assert_eq!(of([10, 20_000, 40_000, 0]), (vec![vec![0]], Some(1)), "two that take long to read");
    assert_eq!(of([10, 10_000, 30_000, 40_000]).0, [vec![0], vec![1, 2]], "the pairs of the rarest come first");
    assert_eq!(of([0, 0, 0, 900_000]), (vec![vec![3]], None), "there is nothing else");
    assert_eq!(of([0; 4]), (vec![], None));
}
