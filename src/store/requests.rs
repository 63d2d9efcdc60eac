//! `sessions/requests/{session}/`: the requests that were sent to the model for each answer.
//!
//! `{number}.json` is a request, `texts/{hash}` a text of one or more requests, `found/{work}.{hits}.json` what RAG mode
//! found for a work. These records are for people, and nothing is derived from them: they are written without fsync, and
//! every text is verified by its hash when it is read. Each record is signed, so that `miniclaw verify` notices a change. A session keeps its last [`MOST`] requests and at most
//! [`MOST_BYTES`] of their texts, all sessions together keep [`MOST_IN_ALL`]; the oldest are removed first.

use std::collections::HashSet;
use std::io;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::error::StoreError;
use super::home::Home;
use super::seal::MacKind;
use super::{aside, etag};
use crate::clock;
use crate::domain::knowledge::Search;
use crate::domain::{SentRequest, SentText, SessionId, WorkId};

pub(super) const FOLDER: &str = "requests";
pub(super) const TEXTS: &str = "texts";
pub(super) const FOUND: &str = "found";
const TEMP: &str = ".part-";
/// Maximum number of requests kept per session.
const MOST: usize = 200;
/// Maximum bytes of texts kept per session.
const MOST_BYTES: u64 = 64 << 20;
/// Maximum bytes kept for all sessions together.
const MOST_IN_ALL: u64 = 512 << 20;
/// Number of requests between two sweeps of a session.
const SWEPT_EVERY: usize = 20;

/// Limits for the requests of one session.
#[derive(Clone, Copy)]
struct RecordLimits {
    requests: usize,
    bytes: u64,
}

/// The position of a request in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPosition {
    /// The session's fact number at the start of the run.
    pub seq: u64,
    pub dialogue: u32,
    pub attempt: u32,
}

/// A work for which a search is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundWork {
    pub work: WorkId,
    /// Number of hits that the model received.
    pub hits: usize,
    /// Number of weak hits that it did not receive.
    pub withheld: usize,
}

impl FoundWork {
    fn new(work: &WorkId, search: &Search) -> Self {
        let withheld = search.withheld as usize;
        Self { work: work.clone(), hits: search.hits.len().saturating_sub(withheld), withheld }
    }
}

/// Records for people: requests as they were sent, and what was retrieved. No decision depends on them, and they may be
/// lost.
#[derive(Clone)]
pub struct Records {
    home: Home,
}

impl Home {
    pub fn records(&self) -> Records {
        Records { home: self.clone() }
    }
}

impl Records {
    /// Stores a request, and those of its texts that are not stored yet.
    ///
    /// # Errors
    /// Returns an error if the request cannot be written. Earlier records stay intact.
    pub fn keep_request(
        &self,
        session: &SessionId,
        at: RequestPosition,
        request: &SentRequest,
        texts: &[SentText],
    ) -> Result<(), StoreError> {
        let doing = || format!("keeping a request of {session}");
        let dir = self.requests_of(session).map_err(StoreError::io(doing()))?;
        let kept = dir.open_dir(TEXTS).map_err(StoreError::io(doing()))?;
        for SentText { hash, text } in texts {
            // A power failure truncated a text of another length.
            if kept.metadata(hash).ok().map(|meta| meta.len()) != Some(text.len() as u64) {
                write(&kept, hash, text.as_bytes()).map_err(StoreError::io(doing()))?;
            }
        }
        self.write_record(&dir, session, at, request).map_err(StoreError::io(doing()))?;
        let names = names(&dir);
        if names.len() > MOST || names.len().is_multiple_of(SWEPT_EVERY) {
            sweep(&dir, RecordLimits { requests: MOST, bytes: MOST_BYTES }).map_err(StoreError::io(doing()))?;
        }
        Ok(())
    }

