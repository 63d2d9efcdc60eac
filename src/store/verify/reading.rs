//! Reads a session as one moment saw it, while a server may be writing it.

use std::collections::BTreeSet;
use std::io;

use cap_std::fs::Dir;

use super::Check;
use crate::domain::SessionId;
use crate::store::blobs::{KEPT_SIZE, hash_of, open_file};
use crate::store::error::StoreError;
use crate::store::home::Home;
use crate::store::{journal, sessions};

/// Maximum number of attempts to read a session that is being written.
const MAX_ATTEMPTS: usize = 100;

/// The bytes of a session's files.
pub(super) struct SessionBytes {
    pub file: Option<Vec<u8>>,
    pub journal: Option<Vec<u8>>,
}

/// Returns the ids of all sessions that have a file or a journal.
pub(super) fn session_ids(home: &Home) -> Result<Vec<SessionId>, StoreError> {
    let mut ids: BTreeSet<SessionId> = home.session_ids()?.into_iter().collect();
    ids.extend(home.unsettled_sessions()?);
    Ok(ids.into_iter().collect())
}

/// Reads the file and the journal of a session. A server replaces the file before it removes the journal, so both belong
/// together if the file is still the same after the journal was read.
pub(super) fn read(home: &Home, id: &SessionId) -> io::Result<SessionBytes> {
    let dir = home.sessions_dir();
    for _ in 0..MAX_ATTEMPTS {
        let version = home.session_version(id);
        let file = read_if_there(dir, &sessions::file_name(id))?;
        let journal = read_if_there(dir, &journal::file_name(id))?;
        if home.session_version(id) == version && file.is_some() == version.is_some() {
            return Ok(SessionBytes { file, journal });
        }
        std::thread::yield_now();
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "it is being written all the time"))
}

pub(super) fn read_if_there(dir: &Dir, path: &str) -> io::Result<Option<Vec<u8>>> {
    match dir.metadata(path) {
        Ok(meta) if meta.is_file() => dir.read(path).map(Some),
        // Opening a named pipe would wait for ever.
        Ok(_) => Err(io::Error::other("it is no ordinary file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file that was listed below sessions/. `None` if it is gone in the meantime; a file that cannot be read is an alarm.
pub(super) fn read_listed(home: &Home, path: &str, check: &mut Check) -> Option<Vec<u8>> {
    read_if_there(home.sessions_dir(), path).unwrap_or_else(|error| {
        check.alarm(format!("sessions/{path}"), format!("it cannot be read: {error}"));
        None
    })
}

/// Like [`read_listed`], for the SHA-256 of a kept content, of which no more is read than can have been kept.
pub(super) fn hash_listed(home: &Home, (folder, name): (&str, &str), check: &mut Check) -> Option<String> {
    let opened = home.sessions_dir().open_dir(folder).and_then(|dir| open_file(&dir, name));
    let hash = opened.and_then(|blob| blob.map(|blob| hash_of(blob.reader(KEPT_SIZE)?)).transpose());
    hash.map(|content| content.map(|content| content.hash)).unwrap_or_else(|error| {
        check.alarm(format!("sessions/{folder}/{name}"), format!("it cannot be read: {error}"));
        None
    })
}

/// Returns the names in a folder, sorted; none if there is no such folder. Leaves out hidden ones: temporary files.
pub(super) fn names(dir: &Dir, path: &str) -> Vec<String> {
    let entries = dir.open_dir(path).and_then(|dir| dir.entries()).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Whether a file that is written without a sync has lost its content in a power failure.
pub(super) fn is_lost(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes.contains(&0)
}
