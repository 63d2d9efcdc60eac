//! `sessions/usage.jsonl`: the tokens that each work used and what they cost, one line per work. A work that is continued
//! gets another line when it ends again; the last line of a work counts.
//!
//! The lines repeat what the session files hold. They are written before the session's journal is removed, so a crash neither
//! loses a work nor counts one twice. The first use after a start reads the sessions whose files are newer than the log, and
//! all of them if the log is missing or damaged. What the log alone holds are the works of sessions that were purged.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::home::{Home, lock};
use super::seal::MacKind;
use super::{atomic, reading};
use crate::domain::{ProjectId, Session, SessionId, Usage, Work, WorkId};

pub(super) const FILE: &str = "usage.jsonl";
/// How much older than the log a session's file may be and still be read again: file times are not exact.
const SLACK: Duration = Duration::from_secs(5);

/// The fields of a work that determine its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedWork {
    pub work_id: WorkId,
    /// When the work began, in Unix seconds.
    pub created_at: f64,
    /// The model that finished it. Empty if no model was called, or if an earlier version did not record it.
    #[serde(default)]
    pub model: String,
    /// The project that the session was bound to when the work began.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::domain::ids::lenient_project"
    )]
    pub project_id: Option<ProjectId>,
    #[serde(default)]
    pub usage: Usage,
    /// Whether it comes from a file that this home did not write: its tokens were not used here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

impl CountedWork {
    fn of(work: &Work) -> Self {
        Self {
            work_id: work.work_id.clone(),
            created_at: work.created_at,
            model: work.model.clone(),
            project_id: work.project_id.clone(),
            usage: work.usage,
            foreign: work.foreign,
        }
    }

    /// Whether it tells more than an earlier record of the same work. Files of others change no record.
    fn replaces(&self, known: &Self) -> bool {
        !self.foreign && (known.foreign || self.usage.total() > known.usage.total())
    }
}

/// A work as it is in a session's file.
#[derive(Deserialize)]
struct StoredWork {
    #[serde(flatten)]
    counted: CountedWork,
    #[serde(default)]
    finished_at: Option<f64>,
}

/// The works of a session file, or of a branch in one.
#[derive(Deserialize)]
struct Works {
    #[serde(default)]
    works: Vec<StoredWork>,
    #[serde(default)]
    branches: Vec<Works>,
}

impl Works {
    /// Returns the works that have ended.
    fn ended(self) -> impl Iterator<Item = CountedWork> {
        let all = self.works.into_iter().chain(self.branches.into_iter().flat_map(|branch| branch.works));
        all.filter(|work| work.finished_at.is_some()).map(|work| work.counted)
    }
}

/// The log as read.
#[derive(Debug, Default)]
struct Lines {
    works: Vec<CountedWork>,
    places: HashMap<WorkId, usize>,
    /// Whether a line cannot be read that was written as a whole.
    is_damaged: bool,
    /// Number of bytes without an incomplete line at the end, which a crash can leave.
    good: usize,
}

impl Lines {
    fn parse(bytes: &[u8]) -> Self {
        let mut lines = Self::default();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            let is_whole = line.ends_with(b"\n") && !line.contains(&0);
            match serde_json::from_slice(line) {
                Ok(work) if is_whole => {
                    lines.put(work);
                    lines.good = at;
                }
                _ => lines.is_damaged |= is_whole,
            }
        }
        lines
    }

    fn put(&mut self, work: CountedWork) {
        match self.places.get(&work.work_id) {
            Some(place) => self.works[*place] = work,
            None => {
                self.places.insert(work.work_id.clone(), self.works.len());
                self.works.push(work);
            }
        }
    }

    /// Adds a work and returns whether it tells something new.
    fn add(&mut self, work: CountedWork) -> bool {
        let known = self.places.get(&work.work_id).map(|place| &self.works[*place]);
        let is_new = known.is_none_or(|known| work.replaces(known));
        if is_new {
            self.put(work);
        }
        is_new
    }
}

