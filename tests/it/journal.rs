//! The journal of a real run, truncated and damaged at every position: loading never fails, and the result is consistent.

use std::path::Path;

use miniclaw::domain::{Fact, InterruptedWork, Session, SessionId, Taint};
use miniclaw::store::{Claim, Durability, Home, SessionLog};
use serde_json::{Value, json};

use crate::fold::complaints;
use crate::script::{call, script, steps};
use crate::thorough::step;
use crate::world::{World, files};

/// Returns a folder in memory if possible: these tests write thousands of files and sync each.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a temporary folder")
}

/// Files of a home during a run that is paused in its second answer.
struct Recorded {
    snapshot: Vec<u8>,
    journal: Vec<u8>,
    /// The key that proves that the home wrote them.
    key: Vec<u8>,
}

impl Recorded {
    /// Creates an empty home with the key of the recorded one.
    async fn home(&self, folder: &Path) -> Claimed {
        std::fs::write(folder.join("session-key.json"), &self.key).unwrap();
        Claimed::open(folder).await
    }
}

/// A home that this test has claimed for writing.
struct Claimed {
    home: Home,
    log: SessionLog,
    claim: Claim,
}

impl Claimed {
    async fn open(folder: &Path) -> Self {
        let home = Home::open(folder).unwrap();
        let log = SessionLog::Folder(home.clone());
        let claim = log.claim().await.unwrap().claim;
        Self { home, log, claim }
    }

    async fn append(&self, name: &str, facts: &[Fact]) {
        self.log.writer(self.claim, &id(name)).append(facts, Durability::Synced).await.unwrap();
    }
}

async fn recorded() -> Recorded {
    let first = steps([
        json!({"thinking": "Hm, 企鹅."}),
        json!({"text": "I look. 我看看。"}),
        call("c1", "read_file", json!({"path": "workspace/SOUL.md"})),
        call("c1", "search_knowledge_base", json!({"query": "企鹅"})),
        call("c3", "terminal", json!("{broken")),
        json!({"finish": "tool_calls"}),
    ]);
    let second = steps([json!({"text": "So 🐧"}), json!({"text": "..."}), json!({"gate": "never"})]);
    let world = World::new(script([first, second])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "企鹅会飞吗？").await;
    stream.until("new_response").await;
    stream.until("token").await;
    let read = |name: &str| std::fs::read(world.path(name)).unwrap();
    Recorded { snapshot: read("sessions/s.json"), journal: read("sessions/s.journal"), key: read("session-key.json") }
}

