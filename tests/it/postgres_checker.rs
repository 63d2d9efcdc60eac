//! A checker of homes in a database: a process changes files and sessions through the store, is killed, loses connections and its copy,
//! and afterwards the database has exactly what was confirmed. What was under way may be there or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use miniclaw::domain::{Event, Fact, HomeId, Place, Session, SessionId};
use miniclaw::store::{
    CacheUse, Claimant, DatabaseAddress, Durability, Expect, Home, HomeDatabase, LossPolicy, OwnedHome, RecordVersion,
    Replica, SessionWriter, TreeChange, export,
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::crash::Rng;
use crate::postgres::{PgProxy, postgres};

/// What the process works on, as JSON.
const TASK: &str = "MINICLAW_CHECKER";
/// What begins a line for the checker.
const SAYS: &str = "checker ";
const SESSIONS: u64 = 4;

#[derive(Serialize, Deserialize)]
struct Task {
    url: String,
    folder: PathBuf,
    seed: u64,
}

/// The content of each file, and the title of each session.
type State = BTreeMap<String, String>;

/// What the process says.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Found(State),
    /// Each of these is about to become this, or to go.
    Begins(BTreeMap<String, Option<String>>),
    Done,
}

fn say(said: &Said) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{SAYS}{}", serde_json::to_string(said).unwrap()).unwrap();
    out.flush().unwrap();
}

/// The process: changes a home until it is killed.
struct Worker {
    owned: OwnedHome,
    folder: PathBuf,
    rng: Rng,
    files: BTreeSet<String>,
    sessions: BTreeMap<SessionId, Open>,
}

struct Open {
    session: Session,
    version: Option<RecordVersion>,
    writer: SessionWriter,
}

impl Open {
    async fn rename(&mut self, title: String) {
        let fact = Fact { seq: self.session.seq + 1, at: 1.0, event: Event::Titled { title } };
        self.writer.append(std::slice::from_ref(&fact), Durability::Synced).await.unwrap();
        self.session.apply_fact(&fact);
    }

    async fn settle(&mut self) {
        self.version = Some(self.writer.checkpoint(Arc::new(self.session.clone()), self.version).await.unwrap());
    }
}

impl Worker {
    async fn open(task: Task) -> Self {
        let address = DatabaseAddress::parse(&SecretString::from(task.url)).unwrap();
        let home = (&HomeDatabase::new(address, LossPolicy::Refuse), &HomeId::Server);
        let replica = Replica::open(home, &task.folder, CacheUse::Serve, Claimant::start()).await.unwrap();
        let home = Home::open(&task.folder).unwrap();
        home.keep_in(replica);
        let (owned, _) = OwnedHome::claim(home).await.unwrap();
        let mut sessions = BTreeMap::new();
        for number in 0..SESSIONS {
            let id = SessionId::parse(&format!("s{number}")).unwrap();
            let mut writer = owned.log.writer(owned.claim, &id);
            let (session, version) = match owned.log.load(owned.claim, &id).await.unwrap() {
                Some(loaded) => {
                    writer.continue_chain(loaded.chain);
                    (loaded.session, loaded.version)
                }
                None => {
                    let session = Session::new("", 1.0);
                    let version = owned.log.create(owned.claim, &id, &session).await.unwrap();
                    (session, version)
                }
            };
            sessions.insert(id, Open { session, version, writer });
        }
        let files = files_in(&task.folder).into_keys().collect();
        Self { owned, folder: task.folder, rng: Rng(task.seed), files, sessions }
    }

    fn found(&self) -> State {
        let titles = self.sessions.iter().map(|(id, open)| (id.as_str().to_owned(), open.session.title.clone()));
        files_in(&self.folder).into_iter().chain(titles).collect()
    }

    fn path(&mut self) -> String {
        format!("{}/{}.md", ["knowledge", "workspace"][self.rng.below(2) as usize], self.rng.below(12))
    }

    fn text(&mut self) -> String {
        // Some of several pieces.
        let length = [8, 100, 5_000, 400_000][self.rng.below(4) as usize];
        format!("{}\n", self.rng.below(1 << 30)).repeat(length / 8)
    }

