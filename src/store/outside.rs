//! Files outside the home that a person named on the command line.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Reads a text file.
///
/// # Errors
/// Returns an error with the path if the file cannot be read or is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map_err(|error| named(path, &error))
}

/// Lists all files below a folder, sorted by path.
///
/// # Errors
/// Returns an error with the path if a folder cannot be listed.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| named(folder, &error))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_below(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file, and creates its folder if missing.
///
/// # Errors
/// Returns an error with the path if the file cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    make_folder_of(path)?;
    fs::write(path, text).map_err(|error| named(path, &error))
}

/// Opens a file for reading and writing; creates the file and its folder if missing.
///
/// # Errors
/// Returns an error with the path if the file cannot be opened.
pub fn cache(path: &Path) -> io::Result<File> {
    make_folder_of(path)?;
    let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
    opened.map_err(|error| named(path, &error))
}

/// Returns the id of this start of the system; empty if it has none.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| named(folder, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
