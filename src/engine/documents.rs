//! The only way to change a file of the home, for a person and for the agent. [`Documents::apply`] keeps the order: trust,
//! keep for the undo, note the author, write, index, notify. Trust comes first, so that every reader of a new version knows
//! whether a person meant it; the author comes before the write, so that the watcher knows who made the change it sees.

mod commands;
mod folders;
mod texts;
mod trusting;
mod undo;
mod work_files;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock, Weak};

use super::file_authors::FileAuthors;
use super::hub::Hub;
use super::models::Models;
use super::notice::{ChangedBy, Notice};
use super::skills::Skills;
use super::{EngineError, blocking};
use crate::domain::{Place, SessionId};
use crate::library::Library;
use crate::store::{
    CallFiles, ChangeSet, DeletedFile, Expect, FileChange, FolderChange, OwnedHome, RecordedChange, RecordedState,
    StoreError, TrashedVersion, TreeChange, TrustedBy, TrustedContent, etag,
};
use crate::tools::files::{CallChange, Consent};
use crate::tools::{ApplyCaptured, ApplyChange, FileAccess, KeepPictures, RecordObserved};

pub use texts::ReplacedText;
pub use undo::{Direction, UndoError, Undone};
pub use work_files::{FileConflict, FileEffect, WorkChanges, WorkFile, WorkReversal};

/// The files of a home that people and the agent change. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    store: OwnedHome,
    listeners: Arc<Listeners>,
}

/// The components to update or notify after a change.
pub struct Listeners {
    pub authors: Arc<FileAuthors>,
    pub libraries: Vec<Arc<Library>>,
    pub skills: Arc<Skills>,
    pub hub: Arc<Hub>,
    /// Set last, because the models hold the tools and the tools hold the documents.
    pub models: OnceLock<Weak<Models>>,
}

/// A text that is saved for a person.
pub struct SavedText {
    pub text: Arc<str>,
    pub expect: Expect,
    pub by: SavedBy,
}

/// Who saves a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedBy {
    /// The page, which proves that the person typed it.
    Page,
    /// A program with the person's credential.
    Program,
}

/// A version of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileVersion {
    pub path: Place,
    /// Hash of its content.
    pub etag: String,
}

/// A file that exists, as it was read.
struct CurrentFile {
    bytes: Arc<[u8]>,
    /// Whether a person trusts this version.
    is_trusted: bool,
}

/// What a change makes of files.
#[derive(Default)]
struct Change {
    /// Contents that are to be trusted before they are written.
    trusted: Vec<TrustedContent>,
    /// Every file that changes, with the hash of its new content; empty if the file is deleted.
    versions: Vec<FileVersion>,
}

impl Change {
    fn written(path: &Place, bytes: &[u8]) -> Self {
        Self { versions: vec![FileVersion { path: path.clone(), etag: etag(bytes) }], ..Self::default() }
    }

    fn deleted(path: &Place) -> Self {
        Self { versions: vec![FileVersion { path: path.clone(), etag: String::new() }], ..Self::default() }
    }

    fn of(ChangeSet(files): &ChangeSet) -> Self {
        let version = |FileChange { path, after, .. }: &FileChange| FileVersion {
            path: path.clone(),
            etag: after.as_ref().map(|after| etag(&after.bytes)).unwrap_or_default(),
        };
        Self { versions: files.iter().map(version).collect(), ..Self::default() }
    }

    fn recorded(files: &[RecordedChange]) -> Self {
        let version = |RecordedChange { path, after, .. }: &RecordedChange| {
            // No person opens a file that no place names, so nobody waits for its change.
            Some(FileVersion { path: path.place()?, etag: after.as_ref().map(RecordedState::etag).unwrap_or_default() })
        };
        Self { versions: files.iter().filter_map(version).collect(), ..Self::default() }
    }

    fn trusting(mut self, path: &Place, bytes: &Arc<[u8]>, by: TrustedBy) -> Self {
        self.trusted.push(TrustedContent { path: path.clone(), bytes: bytes.clone(), by });
        self
    }
}

/// Who makes a change.
enum Author {
    /// A person, through the API.
    Person,
    /// A call of the agent, which is kept so that it can be undone.
    Call(KeptCall),
    /// A person, who undoes a call of the agent or does it again. Clients see it as the agent's change.
    Undo,
}

struct KeptCall {
    session: SessionId,
    call_id: String,
    call: CallFiles,
}

impl Author {
    fn changed_by(&self) -> ChangedBy {
        match self {
            Self::Person => ChangedBy::Editor,
            Self::Call(_) | Self::Undo => ChangedBy::Run,
        }
    }
}

impl Documents {
    pub fn new(store: OwnedHome, listeners: Listeners) -> Self {
        Self { store, listeners: Arc::new(listeners) }
    }

