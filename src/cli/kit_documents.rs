//! The questions, documents and judgements of an evaluation kit, and the corpora that its questions are put to.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::RwLock;

use anyhow::{Context, anyhow};
use serde::Deserialize;

use super::kit::{Kit, Mode};
use super::kit_conversations::ImportedConversations;
use crate::domain::{EmbedError, Embedder, EmbeddingInput, FileStamp, Hit, RelPath, TokenEmbedder, TranscriptPart};
use crate::library::DatabaseCopy;
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
use crate::store::{LibraryDatabase, outside};

/// Number of texts embedded at once.
const BATCH: usize = 16;

#[derive(Clone, Deserialize)]
pub(super) struct Query {
    #[serde(rename = "_id")]
    pub id: String,
    pub text: String,
    #[serde(default)]
    pub category: String,
    /// The files to which the search is restricted.
    pub scope: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(super) struct Passage {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// The documents of a set.
pub(super) enum Documents {
    /// Texts by their names in the set.
    Files(BTreeMap<String, String>),
    Passages(Vec<Passage>),
    /// The same files, imported as conversations.
    Conversations(BTreeMap<String, ImportedConversations>),
}

impl Documents {
    /// Returns the same documents as conversations; `None` if they are none.
    pub fn as_conversations(&self) -> Option<Self> {
        let Self::Files(files) = self else { return None };
        let read = |(name, text): (&String, &String)| {
            let imported = ImportedConversations::read(&[(name.clone(), text.clone())])?;
            Some((name.clone(), imported))
        };
        files.iter().map(read).collect::<Option<_>>().map(Self::Conversations)
    }

    /// Returns what the names of modes begin with.
    pub fn prefix(&self) -> &'static str {
        match self {
            Self::Files(_) | Self::Passages(_) => "",
            Self::Conversations(_) => "conversations-",
        }
    }
}

/// The chunks that the questions of one scope are answered from.
pub(super) struct Corpus {
    snapshot: IndexSnapshot,
    vectors: Option<RwLock<Vectors>>,
    rows: Vec<(Address, u32)>,
    tokens: Option<RwLock<TokenVectors>>,
    /// The same chunks in a database, if they are searched there.
    copy: Option<DatabaseCopy>,
}

impl Corpus {
    /// Removes the copy in the database.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub fn remove(self) -> anyhow::Result<()> {
        Ok(self.copy.map_or(Ok(()), |copy| copy.remove())?)
    }
}

impl Kit {
    /// Builds the index of one scope, with its vectors. `number` distinguishes the corpora of a set.
    pub(super) fn corpus(
        &self,
        (set, number): (&str, usize),
        documents: &Documents,
        scope: &[String],
    ) -> anyhow::Result<Corpus> {
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
        let mut vectors = self.embedder.as_deref().map(|embedder| self.open_vectors(set, embedder)).transpose()?;
        let tokens = match &self.tokens {
            Some(embedder) if self.database.is_none() => {
                Some(self.tokens((set, number), (&**embedder, vectors.as_mut()), &snapshot)?)
            }
            _ => None,
        };
        if let (Some(embedder), Some(vectors)) = (&self.embedder, &mut vectors) {
            add_missing(vectors, &**embedder, &snapshot)?;
        }
        let rows = vectors
            .iter()
            .flat_map(|vectors| snapshot.keys().filter_map(|(address, key)| Some((address, vectors.row(key)?))));
        let rows = rows.collect();
        let copy = match &self.database {
            Some((address, runtime)) => {
                let database = LibraryDatabase::apart(address, runtime.clone())?;
                let of_model = self.embedder.as_deref().zip(vectors.as_ref());
                Some(DatabaseCopy::of((&index, self.retrieval.limits), of_model, database)?)
            }
            None => None,
        };
        Ok(Corpus { snapshot, rows, vectors: vectors.map(RwLock::new), tokens, copy })
    }

