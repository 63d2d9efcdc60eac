//! Starts every process of the server.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::wire::{
    self, ARGUMENT, Confinement, IN_NAMESPACE, JobReport, JobRequest, NetworkRequest, NotStarted, SOCKET,
};
use super::{Job, Level, Network, Sandbox, SandboxError, TEMPORARY, bubblewrap, calls, environment, sys};
use crate::domain::{EgressAttempts, EgressGrant};

/// All spellings of the proxy variables that programs read.
const PROXY_VARIABLES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Returns the variables that lead programs to an HTTP proxy.
pub fn proxy_variables(proxy: &str) -> impl Iterator<Item = (&'static str, String)> {
    // The last is for programs that read the others only if it is set (Node.js).
    PROXY_VARIABLES.map(|name| (name, proxy.to_owned())).into_iter().chain([("NODE_USE_ENV_PROXY", "1".to_owned())])
}

/// The standard input of the process.
#[derive(Clone, Copy)]
pub enum Input {
    /// Empty: end of file at once.
    Null,
    /// What the server writes.
    Piped,
}

/// A started supervisor. If `control` is dropped (or the server dies), the supervisor kills everything and exits.
pub struct Supervised {
    pub child: Child,
    pub control: Control,
}

pub struct Control {
    reports: Lines<BufReader<OwnedReadHalf>>,
    commands: OwnedWriteHalf,
    /// Whether the supervisor has received its job request.
    accepted: bool,
    /// Names of system calls that were refused, each once.
    refused: Vec<String>,
    /// Hosts that the job asked the recorder for.
    attempts: EgressAttempts,
}

impl Sandbox {
    /// Starts a supervisor. `bubblewrap_arguments` is empty except at level `strict`.
    pub(super) fn start_supervisor(
        &self,
        bubblewrap_arguments: &[OsString],
        input: Input,
    ) -> Result<Supervised, SandboxError> {
        let (ours, theirs) = StdStream::pair().map_err(SandboxError::Supervisor)?;
        let stdin = match input {
            Input::Null => Stdio::null(),
            Input::Piped => Stdio::piped(),
        };
        let (mut command, program) = match self.config.level {
            Level::Off | Level::Standard => (clean(&self.config.supervisor_exe), None),
            Level::Strict => {
                let bubblewrap =
                    self.bubblewrap.as_ref().ok_or(SandboxError::Confinement(bubblewrap::MISSING.to_owned()))?;
                let mut command = clean(bubblewrap);
                command.args(bubblewrap_arguments);
                (command, Some(self.supervisor_program().map_err(SandboxError::Supervisor)?))
            }
        };
        command.arg(ARGUMENT);
        if self.config.level == Level::Standard {
            command.arg(IN_NAMESPACE);
        }
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (socket, opened) = (theirs.as_raw_fd(), program.as_ref().map(AsRawFd::as_raw_fd));
        let passed = if program.is_some() { bubblewrap::PROGRAM } else { SOCKET };
        // SAFETY: a few system calls, no allocation.
        unsafe {
            command.pre_exec(move || {
                sys::move_to(socket, SOCKET)?;
                if let Some(opened) = opened {
                    sys::move_to(opened, bubblewrap::PROGRAM)?;
                }
                sys::close_on_exec_from(passed as u32 + 1)
            });
        }
        let child = command.spawn().map_err(SandboxError::Supervisor)?;
        Ok(Supervised { child, control: Control::new(ours).map_err(SandboxError::Supervisor)? })
    }

    /// Returns the `bubblewrap_arguments` of [`Sandbox::start_supervisor`] for a job.
    pub(super) fn bubblewrap_arguments(&self, job: &Job) -> Vec<OsString> {
        match self.config.level {
            Level::Off | Level::Standard => Vec::new(),
            Level::Strict => bubblewrap::arguments(job, &[]),
        }
    }

    /// Opens the supervisor's program under a descriptor number that no other code uses.
    fn supervisor_program(&self) -> io::Result<OwnedFd> {
        sys::duplicate_above(File::open(&self.config.supervisor_exe)?, 64)
    }

    /// Returns the supervisor's job request, and the egress grant if the job may use the network. The grant must live as
    /// long as the job.
    pub(super) fn job_request(&self, job: &Job) -> Result<(JobRequest, Option<Box<dyn EgressGrant>>), SandboxError> {
        if let Some(why) = job.capture.as_ref().and_then(|_| self.capture_obstacle()) {
            return Err(SandboxError::Capture(why));
        }
        if self.config.level == Level::Off && self.person.is_some() {
            return Err(SandboxError::Confinement(
                "the commands of several people do not run without the sandbox".to_owned(),
            ));
        }
        let grant = match self.config.level {
            Level::Off => None,
            Level::Standard | Level::Strict if job.network == Network::Proxied => Some(self.grant()?),
            Level::Standard | Level::Strict => None,
        };
        let temporary = match &job.capture {
            Some(overlay) => overlay.temporary.clone(),
            None => job.cwd.join(TEMPORARY),
        };
        let fixed = environment::variables(&job.cwd, &temporary);
        let proxy = grant.as_ref().map(|grant| grant.proxy());
        let proxied = proxy.iter().flat_map(|proxy| proxy_variables(proxy));
        let proxied = proxied.map(|(name, value)| (name.to_owned(), value));
        let all = fixed.into_iter().chain(proxied);
        let request = JobRequest {
            argv: job.argv.clone(),
            cwd: job.cwd.clone(),
            readable: job.readable.clone(),
            writable: Vec::new(),
            env: all.chain(job.env.iter().cloned()).collect(),
            confinement: match self.config.level {
                Level::Standard | Level::Strict => Confinement::Standard,
                Level::Off => Confinement::None,
            },
            person: self.person,
            memory: job.memory,
            cpu_seconds: None,
            network: match (&grant, job.network) {
                (Some(grant), _) => NetworkRequest::Proxy(grant.port()),
                (None, Network::Recorded) => NetworkRequest::Recorded,
                (None, Network::None | Network::Proxied) => NetworkRequest::Nothing,
            },
            overlay: job.capture.clone(),
            owner: job.owner,
        };
        Ok((request, grant))
    }

