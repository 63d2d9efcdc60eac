//! Tests of the search in conversations while their files change.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::background::Task;
use super::recall::{RecallQuery, RecalledPassage};
use super::{IndexStorage, Library, LibrarySettings, LibrarySource, LoadEmbedder};
use crate::domain::{EmbedError, SessionId, Taint, TranscriptKind};
use crate::extraction::Extractor;
use crate::retrieval::{ChunkLimits, Ranking};
use crate::sandbox::{Level, Sandbox, SandboxConfig};
use crate::store::Home;

mod bad_input_tests;
mod large_tests;
mod purge_tests;

fn library(home: &Home, keep: IndexStorage) -> Arc<Library> {
    library_with(home, keep, Arc::new(|| Err(EmbedError::Missing("there is none here".to_owned()))))
}

fn library_with(home: &Home, keep: IndexStorage, embedder: LoadEmbedder) -> Arc<Library> {
    let settings = LibrarySettings {
        source: LibrarySource::Conversations(TranscriptKind::Messages),
        keep,
        limits: ChunkLimits::default(),
        ranking: Ranking::default(),
        embedder,
        tokens: Arc::new(|| Ok(None)),
        wait_for_idle_time: Arc::new(|| ()),
        database_from: None,
        extractor: Extractor::new(Sandbox::new(SandboxConfig::new(Level::Standard))),
    };
    Arc::new(Library::new(home.clone(), settings))
}

fn query(text: &str) -> RecallQuery<'_> {
    let patience = Duration::MAX;
    RecallQuery { text, limit: 5, patience, vector_weight: None, except: None, untainted: false, only: None }
}

fn recall(library: &Arc<Library>, text: &str) -> Vec<RecalledPassage> {
    library.recall(&query(text)).unwrap().passages
}

/// Returns what was found: the place and the words of each quote.
fn found(library: &Arc<Library>, text: &str) -> Vec<(String, String)> {
    let passages = recall(library, text);
    let quotes = passages.iter().flat_map(|passage| {
        passage.quotes.iter().map(|quote| (format!("{}:{}", passage.session, quote.message_id), quote.text.clone()))
    });
    quotes.collect()
}

fn message(id: &str, text: &str) -> Value {
    let role = if id.len().is_multiple_of(2) { "user" } else { "assistant" };
    json!({"role": role, "id": id, "content": text, "created_at": 1_683_554_160.0})
}

fn write(folder: &Path, id: &str, session: &Value) {
    let path = folder.join(format!("sessions/{id}.json"));
    // As the server does, so that every version is another file.
    let next = folder.join("sessions/next");
    fs::write(&next, session.to_string()).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn words_are_found_with_their_message_until_they_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    assert_eq!(found(&library, "penguins"), []);
    let mut session =
        json!({"title": "Birds", "messages": [message("q1", "Penguins swim."), message("a", "They do.")]});
    write(folder.path(), "s", &session);
    let both = [("s:q1".to_owned(), "Penguins swim.".to_owned()), ("s:a".to_owned(), "They do.".to_owned())];
    assert_eq!(found(&library, "penguins"), both);
    assert_eq!(recall(&library, "penguins")[0].taint, [Taint::Imported], "this home did not write the file");
    session["deleted"] = json!([{"messages": [session["messages"][0].take()]}]);
    session["messages"] = json!([message("a", "They do.")]);
    write(folder.path(), "s", &session);
    assert_eq!(found(&library, "penguins"), []);
    session["deleted"] = json!([]);
    session["branches"] = json!([{"messages": [message("b", "Penguins cannot fly.")]}]);
    write(folder.path(), "s", &session);
    assert_eq!(found(&library, "penguins"), [("s:b".to_owned(), "Penguins cannot fly.".to_owned())]);
    session["chosen"] = json!({"not_for_recall": true});
    write(folder.path(), "s", &session);
    assert_eq!(found(&library, "penguins"), []);
    session["chosen"] = json!({});
    write(folder.path(), "s", &session);
    assert_eq!(found(&library, "penguins").len(), 1);
    fs::remove_file(folder.path().join("sessions/s.json")).unwrap();
    assert_eq!(found(&library, "penguins"), []);
}