    /// Rewrites the record of a request whose texts are already stored.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written, like [`Self::keep_request`].
    pub fn keep_record(
        &self,
        session: &SessionId,
        at: RequestPosition,
        request: &SentRequest,
    ) -> Result<(), StoreError> {
        let dir = self.requests_of(session);
        dir.and_then(|dir| self.write_record(&dir, session, at, request))
            .map_err(StoreError::io(format!("keeping a request of {session}")))
    }

    /// Returns the names of a session's requests, oldest first.
    pub fn sent_requests(&self, session: &SessionId) -> Vec<String> {
        self.home.sessions_dir().open_dir(format!("{FOLDER}/{session}")).map(|dir| names(&dir)).unwrap_or_default()
    }

    /// Returns the request of that name; `None` if it does not exist or cannot be read.
    pub fn sent_request(&self, session: &SessionId, name: &str) -> Option<SentRequest> {
        if !is_name(name) {
            return None;
        }
        let bytes = self.home.sessions_dir().read(format!("{FOLDER}/{session}/{name}.json")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Returns a text of a request; `None` if it is missing or does not match its hash.
    pub fn sent_text(&self, session: &SessionId, hash: &str) -> Option<String> {
        if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let bytes = self.home.sessions_dir().read(format!("{FOLDER}/{session}/{TEXTS}/{hash}")).ok()?;
        (etag(&bytes) == hash).then(|| String::from_utf8(bytes).ok()).flatten()
    }

    /// Stores what was found for a work.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep_found(&self, session: &SessionId, work: &WorkId, search: &Search) -> Result<(), StoreError> {
        let doing = || format!("keeping what was found for {session}");
        let dir = self.requests_of(session).map_err(StoreError::io(doing()))?;
        let dir = dir.open_dir(FOUND).map_err(StoreError::io(doing()))?;
        let mut bytes = serde_json::to_vec_pretty(search).expect("a search has string keys and finite numbers");
        bytes.push(b'\n');
        let name = found_name(&FoundWork::new(work, search));
        let bytes = self.home.seal().sign(MacKind::Request, &format!("{session}/{FOUND}/{name}"), bytes);
        write(&dir, &name, &bytes).map_err(StoreError::io(doing()))
    }

    /// Returns the works with a stored search.
    pub fn found_works(&self, session: &SessionId) -> Vec<FoundWork> {
        let Ok(dir) = self.home.sessions_dir().open_dir(format!("{FOLDER}/{session}/{FOUND}")) else {
            return Vec::new();
        };
        all_names(&dir).iter().filter_map(|name| work_of(name)).collect()
    }

    /// Returns what was found for a work.
    pub fn found(&self, session: &SessionId, work: &WorkId) -> Option<Search> {
        let name = found_name(&self.found_works(session).into_iter().find(|found| found.work == *work)?);
        let bytes = self.home.sessions_dir().read(format!("{FOLDER}/{session}/{FOUND}/{name}")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Moves the requests of a deleted session to the deleted sessions.
    pub(super) fn move_requests_to_deleted(&self, session: &SessionId) -> io::Result<()> {
        aside::move_to_deleted(self.home.sessions_dir(), FOLDER, session)
    }

    /// Moves the requests of a restored session back.
    pub(super) fn restore_requests(&self, session: &SessionId) -> io::Result<()> {
        aside::restore(self.home.sessions_dir(), FOLDER, session)
    }

    /// Removes all requests of the sessions that changed least recently, until the rest is within the limit for all
    /// sessions.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read, or if a session's requests cannot be removed.
    pub fn sweep(&self) -> Result<(), StoreError> {
        self.sweep_all(MOST_IN_ALL).map_err(StoreError::io("looking at sessions/requests/"))
    }

    fn sweep_all(&self, most: u64) -> io::Result<()> {
        let dir = match self.home.sessions_dir().open_dir(FOLDER) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut sessions = Vec::new();
        for name in all_names(&dir) {
            let Ok(one) = dir.open_dir(&name) else { continue };
            let changed = dir.metadata(&name)?.modified()?.into_std();
            sessions.push((changed, size(&one), name));
        }
        sessions.sort();
        let mut all: u64 = sessions.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, name) in sessions {
            if all <= most {
                break;
            }
            dir.remove_dir_all(&name)?;
            all -= bytes;
        }
        Ok(())
    }

    fn write_record(
        &self,
        dir: &Dir,
        session: &SessionId,
        at: RequestPosition,
        request: &SentRequest,
    ) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(request).expect("a request has string keys and finite numbers");
        bytes.push(b'\n');
        let name = format!("{}.json", name(at));
        write(dir, &name, &self.home.seal().sign(MacKind::Request, &format!("{session}/{name}"), bytes))
    }

    fn requests_of(&self, session: &SessionId) -> io::Result<Dir> {
        let folder = format!("{FOLDER}/{session}");
        for inner in [TEXTS, FOUND] {
            self.home.sessions_dir().create_dir_all(format!("{folder}/{inner}"))?;
        }
        self.home.sessions_dir().open_dir(folder)
    }
}

/// Writes a temporary file and renames it, so that a full disk leaves no partial file under the final name.
fn write(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temp = format!("{TEMP}{}", clock::new_id());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = dir.open_with(&temp, &options).and_then(|mut file| io::Write::write_all(&mut file, bytes));
    let written = written.and_then(|()| dir.rename(&temp, dir, name));
    if written.is_err() {
        // Best effort: the next sweep removes what remains.
        let _ = dir.remove_file(&temp);
    }
    written
}

/// Removes the oldest requests beyond the limits, and all texts and searches that no remaining request uses.
fn sweep(dir: &Dir, limits: RecordLimits) -> io::Result<()> {
    let texts = dir.open_dir(TEXTS)?;
    let mut names = names(dir);
    // Removes some more than necessary, so that not every request triggers a sweep.
    if names.len() > limits.requests {
        drop_first(dir, &mut names, limits.requests / 10)?;
    }
    loop {
        let mut used = HashSet::new();
        let mut works = HashSet::new();
        for name in &names {
            let Some(request) = dir.read(format!("{name}.json")).ok() else { continue };
            let Ok(request) = serde_json::from_slice::<SentRequest>(&request) else { continue };
            used.extend(request.system.into_iter().filter_map(|part| part.text));
            used.extend(request.messages.into_iter().chain(request.tools));
            works.insert(request.work_id);
        }
        for text in all_names(&texts).iter().filter(|text| !used.contains(*text)) {
            texts.remove_file(text)?;
        }
        let found = dir.open_dir(FOUND)?;
        for name in
            all_names(&found).iter().filter(|name| work_of(name).is_none_or(|found| !works.contains(&found.work)))
        {
            found.remove_file(name)?;
        }
        for name in all_names(dir).iter().filter(|name| name.starts_with(TEMP)) {
            dir.remove_file(name)?;
        }
        if size(&texts) <= limits.bytes || names.len() <= 1 {
            return Ok(());
        }
        let half = names.len() / 2;
        drop_first(dir, &mut names, half)?;
    }
}

fn drop_first(dir: &Dir, names: &mut Vec<String>, count: usize) -> io::Result<()> {
    for name in names.drain(..count.clamp(1, names.len())) {
        dir.remove_file(format!("{name}.json"))?;
    }
    Ok(())
}

/// Returns the name of a request. Names sort in the order in which the requests were made.
fn name(RequestPosition { seq, dialogue, attempt }: RequestPosition) -> String {
    format!("{seq:08}-{dialogue:03}-{attempt}")
}

fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn names(dir: &Dir) -> Vec<String> {
    let mut names = all_names(dir);
    names.retain_mut(|name| match name.strip_suffix(".json").filter(|stem| is_name(stem)) {
        Some(stem) => {
            *name = stem.to_owned();
            true
        }
        None => false,
    });
    let numbers = |name: &String| name.split('-').map(|n| n.parse::<u64>().unwrap_or(u64::MAX)).collect::<Vec<_>>();
    names.sort_by_key(numbers);
    names
}

fn all_names(dir: &Dir) -> Vec<String> {
    let Ok(entries) = dir.entries() else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Returns the file name of a search: `WORK.HITS.json`, or `WORK.HITS-WITHHELD.json` if hits were withheld. Ids of this home's works are plain names; ids from imported files can be anything, so
/// they are encoded.
fn found_name(FoundWork { work, hits, withheld }: &FoundWork) -> String {
    let hits = if *withheld == 0 { hits.to_string() } else { format!("{hits}-{withheld}") };
    let hex = base16ct::lower::encode_string(work.as_str().as_bytes());
    let plain = work.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    match plain && (1..=100).contains(&work.as_str().len()) {
        true => format!("{work}.{hits}.json"),
        false => format!("~{}.{hits}.json", hex.get(..200).unwrap_or(&hex)),
    }
}

fn work_of(name: &str) -> Option<FoundWork> {
    let (work, hits) = name.strip_suffix(".json")?.rsplit_once('.')?;
    if work.starts_with('~') {
        return None;
    }
    let (hits, withheld) = hits.split_once('-').unwrap_or((hits, "0"));
    Some(FoundWork { work: WorkId::new(work), hits: hits.parse().ok()?, withheld: withheld.parse().ok()? })
}

fn size(dir: &Dir) -> u64 {
    let Ok(entries) = dir.entries() else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => entry.open_dir().map(|inner| size(&inner)).unwrap_or_default(),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn home() -> (tempfile::TempDir, Home, SessionId) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home, SessionId::parse("s").unwrap())
    }

