//! A companion: a stranger's program that lives as long as it is used, such as an MCP server. It is confined as every job is,
//! has its own folder, exchanges lines with the server, and is killed with everything that it started when its
//! [`CompanionProcess`] is dropped, or the server dies.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::process::Process;
use super::wire::{JobReport, ProcessEnd};
use super::{Exit, Job, Level, Sandbox, SandboxError, bubblewrap};
use crate::domain::{EgressAttempts, EgressGrant};

/// Maximum bytes of a line that it writes.
const LINE_LIMIT: usize = 4 << 20;
/// How long to wait for the rest of its standard error when it has ended.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

const STRICT_WRITES: &str =
    "at the level strict, a server gets no folders to write to but its own; remove `write` from its entry";

/// A program to start.
#[derive(Clone, Debug)]
pub struct Companion {
    /// `wall` limits the start; the program itself runs until it is dropped.
    pub job: Job,
    /// Folders that it may write to besides the working directory.
    pub writable: Vec<PathBuf>,
    /// With network: the only hosts that it may reach, as `name` or `name:port`; `None` for all public ones.
    pub hosts: Option<Vec<String>>,
}

/// A running companion. Dropping it kills it and everything it started.
pub struct CompanionProcess {
    process: Parts,
    stderr: Option<JoinHandle<String>>,
}

struct Parts {
    child: tokio::process::Child,
    control: super::spawn::Control,
    grant: Option<Box<dyn EgressGrant>>,
}

/// What the server writes to it.
pub struct CompanionInput(ChildStdin);

/// What it writes.
pub struct CompanionOutput {
    stdout: ChildStdout,
    pending: Vec<u8>,
    /// How much of `pending` holds no end of a line.
    searched: usize,
}

/// What came from a companion.
#[derive(Debug, PartialEq, Eq)]
pub enum CompanionMessage {
    /// One line, without its end.
    Line(Vec<u8>),
    /// It has ended, or closed its output.
    Ended,
    /// It wrote a line over 4 MiB.
    TooLong,
}

impl Sandbox {
    /// Starts a companion.
    ///
    /// # Errors
    /// Returns an error if the confinement cannot be set up in full, or the program cannot be started; and at the level strict
    /// if it is to write outside of its own folder, because bubblewrap follows links on the way to what it mounts.
    pub async fn companion(
        &self,
        Companion { job, writable, hosts }: Companion,
    ) -> Result<(CompanionInput, CompanionOutput, CompanionProcess), SandboxError> {
        if self.config.level == Level::Strict && !writable.is_empty() {
            return Err(SandboxError::Confinement(STRICT_WRITES.to_owned()));
        }
        let (mut request, grant) = self.job_request(&job)?;
        request.writable.clone_from(&writable);
        if let (Some(grant), Some(hosts)) = (&grant, hosts) {
            grant.limit_to(hosts);
        }
        let arguments = match self.config.level {
            Level::Off | Level::Standard => Vec::new(),
            Level::Strict => bubblewrap::arguments(&job, &writable),
        };
        let Process { child, control, stdin, stdout, stderr, grant, .. } =
            self.opened((&job, request, &arguments), grant).await?;
        let output = CompanionOutput { stdout, pending: Vec::new(), searched: 0 };
        Ok((CompanionInput(stdin), output, CompanionProcess { process: Parts { child, control, grant }, stderr }))
    }
}

impl CompanionInput {
    /// Writes one line.
    ///
    /// # Errors
    /// Returns an error if it has ended or closed its input.
    pub async fn send(&mut self, line: &str) -> std::io::Result<()> {
        self.0.write_all(line.as_bytes()).await?;
        self.0.write_all(b"\n").await?;
        self.0.flush().await
    }
}

impl CompanionOutput {
    /// Returns the next line. Cancel-safe: no text is lost if the future is dropped.
    pub async fn next(&mut self) -> CompanionMessage {
        loop {
            if let Some(at) = self.pending[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.pending.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                self.searched = 0;
                line.pop();
                return CompanionMessage::Line(line);
            }
            self.searched = self.pending.len();
            if self.searched > LINE_LIMIT {
                return CompanionMessage::TooLong;
            }
            match self.stdout.read_buf(&mut self.pending).await {
                Ok(0) | Err(_) => return CompanionMessage::Ended,
                Ok(_) => {}
            }
        }
    }
}

impl CompanionProcess {
    /// Returns the hosts that it tried to reach since the last call; empty without network.
    pub fn take_attempts(&self) -> EgressAttempts {
        self.process.grant.as_ref().map(|grant| grant.take_attempts()).unwrap_or_default()
    }

    /// Kills it and everything it started. Returns how it ended, and what it wrote to standard error: at most 8 KiB, half from
    /// the beginning and half from the end.
    pub async fn kill(self) -> (Exit, String) {
        let Parts { mut child, mut control, .. } = self.process;
        control.stop().await;
        let report = timeout(Duration::from_secs(6), control.report()).await;
        control.refused();
        if timeout(Duration::from_secs(1), child.wait()).await.is_err() {
            let _ = child.start_kill();
        }
        let exit = match report {
            Ok(Some(JobReport::Ended(ProcessEnd::Code(code)))) => Exit::Code(code),
            Ok(Some(JobReport::Ended(ProcessEnd::Signal(signal)))) => Exit::Signal(signal),
            _ => Exit::Signal(libc::SIGKILL),
        };
        let stderr = match self.stderr {
            Some(stderr) => timeout(STDERR_TIMEOUT, stderr).await.ok().and_then(Result::ok).unwrap_or_default(),
            None => String::new(),
        };
        (exit, stderr)
    }
}