#[test]
fn nothing_of_what_changes_between_search_and_use_is_returned() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let session = |text: &str| json!({"messages": [message("q1", text)]});
    write(folder.path(), "s", &session("Penguins swim."));
    write(folder.path(), "t", &session("Penguins walk."));
    assert_eq!(found(&library, "penguins").len(), 2);
    let deletes = |path: &Path| fs::remove_file(path).unwrap();
    let (folder, hidden) = (folder.path().to_owned(), std::sync::atomic::AtomicBool::new(false));
    let only = |passage: &RecalledPassage| {
        // Both are deleted while the first result is looked at.
        if !hidden.swap(true, std::sync::atomic::Ordering::Relaxed) {
            ["s", "t"].into_iter().for_each(|id| deletes(&folder.join(format!("sessions/{id}.json"))));
        }
        !passage.quotes.is_empty()
    };
    let query = RecallQuery { only: Some(&only), ..query("penguins") };
    let recalled = library.recall(&query).unwrap();
    assert!(recalled.passages.is_empty() && recalled.search.hits.is_empty());
}

#[test]
fn passage_is_used_only_while_its_files_say_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let session = json!({"messages": [message("q1", "Penguins swim."), message("q2", "Tea.")]});
    write(folder.path(), "s", &session);
    let [passage] = &recall(&library, "penguins")[..] else { panic!("one is found") };
    assert!(library.still_says(passage));
    let mut other = session.clone();
    other["messages"][1]["content"] = json!("Coffee. Tea.");
    write(folder.path(), "s", &other);
    assert!(library.still_says(passage), "it is read again");
    other["chosen"] = json!({"not_for_recall": true});
    write(folder.path(), "s", &other);
    assert!(!library.still_says(passage), "excluded");
    write(folder.path(), "s", &json!({"messages": [], "deleted": [session.clone()]}));
    assert!(!library.still_says(passage), "deleted");
    write(folder.path(), "s", &session);
    assert!(library.still_says(passage));
    fs::remove_file(folder.path().join("sessions/s.json")).unwrap();
    assert!(!library.still_says(passage));
}

#[test]
fn one_conversation_is_searched_without_the_index_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    write(folder.path(), "other", &json!({"messages": [message("q1", "Penguins fly.")]}));
    let session =
        json!({"messages": [{"role": "user", "content": "Penguins swim."}, message("q 2", "Penguins walk.")]});
    write(folder.path(), "s", &session);
    let id = SessionId::parse("s").unwrap();
    let record = home.stored_conversation(&id).unwrap();
    let passages = library.recall_in((&id, &record), ("penguins", 3)).unwrap();
    let quotes = passages.iter().flat_map(|passage| &passage.quotes);
    let quotes: Vec<_> = quotes.map(|quote| (quote.message_id.as_str(), quote.text.as_str())).collect();
    assert_eq!(quotes, [("m0", "Penguins swim."), ("m1", "Penguins walk.")]);
    assert!(!folder.path().join("storage/retrieval/conversations").exists());
}

#[test]
fn search_reads_only_what_it_may_find_and_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    write(folder.path(), "s", &json!({"messages": [message("q1", "Penguins swim.")]}));
    let id = SessionId::parse("s").unwrap();
    assert_eq!(library.recall(&query("penguins")).unwrap().passages.len(), 1);
    assert!(library.conversation_heads().tainted.contains(&id), "this home did not write it");
    let untainted = RecallQuery { untainted: true, ..query("penguins") };
    assert!(library.recall(&untainted).unwrap().passages.is_empty());
    let others = RecallQuery { except: Some(&id), ..query("penguins") };
    assert!(library.recall(&others).unwrap().passages.is_empty());
    let archive = folder.path().join("sessions/archive");
    fs::create_dir_all(&archive).unwrap();
    let large = fs::File::create(archive.join("s_20261128T070000.000Z.json")).unwrap();
    large.set_len(300 << 20).unwrap();
    let recalled = library.recall(&query("penguins")).unwrap();
    assert_eq!((recalled.passages.len(), recalled.unreadable), (0, 1), "it is not read, and counted");
}

