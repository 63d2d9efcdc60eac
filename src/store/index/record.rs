//! Records what an observed call changed: the same record as that of a captured command.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copies::Copies;
use super::look::{Entry, Look, MAX_ENTRIES};
use super::observations::Change;
use super::walk::{LeftOut, LeftOutReason};
use super::{FolderNoter, Observation};
use crate::domain::{Commit, EntryPath, SessionId};
use crate::store::blobs::Blobs;
use crate::store::capture::{Beneath, NodeKind};
use crate::store::changes::{RecordGap, RecordedChange, RecordedChanges, file_name};
use crate::store::error::StoreError;
use crate::store::git::{self, Repositories};
use crate::store::home::{Home, lock};
use crate::store::kept_bound::Room;
use crate::store::recorded_state::RecordedState;

/// The hash of a content that was never read. No content has it, so nothing is ever taken for this content.
const UNREAD: &str = "";

/// A call that has ended, with the observation of its changes.
pub struct ObservedCall {
    pub session: SessionId,
    pub call_id: String,
    pub observation: Observation,
}

/// What a call changed, as far as it was observed.
#[derive(Debug, Default)]
pub struct ObservedChanges {
    pub recorded: Vec<RecordedChange>,
    /// Files whose content before the call is not kept, with its size in bytes: the record has them, and an undo is refused.
    pub not_kept: Vec<(PathBuf, u64)>,
    /// The commits that were made. They stay when the changes are undone.
    pub commits: Vec<Commit>,
    /// What nobody looked at: mounts and unreadable folders, and special files that are new.
    pub left_out: Vec<LeftOut>,
    /// Why the record lacks a part of what the call changed.
    pub gap: Option<RecordGap>,
    /// The folder had more than 50,000 entries before the call, so nothing is recorded.
    pub is_too_large: bool,
}

impl Home {
    /// Looks at the folder after a call, and records what the call changed. If the call has a record already, it becomes
    /// the union of both. If the disk is full, or if the folder has more than 50,000 entries by now, the record contains
    /// what is known, and why it lacks the rest.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed, or if the record cannot be written; then there is none.
    pub(in crate::store) fn record_observed(&self, call: ObservedCall) -> Result<ObservedChanges, StoreError> {
        self.record_looked_at(call, MAX_ENTRIES)
    }

    /// Like [`Self::record_observed`], with the maximum number of entries that a look takes in.
    pub(super) fn record_looked_at(&self, call: ObservedCall, most: usize) -> Result<ObservedChanges, StoreError> {
        let ObservedCall { session, call_id, observation } = call;
        let doing = || StoreError::io("looking at the project after a command");
        let (index, copies) = (self.indexes().of(&observation.root), self.copies(&observation.root)?);
        // Held until the record is written: the next look removes the copies that no call under way needs.
        let _one_look = lock(&index.looking);
        let recent = index.last();
        let before = index.observations.before(observation.id).unwrap_or_default();
        let after = Look::take_again(&observation.folder, (&before, recent.as_deref()), most).map_err(doing())?;
        let after = Arc::new(after);
        let noter =
            FolderNoter { folder: &observation.folder, copies: Some(copies.clone()), last: Some(after.clone()) };
        let changes = index.observations.end(observation.id, &after, &noter);
        let left_out = new_left_out(recent.as_deref(), &after);
        let gap = after.is_cut.then_some(RecordGap::TooManyFiles);
        *lock(&index.last) = Some(after);
        let mut observed = ObservedChanges { left_out, gap, ..ObservedChanges::default() };
        if changes.is_empty() && gap.is_none() {
            return Ok(observed);
        }
        observed.commits = commits(&observation, &changes);
        let deleted = changes.iter().filter(|(_, [_, after])| after.is_none()).map(|(path, _)| path.as_path());
        let repositories = Repositories::without(deleted);
        let of_project = changes.iter().filter(|(path, [_, after])| !repositories.own_path(path, after.is_none()));
        let (mut is_full, mut blobs) = (false, self.blobs(&session));
        if matches!(blobs, Err(StoreError::DiskFull)) {
            // The reserve is for the record: no content is kept once it is needed.
            is_full = true;
            blobs = self.in_reserve(|| self.blobs(&session));
        }
        let keeper = Keeper { blobs: blobs?, copies: &copies, is_full };
        for (path, change) in of_project {
            let is_kept = match keeper.keep(path, change) {
                Err(StoreError::DiskFull) => {
                    observed.gap = Some(RecordGap::DiskFull);
                    false
                }
                kept => kept?,
            };
            let Some(mut recorded) = recorded(&observation, path, change) else { continue };
            if let Some(before) = recorded.before.as_mut().filter(|_| !is_kept) {
                observed.not_kept.push((path.clone(), before.size.unwrap_or_default()));
                before.is_dropped = true;
            }
            observed.recorded.push(recorded);
        }
        if let Err(error) = keeper.blobs.sync() {
            tracing::warn!(%error, "what files were may not survive a power cut");
        }
        self.add_to_record((&session, &call_id), &mut observed)?;
        Ok(observed)
    }

