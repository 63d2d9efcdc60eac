//! A home with files to protect, and a sandbox of a given level for it.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use miniclaw::sandbox::{COMMAND_MEMORY, Finished, Job, Level, Network, Sandbox, SandboxConfig};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

/// Permissions of the home, which determine how a job is confined.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HomeAccess {
    /// A folder that other users may enter: as root, the job becomes user 65534.
    Open,
    /// A folder that is closed to other users.
    Private,
}

/// Locked exclusively by a job that uses up all processes of its user, so that no other job could fork.
static FULL_OF_PROCESSES: RwLock<()> = RwLock::const_new(());

pub struct Home {
    pub root: tempfile::TempDir,
    pub sandbox: Sandbox,
}

/// Returns the path of the program under test, or of a copy of it if a test runs as a user who cannot see the build folder.
pub fn program() -> PathBuf {
    std::env::var_os("MINICLAW_UNDER_TEST").map_or_else(|| env!("CARGO_BIN_EXE_miniclaw").into(), PathBuf::from)
}

pub fn sandbox(level: Level) -> Sandbox {
    Sandbox::new(SandboxConfig { supervisor_exe: program(), level })
}

pub fn home(level: Level, access: HomeAccess) -> Home {
    let root = tempfile::tempdir().unwrap();
    let mode = match access {
        HomeAccess::Open => 0o755,
        HomeAccess::Private => 0o700,
    };
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(root.path().join("scratch")).unwrap();
    std::fs::create_dir(root.path().join("skills")).unwrap();
    std::fs::write(root.path().join("skills/SKILL.md"), "skill").unwrap();
    std::fs::write(root.path().join("secret.key"), "SECRET").unwrap();
    std::fs::write(root.path().join("victim.txt"), "untouched").unwrap();
    Home { root, sandbox: sandbox(level) }
}

pub fn open() -> Home {
    home(Level::Standard, HomeAccess::Open)
}

impl Home {
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn job(&self, argv: &[&str]) -> Job {
        Job {
            argv: argv.iter().map(|word| word.to_string()).collect(),
            cwd: self.path("scratch"),
            readable: vec![self.path("skills")],
            env: vec![("HOME_ROOT".to_owned(), self.root.path().display().to_string())],
            wall: Duration::from_secs(60),
            output_cap: 20_000,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: miniclaw::domain::FolderOwner::Commands,
        }
    }

    pub async fn run(&self, job: Job) -> Finished {
        let _others_may_run = FULL_OF_PROCESSES.read().await;
        self.sandbox.run(job, CancellationToken::new()).await.unwrap()
    }

    /// Runs a job that takes all processes of the shared user, while no other job of these tests runs.
    pub async fn run_alone(&self, job: Job) -> Finished {
        let _alone = FULL_OF_PROCESSES.write().await;
        self.sandbox.run(job, CancellationToken::new()).await.unwrap()
    }

    pub async fn bash(&self, script: &str) -> Finished {
        self.run(self.job(&["/bin/bash", "-c", script])).await
    }

    pub async fn bash_within(&self, script: &str, wall: Duration) -> Finished {
        self.run(Job { wall, ..self.job(&["/bin/bash", "-c", script]) }).await
    }
}

/// Returns the confined levels that this machine supports. Reports a missing level, bypassing the test's output capture.
pub fn confined_levels() -> Vec<Level> {
    if has("bwrap") {
        return vec![Level::Standard, Level::Strict];
    }
    skipped("level strict", "bubblewrap is not installed (scripts/install-tools.sh sandbox)");
    vec![Level::Standard]
}

pub fn has(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| PathBuf::from(folder).join(program).exists())
}

pub fn is_root() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Reports what was skipped and why, on stderr, where the person who runs the tests sees it.
pub fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}: {why}");
}

/// Counts the processes whose command line contains `marker`, without zombies.
pub fn processes_with(marker: &str) -> usize {
    pids_with(marker).len()
}

pub fn pids_with(marker: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
    .collect()
}

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns a number of seconds for `sleep` that no other process uses.
pub fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:05}{:03}", 1000, std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
