//! The protocol between the server and the supervisor, over one socket.
//!
//! The server sends the length of the job request (4 bytes, little endian) and the request as JSON. After that each byte is
//! a command, and the end of the stream means: stop everything. A server that dies for any reason therefore stops its tools.
//! The supervisor answers with lines of JSON, the first of which is `Accepted`, the last `Ended` or `NotStarted`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Overlay;
use crate::domain::FolderOwner;

/// The argument that makes this program a supervisor.
pub const ARGUMENT: &str = "__supervise";
/// The argument after it that makes the supervisor create a mount namespace while it waits for its job request.
pub const IN_NAMESPACE: &str = "in-namespace";
/// Descriptor number of the supervisor's socket.
pub const SOCKET: i32 = 3;
/// Maximum length of a job request in bytes: a command line and a few paths.
pub const REQUEST_LIMIT: u32 = 8 << 20;
/// The command byte for an interrupt (as Ctrl-C) of the main process.
pub const INTERRUPT: u8 = b'I';

#[derive(Debug, Serialize, Deserialize)]
pub struct JobRequest {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub readable: Vec<PathBuf>,
    /// Folders that it may write to besides the working directory. No part of such a path may be a link.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    pub confinement: Confinement,
    /// The user and group of the person whose job it is; absent on a server of one person.
    pub person: Option<u32>,
    /// Maximum bytes of address space for each process.
    pub memory: u64,
    /// Maximum seconds of processor time for each process; absent for a process that serves many calls.
    pub cpu_seconds: Option<u64>,
    pub network: NetworkRequest,
    /// Where its changes are captured.
    pub overlay: Option<Overlay>,
    /// To whom the files of the working directory belong.
    pub owner: FolderOwner,
}

impl JobRequest {
    /// Returns the folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.overlay.as_ref().map_or_else(|| self.cwd.join(super::TEMPORARY), |overlay| overlay.temporary.clone())
    }
}

/// What the process may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkRequest {
    Nothing,
    /// Nothing, but the hosts that it asks for are recorded if the system allows it.
    Recorded,
    /// This TCP port only.
    Proxy(u16),
}

/// How strictly the process is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    Standard,
    None,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobReport {
    /// The supervisor has read the request and not yet started it. A request without this report was not carried out.
    Accepted,
    Started {
        /// Why the job has no mount namespace, if it should have one.
        no_namespace: Option<String>,
        /// Why the hosts that it asks for are not recorded, if they should be.
        unrecorded: Option<String>,
    },
    /// The job made this system call, which was refused; reported once for each name.
    Refused { call: String },
    /// The job asked for this host and was refused; reported once for each host, up to [`crate::domain::egress::MAX_HOSTS`].
    HostRefused { host: String },
    /// Number of requests for hosts beyond that; reported at most once, before the end.
    MoreHosts { requests: u64 },
    /// Nothing ran.
    NotStarted { reason: NotStarted, why: String },
    /// The main process and everything it left behind are gone.
    Ended(ProcessEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotStarted {
    /// The confinement could not be set up.
    Confinement,
    /// The overlay that captures its changes could not be set up.
    Capture,
    /// The program could not be started.
    Program,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnd {
    Code(i32),
    Signal(i32),
}
