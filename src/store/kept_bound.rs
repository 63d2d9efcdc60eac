//! The bound on the contents that a home keeps for undos. When they exceed it, those of the oldest works are dropped, but
//! never those of a work under way. The record of a call names what was dropped, with the home's signature.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::time::SystemTime;

use cap_std::fs::{Dir, Metadata};

use super::blobs::{disk_size, hash_in, open, remove, stored_size};
use super::changes::{BLOBS, RecordGap, RecordedChange, RecordedChanges, file_name};
use super::error::StoreError;
use super::files::MAX_BYTES;
use super::home::{Home, lock};
use super::journal;
use super::recorded_state::RecordedState;
use crate::domain::{Message, SessionId, WorkId};

/// Maximum size of all kept contents, in bytes, unless another one is set.
pub const DEFAULT_KEPT_LIMIT: u64 = 1 << 30;

/// Whether there is room for a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Made,
    None,
}

/// The contents of a home, counted.
pub(super) struct KeptBound(Mutex<Counted>);

struct Counted {
    /// In bytes.
    limit: u64,
    /// Bytes on the disk; `None` before the first content of this start.
    total: Option<u64>,
    /// The contents that a call under way needs, with the number of its holders.
    held: BTreeMap<(SessionId, String), usize>,
    /// Set if dropping was tried in vain: it is tried again when a work has ended, or when one of these contents is released,
    /// which could have been dropped if no call had needed them.
    stuck: Option<BTreeSet<(SessionId, String)>>,
}

impl Default for KeptBound {
    fn default() -> Self {
        Self(Mutex::new(Counted { limit: DEFAULT_KEPT_LIMIT, total: None, held: BTreeMap::new(), stuck: None }))
    }
}

impl KeptBound {
    pub fn hold(&self, session: &SessionId, hash: &str) {
        *lock(&self.0).held.entry((session.clone(), hash.to_owned())).or_default() += 1;
    }

    pub fn release(&self, session: &SessionId, hash: &str) {
        let mut counted = lock(&self.0);
        let key = (session.clone(), hash.to_owned());
        let Some(holders) = counted.held.get_mut(&key) else { return };
        *holders -= 1;
        if *holders == 0 {
            counted.held.remove(&key);
            counted.stuck.take_if(|in_the_way| in_the_way.contains(&key));
        }
    }

    /// A work has ended, so its contents can be dropped.
    pub fn work_ended(&self) {
        lock(&self.0).stuck = None;
    }

    /// Does something with a content while nobody can begin to hold it, unless it has another holder than the caller. Returns
    /// whether it was done.
    pub fn unless_shared(
        &self,
        (session, hash): (&SessionId, &str),
        act: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<bool> {
        let counted = lock(&self.0);
        let holders = counted.held.get(&(session.clone(), hash.to_owned())).copied().unwrap_or_default();
        if holders > 1 {
            return Ok(false);
        }
        act().map(|()| true)
    }

    pub fn add(&self, bytes: u64) {
        let mut counted = lock(&self.0);
        counted.total = counted.total.map(|total| total.saturating_add(bytes));
    }

    pub fn subtract(&self, bytes: u64) {
        let mut counted = lock(&self.0);
        counted.total = counted.total.map(|total| total.saturating_sub(bytes));
    }
}

impl Home {
    /// Sets the maximum size of all contents that are kept for undos, in bytes. It takes effect with the next content.
    pub fn set_kept_limit(&self, bytes: u64) {
        let mut counted = lock(&self.kept_bound().0);
        (counted.limit, counted.stuck) = (bytes, None);
    }

    /// Returns the maximum size of all contents that are kept for undos, in bytes.
    pub fn kept_limit(&self) -> u64 {
        lock(&self.kept_bound().0).limit
    }

    /// Counts all kept contents, once for each start.
    pub(super) fn count_kept(&self) {
        let mut counted = lock(&self.kept_bound().0);
        if counted.total.is_none() {
            counted.total = Some(self.changing_sessions().iter().map(|session| self.kept_size(session)).sum());
        }
    }

    /// Returns how many bytes of the disk the contents of a session take.
    pub(super) fn kept_size(&self, session: &SessionId) -> u64 {
        self.kept_dir(session).map_or(0, |dir| files(&dir).map(|(_, meta)| disk_size(&meta)).sum())
    }

