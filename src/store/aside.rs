//! Moves the files that belong to a session when the session is deleted or restored.

use std::io;

use cap_std::fs::Dir;

use crate::clock;
use crate::domain::SessionId;

/// Returns the path of the folder `kind/{session}` of a deleted session.
pub fn deleted_path(kind: &str, session: &SessionId) -> String {
    format!("archive/deleted/{kind}/{session}")
}

/// Moves `kind/{session}` to the deleted sessions. Renames the folder of an earlier deleted session with the same id.
pub fn move_to_deleted(sessions: &Dir, kind: &str, session: &SessionId) -> io::Result<()> {
    let (here, there) = (format!("{kind}/{session}"), deleted_path(kind, session));
    if !sessions.is_dir(&here) {
        return Ok(());
    }
    sessions.create_dir_all(format!("archive/deleted/{kind}"))?;
    if sessions.exists(&there) {
        sessions.rename(&there, sessions, format!("{there}_{}", clock::stamp()))?;
    }
    sessions.rename(here, sessions, there)
}

/// Moves the folder back, unless a folder of that name exists again.
pub fn restore(sessions: &Dir, kind: &str, session: &SessionId) -> io::Result<()> {
    let (here, there) = (format!("{kind}/{session}"), deleted_path(kind, session));
    if !sessions.is_dir(&there) || sessions.exists(&here) {
        return Ok(());
    }
    sessions.create_dir_all(kind)?;
    sessions.rename(there, sessions, here)
}
