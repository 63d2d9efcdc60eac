//! The files that a call changed, kept for its undo. `sessions/changes/{session}/{call}.json` refers to contents by their
//! hashes; the contents are beside it (`blobs`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::blobs::{Blobs, hash_of};
use super::error::StoreError;
use super::files::MAX_BYTES;
use super::home::Home;
use super::recorded_state::{EntryKind, RecordedContent, RecordedState, StateRecord};
use super::seal::{MacKind, sha256};
use super::session_files::SessionFiles;
use super::{atomic, etag};
use crate::domain::{EntryPath, Place, SessionId};

pub(super) const BLOBS: &str = "blobs";
/// What is being done, for errors.
const KEEPING: &str = "keeping what files were, for an undo";

/// The files that one call changed; each path occurs once.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSet(pub Vec<FileChange>);

/// A file before and after a change. `None` means that the file does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    pub path: Place,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
}

/// The content and mode of a file at one point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct FileState {
    pub bytes: Vec<u8>,
    pub mode: FileMode,
}

/// The part of a file's permissions that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileMode {
    #[default]
    Regular,
    /// Everyone who may read the file may execute it.
    Executable,
}

impl FileMode {
    /// Returns the mode of a file with these permission bits.
    pub(super) fn of(bits: u32) -> Self {
        if bits & 0o111 == 0 { Self::Regular } else { Self::Executable }
    }

    /// Returns `bits` with the execute bits that this mode requires.
    pub(super) fn applied_to(self, bits: u32) -> u32 {
        match self {
            Self::Regular => bits & !0o111,
            Self::Executable => bits | (bits & 0o444) >> 2,
        }
    }
}

impl FileChange {
    /// Returns the inverse of this change.
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

/// What the record of a call says.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedChanges {
    /// There is none: the call changed no file.
    Missing,
    /// This home did not write it, so nothing in it is used.
    Foreign,
    /// This home wrote it, but this version cannot read it.
    Damaged,
    Files(Vec<RecordedChange>),
}

/// Why a record lacks a part of what its call changed. The rest cannot be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordGap {
    /// The disk was full when the call ended, so contents that an undo needs could not be kept.
    DiskFull,
    /// The folder had more files, folders and links than a look takes in; those beyond that are not recorded.
    TooManyFiles,
}

impl RecordGap {
    /// Returns its stable code, as in the data of an answer.
    pub fn code(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::TooManyFiles => "too_many_files",
        }
    }
}

/// An entry before and after a change, without its contents. `None` means that it does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedChange {
    pub path: EntryPath,
    pub before: Option<RecordedState>,
    pub after: Option<RecordedState>,
}

impl RecordedChange {
    /// Returns the inverse of this change.
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

#[derive(Serialize, Deserialize)]
struct SetRecord {
    files: Vec<FileRecord>,
    /// The contents that were dropped, or not kept, because of the limit: their lengths in bytes, by their hashes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    dropped: BTreeMap<String, u64>,
    /// Why it lacks a part of what the call changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<RecordGap>,
}

#[derive(Serialize, Deserialize)]
struct FileRecord {
    path: String,
    before: Option<StateRecord>,
    after: Option<StateRecord>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Set(SetRecord),
    /// A record without blobs: it contains the texts of one file itself.
    Inline {
        path: String,
        before: Option<String>,
        after: Option<String>,
    },
}

impl Home {
    /// Keeps the contents of a change set, and returns its record, which is not stored yet.
    pub(super) fn keep_contents(blobs: &Blobs, set: &ChangeSet) -> Result<Vec<RecordedChange>, StoreError> {
        let keep = |state: &Option<FileState>| state.as_ref().map(|state| keep_state(blobs, state)).transpose();
        let files = set.0.iter().map(|file| {
            let (before, after) = (keep(&file.before)?, keep(&file.after)?);
            Ok(RecordedChange { path: file.path.clone().into(), before, after })
        });
        files.collect::<std::io::Result<_>>().map_err(StoreError::io(KEEPING))
    }

    /// Stores the record of changes whose contents are kept already, or need not be.
    pub(super) fn keep_recorded(
        &self,
        session: &SessionId,
        call_id: &str,
        changes: &[RecordedChange],
    ) -> Result<(), StoreError> {
        self.write_changes(session, &file_name(call_id), (changes, None))
    }