    /// Has these models process the shared prompt again after each change of a file behind it. Only the first call has an
    /// effect.
    pub fn followed_by(&self, models: &Arc<Models>) {
        let _ = self.listeners.models.set(Arc::downgrade(models));
    }

    /// Returns the files as the agent's tools read and change them.
    pub fn access(&self) -> FileAccess {
        let (documents, for_commands, for_observed, store) =
            (self.clone(), self.clone(), self.clone(), self.store.clone());
        let apply: ApplyChange = Arc::new(move |change| Box::pin(documents.clone().change(change)));
        let apply_captured: ApplyCaptured = Arc::new(move |call| Box::pin(for_commands.clone().apply_captured(call)));
        let record_observed: RecordObserved =
            Arc::new(move |call| Box::pin(for_observed.clone().record_observed(call)));
        let keep_pictures: KeepPictures = Arc::new(move |session, pictures| {
            let OwnedHome { log, claim, .. } = store.clone();
            Box::pin(async move { log.keep_pictures(claim, &session, pictures).await })
        });
        FileAccess { home: self.store.home.clone(), apply, apply_captured, record_observed, keep_pictures }
    }

    /// Writes a text for a person. What they typed in the page becomes trusted, if it is a file that tells the agent what to do.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `saved.expect` says; nothing is written then.
    pub async fn save(&self, path: &Place, saved: SavedText) -> Result<FileVersion, EngineError> {
        let (documents, path) = (self.clone(), path.clone());
        let SavedText { text, expect, by } = saved;
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let bytes: Arc<[u8]> = Arc::from(text.as_bytes());
            let change = Change::written(&path, &bytes);
            let change = match by {
                SavedBy::Page => change.trusting(&path, &bytes, TrustedBy::Editor),
                SavedBy::Program => change,
            };
            let version = FileVersion { path: path.clone(), etag: etag(&bytes) };
            let write =
                tree.commit(*claim, vec![TreeChange { path: path.into(), expect, to: Some(bytes), mode: None }]);
            documents.apply(change, Author::Person, write).await?;
            Ok(version)
        })
        .await
    }

    /// Renames or moves a file. A trusted version stays trusted.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if the new path exists; nothing is overwritten.
    pub async fn rename(&self, from: &Place, to: &Place, expect: Expect) -> Result<FileVersion, EngineError> {
        let (documents, from, to) = (self.clone(), from.clone(), to.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let mut change = Change::default();
            let etag = match from.is_pinned() || to.is_pinned() {
                true => match documents.read(&from).await {
                    Ok(CurrentFile { bytes, is_trusted }) => {
                        // Moving another text to where instructions are makes nobody read it.
                        if is_trusted && from.is_pinned() {
                            change = change.trusting(&to, &bytes, TrustedBy::Editor);
                        }
                        etag(&bytes)
                    }
                    // A large file or a link of a project.
                    Err(_) if from.root().is_outside_text() => documents.hash(&from).await?,
                    Err(error) => return Err(error),
                },
                // Only trust needs the content, which may be large.
                false => documents.hash(&from).await?,
            };
            let version = FileVersion { path: to.clone(), etag };
            change.versions = vec![version.clone()];
            change.versions.extend(Change::deleted(&from).versions);
            documents.apply(change, Author::Person, tree.rename(*claim, [&from, &to], expect)).await?;
            Ok(version)
        })
        .await
    }

    /// Moves a file to the trash. Returns the name under which it can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says.
    pub async fn delete(&self, path: &Place, expect: Expect) -> Result<String, EngineError> {
        let (documents, path) = (self.clone(), path.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let write = tree.trash(*claim, &path, expect);
            Ok(documents.apply(Change::deleted(&path), Author::Person, write).await?)
        })
        .await
    }

    /// Restores a deleted file or folder to its old path. The hash of a folder is empty.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if another file is at that path.
    pub async fn restore(&self, trash: String) -> Result<FileVersion, EngineError> {
        let documents = self.clone();
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let TrashedVersion { path, etag } = tree.trashed_version(&trash).await?;
            let version = FileVersion { path, etag };
            if version.etag.is_empty() {
                tree.restore(*claim, trash).await?;
                documents.folder_changed(&version.path);
                return Ok(version);
            }
            let change = Change { versions: vec![version.clone()], ..Change::default() };
            documents.apply(change, Author::Person, tree.restore(*claim, trash)).await?;
            Ok(version)
        })
        .await
    }

    /// Makes all changes of a call or none. If a person approved them, a new file becomes trusted, and so does a changed one
    /// whose previous version was: they have seen all that differs from that version, but not the rest of a file that they
    /// did not trust.
    async fn change(self, call: CallChange) -> Result<(), StoreError> {
        let CallChange { session, call_id, files, folders, consent } = call;
        to_the_end(async move {
            let OwnedHome { tree, log, claim, .. } = &self.store;
            let call = CallFiles { files: files.clone(), folders: folders.clone() };
            let mut change = Change::of(&files);
            if consent == Consent::Person {
                change.trusted = self.approved(files.clone()).await?;
            }
            let changes: Vec<TreeChange> = files.0.iter().map(TreeChange::from).collect();
            let (made, removed): (Vec<_>, Vec<_>) =
                folders.into_iter().partition(|folder| matches!(folder, FolderChange::Make(_)));
            let write = async {
                for folder in made {
                    tree.change_folder(*claim, folder).await?;
                }
                tree.commit(*claim, changes).await?;
                for folder in removed {
                    tree.change_folder(*claim, folder).await?;
                }
                Ok(())
            };
            let kept = KeptCall { session: session.clone(), call_id: call_id.clone(), call };
            let applied = self.apply(change, Author::Call(kept), write).await;
            if let Err(error) = log.settle_change(*claim, &session, &call_id).await {
                tracing::warn!(%error, "the record of a change could not be corrected");
            }
            applied
        })
        .await
    }

    /// Returns the deleted files that can be restored, most recently deleted first.
    pub async fn trashed(&self) -> Result<Vec<DeletedFile>, EngineError> {
        Ok(self.store.tree.trashed().await?)
    }

    /// Deletes a file from the trash permanently.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if it is not in the trash.
    pub async fn purge(&self, trash: String) -> Result<(), EngineError> {
        let OwnedHome { tree, claim, .. } = &self.store;
        Ok(tree.purge(*claim, trash).await?)
    }

    /// Returns the hash of a file, or of a link that leads nowhere an empty one.
    async fn hash(&self, path: &Place) -> Result<String, EngineError> {
        let (home, path) = (self.store.home.clone(), path.clone());
        blocking(move || match home.hash(&path) {
            Err(_) if home.has_entry(&path) && home.link_on_way(&path).is_some() => Ok(String::new()),
            hash => hash,
        })
        .await
    }

    async fn read(&self, path: &Place) -> Result<CurrentFile, EngineError> {
        let (home, path) = (self.store.home.clone(), path.clone());
        blocking(move || {
            let bytes = home.read_bytes(&path)?;
            let is_trusted = home.trusts(&path, &bytes);
            Ok(CurrentFile { bytes: bytes.into(), is_trusted })
        })
        .await
    }

    /// Makes a change by `write`, which starts only when everything that comes before a write is done. What follows a
    /// write cannot fail the change: it is logged, and made up for by the next search, request or look of the watcher.
    async fn apply<T>(
        &self,
        Change { trusted, versions }: Change,
        author: Author,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let OwnedHome { tree, log, claim, .. } = &self.store;
        let by = author.changed_by();
        for content in trusted {
            tree.trust(*claim, content).await?;
        }
        if let Author::Call(KeptCall { session, call_id, call }) = author {
            // A change that cannot be undone must not be made.
            log.keep_change(*claim, &session, &call_id, call).await?;
        }
        for FileVersion { path, etag } in &versions {
            self.listeners.authors.note(path, etag, by);
        }
        let written = write.await?;
        self.follow(&versions).await;
        Ok(written)
    }

    /// Brings everything that depends on these files up to date, and notifies clients.
    async fn follow(&self, versions: &[FileVersion]) {
        let Listeners { authors, libraries, hub, .. } = &*self.listeners;
        let touched = |library: &&Arc<Library>| versions.iter().any(|file| Some(file.path.root()) == library.root());
        let touched: Vec<Arc<Library>> = libraries.iter().filter(touched).cloned().collect();
        let indexed = tokio::task::spawn_blocking(move || touched.iter().for_each(Library::refresh_if_open));
        if let Err(error) = indexed.await {
            tracing::warn!(%error, "the index was not updated after a change");
        }
        self.instructions_changed(versions.iter().map(|file| &file.path)).await;
        for FileVersion { path, etag } in versions {
            // The watcher may have seen the change first.
            if let Some(by) = authors.tell(path, etag) {
                let etag = Some(etag.clone()).filter(|etag| !etag.is_empty());
                hub.notice(Notice::FileChanged { path: path.to_string(), etag, by });
            }
        }
        if versions.iter().any(|file| file.path.root().is_persona()) {
            self.prompt_changed();
        }
    }

    /// Has the embedded model, if it runs, process the new shared prompt in the background.
    fn prompt_changed(&self) {
        if let Some(models) = self.listeners.models.get().and_then(Weak::upgrade) {
            tokio::spawn(async move { models.prefix_changed().await });
        }
    }
}

/// Runs a change to its end in its own task, even if the requester disconnects.
async fn to_the_end<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    change: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    tokio::spawn(change).await.map_err(|_| StoreError::ShutDown)?
}
