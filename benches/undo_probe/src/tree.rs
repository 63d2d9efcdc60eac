//! The folder that commands work in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in each folder.
const FANOUT: usize = 200;
const BYTES: usize = 2_000;

/// Returns the path of one of the files.
pub fn file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("d{:04}/f{:03}.txt", number / FANOUT, number % FANOUT))
}

pub fn fill(folder: &Path, files: usize) -> io::Result<()> {
    for number in 0..files {
        if number % FANOUT == 0 {
            fs::create_dir(folder.join(format!("d{:04}", number / FANOUT)))?;
        }
        fs::write(file(folder, number), format!("{number:0BYTES$}"))?;
    }
    Ok(())
}
