//! An evaluation kit: data sets with questions and judged answers, and the scorer that comes with them.
//!
//! A set is a folder with `queries.jsonl` and either `files/` (hits are byte ranges of files) or `corpus.jsonl` (hits are
//! passages). For each set and mode a TREC run is written: `QUERY_ID Q0 DOCID RANK SCORE TAG`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::kit_conversations::ImportedConversations;
use crate::config::Retrieval;
use crate::domain::{Embedder, EmbeddingInput, FileStamp, Hit, RelPath, TokenEmbedder, TranscriptPart};
use crate::retrieval::analyse::Analyser;
use crate::retrieval::extract::{Document, Format};
use crate::retrieval::index::fingerprint;
use crate::retrieval::search::MAX_HITS;
use crate::retrieval::vectors::QueryVector;
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{
    Address, FolderIndex, IndexSnapshot, Listed, SearchRequest, Searchable, TokenVectors, Vectors, late,
    wants_words_only,
};
use crate::sandbox::{COMMAND_MEMORY, Job, Level, Network, Sandbox, SandboxConfig};
use crate::store::outside;

/// Maximum hits per query that are written to a run.
const DEPTH: usize = 50;
/// Number of texts embedded at once.
const BATCH: usize = 16;

pub struct Kit {
    pub folder: PathBuf,
    pub runs: PathBuf,
    pub retrieval: Retrieval,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub tokens: Option<Arc<dyn TokenEmbedder>>,
}

/// Which retrievers are used.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Lexical,
    Hybrid,
    /// With late interaction, and with vectors if there are any.
    Rerank,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Hybrid => "hybrid",
            Self::Rerank => "rerank",
        }
    }
}

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    /// The files to which the search is restricted.
    scope: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Passage {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// The documents of a set.
enum Documents {
    /// Texts by their names in the set.
    Files(BTreeMap<String, String>),
    Passages(Vec<Passage>),
    /// The same files, imported as conversations.
    Conversations(BTreeMap<String, ImportedConversations>),
}

impl Documents {
    /// Returns the same documents as conversations; `None` if they are none.
    fn as_conversations(&self) -> Option<Self> {
        let Self::Files(files) = self else { return None };
        let read = |(name, text): (&String, &String)| {
            let imported = ImportedConversations::read(&[(name.clone(), text.clone())])?;
            Some((name.clone(), imported))
        };
        files.iter().map(read).collect::<Option<_>>().map(Self::Conversations)
    }

    /// Returns what the names of modes begin with.
    fn prefix(&self) -> &'static str {
        match self {
            Self::Files(_) | Self::Passages(_) => "",
            Self::Conversations(_) => "conversations-",
        }
    }
}

/// The chunks that the questions of one scope are answered from.
struct Corpus {
    snapshot: IndexSnapshot,
    vectors: Option<RwLock<Vectors>>,
    rows: Vec<(Address, u32)>,
    tokens: Option<RwLock<TokenVectors>>,
}