    async fn write(&self, changes: Vec<(String, Option<String>)>) {
        let changes = changes.into_iter().map(|(path, text)| {
            let to = text.map(|text| text.into_bytes().into());
            TreeChange { path: Place::parse(&path).unwrap().into(), expect: Expect::Anything, to, mode: None }
        });
        self.owned.tree.commit(self.owned.claim, changes.collect()).await.unwrap();
    }

    async fn step(&mut self) {
        match self.rng.below(8) {
            0..2 => {
                let changes = vec![(self.path(), Some(self.text()))];
                say(&Said::Begins(changes.iter().cloned().collect()));
                self.write(changes.clone()).await;
                self.files.insert(changes[0].0.clone());
            }
            2 => {
                let Some(path) = self.files.pop_first() else { return };
                say(&Said::Begins([(path.clone(), None)].into()));
                self.write(vec![(path, None)]).await;
            }
            3 => {
                // Another program writes a file, and the next change of the store confirms that, too.
                let (path, text, of_other) = (self.path(), self.text(), self.text());
                let other = format!("knowledge/other-{}.md", self.rng.below(4));
                let changes = [(other.clone(), Some(of_other.clone())), (path.clone(), Some(text.clone()))];
                say(&Said::Begins(changes.into()));
                fs::write(self.folder.join(other), of_other).unwrap();
                self.write(vec![(path.clone(), Some(text))]).await;
                self.files.insert(path);
            }
            4 => {
                let id = SessionId::parse(&format!("s{}", self.rng.below(SESSIONS))).unwrap();
                say(&Said::Begins(BTreeMap::new()));
                self.sessions.get_mut(&id).unwrap().settle().await;
            }
            _ => {
                let titles: BTreeMap<String, Option<String>> = (0..SESSIONS)
                    .map(|number| (format!("s{number}"), Some(format!("title {}", self.rng.below(1 << 30)))))
                    .collect();
                say(&Said::Begins(titles.clone()));
                let renamed =
                    self.sessions.iter_mut().map(|(id, open)| open.rename(titles[id.as_str()].clone().unwrap()));
                futures_util::future::join_all(renamed).await;
            }
        }
        say(&Said::Done);
    }
}