#[test]
fn passage_has_few_quotes_and_characters() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let messages: Vec<Value> = (0..200).map(|number| message(&format!("n{number}"), "Penguin")).collect();
    write(folder.path(), "many", &json!({"messages": messages}));
    write(folder.path(), "blank", &json!({"messages": [message("q1", &format!("Walrus{}seal", " ".repeat(90_000)))]}));
    for query in ["penguin", "walrus seal"] {
        let passage = recall(&library, query).swap_remove(0);
        let characters: usize = passage.quotes.iter().map(|quote| quote.text.chars().count()).sum();
        assert!((1..=24).contains(&passage.quotes.len()) && characters <= 4_500, "{query}: {characters}");
        assert!(passage.hit.text.chars().count() <= 4_500);
    }
}

#[test]
fn damaged_archive_is_counted_and_the_rest_found() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let name = "s_20261128T070000.000Z.json";
    let archive = folder.path().join("sessions/archive").join(name);
    fs::create_dir_all(&archive).unwrap();
    let part = json!({"archive": name, "count": 1, "summary": "s"});
    write(folder.path(), "s", &json!({"messages": [message("q1", "Penguins swim.")], "archived": [part]}));
    assert_eq!(found(&library, "penguins"), [], "a folder in its place may be gone later");
    fs::remove_dir(&archive).unwrap();
    fs::write(&archive, "[{").unwrap();
    let recalled = library.recall(&query("penguins")).unwrap();
    assert_eq!((recalled.passages.len(), recalled.unreadable), (1, 1));
    fs::write(&archive, json!([message("q0", "Penguins fly.")]).to_string()).unwrap();
    // The next look at all files finds it: nothing else in the folder of the sessions has changed.
    write(folder.path(), "s", &json!({"messages": [message("q2", "Penguins walk.")], "archived": [part]}));
    let recalled = library.recall(&query("penguins")).unwrap();
    assert_eq!((recalled.passages.len(), recalled.unreadable), (2, 0));
}

#[test]
fn search_does_not_wait_for_a_build() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    write(folder.path(), "s", &json!({"messages": [message("q1", "Penguins swim.")]}));
    assert_eq!(found(&library, "penguins").len(), 1);
    let (end, ended) = std::sync::mpsc::channel::<()>();
    library.spawn_background(Task::BuildIndex, move |library, running| {
        let _index = library.lock(&library.index);
        let _ = ended.recv();
        drop(running);
    });
    let (answer, answered) = std::sync::mpsc::channel();
    let searching = library.clone();
    std::thread::spawn(move || {
        let query = RecallQuery { patience: Duration::ZERO, ..query("penguins") };
        let _ = answer.send(searching.recall(&query).map(|recalled| recalled.passages.len()).ok());
    });
    let answered = answered.recv_timeout(Duration::from_secs(60));
    drop(end);
    assert_eq!(answered, Ok(Some(1)));
}

#[test]
fn damaged_and_newer_conversations_are_counted_and_others_found() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    write(folder.path(), "s", &json!({"messages": [message("q1", "Penguins swim.")]}));
    write(folder.path(), "newer", &json!({"format": 99, "messages": [message("q2", "Penguins fly.")]}));
    fs::write(folder.path().join("sessions/cut.json"), r#"{"messages": [{"role": "user", "content": "Peng"#).unwrap();
    let query = query("penguins");
    let recalled = library.recall(&query).unwrap();
    assert_eq!((recalled.passages.len(), recalled.unreadable), (1, 2));
    assert!(folder.path().join("sessions/cut.json").is_file(), "a search moves nothing");
    write(folder.path(), "cut", &json!({"messages": [message("q3", "Penguins are mended.")]}));
    let recalled = library.recall(&query).unwrap();
    assert_eq!((recalled.passages.len(), recalled.unreadable), (2, 1));
}

