//! Tests that nothing of a conversation that is deleted for ever stays in the caches.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::{explained, found, library_with, message, write};
use crate::domain::{EmbedError, EmbeddedText, Embedder, EmbeddingInput, SessionId, TokenEmbedder, TokenVector};
use crate::library::{IndexStorage, Library, LoadEmbedder};
use crate::store::Home;

/// A model whose vectors depend on the text alone. It keeps what it was asked to embed.
#[derive(Default)]
struct Recording {
    made: Mutex<BTreeMap<String, Vec<f32>>>,
    asked: Mutex<Vec<String>>,
    /// Tells that a text with the marker is being embedded, and waits for the word to go on.
    pause: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Embedder for Recording {
    fn id(&self) -> &str {
        "recording"
    }

    fn dimension(&self) -> usize {
        8
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn weight(&self) -> f64 {
        0.2
    }

    fn embed(&self, side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| text.contains(MARKER))
            && let Some((tell, go_on)) = self.pause.lock().unwrap().take()
        {
            tell.send(()).unwrap();
            go_on.recv().unwrap();
        }
        let vectors = texts.iter().map(|text| {
            let bytes = crate::retrieval::chunk_index::key(text).to_le_bytes();
            let values = bytes.map(|byte| f32::from(byte) - 127.5);
            let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
            let vector: Vec<f32> = values.iter().map(|value| value / length).collect();
            if side == EmbeddingInput::Passage {
                self.asked.lock().unwrap().push((*text).to_owned());
                self.made.lock().unwrap().insert((*text).to_owned(), vector.clone());
            }
            vector
        });
        Ok(vectors.collect())
    }
}

impl Recording {
    fn load(self: &Arc<Self>) -> LoadEmbedder {
        let model = self.clone();
        Arc::new(move || Ok(model.clone()))
    }

    /// Returns the bytes of the vectors of texts with these words.
    fn bytes_of(&self, words: &str) -> Vec<Vec<u8>> {
        let made = self.made.lock().unwrap();
        let of = made.iter().filter(|(text, _)| text.contains(words));
        of.map(|(_, vector)| vector.iter().flat_map(|value| value.to_le_bytes()).collect()).collect()
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

const MARKER: &str = "Zelnikovic";

/// Returns the names of the caches that hold these bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(holding(&path, bytes));
        } else if fs::read(&path).unwrap().windows(bytes.len()).any(|window| window.eq_ignore_ascii_case(bytes)) {
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    names
}

/// Twelve conversations, of which one is about the landlord.
fn conversations() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    for number in 0..12 {
        let text = match number {
            7 => format!("My landlord is called {MARKER}, and the rent is due on Friday."),
            _ => format!("Penguin number {number} swims in harbour {}.", number % 3),
        };
        write(folder.path(), &format!("s{number}"), &json!({"title": "", "messages": [message("q1", &text)]}));
    }
    (folder, home)
}

/// Deletes the conversation as the server does: first for a person to restore, then for ever.
fn delete_for_ever(folder: &Path, library: &Library) {
    fs::remove_file(folder.join("sessions/s7.json")).unwrap();
    library.purge(&SessionId::parse("s7").unwrap()).unwrap();
}

#[test]
fn purge_removes_one_conversation_and_keeps_the_others() {
    let (folder, home) = conversations();
    let model = Arc::new(Recording::default());
    let library = library_with(&home, IndexStorage::OnDisk, model.load());
    assert_eq!(found(&library, "landlord").len(), 1);
    library.wait_until_ready().unwrap();
    let caches = folder.path().join("storage/retrieval");
    let [vector] = &model.bytes_of(MARKER)[..] else { panic!("one chunk has the word") };
    assert!(!holding(&caches, MARKER.as_bytes()).is_empty(), "what is looked for can be found");
    assert_eq!(holding(&caches, vector), ["conversations-recording.vectors"]);
    let asked = model.asked();
    delete_for_ever(folder.path(), &library);
    assert_eq!(holding(&caches, MARKER.as_bytes()), [""; 0]);
    assert_eq!(holding(&caches, vector), [""; 0]);
    assert!(found(&library, "landlord rent").iter().all(|(place, _)| place != "s7:q1"), "only by meaning, and others");
    library.wait_until_ready().unwrap();
    assert_eq!(model.asked(), asked, "nothing of the others is embedded again");
    for other in model.bytes_of("Penguin") {
        assert_eq!(holding(&caches, &other), ["conversations-recording.vectors"]);
    }
    let rebuilt = library_with(&home, IndexStorage::InMemory, model.load());
    rebuilt.wait_until_ready().unwrap();
    for query in ["penguin 3", "harbour"] {
        assert_eq!(explained(&library, query), explained(&rebuilt, query), "{query}");
    }
}

/// A model whose pieces are words, each named by its checksum.
struct Words;

impl TokenEmbedder for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn dimension(&self) -> usize {
        8
    }

