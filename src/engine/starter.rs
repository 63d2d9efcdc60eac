//! The initial files of a home, embedded in the program.

use std::io;
use std::path::Path;

use rust_embed::RustEmbed;

use crate::domain::Place;
use crate::store::{PlacedFile, write_if_missing};

#[derive(RustEmbed)]
#[folder = "starter"]
struct Starter;

/// Returns the files of the built-in skills.
pub fn skills() -> Vec<(Place, Vec<u8>)> {
    let files = Starter::iter().filter_map(|path| {
        let path = Place::parse(&path).ok().filter(|path| path.is_pinned())?;
        let file = Starter::get(path.as_str())?;
        Some((path, file.data.into_owned()))
    });
    files.collect()
}

/// Writes the starter files into `home`, never over an existing file. Returns how many were written.
///
/// # Errors
/// Returns an error that names the file if one cannot be written.
pub fn fill(home: &Path) -> io::Result<usize> {
    let examples = [
        put(home, "config.example.yml", include_bytes!("../../config.example.yml"))?,
        put(home, ".env.example", include_bytes!("../../.env.example"))?,
    ];
    Ok(fill_person(home)? + examples.into_iter().sum::<usize>())
}

/// Like [`fill`], for the home of a person of a server that several people use: only the server has a configuration.
///
/// # Errors
/// As [`fill`].
pub fn fill_person(home: &Path) -> io::Result<usize> {
    let mut made = 0;
    for path in Starter::iter() {
        if let Some(file) = Starter::get(&path) {
            made += put(home, &path, &file.data)?;
        }
    }
    Ok(made)
}

/// Writes a file if it is missing. Returns how many were written.
fn put(home: &Path, path: &str, bytes: &[u8]) -> io::Result<usize> {
    let placed = write_if_missing(home, path, bytes)
        .map_err(|error| io::Error::new(error.kind(), format!("making {}: {error}", home.join(path).display())))?;
    Ok(usize::from(placed == PlacedFile::Created))
}