    /// Drops the contents of the oldest works if all contents exceed the limit.
    pub(super) fn make_room(&self) -> Room {
        let mut counted = lock(&self.kept_bound().0);
        let (total, limit) = (counted.total.unwrap_or_default(), counted.limit);
        if total <= limit {
            return Room::Made;
        }
        if counted.stuck.is_some() {
            return Room::None;
        }
        // A little more, so that not every content after this one needs a look at all records.
        let (freed, in_the_way) = self.drop_oldest(total - (limit - limit / 16), &counted.held);
        let total = total.saturating_sub(freed);
        (counted.total, counted.stuck) = (Some(total), (total > limit).then_some(in_the_way));
        if total <= limit { Room::Made } else { Room::None }
    }

    /// Returns how many bytes of new contents can be kept, at most: there is room, or it can be made.
    pub(super) fn kept_room(&self) -> u64 {
        self.count_kept();
        let counted = lock(&self.kept_bound().0);
        let (_, droppable) = self.choose_oldest(u64::MAX, &counted.held);
        counted.limit.saturating_add(droppable).saturating_sub(counted.total.unwrap_or_default())
    }

    /// Drops contents of at least `wanted` bytes if there are so many that no work under way needs. Returns their bytes, and
    /// the contents that stay only because a call holds them.
    fn drop_oldest(
        &self,
        wanted: u64,
        held: &BTreeMap<(SessionId, String), usize>,
    ) -> (u64, BTreeSet<(SessionId, String)>) {
        let (sessions, mut freed) = self.choose_oldest(wanted, held);
        for session in sessions.iter().filter(|session| !session.going.is_empty()) {
            if let Err(error) = session.drop_going(self) {
                tracing::warn!(session = %session.id, %error, "the contents of old works cannot all be dropped");
                freed = freed.saturating_sub(session.left());
            }
        }
        let in_the_way = sessions.into_iter().flat_map(|session| {
            let SessionContents { id, in_the_way, .. } = session;
            in_the_way.into_iter().map(move |hash| (id.clone(), hash))
        });
        (freed, in_the_way.collect())
    }

    /// Marks contents of at least `wanted` bytes if there are so many that no work under way needs. Returns their bytes.
    fn choose_oldest(
        &self,
        wanted: u64,
        held: &BTreeMap<(SessionId, String), usize>,
    ) -> (Vec<SessionContents>, u64) {
        let mut sessions: Vec<SessionContents> = Vec::new();
        for id in self.changing_sessions() {
            match SessionContents::read(self, id) {
                Ok(contents) => sessions.extend(contents),
                Err(error) => tracing::warn!(%error, "the contents of a session cannot be dropped"),
            }
        }
        let mut freed = 0;
        for session in &mut sessions {
            freed += session.let_go_unused(held);
        }
        let mut works: Vec<(SystemTime, usize, usize)> = Vec::new();
        for (at, session) in sessions.iter().enumerate() {
            let finished = session.works.iter().enumerate().filter(|(_, work)| !work.is_under_way);
            works.extend(finished.map(|(number, work)| (work.time, at, number)));
        }
        works.sort_unstable();
        for (_, at, number) in works {
            if freed >= wanted {
                break;
            }
            freed += sessions[at].let_go(number, held);
        }
        (sessions, freed)
    }

    /// Returns the sessions that have records of changes, deleted ones included.
    fn changing_sessions(&self) -> Vec<SessionId> {
        let folders = self.sessions_dir().open_dir("changes").and_then(|dir| dir.entries()).into_iter().flatten();
        folders.filter_map(|entry| SessionId::parse(entry.ok()?.file_name().to_str()?).ok()).collect()
    }

    fn kept_dir(&self, session: &SessionId) -> Option<Dir> {
        self.sessions_dir().open_dir(format!("changes/{session}/{BLOBS}")).ok()
    }

    /// Returns the work of each call of a session, by the name of the call's record; none if the session's file is missing.
    fn works_by_record(&self, session: &SessionId) -> HashMap<String, WorkId> {
        let Some(stored) = self.stored_session(session) else { return HashMap::new() };
        let compacted = self.session_files(session).compacted_messages(&stored);
        let branches = stored.branches.iter().flat_map(|branch| &branch.messages);
        let messages = stored.messages.iter().chain(branches).map(|message| &**message).chain(&compacted);
        let of_message = |message: &Message| {
            let work = message.work_id.clone()?;
            let calls = message.tool_calls.iter().filter_map(|call| Some(file_name(call.id.as_deref()?)));
            Some(calls.map(move |name| (name, work.clone())).collect::<Vec<_>>())
        };
        messages.filter_map(of_message).flatten().collect()
    }

