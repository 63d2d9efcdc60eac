//! A library in the database: it answers like one on this machine, follows the files, and survives what interrupts it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miniclaw::domain::knowledge::Search;
use miniclaw::domain::{AccountId, EmbedError, Embedder, EmbeddingInput, Hit, HomeId, Root};
use miniclaw::extraction::Extractor;
use miniclaw::library::{IndexStorage, Library, LibrarySettings, LibrarySource, SearchOptions, SearchedIn};
use miniclaw::retrieval::{ChunkLimits, Ranking};
use miniclaw::sandbox::{Level, Sandbox, SandboxConfig};
use miniclaw::store::{CacheUse, Claimant, Database, DatabaseAddress, Home, HomeDatabase, LossPolicy, Replica};
use secrecy::SecretString;

use crate::crash::Rng;
use crate::postgres::{TestDatabase, postgres};
use crate::world::eventually;

/// Chunks of 64 tokens: the files of the tests have several.
const LIMITS: ChunkLimits = ChunkLimits { tokens: 64, overlap: 8 };
const DIMENSION: usize = 32;
const QUESTIONS: [&str; 12] = [
    "river bridge",
    "the harbour of the old town",
    "word3 word17",
    "word1",
    "word1 word2 word4",
    "word40 word41 river",
    "lighthouse keeper",
    "数据库 索引",
    "港口在哪里",
    "灯",
    "nothing of this is there zzz",
    "\"old town\"",
];

/// Places texts by their words, so that texts with common words are near each other.
struct WordVectors;

