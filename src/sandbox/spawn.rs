//! Every start of a process by the server goes through here.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::wire::{self, ARGUMENT, Fence, NotStarted, Order, Report, SOCKET};
use super::{Job, Level, SEARCH_PATH, Sandbox, SandboxError, TEMPORARY, sys};

/// What the process reads.
#[derive(Clone, Copy)]
pub enum Input {
    /// Nothing: end of file at once.
    Null,
    /// What we write.
    Piped,
}

/// A supervisor with its orders. Dropping `control` (or the server's death) makes it kill everything and exit.
pub struct Supervised {
    pub child: Child,
    pub control: Control,
}

pub struct Control {
    reports: Lines<BufReader<OwnedReadHalf>>,
    commands: OwnedWriteHalf,
}

impl Sandbox {
    pub(super) fn start_supervisor(&self, input: Input) -> Result<Supervised, SandboxError> {
        let (ours, theirs) = StdStream::pair().map_err(SandboxError::Supervisor)?;
        let stdin = match input {
            Input::Null => Stdio::null(),
            Input::Piped => Stdio::piped(),
        };
        let mut command = clean(&self.config.supervisor_exe);
        command.arg(ARGUMENT).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let socket = theirs.as_raw_fd();
        // SAFETY: two system calls, no allocation.
        unsafe {
            command.pre_exec(move || {
                sys::move_to(socket, SOCKET)?;
                sys::close_on_exec_from(SOCKET as u32 + 1)
            });
        }
        let child = command.spawn().map_err(SandboxError::Supervisor)?;
        Ok(Supervised { child, control: Control::new(ours).map_err(SandboxError::Supervisor)? })
    }

    pub(super) fn order(&self, job: &Job) -> Order {
        let cwd = job.cwd.to_string_lossy().into_owned();
        let temporary = job.cwd.join(TEMPORARY).to_string_lossy().into_owned();
        let fixed = [
            ("PATH", SEARCH_PATH.to_owned()),
            ("HOME", cwd),
            ("TMPDIR", temporary),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
        ];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value));
        Order {
            argv: job.argv.clone(),
            cwd: job.cwd.clone(),
            readable: job.readable.clone(),
            env: fixed.into_iter().chain(job.env.iter().cloned()).collect(),
            fence: match self.config.level {
                Level::Standard => Fence::Standard,
                Level::Off => Fence::None,
            },
            cpu_seconds: None,
        }
    }
}

impl Control {
    fn new(socket: StdStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (read, commands) = UnixStream::from_std(socket)?.into_split();
        Ok(Self { reports: BufReader::new(read).lines(), commands })
    }

    /// Sends the order and waits until the program runs.
    pub async fn begin(&mut self, order: &Order) -> Result<(), SandboxError> {
        let bytes = serde_json::to_vec(order).expect("an order is strings and numbers");
        let length = (bytes.len() as u32).to_le_bytes();
        // A supervisor that has already died is found by the missing report.
        let _ = self.commands.write_all(&length).await;
        let _ = self.commands.write_all(&bytes).await;
        let program = order.argv.first().cloned().unwrap_or_default();
        match self.report().await {
            Some(Report::Started) => Ok(()),
            Some(Report::NotStarted { reason: NotStarted::Fence, why }) => Err(SandboxError::Fence(why)),
            Some(Report::NotStarted { reason: NotStarted::Program, why }) => {
                Err(SandboxError::Program { program, why })
            }
            Some(Report::Ended(_)) | None => Err(SandboxError::Lost),
        }
    }

    /// The next report; none when the supervisor is gone. May be dropped half way without losing one.
    pub async fn report(&mut self) -> Option<Report> {
        let line = self.reports.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    /// Ctrl-C for the main process.
    pub async fn interrupt(&mut self) {
        let _ = self.commands.write_all(&[wire::INTERRUPT]).await;
    }

    /// Kill everything; the last report follows.
    pub async fn stop(&mut self) {
        let _ = self.commands.shutdown().await;
    }
}

/// A start with an empty environment.
pub fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command
}
