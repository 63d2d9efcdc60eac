//! What calls changed: every record is signed, and every content is what its hash says.

use std::collections::BTreeSet;

use super::Check;
use super::reading::{hash_listed, names, read_listed};
use super::sessions::Writer;
use crate::domain::SessionId;
use crate::store::blobs::{KEPT_SIZE, hash_in};
use crate::store::changes::{BLOBS, RecordedChange, RecordedChanges};
use crate::store::home::Home;
use crate::store::seal::MacKind;
use crate::store::session_files::SessionFiles;

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

/// Checks the contents that are named by their hashes, and returns the hashes.
fn blobs(home: &Home, folder: &str, check: &mut Check) -> BTreeSet<String> {
    let folder = format!("{folder}/{BLOBS}");
    let names = names(home.sessions_dir(), &folder);
    for name in &names {
        let Some(hash) = hash_listed(home, (&folder, name), check) else { continue };
        check.count += 1;
        if hash != hash_in(name) {
            let what = "what a file was, or became, was changed outside: it is not what its hash says";
            check.alarm(format!("sessions/{folder}/{name}"), what);
        }
    }
    names.iter().map(|name| hash_in(name).to_owned()).collect()
}

/// Checks that the contents a record needs are there.
fn contents(kept: &SessionFiles, (name, path): (&str, &str), blobs: &BTreeSet<String>, check: &mut Check) {
    // The name of a record whose call has another name is a hash, which finds no record: its contents are checked as blobs.
    let Some(call) = name.strip_suffix(".json").filter(|call| !call.ends_with('~')) else { return };
    let Ok(RecordedChanges::Files(files)) = kept.recorded_changes(call) else { return };
    for file in files.iter().filter(|file| !is_there(file, blobs)) {
        check.alarm(path, format!("what {} was before is gone", file.path));
    }
}

/// Returns whether the content that an undo of a change needs is kept, or need not be: the record says that it was dropped,
/// it is too large, or the change was one of the mode only. Of what a call left, the hash is enough.
fn is_there(RecordedChange { before, after, .. }: &RecordedChange, blobs: &BTreeSet<String>) -> bool {
    let Some(before) = before.as_ref().filter(|before| before.has_blob() && !before.is_dropped) else { return true };
    let is_too_large = before.size.is_some_and(|size| size > KEPT_SIZE);
    let is_unchanged = after.as_ref().is_some_and(|after| after.has_content_of(before));
    is_too_large || is_unchanged || blobs.contains(&before.hash)
}
