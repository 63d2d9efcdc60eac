//! The tree: the port behind which the files of a home are changed. It is an enum with one variant for each place they can
//! lie in. Files are read from the folder on this machine, which is the whole of them or a cache.
//!
//! Every call that writes takes the [`Claim`] of [`SessionLog::claim`](super::SessionLog::claim); with a void one it answers
//! [`StoreError::Fenced`] and changes nothing.

use std::sync::Arc;

use super::changes::{FileChange, FileMode, FileState};
use super::error::StoreError;
use super::fence::{Claim, blocking, fenced};
use super::files::{Expect, etag};
use super::home::Home;
use super::session_log::{ClaimedHome, SessionLog};
use super::trash::TrashedText;
use super::trusted::TrustedBy;
use crate::domain::{Place, RememberedCall, SessionId};

/// Where the files of one home are changed. Cheap to clone.
#[derive(Clone)]
pub enum Tree {
    /// The folders of a home on this machine. The lock on the home keeps other servers out.
    Folder(Home),
}

/// A home that this server owns, with the ports through which it is written. Cheap to clone.
#[derive(Clone)]
pub struct OwnedHome {
    /// Files and records are read here.
    pub home: Home,
    pub log: SessionLog,
    pub tree: Tree,
    pub claim: Claim,
}

impl OwnedHome {
    /// Takes a home on this machine for this server; answers also the sessions whose last run has not ended.
    ///
    /// # Errors
    /// Those of [`SessionLog::claim`].
    pub async fn claim(home: Home) -> Result<(Self, Vec<SessionId>), StoreError> {
        let (log, tree) = (SessionLog::Folder(home.clone()), Tree::Folder(home.clone()));
        let ClaimedHome { claim, unsettled } = log.claim().await?;
        Ok((Self { home, log, tree, claim }, unsettled))
    }
}

/// What shall become of a file, if it is what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeChange {
    pub path: Place,
    pub expect: Expect,
    /// The new content; `None` removes the file.
    pub to: Option<Arc<[u8]>>,
    /// `None` leaves it as it is.
    pub mode: Option<FileMode>,
}

impl TreeChange {
    pub fn write(path: Place, bytes: &[u8], expect: Expect) -> Self {
        Self { path, expect, to: Some(bytes.into()), mode: None }
    }

    pub(super) fn to_state(path: Place, state: Option<FileState>) -> Self {
        let mode = state.as_ref().map(|state| state.mode);
        Self { path, expect: Expect::Anything, to: state.map(|state| state.bytes.into()), mode }
    }
}

impl From<&FileChange> for TreeChange {
    fn from(FileChange { path, before, after }: &FileChange) -> Self {
        let expect = before.as_ref().map_or(Expect::Absent, |before| Expect::Etag(etag(&before.bytes)));
        let change = Self { expect, ..Self::to_state(path.clone(), after.clone()) };
        match before {
            // What a person made of the mode since then stays.
            Some(before) => Self { mode: change.mode.filter(|mode| *mode != before.mode), ..change },
            None => change,
        }
    }
}

impl Tree {
    /// Makes all changes or none. No other change of this server comes between the comparison and the last write.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when a file is not what its change expects, [`StoreError::NotFound`] when one to be removed
    /// is not there.
    pub async fn commit(&self, claim: Claim, changes: Vec<TreeChange>) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.commit(&changes)).await,
        }
    }

    /// Gives a file another path if it is what `expect` says and nothing is there.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is something else now, [`StoreError::Exists`] when the new path is taken.
    pub async fn rename(&self, claim: Claim, paths: [&Place; 2], expect: Expect) -> Result<(), StoreError> {
        let [from, to] = paths.map(Place::clone);
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.rename_text(&from, &to, &expect)).await,
        }
    }

    /// Moves a file to the trash if it is what `expect` says, and answers what brings it back.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is something else now.
    pub async fn trash(&self, claim: Claim, path: &Place, expect: Expect) -> Result<String, StoreError> {
        let path = path.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.trash_text(&path, &expect)).await,
        }
    }

    /// Deleted files that can be brought back, the one deleted last first.
    pub async fn trashed(&self) -> Result<Vec<TrashedText>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, |home| Ok(home.trashed())).await,
        }
    }

    /// Brings a file back from the trash to where it was.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is a file of that path again, [`StoreError::NotFound`] when it is not in the trash.
    pub async fn restore(&self, claim: Claim, trash: String) -> Result<Place, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.restore_text(&trash)).await,
        }
    }

    /// Removes a deleted file for good.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when it is not in the trash.
    pub async fn forget(&self, claim: Claim, trash: String) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.forget_trashed(&trash)).await,
        }
    }

    /// Trusts the files of skills/ that came with this version, and those that were there before anything was trusted.
    ///
    /// # Errors
    /// When the files cannot be listed, or the list cannot be read or written; then nothing more is trusted than before.
    pub async fn begin_trusting(&self, claim: Claim, shipped: Vec<(Place, Vec<u8>)>) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.begin_trusting(&shipped)).await,
        }
    }

    /// From now on this content is trusted at this path; it need not be there yet. Nothing happens to paths outside skills/.
    ///
    /// # Errors
    /// When it cannot be kept; then it is not trusted.
    pub async fn trust(&self, claim: Claim, version: TrustedContent) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.trust(&version.path, &version.bytes, version.by)).await
            }
        }
    }

    /// Trusts a file as it is, whatever its size.
    ///
    /// # Errors
    /// As [`Tree::trust`], and when the file cannot be read.
    pub async fn trust_file(&self, claim: Claim, path: Place, by: TrustedBy) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.trust_file(&path, by)).await,
        }
    }

    /// Switches between memory as a whole and memory that is searched.
    ///
    /// # Errors
    /// When config.json cannot be written.
    pub async fn set_rag_mode(&self, claim: Claim, on: bool) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.set_rag_mode(on)).await,
        }
    }

    /// Does not ask about this call again.
    ///
    /// # Errors
    /// When config.json cannot be written.
    pub async fn remember(&self, claim: Claim, call: RememberedCall) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.remember(&call)).await,
        }
    }

    /// Asks about a call again. `false` when it was not remembered.
    ///
    /// # Errors
    /// When config.json cannot be written.
    pub async fn forget_remembered(&self, claim: Claim, id: String) -> Result<bool, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.forget_remembered(&id)).await,
        }
    }
}

