//! Takes back everything that a work changed in files, as one change, and does it again. Nothing here decides whether the
//! work may be withdrawn.
//!
//! A file that is already what it is to become counts as done. So if a crash happens between the change of the files and
//! the record of it, or between two files, the same request completes what was begun.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::{Direction, Documents};
use crate::domain::{EntryPath, SessionId, WorkId};
use crate::engine::EngineError;
use crate::engine::withdrawal::WithdrawRefused;
use crate::store::{Home, NotKeptFile, RecordedChange, RecordedChanges, RecordedState, SessionFiles, StoreError};
use crate::tools::files::same_content;

/// The changes of a work that count.
#[derive(Clone, Debug)]
pub struct WorkChanges {
    pub work_id: WorkId,
    /// The calls that made them, oldest first.
    pub calls: Vec<String>,
    /// Those of the calls that a person or the server stopped. A change of theirs counts if the file shows it.
    pub stopped: Vec<String>,
    /// Files whose changes do not count.
    pub except: Vec<EntryPath>,
}

/// What is to be done with the changes of a work.
#[derive(Clone, Debug)]
pub struct WorkReversal {
    pub direction: Direction,
    pub changes: WorkChanges,
    /// Files that stay as they are.
    pub keep: Vec<EntryPath>,
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
    /// What it is to become is not kept any more.
    NotKept(NotKeptFile),
}

/// One file that a work changed.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkFile {
    pub path: EntryPath,
    /// The calls that changed it, oldest first.
    pub calls: Vec<String>,
    pub effect: FileEffect,
    pub conflict: Option<FileConflict>,
    /// The change to make; `None` if the file is already what it is to become, or is kept.
    change: Option<RecordedChange>,
}

/// All changes of a file by one work, as one.
struct FileHistory {
    change: RecordedChange,
    calls: Vec<String>,
    /// Whether each of them began with what the one before it had left.
    is_continuous: bool,
    /// The last change, if its call was stopped: it may not have been made.
    uncertain: Option<(String, RecordedChange)>,
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
        let (home, direction, keep) = (self.store.home.clone(), wanted.direction, wanted.keep.clone());
        let of_session = session.clone();
        let planned = tokio::task::spawn_blocking(move || plan(&home, &of_session, &wanted)).await;
        let files = planned.map_err(|_| StoreError::ShutDown)??;
        WithdrawRefused::check(&files, &keep, direction)?;
        let changes = files.iter().filter_map(|file| file.change.clone()).collect();
        self.revert(session, changes).await.map_err(WithdrawRefused::from)?;
        Ok(files)
    }
}

fn plan(home: &Home, session: &SessionId, wanted: &WorkReversal) -> Result<Vec<WorkFile>, StoreError> {
    let kept = home.session_files(session);
    let WorkChanges { calls, stopped, except, .. } = &wanted.changes;
    let mut histories = Histories::default();
    for call in calls {
        let changes = match kept.recorded_changes(call)? {
            RecordedChanges::Files(changes) => changes,
            // Nothing is known of its files, so none of them is touched.
            RecordedChanges::Missing | RecordedChanges::Foreign | RecordedChanges::Damaged => continue,
        };
        for change in changes.into_iter().filter(|change| !except.contains(&change.path)) {
            let file = histories.of(&change);
            file.settle(&change.before);
            match stopped.contains(call) {
                true => file.uncertain = Some((call.clone(), change)),
                false => file.add(call, change),
            }
        }
    }
    let Histories { files, places } = histories;
    let mut works: Vec<Vec<WorkId>> = vec![Vec::new(); files.len()];
    for WorkChanges { work_id, calls, except, .. } in &wanted.others {
        for call in calls {
            for path in kept.changed_paths(call)?.into_iter().filter(|path| !except.contains(path)) {
                let of_file = places.get(&path).map(|at| &mut works[*at]);
                if let Some(of_file) = of_file.filter(|of_file| !of_file.contains(work_id)) {
                    of_file.push(work_id.clone());
                }
            }
        }
    }
    files.into_iter().zip(works).map(|(file, works)| file.planned((home, &kept), wanted, works)).collect()
}

/// The changes of files so far, in the order in which the work first changed them.
#[derive(Default)]
struct Histories {
    files: Vec<FileHistory>,
    /// Where in `files` each path is.
    places: HashMap<EntryPath, usize>,
}

impl Histories {
    /// Returns the changes of a file so far, to which this one comes next.
    fn of(&mut self, RecordedChange { path, before, .. }: &RecordedChange) -> &mut FileHistory {
        let at = *self.places.entry(path.clone()).or_insert_with(|| {
            let change = RecordedChange { path: path.clone(), before: before.clone(), after: before.clone() };
            self.files.push(FileHistory { change, calls: Vec::new(), is_continuous: true, uncertain: None });
            self.files.len() - 1
        });
        &mut self.files[at]
    }
}

impl FileHistory {
    fn add(&mut self, call: &str, next: RecordedChange) {
        self.is_continuous &= same_content(&self.change.after, &next.before);
        self.change.after = next.after;
        self.calls.push(call.to_owned());
    }

    /// Decides about an uncertain change: it was made if it left the content `found`.
    fn settle(&mut self, found: &Option<RecordedState>) {
        if let Some((call, change)) = self.uncertain.take()
            && same_content(&change.after, found)
        {
            self.add(&call, change);
        }
    }

    fn planned(
        mut self,
        (home, kept): (&Home, &SessionFiles),
        wanted: &WorkReversal,
        works: Vec<WorkId>,
    ) -> Result<WorkFile, StoreError> {
        let path = self.change.path.clone();
        let now = match home.entry_state(&path) {
            Ok(state) => Some(state),
            // Something else is there now, which no tool wrote.
            Err(StoreError::TooLarge { .. } | StoreError::NotAllowed { .. }) => None,
            Err(other) => return Err(other),
        };
        if let Some(now) = &now {
            self.settle(now);
        }
        let Self { change, calls, is_continuous, .. } = self;
        let change = if wanted.direction == Direction::Undo { change.reversed() } else { change };
        let as_it_is = WorkFile { path, calls, effect: FileEffect::Kept, conflict: None, change: None };
        if wanted.keep.contains(&change.path) {
            return Ok(as_it_is);
        }
        if is_continuous && change.before == change.after {
            return Ok(WorkFile { effect: FileEffect::Unchanged, ..as_it_is });
        }
        let is_done = now.as_ref().is_some_and(|now| is_target(now, &change));
        // What the file is to become must be kept, unless it has that content anyway.
        let can_be_done = change.after.as_ref().is_none_or(|after| {
            now.as_ref().and_then(Option::as_ref).is_some_and(|now| now.has_content_of(after)) || kept.is_intact(after)
        });
        let has_content_left = now.as_ref().is_some_and(|now| same_content(now, &change.before));
        let not_kept = change.after.as_ref().filter(|after| !can_be_done && !kept.is_kept(after));
        let not_kept = not_kept.map(|after| NotKeptFile::of(&change.path, after));
        let is_as_left = can_be_done && has_content_left;
        let conflict = if !works.is_empty() {
            Some(FileConflict::Works(works))
        } else if is_continuous && (is_done || is_as_left) {
            None
        } else if let Some(missing) = not_kept.filter(|_| is_continuous && has_content_left) {
            Some(FileConflict::NotKept(missing))
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
fn is_target(now: &Option<RecordedState>, RecordedChange { before, after, .. }: &RecordedChange) -> bool {
    // A mode that a person has set since then stays, unless the work changed the mode.
    same_content(now, after)
        && (now == after
            || before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| before.has_mode_of(after)))
}
