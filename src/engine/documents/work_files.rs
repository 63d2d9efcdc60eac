//! Takes back everything that a work changed in files, as one change, and does it again. Nothing here decides whether the
//! work may be withdrawn.
//!
//! A file that is already what it is to become counts as done. So if a crash happens between the change of the files and
//! the record of it, or between two files, the same request completes what was begun.

#[cfg(test)]
mod tests;

use super::{Author, Change, Direction, Documents, to_the_end};
use crate::domain::{Place, SessionId, WorkId};
use crate::engine::EngineError;
use crate::engine::withdrawal::WithdrawRefused;
use crate::store::{ChangeSet, FileChange, FileState, Home, OwnedHome, StoreError, TreeChange};

/// The changes of a work that count.
#[derive(Clone, Debug)]
pub struct WorkChanges {
    pub work_id: WorkId,
    /// The calls that made them, oldest first.
    pub calls: Vec<String>,
    /// Those of the calls that a person or the server stopped. A change of theirs counts if the file shows it.
    pub stopped: Vec<String>,
    /// Files whose changes do not count.
    pub except: Vec<Place>,
}

/// What is to be done with the changes of a work.
#[derive(Clone, Debug)]
pub struct WorkReversal {
    pub direction: Direction,
    pub changes: WorkChanges,
    /// Files that stay as they are.
    pub keep: Vec<Place>,
    /// Works that come first if they changed the same files.
    pub others: Vec<WorkChanges>,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileEffect {
    Deleted,
    Created,
    Changed,
    /// It is already what it is to become.
    Unchanged,
    /// It stays as it is, because a person keeps it.
    Kept,
}

/// Why a file stays as it is, unless a person keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileConflict {
    /// Its content is not what the work wrote, because something else changed it since, or the record of what the work wrote
    /// is damaged.
    ChangedSince,
    /// These works changed it too, and come first.
    Works(Vec<WorkId>),
}

/// One file that a work changed.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkFile {
    pub path: Place,
    /// The calls that changed it, oldest first.
    pub calls: Vec<String>,
    pub effect: FileEffect,
    pub conflict: Option<FileConflict>,
    /// The change to make; `None` if the file is already what it is to become, or is kept.
    change: Option<FileChange>,
}

/// All changes of a file by one work, as one.
struct NetChange {
    change: FileChange,
    calls: Vec<String>,
    /// Whether each of them began with what the one before it had left.
    is_continuous: bool,
    /// The last change, if its call was stopped: it may not have been made.
    uncertain: Option<(String, FileChange)>,
    /// Whether the record of one of them is damaged.
    is_damaged: bool,
}

impl Documents {
    /// Returns what becomes of each file, in the order in which the work first changed them. Changes nothing.
    pub async fn plan_work(&self, session: &SessionId, wanted: WorkReversal) -> Result<Vec<WorkFile>, EngineError> {
        let (home, session) = (self.store.home.clone(), session.clone());
        crate::engine::blocking(move || plan(&home, &session, &wanted)).await
    }

    /// Takes back the changes of a work, or makes them again: all of them or none. Returns what became of each file.
    ///
    /// # Errors
    /// Returns an error that names the files if other works come first, or if a file has changed since and is not kept.
    pub async fn change_work(
        &self,
        session: &SessionId,
        wanted: WorkReversal,
    ) -> Result<Vec<WorkFile>, WithdrawRefused> {
        let (home, session, direction) = (self.store.home.clone(), session.clone(), wanted.direction);
        let keep = wanted.keep.clone();
        let planned = tokio::task::spawn_blocking(move || plan(&home, &session, &wanted)).await;
        let files = planned.map_err(|_| StoreError::ShutDown)??;
        WithdrawRefused::check(&files, &keep, direction)?;
        let changes = ChangeSet(files.iter().filter_map(|file| file.change.clone()).collect());
        let documents = self.clone();
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let write = tree.commit(*claim, changes.0.iter().map(TreeChange::from).collect());
            documents.apply(Change::of(&changes), Author::Undo, write).await.map_err(WithdrawRefused::from)
        })
        .await?;
        Ok(files)
    }
}