    fn text(text: &str) -> SentText {
        SentText { hash: etag(text.as_bytes()), text: text.to_owned() }
    }

    fn request(work: &str, texts: &[SentText]) -> SentRequest {
        serde_json::from_value(json!({"at": 1.5, "work_id": work, "dialogue": 0, "attempt": 0, "provider": "p",
            "model": "m", "body": {}, "bytes": 2, "hash": "", "system": [],
            "messages": texts.iter().map(|text| &text.hash).collect::<Vec<_>>()}))
        .unwrap()
    }

    fn at(seq: u64) -> RequestPosition {
        RequestPosition { seq, dialogue: 0, attempt: 0 }
    }

    fn texts_on_disk(folder: &tempfile::TempDir) -> usize {
        std::fs::read_dir(folder.path().join("sessions/requests/s/texts")).unwrap().count()
    }

    #[test]
    fn shared_text_is_stored_once_and_verified() {
        let (folder, home, session) = home();
        let (soul, one, two) = (text("You are kind."), text("one"), text("two"));
        for (seq, other) in [(1, &one), (12, &two)] {
            let texts = [soul.clone(), other.clone()];
            home.records().keep_request(&session, at(seq), &request("w", &texts), &texts).unwrap();
        }
        assert_eq!(texts_on_disk(&folder), 3);
        assert_eq!(home.records().sent_requests(&session), ["00000001-000-0", "00000012-000-0"]);
        let read = home.records().sent_request(&session, "00000012-000-0").unwrap();
        assert_eq!(read, request("w", &[soul.clone(), two]));
        assert_eq!(home.records().sent_text(&session, &soul.hash).as_deref(), Some("You are kind."));
        // A damaged text is not returned, and the next request that contains it repairs it.
        let file = folder.path().join("sessions/requests/s/texts").join(&soul.hash);
        std::fs::write(&file, "You are mean.").unwrap();
        assert_eq!(home.records().sent_text(&session, &soul.hash), None);
        std::fs::write(&file, "").unwrap();
        home.records()
            .keep_request(&session, at(13), &request("w", std::slice::from_ref(&soul)), std::slice::from_ref(&soul))
            .unwrap();
        assert_eq!(home.records().sent_text(&session, &soul.hash).as_deref(), Some("You are kind."));
        for odd in ["", "../../x", "..", "a", "00000001-000-0.json"] {
            assert_eq!(home.records().sent_request(&session, odd), None, "{odd}");
            assert_eq!(home.records().sent_text(&session, odd), None, "{odd}");
        }
    }