#[test]
fn unusable_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    for number in 0..20 {
        let text = format!("Penguin number {number} swims.");
        write(folder.path(), &format!("s{number}"), &json!({"messages": [message("q1", &text)]}));
    }
    let expected = found(&library(&home, IndexStorage::InMemory), "penguin 7");
    assert_eq!(expected.len(), 5);
    let index = folder.path().join("storage/retrieval/conversations");
    let check = |why: &str| assert_eq!(found(&library(&home, IndexStorage::OnDisk), "penguin 7"), expected, "{why}");
    check("a new one");
    check("the one on disk");
    let meta = fs::read_to_string(index.join("meta.json")).unwrap();
    fs::write(index.join("meta.json"), meta.replace("miniclaw index", "another index")).unwrap();
    check("one of another version");
    fs::write(index.join("meta.json"), &meta[..meta.len() / 2]).unwrap();
    check("a cut one");
    fs::remove_dir_all(&index).unwrap();
    check("a deleted one");
}

#[test]
fn cleared_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    write(folder.path(), "s", &json!({"messages": [message("q1", "Penguins swim.")]}));
    assert_eq!(found(&library, "penguins").len(), 1);
    let cache = |name: &str| folder.path().join("storage/retrieval").join(name);
    let vectors = ["conversations-model.vectors", "conversations-model.tokens", "conversations-model.tokens.next"];
    for name in vectors.into_iter().chain(["knowledge-model.vectors"]) {
        fs::write(cache(name), "x").unwrap();
    }
    fs::remove_file(folder.path().join("sessions/s.json")).unwrap();
    library.clear().unwrap();
    assert!(!cache("conversations").exists() && vectors.iter().all(|name| !cache(name).exists()));
    assert!(cache("knowledge-model.vectors").exists(), "it is of other texts");
    assert_eq!(found(&library, "penguins"), []);
}

/// A change of the conversations. Numbers choose a conversation, a message and words.
#[derive(Clone, Debug)]
enum Edit {
    Append(usize, usize, usize),
    Rewrite(usize, usize, usize),
    Delete(usize, usize),
    Branch(usize, usize),
    Compact(usize, usize),
    Title(usize, usize),
    Exclude(usize, bool),
    Remove(usize),
    Damage(usize),
    Restart,
    DeleteIndex,
}

fn edit() -> impl Strategy<Value = Edit> {
    let (session, at, words) = (0..4usize, 0..6usize, 0..WORDS.len());
    prop_oneof![
        6 => (session.clone(), at.clone(), words.clone()).prop_map(|(a, b, c)| Edit::Append(a, b, c)),
        2 => (session.clone(), at.clone(), words.clone()).prop_map(|(a, b, c)| Edit::Rewrite(a, b, c)),
        2 => (session.clone(), at.clone()).prop_map(|(a, b)| Edit::Delete(a, b)),
        1 => (session.clone(), at.clone()).prop_map(|(a, b)| Edit::Branch(a, b)),
        1 => (session.clone(), at).prop_map(|(a, b)| Edit::Compact(a, b)),
        1 => (session.clone(), words).prop_map(|(a, b)| Edit::Title(a, b)),
        1 => (session.clone(), any::<bool>()).prop_map(|(a, b)| Edit::Exclude(a, b)),
        1 => session.clone().prop_map(Edit::Remove),
        1 => session.prop_map(Edit::Damage),
        1 => Just(Edit::Restart),
        1 => Just(Edit::DeleteIndex),
    ]
}

const WORDS: [&str; 6] =
    ["penguins swim far", "oolong tea", "the harbour at night", "三月的发票", "tea for penguins", "snow"];

/// The conversations of a home as the test knows them.
struct Conversations<'a> {
    folder: &'a Path,
    sessions: [Option<Value>; 4],
    messages: usize,
}

