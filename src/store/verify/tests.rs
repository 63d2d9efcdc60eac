use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::{
    AnsweredRequest, CallStatus, Event, Fact, Message, NewPicture, Outcome, Place, Role, SentRequest, SentText, Usage,
    WorkId,
};
use crate::store::{
    ChangeSet, Claim, Durability, Expect, FileChange, FileMode, FileState, RequestPosition, SessionLog, SessionWriter,
    etag, picture_hash, sha256,
};

const FILE: &str = "knowledge/tea.md";
const GIF: &[u8] = b"GIF89a\x03\x00\x02\x00\x00";

/// A home with a server's log, and sessions that were written through it.
struct Fixture {
    folder: tempfile::TempDir,
    home: Home,
    log: SessionLog,
    claim: Claim,
}

/// A session that is being written.
struct Writing {
    id: SessionId,
    session: Session,
    writer: SessionWriter,
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::open(folder).await
    }

    async fn open(folder: tempfile::TempDir) -> Self {
        let home = Home::open(folder.path()).unwrap();
        let log = SessionLog::Folder(home.clone());
        let claim = log.claim().await.unwrap().claim;
        Self { folder, home, log, claim }
    }

    /// Ends the server and starts another one.
    async fn restarted(self) -> Self {
        let Self { folder, home, log, .. } = self;
        drop((home, log));
        Self::open(folder).await
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Creates sessions `a` and `b`, which have settled, and `c`, which has a journal.
    async fn with_sessions() -> Self {
        let made = Self::new().await;
        for name in ["a", "b"] {
            let mut writing = made.begun(name).await;
            made.work(&mut writing).await;
            made.settle(&mut writing).await;
        }
        let mut running = made.begun("c").await;
        running.append(titled("one")).await;
        running.append(titled("two")).await;
        running.append(titled("three")).await;
        made
    }

    async fn begun(&self, name: &str) -> Writing {
        let (id, session) = (id(name), Session::new("", 1.0));
        self.log.create(self.claim, &id, &session).await.unwrap();
        Writing { writer: self.log.writer(self.claim, &id), id, session }
    }

    async fn settle(&self, writing: &mut Writing) {
        let known = self.home.session_version(&writing.id);
        writing.writer.checkpoint(Arc::new(writing.session.clone()), known).await.unwrap();
    }

    /// Does a work with one exchange, one call that writes a file, a picture, and compacted messages.
    async fn work(&self, writing: &mut Writing) {
        let (id, work_id) = (writing.id.clone(), WorkId::new("w"));
        let (text, body) = ("{\"role\":\"user\",\"content\":\"tea?\"}", format!("body of {id}"));
        let request: SentRequest = serde_json::from_value(json!({
            "at": 1.5, "work_id": "w", "dialogue": 0, "attempt": 0, "provider": "p", "model": "m", "body": {}, "bytes": 2,
            "hash": etag(body.as_bytes()), "sha256": sha256(body.as_bytes()), "system": [],
            "messages": [etag(text.as_bytes())]}))
        .unwrap();
        let texts = [SentText { hash: etag(text.as_bytes()), text: text.to_owned() }];
        let at = RequestPosition { seq: 1, dialogue: 0, attempt: 0 };
        self.home.records().keep_request(&id, at, &request, &texts).unwrap();
        let answered = AnsweredRequest { dialogue: 0, attempt: 0, sha256: sha256(body.as_bytes()) };
        let old = Arc::new(Message::new(Role::User, "old"));
        let part = self.log.store_compacted(self.claim, &id, vec![old]).await.unwrap();
        let picture = NewPicture { hash: picture_hash(GIF), bytes: GIF.into() };
        self.log.keep_pictures(self.claim, &id, vec![picture]).await.unwrap();
        let started = |call: &str| Event::ToolStarted {
            work_id: work_id.clone(),
            dialogue: 0,
            index: 0,
            call_id: call.to_owned(),
            tool: "write_file".to_owned(),
            arguments: json!({}),
            handed_off: None,
        };
        let finished = |call: &str| Event::ToolFinished {
            work_id: work_id.clone(),
            call_id: call.to_owned(),
            tool: "write_file".to_owned(),
            status: CallStatus::Done,
            output: "done".to_owned(),
            result: json!({}),
            duration_ms: 1,
            taint: Vec::new(),
        };
        writing.append(asked(&work_id)).await;
        writing.append(Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 }).await;
        writing.append(started(id.as_str())).await;
        self.write(&id, id.as_str(), &format!("tea of {id}")).await;
        writing.append(finished(id.as_str())).await;
        writing
            .append(Event::DialogueFinished {
                work_id: work_id.clone(),
                dialogue: 0,
                usage: Usage::default(),
                context_window: 8,
                left_out: 0,
                request: Some(answered),
            })
            .await;
        writing.append(Event::WorkFinished { work_id, outcome: Outcome::Done, content: "".into() }).await;
        let (summary, archive, sha256) = ("tea".to_owned(), part.name, Some(part.sha256));
        writing.append(Event::Compressed { count: 0, summary, archive, sha256, automatic: false }).await;
    }

    /// Writes [`FILE`] as a call does, with its record.
    async fn write(&self, id: &SessionId, call: &str, text: &str) {
        let path = Place::parse(FILE).unwrap();
        let state = |bytes: Vec<u8>| FileState { bytes, mode: FileMode::Regular };
        let before = self.home.read_bytes(&path).ok().map(state);
        let change = FileChange { path: path.clone(), before, after: Some(state(text.into())) };
        self.log.keep_change(self.claim, id, call, ChangeSet(vec![change])).await.unwrap();
        self.home.save_text(&path, text, &Expect::Anything).unwrap();
    }

    fn checks(&self) -> Vec<Check> {
        let home = Home::open_for_reading(self.folder.path()).unwrap();
        verify(&home, &|_| Vec::new()).unwrap()
    }

    fn alarms(&self) -> Vec<String> {
        self.checks().into_iter().flat_map(|check| check.alarms).map(|finding| finding.path).collect()
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.checks().into_iter().flat_map(|check| check.notes);
        notes.map(|finding| format!("{}: {}", finding.path, finding.what)).collect()
    }

    /// Returns the only file in a folder.
    fn only(&self, folder: &str) -> String {
        let mut entries = std::fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap());
        let entry = entries.find(|entry| entry.file_type().unwrap().is_file()).unwrap();
        format!("{folder}/{}", entry.file_name().into_string().unwrap())
    }
}