    #[test]
    fn sweep_removes_oldest_requests_and_orphaned_texts() {
        let (folder, home, session) = home();
        let soul = text("soul");
        let search: Search = serde_json::from_value(json!({"query": "q", "folder": "memory", "k": 3, "terms": [],
            "weights": {"lexical": 1.0, "vector": 0.0, "other_script": 0.0, "reason": "no_model"}, "ignored": [],
            "embedded": {"done": 0, "total": 0}, "hits": [], "near_misses": [],
            "took_us": {"refresh": 0, "lexical": 0, "embed": 0, "vector": 0, "fuse": 0}}))
        .unwrap();
        for n in 0..=MOST {
            let texts = [soul.clone(), text(&n.to_string())];
            let work = format!("w{n}");
            home.records().keep_found(&session, &WorkId::new(work.clone()), &search).unwrap();
            home.records().keep_request(&session, at(n as u64), &request(&work, &texts), &texts).unwrap();
        }
        let left = MOST + 1 - MOST / 10;
        let names = home.records().sent_requests(&session);
        assert_eq!((names.len(), names[0].as_str()), (left, "00000020-000-0"));
        assert_eq!(texts_on_disk(&folder), left + 1, "the soul is in all of them");
        assert_eq!(home.records().found_works(&session).len(), left);
        assert_eq!(home.records().found(&session, &WorkId::new("w0")), None);
        assert_eq!(home.records().found(&session, &WorkId::new("w200")), Some(search));

        let dir = home.records().requests_of(&session).unwrap();
        std::fs::write(folder.path().join("sessions/requests/s/.part-x"), "half").unwrap();
        sweep(&dir, RecordLimits { requests: MOST, bytes: 30 }).unwrap();
        assert!(size(&dir.open_dir(TEXTS).unwrap()) <= 30);
        assert_eq!(home.records().sent_requests(&session).last().unwrap(), "00000200-000-0", "the newest stays");
        assert!(!folder.path().join("sessions/requests/s/.part-x").exists());
    }

