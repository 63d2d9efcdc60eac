//! The tree: the port through which the files of a home are changed. Files are read from the folder on
//! this machine. If the home is in a database, what a call changed is stored there before the call returns.
//!
//! Every call that writes takes the [`Claim`] of [`SessionLog::claim`](super::SessionLog::claim); with a void claim it
//! returns [`StoreError::Fenced`] and changes nothing.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;

use super::captured::{AppliedChanges, CapturedCall};
use super::changes::{FileChange, FileMode, FileState, RecordedChange};
use super::error::StoreError;
use super::fence::{Claim, blocking, fenced, fenced_after_command};
use super::files::{Expect, etag};
use super::home::Home;
use super::index::{ObservedCall, ObservedChanges};
use super::project_folder::FolderChange;
use super::session_log::{ClaimedHome, SessionLog};
use super::settings::{SettingsChange, SettingsFile};
use super::trash::{DeletedFile, TrashedVersion};
use super::trusted::TrustedBy;
use super::variables::Variable;
use crate::domain::{
    AccountBook, AlwaysAllowedCall, AuditEntry, GitAuthor, Place, ProjectId, SecretName, SessionId, WrittenLimits,
};

/// The backend that changes the files of one home. Cheap to clone.
#[derive(Clone)]
pub enum Tree {
    /// The folders of a home on this machine. The lock on the home keeps other servers out.
    Folder(Home),
}

/// A home that this server owns, with the ports through which it is written. Cheap to clone.
#[derive(Clone)]
pub struct OwnedHome {
    /// For reading files and records.
    pub home: Home,
    pub log: SessionLog,
    pub tree: Tree,
    pub claim: Claim,
}

impl OwnedHome {
    /// Claims a home on this machine for this server. Also returns the sessions whose last run has not ended.
    ///
    /// # Errors
    /// Returns the errors of [`SessionLog::claim`].
    pub async fn claim(home: Home) -> Result<(Self, Vec<SessionId>), StoreError> {
        let (log, tree) = (SessionLog::Folder(home.clone()), Tree::Folder(home.clone()));
        let ClaimedHome { claim, unsettled } = log.claim().await?;
        Ok((Self { home, log, tree, claim }, unsettled))
    }
}

/// A file that a change can name: one of those that people and tools use, or one of the store's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreePath {
    Place(Place),
    Settings(SettingsFile),
}

impl From<Place> for TreePath {
    fn from(place: Place) -> Self {
        Self::Place(place)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => place.fmt(f),
            Self::Settings(file) => f.write_str(file.name()),
        }
    }
}

/// A change of one file, on the condition that the file is what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeChange {
    pub path: TreePath,
    pub expect: Expect,
    /// The new content; `None` removes the file.
    pub to: Option<Arc<[u8]>>,
    /// The new mode; `None` keeps the current one.
    pub mode: Option<FileMode>,
}

impl TreeChange {
    pub fn write(path: impl Into<TreePath>, bytes: &[u8], expect: Expect) -> Self {
        Self { path: path.into(), expect, to: Some(bytes.into()), mode: None }
    }

    pub(super) fn to_state(path: TreePath, state: Option<FileState>) -> Self {
        let mode = state.as_ref().map(|state| state.mode);
        Self { path, expect: Expect::Anything, to: state.map(|state| state.bytes.into()), mode }
    }
}

impl From<&FileChange> for TreeChange {
    fn from(FileChange { path, before, after }: &FileChange) -> Self {
        let expect = before.as_ref().map_or(Expect::Absent, |before| Expect::Etag(etag(&before.bytes)));
        let change = Self { expect, ..Self::to_state(path.clone().into(), after.clone()) };
        match before {
            // Keeps a mode that a person has set since then.
            Some(before) => Self { mode: change.mode.filter(|mode| *mode != before.mode), ..change },
            None => change,
        }
    }
}

