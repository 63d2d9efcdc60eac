//! What a call changed, kept for its undo. `sessions/changes/{session}/{call}.json` names contents by their hashes;
//! the contents are files of `sessions/changes/{session}/blobs/`, each named by its own hash and never rewritten.

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::home::Home;
use super::seal::{Sealed, sha256};
use super::{atomic, etag};
use crate::domain::{HomePath, SessionId};

const BLOBS: &str = "blobs";

/// The files that one call changed; each path occurs once.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSet(pub Vec<FileChange>);

/// The content of a file before and after a change. `None` stands for no file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    pub path: HomePath,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

impl FileChange {
    /// The change that takes this one back.
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

#[derive(Serialize, Deserialize)]
struct SetRecord {
    files: Vec<FileRecord>,
}

/// Contents by the SHA-256 that names their blob.
#[derive(Serialize, Deserialize)]
struct FileRecord {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Set(SetRecord),
    /// Without blobs: the texts of one file stand in the record itself.
    Inline {
        path: String,
        before: Option<String>,
        after: Option<String>,
    },
}

impl Home {
    /// Keeps a change for its undo. The record is written after all that it names.
    pub fn keep_change(&self, session: &SessionId, call_id: &str, set: &ChangeSet) -> Result<(), StoreError> {
        let doing = || "keeping what files were, for an undo".to_owned();
        let folder = format!("changes/{session}");
        let blobs = format!("{folder}/{BLOBS}");
        self.sessions_dir().create_dir_all(&blobs).map_err(StoreError::io(doing()))?;
        let dir = self.sessions_dir().open_dir(&folder).map_err(StoreError::io(doing()))?;
        let blobs = self.sessions_dir().open_dir(&blobs).map_err(StoreError::io(doing()))?;
        let keep = |content: &Option<Vec<u8>>| content.as_deref().map(|bytes| keep_blob(&blobs, bytes)).transpose();
        let files = set.0.iter().map(|file| {
            let (before, after) = (keep(&file.before)?, keep(&file.after)?);
            Ok(FileRecord { path: file.path.to_string(), before, after })
        });
        let files = files.collect::<std::io::Result<_>>().map_err(StoreError::io(doing()))?;
        let mut bytes = serde_json::to_vec_pretty(&SetRecord { files }).expect("texts are JSON");
        bytes.push(b'\n');
        let name = file_name(call_id);
        let bytes = self.seal().close(Sealed::Change, &format!("{session}/{name}"), bytes);
        atomic::replace(&dir, &name, &bytes, 0o600).map_err(StoreError::io(doing()))
    }

    /// `None` when the call changed no file, or its record or a blob of it is not whole or not this home's.
    pub fn kept_change(&self, session: &SessionId, call_id: &str) -> Result<Option<ChangeSet>, StoreError> {
        let name = format!("{session}/{}", file_name(call_id));
        let bytes = match self.sessions_dir().read(format!("changes/{name}")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("reading what a file was before")(error)),
        };
        // An undo would write what stands in it.
        if !self.seal().knows(Sealed::Change, &name, &bytes) {
            return Ok(None);
        }
        Ok(match serde_json::from_slice(&bytes) {
            Ok(Record::Set(record)) => {
                let blobs = self.sessions_dir().open_dir(format!("changes/{session}/{BLOBS}")).ok();
                blobs.and_then(|blobs| read_set(&blobs, record))
            }
            Ok(Record::Inline { path, before, after }) => HomePath::parse(&path).ok().map(|path| {
                let [before, after] = [before, after].map(|text| text.map(String::into_bytes));
                ChangeSet(vec![FileChange { path, before, after }])
            }),
            Err(_) => None,
        })
    }
}

/// The hash under which the content is kept.
fn keep_blob(blobs: &Dir, bytes: &[u8]) -> std::io::Result<String> {
    let name = sha256(bytes);
    if blobs.read(&name).ok().as_deref() != Some(bytes) {
        atomic::replace(blobs, &name, bytes, 0o600)?;
    }
    Ok(name)
}

fn read_set(blobs: &Dir, record: SetRecord) -> Option<ChangeSet> {
    let read = |name: Option<String>| match name {
        None => Some(None),
        // The code of the record covers the hash, so the content is the one that was kept or none at all.
        Some(name) => blobs.read(&name).ok().filter(|bytes| sha256(bytes) == name).map(Some),
    };
    let files = record.files.into_iter().map(|file| {
        let path = HomePath::parse(&file.path).ok()?;
        Some(FileChange { path, before: read(file.before)?, after: read(file.after)? })
    });
    files.collect::<Option<_>>().map(ChangeSet)
}

/// A provider makes call ids: what is no plain name is stored under its hash.
fn file_name(call_id: &str) -> String {
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
        let [before, after] = [before, after].map(|bytes| bytes.map(<[u8]>::to_vec));
        FileChange { path: HomePath::parse(path).unwrap(), before, after }
    }

    #[test]
    fn a_change_is_found_under_any_id_and_never_elsewhere() {
        let (folder, home, session) = opened();
        let long = "x".repeat(300);
        let ids = ["call_1", "../../memory/x", "", "a/b", ".", "..", "会话", "blobs", long.as_str()];
        let set = |at: usize| ChangeSet(vec![change(&format!("memory/{at}.md"), None, Some(b"x"))]);
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(home.kept_change(&session, id).unwrap(), None);
            home.keep_change(&session, id, &set(at)).unwrap();
        }
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(home.kept_change(&session, id).unwrap(), Some(set(at)));
        }
        let changes = folder.path().join("sessions/changes/s");
        assert_eq!(std::fs::read_dir(&changes).unwrap().count(), ids.len() + 1);
        assert_eq!(std::fs::read_dir(changes.join(BLOBS)).unwrap().count(), 1, "equal contents are kept once");
        assert_eq!(std::fs::read_dir(folder.path().join("memory")).unwrap().count(), 0);
    }

    #[test]
    fn binary_change_set_is_read_whole_or_not_at_all() {
        let (folder, home, session) = opened();
        let files = vec![
            change("knowledge/a.bin", Some(&[0, 255, 128]), Some(&[255])),
            change("memory/b.md", None, Some(b"b")),
            change("memory/c.md", Some(b""), None),
        ];
        home.keep_change(&session, "c", &ChangeSet(files.clone())).unwrap();
        assert_eq!(home.kept_change(&session, "c").unwrap(), Some(ChangeSet(files)));
        let blob = folder.path().join("sessions/changes/s/blobs").join(sha256(b"b"));
        std::fs::write(&blob, "other").unwrap();
        assert_eq!(home.kept_change(&session, "c").unwrap(), None, "the blob is not what its name says");
        std::fs::remove_file(&blob).unwrap();
        assert_eq!(home.kept_change(&session, "c").unwrap(), None, "the blob is gone");
    }

    #[test]
    fn record_with_inline_texts_is_still_read() {
        let (folder, home, session) = opened();
        let old = serde_json::json!({"path": "memory/a.md", "before": null, "after": "茶"});
        let mut bytes = serde_json::to_vec_pretty(&old).unwrap();
        bytes.push(b'\n');
        let bytes = home.seal().close(Sealed::Change, "s/c.json", bytes);
        std::fs::create_dir_all(folder.path().join("sessions/changes/s")).unwrap();
        std::fs::write(folder.path().join("sessions/changes/s/c.json"), bytes).unwrap();
        let set = ChangeSet(vec![change("memory/a.md", None, Some("茶".as_bytes()))]);
        assert_eq!(home.kept_change(&session, "c").unwrap(), Some(set));
    }
}