    /// Opens the token vectors of a corpus and adds the missing ones. Each corpus has its own file, because each has
    /// its own mean. If the vectors of whole texts are of the same model, they are added, too.
    fn tokens(
        &self,
        (set, number): (&str, usize),
        (embedder, vectors): (&dyn TokenEmbedder, Option<&mut Vectors>),
        snapshot: &IndexSnapshot,
    ) -> anyhow::Result<RwLock<TokenVectors>> {
        let file = outside::cache(&self.runs.join(format!("{set}-{number}-{}.tokens", embedder.id())))?;
        let tokens = RwLock::new(TokenVectors::open(file, embedder.id(), embedder.dimension())?);
        let is_one_model = self.embedder.as_ref().is_some_and(|whole| whole.id() == embedder.id());
        let mut vectors = vectors.filter(|_| is_one_model);
        late::fill(&tokens, embedder, snapshot, &mut |chunk| match &mut vectors {
            Some(vectors) => vectors
                .add(chunk.key, chunk.vector)
                .map_err(|error| EmbedError::Unavailable(format!("The vectors cannot be kept: {error}."))),
            None => Ok(()),
        })?;
        Ok(tokens)
    }

    fn open_vectors(&self, set: &str, embedder: &dyn Embedder) -> anyhow::Result<Vectors> {
        let file = outside::cache(&self.runs.join(format!("{set}-{}.vectors", embedder.id())))?;
        Ok(Vectors::open(file, embedder.id(), embedder.dimension())?)
    }

    /// Searches like [`crate::library::Library`], but in chunks that belong to no home.
    pub(super) fn search(&self, corpus: &Corpus, query: &str, mode: Mode) -> anyhow::Result<Vec<Hit>> {
        let words_only = wants_words_only(query);
        let mut query_vector = None;
        if let (Some(embedder), true, None) = (&self.embedder, mode != Mode::Lexical, words_only)
            && embedder.knows(query)
        {
            query_vector = embedder.embed(EmbeddingInput::Query, &[query])?.into_iter().next().map(QueryVector::new);
        }
        let pieces = match &self.tokens {
            Some(embedder) if mode == Mode::Rerank => Some(embedder.embed_tokens(EmbeddingInput::Query, query)?.tokens),
            _ => None,
        };
        let asked =
            SearchRequest { query, k: MAX_HITS, near_misses: 0, query_vector, pieces, words_only, vector_weight: None };
        let ranking = match &self.embedder {
            Some(embedder) => self.retrieval.ranking.for_model(&**embedder),
            None => self.retrieval.ranking,
        };
        if let Some(copy) = &corpus.copy {
            return Ok(copy.search(&asked, (&Analyser::default(), ranking))?.hits);
        }
        let searchable = Searchable {
            snapshot: &corpus.snapshot,
            rows: &corpus.rows,
            vectors: corpus.vectors.as_ref(),
            fetched: None,
            tokens: corpus.tokens.as_ref(),
            analyser: &Analyser::default(),
            ranking,
            window: WindowLimit(self.retrieval.limits.tokens),
        };
        Ok(searchable.search(&asked)?.hits)
    }
}

fn add_missing(vectors: &mut Vectors, embedder: &dyn Embedder, snapshot: &IndexSnapshot) -> anyhow::Result<()> {
    let missing: Vec<(Address, u64)> = snapshot.keys().filter(|(_, key)| vectors.row(*key).is_none()).collect();
    for chunks in missing.chunks(BATCH) {
        let mut texts = Vec::new();
        for (address, _) in chunks {
            texts.push(snapshot.chunk(*address)?.indexed());
        }
        let made = embedder.embed(EmbeddingInput::Passage, &texts.iter().map(String::as_str).collect::<Vec<_>>())?;
        for ((_, key), vector) in chunks.iter().zip(&made) {
            vectors.add(*key, vector)?;
        }
    }
    Ok(())
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

/// A hit with its name in a run.
pub(super) struct NamedHit<'a> {
    pub name: String,
    pub hit: &'a Hit,
}

/// Returns the hits with their names in a run; a passage counts with its best hit.
pub(super) fn named<'a>(documents: &Documents, hits: &'a [Hit]) -> Vec<NamedHit<'a>> {
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
        Some(NamedHit { name, hit })
    });
    names.filter(|named| seen.insert(named.name.clone())).collect()
}

pub(super) fn documents(set: &Path) -> anyhow::Result<Documents> {
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

pub(super) fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = outside::text(path)?;
    let parsed = text.lines().enumerate().map(|(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), number + 1))
    });
    parsed.collect()
}