impl Writing {
    async fn append(&mut self, event: Event) {
        let fact = Fact { seq: self.session.seq + 1, at: crate::clock::now(), event };
        self.writer.append(std::slice::from_ref(&fact), Durability::Buffered).await.unwrap();
        self.session.apply_fact(&fact);
    }
}

fn titled(title: &str) -> Event {
    Event::Titled { title: title.to_owned() }
}

fn asked(work_id: &WorkId) -> Event {
    Event::WorkStarted {
        work_id: work_id.clone(),
        message_id: "m".to_owned(),
        content: "tea?".to_owned(),
        attachments: Vec::new(),
        model: "m".to_owned(),
        without_tools: false,
        client: None,
    }
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn untouched_home_has_neither_alarm_nor_note() {
    let made = Fixture::with_sessions().await;
    let checks = made.checks();
    assert!(checks.iter().all(|check| check.ok && check.alarms.is_empty()), "{checks:#?}");
    assert_eq!(made.notes(), Vec::<String>::new());
    let count = |name: &str| checks.iter().find(|check| check.name == name).unwrap().count;
    let counts = ["sessions", "heads", "changes", "files", "requests", "compacted", "pictures"].map(count);
    assert_eq!(counts, [3, 3, 5, 1, 4, 2, 2], "a change set of `b` has two contents");
}

#[tokio::test]
async fn one_changed_byte_in_any_file_is_an_alarm() {
    let made = Fixture::with_sessions().await;
    let blob = made.only("sessions/changes/a/blobs");
    let files = [
        "sessions/a.json".to_owned(),
        "sessions/c.journal".to_owned(),
        "sessions/heads.jsonl".to_owned(),
        "sessions/changes/a/a.json".to_owned(),
        blob,
        made.only("sessions/requests/a"),
        made.only("sessions/requests/a/texts"),
        made.only("sessions/archive"),
        made.only("sessions/pictures/a"),
    ];
    for file in files {
        let path = made.path(&file);
        let whole = std::fs::read(&path).unwrap();
        // Without its last byte, the last line of a journal or list looks like one that a crash has cut off.
        let end = whole.len() - usize::from(file.ends_with(".journal") || file.ends_with(".jsonl"));
        for at in (0..end).step_by(1 + end / 97) {
            flip(&path, at);
            assert_eq!(made.alarms(), [file.as_str()], "byte {at} of {end}: {}", whole.escape_ascii());
            std::fs::write(&path, &whole).unwrap();
        }
    }
    assert_eq!(made.alarms(), Vec::<String>::new());
}

#[tokio::test]
async fn replaced_session_is_an_alarm() {
    let made = Fixture::with_sessions().await;
    let [a, b, journal] = ["sessions/a.json", "sessions/b.json", "sessions/c.journal"].map(|path| made.path(path));
    let [old, other, facts] = [&a, &b, &journal].map(|path| std::fs::read(path).unwrap());
    std::fs::write(&a, &other).unwrap();
    std::fs::write(&b, &old).unwrap();
    assert_eq!(made.alarms(), ["sessions/a.json", "sessions/b.json"], "swapped");
    std::fs::write(&b, &other).unwrap();
    std::fs::write(&a, &old[..old.len() / 2]).unwrap();
    assert_eq!(made.alarms(), ["sessions/a.json"], "cut off");
    std::fs::remove_file(&a).unwrap();
    assert_eq!(made.alarms(), ["sessions/a.json"], "removed");
    std::fs::write(&a, &old).unwrap();

    let lines: Vec<&[u8]> = facts.split_inclusive(|byte| *byte == b'\n').collect();
    for (what, changed) in [
        ("a line is missing", vec![lines[0], lines[2]]),
        ("the first line is missing", vec![lines[1], lines[2]]),
        ("two lines are swapped", vec![lines[0], lines[2], lines[1]]),
        ("a line is repeated", vec![lines[0], lines[0], lines[1], lines[2]]),
    ] {
        std::fs::write(&journal, changed.concat()).unwrap();
        assert_eq!(made.alarms().first().map(String::as_str), Some("sessions/c.journal"), "{what}");
    }
    std::fs::write(&journal, &facts).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
}

#[tokio::test]
async fn folder_in_place_of_a_file_is_an_alarm() {
    let made = Fixture::with_sessions().await;
    let blob = made.only("sessions/changes/a/blobs");
    for file in ["sessions/a.json", "sessions/changes/a/a.json", &blob, &made.only("sessions/requests/b")] {
        let (path, whole) = (made.path(file), std::fs::read(made.path(file)).unwrap());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(made.alarms(), [file]);
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, whole).unwrap();
    }
    let blob = |text: &str| made.path("sessions/changes/b/blobs").join(sha256(text.as_bytes()));
    std::fs::remove_file(blob("tea of b")).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new(), "of what a call left, the hash is enough");
    std::fs::remove_file(blob("tea of a")).unwrap();
    assert_eq!(made.alarms(), ["sessions/changes/b/b.json"], "an undo needs what was there before");
}

