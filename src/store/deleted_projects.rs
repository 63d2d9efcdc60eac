//! Deleted projects: the folder of each is in `storage/deleted_projects/{id}` until the project is restored or removed for good.

use std::path::Path;

use super::atomic;
use super::error::StoreError;
use super::home::Home;
use super::projects::{find_project, folder_name, free_name, missing};
use crate::clock;
use crate::domain::linking::LinkRefused;
use crate::domain::{Project, ProjectId, ProjectName, ProjectRefused};

const DELETED: &str = "storage/deleted_projects";

impl Home {
    /// Deletes a project: its folder goes to the trash, as a whole. A linked folder stays where it is.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such project.
    pub(super) fn delete_project(&self, id: &ProjectId) -> Result<(), StoreError> {
        self.require_own(id)?;
        let project = self.project(id).ok_or_else(|| missing(id))?;
        self.edit_projects(|projects| {
            let project = find_project(projects, id, |project| project.deleted_at.is_none())?;
            project.deleted_at = Some(clock::now());
            Ok(())
        })?;
        let moved = self.move_deleted(&project);
        if moved.is_ok() {
            self.remove_project(id);
        } else {
            // It stays what it was. If even that fails, the next start moves the folder.
            self.edit_projects(|projects| {
                find_project(projects, id, |project| project.deleted_at.is_some())?.deleted_at = None;
                Ok(())
            })?;
        }
        moved
    }

    /// Restores a deleted project with its folder.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if it is not deleted, [`ProjectRefused::NameTaken`] if another project has its name
    /// now, and [`ProjectRefused::FolderTaken`] if its folder's place is taken.
    pub(super) fn restore_project(&self, id: &ProjectId) -> Result<Project, StoreError> {
        self.require_own(id)?;
        let project =
            self.deleted_projects().into_iter().find(|project| project.id == *id).ok_or_else(|| missing(id))?;
        if project.link.is_some() {
            return self.restore_link(&project);
        }
        let _one_at_a_time = self.project_folders_lock();
        let workspaces = self.workspaces()?;
        let doing = || format!("restoring the project {}", project.name);
        let deleted = self.root().open_dir(DELETED).map_err(StoreError::io(doing()))?;
        let is_moved = deleted.symlink_metadata(id.as_str()).is_ok();
        if is_moved && workspaces.symlink_metadata(&project.path).is_ok() {
            return Err(StoreError::Project(ProjectRefused::FolderTaken(project.path)));
        }
        if let Ok(name) = ProjectName::parse(&project.name) {
            free_name(&self.project_file().projects, &name, Some(id))?;
        }
        // Otherwise the deletion has failed before it was moved.
        if is_moved {
            deleted.rename(id.as_str(), &workspaces, &project.path).map_err(StoreError::io(doing()))?;
            atomic::sync_dir(&workspaces).map_err(StoreError::io(doing()))?;
        }
        self.edit_projects(|projects| {
            find_project(projects, id, |project| project.deleted_at.is_some())?.deleted_at = None;
            Ok(())
        })?;
        self.open_project(&project)?;
        self.project(id).ok_or_else(|| missing(id))
    }

    /// Links the folder of a deleted project again, whether it is there now or not.
    fn restore_link(&self, project: &Project) -> Result<Project, StoreError> {
        let path = Path::new(&project.path);
        let is_other = |other: &&Project| other.link.is_some() && other.id != project.id && other.deleted_at.is_none();
        let overlaps = |other: &&Project| path.starts_with(&other.path) || Path::new(&other.path).starts_with(path);
        self.edit_projects(|projects| {
            if let Ok(name) = ProjectName::parse(&project.name) {
                free_name(projects, &name, Some(&project.id))?;
            }
            if let Some(other) = projects.iter().filter(is_other).find(overlaps) {
                let linked = LinkRefused::Linked { path: project.path.clone(), name: other.name.clone() };
                return Err(StoreError::Project(ProjectRefused::Link(linked)));
            }
            find_project(projects, &project.id, |project| project.deleted_at.is_some())?.deleted_at = None;
            Ok(())
        })?;
        self.open_project(project)?;
        self.project(&project.id).ok_or_else(|| missing(&project.id))
    }

    /// Moves the folder of a deleted project to the trash, unless it is there already.
    pub(super) fn move_deleted(&self, project: &Project) -> Result<(), StoreError> {
        if project.link.is_some() {
            return Ok(());
        }
        let folder = folder_name(project)?;
        let doing = || format!("deleting the project {}", project.name);
        let workspaces = self.workspaces()?;
        self.root().create_dir_all(DELETED).map_err(StoreError::io(doing()))?;
        let deleted = self.root().open_dir(DELETED).map_err(StoreError::io(doing()))?;
        if deleted.symlink_metadata(project.id.as_str()).is_ok() || workspaces.symlink_metadata(folder).is_err() {
            return Ok(());
        }
        workspaces.rename(folder, &deleted, project.id.as_str()).map_err(StoreError::io(doing()))?;
        atomic::sync_dir(&deleted).map_err(StoreError::io(doing()))
    }
}
