//! The measurements, one topic per file. Each adds its figures to the report.

pub mod captures;
pub mod cluster;
pub mod conversations;
pub mod doors;
pub mod journal;
pub mod knowledge;
pub mod mcp;
pub mod meaning;
pub mod memory;
pub mod people;
pub mod project;
pub mod prompt;
pub mod sandbox;
pub mod search;
pub mod sessions;
pub mod soak;
pub mod start;
pub mod streams;
pub mod takeovers;
pub mod turn;
pub mod ui;
pub mod verify;

use std::io;
use std::path::{Path, PathBuf};

use miniclaw::provider::scripted::{self, MockProvider, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::http::Connection;

/// Folder for the homes, and the scale of the measurements.
pub struct Bench {
    folder: TempDir,
    /// Whether to run only a tenth of the repetitions: a smoke test, whose figures are not to be quoted.
    pub quick: bool,
}

impl Bench {
    pub fn new(quick: bool) -> io::Result<Self> {
        // On the disk of the build, not in a memory file system: disk latency is part of the measurements.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self { folder, quick })
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn times(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }
}

/// Starts a scripted provider that answers every question with `tokens` numbered tokens at full speed.
pub async fn fast_model(tokens: usize) -> io::Result<MockProvider> {
    let steps = json!([{"tokens": {"count": tokens, "text": "word{n} "}}, {"finish": "stop"}]);
    model(json!([{"repeat": true, "steps": steps}])).await
}

pub async fn model(replies: Value) -> io::Result<MockProvider> {
    scripted::start(Script::from_value(&json!({"replies": replies})).map_err(io::Error::other)?).await
}

/// Creates a session that already has a title, so that no turn asks the model for one.
pub async fn titled_session(connection: &mut Connection) -> io::Result<String> {
    let made = connection.post("/api/sessions", &json!({"title": "bench"})).await?.json()?;
    made["id"].as_str().map(str::to_owned).ok_or_else(|| io::Error::other("a session without an id"))
}

/// Returns the size of a file or folder in bytes, as `ls` shows it.
pub fn size(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}
