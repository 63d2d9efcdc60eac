//! An evaluation kit: data sets with questions and judged answers, and the scorer that comes with them.
//!
//! A set is a folder with `queries.jsonl` and either `files/` (hits are byte ranges of files) or `corpus.jsonl` (hits are
//! passages). For each set and mode a TREC run is written: `QUERY_ID Q0 DOCID RANK SCORE TAG`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tokio::runtime::Handle;

use super::kit_documents::{Corpus, Documents, NamedHit, Query, documents, lines, named};
use super::kit_floor::{Asked, Floor, Kind, foreign};
use super::kit_judgements::Judgements;
use crate::config::Retrieval;
use crate::domain::{Embedder, TokenEmbedder};
use crate::store::{DatabaseAddress, outside};

/// Maximum hits per query that are written to a run.
const DEPTH: usize = 50;

pub struct Kit {
    pub folder: PathBuf,
    pub runs: PathBuf,
    pub retrieval: Retrieval,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub tokens: Option<Arc<dyn TokenEmbedder>>,
    /// A database in which the corpora are searched instead, with what waits for it.
    pub database: Option<(DatabaseAddress, Handle)>,
}

/// Which retrievers are used.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
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

/// A set of the kit.
pub(super) struct Set {
    pub name: String,
    pub folder: PathBuf,
    pub queries: Vec<Query>,
    pub judgements: Judgements,
}

/// Measures the named sets, or all if none is named.
///
/// # Errors
/// Returns an error if the kit cannot be read, a run cannot be written, or the scorer fails.
pub fn measure(kit: &Kit, sets: &[String]) -> anyhow::Result<ExitCode> {
    let mut all = Vec::new();
    for file in outside::files_below(&kit.folder)? {
        if file.file_name().is_some_and(|name| name == "queries.jsonl")
            && let Some(folder) = file.parent()
            && let Some(name) = folder.file_name().and_then(|name| name.to_str())
        {
            all.push(Set {
                name: name.to_owned(),
                folder: folder.to_owned(),
                queries: lines(&file)?,
                judgements: Judgements::read(folder)?,
            });
        }
    }
    let is_wanted = |set: &&Set| sets.is_empty() || sets.contains(&set.name);
    if !all.iter().any(|set| is_wanted(&set)) {
        return Err(anyhow!("{} holds no data set (a folder with queries.jsonl)", kit.folder.display()));
    }
    if kit.embedder.is_none() {
        eprintln!("no embedding model: lexical runs only");
    }
    say!("{}", super::kit_scores::header());
    let mut floors = Vec::new();
    for set in all.iter().filter(is_wanted) {
        let foreign = foreign(set, &all);
        let documents = documents(&set.folder)?;
        let conversations = documents.as_conversations();
        for documents in [Some(documents), conversations].into_iter().flatten() {
            floors.extend(kit.measured(set, &documents, &foreign)?);
        }
    }
    say!("\n{}", Floor::header());
    for floor in floors {
        say!("{floor}");
    }
    Ok(ExitCode::SUCCESS)
}

impl Kit {
    /// Puts the questions of a set, and questions of others, to its documents in each mode.
    fn measured(&self, set: &Set, documents: &Documents, foreign: &[Asked]) -> anyhow::Result<Vec<Floor>> {
        let vectors = self.embedder.is_some().then_some(Mode::Hybrid);
        // The pieces of texts are not in the database.
        let has_pieces = self.tokens.is_some() && self.database.is_none();
        let modes = [Some(Mode::Lexical), vectors, has_pieces.then_some(Mode::Rerank)];
        let mut corpora: HashMap<Vec<String>, Corpus> = HashMap::new();
        let mut floors = Vec::new();
        for mode in modes.into_iter().flatten() {
            let name = format!("{}{}", documents.prefix(), mode.name());
            let (mut run, mut found) = (String::new(), HashMap::new());
            let (mut took, mut floor) = (Duration::ZERO, Floor::new(&set.name, &name));
            for asked in set.queries.iter().map(Asked::own).chain(foreign.iter().cloned()) {
                let scope = asked.query.scope.clone().unwrap_or_default();
                if !corpora.contains_key(&scope) {
                    let corpus = self.corpus((&set.name, corpora.len()), documents, &scope)?;
                    corpora.insert(scope.clone(), corpus);
                }
                let Some(corpus) = corpora.get(&scope) else { continue };
                let started = Instant::now();
                let hits = self.search(corpus, &asked.query.text, mode)?;
                let hits = named(documents, &hits);
                floor.add(&asked, &hits, &set.judgements);
                if matches!(asked.kind, Kind::Foreign | Kind::OtherScript) {
                    continue;
                }
                took += started.elapsed();
                write_run(&mut run, (&asked.query.id, mode), &hits);
                found.insert(asked.query.id.clone(), hits.into_iter().map(|hit| hit.name).take(DEPTH).collect());
            }
            let file = self.runs.join(format!("{}.{name}.run", set.name));
            outside::write(&file, &run)?;
            outside::write(&self.runs.join(format!("{}.{name}.evidence.jsonl", set.name)), &floor.evidence)?;
            let milliseconds = took.as_secs_f64() * 1000.0 / set.queries.len().max(1) as f64;
            for row in self.scores(set, &file)?.into_iter().chain(set.sessions(&found)?) {
                say!("{}\t{name}\t{row}\t{milliseconds:.2}", set.name);
            }
            floors.push(floor);
        }
        for corpus in corpora.into_values() {
            corpus.remove()?;
        }
        Ok(floors)
    }
}

fn write_run(run: &mut String, (query, mode): (&str, Mode), hits: &[NamedHit]) {
    for (rank, NamedHit { name, hit }) in hits.iter().take(DEPTH).enumerate() {
        run.push_str(&format!("{query} Q0 {name} {} {:.6} miniclaw-{}\n", rank + 1, hit.score, mode.name()));
    }
}