    /// Stores changes in the record with this file name, and why there are not all of them. The session has a folder for its
    /// changes.
    pub(super) fn write_changes(
        &self,
        session: &SessionId,
        name: &str,
        (changes, gap): (&[RecordedChange], Option<RecordGap>),
    ) -> Result<(), StoreError> {
        let record = |state: &Option<RecordedState>| state.as_ref().map(RecordedState::record);
        let states = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let dropped = states.filter(|state| state.is_dropped);
        let dropped = dropped.map(|state| (state.hash.clone(), state.size.unwrap_or_default())).collect();
        let files = changes.iter().map(|RecordedChange { path, before, after }| FileRecord {
            path: path.to_string(),
            before: record(before),
            after: record(after),
        });
        self.write_record(session, name, SetRecord { files: files.collect(), dropped, gap })
    }

    fn write_record(&self, session: &SessionId, name: &str, record: SetRecord) -> Result<(), StoreError> {
        let dir = self.sessions_dir().open_dir(format!("changes/{session}")).map_err(StoreError::io(KEEPING))?;
        let mut bytes = serde_json::to_vec_pretty(&record).expect("texts are JSON");
        bytes.push(b'\n');
        let bytes = self.seal().sign(MacKind::Change, &format!("{session}/{name}"), bytes);
        atomic::replace(&dir, name, &bytes, 0o600).map_err(StoreError::io(KEEPING))
    }
}

impl SessionFiles {
    /// Returns the paths of the entries that a call changed, without reading contents. Empty if the call changed none, if
    /// its record is damaged, or if this home did not write the record.
    pub fn changed_paths(&self, call_id: &str) -> Result<Vec<EntryPath>, StoreError> {
        Ok(match self.recorded_changes(call_id)? {
            RecordedChanges::Files(files) => files.into_iter().map(|file| file.path).collect(),
            RecordedChanges::Missing | RecordedChanges::Foreign | RecordedChanges::Damaged => Vec::new(),
        })
    }

    /// Returns the record of what a call changed, without reading the contents.
    pub fn recorded_changes(&self, call_id: &str) -> Result<RecordedChanges, StoreError> {
        self.recorded_with_gap(call_id).map(|(changes, _)| changes)
    }

    /// Like [`Self::recorded_changes`], with the reason if the record lacks a part of what the call changed.
    pub fn recorded_with_gap(&self, call_id: &str) -> Result<(RecordedChanges, Option<RecordGap>), StoreError> {
        self.recorded_in(&file_name(call_id))
    }

    /// Like [`Self::recorded_with_gap`], by the file name of the record.
    pub(super) fn recorded_in(&self, name: &str) -> Result<(RecordedChanges, Option<RecordGap>), StoreError> {
        let Self { home, session } = self;
        let name = format!("{session}/{name}");
        let bytes = match home.sessions_dir().read(format!("changes/{name}")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((RecordedChanges::Missing, None)),
            Err(error) => return Err(StoreError::io("reading what a file was before")(error)),
        };
        // An undo writes the record's contents to files, so a record of another program must not be used.
        if !home.seal().verify(MacKind::Change, &name, &bytes) {
            return Ok((RecordedChanges::Foreign, None));
        }
        let files = serde_json::from_slice(&bytes).ok().and_then(|record| match record {
            Record::Set(SetRecord { files, dropped, gap }) => {
                let files = files.into_iter().map(|file| file.parsed(&dropped)).collect::<Option<_>>();
                Some((files?, gap))
            }
            Record::Inline { path, before, after } => {
                let path = EntryPath::parse(&path).ok()?;
                let state = |text: Option<String>| text.map(|text| RecordedState::inline(text.into_bytes()));
                Some((vec![RecordedChange { path, before: state(before), after: state(after) }], None))
            }
        });
        Ok(files.map_or((RecordedChanges::Damaged, None), |(files, gap)| (RecordedChanges::Files(files), gap)))
    }

    /// Returns whether the content of a recorded state is kept, without reading it.
    pub fn is_kept(&self, state: &RecordedState) -> bool {
        !state.has_blob() || matches!(self.home.blob(&self.session, &state.hash), Ok(Some(_)))
    }

    /// Returns whether the content of a recorded state is kept and is what its hash says, whatever its size.
    pub fn is_intact(&self, state: &RecordedState) -> bool {
        let is_blob = || {
            let blob = self.home.blob(&self.session, &state.hash)?;
            let blob = blob.ok_or(std::io::ErrorKind::NotFound)?;
            std::io::Result::Ok(hash_of(blob.reader(state.most())?)?.hash == state.hash)
        };
        !state.has_blob() || is_blob().unwrap_or(false)
    }