fn encode<'w>(works: impl Iterator<Item = &'w CountedWork>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for work in works {
        serde_json::to_writer(&mut bytes, work).expect("a line has string keys and finite numbers, so it is JSON");
        bytes.push(b'\n');
    }
    bytes
}

/// Returns the works in the bytes of a log, which its owner may be writing.
pub(super) fn logged_works(bytes: &[u8]) -> Vec<CountedWork> {
    Lines::parse(bytes).works
}

/// The log, open for writing.
pub(super) struct UsageLog {
    lines: Lines,
    /// Absent after a line could not be written: then the next write writes the whole log.
    file: Option<File>,
}

impl UsageLog {
    /// Reads the log and adds what the session files have and it does not.
    fn open(home: &Home) -> Result<Self, StoreError> {
        let read = home.sessions_dir().read(FILE);
        if let Err(error) = &read
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "sessions/{FILE} cannot be read; it is made from the sessions");
        }
        let changed = home.sessions_dir().metadata(FILE).ok().and_then(|meta| meta.modified().ok());
        let lines = read.as_deref().map(Lines::parse).unwrap_or_default();
        let since = changed.filter(|_| read.is_ok() && !lines.is_damaged).map(|time| time.into_std() - SLACK);
        let mut log = Self { lines, file: None };
        let mut is_complete = since.is_some();
        for work in home.ended_works(since)? {
            is_complete &= !log.lines.add(work);
        }
        // A home without works needs no log.
        let is_needed = read.is_ok() || !log.lines.works.is_empty();
        if is_needed && (!is_complete || log.continue_file(home).is_err()) {
            log.rewrite(home);
        }
        Ok(log)
    }

    fn continue_file(&mut self, home: &Home) -> std::io::Result<()> {
        let file = home.sessions_dir().open_with(FILE, OpenOptions::new().append(true).mode(0o600))?.into_std();
        // The next line must not continue an incomplete one.
        file.set_len(self.lines.good as u64)?;
        self.file = Some(file);
        Ok(())
    }

    /// Writes the log as a whole: each work once.
    fn rewrite(&mut self, home: &Home) {
        let bytes = encode(self.lines.works.iter());
        self.lines.good = bytes.len();
        let written = atomic::replace(home.sessions_dir(), FILE, &bytes, 0o600);
        if let Err(error) = written.and_then(|()| self.continue_file(home)) {
            tracing::warn!(%error, "sessions/{FILE} could not be written; the next work writes it");
        }
    }

    fn append(&mut self, works: Vec<CountedWork>, home: &Home) {
        let new: Vec<CountedWork> = works.into_iter().filter(|work| self.lines.add(work.clone())).collect();
        if new.is_empty() {
            return;
        }
        let bytes = encode(new.iter());
        let written = self.file.as_mut().map(|file| file.write_all(&bytes).and_then(|()| file.sync_data()));
        match written {
            Some(Ok(())) => self.lines.good += bytes.len(),
            failed => {
                if let Some(Err(error)) = failed {
                    tracing::warn!(%error, "a line of sessions/{FILE} could not be written");
                }
                self.file = None;
                self.rewrite(home);
            }
        }
    }
}

impl Home {
    /// Returns the works of all sessions that have ended, including those of branches and of deleted sessions. Each work
    /// occurs once, although a session that was branched off another one contains the earlier works too.
    ///
    /// # Errors
    /// Returns an error if the sessions cannot be listed.
    pub fn counted_works(&self) -> Result<Vec<CountedWork>, StoreError> {
        self.with_counted_works(<[CountedWork]>::to_vec)
    }

    /// Calls `read` with the works of [`Home::counted_works`].
    ///
    /// # Errors
    /// As [`Home::counted_works`].
    pub fn with_counted_works<R>(&self, read: impl FnOnce(&[CountedWork]) -> R) -> Result<R, StoreError> {
        let mut log = lock(self.usage_log());
        let log = match &mut *log {
            Some(log) => log,
            none => none.insert(UsageLog::open(self)?),
        };
        Ok(read(&log.lines.works))
    }

