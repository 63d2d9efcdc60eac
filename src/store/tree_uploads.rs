//! The part of the port [`Tree`] for uploads that go on after an interruption.

use super::error::StoreError;
use super::fence::{Claim, blocking, fenced};
use super::home::Home;
use super::resumable::{ArrivedCount, ResumableUpload};
use super::tree::Tree;
use crate::domain::{Project, ProjectName};

/// What is to be made of an upload.
#[derive(Clone, Debug)]
pub struct UploadCommit {
    pub id: String,
    pub name: ProjectName,
    pub description: String,
    /// How much must have arrived; `None` if that was not said.
    pub expected: Option<ArrivedCount>,
}

impl Tree {
    /// Begins an upload.
    ///
    /// # Errors
    /// Returns [`StoreError::TooManyUploads`] if the home has too many already.
    pub async fn begin_upload(
        &self,
        claim: Claim,
        name: String,
        description: String,
    ) -> Result<ResumableUpload, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.begin_resumable(&name, &description)).await,
        }
    }

    /// Returns an upload that is not committed.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`] if there is none with this id.
    pub async fn resumable_upload(&self, claim: Claim, id: &str) -> Result<ResumableUpload, StoreError> {
        let id = id.to_owned();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.resumable_upload(&id)).await,
        }
    }

    /// Returns the uploads that are not committed, the oldest first.
    ///
    /// # Errors
    /// Returns an error if the server is stopping.
    pub async fn resumable_uploads(&self) -> Result<Vec<ResumableUpload>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, |home| Ok(home.resumable_uploads())).await,
        }
    }

    /// Creates a project of what has arrived. If that is refused, what has arrived stays.
    ///
    /// # Errors
    /// Returns [`StoreError::Incomplete`] if it is not what was announced, [`StoreError::NoUpload`], and
    /// [`StoreError::Project`] if there is a project with that name.
    pub async fn commit_upload(&self, claim: Claim, commit: UploadCommit) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.commit_resumable(&commit)).await,
        }
    }

    /// Discards an upload.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`] if there is none with this id.
    pub async fn cancel_upload(&self, claim: Claim, id: String) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home: &Home| home.cancel_resumable(&id)).await,
        }
    }
}
