//! A long-lived process that exchanges lines with the server.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::captured::Collector;
use super::spawn::{Control, Input};
use super::wire::{JobReport, JobRequest, ProcessEnd};
use super::{Exit, Job, Sandbox, SandboxError};
use crate::domain::{EgressAttempts, EgressGrant};

/// Maximum length of a line from a process, in bytes.
const LINE_LIMIT: usize = 4 << 20;
/// Maximum bytes kept of its standard error.
const STDERR_CAP: usize = 8 << 10;

/// The result of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineOutcome {
    Text(String),
    /// The process has ended, or closed its output.
    Ended,
    /// No complete line arrived in time; the partial line stays for the next wait.
    Late,
}

/// A running process. Dropping it kills the process and everything it started.
pub struct Process {
    pub(super) child: Child,
    pub(super) control: Control,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    /// Its standard error, available once it has ended.
    pub(super) stderr: Option<JoinHandle<String>>,
    pending: Vec<u8>,
    pub(super) grant: Option<Box<dyn EgressGrant>>,
}

impl Sandbox {
    /// Starts a long-lived process with piped input and output. `job.wall` limits only the start.
    pub async fn open(&self, job: Job) -> Result<Process, SandboxError> {
        let (request, grant) = self.job_request(&job)?;
        let arguments = self.bubblewrap_arguments(&job);
        self.opened((&job, request, &arguments), grant).await
    }

    /// Starts the process of a job request.
    pub(super) async fn opened(
        &self,
        (job, request, arguments): (&Job, JobRequest, &[OsString]),
        grant: Option<Box<dyn EgressGrant>>,
    ) -> Result<Process, SandboxError> {
        let mut supervised = self.start_supervisor(arguments, Input::Piped)?;
        let begun = timeout(job.wall, supervised.control.begin(&request)).await.map_err(|_| SandboxError::Lost)?;
        let mut child = supervised.child;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(SandboxError::Lost);
        };
        if let Err(error) = begun {
            let mut collector = Collector::new(STDERR_CAP);
            let _ = timeout(job.wall, collector.fill(stderr, &|_| {})).await;
            return Err(self.explain(error, &collector.finish().text()));
        }
        // Reads standard error so that the process never blocks on a full pipe; the text may explain a failure.
        let stderr = tokio::spawn(async move {
            let mut collector = Collector::new(STDERR_CAP);
            collector.fill(stderr, &|_| {}).await;
            let text = collector.finish().text();
            if !text.is_empty() {
                tracing::debug!(text, "a tool's process wrote to stderr");
            }
            text
        });
        let (control, stderr) = (supervised.control, Some(stderr));
        Ok(Process { child, control, stdin, stdout, stderr, pending: Vec::new(), grant })
    }
}

impl Process {
    /// Writes one line.
    ///
    /// # Errors
    /// Returns an error if the process has ended or closed its input.
    pub async fn send(&mut self, line: &str) -> std::io::Result<()> {
        self.stdin.write_all(line.as_bytes()).await?;
        self.stdin.write_all(b"\n").await
    }

    /// Returns the next line of its output. A line over 4 MiB counts as the end. Cancel-safe: no text is lost if the future
    /// is dropped.
    pub async fn line(&mut self, within: Duration) -> LineOutcome {
        let deadline = Instant::now() + within;
        let mut searched = 0;
        loop {
            if let Some(at) = self.pending[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.pending.split_off(searched + at + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                return LineOutcome::Text(String::from_utf8_lossy(&line).into_owned());
            }
            searched = self.pending.len();
            if searched > LINE_LIMIT {
                return LineOutcome::Ended;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.stdout.read_buf(&mut self.pending)).await {
                Ok(Ok(0) | Err(_)) => return LineOutcome::Ended,
                Ok(Ok(_)) => {}
                Err(_) => return LineOutcome::Late,
            }
        }
    }

    /// Suspends its use of the proxy and closes its open connections.
    pub fn suspend_network(&self) {
        if let Some(grant) = &self.grant {
            grant.suspend();
        }
    }

    /// Lets it use the proxy again, if it was started with network.
    pub fn resume_network(&self) {
        if let Some(grant) = &self.grant {
            grant.resume();
        }
    }

    /// Returns the hosts that it tried to reach since the last call; empty without network.
    pub fn take_attempts(&self) -> EgressAttempts {
        self.grant.as_ref().map(|grant| grant.take_attempts()).unwrap_or_default()
    }

    /// Sends Ctrl-C to the process itself, not to its children.
    pub async fn interrupt(&mut self) {
        self.control.interrupt().await;
    }

    /// Kills it and everything it started, waits until that is done (at most six seconds), and returns how it ended: by
    /// itself before, or by this call.
    pub async fn kill(mut self) -> Exit {
        self.control.stop().await;
        let report = timeout(Duration::from_secs(6), self.control.report()).await;
        self.control.refused();
        if timeout(Duration::from_secs(1), self.child.wait()).await.is_err() {
            let _ = self.child.start_kill();
        }
        match report {
            Ok(Some(JobReport::Ended(ProcessEnd::Code(code)))) => Exit::Code(code),
            Ok(Some(JobReport::Ended(ProcessEnd::Signal(signal)))) => Exit::Signal(signal),
            _ => Exit::Signal(libc::SIGKILL),
        }
    }
}
