//! Tests of late interaction in a library: in idle time, by one model, interrupted at any moment.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::background::Task;
use super::{IndexStorage, Library, LibrarySettings, LibrarySource, SearchOptions};
use crate::domain::knowledge::{Search, WeightReason};
use crate::domain::{EmbedError, EmbeddedText, Embedder, EmbeddingInput, Root, TokenEmbedder, TokenVector};
use crate::extraction::Extractor;
use crate::retrieval::{ChunkLimits, Ranking};
use crate::sandbox::{Level, Sandbox, SandboxConfig};
use crate::store::Home;

const DIMENSION: usize = 16;

/// A model that knows which words mean the same. Its pieces are words, and the vector of a text is the mean of theirs.
#[derive(Default)]
struct Words {
    /// Number of texts, by the pass that embedded them: without pieces, and with them.
    whole: AtomicUsize,
    with_pieces: AtomicUsize,
}

impl Words {
    fn vector(word: &str) -> Vec<f32> {
        let meaning = if word == "physician" { "doctor" } else { word };
        let hash = crc32fast::hash(meaning.as_bytes());
        (0..DIMENSION as u32).map(|at| (hash.rotate_left(2 * at) % 201) as f32 / 100.0 - 1.0).collect()
    }

    fn embedded(text: &str) -> EmbeddedText {
        let word = |word: &str| TokenVector {
            piece: crc32fast::hash(word.as_bytes()) % 1000,
            start: word.as_ptr().addr() - text.as_ptr().addr(),
            vector: Self::vector(word.trim_matches(|c: char| !c.is_alphanumeric())),
        };
        let tokens: Vec<TokenVector> = text.split_whitespace().map(word).collect();
        let mut vector = vec![1e-3; DIMENSION];
        tokens.iter().for_each(|token| vector.iter_mut().zip(&token.vector).for_each(|(sum, value)| *sum += value));
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
        EmbeddedText { vector, tokens }
    }
}

impl Embedder for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn weight(&self) -> f64 {
        0.3
    }

    fn embed(&self, _: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.whole.fetch_add(texts.len(), Ordering::SeqCst);
        Ok(texts.iter().map(|text| Self::embedded(text).vector).collect())
    }
}

impl TokenEmbedder for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn embed_tokens(&self, _: EmbeddingInput, text: &str) -> Result<EmbeddedText, EmbedError> {
        self.with_pieces.fetch_add(1, Ordering::SeqCst);
        Ok(Self::embedded(text))
    }
}

/// Whether a library has late interaction.
#[derive(Clone, Copy, PartialEq)]
enum Late {
    On,
    Off,
}

fn library(home: &Path, words: &Arc<Words>, late: Late) -> Library {
    library_that_waits(home, words, (late, Arc::new(|| ())))
}

fn library_that_waits(home: &Path, words: &Arc<Words>, waiting: (Late, Arc<dyn Fn() + Send + Sync>)) -> Library {
    library_of(&Home::open(home).unwrap(), words, waiting)
}

fn library_of(
    home: &Home,
    words: &Arc<Words>,
    (late, wait_for_idle_time): (Late, Arc<dyn Fn() + Send + Sync>),
) -> Library {
    let (whole, pieces) = (words.clone(), words.clone());
    let settings = LibrarySettings {
        source: LibrarySource::Folder(Root::Knowledge),
        keep: IndexStorage::OnDisk,
        limits: ChunkLimits::default(),
        ranking: Ranking::default(),
        embedder: Arc::new(move || Ok(whole.clone())),
        tokens: Arc::new(move || Ok((late == Late::On).then(|| pieces.clone() as Arc<dyn TokenEmbedder>))),
        wait_for_idle_time,
        database_from: None,
        extractor: Extractor::new(Sandbox::new(SandboxConfig::new(Level::Standard))),
    };
    Library::new(home.clone(), settings)
}

