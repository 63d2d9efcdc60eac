//! Files that the person who runs the server names, such as its certificate: outside the home, read and never written.

use std::fs;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use secrecy::SecretSlice;

use crate::domain::FileStamp;

/// A file as it was when it was read.
pub struct ServerFile {
    /// Overwritten in memory when it is dropped, and never printed: it may be a key.
    pub bytes: SecretSlice<u8>,
    /// The permission bits.
    pub mode: u32,
    /// The path without symbolic links.
    pub real_path: PathBuf,
}

/// Returns what differs if the file at this path was replaced or changed; `None` if it cannot be looked at.
pub fn server_file_stamp(path: &Path) -> Option<FileStamp> {
    fs::metadata(path).ok().map(|found| stamp(&found))
}

/// Returns a path without symbolic links; the path itself if there is no such file.
pub fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Reads a file into memory.
///
/// # Errors
/// Returns an error if it cannot be read, is not a regular file, or has more than `most` bytes.
pub fn read_server_file(path: &Path, most: u64) -> Result<ServerFile> {
    let real_path = fs::canonicalize(path)?;
    // Opening a named pipe would block until a writer opens it.
    if !fs::metadata(&real_path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let file = fs::File::open(&real_path)?;
    let mode = file.metadata()?.mode() & 0o7777;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {most} bytes")));
    }
    Ok(ServerFile { bytes: SecretSlice::from(bytes), mode, real_path })
}

fn stamp(found: &fs::Metadata) -> FileStamp {
    let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    FileStamp::of(found.len(), modified, changed, (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn link_is_read_and_its_target_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["a.pem", "b.pem"].map(|name| folder.path().join(name));
        fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let read = read_server_file(&link, 5).unwrap();
        assert_eq!((read.bytes.expose_secret(), read.real_path), (&b"12345"[..], file.canonicalize().unwrap()));
        assert_eq!(read_server_file(&link, 4).err().unwrap().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_server_file(folder.path(), 9).err().unwrap().kind(), ErrorKind::InvalidInput);
        let before = server_file_stamp(&link);
        fs::remove_file(&link).unwrap();
        assert_eq!(server_file_stamp(&link), None);
        fs::write(&link, "12345").unwrap();
        assert_ne!(server_file_stamp(&link), before, "another file with the same content");
    }
}
