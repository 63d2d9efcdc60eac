//! The bound on the contents that a home keeps for undos. When they exceed it, those of the oldest works are dropped, but
//! never those of a work under way. The record of a call names what was dropped, with the home's signature.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;
use std::time::SystemTime;

use cap_std::fs::Dir;

use super::blobs::disk_size;
use super::changes::BLOBS;
use super::home::{Home, lock};
use super::kept_session::{SessionContents, files};
use crate::domain::SessionId;

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

    /// Returns how many bytes of new contents can be kept: there is room, or it can be made. If there is room for `enough`
    /// bytes, it does not look for more.
    pub(super) fn kept_room(&self, enough: u64) -> u64 {
        self.count_kept();
        let counted = lock(&self.kept_bound().0);
        let free = counted.limit.saturating_sub(counted.total.unwrap_or_default());
        if free >= enough {
            return free;
        }
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
    fn choose_oldest(&self, wanted: u64, held: &BTreeMap<(SessionId, String), usize>) -> (Vec<SessionContents>, u64) {
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

    pub(super) fn kept_dir(&self, session: &SessionId) -> Option<Dir> {
        self.sessions_dir().open_dir(format!("changes/{session}/{BLOBS}")).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::domain::{Event, Fact, Place, Session, WorkId};
    use crate::store::changes::{ChangeSet, FileChange, FileMode, FileState, RecordedChanges};
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
                    without_tools: false,
                    client: None,
                };
                let called = calls.iter().map(|call| Event::ToolStarted {
                    work_id: work_id.clone(),
                    dialogue: 0,
                    index: 0,
                    call_id: (*call).to_owned(),
                    tool: "bash".to_owned(),
                    arguments: serde_json::json!({}),
                    handed_off: None,
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
        let fact =
            |seq, work_id| Fact { seq, at: 1.0, event: Event::WorkContinued { work_id, beyond_own_limit: false } };
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
        let event = Event::WorkContinued { work_id: WorkId::new("w".to_owned()), beyond_own_limit: false };
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
        let content: Vec<u8> = (0..11).flat_map(noise).chain(b"text".repeat(1 << 20)).collect();
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
