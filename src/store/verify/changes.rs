//! What calls changed: every record is signed, and every content is what its hash says.

use std::collections::BTreeSet;

use super::Check;
use super::reading::{hash_listed, names, read_listed};
use super::sessions::Writer;
use crate::domain::SessionId;
use crate::store::RecordedContent;
use crate::store::changes::{BLOBS, RecordedChanges};
use crate::store::home::Home;
use crate::store::recorded_state::RecordedState;
use crate::store::seal::MacKind;
use crate::store::session_files::SessionFiles;

/// Which side of a change a state is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl Side {
    /// Whether the content of a state on this side must have been kept. An undo writes what was there before; of what the
    /// call left, the hash is enough.
    fn needs_content(self) -> bool {
        self == Side::Before
    }
}

pub(super) fn check(home: &Home, (id, writer): (&SessionId, Writer), check: &mut Check) {
    let folder = format!("changes/{id}");
    let files = names(home.sessions_dir(), &folder);
    if files.is_empty() {
        return;
    }
    let blobs = blobs(home, &folder, check);
    let kept = home.session_files(id);
    for name in files.iter().filter(|name| name.ends_with(".json")) {
        let Some(bytes) = read_listed(home, &format!("{folder}/{name}"), check) else { continue };
        check.count += 1;
        let path = format!("sessions/{folder}/{name}");
        if home.seal().verify(MacKind::Change, &format!("{id}/{name}"), &bytes) {
            contents(&kept, (name, &path), &blobs, check);
            continue;
        }
        match writer {
            Writer::Home => check.alarm(path, "its signature is not valid: it was changed outside"),
            Writer::Other => check.note(path, "this home did not write it: nothing in it is used"),
        }
    }
}

/// Checks the contents that are named by their hashes, and returns the names.
fn blobs(home: &Home, folder: &str, check: &mut Check) -> BTreeSet<String> {
    let folder = format!("{folder}/{BLOBS}");
    let names = names(home.sessions_dir(), &folder);
    for name in &names {
        let Some(hash) = hash_listed(home, &format!("{folder}/{name}"), check) else { continue };
        check.count += 1;
        if hash != *name {
            let what = "what a file was, or became, was changed outside: it is not what its hash says";
            check.alarm(format!("sessions/{folder}/{name}"), what);
        }
    }
    names.into_iter().collect()
}

/// Checks that the contents a record needs are there.
fn contents(kept: &SessionFiles, (name, path): (&str, &str), blobs: &BTreeSet<String>, check: &mut Check) {
    // The name of a record whose call has another name is a hash, which finds no record: its contents are checked as blobs.
    let Some(call) = name.strip_suffix(".json").filter(|call| !call.ends_with('~')) else { return };
    let Ok(RecordedChanges::Files(files)) = kept.recorded_changes(call) else { return };
    let is_missing = |state: &RecordedState| {
        !blobs.contains(&state.hash) && matches!(kept.recorded_content(state), RecordedContent::Damaged)
    };
    for file in &files {
        for (side, state) in [(Side::Before, &file.before), (Side::After, &file.after)] {
            if state.as_ref().is_some_and(|state| side.needs_content() && is_missing(state)) {
                check.alarm(path, format!("what {} was before is gone", file.path));
            }
        }
    }
}