    /// Returns the works that the journal of a session names: they are under way. `None` if nothing is, because there is no
    /// journal.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    fn works_under_way(&self, session: &SessionId) -> Result<Option<HashSet<WorkId>>, StoreError> {
        let name = journal::file_name(session);
        let doing = || format!("reading sessions/{name}");
        let bytes = match self.sessions_dir().read(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(StoreError::io(doing()))?,
        };
        let parsed = journal::parse(&bytes, (self.seal(), session));
        let (lines, _) = parsed.map_err(|journal::Unknown| StoreError::Newer { what: format!("sessions/{name}") })?;
        Ok(Some(lines.iter().filter_map(|line| line.fact.event.work_id().cloned()).collect()))
    }
}

/// What is kept for one session, and which of it is to go.
struct SessionContents {
    id: SessionId,
    dir: Dir,
    /// Bytes on the disk, by hash.
    stored: BTreeMap<String, u64>,
    records: Vec<CallRecord>,
    works: Vec<WorkRecords>,
    /// The number of records that need a content.
    needed: HashMap<String, usize>,
    /// Whether every record could be read.
    is_complete: bool,
    going: BTreeSet<String>,
    /// Contents that would go if no call held them. While a work is under way, its record will need them.
    in_the_way: BTreeSet<String>,
    has_journal: bool,
}

struct CallRecord {
    name: String,
    modified: SystemTime,
    changes: Vec<RecordedChange>,
    gap: Option<RecordGap>,
}

struct WorkRecords {
    /// When its last record was written.
    time: SystemTime,
    /// Numbers of its records.
    records: Vec<usize>,
    is_under_way: bool,
}

impl CallRecord {
    /// Returns the hashes of the contents that it names, each once.
    fn hashes(&self) -> BTreeSet<&str> {
        self.states().map(|state| state.hash.as_str()).collect()
    }

    fn states(&self) -> impl Iterator<Item = &RecordedState> {
        let states = self.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        states.filter(|state| state.has_blob())
    }
}

impl SessionContents {
    /// Returns `None` if nothing is kept for the session.
    fn read(home: &Home, id: SessionId) -> Result<Option<Self>, StoreError> {
        let Some(dir) = home.kept_dir(&id) else { return Ok(None) };
        let hashes: BTreeSet<String> = files(&dir).map(|(name, _)| hash_in(&name).to_owned()).collect();
        if hashes.is_empty() {
            return Ok(None);
        }
        let stored = hashes.into_iter().map(|hash| (hash.clone(), stored_size(&dir, &hash))).collect();
        let doing = || StoreError::io(format!("reading the changes of {id}"));
        let folder = home.sessions_dir().open_dir(format!("changes/{id}")).map_err(doing())?;
        let (mut records, mut is_complete) = (Vec::new(), true);
        for (name, meta) in files(&folder).filter(|(name, _)| name.ends_with(".json")) {
            let modified = meta.modified().map_err(doing())?.into_std();
            let (recorded, gap) = home.session_files(&id).recorded_in(&name)?;
            match recorded {
                RecordedChanges::Files(changes) => records.push(CallRecord { name, modified, changes, gap }),
                RecordedChanges::Missing => {}
                RecordedChanges::Foreign | RecordedChanges::Damaged => is_complete = false,
            }
        }
        let mut needed: HashMap<String, usize> = HashMap::new();
        for hash in records.iter().flat_map(CallRecord::hashes) {
            *needed.entry(hash.to_owned()).or_default() += 1;
        }
        let under_way = home.works_under_way(&id)?;
        let has_journal = under_way.is_some();
        let works = works(&home.works_by_record(&id), under_way, &records);
        let (going, in_the_way) = (BTreeSet::new(), BTreeSet::new());
        Ok(Some(Self { id, dir, stored, records, works, needed, is_complete, going, in_the_way, has_journal }))
    }

