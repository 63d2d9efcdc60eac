//! The other files of sessions: pictures, compacted messages and deleted sessions; and the trusted files.

use super::anchors::Anchors;
use super::reading::{names, read_if_there, read_listed};
use super::sessions::Writer;
use super::{Check, SessionChecks, changes, files};
use crate::domain::{Session, SessionId};
use crate::store::home::Home;
use crate::store::pictures;
use crate::store::reading::is_compacted_file_of;
use crate::store::seal::{MacKind, has_mac, sha256};
use crate::store::{session_file, sessions};

/// Checks that the pictures of a session are what their names say.
pub(super) fn pictures(home: &Home, id: &SessionId, check: &mut Check) {
    let folder = format!("{}/{id}", pictures::FOLDER);
    for name in names(home.sessions_dir(), &folder) {
        let Some(bytes) = read_listed(home, &format!("{folder}/{name}"), check) else { continue };
        check.count += 1;
        if name.split_once('.').is_none_or(|(hash, _)| sha256(&bytes) != hash) {
            check.alarm(format!("sessions/{folder}/{name}"), "it was changed outside: it is not what its hash says");
        }
    }
}

/// Checks that the compacted messages of a session are those that its summary replaced.
pub(super) fn compacted(home: &Home, (id, session): (&SessionId, &Session), check: &mut Check) {
    for part in &session.compacted {
        let Some(known) = &part.sha256 else { continue };
        check.count += 1;
        let path = format!("sessions/archive/{}", part.archive);
        if !is_compacted_file_of(id, &part.archive) {
            check.note(path, format!("session {id} names it, and it is none of its files"));
            continue;
        }
        match read_if_there(home.sessions_dir(), &format!("archive/{}", part.archive)) {
            Ok(Some(bytes)) if sha256(&bytes) == *known => {}
            Ok(Some(_)) => check.alarm(path, "these compacted messages were changed outside"),
            Ok(None) if part.restored_at.is_some() => check.note(path, "it is gone; its messages were restored before"),
            Ok(None) => check.alarm(path, "these compacted messages are gone"),
            Err(error) => check.alarm(path, format!("it cannot be read: {error}")),
        }
    }
}

/// Checks the sessions that were deleted and can be restored, and what their calls changed.
pub(super) fn deleted(home: &Home, anchors: &Anchors, found: &mut SessionChecks) {
    let dir = home.sessions_dir();
    for name in names(dir, "archive/deleted") {
        let Some(id) = name.strip_suffix(".json").and_then(|id| SessionId::parse(id).ok()) else { continue };
        let Ok(Some(bytes)) = read_if_there(dir, &format!("archive/deleted/{name}")) else { continue };
        let mut one = SessionChecks::new();
        one.sessions.count = 1;
        let own = home.seal().verify(MacKind::Session, id.as_str(), &bytes);
        let path = format!("sessions/archive/deleted/{name}");
        if !own && has_mac(&bytes) && anchors.was_deleted(&id) {
            one.sessions.alarm(path, "its signature is not valid: it was changed outside since it was deleted");
        } else if !own {
            one.sessions.note(path, "this home did not write it in this form: a restore takes it over as content");
        }
        if !dir.exists(sessions::file_name(&id)) {
            let writer = if own { Writer::Home } else { Writer::Other };
            changes::check(home, (&id, writer), &mut one.changes);
            if let Some(file) = own.then(|| session_file::parse(&bytes, 0.0).ok()).flatten() {
                one.touched = files::touched(home, &id, &file);
            }
        }
        found.add(one, Some(&id));
    }
}

/// Lists the files in skills/ whose version is not trusted.
pub(super) fn trusted(home: &Home) -> Check {
    let mut check = Check::new("trusted");
    let files = match home.skill_files() {
        Ok(files) => files,
        Err(error) => {
            check.note("skills/", format!("they cannot be listed: {error}"));
            return check;
        }
    };
    check.count = files.files.len();
    for file in &files.untrusted {
        let what = match file.changed {
            true => "it was changed since it was trusted: what it says counts as text from outside",
            false => "nobody has trusted it: what it says counts as text from outside",
        };
        check.note(file.path.to_string(), what);
    }
    for entry in &files.unlisted {
        check.note(entry.path(), "it cannot be listed, so nobody can trust it");
    }
    check
}
