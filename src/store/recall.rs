//! Conversations as their files say, for the search in them. Repairs and moves nothing.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cap_std::fs::{Metadata, MetadataExt};

use super::error::StoreError;
use super::folder_events::{ChangedNames, FolderEvents};
use super::home::Home;
use super::listing::stamp;
use super::reading::{CompactedUnreadable, is_compacted_file_of};
use super::seal::MacKind;
use super::sessions::file_name;
use super::{journal, session_file};
use crate::clock;
use crate::domain::{ConversationRecord, FileStamp, Message, Session, SessionId};

/// Interval of looks at every file: changes on some file systems have no event.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Maximum bytes of a session's file that is read for a search.
const MAX_FILE: u64 = 256 << 20;
/// Where compacted messages are, in `sessions/`.
const ARCHIVE: &str = "archive";

/// What is known of the files of all conversations.
#[derive(Default)]
pub struct ConversationScan {
    stamps: BTreeMap<SessionId, FileStamp>,
    /// Absent before the first scan, and if `sessions/` cannot be watched.
    events: Option<FolderEvents>,
    looked: Option<Instant>,
}

impl ConversationScan {
    /// Returns each conversation with a stamp that differs if it or its compacted messages may have changed.
    pub fn stamps(&self) -> &BTreeMap<SessionId, FileStamp> {
        &self.stamps
    }
}

/// The state of a conversation's files: its file, its compacted messages and its journal. Two are equal if none of them has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationState {
    stamp: FileStamp,
    journal: Option<FileStamp>,
    bytes: u64,
}

impl ConversationState {
    /// Returns how many bytes these files have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Why a conversation cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum ConversationUnreadable {
    #[error("it does not exist")]
    Gone,
    #[error("its file is damaged")]
    Damaged,
    #[error("a newer version wrote it")]
    Newer,
    #[error("its file is larger than 256 MB")]
    TooLarge,
    /// Not the file's fault: reading it may succeed later.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Home {
    /// Updates what is known of the conversations. Returns whether anything changed.
    ///
    /// # Errors
    /// Returns an error if `sessions/` cannot be listed.
    pub fn scan_conversations(&self, scan: &mut ConversationScan) -> Result<bool, StoreError> {
        let is_look_due = scan.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
        let changed = scan.events.as_ref().map_or(ChangedNames::Unknown, FolderEvents::take);
        let names = match changed {
            ChangedNames::These(names) if !is_look_due => names,
            ChangedNames::These(_) => return self.look_at_conversations(scan),
            ChangedNames::Unknown => {
                // Before the look, so that no change between the two is missed.
                scan.events = FolderEvents::of(self.sessions_dir());
                return self.look_at_conversations(scan);
            }
        };
        let ids = names.iter().filter_map(|name| SessionId::parse(name.strip_suffix(".json")?).ok());
        let mut is_changed = false;
        for id in ids {
            let now = self.conversation_stamp(&id);
            let before = match now {
                Some(now) => scan.stamps.insert(id, now),
                None => scan.stamps.remove(&id),
            };
            is_changed |= before != now;
        }
        Ok(is_changed)
    }

    fn look_at_conversations(&self, scan: &mut ConversationScan) -> Result<bool, StoreError> {
        scan.looked = Some(Instant::now());
        let mut stamps = BTreeMap::new();
        let archives = self.archive_names();
        for id in self.session_ids()? {
            let stamp = self.stamp_with(&id, &archives);
            stamps.extend(stamp.map(|stamp| (id, stamp)));
        }
        let is_changed = stamps != scan.stamps;
        scan.stamps = stamps;
        Ok(is_changed)
    }

