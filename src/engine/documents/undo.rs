//! Undoes the changes that a call of the agent made to files, and does them again.

use super::{Author, Change, Documents, to_the_end};
use crate::domain::{EntryPath, SessionId};
use crate::engine::EngineError;
use crate::store::{OwnedHome, RecordedChange, RecordedChanges, RecordedContent, StoreError};
use crate::tools::files::{PlannedUndo, first_change, plan_undo};

/// Which of the two is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Restores the files to their state before the call.
    Undo,
    /// Restores them to their state after it.
    Redo,
}

/// What was undone or redone; the path is that of the first file changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub path: EntryPath,
    pub direction: Direction,
}

/// Why nothing was undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("this operation changed no file")]
    Unknown,
    #[error("{0} was changed after that; nothing was undone")]
    Changed(String),
    #[error("its command is still running in the background; stop the command first")]
    JobRunning,
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { path, .. } | StoreError::NotFound { what: path } => Self::Changed(path),
            other => Self::Store(other),
        }
    }
}

impl Documents {
    /// Restores all files of a call to their state before or after it.
    ///
    /// # Errors
    /// Returns an error if one of the files has changed since; then nothing is written.
    pub async fn undo(&self, session: &SessionId, call_id: &str, direction: Direction) -> Result<Undone, UndoError> {
        let (files, call_id) = (self.store.home.session_files(session), call_id.to_owned());
        let recorded = tokio::task::spawn_blocking(move || files.recorded_changes(&call_id)).await;
        let RecordedChanges::Files(files) = recorded.map_err(|_| StoreError::ShutDown)?? else {
            return Err(UndoError::Unknown);
        };
        let path = files.first().ok_or(UndoError::Unknown)?.path.clone();
        let files = match direction {
            Direction::Undo => files.into_iter().map(RecordedChange::reversed).collect(),
            Direction::Redo => files,
        };
        self.revert(session, files).await?;
        Ok(Undone { path, direction })
    }

    /// Makes recorded changes, as a person wants: all of them or none.
    pub(super) async fn revert(&self, session: &SessionId, files: Vec<RecordedChange>) -> Result<(), StoreError> {
        let (documents, session) = (self.clone(), session.clone());
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let change = Change::recorded(&files);
            documents.apply(change, Author::Undo, tree.revert(*claim, &session, files)).await
        })
        .await
    }

    /// Returns what undoing the changes of `calls` (oldest first) would do. Skips calls that changed no file.
    pub async fn plan_undo(&self, session: &SessionId, calls: Vec<String>) -> Result<Vec<PlannedUndo>, EngineError> {
        let (home, session) = (self.store.home.clone(), session.clone());
        crate::engine::blocking(move || plan_undo(&home, &session, &calls)).await
    }

    /// Returns the text of a file before `calls` (oldest first) changed it; `None` if it did not exist then.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if they did not change it, and [`StoreError::NotText`] if it was not UTF-8.
    pub async fn text_before(
        &self,
        session: &SessionId,
        calls: Vec<String>,
        path: EntryPath,
    ) -> Result<Option<String>, EngineError> {
        let (home, session) = (self.store.home.clone(), session.clone());
        crate::engine::blocking(move || {
            let change = first_change(&home, &session, &calls, &path)?
                .ok_or_else(|| StoreError::NotFound { what: format!("change of {path} in this work") })?;
            let Some(before) = change.before else { return Ok(None) };
            let bytes = match home.session_files(&session).recorded_content(&before) {
                RecordedContent::Bytes(bytes) => bytes,
                RecordedContent::TooLarge { size, limit } => {
                    return Err(StoreError::TooLarge { path: path.to_string(), size, limit });
                }
                RecordedContent::NotKept { .. } | RecordedContent::Dropped { .. } | RecordedContent::Damaged => {
                    return Err(StoreError::NotFound { what: format!("intact copy of {path}") });
                }
            };
            let not_text = |at| StoreError::NotText { path: path.to_string(), at };
            String::from_utf8(bytes).map(Some).map_err(|bad| not_text(bad.utf8_error().valid_up_to()))
        })
        .await
    }
}