/// A version of a file that a person stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedContent {
    pub path: Place,
    pub bytes: Arc<[u8]>,
    pub by: TrustedBy,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    async fn owned() -> (tempfile::TempDir, OwnedHome) {
        let folder = tempfile::tempdir().unwrap();
        let (owned, _) = OwnedHome::claim(Home::open(folder.path()).unwrap()).await.unwrap();
        (folder, owned)
    }

    /// Every file below a folder with its content, without the lock.
    fn contents(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => found.push((entry.path(), std::fs::read(entry.path()).unwrap())),
                }
            }
        }
        found.sort();
        found
    }

    #[tokio::test]
    async fn void_claim_changes_no_file() {
        let (folder, OwnedHome { tree, log, claim: old, .. }) = owned().await;
        let (note, skill) = (place("memory/a.md"), place("skills/x/SKILL.md"));
        let write = |path: &Place, text: &str| TreeChange::write(path.clone(), text.as_bytes(), Expect::Anything);
        tree.commit(old, vec![write(&note, "kept"), write(&skill, "kept")]).await.unwrap();
        tree.commit(old, vec![write(&place("memory/b.md"), "deleted")]).await.unwrap();
        let trash = tree.trash(old, &place("memory/b.md"), Expect::Anything).await.unwrap();
        tree.begin_trusting(old, Vec::new()).await.unwrap();
        log.release(old);

        let before = contents(folder.path());
        let rule = || {
            let fields = r#"{"id": "r", "tool": "t", "arguments": {}, "cwd": "", "network": false, "level": "standard",
                "added_at": 1.0}"#;
            serde_json::from_str::<RememberedCall>(fields).unwrap()
        };
        let version = || TrustedContent { path: skill.clone(), bytes: b"new"[..].into(), by: TrustedBy::Editor };
        let refused = [
            tree.commit(old, vec![write(&note, "lost")]).await.err(),
            tree.rename(old, [&note, &place("memory/c.md")], Expect::Anything).await.err(),
            tree.trash(old, &note, Expect::Anything).await.err(),
            tree.restore(old, trash.clone()).await.err(),
            tree.forget(old, trash.clone()).await.err(),
            tree.begin_trusting(old, Vec::new()).await.err(),
            tree.trust(old, version()).await.err(),
            tree.trust_file(old, skill.clone(), TrustedBy::Editor).await.err(),
            tree.set_rag_mode(old, true).await.err(),
            tree.remember(old, rule()).await.err(),
            tree.forget_remembered(old, "r".to_owned()).await.err(),
        ];
        for (at, error) in refused.into_iter().enumerate() {
            assert!(matches!(error, Some(StoreError::Fenced)), "{at}: {error:?}");
        }
        assert_eq!(contents(folder.path()), before);

        let claim = log.claim().await.unwrap().claim;
        tree.remember(claim, rule()).await.unwrap();
        assert!(tree.forget_remembered(claim, "r".to_owned()).await.unwrap());
        tree.restore(claim, trash).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join("memory/b.md")).unwrap(), b"deleted");
    }

    #[tokio::test]
    async fn failed_write_takes_back_the_writes_before_it() {
        let (folder, OwnedHome { tree, claim, .. }) = owned().await;
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("memory/a.md"), "old").unwrap();
        // It leads nowhere: no file is there, and none can be made.
        std::os::unix::fs::symlink("nowhere", at("memory/link")).unwrap();
        let change = |path: &str, to: Option<&[u8]>| TreeChange {
            path: place(path),
            expect: Expect::Anything,
            to: to.map(Arc::from),
            mode: None,
        };
        let changes = vec![
            change("memory/a.md", Some(b"new")),
            change("memory/new.md", Some(b"new")),
            change("memory/link/b.md", Some(b"new")),
        ];
        let failed = tree.commit(claim, changes).await;
        assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
        assert_eq!(std::fs::read(at("memory/a.md")).unwrap(), b"old");
        assert!(!at("memory/new.md").exists());
    }

    #[tokio::test]
    async fn one_changed_file_holds_back_all() {
        let (folder, OwnedHome { tree, claim, .. }) = owned().await;
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("memory/a.md"), "one").unwrap();
        std::fs::write(at("memory/b.md"), "a person's").unwrap();
        let expecting = |path: &str, seen: &str, to: &str| {
            TreeChange::write(place(path), to.as_bytes(), Expect::Etag(etag(seen.as_bytes())))
        };
        let both = vec![expecting("memory/a.md", "one", "two"), expecting("memory/b.md", "one", "two")];
        let refused = tree.commit(claim, both).await;
        assert!(matches!(&refused, Err(StoreError::Changed { path, .. }) if path == "memory/b.md"), "{refused:?}");
        assert_eq!(std::fs::read(at("memory/a.md")).unwrap(), b"one");
    }
}
