//! The one way in which a file of the home is changed, by a person and by the agent. The order is always: trust, note the
//! author, write, index, notify. Trust comes first, so that whoever sees a new version knows whether a person meant it;
//! the author comes before the write, so that the watcher knows whose change it sees.

use std::sync::Arc;

use super::hub::Hub;
use super::models::Models;
use super::notice::{ChangedBy, Notice};
use super::skills::Skills;
use super::watch::FileAuthors;
use super::{EngineError, blocking};
use crate::domain::Place;
use crate::library::Library;
use crate::store::{Expect, OwnedHome, StoreError, TrashedText, TreeChange, TrustedBy, TrustedContent, etag};
use crate::tools::Editor;
use crate::tools::files::ChangeStage;

/// The files of a home that people and the agent change. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    store: OwnedHome,
    listeners: Arc<Listeners>,
}

/// What must be told of a change.
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
    /// The hash of its content.
    pub etag: String,
}

impl Documents {
    pub fn new(store: OwnedHome, listeners: Listeners) -> Self {
        Self { store, listeners: Arc::new(listeners) }
    }

    /// Writes a text as a person typed it. In skills/ it is trusted.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is not what `expect` says; nothing is written then.
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

    /// Gives a file another name or folder. A version that was trusted stays trusted.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when the path is taken; nothing is overwritten.
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

    /// Moves a file to the trash; answers the name that brings it back.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is not what `expect` says.
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

    /// Brings a deleted file back to where it was.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is another by now.
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

    /// Deleted files that can be brought back, the one deleted last first.
    pub async fn trashed(&self) -> Result<Vec<TrashedText>, EngineError> {
        Ok(self.store.tree.trashed().await?)
    }

    /// Removes a deleted file for good.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when it is not in the trash.
    pub async fn forget(&self, trash: String) -> Result<(), EngineError> {
        let OwnedHome { tree, claim, .. } = &self.store;
        Ok(tree.forget(*claim, trash).await?)
    }

    /// Trusts exactly this version of a file in skills/, because a person has looked at it.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is another by now.
    pub async fn trust(&self, seen: FileVersion) -> Result<(), EngineError> {
        let (bytes, _) = self.read(&seen.path).await?;
        let now = etag(&bytes);
        if now != seen.etag {
            return Err(StoreError::Changed { path: seen.path.to_string(), etag: Some(now) }.into());
        }
        self.trust_content(&seen.path, &bytes, TrustedBy::Person).await?;
        self.reread_skills().await
    }

    /// A file's content, and whether a person trusts it.
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

    /// The watcher shall know that a person makes this version.
    fn note(&self, path: &Place, etag: &str) {
        self.listeners.authors.note(path, etag, ChangedBy::Editor);
    }

    /// Everybody who follows these files is told that they have changed.
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

    /// What the agent's tools change files with. Skills are read again before the next request in any case.
    pub fn editor(store: &OwnedHome, authors: &Arc<FileAuthors>, libraries: [&Arc<Library>; 2]) -> Editor {
        let (authors, libraries) = (authors.clone(), libraries.map(Arc::clone));
        Editor::new(store.clone(), move |path, stage| match stage {
            ChangeStage::Planned(etag) => authors.note(path, etag.unwrap_or_default(), ChangedBy::Run),
            ChangeStage::Made => index(&libraries, std::slice::from_ref(path)),
        })
    }

    /// Reads the skills again at once; everybody is told where that changed something.
    async fn reread_skills(&self) -> Result<(), EngineError> {
        let (skills, home) = (self.listeners.skills.clone(), self.store.home.clone());
        if blocking(move || skills.scan(&home)).await? {
            self.listeners.hub.notice(Notice::SkillsChanged);
            self.listeners.models.prefix_changed().await;
        }
        Ok(())
    }
}

/// The next search finds what was changed.
fn index(libraries: &[Arc<Library>], paths: &[Place]) {
    let changed = |library: &&Arc<Library>| paths.iter().any(|path| path.root() == library.root());
    libraries.iter().filter(changed).for_each(|library| library.follow_if_open());
}

/// A change that has begun is finished and told, also when the one who asked for it goes away.
async fn to_the_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::spawn(change).await.map_err(|_| EngineError::Internal("a change of a file was cut off"))?
}
