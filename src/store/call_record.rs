//! The record of what the file tools of a project changed: like that of a command, with folders and permission bits.

use std::collections::BTreeMap;

use super::changes::{ChangeSet, FileChange, RecordedChange, RecordedChanges};
use super::error::StoreError;
use super::home::Home;
use super::project_folder::FolderChange;
use super::recorded_state::RecordedState;
use crate::domain::{EntryPath, Place, Root, SessionId};

/// Permission bits that a new folder is expected to get. What it got is recorded afterwards.
const NEW_FOLDER: u32 = 0o755;

/// What a call changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFiles {
    pub files: ChangeSet,
    /// Folders that are made before the files change, or removed after it. Those on the way to a new file are made too.
    pub folders: Vec<FolderChange>,
}

fn is_same(one: Option<&RecordedState>, other: Option<&RecordedState>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.has_content_of(other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl From<ChangeSet> for CallFiles {
    fn from(files: ChangeSet) -> Self {
        Self { files, folders: Vec::new() }
    }
}

impl Home {
    /// Stores what a call is about to change, for its undo: the contents first, then their record.
    pub(super) fn keep_call(&self, session: &SessionId, call_id: &str, call: &CallFiles) -> Result<(), StoreError> {
        // Held until the record names what they keep.
        let blobs = self.blobs(session)?;
        let mut recorded = Self::keep_contents(&blobs, &call.files)?;
        for RecordedChange { path, before, .. } in
            recorded.iter_mut().filter(|file| self.is_in_project(file.path.root()))
        {
            if let (Some(before), Some(now)) = (before, self.entry_state(path)?) {
                // The same content, with all permission bits.
                *before = if now.has_content_of(before) { now } else { before.clone() };
            }
        }
        recorded.extend(self.changed_folders(call)?);
        self.keep_recorded(session, call_id, &recorded)
    }

    /// Corrects the record of a call that has changed files of a project, or has tried to: the permission bits that they got,
    /// and what is still as it was.
    pub(super) fn settle_call(&self, session: &SessionId, call_id: &str) -> Result<(), StoreError> {
        let RecordedChanges::Files(recorded) = self.session_files(session).recorded_changes(call_id)? else {
            return Ok(());
        };
        let mut settled = Vec::new();
        for mut change in recorded.iter().cloned() {
            if self.is_in_project(change.path.root()) {
                let now = self.entry_state(&change.path)?;
                match (&change.after, now) {
                    (Some(after), Some(now)) if now.has_content_of(after) => change.after = Some(now),
                    (_, now) if is_same(now.as_ref(), change.before.as_ref()) => continue,
                    _ => {}
                }
            }
            settled.push(change);
        }
        match settled == recorded {
            true => Ok(()),
            false => self.keep_recorded(session, call_id, &settled),
        }
    }

    fn is_in_project(&self, root: &Root) -> bool {
        self.project_path(root).is_some()
    }

    /// Returns the folders of projects that a call makes or removes.
    fn changed_folders(&self, CallFiles { files, folders }: &CallFiles) -> Result<Vec<RecordedChange>, StoreError> {
        let mut changed = BTreeMap::new();
        for FileChange { path, before, after } in &files.0 {
            if before.is_none() && after.is_some() && self.is_in_project(path.root()) {
                self.add_made(path.containing(), &mut changed);
            }
        }
        for folder in folders {
            match folder {
                FolderChange::Make(folder) => self.add_made(folder.clone(), &mut changed),
                FolderChange::RemoveEmpty(folder) => {
                    for path in self.folders_below(folder)?.into_iter().chain([folder.clone()]) {
                        let path = EntryPath::from(path);
                        let before = self.entry_state(&path)?;
                        changed.insert(path.to_string(), RecordedChange { path, before, after: None });
                    }
                }
            }
        }
        Ok(changed.into_values().collect())
    }

    /// Adds a folder and those above it that do not exist.
    fn add_made(&self, mut folder: Place, changed: &mut BTreeMap<String, RecordedChange>) {
        while !folder.path().is_empty() && !self.is_folder(&folder) {
            let made = RecordedChange {
                path: folder.clone().into(),
                before: None,
                after: Some(RecordedState::of_folder(NEW_FOLDER)),
            };
            changed.insert(folder.to_string(), made);
            folder = folder.containing();
        }
    }
}
