//! A trusted child process, such as the embedded model's server.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::spawn::clean;
use super::{Exit, Sandbox, SandboxError, sys};

/// Maximum bytes of a line; a longer one is split.
const LINE_LIMIT: u64 = 64 << 10;

/// A trusted program: not confined, but started with a clean environment and none of our descriptors. It must exit when its
/// standard input ends, which tells it that the server is gone.
#[derive(Clone, Debug)]
pub struct Service {
    /// Name in the log.
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
}

/// A running service. Dropping it kills and reaps the process.
pub struct ServiceProcess {
    name: String,
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    /// Kept open as long as the service should run.
    _stdin: Option<ChildStdin>,
}

impl Sandbox {
    /// Starts a service. Its standard error goes to the log, line by line.
    pub fn service(&self, service: Service) -> Result<ServiceProcess, SandboxError> {
        let mut command = clean(&service.program);
        command.args(&service.arguments).envs(service.env).current_dir(&service.cwd).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: two system calls, no allocation.
        unsafe {
            command.pre_exec(|| {
                sys::new_session()?;
                sys::close_on_exec_from(3)
            });
        }
        let mut child = command.spawn().map_err(|error| SandboxError::Program {
            program: service.program.display().to_string(),
            why: error.to_string(),
        })?;
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log_lines(service.name.clone(), stderr));
        }
        let stdout = child.stdout.take().map(BufReader::new);
        let stdin = child.stdin.take();
        Ok(ServiceProcess { name: service.name, child, stdout, _stdin: stdin })
    }
}

impl ServiceProcess {
    /// Returns the first line of its output, with which a service reports that it is ready. Later output goes to the log.
    /// Returns `None` if the service ended or wrote nothing in time, and for every call after the first.
    pub async fn first_line(&mut self, within: Duration) -> Option<String> {
        let mut stdout = self.stdout.take()?;
        let line = timeout(within, next_line(&mut stdout)).await.ok()??;
        tokio::spawn(log_lines(self.name.clone(), stdout));
        Some(line)
    }

    /// Waits until it ends by itself. Cancel-safe.
    pub async fn ended(&mut self) -> Exit {
        match self.child.wait().await {
            Ok(status) => match status.signal() {
                Some(signal) => Exit::Signal(signal),
                None => Exit::Code(status.code().unwrap_or(-1)),
            },
            Err(_) => Exit::Code(-1),
        }
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

async fn log_lines(name: String, from: impl AsyncRead + Unpin) {
    let mut from = BufReader::new(from);
    while let Some(line) = next_line(&mut from).await {
        tracing::info!(service = name, "{line}");
    }
}

async fn next_line(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    let got = from.take(LINE_LIMIT).read_until(b'\n', &mut line).await.ok()?;
    (got > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
}
