//! The only way to change a file of the home, for a person and for the agent. The order is always: trust, note the
//! author, write, index, notify. Trust comes first, so that every reader of a new version knows whether a person meant
//! it; the author comes before the write, so that the watcher knows who made the change it sees.

use std::sync::Arc;

use super::hub::Hub;
use super::models::Models;
use super::notice::{ChangedBy, Notice};
use super::skills::Skills;
use super::watch::FileAuthors;
use super::{EngineError, blocking};
use crate::domain::Place;
use crate::library::Library;
use crate::store::{DeletedFile, Expect, OwnedHome, StoreError, TreeChange, TrustedBy, TrustedContent, etag};
use crate::tools::Editor;
use crate::tools::files::ChangeStage;

/// The files of a home that people and the agent change. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    store: OwnedHome,
    listeners: Arc<Listeners>,
}

/// The components to update or notify after a change.
pub struct Listeners {
    pub authors: Arc<FileAuthors>,
    /// memory/ and knowledge/.
    pub libraries: [Arc<Library>; 2],
    pub skills: Arc<Skills>,
    pub hub: Arc<Hub>,
    pub models: Arc<Models>,
}

/// A version of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileVersion {
    pub path: Place,
    /// Hash of its content.
    pub etag: String,
}

impl Documents {
    pub fn new(store: OwnedHome, listeners: Listeners) -> Self {
        Self { store, listeners: Arc::new(listeners) }
    }

    /// Writes a text that a person typed. A file in skills/ becomes trusted.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says; nothing is written then.
    pub async fn save(&self, path: &Place, text: Arc<str>, expect: Expect) -> Result<FileVersion, EngineError> {
        let (documents, path) = (self.clone(), path.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let bytes: Arc<[u8]> = Arc::from(text.as_bytes());
            let version = FileVersion { path, etag: etag(&bytes) };
            documents.trust_content(&version.path, &bytes, TrustedBy::Editor).await?;
            documents.note(&version.path, &version.etag);
            let change = TreeChange { path: version.path.clone(), expect, to: Some(bytes), mode: None };
            tree.commit(*claim, vec![change]).await?;
            documents.changed(&[&version.path]).await?;
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
            let (bytes, is_trusted) = documents.read(&from).await?;
            let version = FileVersion { path: to, etag: etag(&bytes) };
            if is_trusted {
                documents.trust_content(&version.path, &bytes, TrustedBy::Editor).await?;
            }
            documents.note(&version.path, &version.etag);
            documents.note(&from, "");
            let OwnedHome { tree, claim, .. } = &documents.store;
            tree.rename(*claim, [&from, &version.path], expect).await?;
            documents.changed(&[&from, &version.path]).await?;
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
            documents.note(&path, "");
            let OwnedHome { tree, claim, .. } = &documents.store;
            let trash = tree.trash(*claim, &path, expect).await?;
            documents.changed(&[&path]).await?;
            Ok(trash)
        })
        .await
    }

    /// Restores a deleted file to its old path.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if another file is at that path.
    pub async fn restore(&self, trash: String) -> Result<FileVersion, EngineError> {
        let documents = self.clone();
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let path = tree.restore(*claim, trash).await?;
            let version = FileVersion { etag: etag(&documents.read(&path).await?.0), path };
            documents.note(&version.path, &version.etag);
            documents.changed(&[&version.path]).await?;
            Ok(version)
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

    /// Trusts exactly this version of a file in skills/, because a person has looked at it.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file has changed in the meantime.
    pub async fn trust(&self, seen: FileVersion) -> Result<(), EngineError> {
        let (bytes, _) = self.read(&seen.path).await?;
        let now = etag(&bytes);
        if now != seen.etag {
            return Err(StoreError::Conflict { path: seen.path.to_string(), etag: Some(now) }.into());
        }
        self.trust_content(&seen.path, &bytes, TrustedBy::Person).await?;
        self.reread_skills().await
    }

    /// Returns a file's content and whether a person trusts it.
    async fn read(&self, path: &Place) -> Result<(Arc<[u8]>, bool), EngineError> {
        let (home, path) = (self.store.home.clone(), path.clone());
        blocking(move || {
            let bytes = home.read_bytes(&path)?;
            let is_trusted = home.trusts(&path, &bytes);
            Ok((bytes.into(), is_trusted))
        })
        .await
    }

    async fn trust_content(&self, path: &Place, bytes: &Arc<[u8]>, by: TrustedBy) -> Result<(), EngineError> {
        let OwnedHome { tree, claim, .. } = &self.store;
        let content = TrustedContent { path: path.clone(), bytes: bytes.clone(), by };
        Ok(tree.trust(*claim, content).await?)
    }

    /// Tells the watcher in advance that a person makes this version.
    fn note(&self, path: &Place, etag: &str) {
        self.listeners.authors.note(path, etag, ChangedBy::Editor);
    }

    /// Updates the indexes after a change of these files, and the list of skills if one of them is in skills/.
    async fn changed(&self, paths: &[&Place]) -> Result<(), EngineError> {
        let listeners = self.listeners.clone();
        let changed: Vec<Place> = paths.iter().map(|path| (*path).clone()).collect();
        let indexed = blocking(move || {
            index(&listeners.libraries, &changed);
            Ok(())
        });
        indexed.await?;
        match paths.iter().any(|path| path.root().is_pinned()) {
            true => self.reread_skills().await,
            false => Ok(()),
        }
    }

    /// Returns the editor for the agent's tools. It does not reread skills, which happens before the next request
    /// anyway.
    pub fn editor(store: &OwnedHome, authors: &Arc<FileAuthors>, libraries: [&Arc<Library>; 2]) -> Editor {
        let (authors, libraries) = (authors.clone(), libraries.map(Arc::clone));
        Editor::new(store.clone(), move |path, stage| match stage {
            ChangeStage::Planned(etag) => authors.note(path, etag.unwrap_or_default(), ChangedBy::Run),
            ChangeStage::Made => index(&libraries, std::slice::from_ref(path)),
        })
    }

    /// Rereads the skills at once. Notifies clients and the embedded model if something changed.
    async fn reread_skills(&self) -> Result<(), EngineError> {
        let (skills, home) = (self.listeners.skills.clone(), self.store.home.clone());
        if blocking(move || skills.scan(&home)).await? {
            self.listeners.hub.notice(Notice::SkillsChanged);
            self.listeners.models.prefix_changed().await;
        }
        Ok(())
    }
}

/// Updates the indexes, so that the next search finds the change.
fn index(libraries: &[Arc<Library>], paths: &[Place]) {
    let changed = |library: &&Arc<Library>| paths.iter().any(|path| path.root() == library.root());
    libraries.iter().filter(changed).for_each(|library| library.refresh_if_open());
}

/// Runs a change to its end in its own task, even if the requester disconnects.
async fn to_the_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::spawn(change).await.map_err(|_| EngineError::Internal("a change of a file was cut off"))?
}
