//! Making a home: files are put where there are none, and never over what is there.

use std::io::{self, Write};
use std::path::Path;

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    Made,
    /// Something of that name was there; it stays as it is.
    Kept,
}

/// Puts `bytes` at `path` below `home` unless something is there.
pub fn place(home: &Path, path: &str, bytes: &[u8]) -> io::Result<Placed> {
    let target = home.join(path);
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&target) {
        Ok(mut file) => file.write_all(bytes).and_then(|()| file.sync_all()).map(|()| Placed::Made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::Kept),
        Err(error) => Err(error),
    }
}