#[tokio::test]
async fn line_of_the_list_cannot_be_moved_or_repeated() {
    let made = Fixture::with_sessions().await;
    let list = made.path("sessions/heads.jsonl");
    let whole = std::fs::read(&list).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let count = lines.len();
    for (what, changed) in [
        ("repeated at the end", [&lines[..], &lines[1..2]].concat()),
        ("removed", [&lines[..1], &lines[2..]].concat()),
        ("moved", [&lines[..1], &lines[2..], &lines[1..2]].concat()),
        ("without its first", lines[1..].to_vec()),
    ] {
        std::fs::write(&list, changed.concat()).unwrap();
        let alarms = made.alarms();
        assert!(alarms.contains(&"sessions/heads.jsonl".to_owned()), "{what}: {alarms:?}");
    }
    // An older copy of the list is consistent, and the sessions that were written since are newer than it.
    std::fs::write(&list, lines[..count - 2].concat()).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
    assert!(made.notes()[0].contains("newer than the list of heads"), "{:?}", made.notes());
}

#[tokio::test]
async fn older_signed_copy_is_an_alarm_even_when_continued() {
    let made = Fixture::new().await;
    let mut writing = made.begun("a").await;
    writing.append(titled("one")).await;
    made.settle(&mut writing).await;
    let file = made.path("sessions/a.json");
    let old = std::fs::read(&file).unwrap();
    writing.append(titled("two")).await;
    made.settle(&mut writing).await;
    assert_eq!(made.alarms(), Vec::<String>::new());
    std::fs::write(&file, &old).unwrap();
    assert_eq!(made.alarms(), ["sessions/a.json"]);
    drop(writing);

    // A server that continues the old copy writes a newer one, and the list remembers what happened.
    let made = made.restarted().await;
    let loaded = made.log.load(made.claim, &id("a")).await.unwrap().unwrap();
    assert_eq!(loaded.session.title, "one");
    let mut writer = made.log.writer(made.claim, &id("a"));
    writer.continue_chain(loaded.chain);
    let mut writing = Writing { id: id("a"), session: loaded.session, writer };
    for title in ["other", "another", "a third"] {
        writing.append(titled(title)).await;
    }
    made.settle(&mut writing).await;
    assert_eq!(made.alarms(), ["sessions/a.json"]);
}