    fn archive_names(&self) -> Vec<String> {
        let entries = self.sessions_dir().read_dir(ARCHIVE).into_iter().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn conversation_stamp(&self, id: &SessionId) -> Option<FileStamp> {
        self.stamp_with(id, &self.archive_names())
    }

    /// Returns the state of a conversation's files as of now, without reading them; `None` if there is no such conversation.
    pub fn conversation_state(&self, id: &SessionId) -> Option<ConversationState> {
        let state = self.state_with(id, &self.archive_names())?;
        let journal = self.sessions_dir().metadata(journal::file_name(id)).ok();
        let bytes = state.bytes + journal.as_ref().map_or(0, Metadata::len);
        Some(ConversationState { journal: journal.as_ref().map(stamp), bytes, ..state })
    }

    /// Returns the stamp of a conversation: that of its file and of its compacted messages. `archives` are sorted.
    fn stamp_with(&self, id: &SessionId, archives: &[String]) -> Option<FileStamp> {
        self.state_with(id, archives).map(|state| state.stamp)
    }

    /// Returns the state without the journal.
    fn state_with(&self, id: &SessionId, archives: &[String]) -> Option<ConversationState> {
        let meta = self.sessions_dir().metadata(file_name(id)).ok()?;
        let (mut mixed, mut bytes) = (meta.ino(), meta.len());
        let first = archives.partition_point(|name| name.as_str() < id.as_str());
        let named = archives[first..].iter().take_while(|name| name.starts_with(id.as_str()));
        for name in named.filter(|name| is_compacted_file_of(id, name)) {
            if let Ok(of_archive) = self.sessions_dir().metadata(format!("{ARCHIVE}/{name}")) {
                mixed = mix(mixed, &of_archive);
                bytes = bytes.saturating_add(of_archive.len());
            }
        }
        let (modified, changed) = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
        let stamp = match mixed == meta.ino() {
            true => stamp(&meta),
            false => FileStamp::of(meta.len(), modified, changed, (meta.dev(), mixed)),
        };
        Some(ConversationState { stamp, journal: None, bytes })
    }

    /// Returns a conversation as its files say, without the facts of a run under way.
    ///
    /// # Errors
    /// Returns the reason why it cannot be searched.
    pub fn stored_conversation(&self, id: &SessionId) -> Result<ConversationRecord, ConversationUnreadable> {
        let (session, own) = self.stored_snapshot(id)?;
        self.with_compacted(id, session, own)
    }

    /// Returns a conversation as of now: also with the facts that are only in its journal.
    ///
    /// # Errors
    /// Returns the reason why it cannot be searched.
    pub fn current_conversation(&self, id: &SessionId) -> Result<ConversationRecord, ConversationUnreadable> {
        // The journal first: what is settled in between is in the snapshot.
        let journal = match self.sessions_dir().read(journal::file_name(id)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let (lines, _) = journal::parse(&journal, (self.seal(), id)).map_err(|_| ConversationUnreadable::Newer)?;
        let (mut session, own) = self.stored_snapshot(id)?;
        lines.iter().filter(|line| line.own).for_each(|line| session.apply_fact(&line.fact));
        self.with_compacted(id, session, own)
    }

    fn stored_snapshot(&self, id: &SessionId) -> Result<(Session, bool), ConversationUnreadable> {
        let name = file_name(id);
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ConversationUnreadable::Gone,
            _ => ConversationUnreadable::Io(error),
        };
        if self.sessions_dir().metadata(&name).map_err(gone)?.len() > MAX_FILE {
            return Err(ConversationUnreadable::TooLarge);
        }
        let bytes = self.sessions_dir().read(&name).map_err(gone)?;
        let own = self.seal().verify(MacKind::Session, id.as_str(), &bytes);
        let lenient = session_file::parse_foreign(&bytes, clock::now());
        let lenient = lenient.map_err(|_| ConversationUnreadable::Damaged)?;
        if lenient.is_newer() {
            return Err(ConversationUnreadable::Newer);
        }
        if !own {
            return Ok((lenient, false));
        }
        // A lenient reading may drop what taints a conversation, and a file of this home is not tainted for being foreign.
        let strict = session_file::parse(&bytes, clock::now()).map_err(|_| ConversationUnreadable::Damaged)?;
        Ok((strict, true))
    }

    fn with_compacted(
        &self,
        id: &SessionId,
        session: Session,
        own: bool,
    ) -> Result<ConversationRecord, ConversationUnreadable> {
        let files = self.session_files(id);
        let mut record = ConversationRecord { session, compacted: Vec::new(), damaged: 0, own };
        if record.is_excluded() || record.is_discarded() {
            return Ok(record);
        }
        for part in record.session.compacted.iter().filter(|part| part.restored_at.is_none()) {
            let content = match files.read_compacted(&part.archive, part.sha256.as_deref()) {
                Ok(content) => content,
                Err(CompactedUnreadable::Missing) => continue,
                Err(CompactedUnreadable::Damaged) => {
                    record.damaged += 1;
                    continue;
                }
                Err(CompactedUnreadable::Io(error)) => return Err(error.into()),
            };
            let all = content.messages.len();
            let messages = content.messages.into_iter();
            let messages = messages.filter_map(|message| serde_json::from_value::<Message>(message).ok());
            let messages: Vec<Arc<Message>> = messages.map(Arc::new).collect();
            if content.own && messages.len() < all {
                record.damaged += 1;
                continue;
            }
            record.own &= content.own;
            record.compacted.push(messages);
        }
        Ok(record)
    }
}

/// Mixes what tells two states of a file apart into a number (FNV-1a).
fn mix(start: u64, meta: &Metadata) -> u64 {
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()].map(i64::cast_unsigned);
    let parts = times.into_iter().chain([meta.len(), meta.ino()]);
    parts.fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, part| (hash ^ part).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Taint;
    use serde_json::json;
    use std::fs;