    fn embed_tokens(&self, _: EmbeddingInput, text: &str) -> Result<EmbeddedText, EmbedError> {
        let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
        let token = |word: &str| TokenVector {
            piece: crc32fast::hash(word.trim_end_matches(|c: char| !c.is_alphanumeric()).as_bytes()),
            start: word.as_ptr().addr() - text.as_ptr().addr(),
            vector: vec![0.25; 8],
        };
        Ok(EmbeddedText { vector: vec![0.25; 8], tokens: words.map(token).collect() })
    }
}

#[test]
fn purge_removes_pieces_of_the_conversation() {
    let (folder, home) = conversations();
    let open = || {
        let mut library = library_with(&home, IndexStorage::OnDisk, Arc::new(Recording::default()).load());
        let opened = Arc::get_mut(&mut library).expect("nobody else has it yet");
        opened.settings.tokens = Arc::new(|| Ok(Some(Arc::new(Words))));
        library
    };
    let caches = folder.path().join("storage/retrieval");
    let holding_word = |word: &str| holding(&caches, &crc32fast::hash(word.as_bytes()).to_le_bytes());
    let library = open();
    library.wait_until_ready().unwrap();
    assert_eq!(holding_word(MARKER), ["conversations-words.tokens"]);
    delete_for_ever(folder.path(), &library);
    assert_eq!(
        (holding_word(MARKER), holding_word("Penguin")),
        (vec![], vec!["conversations-words.tokens".to_owned()])
    );
    library.wait_until_ready().unwrap();
    assert_eq!(holding_word(MARKER), [""; 0]);
}

#[test]
fn purge_reaches_indexes_that_nothing_has_opened() {
    let (folder, home) = conversations();
    let model = Arc::new(Recording::default());
    let before = library_with(&home, IndexStorage::OnDisk, model.load());
    before.wait_until_ready().unwrap();
    // The thread that made the vectors ends soon. Whoever is last closes the files, so that must be this thread.
    while Arc::strong_count(&before) > 1 {
        std::thread::yield_now();
    }
    drop(before);
    let caches = folder.path().join("storage/retrieval");
    fs::write(caches.join("conversations-recording.vectors.next"), MARKER).unwrap();
    fs::write(caches.join("conversations-other.vectors"), MARKER).unwrap();
    let [vector] = &model.bytes_of(MARKER)[..] else { panic!("one chunk has the word") };
    let library = library_with(&home, IndexStorage::OnDisk, Arc::new(|| Err(EmbedError::Missing("none".to_owned()))));
    delete_for_ever(folder.path(), &library);
    assert_eq!(holding(&caches, MARKER.as_bytes()), [""; 0]);
    assert_eq!(holding(&caches, vector), [""; 0]);
    let asked = model.asked();
    let after = library_with(&home, IndexStorage::OnDisk, model.load());
    after.wait_until_ready().unwrap();
    assert_eq!((found(&after, "penguin 3").len(), model.asked()), (5, asked));
}

#[test]
fn purge_while_vectors_are_made_leaves_none() {
    let (folder, home) = conversations();
    let model = Arc::new(Recording::default());
    let (tell, told) = channel();
    let (go_on, word) = channel();
    *model.pause.lock().unwrap() = Some((tell, word));
    let library = library_with(&home, IndexStorage::OnDisk, model.load());
    let embedding = library.clone();
    let thread = std::thread::spawn(move || embedding.wait_until_ready().unwrap());
    told.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    delete_for_ever(folder.path(), &library);
    go_on.send(()).unwrap();
    thread.join().unwrap();
    let [vector] = &model.bytes_of(MARKER)[..] else { panic!("one chunk has the word") };
    let caches = folder.path().join("storage/retrieval");
    assert_eq!(holding(&caches, vector), [""; 0], "what was made of it went into a file that is gone");
    assert_eq!(holding(&caches, MARKER.as_bytes()), [""; 0]);
    library.wait_until_ready().unwrap();
    assert_eq!(holding(&caches, &model.bytes_of("number 3")[0]), ["conversations-recording.vectors"]);
}
