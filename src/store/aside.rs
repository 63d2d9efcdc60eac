//! The files that belong to a session are moved with it when it is deleted or restored.

use std::io;

use cap_std::fs::Dir;

use crate::clock;
use crate::domain::SessionId;

/// Where the folder `kind/{session}` of a deleted session is.
pub fn place(kind: &str, session: &SessionId) -> String {
    format!("archive/deleted/{kind}/{session}")
}

/// Moves `kind/{session}` aside. What is there of one deleted before is kept under another name.
pub fn put(sessions: &Dir, kind: &str, session: &SessionId) -> io::Result<()> {
    let (here, there) = (format!("{kind}/{session}"), place(kind, session));
    if !sessions.is_dir(&here) {
        return Ok(());
    }
    sessions.create_dir_all(format!("archive/deleted/{kind}"))?;
    if sessions.exists(&there) {
        sessions.rename(&there, sessions, format!("{there}_{}", clock::stamp()))?;
    }
    sessions.rename(here, sessions, there)
}

/// Moves it back, unless there is one of that name again.
pub fn bring_back(sessions: &Dir, kind: &str, session: &SessionId) -> io::Result<()> {
    let (here, there) = (format!("{kind}/{session}"), place(kind, session));
    if !sessions.is_dir(&there) || sessions.exists(&here) {
        return Ok(());
    }
    sessions.create_dir_all(kind)?;
    sessions.rename(there, sessions, here)
}