    /// Marks the contents that no record names: a call failed after they were kept.
    fn let_go_unused(&mut self, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let unused = self.stored.keys().filter(|hash| self.is_complete && !self.needed.contains_key(*hash));
        let unused: Vec<String> = unused.cloned().collect();
        unused.into_iter().map(|hash| self.mark(hash, held)).sum()
    }

    /// Marks the contents of a work that no other one needs.
    fn let_go(&mut self, work: usize, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let mut free = Vec::new();
        for record in &self.works[work].records {
            for hash in self.records[*record].hashes() {
                let needed = self.needed.entry(hash.to_owned()).or_default();
                *needed = needed.saturating_sub(1);
                if *needed == 0 {
                    free.push(hash.to_owned());
                }
            }
        }
        free.into_iter().map(|hash| self.mark(hash, held)).sum()
    }

    /// Returns the bytes that this frees.
    fn mark(&mut self, hash: String, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let Some(size) = self.stored.get(&hash) else { return 0 };
        if held.contains_key(&(self.id.clone(), hash.clone())) {
            if !self.has_journal {
                self.in_the_way.insert(hash);
            }
            return 0;
        }
        self.going.insert(hash);
        *size
    }

    /// Drops what is marked. The records come first: a crash in between leaves contents that need not be there.
    fn drop_going(&self, home: &Home) -> Result<(), StoreError> {
        let folder = format!("changes/{}", self.id);
        for record in self.records.iter().filter(|record| record.hashes().iter().any(|hash| self.going.contains(*hash)))
        {
            let mut changes = record.changes.clone();
            for change in &mut changes {
                for state in [&mut change.before, &mut change.after].into_iter().flatten() {
                    if state.has_blob() && self.going.contains(&state.hash) {
                        state.size = state.size.or_else(|| self.size_of(&state.hash));
                        state.is_dropped = true;
                    }
                }
            }
            home.write_changes(&self.id, &record.name, (&changes, record.gap))?;
            // Its age is that of the call.
            let doing = StoreError::io(format!("dropping contents of {}", self.id));
            let path = format!("{folder}/{}", record.name);
            let rewritten = home.sessions_dir().open(path).map(cap_std::fs::File::into_std);
            rewritten.and_then(|file: File| file.set_modified(record.modified)).map_err(doing)?;
        }
        let removed = self.going.iter().try_for_each(|hash| remove(&self.dir, hash));
        removed.map_err(StoreError::io(format!("dropping contents of {}", self.id)))
    }

    /// Returns the length of a content that no record says. Such a content was written by a file tool.
    fn size_of(&self, hash: &str) -> Option<u64> {
        let blob = open(&self.dir, hash).ok()??;
        blob.size().or_else(|| io::copy(&mut blob.reader(MAX_BYTES).ok()?, &mut io::sink()).ok())
    }

    /// Returns the bytes of what is marked and still there.
    fn left(&self) -> u64 {
        self.going.iter().map(|hash| stored_size(&self.dir, hash)).sum()
    }
}

/// Groups records by works. A call that no message of the session's file names is a work of its own; while there is a
/// journal, such a call may belong to the work under way.
fn works(
    by_record: &HashMap<String, WorkId>,
    under_way: Option<HashSet<WorkId>>,
    records: &[CallRecord],
) -> Vec<WorkRecords> {
    let mut works: BTreeMap<(bool, &str), WorkRecords> = BTreeMap::new();
    for (number, record) in records.iter().enumerate() {
        let work = by_record.get(&record.name);
        let is_under_way = under_way.as_ref().is_some_and(|under_way| work.is_none_or(|work| under_way.contains(work)));
        let key = (work.is_some(), work.map_or(record.name.as_str(), WorkId::as_str));
        let new = WorkRecords { time: record.modified, records: Vec::new(), is_under_way };
        let known = works.entry(key).or_insert(new);
        known.time = known.time.max(record.modified);
        known.records.push(number);
    }
    works.into_values().collect()
}