impl Tree {
    /// Applies all changes or none. No other change of this server happens between the comparison and the last write.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if a file is not what its change expects, and [`StoreError::NotFound`] if a file to
    /// be removed does not exist.
    pub async fn commit(&self, claim: Claim, changes: Vec<TreeChange>) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    let places = changes.iter().filter_map(|change| match &change.path {
                        TreePath::Place(place) => Some(place),
                        TreePath::Settings(_) => None,
                    });
                    home.noting_places(places, || home.commit(&changes))
                })
                .await
            }
        }
    }

    /// Keeps what the commands of a call changed for its undo, and applies it.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be kept, because the disk is full for example; then nothing was changed.
    pub async fn apply_captured(&self, claim: Claim, call: CapturedCall) -> Result<AppliedChanges, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.apply_captured(call)).await,
        }
    }

    /// Records what an observed call changed, for its undo.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be read or kept; then there is no record.
    pub async fn record_observed(&self, claim: Claim, call: ObservedCall) -> Result<ObservedChanges, StoreError> {
        match self {
            Self::Folder(home) => fenced_after_command(home, claim, move |home| home.record_observed(call)).await,
        }
    }

    /// Reverts entries to states whose contents are kept for a session: all or none. Each must have the content of its
    /// change's `before`.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if one does not, and [`StoreError::NotKept`] if a content is not kept, or is
    /// damaged.
    pub async fn revert(
        &self,
        claim: Claim,
        session: &SessionId,
        changes: Vec<RecordedChange>,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.revert(&session, &changes)).await,
        }
    }

    /// Makes a folder, or removes empty ones.
    ///
    /// # Errors
    /// Returns an error if a file stands where a folder should be made, or if a folder to be removed contains a file.
    pub async fn change_folder(&self, claim: Claim, change: FolderChange) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    let places = match &change {
                        FolderChange::Make(folder) => vec![folder.clone()],
                        FolderChange::RemoveEmpty(folder) => {
                            home.folders_below(folder)?.into_iter().chain([folder.clone()]).collect()
                        }
                    };
                    home.noting_places(places.iter(), || home.change_folder(&change))
                })
                .await
            }
        }
    }

    /// Moves a file to another path, if the file is what `expect` says and the new path is free.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says, and [`StoreError::Exists`] if the new path is
    /// taken.
    pub async fn rename(&self, claim: Claim, paths: [&Place; 2], expect: Expect) -> Result<(), StoreError> {
        let [from, to] = paths.map(Place::clone);
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    home.noting_places([&from, &to], || home.rename_text(&from, &to, &expect))
                })
                .await
            }
        }
    }

    /// Moves a file to the trash if it is what `expect` says. Returns the id with which it can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says.
    pub async fn trash(&self, claim: Claim, path: &Place, expect: Expect) -> Result<String, StoreError> {
        let path = path.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.noting_places([&path], || home.trash_text(&path, &expect))).await
            }
        }
    }

    /// Returns the deleted files that can be restored, most recently deleted first.
    pub async fn trashed(&self) -> Result<Vec<DeletedFile>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, |home| Ok(home.trashed())).await,
        }
    }

    /// Returns the path and the hash of a deleted file, which a restore would bring back.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if the file is not in the trash.
    pub async fn trashed_version(&self, trash: &str) -> Result<TrashedVersion, StoreError> {
        let trash = trash.to_owned();
        match self {
            Self::Folder(home) => blocking(home, move |home| home.trashed_version(&trash)).await,
        }
    }

    /// Restores a file from the trash to its original path.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if the path is taken again, and [`StoreError::NotFound`] if the file is not in the
    /// trash.
    pub async fn restore(&self, claim: Claim, trash: String) -> Result<Place, StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    let place = home.trashed_version(&trash).map(|version| version.path);
                    home.noting_places(place.iter(), || home.restore_text(&trash))
                })
                .await
            }
        }
    }

    /// Permanently removes a deleted file.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if the file is not in the trash.
    pub async fn purge(&self, claim: Claim, trash: String) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.purge_trashed(&trash)).await,
        }
    }

    /// Trusts the files of skills/ that came with this version, and all existing files if this home never recorded trust
    /// before.
    ///
    /// # Errors
    /// Returns an error if the files cannot be listed, or if the list cannot be read or written. Then no further version is
    /// trusted.
    pub async fn initialize_trust(&self, claim: Claim, shipped: Vec<(Place, Vec<u8>)>) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.initial_trust(&shipped)).await.map(drop)
    }

    /// Trusts this content at this path; the file need not exist yet. Ignores paths outside skills/.
    ///
    /// # Errors
    /// Returns an error if the list cannot be written. Then the content is not trusted.
    pub async fn trust(&self, claim: Claim, version: TrustedContent) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.trust_change(&version.path, &version.bytes, version.by)).await.map(drop)
    }

    /// Trusts the current version of a file, whatever its size.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::trust`], and an error if the file cannot be read.
    pub async fn trust_file(&self, claim: Claim, path: Place, by: TrustedBy) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.trust_file_change(&path, by)).await.map(drop)
    }

    /// Stores the settings of the page.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn save_settings(&self, claim: Claim, change: SettingsChange) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.settings_change(change)).await.map(drop)
    }

    /// Disables the skill at a location, so that the model is not offered it, or enables it again.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn enable_skill(&self, claim: Claim, location: Place, enabled: bool) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.skill_change(&location, enabled)).await.map(drop)
    }

    /// Remembers whose commits a person makes.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn set_git_author(&self, claim: Claim, author: GitAuthor) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.git_author_change(&author)).await.map(drop)
    }

    /// Sets a secret of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::Secret`] if the project has too many, and another error if the file cannot be read or written.
    pub async fn set_secret(
        &self,
        claim: Claim,
        (id, name): (ProjectId, SecretName),
        value: SecretString,
    ) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.secret_change(&id, &name, &value)).await.map(drop)
    }

    /// Removes a secret of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::Secret`] if there is no such secret.
    pub async fn remove_secret(&self, claim: Claim, (id, name): (ProjectId, SecretName)) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.secret_removal(&id, &name)).await.map(drop)
    }

    /// Switches a tool on or off for the person of this home; `None` takes the choice back.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn choose_tool(&self, claim: Claim, name: String, choice: Option<bool>) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.tool_change(&name, choice)).await.map(drop)
    }

    /// Sets the limits of usage at which the person of this home is asked.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn set_own_limits(&self, claim: Claim, limits: WrittenLimits) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.own_limits_change(&limits)).await.map(drop)
    }

    /// Sets variables of the home's `.env`. Afterwards only its owner can read it.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] for a value with a single quote or a control character, before anything is
    /// written, and another error if `.env` cannot be read or written.
    pub async fn set_variables(&self, claim: Claim, variables: Vec<Variable>) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.set_variables(&variables)).await,
        }
    }

    /// Replaces config.yml if its content is still `old`; `None` if there is no file.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if it is not, and another error if the file cannot be written.
    pub async fn save_config(&self, claim: Claim, old: Option<&str>, new: &str) -> Result<(), StoreError> {
        let expect = old.map_or(Expect::Absent, |old| Expect::Etag(etag(old.as_bytes())));
        self.commit(claim, vec![TreeChange::write(TreePath::Settings(SettingsFile::Server), new.as_bytes(), expect)])
            .await
    }

    /// Replaces accounts.json if the hash of its content is still `old`; `None` if there is no file. Returns the hash of the
    /// new content.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if it was changed by another program, and an error if it cannot be written.
    pub async fn save_accounts(
        &self,
        claim: Claim,
        old: Option<String>,
        book: &AccountBook,
    ) -> Result<String, StoreError> {
        let mut bytes = serde_json::to_vec_pretty(book).expect("accounts are JSON");
        bytes.push(b'\n');
        let expect = old.map_or(Expect::Absent, Expect::Etag);
        let change = TreeChange::write(TreePath::Settings(SettingsFile::Accounts), &bytes, expect);
        self.commit(claim, vec![change]).await.map(|()| etag(&bytes))
    }

    /// Appends an entry to the audit log of the server.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub async fn append_audit(&self, claim: Claim, entry: AuditEntry) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.append_audit(&entry)).await,
        }
    }

    /// Adds a call to those that are always allowed.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn remember(&self, claim: Claim, call: AlwaysAllowedCall) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.remember_change(&call)).await.map(drop)
    }

    /// Removes a call from those that are always allowed. Returns `false` if it is not one of them.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn forget_remembered(&self, claim: Claim, id: String) -> Result<bool, StoreError> {
        self.edit(claim, move |home| home.forget_change(&id)).await
    }

    /// Makes the change that `plan` derives from the files, and plans again if one of them changed in between. Returns
    /// `false` if nothing was to be changed.
    pub(super) async fn edit(
        &self,
        claim: Claim,
        plan: impl Fn(&Home) -> Result<Option<TreeChange>, StoreError> + Send + 'static,
    ) -> Result<bool, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.edit(plan)).await,
        }
    }
}