    /// Adds the ended works of a session to the log. Called before the session's file is written, whose journal still has
    /// them: no failure to write the log fails anything else.
    pub(super) fn note_usage(&self, session: &Session) {
        let all = session.works.iter().chain(session.branches.iter().flat_map(|branch| &branch.works));
        let ended = all.filter(|work| work.finished_at.is_some()).map(|work| CountedWork::of(work)).collect();
        let mut log = lock(self.usage_log());
        let opened = match &mut *log {
            Some(log) => Ok(log),
            none => UsageLog::open(self).map(|log| none.insert(log)),
        };
        match opened {
            Ok(log) => log.append(ended, self),
            Err(error) => tracing::warn!(%error, "sessions/{FILE} could not be written"),
        }
    }

    /// Adds a work that belongs to no session: the log alone holds it.
    pub(super) fn note_work(&self, work: CountedWork) -> Result<(), StoreError> {
        let mut log = lock(self.usage_log());
        let opened = match &mut *log {
            Some(log) => log,
            none => none.insert(UsageLog::open(self)?),
        };
        opened.append(vec![work], self);
        Ok(())
    }

    /// Returns the ended works in the files of sessions, deleted ones included, that were written since this time; without
    /// one, in all of them.
    fn ended_works(&self, since: Option<SystemTime>) -> Result<Vec<CountedWork>, StoreError> {
        let mut works = self.ended_works_in(self.sessions_dir(), since).map_err(StoreError::io("listing sessions/"))?;
        if let Ok(deleted) = self.sessions_dir().open_dir(reading::DELETED) {
            works.extend(self.ended_works_in(&deleted, since).map_err(StoreError::io("listing deleted sessions"))?);
        }
        Ok(works)
    }