/// Returns the files in a folder, without temporary ones.
fn files(dir: &Dir) -> impl Iterator<Item = (String, Metadata)> + use<> {
    let entries = dir.entries().into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        let meta = entry.metadata().ok().filter(Metadata::is_file)?;
        Some((name, meta))
    })
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::domain::{Event, Fact, Place, Session};
    use crate::store::changes::{ChangeSet, FileChange, FileMode, FileState};
    use crate::store::recorded_state::RecordedContent;
    use crate::store::{session_file, sessions};

    const SIZE: u64 = 100_000;

    /// Bytes that do not shrink.
    fn noise(seed: u8) -> Vec<u8> {
        let blocks = (0_u64..).flat_map(|at| Sha256::digest([&[seed][..], &at.to_le_bytes()].concat()));
        blocks.take(SIZE as usize).collect()
    }

    struct Fixture {
        folder: tempfile::TempDir,
        home: Home,
        /// Seconds of the next record.
        time: u64,
    }

    impl Fixture {
        /// `limit` is in halves of a content.
        fn new(limit: u64) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::open(folder.path()).unwrap();
            home.set_kept_limit(limit * SIZE / 2);
            Self { folder, home, time: 1_000 }
        }

        /// Keeps what a call deleted.
        fn call(&mut self, session: &str, call: &str, contents: &[u8]) {
            let change = |seed: &u8| FileChange {
                path: Place::parse(&format!("memory/{session}-{call}-{seed}.md")).unwrap(),
                before: Some(FileState { bytes: noise(*seed), mode: FileMode::Regular }),
                after: None,
            };
            if self.home.stored_session(&id(session)).is_none() {
                self.stored(session, &[]);
            }
            let set = ChangeSet(contents.iter().map(change).collect());
            self.home.keep_call(&id(session), call, &set.into()).unwrap();
            self.time += 1;
            let record = self.folder.path().join(format!("sessions/changes/{session}/{call}.json"));
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(self.time);
            File::open(record).unwrap().set_modified(time).unwrap();
        }

        /// Writes the file of a session with these works and their calls.
        fn stored(&self, session: &str, works: &[(&str, &[&str])]) {
            let mut stored = Session::new("t", 1.0);
            for (work, calls) in works {
                let work_id = WorkId::new((*work).to_owned());
                let (message_id, content) = (format!("m-{work}"), String::new());
                let started = Event::WorkStarted {
                    work_id: work_id.clone(),
                    message_id,
                    content,
                    attachments: Vec::new(),
                    model: String::new(),
                };
                let called = calls.iter().map(|call| Event::ToolStarted {
                    work_id: work_id.clone(),
                    dialogue: 0,
                    index: 0,
                    call_id: (*call).to_owned(),
                    tool: "bash".to_owned(),
                    arguments: serde_json::json!({}),
                });
                let segment = Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 };
                for event in [started, segment].into_iter().chain(called) {
                    stored.apply(&event, 1.0);
                }
            }
            let path = self.folder.path().join("sessions").join(sessions::file_name(&id(session)));
            std::fs::write(path, session_file::encode(&stored)).unwrap();
        }

        fn contents(&self, session: &str, call: &str) -> Vec<RecordedContent> {
            let kept = self.home.session_files(&id(session));
            let RecordedChanges::Files(files) = kept.recorded_changes(call).unwrap() else { panic!("no record") };
            files.iter().map(|file| kept.recorded_content(file.before.as_ref().unwrap())).collect()
        }

        fn is_kept(&self, session: &str, call: &str) -> bool {
            let all = self.contents(session, call);
            let kept = all.iter().filter(|content| matches!(content, RecordedContent::Bytes(_))).count();
            assert!(kept == all.len() || all.contains(&RecordedContent::Dropped { size: SIZE }), "{all:?}");
            kept == all.len()
        }

        /// Counts what is on the disk, and compares it with the running total.
        fn total(&self) -> u64 {
            let walked: u64 = self.home.changing_sessions().iter().map(|session| self.home.kept_size(session)).sum();
            assert_eq!(lock(&self.home.kept_bound().0).total, Some(walked));
            walked
        }

        fn alarms(&self) -> Vec<String> {
            let checks = crate::store::verify::verify(&self.home, &|_| Vec::new()).unwrap();
            checks
                .into_iter()
                .flat_map(|check| check.alarms)
                .map(|alarm| format!("{}: {}", alarm.path, alarm.what))
                .collect()
        }
    }

    fn id(session: &str) -> SessionId {
        SessionId::parse(session).unwrap()
    }

    #[test]
    fn oldest_contents_are_dropped_and_named() {
        let mut home = Fixture::new(8);
        home.call("a", "1", &[1]);
        home.call("b", "1", &[2]);
        home.call("a", "2", &[3]);
        home.call("b", "2", &[4]);
        assert!(home.is_kept("a", "1") && home.total() == 4 * SIZE);
        home.call("c", "1", &[5]);
        // A sixteenth of the limit is freed besides.
        assert_eq!(["a", "b", "c"].map(|session| home.is_kept(session, "1")), [false, false, true]);
        assert!(home.is_kept("a", "2") && home.is_kept("b", "2"));
        assert_eq!((home.contents("a", "1"), home.total()), (vec![RecordedContent::Dropped { size: SIZE }], 3 * SIZE));
        assert_eq!(home.alarms(), Vec::<String>::new());
        let blob = home.folder.path().join("sessions/changes/b/blobs").join(crate::store::sha256(&noise(4)));
        std::fs::remove_file(blob).unwrap();
        assert!(home.alarms()[0].contains("is gone"), "{:?}", home.alarms());
    }

    #[test]
    fn content_that_a_younger_work_needs_stays() {
        let mut home = Fixture::new(7);
        home.call("a", "1", &[1, 2]);
        home.call("a", "2", &[1]);
        home.call("a", "3", &[3, 4]);
        assert!(home.is_kept("a", "2") && home.is_kept("a", "3"));
        let first = home.contents("a", "1");
        assert_eq!(first, [RecordedContent::Bytes(noise(1)), RecordedContent::Dropped { size: SIZE }]);
        assert_eq!((home.total(), home.alarms()), (3 * SIZE, Vec::new()));
        // When the younger one is dropped too, all records say so.
        home.call("a", "4", &[5, 6]);
        assert!(!home.is_kept("a", "2") && !home.is_kept("a", "1"));
        assert_eq!(home.contents("a", "1"), [const { RecordedContent::Dropped { size: SIZE } }; 2]);
        assert_eq!((home.is_kept("a", "4"), home.alarms()), (true, Vec::new()));
    }

    #[test]
    fn works_are_dropped_as_a_whole() {
        let mut home = Fixture::new(7);
        home.stored("a", &[("w", &["first", "last"])]);
        home.call("a", "first", &[1]);
        home.call("b", "1", &[2]);
        home.call("a", "last", &[3]);
        home.call("b", "2", &[4]);
        assert!(home.is_kept("a", "first") && home.is_kept("a", "last"));
        assert!(!home.is_kept("b", "1"), "a work is as old as its last call");
        home.call("b", "3", &[5]);
        assert!(!home.is_kept("a", "first") && !home.is_kept("a", "last"));
        assert!(home.is_kept("b", "2") && home.is_kept("b", "3"));
    }

    #[test]
    fn work_under_way_keeps_its_contents() {
        let mut home = Fixture::new(4);
        home.stored("a", &[("w", &["old"])]);
        home.call("a", "old", &[1]);
        let work = |work: &str| WorkId::new(work.to_owned());
        let fact = |seq, work_id| Fact { seq, at: 1.0, event: Event::WorkContinued { work_id } };
        let mut journal = crate::store::journal::Journal::new(&home.home, &id("a"), None);
        journal.append(&[fact(1, work("w"))], crate::store::Durability::Synced).unwrap();
        home.call("a", "new", &[2]);
        home.call("b", "1", &[3]);
        home.call("b", "2", &[4]);
        assert!(home.is_kept("a", "old") && home.is_kept("a", "new"), "the work goes on");
        assert!(!home.is_kept("b", "1"));
        journal.remove().unwrap();
        let mut journal = crate::store::journal::Journal::new(&home.home, &id("a"), None);
        journal.append(&[fact(2, work("another"))], crate::store::Durability::Synced).unwrap();
        home.call("b", "3", &[5]);
        assert!(!home.is_kept("a", "old") && home.is_kept("a", "new"), "it may be of the work under way");
        journal.remove().unwrap();
        home.call("b", "4", &[6]);
        assert!(!home.is_kept("a", "new") && home.is_kept("b", "4"));
        assert_eq!((home.total() <= 2 * SIZE, home.alarms()), (true, Vec::new()));
    }

    #[test]
    fn content_for_which_there_is_no_room_is_not_kept() {
        let home = Fixture::new(4);
        let blobs = home.home.blobs(&id("a")).unwrap();
        let kept = [1, 2, 3].map(|seed| blobs.keep(noise(seed).as_slice()).unwrap().1);
        assert_eq!(kept, [Room::Made, Room::Made, Room::None]);
        assert_eq!((blobs.open(&crate::store::sha256(&noise(3))).unwrap().is_none(), home.total()), (true, 2 * SIZE));
        drop(blobs);
        // Contents that no record names are the first to go.
        let blobs = home.home.blobs(&id("b")).unwrap();
        assert_eq!(blobs.keep(noise(4).as_slice()).unwrap().1, Room::Made);
        assert_eq!((blobs.keep(noise(5).as_slice()).unwrap().1, home.total()), (Room::Made, 2 * SIZE));
        assert_eq!(home.home.kept_size(&id("a")), 0);
    }

    #[test]
    fn records_are_read_again_only_if_that_can_make_room() {
        let mut home = Fixture::new(3);
        let is_stuck = |home: &Fixture| lock(&home.home.kept_bound().0).stuck.is_some();
        home.stored("a", &[]);
        let mut journal = crate::store::journal::Journal::new(&home.home, &id("a"), None);
        let event = Event::WorkContinued { work_id: WorkId::new("w".to_owned()) };
        journal.append(&[Fact { seq: 1, at: 1.0, event }], crate::store::Durability::Synced).unwrap();
        home.call("a", "1", &[1]);
        home.call("a", "2", &[2]);
        assert!(is_stuck(&home), "the work under way exceeds the limit");
        let blobs = home.home.blobs(&id("a")).unwrap();
        assert_eq!(blobs.keep(noise(3).as_slice()).unwrap().1, Room::None);
        drop(blobs);
        assert!(is_stuck(&home), "a released content that could not be dropped anyway changes nothing");
        journal.remove().unwrap();
        assert!(!is_stuck(&home));
        let blobs = home.home.blobs(&id("b")).unwrap();
        assert_eq!(blobs.keep(noise(4).as_slice()).unwrap().1, Room::Made);
        assert_eq!(blobs.keep(noise(5).as_slice()).unwrap().1, Room::None);
        assert!(is_stuck(&home), "a call holds what could be dropped");
        drop(blobs);
        assert!(!is_stuck(&home));
    }

    #[test]
    fn content_that_another_call_holds_is_not_removed() {
        let home = Fixture::new(4);
        let [blobs, other] = [(); 2].map(|()| home.home.blobs(&id("a")).unwrap());
        for seed in [1, 2] {
            assert_eq!(blobs.keep(noise(seed).as_slice()).unwrap().1, Room::Made);
        }
        // The other call is about to keep the same content.
        let hash = crate::store::sha256(&noise(3));
        other.hold(&hash).unwrap();
        assert_eq!(blobs.keep(noise(3).as_slice()).unwrap().1, Room::Made);
        assert!(other.open(&hash).unwrap().is_some());
    }

    #[test]
    fn content_that_a_record_needs_is_not_removed() {
        let home = Fixture::new(20);
        // Only the whole shrinks, not its beginning, so the two ways to keep it store it differently.
        let content: Vec<u8> = [noise(1).repeat(11), b"text".repeat(1 << 20)].concat();
        let blobs = home.home.blobs(&id("a")).unwrap();
        let hash = blobs.keep_synced(&content).unwrap();
        assert_eq!(blobs.keep(content.as_slice()).unwrap().1, Room::Made);
        assert!(blobs.open(&hash).unwrap().is_some());
    }

    #[test]
    fn total_is_counted_once_and_follows_deletions() {
        let mut home = Fixture::new(20);
        home.call("a", "1", &[1, 2]);
        home.call("b", "1", &[3]);
        let Fixture { folder, home: open, time } = home;
        drop(open);
        let mut home = Fixture { home: Home::open(folder.path()).unwrap(), folder, time };
        home.call("b", "2", &[3, 4]);
        assert_eq!(home.total(), 4 * SIZE);
        home.stored("a", &[]);
        home.home.delete_session(&id("a")).unwrap();
        assert_eq!(home.total(), 4 * SIZE, "it can be restored");
        assert!(home.home.purge_session(&id("a")).unwrap());
        assert_eq!(home.total(), 2 * SIZE);
    }
}
