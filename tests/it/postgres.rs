//! A PostgreSQL server of the tests: one for the process, with a database for each test.
//!
//! Its programs are in the folder that MINICLAW_POSTGRES_BIN names, or in target/tools/postgres/bin. Where there are none, the
//! tests print that they are skipped. The server ends with this process, and removes its folder.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OnceCell};
use tokio_postgres::NoTls;

use crate::http::lasting_port;
use crate::world::eventually;

/// The password of the user `miniclaw`. It must appear in nothing that a program prints.
pub const PASSWORD: &str = "pg-canary-1f7a93c05be24d86";
/// The user that runs PostgreSQL if the tests run as root: PostgreSQL refuses to.
const NOBODY: u32 = 65_534;
/// Ends PostgreSQL when its standard input is closed, which is when the test process ends, whatever ends it. PostgreSQL can be
/// restarted in the meantime.
pub const KEEPER: &str = r#""$1/pg_ctl" -D "$2/data" -l "$2/log" -o "$3" -w start </dev/null >/dev/null 2>&1 || { cat "$2/log" >&2; rm -rf "$2"; exit 1; }
read -r _
"$1/pg_ctl" -D "$2/data" -m fast stop >/dev/null 2>&1
rm -rf "$2""#;

/// A running PostgreSQL server.
pub struct Postgres {
    port: u16,
    /// The folder of its programs.
    bin: PathBuf,
    folder: PathBuf,
    databases: AtomicU32,
    /// Its standard input keeps the server running.
    keeper: Mutex<Child>,
}

/// A database of one test. It is never removed: the server's folder is.
pub struct TestDatabase {
    pub name: String,
    pub port: u16,
}

/// Returns a server that nobody else uses, and that ends when it is dropped; `None`, with a printed reason, if it cannot run here.
pub async fn postgres_of_its_own() -> Option<Postgres> {
    postgres().await?;
    Some(Postgres::start(&programs()?).await)
}

/// Returns the server of this process; `None`, with a printed reason, if it cannot run here.
pub async fn postgres() -> Option<&'static Postgres> {
    static SERVER: OnceCell<Option<Postgres>> = OnceCell::const_new();
    let server = SERVER.get_or_init(async || {
        let bin = programs()?;
        Some(Postgres::start(&bin).await)
    });
    let server = server.await.as_ref();
    if server.is_none() {
        eprintln!("SKIPPED: there is no PostgreSQL here; set MINICLAW_POSTGRES_BIN to the folder of its programs");
    }
    server
}

pub fn programs() -> Option<PathBuf> {
    let of_tools = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/postgres/bin");
    let folder = std::env::var_os("MINICLAW_POSTGRES_BIN").map_or_else(of_tools, PathBuf::from);
    folder.join("postgres").is_file().then_some(folder)
}

fn is_root() -> bool {
    // SAFETY: it only returns a number.
    unsafe { libc::geteuid() == 0 }
}

