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
use crate::domain::HomePath;
use crate::library::Library;
use crate::store::{Expect, Home, PINNED, StoreError, TrustedBy, etag};
use crate::tools::Editor;
use crate::tools::files::Moment;

/// The files of a home that people and the agent change. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    home: Home,
    authors: Arc<FileAuthors>,
    libraries: [Arc<Library>; 2],
    skills: Arc<Skills>,
    hub: Arc<Hub>,
    models: Arc<Models>,
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
    pub path: HomePath,
    /// The hash of its content.
    pub etag: String,
}

impl Documents {
    pub fn new(home: Home, listeners: Listeners) -> Self {
        let Listeners { authors, libraries, skills, hub, models } = listeners;
        Self { home, authors, libraries, skills, hub, models }
    }

    /// Writes a text as a person typed it. In skills/ it is trusted.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is not what `expect` says; nothing is written then.
    pub async fn save(&self, path: &HomePath, text: Arc<str>, expect: Expect) -> Result<FileVersion, EngineError> {
        let (documents, path) = (self.clone(), path.clone());
        let saved = blocking(move || {
            let Self { home, authors, .. } = &documents;
            home.trust(&path, text.as_bytes(), TrustedBy::Editor)?;
            authors.note(&path, &etag(text.as_bytes()), ChangedBy::Editor);
            let etag = home.save_text(&path, &text, &expect)?;
            documents.index(&[&path]);
            Ok(FileVersion { path, etag })
        })
        .await?;
        self.notify(&[&saved.path]).await?;
        Ok(saved)
    }

    /// Gives a file another name or folder. A version that was trusted stays trusted.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when the path is taken; nothing is overwritten.
    pub async fn rename(&self, from: &HomePath, to: &HomePath, expect: Expect) -> Result<FileVersion, EngineError> {
        let (documents, before, after) = (self.clone(), from.clone(), to.clone());
        let renamed = blocking(move || {
            let Self { home, authors, .. } = &documents;
            let bytes = home.read_bytes(&before)?;
            let etag = etag(&bytes);
            if home.trusts(&before, &bytes) {
                home.trust(&after, &bytes, TrustedBy::Editor)?;
            }
            authors.note(&after, &etag, ChangedBy::Editor);
            authors.note(&before, "", ChangedBy::Editor);
            home.rename_text(&before, &after, &expect)?;
            documents.index(&[&before, &after]);
            Ok(FileVersion { path: after, etag })
        })
        .await?;
        self.notify(&[from, to]).await?;
        Ok(renamed)
    }

    /// Moves a file to the trash; answers the name that brings it back.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is not what `expect` says.
    pub async fn delete(&self, path: &HomePath, expect: Expect) -> Result<String, EngineError> {
        let (documents, gone) = (self.clone(), path.clone());
        let trash = blocking(move || {
            documents.authors.note(&gone, "", ChangedBy::Editor);
            let trash = documents.home.trash_text(&gone, &expect)?;
            documents.index(&[&gone]);
            Ok(trash)
        })
        .await?;
        self.notify(&[path]).await?;
        Ok(trash)
    }

    /// Brings a deleted file back to where it was.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is another by now.
    pub async fn restore(&self, trash: String) -> Result<FileVersion, EngineError> {
        let documents = self.clone();
        let restored = blocking(move || {
            let path = documents.home.restore_text(&trash)?;
            let etag = documents.home.hash(&path)?;
            documents.authors.note(&path, &etag, ChangedBy::Editor);
            documents.index(&[&path]);
            Ok(FileVersion { path, etag })
        })
        .await?;
        self.notify(&[&restored.path]).await?;
        Ok(restored)
    }

    /// Trusts exactly this version of a file in skills/, because a person has looked at it.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is another by now.
    pub async fn trust(&self, seen: FileVersion) -> Result<(), EngineError> {
        let (home, FileVersion { path, etag: seen }) = (self.home.clone(), seen);
        blocking(move || {
            let bytes = home.read_bytes(&path)?;
            let now = etag(&bytes);
            if now != seen {
                return Err(StoreError::Changed { path: path.to_string(), etag: Some(now) });
            }
            home.trust(&path, &bytes, TrustedBy::Person)
        })
        .await?;
        self.reread_skills().await
    }

    /// What the agent's tools change files with. Skills are read again before the next request in any case.
    pub fn editor(home: &Home, authors: &Arc<FileAuthors>, libraries: [&Arc<Library>; 2]) -> Editor {
        let (authors, libraries) = (authors.clone(), libraries.map(Arc::clone));
        Editor::new(home.clone(), move |path, moment| match moment {
            Moment::Before(hash) => authors.note(path, hash.unwrap_or_default(), ChangedBy::Run),
            Moment::After => index(&libraries, &[path]),
        })
    }

    fn index(&self, paths: &[&HomePath]) {
        index(&self.libraries, paths);
    }

    async fn notify(&self, paths: &[&HomePath]) -> Result<(), EngineError> {
        match paths.iter().any(|path| path.root() == PINNED) {
            true => self.reread_skills().await,
            false => Ok(()),
        }
    }

    /// Reads the skills again at once; everybody is told where that changed something.
    async fn reread_skills(&self) -> Result<(), EngineError> {
        let (skills, home) = (self.skills.clone(), self.home.clone());
        if blocking(move || skills.scan(&home)).await? {
            self.hub.notice(Notice::SkillsChanged);
            self.models.prefix_changed().await;
        }
        Ok(())
    }
}

/// The next search finds what was changed.
fn index(libraries: &[Arc<Library>], paths: &[&HomePath]) {
    let changed = |library: &&Arc<Library>| paths.iter().any(|path| path.root() == library.folder());
    libraries.iter().filter(changed).for_each(|library| library.follow_if_open());
}
