//! The projects of a home, as people make and change them.

use std::sync::Arc;

use secrecy::SecretString;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Engine, EngineError, Notice, blocking};
use crate::domain::{
    AccountId, LinkProblem, Project, ProjectId, ProjectName, ProjectRefused, ProjectRole, Root, SecretName,
};
use crate::store::{LinkTarget, LinkableFolder, NewLink, ProjectChange, StoreError, StoredSecret, Upload};

/// Number of uploads that may arrive at once, for the whole server and for one home.
pub(super) const MAX_UPLOADS: usize = 16;
pub(super) const MAX_UPLOADS_PER_HOME: usize = 4;

/// The right to upload.
pub struct UploadSlot {
    _own: OwnedSemaphorePermit,
    _server: OwnedSemaphorePermit,
}

impl Engine {
    /// Returns the projects of this home and those that others share with its person, newest first.
    pub async fn projects(&self) -> Result<Vec<Project>, EngineError> {
        let home = self.tenant.home.clone();
        blocking(move || {
            let shared = home.shared_projects().into_iter().map(|(project, ..)| project);
            let mut all: Vec<Project> = shared.collect();
            let own = home.project_list().into_iter();
            let own: Vec<Project> = own.filter(|project| all.iter().all(|shared| shared.id != project.id)).collect();
            all.extend(own);
            all.sort_by(|a, b| b.created_at.total_cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
            Ok(all)
        })
        .await
    }

    /// Returns the projects that others share with the person, with the role and the owner of each.
    pub async fn shared_with_me(&self) -> Result<Vec<(Project, ProjectRole, AccountId)>, EngineError> {
        let home = self.tenant.home.clone();
        blocking(move || Ok(home.shared_projects())).await
    }

    /// Returns what the person may do in a project, and whose it is if it is somebody else's.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if there is no such project.
    pub async fn role_in(&self, id: &ProjectId) -> Result<(ProjectRole, Option<AccountId>), EngineError> {
        let (home, wanted) = (self.tenant.home.clone(), id.clone());
        let found = blocking(move || Ok(home.role_in(&wanted))).await?;
        found.ok_or_else(|| EngineError::NoProject(id.clone()))
    }

    /// Returns the deleted projects that can be restored, most recently deleted first.
    pub async fn deleted_projects(&self) -> Result<Vec<Project>, EngineError> {
        let home = self.tenant.home.clone();
        blocking(move || Ok(home.deleted_projects())).await
    }

    /// # Errors
    /// Returns [`EngineError::NoProject`] if there is no such project.
    pub async fn project(&self, id: &ProjectId) -> Result<Project, EngineError> {
        let (home, wanted) = (self.tenant.home.clone(), id.clone());
        let found = blocking(move || {
            let shared = home.shared_projects().into_iter().find(|(project, ..)| project.id == wanted);
            Ok(shared.map(|(project, ..)| project).or_else(|| home.project(&wanted)))
        })
        .await?;
        found.ok_or_else(|| EngineError::NoProject(id.clone()))
    }

    /// Creates a project with an empty folder.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::NameTaken`] if there is a project with that name.
    pub async fn create_project(&self, name: ProjectName, description: String) -> Result<Project, EngineError> {
        let created = self.tenant.tree.create_project(self.tenant.claim, name, description).await?;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(created)
    }

    /// Begins an upload of a folder that is to become a project. The slot is held until it has arrived.
    ///
    /// # Errors
    /// Returns [`EngineError::TooManyUploads`] if too many are under way, and an error if its folder cannot be created.
    pub async fn new_upload(&self) -> Result<(Upload, UploadSlot), EngineError> {
        let slot = self.upload_slot()?;
        Ok((self.tenant.tree.new_upload(self.tenant.claim).await?, slot))
    }

    /// Takes a slot for files that arrive.
    ///
    /// # Errors
    /// Returns [`EngineError::TooManyUploads`] if too many are under way.
    pub fn upload_slot(&self) -> Result<UploadSlot, EngineError> {
        let free = |slots: &Arc<Semaphore>| slots.clone().try_acquire_owned().map_err(|_| EngineError::TooManyUploads);
        Ok(UploadSlot { _own: free(&self.tenant.upload_slots)?, _server: free(&self.tenant.runtime.upload_slots)? })
    }

    /// Creates a project of what was uploaded.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::NameTaken`] if there is a project with that name; what was uploaded is discarded.
    pub async fn create_uploaded(
        &self,
        name: ProjectName,
        description: String,
        upload: Upload,
    ) -> Result<Project, EngineError> {
        let created = self.tenant.tree.create_uploaded(self.tenant.claim, (name, description), upload).await?;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(created)
    }

    /// Returns projects with the reason why the folder of each cannot be used now.
    pub async fn with_problems(
        &self,
        projects: Vec<Project>,
    ) -> Result<Vec<(Project, Option<LinkProblem>)>, EngineError> {
        let home = self.tenant.home.clone();
        let with_problem = move |project: Project| {
            let problem = home.folder_problem(&project);
            (project, problem)
        };
        blocking(move || Ok(projects.into_iter().map(with_problem).collect())).await
    }

    /// Looks at a folder of this machine that a person may want to link as a project, or as this project's folder.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::Link`] if it cannot be linked.
    pub async fn linkable(&self, path: String, own: Option<ProjectId>) -> Result<LinkableFolder, EngineError> {
        let home = self.tenant.home.clone();
        blocking(move || home.linkable(&path, own.as_ref())).await
    }

    /// Links a folder that a person has looked at.
    ///
    /// # Errors
    /// Returns [`ProjectRefused`] if it cannot be linked, and [`EngineError::NoProject`] if there is no linked project with the
    /// id.
    pub async fn link_project(&self, link: NewLink) -> Result<Project, EngineError> {
        let existing = match &link.target {
            LinkTarget::Existing(id) => Some(id.clone()),
            LinkTarget::New { .. } => None,
        };
        if let Some(id) = &existing
            && self.is_at_work_in(id).await
        {
            return Err(StoreError::Project(ProjectRefused::Busy).into());
        }
        let linked = self.tenant.tree.link_project(self.tenant.claim, link).await;
        let linked = linked.map_err(|error| match &existing {
            Some(id) => unknown(error, id),
            None => error.into(),
        })?;
        // They have the old path.
        self.tenant.tool_sources.project_deleted(&linked.id);
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(linked)
    }

    /// # Errors
    /// Returns [`EngineError::NoProject`] if there is no such project, and [`ProjectRefused::NameTaken`].
    pub async fn change_project(&self, id: &ProjectId, change: ProjectChange) -> Result<Project, EngineError> {
        let changed = self.tenant.tree.change_project(self.tenant.claim, id.clone(), change).await;
        let changed = changed.map_err(|error| unknown(error, id))?;
        self.own_projects_changed().await;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(changed)
    }

    /// Deletes a project. Its folder goes to the trash; its conversations stay, and work in the home until it is restored.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if there is no such project, and [`ProjectRefused::Busy`] while a session works in
    /// it.
    pub async fn delete_project(&self, id: &ProjectId) -> Result<(), EngineError> {
        self.tenant.home.require_own(id)?;
        if self.is_at_work_in(id).await {
            return Err(StoreError::Project(ProjectRefused::Busy).into());
        }
        let deleted = self.tenant.tree.delete_project(self.tenant.claim, id.clone()).await;
        deleted.map_err(|error| unknown(error, id))?;
        self.tenant.tool_sources.project_deleted(id);
        let (libraries, gone) = (self.tenant.project_libraries.clone(), id.clone());
        blocking(move || {
            libraries.project_deleted(&gone);
            Ok(())
        })
        .await?;
        self.own_projects_changed().await;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(())
    }

    /// Restores a deleted project with its folder.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if it is not deleted, and [`ProjectRefused`] if its name or the place of its folder
    /// is taken.
    pub async fn restore_project(&self, id: &ProjectId) -> Result<Project, EngineError> {
        let restored = self.tenant.tree.restore_project(self.tenant.claim, id.clone()).await;
        let restored = restored.map_err(|error| unknown(error, id))?;
        self.own_projects_changed().await;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(restored)
    }

    /// Returns the secrets of a project, by name, without their values.
    pub async fn project_secrets(&self, id: &ProjectId) -> Result<Vec<StoredSecret>, EngineError> {
        let (home, id) = (self.tenant.home.clone(), id.clone());
        blocking(move || Ok(home.project_secrets(&id))).await
    }

    /// Sets a secret of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::Secret`] if the project has too many.
    pub async fn set_project_secret(
        &self,
        id: &ProjectId,
        name: SecretName,
        value: SecretString,
    ) -> Result<(), EngineError> {
        self.tenant.tree.set_secret(self.tenant.claim, (id.clone(), name), value).await?;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(())
    }

    /// Removes a secret of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::Secret`] if there is no such secret.
    pub async fn remove_project_secret(&self, id: &ProjectId, name: SecretName) -> Result<(), EngineError> {
        self.tenant.tree.remove_secret(self.tenant.claim, (id.clone(), name)).await?;
        self.tenant.hub.notice(Notice::ProjectsChanged);
        Ok(())
    }

    /// Returns whether a background command works in the project, or a session that is bound to it has a run under way.
    pub(super) async fn is_at_work_in(&self, id: &ProjectId) -> bool {
        if self.tenant.jobs.is_any_running_in(&Root::Project(id.clone())) {
            return true;
        }
        for session in self.tenant.runs.list() {
            if self.view(&session).await.is_ok_and(|view| view.session.project_id.as_ref() == Some(id)) {
                return true;
            }
        }
        false
    }
}

fn unknown(error: StoreError, id: &ProjectId) -> EngineError {
    match error {
        StoreError::NotFound { .. } => EngineError::NoProject(id.clone()),
        other => other.into(),
    }
}