    fn ended_works_in(&self, dir: &Dir, since: Option<SystemTime>) -> std::io::Result<Vec<CountedWork>> {
        let mut works = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Some(stem) = name.strip_suffix(".json") else { continue };
            // A session that was deleted twice has a file named after its id and the time.
            let id = stem.rsplit_once('_').map_or(stem, |(id, _)| id);
            if ![stem, id].iter().any(|id| SessionId::parse(id).is_ok()) {
                continue;
            }
            let modified = entry.metadata().and_then(|meta| meta.modified()).map(|time| time.into_std());
            if modified.is_ok_and(|modified| since.is_some_and(|since| modified < since)) {
                continue;
            }
            let Ok(bytes) = dir.read(&name) else { continue };
            // The session list reports damaged files.
            let Ok(file) = serde_json::from_slice::<Works>(&bytes) else { continue };
            let own = [stem, id].iter().any(|id| self.seal().verify(MacKind::Session, id, &bytes));
            works.extend(file.ended().map(|work| CountedWork { foreign: work.foreign || !own, ..work }));
        }
        // In this order the log is the same whatever the order of the files.
        works.sort_by(|a, b| a.created_at.total_cmp(&b.created_at));
        Ok(works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(id: &str, input_tokens: u64) -> CountedWork {
        let usage = Usage { input_tokens, ..Usage::default() };
        CountedWork {
            work_id: WorkId::new(id),
            created_at: 1.0,
            model: "m".to_owned(),
            project_id: None,
            usage,
            foreign: false,
        }
    }

    fn read(home: &Home) -> Vec<(String, u64)> {
        let works = home.counted_works().unwrap();
        works.iter().map(|work| (work.work_id.to_string(), work.usage.input_tokens)).collect()
    }

    fn session(works: &[(&str, u64)]) -> Session {
        let works: Vec<_> = works
            .iter()
            .map(|(id, tokens)| {
                serde_json::json!({"work_id": id, "created_at": 1.0, "model": "m", "finished_at": 2.0,
                    "usage": {"input_tokens": tokens, "output_tokens": 0}, "outcome": {"stop_reason": "done"}})
            })
            .collect();
        let file =
            serde_json::json!({"messages": [], "title": "", "created_at": 1.0, "updated_at": 1.0, "works": works});
        serde_json::from_value(file).unwrap()
    }

    #[test]
    fn branch_works_count_and_unfinished_ones_do_not() {
        let file = r#"{"messages": [], "works": [{"work_id": "a", "created_at": 1.0, "finished_at": 2.0, "usage": {"input_tokens": 3, "output_tokens": 1}},
            {"work_id": "c", "created_at": 3.0}],
            "branches": [{"messages": [], "works": [{"work_id": "b", "created_at": 2.0, "finished_at": 3.0, "model": "m"}]}]}"#;
        let works: Vec<CountedWork> = serde_json::from_str::<Works>(file).unwrap().ended().collect();
        assert_eq!(works.iter().map(|work| work.work_id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((works[0].usage.input_tokens, works[1].usage), (3, Usage::default()));
        assert!(serde_json::from_str::<Works>(r#"[{"role": "user", "content": "hi"}]"#).is_err());
    }

    #[test]
    fn last_line_of_work_counts_and_cut_off_line_does_not() {
        let mut bytes = encode([work("a", 1), work("b", 2), work("a", 5)].iter());
        let whole = bytes.len();
        bytes.extend_from_slice(&encode([work("c", 9)].iter())[..20]);
        let lines = Lines::parse(&bytes);
        let read: Vec<_> = lines.works.iter().map(|work| (work.work_id.as_str(), work.usage.input_tokens)).collect();
        assert_eq!((read, lines.good, lines.is_damaged), (vec![("a", 5), ("b", 2)], whole, false));
        assert!(Lines::parse(b"{}\n").is_damaged);
    }

    #[test]
    fn work_of_a_foreign_file_changes_no_record() {
        let mut lines = Lines::default();
        assert!(lines.add(work("a", 5)));
        let foreign = CountedWork { foreign: true, ..work("a", 100) };
        assert!(!lines.add(foreign) && !lines.add(work("a", 4)) && !lines.add(work("a", 5)));
        assert!(lines.add(work("a", 6)));
    }

    #[test]
    fn log_is_appended_once_per_work_and_rebuilt_when_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions").join(FILE);
        let home = Home::open(folder.path()).unwrap();
        let id = SessionId::parse("s").unwrap();
        let chain = super::super::chain::Chain::begin(&id, 0);
        let save = |home: &Home, works: &[(&str, u64)]| home.save_snapshot(&id, &session(works), &chain).unwrap();
        save(&home, &[("a", 1)]);
        save(&home, &[("a", 1), ("b", 2)]);
        save(&home, &[("a", 1), ("b", 2)]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        let before = read(&home);
        assert_eq!(before, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        drop(home);
        let log = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert_eq!((read(&home), std::fs::read(&path).unwrap()), (before.clone(), log));

        // The session stays in the log when it is deleted, and when the log is then made from the files.
        assert!(home.delete_session(&id).unwrap());
        assert_eq!(read(&home), before);
        drop(home);
        std::fs::write(&path, "no JSON\n").unwrap();
        assert_eq!(read(&Home::open(folder.path()).unwrap()), before);
    }

    #[test]
    fn session_file_newer_than_the_log_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions").join(FILE);
        let home = Home::open(folder.path()).unwrap();
        let id = SessionId::parse("s").unwrap();
        let chain = super::super::chain::Chain::begin(&id, 0);
        home.save_snapshot(&id, &session(&[("a", 1)]), &chain).unwrap();
        let before = std::fs::read(&path).unwrap();
        home.save_snapshot(&id, &session(&[("a", 1), ("b", 2)]), &chain).unwrap();
        drop(home);
        // A kill between the two writes leaves the log without the line, or with a part of it.
        for part in [&b""[..], &b"{\"work_id\":\"b\","[..]] {
            std::fs::write(&path, [&before[..], part].concat()).unwrap();
            let home = Home::open(folder.path()).unwrap();
            assert_eq!(read(&home), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
            drop(home);
            assert_eq!(Lines::parse(&std::fs::read(&path).unwrap()).works.len(), 2);
        }
    }
}
