//! The one place that starts a process, and what such a process may do.
//!
//! A **job** is a command a model asked for. It runs behind a **supervisor** (a second start of this program) with an
//! environment of its own, none of the server's descriptors, a limit of time, and inside a **fence**: Landlock for files,
//! TCP and signals, seccomp for the rest, limits on resources. When it ends, is stopped, or the server dies, every
//! process it started dies with it. A **service** is a helper program of ours; it is trusted and has no fence.
//!
//! The fence holds or nothing runs: a kernel that cannot put it up in full is an error, never a reason to go without.

mod calls;
mod captured;
mod interpreter;
mod paths;
mod process;
mod run;
mod service;
mod spawn;
mod supervisor;
mod sys;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

pub use captured::{Captured, grouped};
pub use interpreter::Interpreter;
pub use process::{Line, Process};
pub use service::{Service, ServiceProcess};
pub use supervisor::supervise_if_asked;

/// The job's folder for temporary files, in its working directory.
const TEMPORARY: &str = ".tmp";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Files: writes only in the working directory, reads only system files and what the job lists. No network.
    Standard,
    /// No fence. Only where a person said so in the configuration.
    Off,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Standard => "standard",
            Level::Off => "off",
        }
    }
}

#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// A program whose `main` begins with [`supervise_if_asked`]. `/proc/self/exe` is this very program, also after the
    /// file was replaced by a newer one.
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
    /// Working directory, home and the only place it may write; must exist.
    pub cwd: PathBuf,
    /// What it may read besides the system's programs and libraries.
    pub readable: Vec<PathBuf>,
    /// Added to the environment every job has.
    pub env: Vec<(String, String)>,
    /// Then it is killed.
    pub wall: Duration,
    /// Bytes kept of each output stream: half from its beginning, half from its end.
    pub output_cap: usize,
    /// Whether it may reach other machines; a person was asked. Not before [`Sandbox::can_network`] says so.
    pub network: bool,
}

/// Where a job's programs are looked for.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by us at the end of its time.
    TimedOut,
    /// Killed by us because a person stopped the run.
    Cancelled,
}

/// How a job ended. None of its processes is left.
#[derive(Clone, Debug)]
pub struct Finished {
    pub exit: Exit,
    pub stdout: Captured,
    pub stderr: Captured,
    pub took: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing was run, and nothing will be until the system or the configuration changes.
    #[error("the sandbox could not be set up, so nothing was run: {0}")]
    Fence(String),
    /// This command cannot be started; another may.
    #[error("{program} could not be started: {why}")]
    Program { program: String, why: String },
    /// The supervisor was killed; what it watched over may or may not have run.
    #[error("the process that watches over the command died; whether the command ran is unknown")]
    Lost,
    #[error("the supervisor could not be started: {0}")]
    Supervisor(#[source] std::io::Error),
}

/// Starts processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox {
    config: SandboxConfig,
}

impl Sandbox {
    pub fn new(config: SandboxConfig) -> Self {
        Self { config }
    }

    pub fn level(&self) -> Level {
        self.config.level
    }

    /// Whether a job can be given the network. No job can, yet.
    pub fn can_network(&self) -> bool {
        false
    }

    /// Whether a job could read all that lies below `path`, because the system's own folders are open to it.
    pub fn exposes(&self, path: &std::path::Path) -> bool {
        match self.config.level {
            Level::Off => false,
            Level::Standard => paths::is_system(path),
        }
    }

    /// One sentence for people: what commands may do here, as it really is on this machine.
    pub fn describe(&self) -> String {
        match self.config.level {
            Level::Off => "The sandbox is off by configuration: commands run with all rights of the user who started \
                           miniclaw."
                .to_owned(),
            Level::Standard => describe_standard(sys::landlock_abi()),
        }
    }
}

fn describe_standard(kernel: i32) -> String {
    if kernel < paths::LEAST_ABI {
        return format!("Commands are refused: {}.", no_landlock(kernel));
    }
    let mut text = "Commands run in a sandbox (Landlock and seccomp): they write only in scratch/, read only system \
                    files and the home's four folders, and have no network"
        .to_owned();
    if kernel < paths::SIGNALS_ABI {
        text.push_str("; on this kernel (before Linux 6.12) they can still send signals to processes of the same user");
    }
    text.push('.');
    text
}

fn no_landlock(kernel: i32) -> String {
    format!(
        "this kernel offers Landlock version {kernel}, the sandbox needs version {} (Linux 6.2 or newer, not switched \
         off by the boot line or a container's filter)",
        paths::LEAST_ABI
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_among_the_system_s_files_would_be_open_to_commands() {
        let standard = Sandbox::new(SandboxConfig::new(Level::Standard));
        for open in ["/usr/src/app", "/etc/miniclaw", "/dev/shm/home", "/lib/x"] {
            assert!(standard.exposes(std::path::Path::new(open)), "{open}");
        }
        for closed in ["/home/ada/miniclaw", "/root/miniclaw", "/userdata", "/srv/agent"] {
            assert!(!standard.exposes(std::path::Path::new(closed)), "{closed}");
        }
    }

    #[test]
    fn the_description_says_what_really_holds() {
        assert!(describe_standard(0).starts_with("Commands are refused"));
        assert!(describe_standard(4).contains("can still send signals"));
        assert!(!describe_standard(6).contains("signals"));
        assert!(Sandbox::new(SandboxConfig::new(Level::Off)).describe().contains("off by configuration"));
    }
}