fn id(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

/// Loads a session and checks the guarantees of every load.
async fn load(Claimed { home, log, claim }: &Claimed, name: &str) -> Session {
    let read = log.load(*claim, &id(name)).await;
    let loaded = read.unwrap_or_else(|error| panic!("{name}: {error}")).expect("there is one").session;
    assert!(
        loaded.running().is_none() && loaded.repairs(InterruptedWork::Ends).is_empty(),
        "{name}: something is open"
    );
    assert_eq!(complaints(&loaded), Vec::<String>::new(), "{name}");
    let path = home.path().join(format!("sessions/{name}.json"));
    let bytes = std::fs::read(&path).unwrap();
    let mut file: Value = serde_json::from_slice(&bytes).expect("the file is JSON");
    for of_file in ["chain", "mac"] {
        assert!(file.as_object_mut().unwrap().shift_remove(of_file).is_some(), "{name}: it has its {of_file}");
    }
    assert!(!loaded.taint.contains(&Taint::Imported), "{name}: it is our own");
    assert_eq!(file, serde_json::to_value(&loaded).unwrap(), "{name}: the file is what was loaded");
    assert!(!home.path().join(format!("sessions/{name}.journal")).exists());
    assert!(
        log.load(*claim, &id(name)).await.unwrap().unwrap().session == loaded,
        "{name}: a second look finds the same"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}: and changes nothing");
    loaded
}

#[tokio::test]
async fn facts_before_a_cut_are_kept() {
    let recorded = recorded().await;
    let Recorded { snapshot, journal, .. } = &recorded;
    let folder = folder();
    let home = recorded.home(folder.path()).await;
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join("sessions").join(name), bytes).unwrap();
    let mut before = 0;
    // The last cut leaves the whole journal.
    for cut in (0..journal.len()).step_by(step(11)).chain([journal.len()]) {
        let name = "s";
        put(&format!("{name}.json"), snapshot);
        put(&format!("{name}.journal"), &journal[..cut]);
        let session = load(&home, name).await;
        let whole = journal[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
        let repairs = if session.works.is_empty() { 0 } else { session.seq - whole };
        assert!(session.seq >= whole && repairs <= 4, "{name}: seq {} of {whole} whole facts", session.seq);
        assert!(session.messages.len() >= before, "{name}: more of the journal is never less of the session");
        before = session.messages.len();
        let torn = journal[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let aside = files(&folder.path().join("storage/quarantine"));
        let kept = aside.iter().find(|path| path.to_string_lossy().contains(&format!("/{name}.journal.")));
        assert_eq!(kept.map(|path| std::fs::read(path).unwrap()), (torn < cut).then(|| journal[torn..cut].to_vec()));
        aside.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
    let whole = load(&home, "s").await;
    assert_eq!(whole.messages.len(), 3);
    assert_eq!(whole.messages[1].tool_calls.len(), 3);
    assert_eq!(whole.messages[1].content, "I look. 我看看。");
}

#[tokio::test]
async fn flipped_bit_costs_only_later_facts() {
    let recorded = recorded().await;
    let Recorded { snapshot, journal, .. } = &recorded;
    let folder = folder();
    let home = recorded.home(folder.path()).await;
    let places = (0..journal.len()).step_by(step(11));
    let tried = places.len();
    for at in places {
        let mut flipped = journal.clone();
        flipped[at] ^= 1 << (at % 8);
        let name = "s";
        std::fs::write(folder.path().join(format!("sessions/{name}.json")), snapshot).unwrap();
        std::fs::write(folder.path().join(format!("sessions/{name}.journal")), flipped).unwrap();
        let session = load(&home, name).await;
        let whole = journal[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(session.seq >= whole, "{name}: seq {} of {whole} whole facts", session.seq);
    }
    assert!(home.home.quarantined().len() >= tried * 19 / 20);
}

#[tokio::test]
async fn no_fact_is_folded_twice_after_any_crash() {
    let Recorded { snapshot, journal, .. } = recorded().await;
    let facts: Vec<Fact> = journal
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("a journal's line is JSON"))
        .collect();
    let folder = folder();
    let home = Claimed::open(folder.path()).await;
    for last in 0..=facts.len() {
        let mut folded: Session = serde_json::from_slice(&snapshot).unwrap();
        for first in 0..=last {
            let name = format!("p{last}_{first}");
            home.log.create(home.claim, &id(&name), &folded).await.unwrap();
            home.append(&name, &facts[..last]).await;
            let session = load(&home, &name).await;
            let users = session.messages.iter().filter(|m| m.content == "企鹅会飞吗？").count();
            assert_eq!(users, usize::from(last > 0), "{name}");
            assert_eq!(session.works.len(), usize::from(last > 0), "{name}");
            if let Some(fact) = facts.get(first) {
                folded.apply_fact(fact);
            }
        }
    }
}

#[tokio::test]
async fn damaged_snapshot_moves_aside_and_journal_stays() {
    let folder = folder();
    let home = Claimed::open(folder.path()).await;
    for (n, damage) in
        ["", "{", "null", "[3]", "{\"messages\": 3}", "\u{feff}{}", "{\"messages\": [{}]}"].iter().enumerate()
    {
        let name = format!("d{n}");
        let path = folder.path().join(format!("sessions/{name}.json"));
        std::fs::write(&path, damage).unwrap();
        assert!(home.log.load(home.claim, &id(&name)).await.unwrap().is_none(), "{damage}");
        assert!(!path.exists());
        std::fs::write(&path, damage).unwrap();
        let titled = miniclaw::domain::Event::Titled { title: "kept".to_owned() };
        let fact = Fact { seq: 9, at: 3.0, event: titled };
        home.append(&name, &[fact]).await;
        assert_eq!(home.log.load(home.claim, &id(&name)).await.unwrap().unwrap().session.title, "kept");
    }
    let aside = files(&folder.path().join("storage/quarantine"));
    assert_eq!((home.home.quarantined().len(), aside.len()), (14, 14));
    assert!(home.log.list(home.claim, Default::default()).await.unwrap().iter().all(|session| session.title == "kept"));
}
