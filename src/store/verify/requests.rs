//! The requests that are kept beside a session: each record is signed, each text is what its hash says, and the request that
//! made an answer is the one that the session recorded.

use std::collections::HashMap;

use super::reading::{is_lost, names, read_listed};
use super::sessions::Writer;
use super::{Check, SessionChecks};
use crate::domain::{SentRequest, Session, SessionId, WorkId};
use crate::store::etag;
use crate::store::home::Home;
use crate::store::requests::{FOLDER, FOUND, TEXTS};
use crate::store::seal::{MacKind, has_mac};

/// A request by its work, exchange and attempt.
type RequestKey = (WorkId, u32, u32);

/// A record that is kept.
struct KeptRequest {
    path: String,
    sha256: String,
}

pub(super) fn check(
    home: &Home,
    (id, writer): (&SessionId, Writer),
    session: Option<&Session>,
    found: &mut SessionChecks,
) {
    // The requests are read before it is known which are missing; the session was read before them.
    let folder = format!("{FOLDER}/{id}");
    let expected = session.map(answered).unwrap_or_default();
    let mut kept: HashMap<RequestKey, Vec<KeptRequest>> = HashMap::new();
    for name in names(home.sessions_dir(), &folder) {
        if !name.ends_with(".json") {
            continue;
        }
        let Some(record) = record(home, (&format!("{id}/{name}"), writer), found) else { continue };
        let key = (record.work_id.clone(), record.dialogue, record.attempt);
        if !record.sha256.is_empty() {
            let path = format!("sessions/{folder}/{name}");
            kept.entry(key).or_default().push(KeptRequest { path, sha256: record.sha256 });
        }
    }
    for (key, hashes) in &expected {
        // An exchange that a crash cut off can have the same numbers as the one that was answered.
        let of_key = kept.get(key).map(Vec::as_slice).unwrap_or_default();
        match of_key.last() {
            None => found.counts.dropped_requests += 1,
            Some(_) if of_key.iter().any(|request| hashes.contains(&request.sha256)) => {}
            Some(last) => {
                let what = "it is not the request that made its answer: the session has another hash";
                found.requests.alarm(last.path.as_str(), what);
            }
        }
    }
    for name in names(home.sessions_dir(), &format!("{folder}/{FOUND}")) {
        signed(home, (&format!("{id}/{FOUND}/{name}"), writer), found);
    }
    texts(home, &folder, &mut found.requests);
}

/// Returns the hashes of the requests that made the answers of a session.
fn answered(session: &Session) -> HashMap<RequestKey, Vec<String>> {
    let mut all: HashMap<RequestKey, Vec<String>> = HashMap::new();
    let works = session.works.iter().chain(session.branches.iter().flat_map(|branch| &branch.works));
    for work in works {
        for request in &work.requests {
            let key = (work.work_id.clone(), request.dialogue, request.attempt);
            all.entry(key).or_default().push(request.sha256.clone());
        }
    }
    all
}

fn record(home: &Home, file: (&str, Writer), found: &mut SessionChecks) -> Option<SentRequest> {
    let bytes = signed(home, file, found)?;
    serde_json::from_slice(&bytes).ok()
}

/// Reads a signed record. `None` if it is not what this home wrote.
fn signed(home: &Home, (name, writer): (&str, Writer), found: &mut SessionChecks) -> Option<Vec<u8>> {
    let bytes = read_listed(home, &format!("{FOLDER}/{name}"), &mut found.requests)?;
    let path = format!("sessions/{FOLDER}/{name}");
    found.requests.count += 1;
    if home.seal().verify(MacKind::Request, name, &bytes) {
        return Some(bytes);
    }
    if is_lost(&bytes) {
        found.requests.note(path, "its content was lost in a power failure");
        return None;
    }
    // A record of an earlier version has neither a signature nor the hash of the whole body.
    let is_early = !has_mac(&bytes)
        && serde_json::from_slice::<serde_json::Value>(&bytes).is_ok_and(|record| record.get("sha256").is_none());
    match (is_early, writer) {
        (true, _) => found.counts.unsigned_requests += 1,
        (false, Writer::Home) => found.requests.alarm(path, "its signature is not valid: it was changed outside"),
        (false, Writer::Other) => found.requests.note(path, "this home did not write it"),
    }
    None
}

fn texts(home: &Home, folder: &str, check: &mut Check) {
    let folder = format!("{folder}/{TEXTS}");
    for name in names(home.sessions_dir(), &folder) {
        let Some(bytes) = read_listed(home, &format!("{folder}/{name}"), check) else { continue };
        check.count += 1;
        let path = format!("sessions/{folder}/{name}");
        if etag(&bytes) != name {
            match is_lost(&bytes) {
                true => check.note(path, "its content was lost in a power failure"),
                false => check.alarm(path, "a text of requests was changed outside: it is not what its hash says"),
            }
        }
    }
}