/// Fills knowledge/ with notes, each of which is a chunk.
fn fill(home: &Path, notes: usize) {
    std::fs::create_dir_all(home.join("knowledge")).unwrap();
    for number in 0..notes {
        let text = match number {
            0 => "The physician comes on Monday.".to_owned(),
            1 => "Which day is it? It is Monday, the day of the market, and Monday again.".to_owned(),
            _ => format!("Note {number} is about rain and snow."),
        };
        std::fs::write(home.join(format!("knowledge/{number}.md")), text).unwrap();
    }
}

const QUESTION: &str = "day of the doctor Monday";

fn ask(library: &Arc<Library>) -> Search {
    library.search(QUESTION, SearchOptions::best(5)).unwrap()
}

/// Returns everything of an answer that is not a time.
fn shown(search: &Search) -> serde_json::Value {
    serde_json::to_value((&search.hits, &search.near_misses, &search.weights)).unwrap()
}

fn sources(search: &Search) -> Vec<&str> {
    search.hits.iter().map(|hit| hit.source.as_str()).collect()
}

/// Returns the answer of a library that computes everything anew.
fn rebuilt(notes: usize, late: Late) -> serde_json::Value {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), notes);
    let library = Arc::new(library(home.path(), &Arc::default(), late));
    library.wait_until_ready().unwrap();
    shown(&ask(&library))
}

/// A gate at which a thread stops: it reports, and waits for the word to go on.
fn gate() -> (Arc<dyn Fn() + Send + Sync>, Receiver<()>, Sender<()>) {
    let ((tell, told), (open, opened)) = (channel(), channel::<()>());
    let inner = Mutex::new((tell, opened));
    let wait = move || {
        let inner = inner.lock().unwrap();
        let _ = inner.0.send(());
        // An error means that the gate is open for good.
        let _ = inner.1.recv();
    };
    (Arc::new(wait), told, open)
}

#[test]
fn rank_changes_once_pieces_are_there() {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), 12);
    let words = Arc::default();
    // The vectors of whole texts are there, as in a home of before.
    Arc::new(library(home.path(), &words, Late::Off)).wait_until_ready().unwrap();
    let (wait, told, open) = gate();
    let library = Arc::new(library_that_waits(home.path(), &words, (Late::On, wait)));
    ask(&library);
    told.recv().unwrap();
    let before = ask(&library);
    assert_eq!(shown(&before), rebuilt(12, Late::Off), "as without late interaction");
    assert_eq!((sources(&before)[0], before.weights.late), ("knowledge/1.md", None));
    drop(open);
    library.background.wait(Task::MakeVectors, Duration::MAX);
    let after = ask(&library);
    assert_eq!(shown(&after), rebuilt(12, Late::On));
    assert_ne!(sources(&after), sources(&before));
    assert!(after.weights.late.is_some() && after.weights.reason == WeightReason::Balanced);
}

#[test]
fn one_pass_gives_vectors_of_texts_and_pieces() {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), 80);
    let words: Arc<Words> = Arc::default();
    let library = Arc::new(library(home.path(), &words, Late::On));
    library.wait_until_ready().unwrap();
    let counts = || (words.whole.load(Ordering::SeqCst), words.with_pieces.load(Ordering::SeqCst));
    assert_eq!(counts(), (0, 80));
    let found = ask(&library);
    assert_eq!((found.embedded.done, found.embedded.total, counts()), (80, 80, (0, 81)), "also of a question");
}

#[test]
fn too_large_index_has_no_late_interaction() {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), 12);
    let words: Arc<Words> = Arc::default();
    let mut large = library(home.path(), &words, Late::On);
    large.late_limit = 11;
    let large = Arc::new(large);
    large.wait_until_ready().unwrap();
    assert_eq!(shown(&ask(&large)), rebuilt(12, Late::Off));
    assert_eq!(words.with_pieces.load(Ordering::SeqCst), 0);
    std::fs::remove_file(home.path().join("knowledge/11.md")).unwrap();
    ask(&large);
    large.background.wait(Task::MakeVectors, Duration::MAX);
    assert_eq!(shown(&ask(&large)), rebuilt(11, Late::On));
}