    #[test]
    fn global_sweep_removes_least_recent_sessions() {
        let (folder, home, _) = home();
        for (n, id) in ["a", "b", "c"].into_iter().enumerate() {
            let texts = [text(&"x".repeat(1000))];
            let session = SessionId::parse(id).unwrap();
            home.records().keep_request(&session, at(1), &request("w", &texts), &texts).unwrap();
            let file = std::fs::File::open(folder.path().join("sessions/requests").join(id)).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs([200, 100, 300][n]);
            file.set_modified(at).unwrap();
        }
        home.records().sweep_all(3000).unwrap();
        assert_eq!(home.records().sent_requests(&SessionId::parse("b").unwrap()), Vec::<String>::new());
        assert_eq!(home.records().sent_requests(&SessionId::parse("a").unwrap()).len(), 1);
        home.records().sweep_all(u64::MAX).unwrap();
        assert_eq!(home.records().sent_requests(&SessionId::parse("c").unwrap()).len(), 1);
    }

    #[test]
    fn search_record_stays_in_its_folder_for_any_id() {
        for odd in ["../../x", "", "a/b", "会话"] {
            let name = found_name(&FoundWork { work: WorkId::new(odd), hits: 2, withheld: 0 });
            assert!(name.starts_with('~') && !name.contains('/'), "{name}");
        }
        for (name, hits, withheld) in [("w-1.12.json", 12, 0), ("w-1.0-3.json", 0, 3)] {
            let found = FoundWork { work: WorkId::new("w-1"), hits, withheld };
            assert_eq!((found_name(&found).as_str(), work_of(name)), (name, Some(found)));
        }
        assert_eq!(work_of(".part-1"), None);
    }
}
