//! Discards changes of files, and undoes that: what the files were is in the trash.

use super::{Access, GitChange, GitCommand, GitEntry};
use crate::domain::{EntryPath, GitRefused, ProjectId};
use crate::engine::{Engine, EngineError};
use crate::store::{Expect, StoreError};

/// Maximum number of files that are discarded at once: the trash keeps the last 200 deletions.
pub const MAX_DISCARDED: usize = 100;

/// A file whose changes were discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    pub path: EntryPath,
    /// What it was, in the trash; `None` if it had been deleted.
    pub trash: Option<String>,
}

impl Engine {
    /// Makes files what they are in what is staged; new files go. What they were is in the trash.
    ///
    /// # Errors
    /// Returns [`Busy`](crate::domain::ProjectRefused::Busy) while a conversation works in the project, and an error for a file that has no
    /// unstaged change. Files before the one that fails stay discarded, and are in the trash.
    pub async fn git_discard(&self, id: &ProjectId, paths: &[EntryPath]) -> Result<Vec<Discarded>, EngineError> {
        self.free_to_change(id).await?;
        let status = self.git_overview(id).await?.status.ok_or(GitRefused::NoRepository)?;
        let entry = |path: &EntryPath| {
            let found = status.entries.iter().find(|entry| entry.path == *path);
            let change = found.and_then(|entry| Some((entry, entry.unstaged?)));
            change.ok_or_else(|| GitRefused::Failed(format!("{path} has no change to discard")))
        };
        let changes = paths.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        let mut discarded = Vec::new();
        for (GitEntry { path, is_folder, .. }, change) in changes {
            let trash = match change {
                GitChange::Deleted => None,
                _ => Some(self.to_trash(path, *is_folder).await?),
            };
            discarded.push(Discarded { path: path.clone(), trash });
            if change != GitChange::Untracked {
                let restore = GitCommand::writing(&["checkout", "-q"], Access::Files).about(vec![path.clone()]);
                if let Err(error) = self.git_write(id, restore).await {
                    self.bring_back(&discarded[discarded.len() - 1..]).await?;
                    return Err(error);
                }
            }
        }
        self.files_changed(id);
        Ok(discarded)
    }

    /// Restores files whose changes were discarded. What they became since goes to the trash.
    ///
    /// # Errors
    /// Returns an error if one is not in the trash any more.
    pub async fn git_undo_discard(&self, id: &ProjectId, discarded: &[Discarded]) -> Result<(), EngineError> {
        self.free_to_change(id).await?;
        let restored = self.bring_back(discarded).await;
        self.files_changed(id);
        restored
    }

    async fn to_trash(&self, path: &EntryPath, is_folder: bool) -> Result<String, EngineError> {
        let why = "its name cannot be kept in the trash; discard its changes with a command";
        let place = path.place().ok_or_else(|| StoreError::NotAllowed { path: path.to_string(), why })?;
        match is_folder {
            true => self.tenant.documents.delete_folder(&place).await,
            false => self.tenant.documents.delete(&place, Expect::Anything).await,
        }
    }

    async fn bring_back(&self, discarded: &[Discarded]) -> Result<(), EngineError> {
        for Discarded { path, trash } in discarded {
            if let Some(trash) = trash {
                // Looked up before anything changes: if it was restored already, what is there now stays.
                let trashed = self.tenant.tree.trashed_version(trash).await?;
                if path.place().as_ref() != Some(&trashed.path) {
                    return Err(StoreError::NotFound { what: format!("{path} in the trash") }.into());
                }
            }
            let is_there = path.place().is_some_and(|place| self.tenant.home.has_entry(&place));
            if is_there {
                self.to_trash(path, false).await?;
            }
            if let Some(trash) = trash {
                self.tenant.documents.restore(trash.clone()).await?;
            }
        }
        Ok(())
    }
}