/// Returns a command that runs as a user that PostgreSQL accepts, apart from this terminal.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/").process_group(0);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Has a program that refuses to run as root run as another user, who owns the folder.
pub fn run_as_nobody(command: &mut Command, folder: &Path) {
    if is_root() {
        let given = Command::new("chown").arg("-R").arg(format!("{NOBODY}:{NOBODY}")).arg(folder).status();
        assert!(given.unwrap().success(), "giving away {}", folder.display());
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// Returns these programs, or a copy in `folder` if they are in a folder that is closed to the user that runs them.
pub fn reachable(bin: &Path, folder: &Path) -> PathBuf {
    let runs = command(&bin.join("initdb")).arg("--version").output().is_ok_and(|output| output.status.success());
    if runs {
        return bin.to_owned();
    }
    // The programs find their libraries by a path from where they really are.
    let all = bin.parent().unwrap();
    let copied = Command::new("cp").arg("-a").arg(all).arg(folder.join("programs")).status().unwrap();
    assert!(copied.success(), "copying {}", all.display());
    // Whoever runs them removes them, too.
    let given = Command::new("chown").arg("-R").arg(format!("{NOBODY}:{NOBODY}")).arg(folder.join("programs")).status();
    assert!(given.unwrap().success(), "giving away {}", folder.display());
    folder.join("programs").join(bin.file_name().unwrap())
}

/// Returns the options of a server at this port.
pub fn options(port: u16, folder: &Path) -> String {
    format!("-p {port} -k {} -c listen_addresses=127.0.0.1 -c max_connections=200", folder.display())
}

pub fn give(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

impl Postgres {
    async fn start(bin: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("miniclaw-postgres-").tempdir().unwrap().keep();
        give(&folder, 0o700);
        let bin = &reachable(bin, &folder);
        let password = folder.join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        give(&password, 0o600);
        let mut init = command(&bin.join("initdb"));
        init.args(["--username=miniclaw", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        init.arg(format!("--pwfile={}", password.display())).arg("-D").arg(folder.join("data"));
        let made = init.output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = lasting_port();
        let mut keeper = command(Path::new("/bin/sh"));
        keeper.args(["-c", KEEPER, "sh"]).arg(bin).arg(&folder).arg(options(port, &folder));
        let keeper = Mutex::new(keeper.stdin(Stdio::piped()).spawn().unwrap());
        let server = Self { port, bin: bin.clone(), folder, databases: AtomicU32::new(0), keeper };
        eventually("PostgreSQL answers", async || {
            let ended = server.keeper.lock().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "PostgreSQL ended; see above");
            server.execute("postgres", "SELECT 1").await.is_ok()
        })
        .await;
        server
    }

    /// Stops the server: `fast`, or `immediate`, which is like a crash.
    pub async fn stop(&self, mode: &str) {
        self.control(&["-m", mode, "stop"]).await;
    }

    /// Starts the server again after it was stopped.
    pub async fn start_again(&self) {
        let log = self.folder.join("log");
        self.control(&["-l", log.to_str().unwrap(), "-o", &options(self.port, &self.folder), "start"]).await;
    }

    async fn control(&self, arguments: &[&str]) {
        let mut control = command(&self.bin.join("pg_ctl"));
        control.arg("-D").arg(self.folder.join("data")).arg("-w").args(arguments);
        control.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = tokio::task::spawn_blocking(move || control.status()).await.unwrap().unwrap();
        assert!(status.success(), "{arguments:?}: {status}");
    }

    /// Makes an empty database.
    pub async fn database(&self) -> TestDatabase {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute("postgres", &format!("CREATE DATABASE {name}")).await.unwrap();
        TestDatabase { name, port: self.port }
    }

    async fn execute(&self, database: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
        execute(self.port, database, sql).await
    }
}

pub async fn execute(port: u16, database: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let address = format!("postgres://miniclaw:{PASSWORD}@127.0.0.1:{port}/{database}?sslmode=disable");
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
    let connection = tokio::spawn(connection);
    let done = client.batch_execute(sql).await;
    drop(client);
    let _ = connection.await;
    done
}

impl TestDatabase {
    /// Returns the address with these parameters, which begin with `?` if there are any.
    pub fn url(&self, parameters: &str) -> String {
        format!("postgres://miniclaw:{PASSWORD}@127.0.0.1:{}/{}{parameters}", self.port, self.name)
    }

    /// Returns the number that a query finds.
    pub async fn number(&self, sql: &str) -> i64 {
        let address = self.url("?sslmode=disable");
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
    }

    /// Runs statements in this database, as another program would.
    pub async fn execute(&self, sql: &str) {
        execute(self.port, &self.name, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

impl TestDatabase {
    /// Begins a transaction with this statement. It ends when the connection is dropped.
    pub async fn hold(&self, sql: &str) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.url("?sslmode=disable"), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
        client
    }
}

/// A proxy in front of the database, whose connections a test can break.
pub struct PgProxy {
    pub port: u16,
    state: Arc<Fault>,
}

#[derive(Default)]
struct Fault {
    /// Whether connections are refused, and those that are open are closed.
    is_down: AtomicBool,
    changed: Notify,
    /// How many answers are swallowed, each with its connection.
    cut: AtomicU32,
    /// How many statements have passed.
    statements: AtomicU32,
    /// How many bytes a second pass to the database; 0 for as many as there are.
    bandwidth: AtomicU32,
}

/// Finds the statements in what a client sends.
#[derive(Default)]
struct StatementCounter {
    /// The beginning of the message that is being read.
    header: Vec<u8>,
    /// The rest of it.
    left: usize,
    is_signed_in: bool,
}

impl StatementCounter {
    fn count(&mut self, bytes: &[u8]) -> u32 {
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            let skipped = self.left.min(bytes.len() - at);
            self.left -= skipped;
            at += skipped;
            let Some(byte) = bytes.get(at).filter(|_| self.left == 0) else { break };
            self.header.push(*byte);
            at += 1;
            // The first message has no letter in front of its length.
            let (kind, length) = match self.header.as_slice() {
                [kind, length @ ..] if self.is_signed_in && length.len() == 4 => (*kind, length),
                length if !self.is_signed_in && length.len() == 4 => (0, length),
                _ => continue,
            };
            self.left = u32::from_be_bytes(length.try_into().unwrap()) as usize - 4;
            count += u32::from(matches!(kind, b'E' | b'Q'));
            self.is_signed_in = true;
            self.header.clear();
        }
        count
    }
}

impl PgProxy {
    pub async fn to(database: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, state) = (listener.local_addr().unwrap().port(), Arc::new(Fault::default()));
        let fault = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, database, fault.clone()));
            }
        });
        Self { port, state }
    }

    /// Closes all connections and refuses new ones, or accepts them again.
    pub fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, Ordering::SeqCst);
        self.state.changed.notify_waiters();
    }

    /// Lets the next request through and swallows its answer, with the connection.
    pub fn cut_next_answer(&self) {
        self.state.cut.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of statements that have passed. The connections must not be encrypted.
    pub fn statements(&self) -> u32 {
        self.state.statements.load(Ordering::SeqCst)
    }

    /// Lets this number of bytes a second pass to the database.
    pub fn set_bandwidth(&self, bytes: u32) {
        self.state.bandwidth.store(bytes, Ordering::SeqCst);
    }

    /// The number of answers that are still to be swallowed.
    pub fn cuts_left(&self) -> u32 {
        self.state.cut.load(Ordering::SeqCst)
    }
}

