//! Lists deleted files (`storage/trash/{time}/{their path}`), and permanently removes deleted files and deleted sessions
//! (`sessions/archive/deleted/`).

use cap_std::fs::Dir;
use serde::Serialize;

use super::error::StoreError;
use super::files::{etag, etag_of};
use super::home::Home;
use super::reading::is_compacted_file_of;
use super::{aside, atomic, journal, pictures, requests};
use crate::clock;
use crate::domain::{Place, SessionId};

/// The file that says which folder a deletion was of; deletions of a file have none.
pub(super) const FOLDER_MARK: &str = ".folder";
pub(super) const TRASH: &str = "storage/trash";
/// Maximum number of deleted files that are kept; the oldest are removed first.
pub const MAX_TRASHED: usize = 200;
/// Maximum nesting of folders in a deletion; no valid path is deeper.
const MAX_DEPTH: usize = 32;

/// A deleted file that can be restored.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = TrashedText)]
pub struct DeletedFile {
    /// Id for a restore: the time of the deletion, `/`, and the path.
    #[serde(rename = "trash")]
    pub trash_id: String,
    /// Original path, to which a restore returns the file.
    pub path: String,
    /// Unix seconds.
    pub deleted_at: f64,
    /// 0 for a folder.
    pub bytes: u64,
    /// Whether it is a folder, with everything in it.
    pub folder: bool,
}

/// What a restore would bring back.
#[derive(Clone, Debug, PartialEq)]
pub struct TrashedVersion {
    pub path: Place,
    /// Hash of the content, or of the target of a link; empty for a folder.
    pub etag: String,
}

impl Home {
    /// Returns the path and the hash of a deleted file.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if the file is not in the trash.
    pub(super) fn trashed_version(&self, kept: &str) -> Result<TrashedVersion, StoreError> {
        let missing = || StoreError::NotFound { what: format!("{kept} in the trash") };
        let (stamp, path) = parts_of(kept).ok_or_else(missing)?;
        let folder = self.root().open_dir(format!("{TRASH}/{stamp}/{}", path.parent())).map_err(|_| missing())?;
        if self.root().is_file(format!("{TRASH}/{stamp}/{FOLDER_MARK}")) && folder.is_dir(path.file_name()) {
            return Ok(TrashedVersion { path, etag: String::new() });
        }
        let doing = || StoreError::io(format!("reading {kept} in the trash"));
        let kept = folder.symlink_metadata(path.file_name()).map_err(|_| missing())?;
        if kept.is_symlink() {
            let target = folder.read_link_contents(path.file_name()).map_err(doing())?;
            let etag = etag(target.as_os_str().as_encoded_bytes());
            return Ok(TrashedVersion { path, etag });
        }
        if !kept.is_file() {
            return Err(missing());
        }
        let file = folder.open(path.file_name()).map_err(doing())?;
        Ok(TrashedVersion { etag: etag_of(file).map_err(doing())?, path })
    }

    /// Returns the deleted files that can be restored, most recently deleted first.
    pub(super) fn trashed(&self) -> Vec<DeletedFile> {
        let Ok(trash) = self.root().open_dir(TRASH) else { return Vec::new() };
        let mut found: Vec<DeletedFile> = names(&trash).iter().filter_map(|stamp| trashed(&trash, stamp)).collect();
        found.sort_by(|a, b| b.trash_id.cmp(&a.trash_id));
        found
    }

    /// Permanently removes a deleted file.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if the file is not in the trash.
    pub(super) fn purge_trashed(&self, kept: &str) -> Result<(), StoreError> {
        let missing = || StoreError::NotFound { what: format!("{kept} in the trash") };
        let (stamp, path) = parts_of(kept).ok_or_else(missing)?;
        let _one_writer = self.edit_lock();
        let trash = self.root().open_dir(TRASH).map_err(|_| missing())?;
        if trashed(&trash, stamp).is_none_or(|file| file.path != path.as_str()) {
            return Err(missing());
        }
        let gone = trash.remove_dir_all(stamp).and_then(|()| atomic::sync_dir(&trash));
        gone.map_err(StoreError::io(format!("deleting {path} for good")))
    }

    /// Permanently removes a deleted session and the files that belong to it. Returns `false` if no deleted session has
    /// that id.
    pub(super) fn purge_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let doing = || format!("deleting {id} for good");
        let sessions = self.sessions_dir();
        let Ok(archive) = sessions.open_dir("archive") else { return Ok(false) };
        let name = format!("{id}.json");
        // The session's file is removed last, so that a deletion that failed halfway can be repeated.
        if !archive.is_file(format!("deleted/{name}")) {
            return Ok(false);
        }
        let mut left = vec![format!("deleted/{}", journal::file_name(id))];
        // If a session with that id exists again, the files under the plain id belong to it.
        if !sessions.exists(&name) {
            left.extend(names(&archive).into_iter().filter(|name| is_compacted_file_of(id, name)));
            let kept = self.kept_size(id);
            gone(sessions.remove_dir_all(format!("changes/{id}"))).map_err(StoreError::io(doing()))?;
            self.kept_bound().subtract(kept);
        }
        for kind in [requests::FOLDER, pictures::FOLDER] {
            gone(sessions.remove_dir_all(aside::deleted_path(kind, id))).map_err(StoreError::io(doing()))?;
        }
        left.push(format!("deleted/{name}"));
        for name in left {
            gone(archive.remove_file(name)).map_err(StoreError::io(doing()))?;
        }
        atomic::sync_dir(&archive).map_err(StoreError::io(doing()))?;
        Ok(true)
    }
}

