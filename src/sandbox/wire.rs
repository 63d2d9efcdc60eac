//! What the server and the supervisor say to each other over one socket.
//!
//! The server sends the length of the order (4 bytes, little endian) and the order as JSON. After that each byte is a
//! command, and the end of the stream means: stop everything. So a server that dies, by whatever cause, stops its tools.
//! The supervisor answers with lines of JSON, the first of which is `Accepted`, the last `Ended` or `NotStarted`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The argument that makes the program a supervisor.
pub const ARGUMENT: &str = "__supervise";
/// The argument after it that has the supervisor make a mount namespace while it waits for its order.
pub const IN_NAMESPACE: &str = "in-namespace";
/// Where the supervisor finds its socket.
pub const SOCKET: i32 = 3;
/// The longest order, in bytes: a command line and a few paths.
pub const ORDER_LIMIT: u32 = 8 << 20;
/// The command byte for an interrupt (as Ctrl-C) of the main process.
pub const INTERRUPT: u8 = b'I';

#[derive(Debug, Serialize, Deserialize)]
pub struct JobRequest {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub readable: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    pub confinement: Confinement,
    /// Bytes of address space for each process.
    pub memory: u64,
    /// Seconds of processor time for each process; absent for a process that serves many calls.
    pub cpu_seconds: Option<u64>,
    /// The one TCP port it may connect to; without one it has no network at all.
    pub proxy_port: Option<u16>,
}

/// How far the process is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    Standard,
    None,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobReport {
    /// The order has been read, and nothing is begun yet. An order without this was not carried out.
    Accepted,
    Started {
        /// Why the job has no mount namespace, where it should have one.
        no_namespace: Option<String>,
    },
    /// The job asked for this system call, which is refused; told once for each name.
    Refused { call: String },
    /// Nothing was run.
    NotStarted { reason: NotStarted, why: String },
    /// The main process and everything it left behind are gone.
    Ended(ProcessEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotStarted {
    /// The confinement could not be set up.
    Confinement,
    /// The program could not be started.
    Program,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnd {
    Code(i32),
    Signal(i32),
}
