//! `miniclaw init DIR`: a starter home.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use rust_embed::RustEmbed;

use crate::store::{Placed, place};

#[derive(RustEmbed)]
#[folder = "workspace"]
struct Workspace;

#[derive(RustEmbed)]
#[folder = "skills"]
struct Skills;

#[derive(RustEmbed)]
#[folder = "memory"]
struct Memory;

#[derive(RustEmbed)]
#[folder = "knowledge"]
struct Knowledge;

/// Puts the starter files into `dir` and says what was made.
pub fn init(dir: &Path) -> anyhow::Result<ExitCode> {
    let made = fill(dir)?;
    println!("{} is a miniclaw home now ({made} files made, what was there is kept).", dir.display());
    println!("Start it with: miniclaw --home {}", dir.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns how many files were made.
pub fn fill(dir: &Path) -> anyhow::Result<usize> {
    let mut made = 0;
    let mut put = |path: &str, bytes: &[u8]| -> anyhow::Result<()> {
        let placed = place(dir, path, bytes).with_context(|| format!("making {}", dir.join(path).display()))?;
        made += usize::from(placed == Placed::Made);
        Ok(())
    };
    put_all::<Workspace>("workspace", &mut put)?;
    put_all::<Skills>("skills", &mut put)?;
    put_all::<Memory>("memory", &mut put)?;
    put_all::<Knowledge>("knowledge", &mut put)?;
    put("config.example.yml", include_bytes!("../../config.example.yml"))?;
    put(".env.example", include_bytes!("../../.env.example"))?;
    Ok(made)
}

fn put_all<E: RustEmbed>(folder: &str, put: &mut impl FnMut(&str, &[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    for path in E::iter() {
        if let Some(file) = E::get(&path) {
            put(&format!("{folder}/{path}"), &file.data)?;
        }
    }
    Ok(())
}
