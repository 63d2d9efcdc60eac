//! Checks that the files of a home are what this home wrote: reads everything, writes nothing, and takes no lock, so it also
//! works while a server runs. docs/verify.md says what a check proves, and what it cannot.

mod anchors;
mod changes;
mod files;
mod kept;
mod reading;
mod requests;
mod sessions;
#[cfg(test)]
mod tests;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::error::StoreError;
use super::home::{Home, lock};
use crate::domain::{Session, SessionId};
use anchors::Anchors;
use files::Touched;

/// The result of all checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Whether there is no alarm.
    pub ok: bool,
    pub checks: Vec<Check>,
}

/// The result of one check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    pub name: &'static str,
    /// Whether there is no alarm.
    pub ok: bool,
    /// Number of things that were checked.
    pub count: usize,
    /// What somebody has changed that only this home writes.
    pub alarms: Vec<Finding>,
    /// What a person may want to know, and is allowed: their own edits, for example.
    pub notes: Vec<Finding>,
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Path in the home.
    pub path: String,
    /// A sentence.
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl Report {
    pub fn of(checks: Vec<Check>) -> Self {
        Self { ok: checks.iter().all(|check| check.alarms.is_empty()), checks }
    }
}

impl Check {
    pub fn new(name: &'static str) -> Self {
        Self { name, ok: true, ..Self::default() }
    }

    pub fn note(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.notes.push(Finding { path: path.into(), what: what.into(), session_id: None });
    }

    fn alarm(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.alarms.push(Finding { path: path.into(), what: what.into(), session_id: None });
        self.ok = false;
    }

    /// Adds what the same check found in a home that is in this folder of the home.
    pub fn add_of_folder(&mut self, folder: &str, other: Self) {
        let in_folder = |mut finding: Finding| {
            finding.path = format!("{folder}/{}", finding.path);
            finding
        };
        self.ok &= other.ok;
        self.count += other.count;
        self.alarms.extend(other.alarms.into_iter().map(in_folder));
        self.notes.extend(other.notes.into_iter().map(in_folder));
    }

    /// Adds the findings about a session.
    fn add(&mut self, other: Self, session: Option<&SessionId>) {
        let of_session = |mut finding: Finding| {
            finding.session_id = session.map(ToString::to_string).or(finding.session_id);
            finding
        };
        self.ok &= other.ok;
        self.count += other.count;
        self.alarms.extend(other.alarms.into_iter().map(of_session));
        self.notes.extend(other.notes.into_iter().map(of_session));
    }

    fn sorted(mut self) -> Self {
        self.alarms.sort();
        self.notes.sort();
        self
    }
}

/// Returns what a provider would refuse in the next request of a session.
pub type TranscriptCheck<'a> = &'a (dyn Fn(&Session) -> Vec<String> + Sync);

/// What is found in one session and in the files that belong to it.
struct SessionChecks {
    sessions: Check,
    transcripts: Check,
    changes: Check,
    pictures: Check,
    requests: Check,
    compacted: Check,
    touched: Touched,
    counts: Counts,
}

/// Sessions that share a remark; one note names their number.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Some facts are not in a chain.
    began_later: usize,
    taken_over: usize,
    ahead_of_list: usize,
    older_than_list: usize,
    unsigned_requests: usize,
    dropped_requests: usize,
}

impl SessionChecks {
    fn new() -> Self {
        Self {
            sessions: Check::new("sessions"),
            transcripts: Check::new("transcripts"),
            changes: Check::new("changes"),
            pictures: Check::new("pictures"),
            requests: Check::new("requests"),
            compacted: Check::new("compacted"),
            touched: Touched::default(),
            counts: Counts::default(),
        }
    }

    fn add(&mut self, other: Self, id: Option<&SessionId>) {
        self.sessions.add(other.sessions, id);
        self.transcripts.add(other.transcripts, id);
        self.changes.add(other.changes, id);
        self.pictures.add(other.pictures, id);
        self.requests.add(other.requests, id);
        self.compacted.add(other.compacted, id);
        self.touched.add(other.touched);
        self.counts.began_later += other.counts.began_later;
        self.counts.taken_over += other.counts.taken_over;
        self.counts.ahead_of_list += other.counts.ahead_of_list;
        self.counts.older_than_list += other.counts.older_than_list;
        self.counts.unsigned_requests += other.counts.unsigned_requests;
        self.counts.dropped_requests += other.counts.dropped_requests;
    }

    /// Adds a note for each number of sessions that share a remark.
    fn note_counts(&mut self) {
        let Counts { began_later, taken_over, ahead_of_list, older_than_list, unsigned_requests, dropped_requests } =
            self.counts;
        let note = |check: &mut Check, path: &str, count: usize, what: &str| {
            if count > 0 {
                check.note(path, format!("{count} {what}"));
            }
        };
        let sessions = &mut self.sessions;
        note(
            sessions,
            "sessions/",
            began_later,
            "have facts from before their chain began (earlier versions, imports)",
        );
        note(sessions, "sessions/", taken_over, "were taken over from files that this home did not write");
        note(
            sessions,
            "sessions/",
            ahead_of_list,
            "are newer than the list of heads: a server at work, a crash, or an older copy of the list",
        );
        let what = "are older than the list of heads: it was begun anew, and an older copy from before is not noticed";
        note(sessions, "sessions/", older_than_list, what);
        let requests = &mut self.requests;
        note(requests, "sessions/requests/", unsigned_requests, "were kept by an earlier version, without a signature");
        note(requests, "sessions/requests/", dropped_requests, "that made an answer are not kept any more");
    }
}

/// Checks a home that was opened with [`Home::open_for_reading`] or by a server. Blocks.
///
/// # Errors
/// Returns an error if the sessions cannot be listed.
pub fn verify(home: &Home, accepts: TranscriptCheck<'_>) -> Result<Vec<Check>, StoreError> {
    // The list comes first: a session that is written in the meantime is newer than the list, never older.
    let anchors = Anchors::read(home);
    let ids = reading::session_ids(home)?;
    let mut found = checked_sessions(home, &anchors, (&ids, accepts));
    kept::deleted(home, &anchors, &mut found);
    let heads = anchors.check(home, &ids);
    found.note_counts();
    let files = files::check(home, std::mem::take(&mut found.touched));
    let SessionChecks { sessions, transcripts, changes, pictures, requests, compacted, .. } = found;
    let trusted = kept::trusted(home);
    let checks = [sessions, heads, transcripts, changes, files, requests, compacted, pictures, trusted];
    Ok(checks.into_iter().map(Check::sorted).collect())
}

/// Checks the sessions on all processors.
fn checked_sessions(
    home: &Home,
    anchors: &Anchors,
    (ids, accepts): (&[SessionId], TranscriptCheck<'_>),
) -> SessionChecks {
    let all = Mutex::new(SessionChecks::new());
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = sessions::check(home, anchors, (id, accepts));
                    lock(&all).add(one, Some(id));
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