    /// Explains a start that was never reported: at level `strict`, bubblewrap writes its error to standard error.
    pub(super) fn explain(&self, error: SandboxError, stderr: &str) -> SandboxError {
        match (error, self.config.level, stderr.lines().next()) {
            (SandboxError::Lost, Level::Strict, Some(line)) if line.starts_with("bwrap: ") => {
                SandboxError::Confinement(format!("bubblewrap could not do its part ({line})"))
            }
            (error, ..) => error,
        }
    }
}

impl Control {
    fn new(socket: StdStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (read, commands) = UnixStream::from_std(socket)?.into_split();
        let (refused, attempts) = (Vec::new(), EgressAttempts::default());
        Ok(Self { reports: BufReader::new(read).lines(), commands, accepted: false, refused, attempts })
    }

    /// Sends the job request and waits until the supervisor has accepted it.
    ///
    /// # Errors
    /// Returns [`SandboxError::Lost`] if the supervisor is gone: then nothing of the job was done.
    pub async fn submit(&mut self, request: &JobRequest) -> Result<(), SandboxError> {
        let bytes = serde_json::to_vec(request).expect("a request is strings and numbers");
        if bytes.len() as u64 > u64::from(wire::REQUEST_LIMIT) {
            // The supervisor waits for a request that will not come.
            self.stop().await;
            return Err(SandboxError::Program { program: program(request), why: "the command is too long".to_owned() });
        }
        let length = (bytes.len() as u32).to_le_bytes();
        // If the supervisor has died already, its report is missing below.
        let _ = self.commands.write_all(&length).await;
        let _ = self.commands.write_all(&bytes).await;
        self.accepted = self.report().await == Some(JobReport::Accepted);
        if self.accepted { Ok(()) } else { Err(SandboxError::Lost) }
    }

    /// Sends the job request, unless the supervisor has it already, and waits until the program runs.
    pub async fn begin(&mut self, request: &JobRequest) -> Result<(), SandboxError> {
        if !self.accepted {
            self.submit(request).await?;
        }
        match self.report().await {
            Some(JobReport::Started { no_namespace, unrecorded }) => {
                if let Some(why) = no_namespace {
                    tracing::debug!(why, "a command runs without a mount namespace");
                }
                if let Some(why) = unrecorded {
                    tracing::debug!(why, "the hosts that a command asks for are not recorded");
                }
                Ok(())
            }
            Some(JobReport::NotStarted { reason: NotStarted::Confinement, why }) => Err(SandboxError::Confinement(why)),
            Some(JobReport::NotStarted { reason: NotStarted::Capture, why }) => Err(SandboxError::Capture(why)),
            Some(JobReport::NotStarted { reason: NotStarted::Program, why }) => {
                Err(SandboxError::Program { program: program(request), why })
            }
            _ => Err(SandboxError::Lost),
        }
    }

    /// Returns the next report, or `None` if the supervisor is gone. Reports of refused calls and hosts are stored instead
    /// of returned. Cancel-safe: no report is lost if the future is dropped.
    pub async fn report(&mut self) -> Option<JobReport> {
        loop {
            let line = self.reports.next_line().await.ok()??;
            match serde_json::from_str(&line).ok()? {
                JobReport::Refused { call } => self.refused.push(call),
                JobReport::HostRefused { host } => {
                    self.attempts.refuse(&host);
                }
                JobReport::MoreHosts { requests } => self.attempts.more = self.attempts.more.saturating_add(requests),
                report => return Some(report),
            }
        }
    }

    /// Takes the names of the system calls refused so far, and logs them.
    pub fn refused(&mut self) -> Vec<String> {
        let refused = std::mem::take(&mut self.refused);
        for call in &refused {
            let why = calls::reason(call).unwrap_or("It is newer than the list of calls.");
            tracing::info!(call, why, "the sandbox refused a system call of a command");
        }
        refused
    }

    /// Takes the hosts that the job has asked for and was refused.
    pub fn attempts(&mut self) -> EgressAttempts {
        std::mem::take(&mut self.attempts)
    }

    /// Sends Ctrl-C to the main process.
    pub async fn interrupt(&mut self) {
        let _ = self.commands.write_all(&[wire::INTERRUPT]).await;
    }

    /// Makes the supervisor kill everything; its last report follows.
    pub async fn stop(&mut self) {
        let _ = self.commands.shutdown().await;
    }
}

fn program(request: &JobRequest) -> String {
    request.argv.first().cloned().unwrap_or_default()
}

/// Returns a command with an empty environment.
pub fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command
}
