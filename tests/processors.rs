//! The same questions have the same answers on every processor. `make processors` runs this on this machine's own processor and on
//! emulated ones: x86-64 without AVX-512 and without AVX, and aarch64. Plain `cargo test` leaves it out, because it needs the
//! weights of both embedding models.
//!
//! The answers are compared with those in `tests/fixtures/processors.tsv`, which an x86-64 processor with AVX2 and FMA gave. The
//! 8-bit products are exact everywhere. Products of floats and exponentials may differ in their last bits, because a fused
//! multiplication and addition rounds once and two instructions round twice.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Instant;

use miniclaw::config::{self, EmbeddingSource, Environment, LocalModel};
use miniclaw::domain::knowledge::WeightReason;
use miniclaw::domain::{Embedder, EmbeddingInput, FileStamp, RelPath, TokenEmbedder};
use miniclaw::engine::embedder::Embedders;
use miniclaw::retrieval::analyse::Analyser;
use miniclaw::retrieval::late::{self, FilledChunk};
use miniclaw::retrieval::vectors::QueryVector;
use miniclaw::retrieval::windows::WindowLimit;
use miniclaw::retrieval::{
    Address, ChunkLimits, FolderIndex, IndexSnapshot, Listed, Ranking, SearchRequest, Searchable, TokenVectors,
    Vectors, cases,
};

/// A way to search.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    model: Option<LocalModel>,
    has_pieces: bool,
    /// Largest difference of two scores that counts as none: scores are between 0 and 1.
    tolerance: f64,
}

const WAYS: [Way; 4] = [
    Way { name: "words", model: None, has_pieces: false, tolerance: 1e-5 },
    Way { name: "use", model: Some(LocalModel::UseMultilingual), has_pieces: false, tolerance: 1e-5 },
    Way { name: "e5", model: Some(LocalModel::E5Small), has_pieces: false, tolerance: 1e-5 },
    Way { name: "late", model: Some(LocalModel::E5Small), has_pieces: true, tolerance: 1e-5 },
];

/// A model with the vectors that it gave the notes.
struct Model {
    embedder: Arc<dyn Embedder>,
    rows: Vec<(Address, u32)>,
    vectors: RwLock<Vectors>,
    pieces: Option<(Arc<dyn TokenEmbedder>, RwLock<TokenVectors>)>,
}

impl Model {
    fn load(model: LocalModel, snapshot: &IndexSnapshot) -> Self {
        let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).expect("no .env is there");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let source = EmbeddingSource::Local(model, config::models_dir(&environment));
        let embedders = Embedders::new(source, runtime.handle().clone());
        let embedder = embedders.get().unwrap_or_else(|error| panic!("{error}")).expect("a local model is configured");
        let mut vectors = Vectors::open(tempfile::tempfile().unwrap(), embedder.id(), embedder.dimension()).unwrap();
        let pieces = embedders.tokens().unwrap().map(|tokens| {
            let file = tempfile::tempfile().unwrap();
            let store = RwLock::new(TokenVectors::open(file, tokens.id(), tokens.dimension()).unwrap());
            let mut keep = |chunk: &FilledChunk<'_>| {
                vectors.add(chunk.key, chunk.vector).unwrap();
                Ok(())
            };
            late::fill(&store, &*tokens, snapshot, &mut keep).unwrap();
            (tokens, store)
        });
        for (address, key) in snapshot.keys().filter(|_| pieces.is_none()) {
            let text = snapshot.chunk(address).unwrap().indexed();
            vectors.add(key, &embedder.embed(EmbeddingInput::Passage, &[&text]).unwrap()[0]).unwrap();
        }
        let rows = snapshot.keys().map(|(address, key)| (address, vectors.row(key).unwrap())).collect();
        Self { embedder, rows, vectors: RwLock::new(vectors), pieces }
    }
}

/// The notes of `eval/cross-language`, with the questions about them.
struct Evaluation {
    snapshot: IndexSnapshot,
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
        Self { snapshot: index.snapshot().unwrap(), questions }
    }

    /// Returns the answers to a question, by words alone without a model: the source and the score of each.
    fn ask(&self, question: &str, model: Option<&Model>, has_pieces: bool) -> Vec<(String, f64)> {
        let vector = |model: &Model| model.embedder.embed(EmbeddingInput::Query, &[question]).unwrap().remove(0);
        let pieces = model.and_then(|model| model.pieces.as_ref()).filter(|_| has_pieces);
        let ranking = Ranking::default();
        let searchable = Searchable {
            snapshot: &self.snapshot,
            rows: model.map_or(&[], |model| &model.rows),
            vectors: model.map(|model| &model.vectors),
            fetched: None,
            tokens: pieces.map(|(_, tokens)| tokens),
            analyser: &Analyser::default(),
            ranking: model.map_or(ranking, |model| ranking.for_model(&*model.embedder)),
            window: WindowLimit(ChunkLimits::default().tokens),
        };
        let request = SearchRequest {
            query: question,
            k: 5,
            near_misses: 0,
            query_vector: model.map(|model| QueryVector::new(vector(model))),
            pieces: pieces.map(|(embedder, _)| embedder.embed_tokens(EmbeddingInput::Query, question).unwrap().tokens),
            words_only: model.is_none().then_some(WeightReason::NoModel),
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
    let models = [LocalModel::UseMultilingual, LocalModel::E5Small]
        .map(|model| (model, Model::load(model, &evaluation.snapshot)));
    let mut problems = Vec::new();
    for Way { name: way, model, has_pieces, tolerance } in WAYS {
        let started = Instant::now();
        let model = models.iter().find(|(loaded, _)| Some(*loaded) == model).map(|(_, loaded)| loaded);
        let mut differences = Differences::default();
        for question in &evaluation.questions {
            let answers = evaluation.ask(question, model, has_pieces);
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
             {} questions with other ranks; {:.1} s",
            evaluation.questions.len(),
            ranks.len(),
            started.elapsed().as_secs_f64()
        );
        if !ranks.is_empty() || greatest > tolerance || scores <= 100 {
            problems.push(format!("{way}: {greatest} of {scores} scores, other ranks: {ranks:#?}"));
        }
    }
    if std::env::var_os("MINICLAW_WRITE_EXPECTED").is_some() {
        fs::write(path, all).unwrap();
    } else {
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
