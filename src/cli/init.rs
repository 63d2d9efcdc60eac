//! `miniclaw init DIR`: creates a starter home.

use std::path::Path;
use std::process::ExitCode;

use crate::engine::starter;

/// Writes the starter files into `dir` and prints how many were created.
pub fn init(dir: &Path) -> anyhow::Result<ExitCode> {
    let made = starter::fill(dir)?;
    say!("{} is a miniclaw home now ({made} files made, what was there is kept).", dir.display());
    say!("Start it with: miniclaw --home {}", dir.display());
    Ok(ExitCode::SUCCESS)
}
