//! The folders of a project, as a person makes, moves and deletes them.

use super::{Author, Change, Documents, FileVersion, Notice, to_the_end};
use crate::domain::Place;
use crate::engine::EngineError;
use crate::store::{Expect, FolderChange, OwnedHome, StagedFile};

impl Documents {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// Returns an error if a file stands where a folder should be made.
    pub async fn make_folder(&self, folder: &Place) -> Result<(), EngineError> {
        let (documents, folder) = (self.clone(), folder.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            tree.change_folder(*claim, FolderChange::Make(folder.clone())).await?;
            documents.folder_changed(&folder);
            Ok(())
        })
        .await
    }

    /// Puts a file that a person has uploaded in its place. Returns the name under which what it replaces can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`](crate::store::StoreError::Conflict) if the file is not what `expect` says.
    pub async fn add_file(
        &self,
        place: &Place,
        staged: StagedFile,
        expect: Expect,
    ) -> Result<Option<String>, EngineError> {
        let (documents, place) = (self.clone(), place.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let versions = vec![FileVersion { path: place.clone(), etag: staged.etag() }];
            let change = Change { versions, ..Change::default() };
            let write = tree.add_file(*claim, staged, (place.clone(), expect));
            Ok(documents.apply(change, Author::Person, write).await?)
        })
        .await
    }

    /// Renames or moves a folder with everything in it.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`](crate::store::StoreError::Exists) if the new path exists; nothing is overwritten.
    pub async fn rename_folder(&self, from: &Place, to: &Place) -> Result<(), EngineError> {
        let (documents, from, to) = (self.clone(), from.clone(), to.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            tree.rename_folder(*claim, [&from, &to]).await?;
            documents.folder_changed(&from);
            documents.folder_changed(&to);
            Ok(())
        })
        .await
    }

    /// Moves a folder to the trash, with everything in it. Returns the name under which it can be restored.
    ///
    /// # Errors
    /// Returns an error if there is no such folder.
    pub async fn delete_folder(&self, folder: &Place) -> Result<String, EngineError> {
        let (documents, folder) = (self.clone(), folder.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let trash = tree.trash_folder(*claim, &folder).await?;
            documents.folder_changed(&folder);
            Ok(trash)
        })
        .await
    }

    /// Notifies clients that everything in a folder, and its entry in the folder above, may have changed.
    pub(super) fn folder_changed(&self, folder: &Place) {
        self.listeners.hub.notice(Notice::FolderChanged { path: folder.containing().to_string() });
    }
}
