//! A home in a database through the store alone: what a write costs, and what the database, the connection or a pooler can do to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use miniclaw::domain::{Event, Fact, HomeId, Place, Session, SessionId};
use miniclaw::store::{
    CacheUse, Claimant, Database, DatabaseAddress, Durability, Expect, Home, HomeDatabase, LossPolicy, OwnedHome,
    Replica, SessionWriter, StoreError, TreeChange, export,
};
use secrecy::SecretString;

use crate::crash::Rng;
use crate::http::lasting_port;
use crate::postgres::{PASSWORD, PgProxy, TestDatabase, postgres};
use crate::world::eventually;

/// A database with the tables, and a folder for homes.
pub struct Store {
    pub database: TestDatabase,
    pub folder: tempfile::TempDir,
}

impl Store {
    pub async fn new() -> Option<Self> {
        let database = postgres().await?.database().await;
        let mut connected = Database::connect(&address(&database.url(""))).await.unwrap();
        connected.migrate(LossPolicy::Refuse).await.unwrap();
        Some(Self { database, folder: tempfile::tempdir().unwrap() })
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub async fn open(&self, url: &str) -> Result<OwnedHome, StoreError> {
        opened(&self.home(), url, CacheUse::Serve).await
    }

    /// Returns the address through a proxy.
    fn through(&self, port: u16) -> String {
        self.database.url("?sslmode=disable").replace(&self.database.port.to_string(), &port.to_string())
    }

    /// Returns the content of a file in the database.
    async fn stored(&self, path: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        export(&address(&self.database.url("")), folder.path()).await.unwrap();
        fs::read_to_string(folder.path().join(path)).ok()
    }
}

fn address(url: &str) -> DatabaseAddress {
    DatabaseAddress::parse(&SecretString::from(url.to_owned())).unwrap()
}

fn database(url: &str) -> HomeDatabase {
    HomeDatabase::new(address(url), LossPolicy::Refuse)
}

async fn opened(folder: &Path, url: &str, usage: CacheUse) -> Result<OwnedHome, StoreError> {
    let replica = Replica::open((&database(url), &HomeId::Server), folder, usage, Claimant::start()).await?;
    let home = Home::open(folder).unwrap();
    home.keep_in(replica);
    Ok(OwnedHome::claim(home).await?.0)
}

async fn write(owned: &OwnedHome, path: &str, text: &str) -> Result<(), StoreError> {
    let change = TreeChange::write(Place::parse(path).unwrap(), text.as_bytes(), Expect::Anything);
    owned.tree.commit(owned.claim, vec![change]).await
}

/// A session, with the writer that its task would have.
struct Written {
    session: Session,
    writer: SessionWriter,
}

impl Written {
    async fn open(owned: &OwnedHome, id: &str) -> Self {
        let id = SessionId::parse(id).unwrap();
        let mut writer = owned.log.writer(owned.claim, &id);
        let session = match owned.log.load(owned.claim, &id).await.unwrap() {
            Some(loaded) => {
                writer.continue_chain(loaded.chain);
                loaded.session
            }
            None => Session::new("", 1.0),
        };
        Self { session, writer }
    }

    async fn rename(&mut self, title: &str, durability: Durability) -> Result<(), StoreError> {
        let event = Event::Titled { title: title.to_owned() };
        let fact = Fact { seq: self.session.seq + 1, at: 1.0, event };
        self.writer.append(std::slice::from_ref(&fact), durability).await?;
        self.session.apply_fact(&fact);
        Ok(())
    }
}

fn code(error: &StoreError) -> &'static str {
    match error {
        StoreError::Database(error) => error.code(),
        StoreError::Fenced => "fenced",
        other => panic!("{other}"),
    }
}

/// Keeps what the database has now in another schema.
pub async fn back_up(database: &TestDatabase) {
    let copies =
        ["homes", "facts", "files", "pieces"].map(|table| format!("CREATE TABLE kept.{table} AS TABLE {table};"));
    database.execute(&format!("CREATE SCHEMA kept; {}", copies.concat())).await;
}

/// Makes the database what it was, as a restore from a backup does.
pub async fn go_back(database: &TestDatabase) {
    let filled = ["homes", "facts", "files", "pieces"].map(|table| format!("INSERT INTO {table} TABLE kept.{table};"));
    let emptied = "BEGIN; DELETE FROM facts; DELETE FROM files; DELETE FROM pieces; DELETE FROM homes;";
    database.execute(&format!("{emptied} {} COMMIT", filled.concat())).await;
}