/// Returns the files that the process changes, in a home or an export of one.
fn files_in(home: &Path) -> State {
    let folders = ["knowledge", "workspace"].into_iter();
    let entries = folders.flat_map(|folder| fs::read_dir(home.join(folder)).into_iter().flatten().flatten());
    let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    files
        .map(|path| (path.strip_prefix(home).unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the checker starts it as a process of its own"]
async fn postgres_checker_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut worker = Worker::open(serde_json::from_str(&task).unwrap()).await;
    say(&Said::Found(worker.found()));
    loop {
        worker.step().await;
    }
}

/// What must be in the database.
#[derive(Default)]
struct Model {
    confirmed: State,
    /// What each may be instead: the changes that were under way.
    under_way: BTreeMap<String, Vec<Option<String>>>,
}

impl Model {
    fn begins(&mut self, changes: BTreeMap<String, Option<String>>) {
        for (name, value) in changes {
            self.under_way.entry(name).or_default().push(value);
        }
    }

    fn done(&mut self) {
        for (name, mut values) in std::mem::take(&mut self.under_way) {
            match values.pop().flatten() {
                Some(value) => drop(self.confirmed.insert(name, value)),
                None => drop(self.confirmed.remove(&name)),
            }
        }
    }

    /// Compares what is there.
    fn check(&self, what: &str, found: &State) {
        for name in self.confirmed.keys().chain(found.keys()).chain(self.under_way.keys()) {
            let (confirmed, found) = (self.confirmed.get(name), found.get(name));
            let is_under_way =
                self.under_way.get(name).is_some_and(|values| values.iter().any(|value| value.as_ref() == found));
            let short = |text: Option<&String>| text.map(|text| text.chars().take(40).collect::<String>());
            assert!(
                confirmed == found || is_under_way,
                "{what}: {name} is {:?} and not {:?}",
                short(found),
                short(confirmed)
            );
        }
    }

    /// Goes on with what is there.
    fn adopt(&mut self, found: State) {
        self.confirmed = found;
        self.under_way.clear();
    }
}

struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(task: &Task) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture", "postgres_checker::postgres_checker_process"]);
        command.env(TASK, serde_json::to_string(task).unwrap()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Starts it, and returns what it finds. A start whose connection is cut is refused, as every start is.
    fn started(task: &Task) -> (Self, State) {
        for _ in 0..5 {
            let mut running = Self::start(task);
            match running.next() {
                Some(Said::Found(found)) => return (running, found),
                said => assert!(said.is_none() && !running.child.wait().unwrap().success(), "{said:?}"),
            }
        }
        panic!("it does not start");
    }

    /// Returns the next thing that it says; `None` once it has ended.
    fn next(&mut self) -> Option<Said> {
        loop {
            let line = self.lines.next()?.ok()?;
            // A line that was cut off by the kill says nothing.
            if let Some(said) = line.strip_prefix(SAYS).and_then(|text| serde_json::from_str(text).ok()) {
                return Some(said);
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_checker_finds_what_was_confirmed() {
    let Some(server) = postgres().await else { return };
    let rounds = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let database = server.database().await;
    let proxy = PgProxy::to(database.port).await;
    let (direct, through) = (database.url("?sslmode=disable"), database.port.to_string());
    let url = direct.replace(&through, &proxy.port.to_string());
    let address = DatabaseAddress::parse(&SecretString::from(direct)).unwrap();
    miniclaw::store::Database::connect(&address).await.unwrap().migrate(LossPolicy::Refuse).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("home");
    fs::create_dir(&folder).unwrap();
    let mut rng = Rng(20_261_129);
    let (mut model, mut confirmed) = (Model::default(), 0);
    for round in 0..rounds {
        let task = Task { url: url.clone(), folder: folder.clone(), seed: rng.below(1 << 31) };
        let (mut running, found) = Running::started(&task);
        let found: State = found.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        model.check(&format!("round {round}, the copy"), &found);
        model.adopt(found);
        let mut left = rng.below(30);
        while left > 0 {
            match running.next() {
                Some(Said::Begins(changes)) => model.begins(changes),
                Some(Said::Done) => {
                    model.done();
                    confirmed += 1;
                    left -= 1;
                    match rng.below(12) {
                        0 => proxy.cut_next_answer(),
                        1 => {
                            proxy.set_down(true);
                            proxy.set_down(false);
                        }
                        _ => {}
                    }
                }
                said => panic!("round {round}: {said:?}"),
            }
        }
        // The moment of the kill is the fault; nothing is waited for.
        tokio::time::sleep(Duration::from_millis(rng.below(25))).await;
        running.kill();
        while let Some(said) = running.next() {
            match said {
                Said::Begins(changes) => model.begins(changes),
                Said::Done => model.done(),
                Said::Found(_) => unreachable!("it says so once"),
            }
        }
        if rng.below(2) == 0 {
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
        }
        let exported = place.path().join(format!("export {round}"));
        export(&address, &exported).await.unwrap();
        let files = |name: &String| name.contains('/');
        let of_files = Model {
            confirmed: model
                .confirmed
                .iter()
                .filter(|(name, _)| files(name))
                .map(|(a, b)| (a.clone(), b.clone()))
                .collect(),
            under_way: model
                .under_way
                .iter()
                .filter(|(name, _)| files(name))
                .map(|(a, b)| (a.clone(), b.clone()))
                .collect(),
        };
        of_files.check(&format!("round {round}, the export"), &files_in(&exported));
    }
    assert!(confirmed > 3 * rounds, "the kills came too early to mean anything: {confirmed}");
}

#[test]
fn checker_notices_what_is_lost_and_what_comes_back() {
    let mut model = Model::default();
    let change = |value: Option<&str>| BTreeMap::from([("knowledge/1.md".to_owned(), value.map(str::to_owned))]);
    let there = |value: &str| State::from([("knowledge/1.md".to_owned(), value.to_owned())]);
    model.begins(change(Some("one")));
    model.check("under way", &State::new());
    model.done();
    model.check("confirmed", &there("one"));
    model.begins(change(Some("two")));
    model.check("under way", &there("one"));
    model.check("under way", &there("two"));
    for wrong in [State::new(), there("three")] {
        assert!(std::panic::catch_unwind(|| model.check("wrong", &wrong)).is_err(), "{wrong:?}");
    }
    model.done();
    model.begins(change(None));
    model.done();
    assert!(std::panic::catch_unwind(|| model.check("deleted", &there("two"))).is_err());
}
