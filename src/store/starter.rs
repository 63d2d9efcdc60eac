//! Creates a home: writes the files that are missing, and never overwrites one.

use std::io::{self, Write};
use std::path::Path;

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedFile {
    Made,
    /// Something of that name was there; it stays as it is.
    Kept,
}

/// Whether nobody has used this home yet: it has no workspace/, or an empty one, and neither a conversation nor a note of what is
/// trusted. A file whose name begins with a dot only keeps its folder in a clone.
pub fn is_unused(home: &Path) -> bool {
    let shown = |folder: &str| {
        let entries = std::fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")).map(|entry| entry.path())
    };
    let used = || shown("sessions").any(|path| path.is_file()) || home.join(super::trusted::FILE).exists();
    !home.join("workspace").is_dir() || !(shown("workspace").next().is_some() || used())
}

/// Puts `bytes` at `path` below `home` unless something is there.
pub fn place(home: &Path, path: &str, bytes: &[u8]) -> io::Result<PlacedFile> {
    let target = home.join(path);
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&target) {
        Ok(mut file) => file.write_all(bytes).and_then(|()| file.sync_all()).map(|()| PlacedFile::Made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PlacedFile::Kept),
        Err(error) => Err(error),
    }
}