    fn id(id: &str) -> SessionId {
        SessionId::parse(id).unwrap()
    }

    #[test]
    fn scan_tells_which_conversations_changed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let mut scan = ConversationScan::default();
        assert!(!home.scan_conversations(&mut scan).unwrap(), "there are none");
        let path = |name: &str| folder.path().join("sessions").join(name);
        fs::write(path("a.json"), r#"{"messages":[]}"#).unwrap();
        fs::write(path("no session.json"), "x").unwrap();
        assert!(home.scan_conversations(&mut scan).unwrap());
        assert_eq!(scan.stamps().keys().collect::<Vec<_>>(), [&id("a")]);
        assert!(!home.scan_conversations(&mut scan).unwrap());
        let before = scan.stamps().clone();
        fs::create_dir_all(path("archive")).unwrap();
        fs::write(path("archive/a_20261128T070000.000Z.json"), "[]").unwrap();
        // A compaction also writes the session's file.
        fs::write(path("a.json"), r#"{"messages":[]} "#).unwrap();
        assert!(home.scan_conversations(&mut scan).unwrap());
        assert_ne!(before, *scan.stamps());
        let with_archive = scan.stamps().clone();
        fs::write(path("archive/a_20261128T070000.000Z.json"), "[ ]").unwrap();
        scan.looked = None;
        assert!(home.scan_conversations(&mut scan).unwrap(), "a look finds what had no event");
        assert_ne!(with_archive, *scan.stamps());
        fs::remove_file(path("a.json")).unwrap();
        assert!(home.scan_conversations(&mut scan).unwrap() && scan.stamps().is_empty());
    }

    #[test]
    fn unreadable_conversation_says_why_and_stays_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let why = |name: &str| match home.current_conversation(&id(name)) {
            Ok(_) => panic!("{name} is readable"),
            Err(why) => why.to_string(),
        };
        assert_eq!(why("none"), "it does not exist");
        for (name, text, reason) in [
            ("cut", r#"{"messages": ["#, "its file is damaged"),
            ("newer", r#"{"format": 99, "messages": []}"#, "a newer version wrote it"),
        ] {
            let path = folder.path().join(format!("sessions/{name}.json"));
            fs::write(&path, text).unwrap();
            assert_eq!(why(name), reason);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let large = fs::File::create(folder.path().join("sessions/large.json")).unwrap();
        large.set_len(MAX_FILE + 1).unwrap();
        assert_eq!(why("large"), "its file is larger than 256 MB");
    }

    #[test]
    fn exclusion_outlives_a_word_that_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let message = r#"{"role": "assistant", "content": "hi", "stopped_by": "moon"}"#;
        let text = format!(r#"{{"chosen": {{"not_for_recall": true}}, "messages": [{message}]}}"#);
        fs::write(folder.path().join("sessions/a.json"), text).unwrap();
        let record = home.stored_conversation(&id("a")).unwrap();
        assert!(record.is_excluded() && !record.own && record.session.messages.len() == 1);
    }

    #[test]
    fn signed_file_with_an_unknown_word_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let keep = |name: &str, stopped_by: &str| {
            let message = json!({"role": "assistant", "content": "hi", "stopped_by": stopped_by});
            let session = json!({"messages": [message], "taint": [{"from": "outside"}]});
            let text = format!("{session:#}\n");
            let signed = home.seal().sign(MacKind::Session, name, text.into_bytes());
            fs::write(folder.path().join(format!("sessions/{name}.json")), signed).unwrap();
        };
        keep("known", "person");
        let record = home.stored_conversation(&id("known")).unwrap();
        assert!(record.own && record.session.taint == [Taint::Outside]);
        keep("unknown", "moon");
        let why = home.stored_conversation(&id("unknown")).map(|record| record.own).unwrap_err();
        assert_eq!(why.to_string(), "its file is damaged");
        let why = home.current_conversation(&id("unknown")).map(|record| record.own).unwrap_err();
        assert_eq!(why.to_string(), "its file is damaged");
    }

    #[test]
    fn damaged_archive_is_counted_and_unreadable_one_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let archive = folder.path().join("sessions/archive");
        fs::create_dir_all(&archive).unwrap();
        let part = |name: &str| json!({"archive": name, "count": 1, "summary": "s"});
        let names = ["a_20261128T070000.000Z.json", "a_20261128T070001.000Z.json", "a_20261128T070002.000Z.json"];
        let session = json!({"messages": [], "archived": names.map(part)});
        fs::write(folder.path().join("sessions/a.json"), session.to_string()).unwrap();
        fs::write(archive.join(names[0]), r#"[{"role": "user", "content": "hi"}]"#).unwrap();
        fs::write(archive.join(names[1]), "[{").unwrap();
        let record = home.stored_conversation(&id("a")).unwrap();
        assert_eq!((record.compacted.len(), record.damaged), (1, 1), "the third is missing");
        let before = home.conversation_state(&id("a")).unwrap();
        // A folder in its place: an error that says nothing of the messages.
        fs::create_dir(archive.join(names[2])).unwrap();
        assert!(matches!(home.stored_conversation(&id("a")), Err(ConversationUnreadable::Io(_))));
        assert_ne!(home.conversation_state(&id("a")).unwrap(), before);
    }

    #[test]
    fn state_tells_each_change_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let path = |name: &str| folder.path().join("sessions").join(name);
        let state = || home.conversation_state(&id("a"));
        assert_eq!(state(), None);
        fs::write(path("a.json"), r#"{"messages": []}"#).unwrap();
        let first = state();
        assert_eq!(first.as_ref().map(ConversationState::bytes), Some(16));
        assert_eq!(state(), first);
        fs::write(path(&journal::file_name(&id("a"))), "{}").unwrap();
        let with_journal = state();
        assert_ne!(with_journal, first);
        assert_eq!(with_journal.as_ref().map(ConversationState::bytes), Some(18));
        fs::create_dir_all(path("archive")).unwrap();
        fs::write(path("archive/a_20261128T070000.000Z.json"), "[]").unwrap();
        let with_archive = state();
        assert_ne!(with_archive, with_journal);
        assert_eq!(with_archive.map(|state| state.bytes()), Some(20));
    }
}
