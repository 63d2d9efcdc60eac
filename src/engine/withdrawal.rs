//! Withdrawing a work: the files that it changed become what they were before it, and no request to a model contains its
//! messages any more. Reapplying it restores both.
//!
//! The files are changed first, and then the fact is recorded. A crash in between leaves a work that is not withdrawn
//! although some of its files are what they were before; the next withdrawal of it finds them done and completes the rest.

use super::actor::Command;
use super::documents::{FileConflict, WorkChanges, WorkFile, WorkReversal};
use super::{Direction, Engine, EngineError, IfMissing};
use crate::domain::{EntryPath, Session, SessionId, WithdrawnWork, WorkId};
use crate::store::{NotKeptFile, StoreError, not_kept};
use crate::tools::files::PlannedUndo;

/// What a person wants of a work.
#[derive(Clone, Debug)]
pub struct WithdrawRequest {
    pub work_id: WorkId,
    /// [`Direction::Undo`] withdraws it, [`Direction::Redo`] reapplies it.
    pub direction: Direction,
    /// Files that stay as they are.
    pub keep: Vec<EntryPath>,
}

/// Why a work was not withdrawn or reapplied, and what to do. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawRefused {
    #[error("this conversation has no work {0}")]
    NoWork(WorkId),
    #[error("this work is withdrawn; reapply it to have its changes back")]
    Withdrawn,
    #[error("this work is not withdrawn")]
    NotWithdrawn,
    #[error("the messages of this work are compacted into a summary; restore them first")]
    Compacted,
    #[error("a command of this work is still running in the background; stop the command first")]
    JobRunning,
    #[error("this work did not change {0}, so there is nothing to keep; nothing was changed")]
    NotChanged(EntryPath),
    #[error("later works changed the same files ({}); withdraw those first, or keep the files", in_line(.files))]
    LaterWorks { files: Vec<EntryPath>, works: Vec<WorkId> },
    #[error("earlier works changed the same files ({}); reapply those first, or keep the files", in_line(.files))]
    EarlierWorks { files: Vec<EntryPath>, works: Vec<WorkId> },
    #[error("changed since: {}; nothing was changed. Keep these files as they are, or restore them first", .0.join(", "))]
    ChangedSince(Vec<String>),
    #[error("{}; nothing was changed. Keep these files as they are", not_kept(.0))]
    NotKept(Vec<NotKeptFile>),
    #[error(transparent)]
    Store(StoreError),
}

fn in_line(files: &[EntryPath]) -> String {
    files.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl From<StoreError> for WithdrawRefused {
    fn from(error: StoreError) -> Self {
        match error {
            // A file changed between the comparison and the write.
            StoreError::Conflict { path, .. } | StoreError::NotFound { what: path } => Self::ChangedSince(vec![path]),
            StoreError::NotKept { files } => Self::NotKept(files),
            other => Self::Store(other),
        }
    }
}

impl WithdrawRefused {
    /// Returns an error if one of the files cannot become what it is to become. Works that come first are named before
    /// files that have changed since.
    pub(super) fn check(files: &[WorkFile], keep: &[EntryPath], direction: Direction) -> Result<(), Self> {
        if let Some(other) = keep.iter().find(|path| files.iter().all(|file| file.path != **path)) {
            return Err(Self::NotChanged(other.clone()));
        }
        let (mut built_on, mut works) = (Vec::new(), Vec::<WorkId>::new());
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for WorkFile { path, conflict, .. } in files {
            match conflict {
                Some(FileConflict::Works(others)) => {
                    built_on.push(path.clone());
                    let unknown: Vec<_> = others.iter().filter(|work| !works.contains(work)).cloned().collect();
                    works.extend(unknown);
                }
                Some(FileConflict::ChangedSince) => changed.push(path.to_string()),
                Some(FileConflict::NotKept(file)) => missing.push(file.clone()),
                None => {}
            }
        }
        match direction {
            Direction::Undo if !works.is_empty() => Err(Self::LaterWorks { files: built_on, works }),
            Direction::Redo if !works.is_empty() => Err(Self::EarlierWorks { files: built_on, works }),
            Direction::Undo | Direction::Redo if !changed.is_empty() => Err(Self::ChangedSince(changed)),
            Direction::Undo | Direction::Redo if !missing.is_empty() => Err(Self::NotKept(missing)),
            Direction::Undo | Direction::Redo => Ok(()),
        }
    }
}

/// What taking back one file of a work would do: call by call, and with the whole work.
pub struct PreviewedFile {
    pub file: WorkFile,
    /// `None` if no call that is done changed it.
    pub undo: Option<PlannedUndo>,
}

impl Engine {
    /// Withdraws a work or reapplies it. Returns what became of each file that it changed.
    ///
    /// # Errors
    /// Returns [`EngineError::Busy`] while a run is under way, and [`EngineError::Withdraw`] if the work is refused.
    pub async fn withdraw(&self, id: &SessionId, request: WithdrawRequest) -> Result<Vec<WorkFile>, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Withdraw { request: request.clone(), reply }).await
    }

    /// Returns what taking back all changes of a work to files would do. Skips changes that are already undone, and so all
    /// of a withdrawn work.
    ///
    /// # Errors
    /// Returns [`EngineError::Busy`] while a run is under way.
    pub async fn preview_undo(&self, id: &SessionId, work: &WorkId) -> Result<Vec<PreviewedFile>, EngineError> {
        let session = self.view(id).await?.session;
        if session.running().is_some() {
            return Err(EngineError::Busy);
        }
        let documents = &self.tenant.documents;
        let undos = documents.plan_undo(id, session.standing_calls_of(work)).await?;
        let files = documents.plan_work(id, withdrawal_of(&session, work, Vec::new())).await?;
        let both = files
            .into_iter()
            .map(|file| PreviewedFile { undo: undos.iter().find(|undo| undo.path == file.path).cloned(), file });
        Ok(both.collect())
    }
}

/// Returns what withdrawing a work takes back. Later works come first.
pub(super) fn withdrawal_of(session: &Session, work_id: &WorkId, keep: Vec<EntryPath>) -> WorkReversal {
    let changes = WorkChanges {
        work_id: work_id.clone(),
        calls: session.changing_calls_of(work_id),
        stopped: session.stopped_calls_of(work_id),
        except: Vec::new(),
    };
    let others = session.works_after(work_id).map(|work| WorkChanges {
        work_id: work.work_id.clone(),
        calls: session.standing_calls_of(&work.work_id),
        stopped: Vec::new(),
        except: Vec::new(),
    });
    WorkReversal { direction: Direction::Undo, others: others.collect(), changes, keep }
}

/// Returns what reapplying a work makes again. Earlier works that are withdrawn come first.
pub(super) fn reapplication_of(session: &Session, withdrawn: &WithdrawnWork, keep: Vec<EntryPath>) -> WorkReversal {
    let taken_back = |withdrawn: &WithdrawnWork| WorkChanges {
        work_id: withdrawn.work_id.clone(),
        calls: session.withdrawn_calls_of(withdrawn),
        stopped: Vec::new(),
        except: withdrawn.kept.iter().filter_map(|path| EntryPath::parse(path).ok()).collect(),
    };
    let others = session.withdrawn_before(&withdrawn.work_id).map(taken_back).collect();
    WorkReversal { direction: Direction::Redo, changes: taken_back(withdrawn), keep, others }
}