/// Measures the named sets, or all if none is named.
///
/// # Errors
/// Returns an error if the kit cannot be read, a run cannot be written, or the scorer fails.
pub fn measure(kit: &Kit, sets: &[String]) -> anyhow::Result<ExitCode> {
    let mut names = Vec::new();
    for file in outside::files_below(&kit.folder)? {
        if file.file_name().is_some_and(|name| name == "queries.jsonl")
            && let Some(name) = file.parent().and_then(Path::file_name).and_then(|name| name.to_str())
            && (sets.is_empty() || sets.iter().any(|set| set == name))
        {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        return Err(anyhow!("{} holds no data set (a folder with queries.jsonl)", kit.folder.display()));
    }
    if kit.embedder.is_none() {
        eprintln!("no embedding model: lexical runs only");
    }
    say!("set\tmode\tn\thit@3\trecall@3\trecall@10\tmrr@10\tndcg@10\tms/query");
    for name in names {
        kit.set(&name)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Kit {
    fn set(&self, name: &str) -> anyhow::Result<()> {
        let folder = self.folder.join(name);
        let queries: Vec<Query> = lines(&folder.join("queries.jsonl"))?;
        let documents = documents(&folder)?;
        let conversations = documents.as_conversations();
        for documents in [Some(documents), conversations].into_iter().flatten() {
            self.measured((name, &folder), &documents, &queries)?;
        }
        Ok(())
    }

    fn measured(&self, (name, folder): (&str, &Path), documents: &Documents, queries: &[Query]) -> anyhow::Result<()> {
        let vectors = self.embedder.is_some().then_some(Mode::Hybrid);
        let modes = [Some(Mode::Lexical), vectors, self.tokens.is_some().then_some(Mode::Rerank)];
        let mut corpora: HashMap<Vec<String>, Corpus> = HashMap::new();
        for mode in modes.into_iter().flatten() {
            let mut run = String::new();
            let mut took = Duration::ZERO;
            for query in queries {
                let scope = query.scope.clone().unwrap_or_default();
                if !corpora.contains_key(&scope) {
                    let number = corpora.len();
                    corpora.insert(scope.clone(), self.corpus((name, number), documents, &scope)?);
                }
                let Some(corpus) = corpora.get(&scope) else { continue };
                let started = Instant::now();
                let hits = self.search(corpus, &query.text, mode)?;
                took += started.elapsed();
                for (rank, (id, score)) in named(documents, &hits).iter().take(DEPTH).enumerate() {
                    run.push_str(&format!("{} Q0 {id} {} {score:.6} miniclaw-{}\n", query.id, rank + 1, mode.name()));
                }
            }
            let mode = format!("{}{}", documents.prefix(), mode.name());
            let file = self.runs.join(format!("{name}.{mode}.run"));
            outside::write(&file, &run)?;
            let scores = self.scores(folder, &file)?;
            let milliseconds = took.as_secs_f64() * 1000.0 / queries.len().max(1) as f64;
            say!("{name}\t{mode}\t{scores}\t{milliseconds:.2}");
        }
        Ok(())
    }

    /// Builds the index of one scope, with its vectors. `number` distinguishes the corpora of a set.
    fn corpus(&self, (set, number): (&str, usize), documents: &Documents, scope: &[String]) -> anyhow::Result<Corpus> {
        let mut index = FolderIndex::in_memory(self.retrieval.limits)?;
        let allowed: HashSet<&str> = scope.iter().map(String::as_str).collect();
        let mut put = |path: &str, text: String| -> anyhow::Result<()> {
            let path = RelPath::parse(path).map_err(|error| anyhow!("{path}: {error}"))?;
            let size = text.len() as u64;
            index.put(&Listed { path, stamp: FileStamp::default(), size }, Ok(text.into_bytes()))?;
            Ok(())
        };
        match documents {
            Documents::Files(files) => {
                for (name, text) in files.iter().filter(|(name, _)| scope.is_empty() || allowed.contains(name.as_str()))
                {
                    put(name, text.clone())?;
                }
            }
            Documents::Passages(passages) => {
                for (number, Passage { title, text, .. }) in passages.iter().enumerate() {
                    // A passage is named by its title; a number means nothing and must not be searched.
                    let name: String =
                        title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).take(100).collect();
                    let name = if name.trim().is_empty() { "-" } else { name.trim() };
                    put(&format!("{number}/{name}.txt"), text.clone())?;
                }
            }
            Documents::Conversations(files) => {
                for (_, imported) in
                    files.iter().filter(|(name, _)| scope.is_empty() || allowed.contains(name.as_str()))
                {
                    for (path, part) in imported.parts() {
                        put_part(&mut index, path, part)?;
                    }
                }
            }
        }
        index.commit()?;
        let snapshot = index.snapshot()?;
        let vectors = match &self.embedder {
            Some(embedder) => Some(self.vectors(set, &**embedder, &snapshot)?),
            None => None,
        };
        let rows = vectors
            .iter()
            .flat_map(|vectors| snapshot.keys().filter_map(|(address, key)| Some((address, vectors.row(key)?))));
        let rows = rows.collect();
        let tokens = match &self.tokens {
            Some(embedder) => Some(self.tokens((set, number), &**embedder, &snapshot)?),
            None => None,
        };
        Ok(Corpus { snapshot, rows, vectors: vectors.map(RwLock::new), tokens })
    }

    /// Opens the token vectors of a corpus and adds the missing ones. Each corpus has its own file, because each has
    /// its own mean.
    fn tokens(
        &self,
        (set, number): (&str, usize),
        embedder: &dyn TokenEmbedder,
        snapshot: &IndexSnapshot,
    ) -> anyhow::Result<RwLock<TokenVectors>> {
        let file = outside::cache(&self.runs.join(format!("{set}-{number}-{}.tokens", embedder.id())))?;
        let tokens = RwLock::new(TokenVectors::open(file, embedder.id(), embedder.dimension())?);
        late::fill(&tokens, embedder, snapshot, &mut |_| {})?;
        Ok(tokens)
    }

    fn vectors(&self, set: &str, embedder: &dyn Embedder, snapshot: &IndexSnapshot) -> anyhow::Result<Vectors> {
        let file = outside::cache(&self.runs.join(format!("{set}-{}.vectors", embedder.id())))?;
        let mut vectors = Vectors::open(file, embedder.id(), embedder.dimension())?;
        let missing: Vec<(Address, u64)> = snapshot.keys().filter(|(_, key)| vectors.row(*key).is_none()).collect();
        for chunks in missing.chunks(BATCH) {
            let mut texts = Vec::new();
            for (address, _) in chunks {
                texts.push(snapshot.chunk(*address)?.indexed());
            }
            let made =
                embedder.embed(EmbeddingInput::Passage, &texts.iter().map(String::as_str).collect::<Vec<_>>())?;
            for ((_, key), vector) in chunks.iter().zip(&made) {
                vectors.add(*key, vector)?;
            }
        }
        Ok(vectors)
    }

    /// Searches like [`crate::library::Library`], but in chunks that belong to no home.
    fn search(&self, corpus: &Corpus, query: &str, mode: Mode) -> anyhow::Result<Vec<Hit>> {
        let words_only = wants_words_only(query);
        let mut query_vector = None;
        if let (Some(embedder), true, None) = (&self.embedder, mode != Mode::Lexical, words_only)
            && embedder.knows(query)
        {
            query_vector = embedder.embed(EmbeddingInput::Query, &[query])?.into_iter().next().map(QueryVector::new);
        }
        let pieces = match &self.tokens {
            Some(embedder) if mode == Mode::Rerank => Some(embedder.tokens(EmbeddingInput::Query, query)?),
            _ => None,
        };
        let searchable = Searchable {
            snapshot: &corpus.snapshot,
            rows: &corpus.rows,
            vectors: corpus.vectors.as_ref(),
            tokens: corpus.tokens.as_ref(),
            analyser: &Analyser::default(),
            ranking: match &self.embedder {
                Some(embedder) => self.retrieval.ranking.for_model(embedder.weight()),
                None => self.retrieval.ranking,
            },
            window: WindowLimit(self.retrieval.limits.tokens),
        };
        let asked =
            SearchRequest { query, k: MAX_HITS, near_misses: 0, query_vector, pieces, words_only, vector_weight: None };
        Ok(searchable.search(&asked)?.hits)
    }

    /// Returns one line of the kit's own scorer, which runs in the sandbox.
    fn scores(&self, set: &Path, run: &Path) -> anyhow::Result<String> {
        let [kit, runs, set, run] = [&self.folder, &self.runs, set, run].map(|path| path.canonicalize());
        let (kit, runs, set, run) = (kit?, runs?, set?, run?);
        let text = |path: &Path| path.display().to_string();
        let mut argv = vec!["python3".to_owned(), text(&kit.join("score.py")), text(&set), text(&run)];
        argv.extend(["--json", "--skip-category", "adversarial"].map(str::to_owned));
        let job = Job {
            argv,
            cwd: runs,
            readable: vec![kit],
            env: Vec::new(),
            wall: Duration::from_secs(300),
            output_cap: 1 << 20,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: crate::domain::FolderOwner::Commands,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sandbox = Sandbox::new(SandboxConfig::new(Level::Standard));
        let finished = runtime.block_on(sandbox.run(job, CancellationToken::new()))?;
        let output = finished.stdout.text();
        let scores: serde_json::Value =
            serde_json::from_str(&output).with_context(|| format!("the scorer failed: {}", finished.stderr.text()))?;
        let all = &scores["all"];
        let figure = |name: &str| format!("{:.3}", all[name].as_f64().unwrap_or_default());
        let figures = ["hit@3", "recall@3", "recall@10", "mrr@10", "ndcg@10"].map(figure);
        Ok(format!("{}\t{}", all["n"], figures.join("\t")))
    }
}

/// Adds a part of a conversation to an index, as [`crate::library::Library`] does.
fn put_part(index: &mut FolderIndex, path: &str, part: &TranscriptPart) -> anyhow::Result<()> {
    let path = RelPath::parse(path).map_err(|error| anyhow!("{path}: {error}"))?;
    let listed = Listed { path, stamp: FileStamp::default(), size: part.text.len() as u64 };
    let (title, text) = (Some(part.title.clone()), part.text.clone());
    let document = Document { format: Format::Plain, title, text, is_file: false };
    index.insert(&listed, fingerprint(part.text.as_bytes()), Ok(document))?;
    Ok(())
}

/// Returns the name of each hit in a run, with its score; a passage counts with its best hit.
fn named(documents: &Documents, hits: &[Hit]) -> Vec<(String, f64)> {
    let mut seen = HashSet::new();
    let names = hits.iter().filter_map(|hit| {
        let name = match documents {
            Documents::Files(_) => format!("{}#{}-{}", hit.source, hit.range.0, hit.range.1),
            Documents::Conversations(files) => {
                let place = |imported: &ImportedConversations| {
                    let (file, range) = imported.place(&hit.source, hit.range.0..hit.range.1)?;
                    Some(format!("{file}#{}-{}", range.start, range.end))
                };
                files.values().find_map(place)?
            }
            Documents::Passages(passages) => {
                let number: usize = hit.source.split('/').next()?.parse().ok()?;
                passages.get(number)?.id.clone()
            }
        };
        Some((name, hit.score))
    });
    names.filter(|(name, _)| seen.insert(name.clone())).collect()
}

fn documents(set: &Path) -> anyhow::Result<Documents> {
    let corpus = set.join("corpus.jsonl");
    if corpus.is_file() {
        return Ok(Documents::Passages(lines(&corpus)?));
    }
    let folder = set.join("files");
    let mut files = BTreeMap::new();
    for file in outside::files_below(&folder)? {
        let name = file.strip_prefix(&folder)?.to_str().ok_or_else(|| anyhow!("{} is no name", file.display()))?;
        files.insert(name.to_owned(), outside::text(&file)?);
    }
    Ok(Documents::Files(files))
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = outside::text(path)?;
    let parsed = text.lines().enumerate().map(|(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), number + 1))
    });
    parsed.collect()
}
