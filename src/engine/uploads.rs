//! Uploads that go on after an interruption.

use super::{Engine, EngineError, Notice, blocking};
use crate::domain::Project;
use crate::store::{ResumableUpload, UploadCommit};

impl Engine {
    /// Begins an upload. The name and the description are for the person who goes on with it.
    ///
    /// # Errors
    /// Returns [`StoreError::TooManyUploads`](crate::store::StoreError::TooManyUploads) if there are four already in which
    /// something arrived within the last hour.
    pub async fn begin_upload(&self, name: String, description: String) -> Result<ResumableUpload, EngineError> {
        Ok(self.tenant.tree.begin_upload(self.tenant.claim, name, description).await?)
    }

    /// Returns the uploads that are not committed, the oldest first.
    ///
    /// # Errors
    /// Returns an error if the server is stopping.
    pub async fn resumable_uploads(&self) -> Result<Vec<ResumableUpload>, EngineError> {
        Ok(self.tenant.tree.resumable_uploads().await?)
    }

    /// Returns an upload that is not committed.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`](crate::store::StoreError::NoUpload) if there is none with this id.
    pub async fn resumable_upload(&self, id: &str) -> Result<ResumableUpload, EngineError> {
        Ok(self.tenant.tree.resumable_upload(self.tenant.claim, id).await?)
    }

    /// Returns the project that was made of an upload; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the server is stopping.
    pub async fn committed_upload(&self, id: String) -> Result<Option<Project>, EngineError> {
        let home = self.tenant.home.clone();
        blocking(move || Ok(home.committed_upload(&id))).await
    }

    /// Creates a project of what has arrived. If that is refused, what has arrived stays.
    ///
    /// # Errors
    /// Returns [`StoreError::Incomplete`](crate::store::StoreError::Incomplete) if it is not what was announced, and
    /// [`ProjectRefused::NameTaken`](crate::domain::ProjectRefused::NameTaken).
    pub async fn commit_upload(&self, commit: UploadCommit) -> Result<Project, EngineError> {
        let created = self.tenant.tree.commit_upload(self.tenant.claim, commit).await?;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(created)
    }

    /// Discards an upload.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`](crate::store::StoreError::NoUpload) if there is none with this id.
    pub async fn cancel_upload(&self, id: String) -> Result<(), EngineError> {
        Ok(self.tenant.tree.cancel_upload(self.tenant.claim, id).await?)
    }
}
