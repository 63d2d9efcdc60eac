//! The part of the port [`Tree`] for projects and whole folders.

use super::error::StoreError;
use super::fence::{Claim, fenced};
use super::files::Expect;
use super::home::Home;
use super::linked::NewLink;
use super::projects::ProjectChange;
use super::staged::StagedFile;
use super::tree::Tree;
use super::uploads::Upload;
use crate::domain::{Place, Project, ProjectId, ProjectName};

impl Tree {
    /// Stores what a program of this server has changed in the files itself, if the home is in a database.
    ///
    /// # Errors
    /// Returns an error if the database does not confirm it.
    pub async fn store_changes(&self, claim: Claim) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, |_| Ok(())).await,
        }
    }

    /// Creates a project with an empty folder.
    ///
    /// # Errors
    /// Returns [`StoreError::Project`] if there is a project with that name.
    pub async fn create_project(
        &self,
        claim: Claim,
        name: ProjectName,
        description: String,
    ) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.create_project(&name, &description)).await,
        }
    }

    /// Begins an upload of a folder.
    ///
    /// # Errors
    /// Returns an error if its folder cannot be created.
    pub async fn new_upload(&self, claim: Claim) -> Result<Upload, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, Home::new_upload).await,
        }
    }

    /// Creates a project of what was uploaded.
    ///
    /// # Errors
    /// Returns [`StoreError::Project`] if there is a project with that name; what was uploaded is discarded.
    pub async fn create_uploaded(
        &self,
        claim: Claim,
        (name, description): (ProjectName, String),
        upload: Upload,
    ) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.create_uploaded(&name, &description, upload)).await
            }
        }
    }

    /// Links a folder of this machine that a person has looked at as a project.
    ///
    /// # Errors
    /// Returns [`StoreError::Project`] if it cannot be linked, or if there is a project with that name.
    pub async fn link_project(&self, claim: Claim, link: NewLink) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.link_project(&link)).await,
        }
    }

    /// Changes what a person says about a project.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such project, and [`StoreError::Project`] if its new name is taken.
    pub async fn change_project(
        &self,
        claim: Claim,
        id: ProjectId,
        change: ProjectChange,
    ) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.change_project(&id, &change)).await,
        }
    }

    /// Deletes a project. Its folder can be restored with it.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such project.
    pub async fn delete_project(&self, claim: Claim, id: ProjectId) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.delete_project(&id)).await,
        }
    }

    /// Restores a deleted project with its folder.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if it is not deleted, and [`StoreError::Project`] if its name or its folder's place
    /// is taken.
    pub async fn restore_project(&self, claim: Claim, id: ProjectId) -> Result<Project, StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.restore_project(&id)).await,
        }
    }

    /// Puts a file that was uploaded in its place. Returns the id with which what it replaces can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says.
    pub async fn add_file(
        &self,
        claim: Claim,
        staged: StagedFile,
        (place, expect): (Place, Expect),
    ) -> Result<Option<String>, StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    home.noting_places([&place], || home.add_staged(&staged, &place, &expect))
                })
                .await
            }
        }
    }

    /// Moves a folder to another path, if the new path is free.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, and [`StoreError::Exists`] if the new path is taken.
    pub async fn rename_folder(&self, claim: Claim, [from, to]: [&Place; 2]) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.noting_places([&from, &to], || home.rename_folder(&from, &to)))
                    .await
            }
        }
    }

    /// Moves a folder to the trash, with everything in it. Returns the id with which it can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder.
    pub async fn trash_folder(&self, claim: Claim, folder: &Place) -> Result<String, StoreError> {
        let folder = folder.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.noting_places([&folder], || home.trash_folder(&folder))).await
            }
        }
    }
}
