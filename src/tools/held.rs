//! Changes of commands that are kept apart until a person has seen them.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::EndRun;
use super::captured::{Captures, CommandChanges, refusal, shown};
use super::files::{FileFacts, LineCount, Side, facts, line_count};
use super::observed::{CallKey, ObservedRun};
use crate::domain::runs_later::{EntryKind, runs_later};
use crate::domain::visible::visible;
use crate::domain::{EgressAttempts, Rehearsed, SessionId, ToolAnswer, UnkeptFile};
use crate::store::{
    AppliedChanges, Capture, CapturedCall, CapturedEntry, LayerChanges, NodeKind, RecordedContent, StoreError,
    captured_entries,
};

/// Time for counting the lines of all files together.
const COUNT_TIME: Duration = Duration::from_secs(2);
/// Maximum size of a content that is shown, in bytes.
const SHOWN_SIZE: u64 = 10 << 20;
/// Maximum number of entries that cannot be applied, or not be brought back, that are named in a question.
const NAMED: usize = 20;
/// What the model is told if a call was stopped before a person could be asked about its changes.
const STOPPED_BEFORE_QUESTION: &str =
    "its changes of files were discarded, because other programs run some of these files later and nobody was asked";

/// A call that was run with its changes of files kept apart.
pub struct Rehearsal {
    pub answer: ToolAnswer,
    pub changes: HeldChanges,
}

/// The end of a call's commands, with their changes kept apart.
pub struct EndedRun {
    pub answer: ToolAnswer,
    pub changes: HeldChanges,
    /// If a person stopped them: the hosts that they had tried to reach.
    pub stopped: Option<EgressAttempts>,
}

impl EndedRun {
    /// Applies the changes, those of a stopped call as far as it came: it was allowed to make them. If there are files among
    /// them that other programs run later, all of them go to `held`, so that a person is asked first; those of a stopped call
    /// are discarded.
    pub async fn applied(self, call: CallKey, held: Option<&Mutex<HeldChanges>>) -> Result<ToolAnswer, EndRun> {
        if let Some(held) = held.filter(|_| !self.changes.runs_later().is_empty()) {
            return match self.stopped {
                None => {
                    *held.lock().unwrap_or_else(PoisonError::into_inner) = self.changes;
                    Ok(self.answer)
                }
                Some(egress_attempts) => {
                    let text = format!("{}\n[{STOPPED_BEFORE_QUESTION}]", self.answer.text);
                    Err(EndRun::Cancelled { text, egress_attempts })
                }
            };
        }
        let answer = self.changes.apply(call.session, call.call_id).await.add_to(self.answer);
        match self.stopped {
            None => Ok(answer),
            Some(egress_attempts) => Err(EndRun::Cancelled { text: answer.text, egress_attempts }),
        }
    }

    /// Keeps the changes apart for a person. Those of a stopped call are discarded.
    pub fn held(self) -> Result<Rehearsal, EndRun> {
        match self.stopped {
            None => Ok(Rehearsal { answer: self.answer, changes: self.changes }),
            Some(egress_attempts) => Err(EndRun::Cancelled { text: self.answer.text, egress_attempts }),
        }
    }
}

/// What the commands of a call changed, not applied yet. Dropping it discards the changes.
#[derive(Default)]
pub struct HeldChanges {
    held: Option<Arc<Held>>,
    /// Changes that the commands have made themselves, not recorded yet.
    observed: Option<ObservedRun>,
    /// Why the changes could not be read; they are discarded then.
    error: Option<String>,
    /// Hosts that the commands tried to reach.
    attempts: EgressAttempts,
}

/// The changes of a rehearsal, for those who show and apply them.
pub struct Held {
    captures: Captures,
    changes: LayerChanges,
    /// Absent once they are applied.
    capture: Mutex<Option<Capture>>,
    entries: Mutex<Arc<[CapturedEntry]>>,
}

/// An entry that a rehearsed call would change.
pub struct RehearsedFile {
    /// Relative to the project's folder. What is not visible text is escaped, so that no two paths are the same.
    pub path: String,
    pub before: Option<FileFacts>,
    pub after: Option<FileFacts>,
    /// `None` if one of the contents is not text, or if counting all files took too long.
    pub lines: Option<LineCount>,
}

impl HeldChanges {
    pub(super) fn new(captures: Captures, capture: Capture, changes: LayerChanges) -> Self {
        let (capture, entries) = (Mutex::new(Some(capture)), Mutex::new(Vec::new().into()));
        Self { held: Some(Arc::new(Held { captures, changes, capture, entries })), ..Self::default() }
    }

    pub(super) fn failed(error: &StoreError) -> Self {
        Self { error: Some(error.to_string()), ..Self::default() }
    }

