//! PostgreSQL servers of one test, which it can stop, copy, and have take over from each other.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use tokio_postgres::NoTls;

use crate::http::lasting_port;
use crate::postgres::{KEEPER, PASSWORD, TestDatabase, command, execute, give, options, programs, reachable};
use crate::world::eventually;

/// The database of the test.
const NAME: &str = "cluster";

/// A server in a folder of its own, which ends with this process and then removes its folder.
pub struct PostgresNode {
    pub port: u16,
    folder: PathBuf,
    /// Its standard input keeps the server running.
    _keeper: Child,
}

/// A folder in which a server can be made.
struct NodeFolder {
    folder: PathBuf,
    bin: PathBuf,
}

impl NodeFolder {
    fn new() -> Option<Self> {
        let Some(bin) = programs() else {
            eprintln!("SKIPPED: there is no PostgreSQL here; set MINICLAW_POSTGRES_BIN to the folder of its programs");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("miniclaw-postgres-").tempdir().unwrap().keep();
        give(&folder, 0o700);
        let bin = reachable(&bin, &folder);
        Some(Self { folder, bin })
    }

    async fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = command(&self.bin.join(program));
        command.args(arguments).arg("-D").arg(self.folder.join("data"));
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Adds lines to the settings.
    fn configure(&self, lines: &str) {
        let path = self.folder.join("data/postgresql.auto.conf");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{before}{lines}")).unwrap();
    }

    fn start(self) -> PostgresNode {
        let port = lasting_port();
        let mut keeper = command(Path::new("/bin/sh"));
        keeper.args(["-c", KEEPER, "sh"]).arg(&self.bin).arg(&self.folder).arg(options(port, &self.folder));
        let keeper = keeper.stdin(Stdio::piped()).spawn().unwrap();
        PostgresNode { port, folder: self.folder, _keeper: keeper }
    }
}

impl PostgresNode {
    /// Starts a server with a database, and with these settings; `None`, with a printed reason, if it cannot run here.
    pub async fn primary(settings: &str) -> Option<Self> {
        let made = NodeFolder::new()?;
        let password = made.folder.join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        give(&password, 0o600);
        let file = format!("--pwfile={}", password.display());
        let options = ["--username=miniclaw", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"];
        made.run("initdb", &[&options[..], &[file.as_str()]].concat()).await;
        made.configure(settings);
        let node = made.start();
        node.answers().await;
        execute(node.port, "postgres", &format!("CREATE DATABASE {NAME}")).await.unwrap();
        Some(node)
    }

    /// Copies it, with the log that the copy needs to be whole. `options` are those of `pg_basebackup`.
    async fn copied(&self, port: u16, options: &[&str]) -> NodeFolder {
        let made = NodeFolder::new().expect("there are its programs");
        let from = format!("host=127.0.0.1 port={port} user=miniclaw password={PASSWORD}");
        let common = ["--checkpoint=fast", "--no-sync", "--wal-method=stream", "-d", from.as_str()];
        made.run("pg_basebackup", &[&common[..], options].concat()).await;
        made
    }

    /// Starts a standby that follows it through this port.
    pub async fn standby(&self, port: u16) -> Self {
        let node = self.copied(port, &["--write-recovery-conf"]).await.start();
        node.answers().await;
        let following = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        eventually("the standby follows", async || self.database().number(following).await == 1).await;
        node
    }

    /// Copies what is there now, for [`BaseBackup::restored`].
    pub async fn backed_up(&self) -> BaseBackup {
        BaseBackup(self.copied(self.port, &[]).await)
    }

    pub fn database(&self) -> TestDatabase {
        TestDatabase { name: NAME.to_owned(), port: self.port }
    }

    /// Runs one statement outside of a transaction, which some need.
    pub async fn execute(&self, sql: &str) {
        execute(self.port, "postgres", sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Waits until it accepts connections.
    async fn answers(&self) {
        let address = format!("postgres://miniclaw:{PASSWORD}@127.0.0.1:{}/postgres?sslmode=disable", self.port);
        eventually("PostgreSQL answers", async || tokio_postgres::connect(&address, NoTls).await.is_ok()).await;
    }

    /// Ends it as a crash does: nobody is told, and nothing is written.
    pub async fn crash(&self) {
        let running = self.folder.join("data/postmaster.pid");
        let text = std::fs::read_to_string(&running).expect("it runs");
        let pid: i32 = text.lines().next().and_then(|line| line.parse().ok()).expect("a process id");
        // SAFETY: signals the server of this test, whose file says that it runs.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGQUIT) }, 0);
        let address = format!("127.0.0.1:{}", self.port);
        eventually("it has ended", async || tokio::net::TcpStream::connect(&address).await.is_err()).await;
    }

    /// Makes a standby the primary.
    pub async fn promote(&self) {
        self.execute("SELECT pg_promote(true, 60)").await;
    }
}

/// A copy of a server, which has not started.
pub struct BaseBackup(NodeFolder);

impl BaseBackup {
    /// Starts it as it was at a restore point, with the log from this archive.
    pub async fn restored(self, archive: &Path, point: &str) -> PostgresNode {
        self.0.configure(&format!(
            "restore_command = 'cp {}/%f %p'\nrecovery_target_name = '{point}'\nrecovery_target_action = 'promote'\narchive_mode = off\n",
            archive.display()
        ));
        let signal = self.0.folder.join("data/recovery.signal");
        std::fs::write(&signal, "").unwrap();
        give(&signal, 0o600);
        let node = self.0.start();
        node.answers().await;
        let recovering = "SELECT pg_is_in_recovery()::int::int8";
        eventually("it accepts changes", async || node.database().number(recovering).await == 0).await;
        node
    }
}