#[test]
fn closed_library_leaves_its_caches_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 12);
    let home = Home::open(folder.path()).unwrap();
    let (wait, told, open) = gate();
    let before = Arc::new(library_of(&home, &Arc::default(), (Late::On, wait)));
    before.warm();
    told.recv().unwrap();
    let closing = std::thread::spawn({
        let before = before.clone();
        move || before.close()
    });
    while !before.is_closed() {
        std::thread::yield_now();
    }
    drop(open);
    closing.join().unwrap();
    assert!(!before.background.is_busy(), "computing has ended");
    // The one before is still held, as by a search that is under way.
    fill(folder.path(), 13);
    let words: Arc<Words> = Arc::default();
    let next = Arc::new(library_of(&home, &words, (Late::On, Arc::new(|| ()))));
    next.wait_until_ready().unwrap();
    assert_eq!(shown(&ask(&next)), rebuilt(13, Late::On));
    assert!(words.with_pieces.load(Ordering::SeqCst) > 0, "most was not computed yet");
    before.refresh().unwrap();
    assert!(!before.background.is_busy() && !ask(&before).hits.is_empty(), "it answers from what was indexed");
}

#[test]
fn vectors_of_unused_local_model_are_dropped() {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), 3);
    let folder = home.path().join("storage/retrieval");
    std::fs::create_dir_all(&folder).unwrap();
    let kept = ["knowledge-text-embedding-3-small.vectors", "memory-use-multilingual-v3.1.vectors"];
    let dropped = crate::retrieval::LOCAL_MODELS.map(|model| format!("knowledge-{model}.vectors"));
    kept.iter().copied().chain(dropped.iter().map(String::as_str)).for_each(|name| {
        std::fs::write(folder.join(name), "x").unwrap();
    });
    let library = Arc::new(library(home.path(), &Arc::default(), Late::On));
    library.wait_until_ready().unwrap();
    assert!(dropped.iter().all(|name| !folder.join(name).exists()));
    assert!(kept.iter().all(|name| folder.join(name).exists()), "those of a service cost something");
    assert_eq!(ask(&library).embedded.done, 3);
}

/// The environment variable that makes the next test the process that is killed: its home.
const VICTIM: &str = "MINICLAW_TEST_PIECES_HOME";
const NOTES: usize = 90;

#[test]
fn killed_computing_is_completed_by_the_next_start() {
    if let Some(home) = std::env::var_os(VICTIM) {
        let words = Arc::default();
        // After each chunk it says so, and waits for the answer of the one who kills it.
        let wait = || {
            println!("computed");
            let _ = std::io::stdin().read_line(&mut String::new());
        };
        let library = library_that_waits(Path::new(&home), &words, (Late::On, Arc::new(wait)));
        Arc::new(library).wait_until_ready().unwrap();
        return;
    }
    let expected = rebuilt(NOTES, Late::On);
    // In the sample for the mean, right after it, and in the rest.
    for chunks in [5, 46, 70, NOTES - 1] {
        let home = tempfile::tempdir().unwrap();
        fill(home.path(), NOTES);
        killed_after(home.path(), chunks);
        let words: Arc<Words> = Arc::default();
        let library = Arc::new(library(home.path(), &words, Late::On));
        library.wait_until_ready().unwrap();
        assert_eq!(shown(&ask(&library)), expected, "killed after {chunks}");
    }
}

/// Starts this test in a process of its own, and kills it after it has computed so many chunks.
fn killed_after(home: &Path, chunks: usize) {
    use std::io::{BufRead, BufReader, Write};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "library::pieces_tests::killed_computing_is_completed_by_the_next_start"])
        .env(VICTIM, home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut go_on = child.stdin.take().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    for _ in said.filter(|line| line.ends_with("computed")).take(chunks) {
        go_on.write_all(b"\n").unwrap();
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it did not end by itself");
}