    /// Returns the content of a recorded state. A content above the size limit of files is not read.
    pub fn recorded_content(&self, state: &RecordedState) -> RecordedContent {
        self.content(state, MAX_BYTES)
    }

    pub(super) fn content(&self, state: &RecordedState, limit: u64) -> RecordedContent {
        if let Some(bytes) = &state.inline {
            return RecordedContent::Bytes(bytes.clone());
        }
        if state.kind == EntryKind::Folder {
            return RecordedContent::Bytes(Vec::new());
        }
        let blob = match self.home.blob(&self.session, &state.hash) {
            Ok(Some(blob)) => blob,
            Ok(None) | Err(_) => {
                return match state.size {
                    Some(size) if state.is_dropped => RecordedContent::Dropped { size },
                    Some(size) => RecordedContent::NotKept { size },
                    None => RecordedContent::Damaged,
                };
            }
        };
        if let Some(size) = state.size.or(blob.size()).filter(|size| *size > limit) {
            return RecordedContent::TooLarge { size, limit };
        }
        // The record's MAC covers the hash, so a content that matches the hash is the one that was stored.
        let bytes = blob.read(state.most().min(limit)).ok().filter(|bytes| sha256(bytes) == state.hash);
        bytes.map_or(RecordedContent::Damaged, RecordedContent::Bytes)
    }
}

impl FileRecord {
    /// Returns `None` if its path is none of this home's, or if the target of a link cannot be read.
    fn parsed(self, dropped: &BTreeMap<String, u64>) -> Option<RecordedChange> {
        let state = |record: Option<StateRecord>| {
            let Some(record) = record else { return Some(None) };
            let mut state = record.state()?;
            if let Some(size) = dropped.get(&state.hash).filter(|_| state.has_blob()) {
                (state.is_dropped, state.size) = (true, state.size.or(Some(*size)));
            }
            Some(Some(state))
        };
        Some(RecordedChange {
            path: EntryPath::parse(&self.path).ok()?,
            before: state(self.before)?,
            after: state(self.after)?,
        })
    }
}

fn keep_state(blobs: &Blobs, FileState { bytes, mode }: &FileState) -> std::io::Result<RecordedState> {
    let hash = blobs.keep_synced(bytes)?;
    Ok(RecordedState::file(hash, *mode))
}

/// Returns the file name of a call's record. Providers choose the call ids, so an id that is not a plain name is replaced
/// by its hash.
pub(super) fn file_name(call_id: &str) -> String {
    let plain = call_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match plain && (1..=64).contains(&call_id.len()) {
        true => format!("{call_id}.json"),
        false => format!("{}~.json", etag(call_id.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (tempfile::TempDir, Home, SessionId) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home, SessionId::parse("s").unwrap())
    }

    fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileChange {
        let [before, after] = [before, after]
            .map(|bytes| bytes.map(|bytes| FileState { bytes: bytes.to_vec(), mode: FileMode::Regular }));
        FileChange { path: Place::parse(path).unwrap(), before, after }
    }

    /// Returns a change with its contents; `None` if there is no record, or if one of the contents is damaged.
    fn kept(home: &Home, session: &SessionId, call_id: &str) -> Option<ChangeSet> {
        let files = home.session_files(session);
        let RecordedChanges::Files(changes) = files.recorded_changes(call_id).unwrap() else { return None };
        let read = |state: Option<RecordedState>| match state {
            None => Some(None),
            Some(state) => match files.content(&state, u64::MAX) {
                RecordedContent::Bytes(bytes) => Some(Some(FileState { bytes, mode: state.mode })),
                _ => None,
            },
        };
        let changes = changes.into_iter().map(|RecordedChange { path, before, after }| {
            Some(FileChange { path: path.place()?, before: read(before)?, after: read(after)? })
        });
        changes.collect::<Option<_>>().map(ChangeSet)
    }

    #[test]
    fn change_is_found_by_any_id_and_only_in_its_folder() {
        let (folder, home, session) = opened();
        let long = "x".repeat(300);
        let ids = ["call_1", "../../memory/x", "", "a/b", ".", "..", "会话", "blobs", long.as_str()];
        let set = |at: usize| ChangeSet(vec![change(&format!("memory/{at}.md"), None, Some(b"x"))]);
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(kept(&home, &session, id), None);
            home.keep_call(&session, id, &set(at).into()).unwrap();
        }
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(kept(&home, &session, id), Some(set(at)));
        }
        let changes = folder.path().join("sessions/changes/s");
        assert_eq!(std::fs::read_dir(&changes).unwrap().count(), ids.len() + 1);
        assert_eq!(std::fs::read_dir(changes.join(BLOBS)).unwrap().count(), 1, "equal contents are kept once");
        assert_eq!(std::fs::read_dir(folder.path().join("memory")).unwrap().count(), 0);
    }