impl Embedder for WordVectors {
    fn id(&self) -> &str {
        "words-1"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn weight(&self) -> f64 {
        0.4
    }

    fn embed(&self, _: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut sums = [0.01f32; DIMENSION];
    for word in text.split_whitespace() {
        let mut random = Rng(word.bytes().fold(7, |hash, byte| (hash * 31 + u64::from(byte)) % 1_000_003));
        sums.iter_mut().for_each(|sum| *sum += (random.below(2001) as f32 - 1000.0) / 1000.0);
    }
    let length = sums.iter().map(|x| x * x).sum::<f32>().sqrt();
    sums.iter().map(|x| x / length).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Vectors {
    None,
    OfWords,
}

fn library(home: Home, from: usize, vectors: Vectors) -> Arc<Library> {
    let settings = LibrarySettings {
        source: LibrarySource::Folder(Root::Knowledge),
        keep: IndexStorage::OnDisk,
        limits: LIMITS,
        ranking: Ranking::default(),
        embedder: Arc::new(move || match vectors {
            Vectors::None => Err(EmbedError::Missing("there is none here".to_owned())),
            Vectors::OfWords => Ok(Arc::new(WordVectors)),
        }),
        tokens: Arc::new(|| Ok(None)),
        wait_for_idle_time: Arc::new(|| ()),
        extractor: Extractor::new(Sandbox::new(SandboxConfig::new(Level::Standard))),
        database_from: Some(from),
    };
    Arc::new(Library::new(home, settings))
}

/// A database with a home in it.
struct InDatabase {
    database: TestDatabase,
    folder: tempfile::TempDir,
}

impl InDatabase {
    async fn new() -> Option<Self> {
        let database = postgres().await?.database().await;
        let mut connected = Database::connect(&address(&database)).await.unwrap();
        connected.migrate(LossPolicy::Refuse).await.unwrap();
        Some(Self { database, folder: tempfile::tempdir().unwrap() })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Claims the home, as a start of a server does.
    async fn open(&self) -> Home {
        self.open_at(&self.path()).await
    }

    async fn open_at(&self, folder: &Path) -> Home {
        self.open_of(&HomeId::Server, folder).await
    }

    async fn open_of(&self, id: &HomeId, folder: &Path) -> Home {
        let of = HomeDatabase::new(address(&self.database), LossPolicy::Refuse);
        let mut opened = None;
        // A thread that has just done its work may still hold the lock of the home.
        eventually("the home is free", async || {
            let replica = Replica::open((&of, id), folder, CacheUse::Serve, Claimant::start()).await;
            opened = replica.ok().and_then(|replica| {
                let home = Home::open(folder).ok()?;
                home.keep_in(replica);
                Some(home)
            });
            opened.is_some()
        })
        .await;
        opened.unwrap()
    }

    async fn number(&self, sql: &str) -> i64 {
        self.database.number(sql).await
    }

    /// Returns how many rows the tables of the library with this ending have.
    async fn rows(&self, of: &str) -> i64 {
        let id = self.number("SELECT coalesce(max(library_id), 0)::bigint FROM libraries").await;
        self.number(&format!("SELECT count(*) FROM library_{id}_{of}")).await
    }

    async fn tables(&self) -> i64 {
        self.number("SELECT count(*) FROM pg_class WHERE relname ~ '^library_[0-9]+_[a-z]+$' AND relkind = 'r'").await
    }
}

fn address(database: &TestDatabase) -> DatabaseAddress {
    DatabaseAddress::parse(&SecretString::from(database.url(""))).unwrap()
}

/// Writes files with rare and common words, in several languages and lengths.
fn fill(home: &Path, files: usize) {
    let folder = home.join("knowledge");
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    let mut random = Rng(20_261_128);
    for number in 0..files {
        let mut text = format!("# Note {number}\n\n");
        for paragraph in 0..1 + random.below(8) {
            if paragraph % 3 == 2 {
                text.push_str(&format!("## Part {paragraph}\n\n"));
            }
            for _ in 0..10 + random.below(60) {
                // Low numbers are common.
                let highest = 1 + random.below(60);
                let word = random.below(highest);
                text.push_str(&format!("word{word} "));
            }
            text.push_str(
                ["The river has a bridge. ", "An old town with a harbour.", "", "数据库的索引在这里。"]
                    [random.below(4) as usize],
            );
            text.push_str(["\n\n", ".\n\n", " 港口和灯塔\n\n"][random.below(3) as usize]);
        }
        let name = if number % 7 == 0 { format!("deep/er/{number}.md") } else { format!("{number}.txt") };
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("lighthouse.md"), "# Lighthouse\n\nThe lighthouse keeper lives alone.\n").unwrap();
}

/// Searches on a thread that may block.
async fn ask<T: Send + 'static>(library: &Arc<Library>, asking: impl FnOnce(&Arc<Library>) -> T + Send + 'static) -> T {
    let library = library.clone();
    tokio::task::spawn_blocking(move || asking(&library)).await.unwrap()
}

async fn ready(library: &Arc<Library>) {
    // The first look indexes and moves, the second one follows what has changed meanwhile.
    for _ in 0..2 {
        ask(library, |library| library.wait_until_ready().unwrap()).await;
    }
}

async fn search(library: &Arc<Library>, query: &str) -> Search {
    let query = query.to_owned();
    let options = SearchOptions { k: 20, near_misses: 5, vector_weight: None };
    ask(library, move |library| library.search(&query, options).unwrap()).await
}

async fn sources(library: &Arc<Library>, query: &str) -> Vec<String> {
    search(library, query).await.hits.into_iter().map(|hit| hit.source).collect()
}

/// Leaves out how long it took, and the last digits, which depend on the order of additions.
fn rounded(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) if number.is_f64() => {
            *value = serde_json::json!((number.as_f64().unwrap() * 1e9).round() / 1e9);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(rounded),
        serde_json::Value::Object(fields) => {
            fields.remove("took_us");
            fields.values_mut().for_each(rounded);
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn library_in_database_answers_like_one_here() {
    let Some(in_database) = InDatabase::new().await else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    fill(elsewhere.path(), 60);
    let home = in_database.open().await;
    fill(&in_database.path(), 60);
    let home_here = Home::open(elsewhere.path()).unwrap();
    for vectors in [Vectors::None, Vectors::OfWords] {
        let here = library(home_here.clone(), usize::MAX, vectors);
        let there = library(home.clone(), 10, vectors);
        ready(&here).await;
        ready(&there).await;
        let is_in = ask(&there, |library| library.overview().searched_in).await;
        assert_eq!(is_in, SearchedIn::Database);
        for question in QUESTIONS {
            let (here, there) = (search(&here, question).await, search(&there, question).await);
            assert_eq!(here.weights.vector > 0.0, there.weights.vector > 0.0, "{question}");
            if vectors == Vectors::None {
                let [exact, found] = [&here, &there].map(|search| {
                    let mut value = serde_json::to_value(search).unwrap();
                    rounded(&mut value);
                    value
                });
                assert_eq!(exact, found, "{question}");
                continue;
            }
            // Cosines are those of halves of floats, and here some are those of 8-bit codes.
            let passages = there.hits.iter().map(|hit| ((hit.source.as_str(), hit.range), hit.score));
            let passages: HashMap<_, _> = passages.collect();
            let of = |hit: &Hit| passages.get(&(hit.source.as_str(), hit.range)).copied();
            let same: Vec<(f64, f64)> = here.hits.iter().filter_map(|hit| Some((hit.score, of(hit)?))).collect();
            assert!(same.len() * 10 >= here.hits.len() * 8, "{question}: {} of {}", same.len(), here.hits.len());
            assert!(same.iter().all(|(exact, found)| (exact - found).abs() < 0.05), "{question}: {same:?}");
        }
        drop((here, there));
    }
    assert_eq!(in_database.rows("files").await, 61);
    assert_eq!(in_database.rows("chunks").await, in_database.number("SELECT chunks FROM libraries").await);
    assert_eq!(in_database.number("SELECT chunks - embedded FROM libraries").await, 0);
    let caches = home.path().join("storage/retrieval/knowledge");
    assert!(!caches.exists(), "nothing of the index is left here");
}

#[tokio::test(flavor = "multi_thread")]
async fn library_moves_with_its_size_and_follows_files() {
    let Some(in_database) = InDatabase::new().await else { return };
    let home = in_database.open().await;
    let folder = in_database.path().join("knowledge");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("lighthouse.md"), "The lighthouse keeper lives alone.\n").unwrap();
    let library = library(home.clone(), 40, Vectors::OfWords);
    ready(&library).await;
    assert_eq!(ask(&library, |library| library.searched_in()).await, SearchedIn::Here);
    assert_eq!(in_database.tables().await, 0);

    fill(&in_database.path(), 40);
    ready(&library).await;
    assert_eq!(ask(&library, |library| library.searched_in()).await, SearchedIn::Database);
    assert_eq!(sources(&library, "lighthouse keeper").await[0], "knowledge/lighthouse.md");
    let terms = in_database.rows("terms").await;

    fs::write(folder.join("lighthouse.md"), "A quokka lives alone.\n").unwrap();
    assert_eq!(sources(&library, "quokka").await[0], "knowledge/lighthouse.md");
    assert_eq!(search(&library, "lighthouse").await.terms[0].texts, 1, "only in the title of the file");
    let chunks = ask(&library, |library| library.chunks("knowledge/lighthouse.md").unwrap()).await;
    assert_eq!(chunks.iter().map(|chunk| chunk.chunk.text.as_str()).collect::<Vec<_>>(), ["A quokka lives alone."]);
    fs::rename(folder.join("lighthouse.md"), folder.join("quokka.md")).unwrap();
    assert_eq!(sources(&library, "quokka").await[0], "knowledge/quokka.md");

    fs::remove_file(folder.join("quokka.md")).unwrap();
    assert_eq!(search(&library, "quokka").await.terms[0].texts, 0);
    ready(&library).await;
    assert_eq!(in_database.rows("files").await, 40);
    assert!(in_database.rows("terms").await < terms, "no term of a deleted file is left");
    let id = in_database.number("SELECT library_id::bigint FROM libraries").await;
    let orphans =
        format!("library_{id}_vectors v WHERE NOT EXISTS (SELECT FROM library_{id}_chunks c WHERE c.key = v.key)");
    assert_eq!(in_database.number(&format!("SELECT count(*) FROM {orphans}")).await, 0);

    for number in 1..40 {
        let _ = fs::remove_file(folder.join(format!("{number}.txt")));
        let _ = fs::remove_file(folder.join(format!("deep/er/{number}.md")));
    }
    ready(&library).await;
    ready(&library).await;
    assert_eq!(ask(&library, |library| library.searched_in()).await, SearchedIn::Here);
    assert_eq!(in_database.tables().await, 0);
    assert!(!sources(&library, "word1").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_indexing_goes_on_at_the_next_start() {
    let Some(in_database) = InDatabase::new().await else { return };
    let home = in_database.open().await;
    fill(&in_database.path(), 30);
    let first = library(home.clone(), 10, Vectors::OfWords);
    ready(&first).await;
    let expected = sources(&first, "river bridge").await;
    let chunks = in_database.rows("chunks").await;
    home.release_claim().await.unwrap();
    drop((first, home));

    // A crash leaves whole files behind, while the library moves and later.
    for is_complete in [false, true] {
        let id = in_database.number("SELECT library_id::bigint FROM libraries").await;
        let some = format!("SELECT file_no FROM library_{id}_files WHERE file_no % 2 = 0");
        in_database
            .database
            .execute(&format!(
                "DELETE FROM library_{id}_chunks WHERE chunk_id >> 24 IN ({some}); DELETE FROM library_{id}_files WHERE file_no IN ({some}); \
                 TRUNCATE library_{id}_terms; INSERT INTO library_{id}_terms SELECT t, count(*) FROM library_{id}_chunks, unnest(terms) t GROUP BY \
                 t; UPDATE libraries SET complete = {is_complete}"
            ))
            .await;
        let home = in_database.open().await;
        // The files have other stamps, as on another machine.
        fill(&in_database.path(), 30);
        let next = library(home.clone(), 10, Vectors::OfWords);
        ready(&next).await;
        assert_eq!(ask(&next, |library| library.searched_in()).await, SearchedIn::Database);
        assert_eq!(sources(&next, "river bridge").await, expected);
        assert_eq!(in_database.rows("chunks").await, chunks);
        home.release_claim().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_the_home_does_not_index() {
    let Some(in_database) = InDatabase::new().await else { return };
    let first = in_database.open().await;
    fill(&in_database.path(), 30);
    let of_first = library(first.clone(), 10, Vectors::None);
    ready(&of_first).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let second = in_database.open_at(&elsewhere.path().join("home")).await;
    fill(&elsewhere.path().join("home"), 30);
    let of_second = library(second, 10, Vectors::None);
    ready(&of_second).await;
    let files = in_database.rows("files").await;

    fs::write(in_database.path().join("knowledge/late.txt"), "A quokka is late.").unwrap();
    let refused = ask(&of_first, |library| library.search("quokka", SearchOptions::best(3)).err()).await;
    assert!(refused.is_some_and(|error| error.to_string().contains("another server")));
    assert_eq!(in_database.rows("files").await, files);
    assert!(sources(&of_second, "quokka").await.is_empty());
    assert!(!sources(&of_second, "river bridge").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_of_people_are_apart() {
    let Some(in_database) = InDatabase::new().await else { return };
    let mut homes = Vec::new();
    for person in ["ann", "ben"] {
        let key = HomeId::Person(AccountId::parse(person).unwrap());
        let folder = in_database.folder.path().join(person);
        let home = in_database.open_of(&key, &folder).await;
        fill(&folder, 30);
        fs::write(folder.join("knowledge/own.txt"), format!("A secret of {person}.")).unwrap();
        let library = library(home, 10, Vectors::OfWords);
        ready(&library).await;
        assert_eq!(ask(&library, |library| library.searched_in()).await, SearchedIn::Database);
        homes.push((person, key, library));
    }
    for (person, _, library) in &homes {
        let hits = search(library, "secret").await.hits;
        assert!(
            hits[0].text.contains(person)
                && hits.iter().all(|hit| !hit.text.contains("secret of ") || hit.text.contains(person))
        );
    }
    let remove = format!("DELETE FROM homes WHERE home_id = '{}'", homes[0].1.uuid());
    in_database.database.execute("DELETE FROM facts; DELETE FROM files; DELETE FROM pieces").await;
    in_database.database.execute(&remove).await;
    assert_eq!(in_database.tables().await, 4);
    assert_eq!(sources(&homes[1].2, "secret").await[0], "knowledge/own.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_home_removes_its_libraries() {
    let Some(in_database) = InDatabase::new().await else { return };
    let home = in_database.open().await;
    fill(&in_database.path(), 30);
    let library = library(home, 10, Vectors::OfWords);
    ready(&library).await;
    assert_eq!(in_database.tables().await, 4);
    let remove = "DELETE FROM facts; DELETE FROM files; DELETE FROM pieces; DELETE FROM homes";
    in_database.database.execute(remove).await;
    assert_eq!(in_database.tables().await, 0);
    assert_eq!(in_database.number("SELECT count(*) FROM libraries").await, 0);
}
