//! A helper: this program, started again to do one kind of work on untrusted bytes.
//!
//! A helper is confined like a command, may read nothing of the home, and writes nowhere: the empty folder that it starts in
//! is removed once it runs. If no confinement is available, a helper still has its resource limits, because something must
//! read the bytes, and the server itself would be the worse place. With several people, it does not start then.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::process::Process;
use super::standby::StandbySupervisor;
use super::{Exit, Job, Level, Network, Sandbox, SandboxConfig, SandboxError, empty_folder, sys};
use crate::domain::FolderOwner;

/// The supervisor is this program too, so this path leads its children to this program, even if the file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// Maximum time for a start on a loaded machine.
const START: Duration = Duration::from_secs(20);
/// Maximum time to read the rest of a helper's standard error after its end.
const ENDING: Duration = Duration::from_secs(2);

/// A running helper. Dropping it kills the process.
pub struct Helper(Process);

impl Sandbox {
    /// Starts this program with `argument` and at most `memory` bytes of address space. `main` must know the argument.
    ///
    /// # Errors
    /// Returns an error if the system cannot start the process.
    pub async fn helper(&self, argument: &str, memory: u64) -> Result<Helper, SandboxError> {
        let levels: &[Level] = match (self.level(), self.person) {
            (Level::Strict, None) => &[Level::Strict, Level::Standard, Level::Off],
            (Level::Standard, None) => &[Level::Standard, Level::Off],
            // Without a sandbox, what a person sends would be read as root.
            (Level::Strict, Some(_)) => &[Level::Strict, Level::Standard],
            (Level::Standard, Some(_)) => &[Level::Standard],
            (Level::Off, _) => &[Level::Off],
        };
        let mut refused = None;
        for &level in levels {
            // A new folder for each attempt: after a folder changes to another owner, this user cannot enter it.
            let folder = empty_folder().map_err(SandboxError::Supervisor)?;
            let job = Job {
                argv: vec![PROGRAM.to_owned(), argument.to_owned()],
                cwd: folder.path().to_owned(),
                readable: vec![PROGRAM.into()],
                env: Vec::new(),
                wall: START,
                output_cap: 0,
                memory,
                network: Network::None,
                capture: None,
                owner: FolderOwner::Commands,
            };
            match self.at(level).open(job).await {
                Err(error @ (SandboxError::Confinement(_) | SandboxError::Program { .. })) => {
                    tracing::debug!(level = level.name(), %error, "a helper could not be started at this level");
                    refused = Some(error);
                }
                other => return other.map(Helper),
            }
        }
        Err(refused.unwrap_or(SandboxError::Lost))
    }

    fn at(&self, level: Level) -> Self {
        if level == self.level() {
            return self.clone();
        }
        let config = SandboxConfig { supervisor_exe: self.config.supervisor_exe.clone(), level };
        Self {
            config,
            bubblewrap: None,
            egress_proxy: None,
            person: self.person,
            standby: StandbySupervisor::default(),
        }
    }
}

impl Helper {
    /// Writes bytes to its standard input.
    ///
    /// # Errors
    /// Returns an error if the helper has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.stdin.write_all(bytes).await
    }

    /// Reads exactly `length` bytes of its output. The buffer grows as bytes arrive, so a false `length` claim allocates
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the helper ends before.
    pub async fn read(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.0.stdout).take(length as u64).read_to_end(&mut bytes).await?;
        if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    /// Kills the helper, and returns how it ended and what it wrote to its standard error.
    pub async fn end(mut self) -> (Exit, String) {
        let stderr = self.0.stderr.take();
        let exit = self.0.kill().await;
        let said = match stderr {
            Some(stderr) => timeout(ENDING, stderr).await.ok().and_then(Result::ok).unwrap_or_default(),
            None => String::new(),
        };
        (exit, said)
    }
}

/// In a helper: reserves its standard output for its answers. Output that libraries print goes to `/dev/null` from then on.
///
/// # Errors
/// Returns an error if no descriptor is available.
pub fn helper_output() -> io::Result<File> {
    let answers = sys::duplicate_above(io::stdout(), 3)?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    sys::move_to(null.as_raw_fd(), 1)?;
    Ok(File::from(answers))
}