    /// Writes the record of a call, united with the one that it has.
    fn add_to_record(
        &self,
        (session, call_id): (&SessionId, &str),
        ObservedChanges { recorded: changes, gap, .. }: &mut ObservedChanges,
    ) -> Result<(), StoreError> {
        let (earlier, earlier_gap) = self.session_files(session).recorded_with_gap(call_id)?;
        if let RecordedChanges::Files(earlier) = earlier {
            *gap = gap.or(earlier_gap);
            let mut all: BTreeMap<String, RecordedChange> =
                earlier.into_iter().map(|change| (change.path.to_string(), change)).collect();
            for change in changes.drain(..) {
                match all.get_mut(&change.path.to_string()) {
                    Some(earlier) => earlier.after = change.after,
                    None => drop(all.insert(change.path.to_string(), change)),
                }
            }
            changes.extend(all.into_values().filter(|change| change.before != change.after));
        } else if changes.is_empty() && gap.is_none() {
            return Ok(());
        }
        self.in_reserve(|| self.write_changes(session, &file_name(call_id), (changes, *gap)))
    }
}

/// Returns the commits that the call added to the logs of repositories.
fn commits(observation: &Observation, changes: &BTreeMap<PathBuf, Change>) -> Vec<Commit> {
    let of_log = changes.iter().filter_map(|(path, [before, _])| {
        let length = before.as_ref().map_or(0, |before| before.node.size);
        git::commits_of_log(path, length, || Beneath::open(&observation.folder).ok()?.file(path).ok())
    });
    of_log.flatten().take(git::LISTED).collect()
}

/// Returns the change as a record has it; `None` if only a pipe, a socket or a device came or went, or if the path is longer
/// than the kernel resolves.
fn recorded(observation: &Observation, path: &Path, [before, after]: &Change) -> Option<RecordedChange> {
    let (before, after) = (state(before.as_ref()), state(after.as_ref()));
    if before.is_none() && after.is_none() {
        return None;
    }
    Some(RecordedChange { path: EntryPath::new(observation.root.clone(), path).ok()?, before, after })
}

/// Returns the state of an entry as a record has it. A pipe, a socket or a device counts as nothing.
fn state(entry: Option<&Entry>) -> Option<RecordedState> {
    let entry = entry?;
    let hash = entry.hash().unwrap_or(UNREAD);
    match &entry.node.kind {
        NodeKind::File => Some(RecordedState::of_file(hash.to_owned(), entry.node.size, entry.node.mode)),
        NodeKind::Folder => Some(RecordedState::of_folder(entry.node.mode)),
        NodeKind::Link(target) => Some(RecordedState::of_link(target)),
        NodeKind::Special => None,
    }
}

/// Returns what a look leaves out and the model should know: mounts and unreadable folders always, special files if they
/// are new.
fn new_left_out(before: Option<&Look>, after: &Look) -> Vec<LeftOut> {
    let is_new = |left: &LeftOut| before.is_none_or(|before| before.left_out.binary_search(left).is_err());
    let told = after.left_out.iter().filter(|left| left.why != LeftOutReason::Special || is_new(left));
    told.cloned().collect()
}

struct Keeper<'a> {
    /// The contents that are kept for the session.
    blobs: Blobs,
    copies: &'a Copies,
    /// Whether the disk is full, so that no content is kept.
    is_full: bool,
}

impl Keeper<'_> {
    /// Keeps what a file was, from its copy. Returns whether an undo has what it needs; it needs no content for a mode.
    fn keep(&self, path: &Path, [before, after]: &Change) -> Result<bool, StoreError> {
        let Some(before) = before.as_ref().filter(|before| before.node.kind == NodeKind::File) else { return Ok(true) };
        if after.as_ref().is_some_and(|after| after.node.kind == NodeKind::File && before.has_content_of(after)) {
            return Ok(true);
        }
        let kept = before.hash().map_or(Ok(false), |hash| self.keep_copy(hash));
        kept.map_err(StoreError::io(format!("keeping what {} was, for an undo", path.display())))
    }

    /// Returns `false` if there is no copy, if it is damaged, or if there is no room for it.
    fn keep_copy(&self, hash: &str) -> io::Result<bool> {
        if self.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let Some(copy) = self.copies.file(hash) else { return Ok(false) };
        let (kept, room) = self.blobs.keep(copy)?;
        Ok(kept.hash == hash && room == Room::Made)
    }
}