fn plan(home: &Home, session: &SessionId, wanted: &WorkReversal) -> Result<Vec<WorkFile>, StoreError> {
    let kept = home.session_files(session);
    let WorkChanges { calls, stopped, except, .. } = &wanted.changes;
    let mut files: Vec<NetChange> = Vec::new();
    for call in calls {
        let Some(ChangeSet(changes)) = kept.kept_change(call)? else {
            let paths = kept.changed_paths(call)?.into_iter().filter(|path| !except.contains(path));
            paths.for_each(|path| net_change(&mut files, path, None).is_damaged = true);
            continue;
        };
        for change in changes.into_iter().filter(|change| !except.contains(&change.path)) {
            let file = net_change(&mut files, change.path.clone(), change.before.as_ref());
            file.settle(bytes(&change.before));
            match stopped.contains(call) {
                true => file.uncertain = Some((call.clone(), change)),
                false => file.add(call, change),
            }
        }
    }
    let mut works: Vec<Vec<WorkId>> = vec![Vec::new(); files.len()];
    for WorkChanges { work_id, calls, except, .. } in &wanted.others {
        for call in calls {
            for path in kept.changed_paths(call)?.into_iter().filter(|path| !except.contains(path)) {
                let of_file = files.iter().position(|file| file.change.path == path).map(|at| &mut works[at]);
                if let Some(of_file) = of_file.filter(|of_file| !of_file.contains(work_id)) {
                    of_file.push(work_id.clone());
                }
            }
        }
    }
    files.into_iter().zip(works).map(|(file, works)| file.planned(home, wanted, works)).collect()
}

/// Returns the changes of a file so far; it was `before` when the work first changed it.
fn net_change<'f>(files: &'f mut Vec<NetChange>, path: Place, before: Option<&FileState>) -> &'f mut NetChange {
    let at = files.iter().position(|file| file.change.path == path).unwrap_or_else(|| {
        let change = FileChange { path, before: before.cloned(), after: before.cloned() };
        files.push(NetChange { change, calls: Vec::new(), is_continuous: true, uncertain: None, is_damaged: false });
        files.len() - 1
    });
    &mut files[at]
}

impl NetChange {
    fn add(&mut self, call: &str, next: FileChange) {
        self.is_continuous &= bytes(&self.change.after) == bytes(&next.before);
        self.change.after = next.after;
        self.calls.push(call.to_owned());
    }

    /// Decides about an uncertain change: it was made if it left the content `found`.
    fn settle(&mut self, found: Option<&[u8]>) {
        if let Some((call, change)) = self.uncertain.take()
            && bytes(&change.after) == found
        {
            self.add(&call, change);
        }
    }

    fn planned(mut self, home: &Home, wanted: &WorkReversal, works: Vec<WorkId>) -> Result<WorkFile, StoreError> {
        let path = self.change.path.clone();
        let now = match home.file_state(&path) {
            Ok(state) => Some(state),
            // Something else is there now, which no tool wrote.
            Err(StoreError::TooLarge { .. } | StoreError::NotAllowed { .. }) => None,
            Err(other) => return Err(other),
        };
        if let Some(now) = &now {
            self.settle(bytes(now));
        }
        let Self { change, calls, is_continuous, is_damaged, .. } = self;
        let change = if wanted.direction == Direction::Undo { change.reversed() } else { change };
        let as_it_is = WorkFile { path, calls, effect: FileEffect::Kept, conflict: None, change: None };
        if wanted.keep.contains(&change.path) {
            return Ok(as_it_is);
        }
        if is_damaged {
            return Ok(WorkFile { conflict: Some(FileConflict::ChangedSince), ..as_it_is });
        }
        if is_continuous && change.before == change.after {
            return Ok(WorkFile { effect: FileEffect::Unchanged, ..as_it_is });
        }
        let is_done = now.as_ref().is_some_and(|now| is_target(now, &change));
        let is_as_left = now.as_ref().is_some_and(|now| bytes(now) == bytes(&change.before));
        let conflict = if !works.is_empty() {
            Some(FileConflict::Works(works))
        } else if is_continuous && (is_done || is_as_left) {
            None
        } else {
            Some(FileConflict::ChangedSince)
        };
        let exists = now.is_none_or(|now| now.is_some());
        let effect = match (exists, change.after.is_some()) {
            _ if is_done => FileEffect::Unchanged,
            (true, false) => FileEffect::Deleted,
            (false, true) => FileEffect::Created,
            (true, true) => FileEffect::Changed,
            (false, false) => FileEffect::Unchanged,
        };
        Ok(WorkFile { effect, conflict, change: Some(change).filter(|_| !is_done), ..as_it_is })
    }
}

/// Returns whether a file is already what the change makes of it.
fn is_target(now: &Option<FileState>, FileChange { before, after, .. }: &FileChange) -> bool {
    let mode = |state: &Option<FileState>| state.as_ref().map(|state| state.mode);
    bytes(now) == bytes(after) && (mode(now) == mode(after) || mode(before) == mode(after))
}

fn bytes(state: &Option<FileState>) -> Option<&[u8]> {
    state.as_ref().map(|state| state.bytes.as_slice())
}
