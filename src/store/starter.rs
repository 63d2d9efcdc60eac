//! Creates a home: writes the files that are missing, and never overwrites one.

use std::io::{self, Write};
use std::path::Path;

use super::backup::is_being_restored;
use super::settings::SettingsFile;

/// The result of [`write_if_missing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedFile {
    Created,
    /// The path existed already and is unchanged.
    AlreadyExists,
}

/// Whether nobody has used this home yet: it has no workspace/, or an empty one and neither a session nor `trusted.json`.
/// Ignores files whose names begin with a dot: they only keep a folder in a Git clone.
pub fn is_unused(home: &Path) -> bool {
    let shown = |folder: &str| {
        let entries = std::fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")).map(|entry| entry.path())
    };
    let used = || shown("sessions").any(|path| path.is_file()) || home.join(SettingsFile::Trusted.name()).exists();
    !is_being_restored(home) && (!home.join("workspace").is_dir() || !(shown("workspace").next().is_some() || used()))
}

/// Writes `bytes` to `path` below `home`, unless the path exists already.
pub fn write_if_missing(home: &Path, path: &str, bytes: &[u8]) -> io::Result<PlacedFile> {
    let target = home.join(path);
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&target) {
        Ok(mut file) => file.write_all(bytes).and_then(|()| file.sync_all()).map(|()| PlacedFile::Created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PlacedFile::AlreadyExists),
        Err(error) => Err(error),
    }
}
