//! The same questions have the same answers on every processor. `make processors` runs this on this machine's own processor and on
//! emulated ones without AVX-512 and without AVX; plain `cargo test` leaves it out, because it needs the weights of the
//! Universal Sentence Encoder.
//!
//! The answers are compared with those in `tests/fixtures/processors.tsv`, which a processor with AVX-512 gave. The 8-bit products
//! are exact everywhere. Products of floats and exponentials may differ in their last bits, because a fused multiplication and
//! addition rounds once and two instructions round twice.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use miniclaw::config::{self, EmbeddingSource, Environment, LocalModel};
use miniclaw::domain::knowledge::WeightReason;
use miniclaw::domain::{Embedder, EmbeddingInput, FileStamp, RelPath};
use miniclaw::engine::embedder::Embedders;
use miniclaw::retrieval::analyse::Analyser;
use miniclaw::retrieval::vectors::QueryVector;
use miniclaw::retrieval::windows::WindowLimit;
use miniclaw::retrieval::{
    Address, ChunkLimits, FolderIndex, IndexSnapshot, Listed, Ranking, SearchRequest, Searchable, Vectors, cases,
};

/// Largest difference of two scores that counts as none: scores are between 0 and 1, and floats have 24 bits.
const TOLERANCE: f64 = 1e-5;

fn embedder() -> Arc<dyn Embedder> {
    let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).expect("no .env is there");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let source = EmbeddingSource::Local(LocalModel::UseMultilingual, config::models_dir(&environment));
    let embedders = Embedders::new(source, runtime.handle().clone());
    embedders.get().unwrap_or_else(|error| panic!("{error}")).expect("a local model is configured")
}

/// The notes of `eval/cross-language` with their vectors.
struct Evaluation {
    snapshot: IndexSnapshot,
    rows: Vec<(Address, u32)>,
    vectors: RwLock<Vectors>,
    embedder: Arc<dyn Embedder>,
    questions: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/cross-language/knowledge")
}

impl Evaluation {
    fn load() -> Self {
        let mut index = FolderIndex::in_memory(ChunkLimits::default()).unwrap();
        let mut notes = BTreeMap::new();
        for entry in fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".md") {
                notes.insert(name, fs::read(&path).unwrap());
            }
        }
        let (tests, problems) = cases::parse(&fs::read_to_string(folder().join("tests.jsonl")).unwrap());
        assert!(problems.is_empty() && tests.len() == 48, "{problems:?}");
        let mut questions: Vec<String> = tests.into_iter().map(|test| test.query).collect();
        for (name, bytes) in notes {
            // Questions in the language of their answers: the first sentence of each note.
            let text = String::from_utf8(bytes.clone()).unwrap();
            questions.extend(text.lines().find(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned));
            let path = RelPath::parse(&name).unwrap();
            let listed = Listed { path, stamp: FileStamp::default(), size: bytes.len() as u64 };
            index.put(&listed, Ok(bytes)).unwrap();
        }
        index.commit().unwrap();
        let (snapshot, embedder) = (index.snapshot().unwrap(), embedder());
        let mut vectors = Vectors::open(tempfile::tempfile().unwrap(), embedder.id(), embedder.dimension()).unwrap();
        for (address, key) in snapshot.keys() {
            let text = snapshot.chunk(address).unwrap().indexed();
            vectors.add(key, &embedder.embed(EmbeddingInput::Passage, &[&text]).unwrap()[0]).unwrap();
        }
        let rows = snapshot.keys().map(|(address, key)| (address, vectors.row(key).unwrap())).collect();
        Self { snapshot, rows, vectors: RwLock::new(vectors), embedder, questions }
    }

    /// Returns the answers to a question: the source and the score of each.
    fn ask(&self, question: &str, by_meaning: bool) -> Vec<(String, f64)> {
        let vector = || self.embedder.embed(EmbeddingInput::Query, &[question]).unwrap().remove(0);
        let searchable = Searchable {
            snapshot: &self.snapshot,
            rows: &self.rows,
            vectors: Some(&self.vectors),
            fetched: None,
            tokens: None,
            analyser: &Analyser::default(),
            ranking: Ranking::default().for_model(self.embedder.weight()),
            window: WindowLimit(ChunkLimits::default().tokens),
        };
        let request = SearchRequest {
            query: question,
            k: 5,
            near_misses: 0,
            query_vector: by_meaning.then(|| QueryVector::new(vector())),
            pieces: None,
            words_only: (!by_meaning).then_some(WeightReason::NoModel),
            vector_weight: None,
        };
        let hits = searchable.search(&request).unwrap().hits;
        hits.into_iter().map(|hit| (format!("{} {:?}", hit.source, hit.range), hit.score)).collect()
    }
}

/// The differences of one way to search.
#[derive(Default)]
struct Differences {
    scores: usize,
    other_bits: usize,
    greatest: f64,
    /// Questions whose answers are others, or in another order.
    ranks: Vec<String>,
}

#[test]
fn answers_are_the_same_on_this_processor() {
    let evaluation = Evaluation::load();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/processors.tsv");
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let mut expected = expected.lines().peekable();
    let mut all = String::new();
    for (way, by_meaning) in [("words", false), ("meaning", true)] {
        let mut differences = Differences::default();
        for question in &evaluation.questions {
            let answers = evaluation.ask(question, by_meaning);
            let mut sources = Vec::new();
            for (source, score) in &answers {
                writeln!(all, "{way}\t{question}\t{source}\t{:016x}", score.to_bits()).unwrap();
                sources.push(source.clone());
            }
            let mut before = Vec::new();
            let is_of = |line: &&str| line.starts_with(&format!("{way}\t{question}\t"));
            while let Some(line) = expected.next_if(is_of) {
                let mut columns = line.split('\t').skip(2);
                let source = columns.next().unwrap().to_owned();
                let score = f64::from_bits(u64::from_str_radix(columns.next().unwrap(), 16).unwrap());
                before.push((source, score));
            }
            if before.iter().map(|(source, _)| source).ne(&sources) {
                differences.ranks.push(format!("{question}: {before:?} became {answers:?}"));
                continue;
            }
            for ((_, before), (_, now)) in before.iter().zip(&answers) {
                differences.scores += 1;
                differences.other_bits += usize::from(before.to_bits() != now.to_bits());
                differences.greatest = differences.greatest.max((before - now).abs());
            }
        }
        let Differences { scores, other_bits, greatest, ranks } = differences;
        println!(
            "{way}: {scores} scores of {} questions, {other_bits} with other bits, greatest difference {greatest:.1e}; \
             {} questions with other ranks",
            evaluation.questions.len(),
            ranks.len()
        );
        if std::env::var_os("MINICLAW_WRITE_EXPECTED").is_none() {
            assert!(ranks.is_empty(), "{ranks:#?}");
            assert!(greatest <= TOLERANCE && scores > 100, "{greatest} of {scores}");
        }
    }
    if std::env::var_os("MINICLAW_WRITE_EXPECTED").is_some() {
        fs::write(path, all).unwrap();
    }
}