/// Splits the id of a deleted file into time and path; `None` if it is not a valid id.
pub(super) fn parts_of(kept: &str) -> Option<(&str, Place)> {
    let (stamp, path) = kept.split_once('/')?;
    let plain = stamp.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    let time = plain && stamp.starts_with(|first: char| first.is_ascii_digit());
    Some((stamp, Place::parse(path).ok().filter(|_| time)?))
}

/// Treats a missing file or folder as removed.
fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    removed.or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn names(dir: &Dir) -> Vec<String> {
    let entries = dir.entries().into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Returns the file or folder of a deletion; `None` if its folder holds anything else.
fn trashed(trash: &Dir, stamp: &str) -> Option<DeletedFile> {
    let mut path = String::new();
    let mut dir = trash.open_dir(stamp).ok()?;
    if let Ok(path) = dir.read_to_string(FOLDER_MARK) {
        let trash_id = format!("{stamp}/{path}");
        parts_of(&trash_id).filter(|_| dir.is_dir(&path))?;
        return Some(DeletedFile { deleted_at: clock::time_of(stamp)?, bytes: 0, trash_id, path, folder: true });
    }
    for _ in 0..MAX_DEPTH {
        let [name] = <[String; 1]>::try_from(names(&dir)).ok()?;
        path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        if dir.symlink_metadata(&name).is_ok_and(|meta| meta.is_dir()) {
            dir = dir.open_dir(&name).ok()?;
            continue;
        }
        let meta = dir.symlink_metadata(&name).ok().filter(|meta| meta.is_file() || meta.is_symlink())?;
        let trash_id = format!("{stamp}/{path}");
        parts_of(&trash_id)?;
        return Some(DeletedFile {
            deleted_at: clock::time_of(stamp)?,
            bytes: meta.len(),
            trash_id,
            path,
            folder: false,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Expect;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn delete(home: &Home, path: &str, text: &str) -> String {
        let path = Place::parse(path).unwrap();
        home.save_text(&path, text, &Expect::Absent).unwrap();
        home.trash_text(&path, &Expect::Anything).unwrap()
    }

    #[test]
    fn trash_lists_files_and_deletes_them_singly() {
        let (folder, home) = home();
        assert_eq!(home.trashed(), []);
        let before = clock::now() - 0.001;
        let one = delete(&home, "memory/a.md", "one");
        let two = delete(&home, "knowledge/deep/b.md", "three");
        let listed = home.trashed();
        let told: Vec<_> = listed.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
        assert_eq!(told, [("knowledge/deep/b.md", 5), ("memory/a.md", 3)]);
        assert_eq!(listed[1].trash_id, one);
        assert!(listed.iter().all(|file| file.deleted_at >= before && file.deleted_at <= clock::now()));
        home.purge_trashed(&two).unwrap();
        assert_eq!(home.trashed(), listed[1..]);
        assert!(matches!(home.purge_trashed(&two), Err(StoreError::NotFound { .. })));
        home.restore_text(&one).unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(TRASH)).unwrap().count(), 0);
    }

    #[test]
    fn only_trashed_sessions_can_be_forgotten() {
        let (folder, home) = home();
        let kept = delete(&home, "memory/a.md", "one");
        let stamp = kept.split_once('/').unwrap().0;
        std::fs::write(folder.path().join("memory/b.md"), "here").unwrap();
        let odd = ["", "x", "../memory/b.md", "..", "2026/../../memory/b.md", stamp, &format!("{stamp}/memory/b.md")];
        for odd in odd {
            assert!(matches!(home.purge_trashed(odd), Err(StoreError::NotFound { .. })), "{odd}");
        }
        std::fs::create_dir_all(folder.path().join(TRASH).join("20261122T000000.000Z/memory")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join(TRASH).join("20261122T000000.000Z/memory/p.md"))
            .unwrap();
        assert_eq!(home.trashed()[1].path, "memory/p.md");
        let link = home.restore_text("20261122T000000.000Z/memory/p.md").unwrap();
        assert!(matches!(home.read_bytes(&link), Err(StoreError::NotAllowed { .. })), "it leads nowhere else");
        assert!(folder.path().join("memory/b.md").exists());
    }

    #[test]
    fn forgotten_session_takes_only_its_own_archives() {
        let (folder, home) = home();
        let id = SessionId::parse("s").unwrap();
        let at = |name: &str| folder.path().join("sessions").join(name);
        for dir in ["archive/deleted/requests/s/texts", "changes/s", "archive/deleted"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        let own = ["archive/s_20261122T000000.000Z.json", "changes/s/c.json", "archive/deleted/requests/s/r.json"];
        let other = ["archive/s_b_20261122T000000.000Z.json", "archive/deleted/t.json"];
        for name in own.iter().chain(&other).chain(&["archive/deleted/s.json"]) {
            std::fs::write(at(name), "{}").unwrap();
        }
        assert!(home.purge_session(&id).unwrap());
        for name in own.iter().chain(&["archive/deleted/s.json"]) {
            assert!(!at(name).exists(), "{name}");
        }
        assert!(other.iter().all(|name| at(name).exists()));
        assert!(!home.purge_session(&id).unwrap());
        std::fs::write(at("archive/deleted/s.json"), "{}").unwrap();
        std::fs::write(at("s.json"), "{}").unwrap();
        std::fs::write(at(own[0]), "[]").unwrap();
        assert!(home.purge_session(&id).unwrap());
        assert!(at("s.json").exists() && at(own[0]).exists(), "they belong to the session that is there again");
    }
}