    pub(super) fn with_attempts(self, attempts: EgressAttempts) -> Self {
        Self { attempts, ..self }
    }

    pub(super) fn observed(observed: ObservedRun) -> Self {
        Self { observed: Some(observed), ..Self::default() }
    }

    /// Returns whether there is nothing in it that can be applied.
    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.observed.is_none()
    }

    /// Returns the files that were created or changed and that other programs run later, as people see them. What a process
    /// has changed in the folder itself is not among them.
    pub fn runs_later(&self) -> Vec<String> {
        let entries = self.held.iter().flat_map(|held| &held.changes.entries);
        let run_later = entries.filter(|entry| {
            let kind = match entry.after.as_ref().map(|after| &after.kind) {
                Some(NodeKind::File) => EntryKind::File,
                Some(NodeKind::Link(_)) => EntryKind::Link,
                Some(NodeKind::Folder | NodeKind::Special) | None => return false,
            };
            runs_later(&entry.path.to_string_lossy(), kind)
        });
        run_later.map(|entry| shown(&entry.path)).collect()
    }

    /// Returns whether the changes could not be read when the commands had ended. They are discarded then.
    pub fn are_unread(&self) -> bool {
        self.error.is_some()
    }

    /// Returns what a person is shown before the changes are applied. Changes of times alone are not shown.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be read.
    pub async fn rehearsed(&self, answer: &ToolAnswer) -> Result<Rehearsed, StoreError> {
        let (entries, not_kept) = match self.held.clone().filter(|held| !held.changes.entries.is_empty()) {
            Some(held) => {
                let read = tokio::task::spawn_blocking(move || {
                    let entries = held.read()?;
                    Ok((entries, held.captures.home().not_kept_of(&held.changes)))
                });
                read.await.unwrap_or(Err(StoreError::ShutDown))?
            }
            None => (Vec::new().into(), Vec::new()),
        };
        let hash = CapturedEntry::hash(&entries);
        let count = |counts: &dyn Fn(&CapturedEntry) -> bool| entries.iter().filter(|entry| counts(entry)).count();
        let created = count(&|entry| entry.before.is_none());
        let deleted = count(&|entry| entry.after.is_none());
        let refused = self.held.iter().flat_map(|held| &held.changes.refused).take(NAMED);
        let refused = refused.map(|refused| format!("{}: {}", shown(&refused.path), refusal(refused.why)));
        let rehearsed = Rehearsed {
            outcome: answer.message.clone(),
            output: answer.text.clone(),
            created,
            changed: entries.len() - created - deleted,
            deleted,
            refused: refused.collect(),
            runs_later: self.runs_later(),
            hosts: self.attempts.hosts.iter().map(|attempt| visible(&attempt.host)).collect(),
            more_hosts: self.attempts.more,
            more_not_kept: not_kept.len().saturating_sub(NAMED) as u64,
            not_kept: not_kept
                .into_iter()
                .take(NAMED)
                .map(|(path, size, why)| UnkeptFile { path: shown(&path), size, why })
                .collect(),
            hash: hash.clone(),
        };
        if let Some(held) = &self.held {
            held.captures.show(hash, held);
        }
        Ok(rehearsed)
    }

    /// Applies the changes, and keeps what was there for an undo.
    pub async fn apply(self, session: SessionId, call_id: String) -> CommandChanges {
        if let Some(observed) = self.observed {
            return observed.end().await;
        }
        let Some(held) = &self.held else { return CommandChanges::of(AppliedChanges::default(), self.error.clone()) };
        let Some(capture) = held.lock().take() else { return CommandChanges::default() };
        let changes = held.changes.clone();
        if changes.entries.is_empty() {
            remove(capture);
            return CommandChanges::of(AppliedChanges { refused: changes.refused, ..Default::default() }, None);
        }
        let root = held.captures.root().clone();
        match held.captures.apply(CapturedCall { session, call_id, root, capture, changes }).await {
            Ok(applied) => CommandChanges::of(applied, None),
            Err(error) => CommandChanges::of(AppliedChanges::default(), Some(error.to_string())),
        }
    }

    /// Like [`Self::apply`], for changes that a person has approved: exactly those, or none.
    pub async fn apply_approved(self, session: SessionId, call_id: String) -> CommandChanges {
        if let Some(held) = self.held.clone() {
            let unchanged = tokio::task::spawn_blocking(move || held.is_unchanged()).await.unwrap_or(false);
            if !unchanged {
                let why = "the files were changed by somebody else after this was shown to the user; run it again";
                return CommandChanges::of(AppliedChanges::default(), Some(why.to_owned()));
            }
        }
        self.apply(session, call_id).await
    }
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Option<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<Arc<[CapturedEntry]>, StoreError> {
        let capture = self.lock();
        let Some(capture) = capture.as_ref() else { return Ok(Vec::new().into()) };
        let entries: Arc<[CapturedEntry]> = captured_entries(capture, &self.changes)?.into();
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = entries.clone();
        Ok(entries)
    }

    /// Returns whether the folder is still what it was when the changes were read.
    fn is_unchanged(&self) -> bool {
        let capture = self.lock();
        let now = capture.as_ref().and_then(|capture| capture.changes().ok());
        now.is_some_and(|now| now.entries == self.changes.entries)
    }

    fn entries(&self) -> Arc<[CapturedEntry]> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns all entries that would change, the deleted ones first. Blocks.
    pub fn files(&self) -> Vec<RehearsedFile> {
        let until = Instant::now() + COUNT_TIME;
        let entries = self.entries();
        let files = entries.iter().map(|entry| {
            let known = |side| {
                let state = match side {
                    Side::Before => entry.before.as_ref()?,
                    Side::After => entry.after.as_ref()?,
                };
                Some(facts(state, self.content_of(entry, side)))
            };
            let contents = [known(Side::Before), known(Side::After)];
            let lines = line_count([&contents[0], &contents[1]], until);
            let [before, after] = contents.map(|content| content.map(|(facts, _)| facts));
            RehearsedFile { path: shown(&entry.path), before, after, lines }
        });
        let (mut deleted, others): (Vec<_>, Vec<_>) = files.partition(|file| file.after.is_none());
        deleted.extend(others);
        deleted
    }

    /// Returns the content of an entry, by the path that [`Self::files`] returns. Blocks.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such entry or content, and [`StoreError::TooLarge`] for more than
    /// 10 MiB.
    pub fn content(&self, path: &str, side: Side) -> Result<Vec<u8>, StoreError> {
        let missing = || StoreError::NotFound { what: format!("content of {path} in this rehearsal") };
        let entries = self.entries();
        let entry = entries.iter().find(|entry| shown(&entry.path) == path).ok_or_else(missing)?;
        match self.content_of(entry, side) {
            RecordedContent::Bytes(bytes) => Ok(bytes),
            RecordedContent::TooLarge { size, limit } => {
                Err(StoreError::TooLarge { path: path.to_owned(), size, limit })
            }
            RecordedContent::NotKept { .. } | RecordedContent::Dropped { .. } | RecordedContent::Damaged => {
                Err(missing())
            }
        }
    }

    fn content_of(&self, entry: &CapturedEntry, side: Side) -> RecordedContent {
        let state = match side {
            Side::Before => &entry.before,
            Side::After => &entry.after,
        };
        let Some(state) = state else { return RecordedContent::Damaged };
        if let Some(target) = state.link_target() {
            return RecordedContent::Bytes(target.as_os_str().as_encoded_bytes().to_vec());
        }
        let capture = self.lock();
        let contents = capture.as_ref().and_then(|capture| capture.contents(&self.changes).ok());
        let opened = contents.and_then(|contents| match side {
            Side::Before => contents.before(entry.number).ok()?,
            Side::After => contents.after(entry.number).ok()?,
        });
        let Some(file) = opened else { return RecordedContent::Bytes(Vec::new()) };
        let size = file.metadata().map_or(0, |meta| meta.len());
        if size > SHOWN_SIZE {
            return RecordedContent::TooLarge { size, limit: SHOWN_SIZE };
        }
        let mut bytes = Vec::new();
        match file.take(SHOWN_SIZE).read_to_end(&mut bytes) {
            Ok(_) => RecordedContent::Bytes(bytes),
            Err(_) => RecordedContent::Damaged,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(capture) = self.lock().take() {
            remove(capture);
        }
    }
}

/// The rehearsals whose changes wait for a person, by the hash of the changes.
#[derive(Default)]
pub struct Waiting(Mutex<BTreeMap<String, Vec<Weak<Held>>>>);

impl Waiting {
    pub fn add(&self, hash: String, held: &Arc<Held>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, held| held.iter().any(|held| held.strong_count() > 0));
        all.entry(hash).or_default().push(Arc::downgrade(held));
    }

    /// Returns one of the rehearsals with these changes: they show the same.
    pub fn get(&self, hash: &str) -> Option<Arc<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(hash)?.iter().find_map(Weak::upgrade)
    }
}

/// Removes a capture in the background.
pub(super) fn remove(capture: Capture) {
    let remove = move || {
        if let Err(error) = capture.remove() {
            tracing::warn!(%error, "the capture of a command could not be removed; the next start does it");
        }
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(remove)),
        Err(_) => remove(),
    }
}