#[tokio::test]
async fn edits_of_a_person_are_listed_and_no_alarm() {
    let made = Fixture::with_sessions().await;
    std::fs::write(made.path(FILE), "my tea").unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
    assert_eq!(made.notes(), [format!("{FILE}: it was edited after the last call on record")]);
    let mut writing = made.begun("d").await;
    made.work(&mut writing).await;
    made.settle(&mut writing).await;
    assert_eq!(made.alarms(), Vec::<String>::new());
    let notes = made.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("between two calls"), "{notes:?}");
    std::fs::remove_file(made.path(FILE)).unwrap();
    assert!(made.notes().contains(&format!("{FILE}: it was deleted after the last call on record")));
}

#[tokio::test]
async fn crash_and_foreign_file_are_no_alarm() {
    let made = Fixture::with_sessions().await;
    let journal = made.path("sessions/c.journal");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 20]).unwrap();
    std::fs::write(made.path("sessions/foreign.json"), "{\"messages\": []}").unwrap();
    let list = made.path("sessions/heads.jsonl");
    let heads = std::fs::read(&list).unwrap();
    std::fs::write(&list, &heads[..heads.len() - 20]).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
    let notes = made.notes();
    assert!(notes.iter().any(|note| note.starts_with("sessions/c.journal: its last line is incomplete")), "{notes:?}");
    assert!(
        notes.iter().any(|note| note.starts_with("sessions/foreign.json: this home did not write it")),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note.starts_with("sessions/heads.jsonl: its last line")), "{notes:?}");

    // The next server cuts the torn ends off and continues: there is nothing to remark any more but the foreign session.
    let made = made.restarted().await;
    for name in ["a", "b", "c", "foreign"] {
        made.log.load(made.claim, &id(name)).await.unwrap().unwrap();
    }
    made.log.delete(made.claim, &id("b")).await.unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
    assert!(made.notes().iter().all(|note| note.starts_with("sessions/foreign.json")), "{:?}", made.notes());
    std::fs::remove_file(&list).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
    assert!(made.notes().iter().any(|note| note.contains("there is no list of heads")));
}

#[tokio::test]
async fn session_of_earlier_version_begins_its_chain_later() {
    let made = Fixture::new().await;
    let mut session = Session::new("old", 1.0);
    session.seq = 7;
    let bytes =
        made.home.seal().sign(crate::store::seal::MacKind::Session, "a", crate::store::session_file::encode(&session));
    std::fs::write(made.path("sessions/a.json"), bytes).unwrap();
    let made = made.restarted().await;
    let loaded = made.log.load(made.claim, &id("a")).await.unwrap().unwrap();
    let mut writer = made.log.writer(made.claim, &id("a"));
    writer.continue_chain(loaded.chain);
    let mut writing = Writing { id: id("a"), session: loaded.session, writer };
    writing.append(titled("new")).await;
    made.settle(&mut writing).await;
    let file: serde_json::Value =
        serde_json::from_slice(&std::fs::read(made.path("sessions/a.json")).unwrap()).unwrap();
    assert_eq!((&file["chain"]["since"], &file["chain"]["seq"]), (&json!(7), &json!(8)));
    assert_eq!(made.alarms(), Vec::<String>::new());
    assert_eq!(made.notes().len(), 1);
    assert!(made.notes()[0].contains("before their chain began"), "{:?}", made.notes());
    // An earlier version keeps the field and adds facts without a chain.
    let mut older =
        crate::store::session_file::parse(&std::fs::read(made.path("sessions/a.json")).unwrap(), 0.0).unwrap();
    older.seq = 9;
    older.extra.insert("chain".to_owned(), file["chain"].clone());
    let bytes =
        made.home.seal().sign(crate::store::seal::MacKind::Session, "a", crate::store::session_file::encode(&older));
    std::fs::write(made.path("sessions/a.json"), bytes).unwrap();
    assert_eq!(made.alarms(), Vec::<String>::new());
}

#[tokio::test]
async fn lost_key_means_that_nothing_can_be_checked() {
    let made = Fixture::with_sessions().await;
    let key = made.path("session-key.json");
    let whole = std::fs::read(&key).unwrap();
    let opened = || Home::open_for_reading(made.folder.path()).map(drop);
    for damaged in [None, Some("{")] {
        match damaged {
            None => std::fs::remove_file(&key).unwrap(),
            Some(text) => std::fs::write(&key, text).unwrap(),
        }
        assert!(matches!(opened(), Err(StoreError::NoKey { .. })), "{:?}", opened());
    }
    std::fs::write(&key, whole).unwrap();
    opened().unwrap();
    let nothing = tempfile::tempdir().unwrap();
    assert!(matches!(Home::open_for_reading(nothing.path()).map(drop), Err(StoreError::NotFound { .. })));
    assert_eq!(std::fs::read_dir(nothing.path()).unwrap().count(), 0, "it creates nothing");
}