#[tokio::test]
async fn postgres_write_costs_what_it_changed() {
    let Some(store) = Store::new().await else { return };
    for number in 0..400 {
        let folder = store.home().join(format!("knowledge/{}", number % 10));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{number}.md")), format!("file {number}")).unwrap();
    }
    let proxy = PgProxy::to(store.database.port).await;
    let owned = opened(&store.home(), &store.through(proxy.port), CacheUse::Adopt).await.unwrap();
    write(&owned, "knowledge/new.md", "one").await.unwrap();
    for (text, expected) in [("two", 1), ("two again", 1)] {
        let before = proxy.statements();
        write(&owned, "knowledge/new.md", text).await.unwrap();
        assert_eq!(proxy.statements() - before, expected, "one statement, which is one commit");
    }
    let before = proxy.statements();
    // It may write, and changes nothing.
    assert!(owned.log.load(owned.claim, &SessionId::parse("none").unwrap()).await.unwrap().is_none());
    assert_eq!(proxy.statements() - before, 0);
    // What another program changed goes with it.
    fs::write(store.home().join("knowledge/3/other.md"), "other").unwrap();
    fs::create_dir_all(store.home().join("workspace/deep/er")).unwrap();
    fs::write(store.home().join("workspace/deep/er/x.md"), "deep").unwrap();
    write(&owned, "knowledge/new.md", "three").await.unwrap();
    owned.log.release(owned.claim).await.unwrap();
    assert_eq!(store.stored("knowledge/3/other.md").await.as_deref(), Some("other"));
    assert_eq!(store.stored("workspace/deep/er/x.md").await.as_deref(), Some("deep"));
    let unneeded =
        "SELECT count(*) FROM pieces WHERE NOT EXISTS (SELECT FROM files WHERE files.pieces @> ARRAY[pieces.sha256])";
    assert_eq!(store.database.number(unneeded).await, 0);
    let missing = "SELECT count(*) FROM files, unnest(pieces) AS piece WHERE NOT EXISTS (SELECT FROM pieces WHERE sha256 = piece)";
    assert_eq!(store.database.number(missing).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_facts_of_sessions_share_statements() {
    const SESSIONS: usize = 40;
    let Some(store) = Store::new().await else { return };
    let proxy = PgProxy::to(store.database.port).await;
    let owned = store.open(&store.through(proxy.port)).await.unwrap();
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let mut session = Written::open(&owned, &format!("s{number}")).await;
        session.rename("first", Durability::Synced).await.unwrap();
        sessions.push(session);
    }
    let before = proxy.statements();
    for round in 0..5 {
        let title = format!("round {round}");
        let renamed = sessions.iter_mut().map(|session| session.rename(&title, Durability::Synced));
        for done in futures_util::future::join_all(renamed).await {
            done.unwrap();
        }
    }
    let count = proxy.statements() - before;
    assert!(count < (5 * SESSIONS / 2) as u32, "{count} statements for {} facts", 5 * SESSIONS);
    // Dense in each session and in the home.
    let wrong = "SELECT count(*) FROM (SELECT home_no, row_number() OVER (ORDER BY home_no) AS at, seq, row_number() OVER (PARTITION BY \
                 session_id ORDER BY home_no) AS of_session FROM facts) AS f WHERE seq <> of_session";
    assert_eq!(store.database.number(wrong).await, 0);
    assert_eq!(store.database.number("SELECT count(DISTINCT home_no) FROM facts").await, 6 * SESSIONS as i64);
    let last = "SELECT last_no - (SELECT max(home_no) FROM facts) FROM homes";
    assert_eq!(store.database.number(last).await, 0);
}

#[tokio::test]
async fn postgres_store_notices_a_database_that_went_back() {
    // Before the start, after a commit of files, and after facts.
    for moment in 0..3 {
        let Some(store) = Store::new().await else { return };
        let url = store.database.url("");
        let owned = store.open(&url).await.unwrap();
        write(&owned, "knowledge/a.md", "one").await.unwrap();
        let mut session = Written::open(&owned, "s").await;
        session.rename("one", Durability::Synced).await.unwrap();
        let owned = match moment {
            0 => {
                owned.log.release(owned.claim).await.unwrap();
                drop((session, owned));
                back_up(&store.database).await;
                let owned = store.open(&url).await.unwrap();
                session = Written::open(&owned, "s").await;
                owned
            }
            _ => {
                back_up(&store.database).await;
                owned
            }
        };
        if moment < 2 {
            write(&owned, "knowledge/a.md", "two").await.unwrap();
        }
        session.rename("two", Durability::Synced).await.unwrap();
        go_back(&store.database).await;
        for _ in 0..2 {
            let refused = write(&owned, "knowledge/a.md", "three").await.unwrap_err();
            assert_eq!(code(&refused), "database_went_back", "{moment}");
            let refused = session.rename("three", Durability::Buffered).await.unwrap_err();
            assert_eq!(code(&refused), "database_went_back", "{moment}");
        }
        let refused = owned.log.release(owned.claim).await.unwrap_err();
        assert!(refused.to_string().contains("miniclaw import"), "it says what to do: {refused}");
        assert_eq!(store.stored("knowledge/a.md").await.as_deref(), Some("one"), "nothing is stored on top of it");
        drop((session, owned));
        let owned = store.open(&url).await.unwrap();
        let session = Written::open(&owned, "s").await;
        let kept: Vec<_> = fs::read_dir(store.home().join("storage/quarantine")).unwrap().flatten().collect();
        if moment < 2 {
            // The database wins, and what only the copy had is kept.
            assert_eq!(fs::read_to_string(store.home().join("knowledge/a.md")).unwrap(), "one");
            assert_eq!(session.session.title, "one");
            let kept = kept.iter().map(|of| fs::read_to_string(of.path().join("knowledge/a.md"))).find_map(Result::ok);
            assert_eq!(kept.as_deref(), Some("three"));
        } else {
            // The copy has the last commit of files: what it has more is stored again.
            assert_eq!(fs::read_to_string(store.home().join("knowledge/a.md")).unwrap(), "three");
            assert_eq!(session.session.title, "two");
        }
        owned.log.release(owned.claim).await.unwrap();
    }
}

#[tokio::test]
async fn postgres_taken_home_is_not_one_that_went_back() {
    let Some(store) = Store::new().await else { return };
    let url = store.database.url("");
    let owned = store.open(&url).await.unwrap();
    write(&owned, "knowledge/a.md", "one").await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let taken = opened(other.path(), &url, CacheUse::Serve).await.unwrap();
    assert_eq!(code(&write(&owned, "knowledge/a.md", "late").await.unwrap_err()), "fenced");
    assert!(owned.home.taken_over().unwrap().is_cancelled());
    write(&taken, "knowledge/a.md", "two").await.unwrap();
    assert_eq!(store.stored("knowledge/a.md").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn postgres_store_without_it_in_between_keeps_journals() {
    let Some(store) = Store::new().await else { return };
    let url = store.database.url("");
    let owned = store.open(&url).await.unwrap();
    let mut session = Written::open(&owned, "s").await;
    session.rename("in the database", Durability::Synced).await.unwrap();
    owned.log.release(owned.claim).await.unwrap();
    drop((session, owned));
    // `store` is removed from config.yml, and a work of this session and of another is cut off.
    let (owned, _) = OwnedHome::claim(Home::open(&store.home()).unwrap()).await.unwrap();
    for id in ["s", "t"] {
        let mut session = Written::open(&owned, id).await;
        session.rename("in files", Durability::Synced).await.unwrap();
    }
    write(&owned, "knowledge/a.md", "in files").await.unwrap();
    drop(owned);
    let owned = store.open(&url).await.unwrap();
    for id in ["s", "t"] {
        assert_eq!(Written::open(&owned, id).await.session.title, "in files", "{id}");
    }
    owned.log.release(owned.claim).await.unwrap();
    fs::remove_dir_all(store.home()).unwrap();
    let owned = store.open(&url).await.unwrap();
    assert_eq!(Written::open(&owned, "t").await.session.title, "in files");
    assert_eq!(fs::read_to_string(store.home().join("knowledge/a.md")).unwrap(), "in files");
}

#[tokio::test]
async fn postgres_import_that_was_cut_off_goes_on() {
    let Some(store) = Store::new().await else { return };
    let folder = store.folder.path().join("imported");
    for number in 0..2_000 {
        let of = folder.join(format!("knowledge/{}", number % 20));
        fs::create_dir_all(&of).unwrap();
        fs::write(of.join(format!("{number}.md")), format!("file {number}")).unwrap();
    }
    let url = store.database.url("");
    let import = tokio::spawn({
        let (folder, url) = (folder.clone(), url.clone());
        async move { opened(&folder, &url, CacheUse::Import).await.map(drop) }
    });
    eventually("a part is stored", async || store.database.number("SELECT count(*) FROM files").await > 0).await;
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    import.abort();
    store.database.execute(terminate).await;
    let _ = import.await;
    let refused = store.open(&url).await.map(drop).unwrap_err();
    assert_eq!(code(&refused), "database_import_incomplete");
    let half = export(&address(&url), &store.folder.path().join("half")).await.unwrap_err();
    assert_eq!(code(&half), "database_import_incomplete");
    let status = Database::connect(&address(&url)).await.unwrap().require_complete_homes().await.unwrap_err();
    assert!(status.to_string().contains("miniclaw import"), "{status}");
    // What was changed since then counts as it is now.
    fs::remove_file(folder.join("knowledge/0/0.md")).unwrap();
    let owned = eventually_imported(&folder, &url).await;
    owned.log.release(owned.claim).await.unwrap();
    drop(owned);
    Database::connect(&address(&url)).await.unwrap().require_complete_homes().await.unwrap();
    assert_eq!(
        store.database.number("SELECT count(*) FROM files WHERE kind = 1 AND path LIKE 'knowledge/%'").await,
        1_999
    );
    eventually("it is refused", async || match opened(&folder, &url, CacheUse::Import).await.map(drop).unwrap_err() {
        StoreError::Locked { .. } => false,
        error => code(&error) == "database_not_empty",
    })
    .await;
}

/// Imports once nobody else has the folder.
async fn eventually_imported(folder: &Path, url: &str) -> OwnedHome {
    let mut owned = None;
    eventually("the folder is free", async || {
        owned = match opened(folder, url, CacheUse::Import).await {
            Err(StoreError::Locked { .. }) => None,
            done => Some(done.unwrap()),
        };
        owned.is_some()
    })
    .await;
    owned.unwrap()
}

#[tokio::test]
async fn postgres_large_file_passes_a_slow_connection() {
    let Some(store) = Store::new().await else { return };
    let proxy = PgProxy::to(store.database.port).await;
    let owned = store.open(&store.through(proxy.port)).await.unwrap();
    let mut rng = Rng(11);
    // More than one statement may take, and more than one batch holds.
    let words = (0..(12 << 20) / 8).map(|_| rng.below(1 << 31).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let large: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    fs::write(store.home().join("knowledge/large.bin"), &large).unwrap();
    proxy.set_bandwidth(500 << 10);
    write(&owned, "knowledge/a.md", "with it").await.unwrap();
    proxy.set_bandwidth(0);
    owned.log.release(owned.claim).await.unwrap();
    drop(owned);
    fs::remove_dir_all(store.home()).unwrap();
    drop(store.open(&store.database.url("")).await.unwrap());
    assert!(fs::read(store.home().join("knowledge/large.bin")).unwrap() == large);
}

/// A pooler. In transaction mode it gives each transaction any of its connections.
pub struct Pooler {
    pub port: u16,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Pooler {
    /// `mode` is `transaction` or `session`, with the most connections to the database.
    pub fn to(database: &TestDatabase, (mode, connections): (&str, u32)) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| Path::new(path).is_file());
        let Some(program) = program else {
            eprintln!("SKIPPED: there is no pgbouncer here; scripts/install-tools.sh cluster installs it");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("miniclaw-pgbouncer-").tempdir().unwrap();
        let port = lasting_port();
        let users = folder.path().join("users");
        fs::write(&users, format!("\"miniclaw\" \"{PASSWORD}\"\n")).unwrap();
        let config = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = \
             scram-sha-256\nauth_file = {}\npool_mode = {mode}\ndefault_pool_size = {connections}\nunix_socket_dir =\n",
            database.port,
            users.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(program);
        command.arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
        crate::postgres::run_as_nobody(&mut command, folder.path());
        Some(Self { port, process: command.spawn().unwrap(), _folder: folder })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_pooler_in_transaction_mode_is_no_difference() {
    let Some(store) = Store::new().await else { return };
    let Some(pooler) = Pooler::to(&store.database, ("transaction", 3)) else { return };
    let url = store.through(pooler.port);
    eventually("the pooler answers", async || Database::connect(&address(&url)).await.is_ok()).await;
    // Two homes in turns on the same few connections: what one leaves there must not meet the other.
    let other = Store::new().await.unwrap();
    let owned = [store.open(&url).await.unwrap(), other.open(&other.through(pooler.port)).await.unwrap()];
    let mut sessions = Vec::new();
    for owned in &owned {
        for number in 0..4 {
            sessions.push(Written::open(owned, &format!("s{number}")).await);
        }
    }
    for round in 0..10 {
        let durability = if round % 2 == 0 { Durability::Buffered } else { Durability::Synced };
        let title = format!("round {round}");
        let renamed = sessions.iter_mut().map(|session| session.rename(&title, durability));
        for done in futures_util::future::join_all(renamed).await {
            done.unwrap();
        }
        for owned in &owned {
            write(owned, "knowledge/a.md", &title).await.unwrap();
        }
    }
    let checked = Arc::new(Session::new("settled", 1.0));
    sessions[0].writer.checkpoint(checked, None).await.unwrap();
    for owned in owned {
        owned.log.release(owned.claim).await.unwrap();
    }
    // What a statement sets must not stay on the connection: somebody else has it next.
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..6 {
        let found = client.simple_query("SHOW synchronous_commit").await.unwrap();
        let is_on = found
            .iter()
            .any(|line| matches!(line, tokio_postgres::SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
        assert!(is_on, "{found:?}");
    }
    assert_eq!(store.stored("knowledge/a.md").await.as_deref(), Some("round 9"));
}
