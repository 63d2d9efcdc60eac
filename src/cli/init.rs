//! `miniclaw init DIR`: a starter home.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use rust_embed::RustEmbed;

use crate::domain::{HomePath, Root};
use crate::store::{Placed, place};

/// `starter/`: what a new person begins with.
#[derive(RustEmbed)]
#[folder = "starter"]
struct Starter;

/// Puts the starter files into `dir` and says what was made.
pub fn init(dir: &Path) -> anyhow::Result<ExitCode> {
    let made = fill(dir)?;
    println!("{} is a miniclaw home now ({made} files made, what was there is kept).", dir.display());
    println!("Start it with: miniclaw --home {}", dir.display());
    Ok(ExitCode::SUCCESS)
}

/// The files of the skills that come with the program.
pub fn skills() -> Vec<(HomePath, Vec<u8>)> {
    let files = Starter::iter().filter_map(|path| {
        let path = HomePath::parse(&path).ok().filter(|path| Root::of(path).is_some_and(Root::is_pinned))?;
        let file = Starter::get(path.as_str())?;
        Some((path, file.data.into_owned()))
    });
    files.collect()
}

/// Returns how many files were made.
pub fn fill(dir: &Path) -> anyhow::Result<usize> {
    let mut made = 0;
    let mut put = |path: &str, bytes: &[u8]| -> anyhow::Result<()> {
        let placed = place(dir, path, bytes).with_context(|| format!("making {}", dir.join(path).display()))?;
        made += usize::from(placed == Placed::Made);
        Ok(())
    };
    for path in Starter::iter() {
        if let Some(file) = Starter::get(&path) {
            put(&path, &file.data)?;
        }
    }
    put("config.example.yml", include_bytes!("../../config.example.yml"))?;
    put(".env.example", include_bytes!("../../.env.example"))?;
    Ok(made)
}