impl Conversations<'_> {
    fn name(number: usize) -> String {
        ["a", "a-b", "a_b", "z"][number].to_owned()
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut Value, &mut usize)) {
        let session = self.sessions[number].get_or_insert_with(|| json!({"title": "", "messages": []}));
        change(session, &mut self.messages);
        write(self.folder, &Self::name(number), session);
    }

    fn apply(&mut self, edit: &Edit) {
        let folder = self.folder;
        match *edit {
            Edit::Append(number, times, words) => self.change(number, |session, made| {
                *made += 1;
                let text = vec![WORDS[words]; 1 + times * times * 8].join(". ");
                session["messages"].as_array_mut().unwrap().push(message(&format!("n{made}"), &text));
            }),
            Edit::Rewrite(number, at, words) => self.change(number, |session, _| {
                if let Some(message) = session["messages"].as_array_mut().unwrap().get_mut(at) {
                    message["content"] = json!(format!("{} again", WORDS[words]));
                }
            }),
            Edit::Delete(number, at) => self.change(number, |session, _| {
                let messages = session["messages"].as_array_mut().unwrap();
                if at < messages.len() {
                    let gone = messages.remove(at);
                    session["deleted"] = json!([{"messages": [gone]}]);
                }
            }),
            Edit::Branch(number, at) => self.change(number, |session, _| {
                let messages = session["messages"].as_array_mut().unwrap();
                let aside = messages.split_off(at.min(messages.len()));
                session["branches"] = json!([{"messages": aside}]);
            }),
            Edit::Compact(number, at) => {
                let name = format!("{}_20261128T07000{}.000Z.json", Self::name(number), self.messages % 10);
                self.change(number, |session, _| {
                    let messages = session["messages"].as_array_mut().unwrap();
                    let rest = messages.split_off(at.min(messages.len()));
                    let older = std::mem::replace(messages, rest);
                    let archive = folder.join("sessions/archive");
                    fs::create_dir_all(&archive).unwrap();
                    fs::write(archive.join(&name), json!(older).to_string()).unwrap();
                    session["archived"] = json!([{"archive": name, "count": older.len(), "summary": "s"}]);
                });
            }
            Edit::Title(number, words) => self.change(number, |session, _| session["title"] = json!(WORDS[words])),
            Edit::Exclude(number, not) => {
                self.change(number, |session, _| session["chosen"] = json!({"not_for_recall": not}));
            }
            Edit::Remove(number) => {
                self.sessions[number] = None;
                let _ = fs::remove_file(folder.join(format!("sessions/{}.json", Self::name(number))));
            }
            Edit::Damage(number) => {
                fs::write(folder.join(format!("sessions/{}.json", Self::name(number))), "{\"mess").unwrap();
            }
            Edit::Restart | Edit::DeleteIndex => {}
        }
    }
}

fn explained(library: &Arc<Library>, query: &str) -> Vec<String> {
    recall(library, query).iter().map(|passage| format!("{passage:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn answers_after_any_edits_equal_those_of_a_rebuild(edits in proptest::collection::vec(edit(), 1..14)) {
        let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
        let mut conversations = Conversations { folder: folder.path(), sessions: Default::default(), messages: 0 };
        let mut followed = library(&home, IndexStorage::OnDisk);
        for edit in &edits {
            conversations.apply(edit);
            if matches!(edit, Edit::Restart | Edit::DeleteIndex) {
                drop(followed);
                if matches!(edit, Edit::DeleteIndex) {
                    let _ = fs::remove_dir_all(folder.path().join("storage/retrieval"));
                }
                followed = library(&home, IndexStorage::OnDisk);
            }
            let rebuilt = library(&home, IndexStorage::InMemory);
            for query in ["penguins tea", "发票", "harbour at night", "snow again"] {
                prop_assert_eq!(explained(&followed, query), explained(&rebuilt, query), "{} after {:?}", query, edit);
            }
        }
    }
}
