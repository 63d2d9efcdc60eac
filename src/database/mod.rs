//! SQL on SQLite databases, run by a helper process: this program, started again in the sandbox. The helper gets the bytes of
//! a database and returns rows, and the new bytes if it may write; it can open no file, so no statement reaches another one.

mod child;

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use crate::sandbox::{Exit, Frame, FrameHeader, HEADER_SIZE, Helper, Sandbox, SandboxError};

/// Argument with which this program becomes the helper.
const ARGUMENT: &str = "__sql";
/// Maximum address space of the helper in bytes.
const MEMORY: u64 = 512 << 20;
/// Maximum wall-clock time, if the helper does not keep to its own limit.
const WALL: Duration = Duration::from_secs(40);
/// Maximum size of a database in bytes.
pub const MAX_DATABASE: usize = 10 << 20;
/// Maximum number of rows that are returned, and bytes of their JSON.
const MAX_ROWS: usize = 1_000;
const MAX_RESULT: usize = 1 << 20;
/// Tags of the frames: a request, a result, and an error.
const RUN: u8 = 1;
const DONE: u8 = 2;
const FAILED: u8 = 3;
/// What bytes 18 and 19 of a database say if it keeps a write-ahead log.
const LOGGED: [u8; 2] = [2, 2];
const ROLLED_BACK: [u8; 2] = [1, 1];

/// Whether statements may change the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    Read,
    Write,
}

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    sql: String,
    access: Access,
}

/// What statements have returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SqlResult {
    /// Names of the columns of the last statement that returns rows.
    pub columns: Vec<String>,
    /// Its rows, up to 1,000 and 1 MB.
    pub rows: Vec<Vec<Value>>,
    /// Number of its rows.
    pub row_count: usize,
    /// Number of rows that all statements have changed.
    pub affected_rows: u64,
    /// First word of the last statement, in capitals.
    pub operation: String,
    /// The first table that was used.
    pub table: Option<String>,
    pub seconds: f64,
}

/// The result of statements, and the database as they have left it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    pub result: SqlResult,
    /// `None` if it is unchanged.
    pub database: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// SQLite's own message.
    #[error("{0}")]
    Statement(String),
    #[error("the statement reads only; say write: true if it should change the database")]
    ReadOnly,
    #[error("it took longer than 30 s and was stopped; nothing was changed")]
    Timeout,
    #[error("it needed more memory than 512 MB and was stopped; nothing was changed")]
    Memory,
    #[error("the database would have {0} bytes; the limit here is {MAX_DATABASE}")]
    TooLarge(usize),
    #[error("no process for SQL could be started: {0}")]
    NotStarted(String),
}

/// Runs the helper and never returns, if this process was started as one. Call this early in `main`.
pub fn run_sql_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|first| first == ARGUMENT) {
        std::process::exit(child::serve());
    }
}

/// Runs statements on a database; on a new one if it has no bytes. A database that keeps a write-ahead log must have been
/// closed: what is still in its log is not seen.
///
/// # Errors
/// Returns an error if a statement fails or takes too much time or memory; the database is then as it was.
pub async fn run(sandbox: &Sandbox, (sql, access): (&str, Access), database: &[u8]) -> Result<Ran, SqlError> {
    if database.len() > MAX_DATABASE {
        return Err(SqlError::TooLarge(database.len()));
    }
    let mut bytes = database.to_vec();
    let is_logged = bytes.get(18..20) == Some(&LOGGED);
    if is_logged {
        // In memory there is no log. The mode is restored below.
        bytes[18..20].copy_from_slice(&ROLLED_BACK);
    }
    let request = Request { sql: sql.to_owned(), access };
    let request = serde_json::to_vec(&request).expect("strings are JSON");
    let frame = Frame { tag: RUN, first: request, second: bytes };
    let started = |error: SandboxError| SqlError::NotStarted(error.to_string());
    let mut helper = sandbox.helper(ARGUMENT, MEMORY).await.map_err(started)?;
    let reply = timeout(WALL, exchange(&mut helper, &frame)).await;
    let (exit, stderr) = helper.end().await;
    let reply = match reply {
        Err(_) => return Err(SqlError::Timeout),
        Ok(Err(_)) => return Err(reason(exit, &stderr)),
        Ok(Ok(reply)) => reply,
    };
    match reply.tag {
        DONE => {
            let broken = |error: serde_json::Error| SqlError::Statement(error.to_string());
            let result = serde_json::from_slice(&reply.first).map_err(broken)?;
            let mut after = reply.second;
            if is_logged && after.len() >= 20 {
                after[18..20].copy_from_slice(&LOGGED);
            }
            let is_changed = access == Access::Write && after != database;
            Ok(Ran { result, database: is_changed.then_some(after) })
        }
        _ => Err(failed(&String::from_utf8_lossy(&reply.first))),
    }
}

async fn exchange(helper: &mut Helper, request: &Frame) -> io::Result<Frame> {
    helper.write(&request.header().ok_or(io::ErrorKind::InvalidInput)?).await?;
    helper.write(&request.first).await?;
    helper.write(&request.second).await?;
    let header = helper.read(HEADER_SIZE).await?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let header = FrameHeader::parse(header).ok_or(io::ErrorKind::InvalidData)?;
    let (first, second) = (helper.read(header.first).await?, helper.read(header.second).await?);
    Ok(Frame { tag: header.tag, first, second })
}

fn failed(message: &str) -> SqlError {
    match message {
        child::INTERRUPTED => SqlError::Timeout,
        child::OUT_OF_MEMORY => SqlError::Memory,
        message if message.starts_with(child::TOO_LARGE) => {
            SqlError::TooLarge(message[child::TOO_LARGE.len()..].parse().unwrap_or(usize::MAX))
        }
        message if message.contains("readonly database") || message.contains("query_only") => SqlError::ReadOnly,
        message => SqlError::Statement(message.to_owned()),
    }
}

fn reason(exit: Exit, stderr: &str) -> SqlError {
    match exit {
        _ if stderr.contains("memory allocation of") => SqlError::Memory,
        Exit::Signal(libc::SIGKILL) => SqlError::Memory,
        _ => SqlError::Statement("the process for SQL ended unexpectedly; nothing was changed".to_owned()),
    }
}
