//! A helper: this very program, started again to do one kind of work on bytes that strangers wrote.
//!
//! It is confined as a command is, may read nothing of the home, and writes nowhere: the empty folder it is started in is
//! removed once it runs. Where no confinement can be had it still has its limits, because the bytes must be read by somebody, and
//! the server itself would be the worse place.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::process::Process;
use super::ready::Ready;
use super::{Exit, Job, Level, Sandbox, SandboxConfig, SandboxError, empty_folder, sys};

/// The supervisor is this program too, so in its children that name is this program, also where the file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// How long a start may take on a loaded machine.
const START: Duration = Duration::from_secs(20);
/// How long after the end of its output a process may take to be collected.
const ENDING: Duration = Duration::from_secs(2);

/// Dropping it kills it.
pub struct Helper(Process);

impl Sandbox {
    /// Starts this program with `argument` and at most `memory` bytes of address space. `main` must know the argument.
    ///
    /// # Errors
    /// When the system starts no process.
    pub async fn helper(&self, argument: &str, memory: u64) -> Result<Helper, SandboxError> {
        let levels: &[Level] = match self.level() {
            Level::Strict => &[Level::Strict, Level::Standard, Level::Off],
            Level::Standard => &[Level::Standard, Level::Off],
            Level::Off => &[Level::Off],
        };
        let mut refused = None;
        for &level in levels {
            // An own folder each time: what was handed to another user cannot be entered by this one.
            let folder = empty_folder().map_err(SandboxError::Supervisor)?;
            let job = Job {
                argv: vec![PROGRAM.to_owned(), argument.to_owned()],
                cwd: folder.path().to_owned(),
                readable: vec![PROGRAM.into()],
                env: Vec::new(),
                wall: START,
                output_cap: 0,
                memory,
                network: false,
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
        Self { config, bubblewrap: None, egress_proxy: None, ready: Ready::default() }
    }
}

impl Helper {
    /// # Errors
    /// When it has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.stdin.write_all(bytes).await
    }

    /// So many bytes of what it writes. They are held as they come: a length that it only claims costs nothing.
    ///
    /// # Errors
    /// When it ends before.
    pub async fn read(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.0.stdout).take(length as u64).read_to_end(&mut bytes).await?;
        if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    /// Kills it, and says how it ended and what it wrote to its standard error.
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

/// In a helper: its standard output for its answers alone. What libraries print goes nowhere from then on.
///
/// # Errors
/// When descriptors are short.
pub fn helper_output() -> io::Result<File> {
    let answers = sys::duplicate_above(io::stdout(), 3)?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    sys::move_to(null.as_raw_fd(), 1)?;
    Ok(File::from(answers))
}
