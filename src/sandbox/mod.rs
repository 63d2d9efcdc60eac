//! Starts every process of the server and restricts what it may do.
//!
//! A **job** is a command that a model asked for. It runs behind a **supervisor** (a second instance of this program) with
//! its own environment, none of the server's descriptors, a time limit, and inside a **confinement**: Landlock for files,
//! TCP and signals, seccomp for the rest, resource limits. Level `strict` runs all of that in separate namespaces
//! (bubblewrap), in which the rest of the machine does not exist. When a job ends or is stopped, or the server dies, every
//! process that the job started is killed. A **service** is a helper program of ours; it is trusted and has no confinement.
//!
//! A job runs only if the whole confinement holds: a kernel that cannot set it up in full is an error, never a reason to run
//! without it.

mod bubblewrap;
mod calls;
mod captured;
mod companion;
mod confinement;
mod environment;
mod exchange;
mod frame;
mod helper;
mod interpreter;
mod linked;
mod namespace;
mod network;
mod overlay;
mod own_process;
mod paths;
mod person;
mod process;
mod reaping;
mod recorder;
mod run;
mod scratch_owner;
mod seccomp_notify;
mod service;
mod sharing;
mod spawn;
mod standby;
mod status;
mod supervisor;
mod sys;
mod user;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::standby::StandbySupervisor;
use self::user::JobUser;
use crate::domain::{EgressAttempts, EgressGrant, EgressProxy, FolderOwner};

pub use captured::{Captured, ClippedText, OutputSink, grouped};
pub use companion::{Companion, CompanionInput, CompanionMessage, CompanionOutput, CompanionProcess};
pub use frame::{Frame, FrameHeader, HEADER_SIZE, MAX_FRAME_SIZE};
pub use helper::{Helper, helper_output};
pub use interpreter::Interpreter;
pub use overlay::Overlay;
pub use own_process::OwnProcess;
pub use paths::is_readable_by_commands;
pub use person::PersonObstacle;
pub use process::{LineOutcome, Process};
pub use service::{Service, ServiceProcess};
pub use status::SandboxStatus;
pub use supervisor::supervise_if_asked;
pub use sys::{keep_memory_private, open_as_many_files_as_allowed};

/// Name of the job's folder for temporary files, in its working directory.
const TEMPORARY: &str = ".tmp";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `Standard` inside namespaces made by bubblewrap: other processes, other files and the machine's network do not exist
    /// there.
    Strict,
    /// Files: the job writes only to its working directory, and reads only system files and what it lists. No network.
    Standard,
    /// No confinement. Only if a person chose it on the command line.
    Off,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Strict => "strict",
            Level::Standard => "standard",
            Level::Off => "off",
        }
    }
}

#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// A program whose `main` starts with [`supervise_if_asked`]. `/proc/self/exe` is this running program, even after a
    /// newer file replaced it.
    pub supervisor_exe: PathBuf,
    pub level: Level,
}

impl SandboxConfig {
    pub fn new(level: Level) -> Self {
        Self { supervisor_exe: PathBuf::from("/proc/self/exe"), level }
    }
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program (absolute, or found in [`SEARCH_PATH`]) and its arguments.
    pub argv: Vec<String>,
    /// Working directory, home, and the only folder that the job may write to; must exist.
    pub cwd: PathBuf,
    /// Paths that the job may read besides the system's programs and libraries.
    pub readable: Vec<PathBuf>,
    /// Variables added to the environment that every job has.
    pub env: Vec<(String, String)>,
    /// Time limit, after which the job is killed.
    pub wall: Duration,
    /// Bytes kept of each output stream: half from its beginning, half from its end.
    pub output_cap: usize,
    /// Maximum bytes of address space for each of its processes.
    pub memory: u64,
    pub network: Network,
    /// Where its changes are captured; without it they are made in the working directory itself.
    pub capture: Option<Overlay>,
    /// To whom the files of its working directory belong.
    pub owner: FolderOwner,
}

/// What a job can reach at the levels `standard` and `strict`. At level `off` it can reach everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    None,
    /// Nothing, but the hosts that it asks an HTTP proxy for are recorded, as refused. Without a network namespace, which
    /// only the level `standard` creates and not every system allows, this is [`Network::None`]. Only for [`Sandbox::run`].
    Recorded,
    /// Public addresses, through the proxy of [`Sandbox::with_egress_proxy`].
    Proxied,
}

/// [`Job::memory`] of a command that a model asked for.
pub const COMMAND_MEMORY: u64 = 3 << 30;

/// Folders that are searched for a job's program.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by the sandbox at the time limit.
    TimedOut,
    /// Killed by the sandbox because a person stopped the run.
    Cancelled,
}

/// How a job ended. All of its processes are gone.
#[derive(Clone, Debug)]
pub struct Finished {
    pub exit: Exit,
    pub stdout: Captured,
    pub stderr: Captured,
    pub took: Duration,
    /// Hosts that it tried to reach; empty with [`Network::None`].
    pub egress_attempts: EgressAttempts,
    /// Names of the system calls that the filter refused, each once.
    pub refused: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing ran, and nothing will until the system or the configuration changes.
    #[error("the sandbox could not be set up, so nothing was run: {0}")]
    Confinement(String),
    /// This command cannot be started; another one may.
    #[error("{program} could not be started: {why}")]
    Program { program: String, why: String },
    /// The supervisor was killed; the command may or may not have run.
    #[error("the process that watches over the command died; whether the command ran is unknown")]
    Lost,
    #[error("the supervisor could not be started: {0}")]
    Supervisor(#[source] std::io::Error),
    #[error("a command cannot be given the network here: {0}")]
    NoNetwork(String),
    /// Nothing ran; without a capture the command may run.
    #[error("what the command changes cannot be captured, so nothing was run: {0}")]
    Capture(String),
}

/// Starts processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox {
    config: SandboxConfig,
    /// Path of bubblewrap; looked up only if the level needs it.
    bubblewrap: Option<PathBuf>,
    egress_proxy: Option<Arc<dyn EgressProxy>>,
    /// The user of the person whose jobs these are; absent on a server of one person.
    person: Option<u32>,
    standby: StandbySupervisor,
}