/// A version of a file that is to be trusted.
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

    /// Returns every file below a folder with its content.
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
        tree.initialize_trust(old, Vec::new()).await.unwrap();
        log.release(old).await.unwrap();

        let before = contents(folder.path());
        let rule = || {
            let fields = r#"{"id": "r", "tool": "t", "arguments": {}, "cwd": "", "network": false, "level": "standard",
                "added_at": 1.0}"#;
            serde_json::from_str::<AlwaysAllowedCall>(fields).unwrap()
        };
        let version = || TrustedContent { path: skill.clone(), bytes: b"new"[..].into(), by: TrustedBy::Editor };
        let refused = [
            tree.commit(old, vec![write(&note, "lost")]).await.err(),
            tree.rename(old, [&note, &place("memory/c.md")], Expect::Anything).await.err(),
            tree.trash(old, &note, Expect::Anything).await.err(),
            tree.restore(old, trash.clone()).await.err(),
            tree.purge(old, trash.clone()).await.err(),
            tree.initialize_trust(old, Vec::new()).await.err(),
            tree.trust(old, version()).await.err(),
            tree.trust_file(old, skill.clone(), TrustedBy::Editor).await.err(),
            tree.save_settings(old, SettingsChange { rag_mode: true, rag_conversations: None }).await.err(),
            tree.enable_skill(old, skill.clone(), false).await.err(),
            tree.set_variables(old, vec![Variable { name: "A".into(), value: Some("1".into()) }]).await.err(),
            tree.save_config(old, None, "port: 1\n").await.err(),
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
        // A dangling link: there is no file, and none can be created.
        std::os::unix::fs::symlink("nowhere", at("memory/link")).unwrap();
        let change = |path: &str, to: Option<&[u8]>| TreeChange {
            path: place(path).into(),
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
    async fn one_changed_file_blocks_all() {
        let (folder, OwnedHome { tree, claim, .. }) = owned().await;
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("memory/a.md"), "one").unwrap();
        std::fs::write(at("memory/b.md"), "a person's").unwrap();
        let expecting = |path: &str, seen: &str, to: &str| {
            TreeChange::write(place(path), to.as_bytes(), Expect::Etag(etag(seen.as_bytes())))
        };
        let both = vec![expecting("memory/a.md", "one", "two"), expecting("memory/b.md", "one", "two")];
        let refused = tree.commit(claim, both).await;
        assert!(matches!(&refused, Err(StoreError::Conflict { path, .. }) if path == "memory/b.md"), "{refused:?}");
        assert_eq!(std::fs::read(at("memory/a.md")).unwrap(), b"one");
    }
}