    #[test]
    fn binary_change_set_is_read_completely_or_fails() {
        let (folder, home, session) = opened();
        let files = vec![
            change("knowledge/a.bin", Some(&[0, 255, 128]), Some(&[255])),
            change("memory/b.md", None, Some(b"b")),
            change("memory/c.md", Some(b""), None),
        ];
        home.keep_call(&session, "c", &ChangeSet(files.clone()).into()).unwrap();
        assert_eq!(kept(&home, &session, "c"), Some(ChangeSet(files)));
        let paths = home.session_files(&session).changed_paths("c").unwrap();
        assert_eq!(
            paths,
            ["knowledge/a.bin", "memory/b.md", "memory/c.md"].map(|path| EntryPath::parse(path).unwrap())
        );
        assert_eq!(home.session_files(&session).changed_paths("other").unwrap(), []);
        let blob = folder.path().join("sessions/changes/s/blobs").join(sha256(b"b"));
        std::fs::write(&blob, "other").unwrap();
        assert_eq!(kept(&home, &session, "c"), None, "the blob is not what its name says");
        std::fs::remove_file(&blob).unwrap();
        assert_eq!(kept(&home, &session, "c"), None, "the blob is gone");
    }

    #[test]
    fn record_is_read_without_its_contents() {
        let (folder, home, session) = opened();
        let kept = home.session_files(&session);
        let recorded = || kept.recorded_changes("c").unwrap();
        assert_eq!(recorded(), RecordedChanges::Missing);
        let set = ChangeSet(vec![change("memory/a.md", None, Some(b"b"))]);
        home.keep_call(&session, "c", &set.into()).unwrap();
        let RecordedChanges::Files(files) = recorded() else { panic!("{:?}", recorded()) };
        let (path, state) = (files[0].path.as_str(), files[0].after.clone().unwrap());
        assert_eq!((path, files[0].before.is_none(), &state.hash), ("memory/a.md", true, &sha256(b"b")));
        assert_eq!(kept.recorded_content(&state), RecordedContent::Bytes(b"b".to_vec()));
        let blob = folder.path().join("sessions/changes/s/blobs").join(sha256(b"b"));
        std::fs::File::create(&blob).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(kept.recorded_content(&state), RecordedContent::TooLarge { size: MAX_BYTES + 1, limit: MAX_BYTES });
        std::fs::write(&blob, "c").unwrap();
        assert_eq!(kept.recorded_content(&state), RecordedContent::Damaged);
        std::fs::remove_file(&blob).unwrap();
        assert_eq!(
            (kept.recorded_content(&state), recorded()),
            (RecordedContent::Damaged, RecordedChanges::Files(files))
        );
        let record = folder.path().join("sessions/changes/s/c.json");
        let other = std::fs::read_to_string(&record).unwrap().replace("memory/a.md", "memory/b.md");
        std::fs::write(&record, other).unwrap();
        assert_eq!(recorded(), RecordedChanges::Foreign);
    }

    #[test]
    fn record_with_inline_texts_is_still_read() {
        let (folder, home, session) = opened();
        let old = serde_json::json!({"path": "memory/a.md", "before": null, "after": "茶"});
        let mut bytes = serde_json::to_vec_pretty(&old).unwrap();
        bytes.push(b'\n');
        let bytes = home.seal().sign(MacKind::Change, "s/c.json", bytes);
        std::fs::create_dir_all(folder.path().join("sessions/changes/s")).unwrap();
        std::fs::write(folder.path().join("sessions/changes/s/c.json"), bytes).unwrap();
        let set = ChangeSet(vec![change("memory/a.md", None, Some("茶".as_bytes()))]);
        assert_eq!(kept(&home, &session, "c"), Some(set));
        assert_eq!(
            home.session_files(&session).changed_paths("c").unwrap(),
            [EntryPath::parse("memory/a.md").unwrap()]
        );
    }
}