impl Sandbox {
    pub fn new(config: SandboxConfig) -> Self {
        let bubblewrap = if config.level == Level::Strict { bubblewrap::find() } else { None };
        Self { config, bubblewrap, egress_proxy: None, person: None, standby: StandbySupervisor::default() }
    }

    /// Adds a proxy for jobs that may use the network. Without a proxy no job may.
    pub fn with_egress_proxy(self, egress_proxy: Arc<dyn EgressProxy>) -> Self {
        Self { egress_proxy: Some(egress_proxy), ..self }
    }

    pub fn level(&self) -> Level {
        self.config.level
    }

    /// Returns whether a job can use the network. At level `off` every job can.
    pub fn can_network(&self) -> bool {
        self.config.level == Level::Off || self.grant().is_ok()
    }

    fn grant(&self) -> Result<Box<dyn EgressGrant>, SandboxError> {
        let kernel = sys::landlock_abi();
        if kernel < paths::TCP_ABI {
            let version = paths::TCP_ABI;
            let why = format!(
                "Landlock here has version {kernel}; keeping a command to the proxy takes {version} (Linux 6.7)"
            );
            return Err(SandboxError::NoNetwork(why));
        }
        match &self.egress_proxy {
            Some(egress_proxy) => Ok(egress_proxy.issue(self.person)),
            None => Err(SandboxError::NoNetwork("this server has no proxy for it".to_owned())),
        }
    }

    /// Returns whether a job could read everything below `path`, because every job may read the system's folders.
    pub fn is_readable_by_every_job(&self, path: &Path) -> bool {
        match self.config.level {
            Level::Off => false,
            Level::Standard | Level::Strict => paths::is_system(path),
        }
    }

    /// Returns what the sandbox enforces for commands on this machine.
    pub fn status(&self) -> SandboxStatus {
        match (self.config.level, &self.bubblewrap) {
            (Level::Off, _) => SandboxStatus::Nothing,
            (Level::Standard, _) => SandboxStatus::confinement(sys::landlock_abi(), None),
            (Level::Strict, None) => SandboxStatus::NoBubblewrap,
            (Level::Strict, Some(program)) => SandboxStatus::confinement(sys::landlock_abi(), Some(program.clone())),
        }
    }

    /// Returns a warning for a person before commands run in `folder`, or `None` if the whole confinement holds there.
    pub fn warning_for(&self, folder: &Path) -> Option<String> {
        let obstacle = match self.config.level {
            // At level `strict`, bubblewrap makes the namespaces.
            Level::Off | Level::Strict => None,
            Level::Standard => namespace::obstacle(),
        };
        match (self.config.level, user::job_user()) {
            (Level::Off, _) => None,
            (_, JobUser::Unavailable) => Some(format!("Commands are refused: {}.", confinement::ONLY_ROOT)),
            (_, JobUser::Nobody) if obstacle.is_some() && !user::other_user_can_traverse(folder) => {
                obstacle.map(|why| format!("Commands are refused: {}.", confinement::unreachable_home_error(&why)))
            }
            (_, JobUser::Own | JobUser::Nobody) => obstacle.map(|why| {
                format!(
                    "Commands have no mount namespace, because {why}: shared memory is closed to them (Python's \
                     multiprocessing needs it), and they can change the mode of their user's files outside of scratch/. The \
                     level strict (bubblewrap) may still work here."
                )
            }),
        }
    }
}

/// A folder for one command that must leave nothing behind; removed when dropped.
pub struct EmptyFolder(PathBuf);

/// Creates a folder in the system's folder for temporary files.
///
/// # Errors
/// Returns an error if the folder cannot be created.
pub fn empty_folder() -> std::io::Result<EmptyFolder> {
    let path = std::env::temp_dir().join(format!("miniclaw-{}", crate::clock::new_secret()));
    std::fs::create_dir(&path).map(|()| EmptyFolder(path))
}

impl EmptyFolder {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        // If this fails, only temporary files are left, which the system removes eventually.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn no_landlock(kernel: i32) -> String {
    format!(
        "this kernel offers Landlock version {kernel}, the sandbox needs version {} (Linux 6.2 or newer, not switched \
         off by the boot line or a container's filter)",
        paths::MIN_ABI
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_below_system_folders_is_refused() {
        let standard = Sandbox::new(SandboxConfig::new(Level::Standard));
        for open in ["/usr/src/app", "/etc/miniclaw", "/dev/shm/home", "/lib/x"] {
            assert!(standard.is_readable_by_every_job(std::path::Path::new(open)), "{open}");
        }
        for closed in ["/home/ada/miniclaw", "/root/miniclaw", "/userdata", "/srv/agent"] {
            assert!(!standard.is_readable_by_every_job(std::path::Path::new(closed)), "{closed}");
        }
    }
}