async fn pass_on(client: TcpStream, database: u16, fault: Arc<Fault>) -> std::io::Result<()> {
    if fault.is_down.load(Ordering::SeqCst) {
        return Ok(());
    }
    let server = TcpStream::connect(("127.0.0.1", database)).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let answers = async {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let read = from_server.read(&mut bytes).await?;
            if read == 0
                || fault.cut.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
            {
                return std::io::Result::Ok(());
            }
            to_client.write_all(&bytes[..read]).await?;
        }
    };
    let requests = async {
        let (mut bytes, mut counter) = (vec![0; 16 << 10], StatementCounter::default());
        loop {
            let read = from_client.read(&mut bytes).await?;
            if read == 0 {
                return std::io::Result::Ok(());
            }
            fault.statements.fetch_add(counter.count(&bytes[..read]), Ordering::SeqCst);
            let bandwidth = fault.bandwidth.load(Ordering::SeqCst);
            if bandwidth > 0 {
                // The fault itself: a slow connection.
                tokio::time::sleep(Duration::from_secs_f64(read as f64 / f64::from(bandwidth))).await;
            }
            to_server.write_all(&bytes[..read]).await?;
        }
    };
    tokio::select! {
        passed = requests => passed,
        passed = answers => passed,
        () = fault.changed.notified() => Ok(()),
    }
}
