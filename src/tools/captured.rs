//! Captures what the commands of a call change in the project's folder, so that it can be undone.
//!
//! Where the sandbox has overlays, all commands of a call run above one layer, and what they changed is applied when the last
//! one has ended. Elsewhere they change the folder itself, which is looked at before and after ([`ObservedRun`]).

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::files::FileAccess;
use super::held::{Held, HeldChanges, Waiting, remove};
use super::observed::{CallKey, ObservedRun, notes};
use crate::domain::entry_path::escaped;
use crate::domain::visible::visible;
use crate::domain::{FolderOwner, Mask, Root, ToolAnswer};
use crate::sandbox::{Finished, Job, Network, OutputSink, Overlay, Sandbox, SandboxError};
use crate::store::{
    AppliedChanges, Capture, CapturedCall, Home, LeftReason, ObservedCall, ObservedChanges, RecordGap, RecordedChange,
    Refusal, StoreError,
};

/// Maximum number of changed files that an answer lists; the record has all of them.
const LISTED: usize = 200;
/// Why a change cannot be undone although it was applied.
const UNKEPT: &str = "what it was is not kept, because it is too large or the limit undo.kept_mib is reached";
/// Maximum number of entries of one kind that the model is told of.
const TOLD: usize = 5;

/// The port through which captured changes are applied. It runs to its end even if its future is dropped.
pub type ApplyCaptured =
    Arc<dyn Fn(CapturedCall) -> BoxFuture<'static, Result<AppliedChanges, StoreError>> + Send + Sync>;

/// The port through which changes are recorded that a call has made in the folder itself. It runs to its end even if its
/// future is dropped.
pub type RecordObserved =
    Arc<dyn Fn(ObservedCall) -> BoxFuture<'static, Result<ObservedChanges, StoreError>> + Send + Sync>;

/// Where the commands of a project are captured. Cheap to clone.
#[derive(Clone)]
pub struct Captures {
    files: FileAccess,
    root: Root,
    /// Why commands cannot be captured here, if an attempt has shown it.
    obstacle: Arc<OnceLock<String>>,
    waiting: Arc<Waiting>,
}

impl Captures {
    pub fn new(files: FileAccess, root: Root) -> Self {
        Self { files, root, obstacle: Arc::default(), waiting: Arc::default() }
    }

    /// Returns the captures of another project. What waits for a person is found in both.
    pub fn in_project(&self, root: Root) -> Self {
        Self { root, obstacle: Arc::default(), ..self.clone() }
    }

    pub(super) fn home(&self) -> &Home {
        &self.files.home
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    pub(super) async fn apply(&self, call: CapturedCall) -> Result<AppliedChanges, StoreError> {
        (self.files.apply_captured)(call).await
    }

    pub(super) async fn record(&self, call: ObservedCall) -> Result<ObservedChanges, StoreError> {
        (self.files.record_observed)(call).await
    }

    pub(super) fn show(&self, hash: String, held: &Arc<Held>) {
        self.waiting.add(hash, held);
    }

    /// Returns the changes that wait for a person, by their hash.
    pub fn waiting(&self, hash: &str) -> Option<Arc<Held>> {
        self.waiting.get(hash)
    }

    /// Returns why commands cannot be captured here.
    pub fn obstacle(&self, sandbox: &Sandbox) -> Option<String> {
        self.obstacle.get().cloned().or_else(|| sandbox.capture_obstacle())
    }
}

impl fmt::Debug for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captures").field("root", &self.root).field("obstacle", &self.obstacle).finish_non_exhaustive()
    }
}

/// Whether a command may run if its changes cannot be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capturing {
    /// It then changes the folder itself, which is looked at before and after.
    IfPossible,
    /// It then does not run: nobody has approved its changes.
    Required,
    /// It changes the folder itself in any case, which is looked at before and after. For a command that goes on while others
    /// change files, which it has to see.
    Never,
}

/// The commands of one call.
pub struct CapturedRun {
    sandbox: Sandbox,
    captures: Option<Captures>,
    capturing: Capturing,
    /// Absent if the commands change the folder itself.
    capture: Mutex<Option<Capture>>,
    call: CallKey,
    /// Present if the folder was looked at, because there is no capture.
    observed: Mutex<Option<ObservedRun>>,
    /// Why no command runs: a change that cannot be undone must not be made only because the disk is full.
    failed: Option<String>,
    /// Whether one of the commands has run.
    has_run: AtomicBool,
    /// Hides secrets in the output of the commands.
    mask: Mask,
}

impl CapturedRun {
    /// Prepares to capture what the commands of a call change in `folder`.
    pub async fn begin(
        sandbox: &Sandbox,
        (captures, capturing): (Option<&Captures>, Capturing),
        folder: &Path,
        call: &CallKey,
    ) -> Self {
        let usable = match captures {
            None => Ok(()),
            Some(Captures { files, root, .. }) => {
                let (home, root) = (files.home.clone(), root.clone());
                let checked = tokio::task::spawn_blocking(move || home.check_working(&root));
                checked.await.unwrap_or(Err(StoreError::ShutDown))
            }
        };
        let is_usable = usable.is_ok();
        let can_capture = |captures: &&Captures| capturing != Capturing::Never && captures.obstacle(sandbox).is_none();
        let prepared = match captures.filter(|_| is_usable).filter(can_capture) {
            None => usable.map(|()| None),
            Some(Captures { files, root, .. }) => {
                let (sandbox, folder) = (sandbox.clone(), folder.to_owned());
                let (home, root) = (files.home.clone(), root.clone());
                let prepared = tokio::task::spawn_blocking(move || {
                    home.require_writable(&root)?;
                    // If the folder cannot be given to the commands' user, the command itself is refused with the reason.
                    let prepared = match home.folder_owner(&root) {
                        Some(FolderOwner::Commands) => sandbox.prepare(&folder).is_ok(),
                        Some(FolderOwner::Sharer { uid, .. }) => sandbox.of_person(uid).prepare(&folder).is_ok(),
                        Some(FolderOwner::Kept(_)) => true,
                        None => false,
                    };
                    if prepared { home.new_capture(&root) } else { Ok(None) }
                });
                prepared.await.unwrap_or(Err(StoreError::ShutDown))
            }
        };
        let (capture, failed) = match prepared {
            Ok(capture) => (capture, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut run = Self {
            sandbox: sandbox.clone(),
            captures: captures.cloned(),
            capturing,
            call: call.clone(),
            observed: Mutex::default(),
            capture: Mutex::new(capture),
            failed,
            has_run: AtomicBool::new(false),
            mask: Mask::default(),
        };
        if run.failed.is_none() && run.lock().is_none() {
            run.failed = run.observe().await.err().map(|error| error.to_string());
        }
        run
    }

    /// Hides these secrets in the output of the commands.
    pub fn masking(self, mask: Mask) -> Self {
        Self { mask, ..self }
    }

    /// Looks at the folder before the commands change it themselves, unless they must be captured.
    async fn observe(&self) -> Result<(), StoreError> {
        let Some(captures) = self.captures.as_ref().filter(|_| self.capturing != Capturing::Required) else {
            return Ok(());
        };
        let observed = ObservedRun::begin(captures, &self.call).await?;
        *self.observed.lock().unwrap_or_else(PoisonError::into_inner) = Some(observed);
        Ok(())
    }

    /// Runs a command like [`Sandbox::run_with_output`].
    ///
    /// # Errors
    /// Returns the errors of the sandbox, and [`SandboxError::Capture`] only if capturing is required or could not be prepared.
    pub async fn run(
        &self,
        job: Job,
        cancel: CancellationToken,
        live: OutputSink<'_>,
    ) -> Result<Finished, SandboxError> {
        if let Some(why) = &self.failed {
            return Err(SandboxError::Capture(why.clone()));
        }
        let overlay = self.lock().as_ref().map(|capture| Overlay {
            upper: capture.upper(),
            work: capture.work(),
            temporary: capture.temporary(),
        });
        if overlay.is_none() && self.capturing == Capturing::Required {
            return Err(SandboxError::Capture("its folder could not be prepared for that".to_owned()));
        }
        let network = match (self.capturing, job.network) {
            // A person is asked about the command when it has ended, and sees what it asked for.
            (Capturing::Required, Network::None) => Network::Recorded,
            (_, network) => network,
        };
        let captured = Job { capture: overlay, network, ..job.clone() };
        match self.sandbox.run_masked(captured, cancel.clone(), (live, &self.mask)).await {
            // What the commands before it changed is in the layer, and stays there.
            Err(SandboxError::Capture(why)) if self.has_run.load(Ordering::Relaxed) => Err(SandboxError::Capture(why)),
            Err(SandboxError::Capture(why)) => {
                tracing::warn!(%why, "commands cannot be captured here, so the project is looked at before and after each");
                if let Some(captures) = &self.captures {
                    let _ = captures.obstacle.set(why.clone());
                }
                self.discard();
                if self.capturing == Capturing::Required {
                    return Err(SandboxError::Capture(why));
                }
                self.observe().await.map_err(|error| SandboxError::Capture(error.to_string()))?;
                self.sandbox.run_masked(job, cancel, (live, &self.mask)).await
            }
            ended => {
                self.has_run.store(true, Ordering::Relaxed);
                ended
            }
        }
    }

    /// Reads what the commands changed, and keeps it apart.
    pub async fn hold(self) -> HeldChanges {
        if let Some(observed) = self.observed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return HeldChanges::observed(observed);
        }
        let (Some(capture), Some(captures)) = (self.lock().take(), self.captures.clone()) else {
            return HeldChanges::default();
        };
        let read = tokio::task::spawn_blocking(move || match capture.changes() {
            Ok(changes) => Ok((capture, changes)),
            Err(error) => {
                remove(capture);
                Err(error)
            }
        });
        match read.await.unwrap_or(Err(StoreError::ShutDown)) {
            Ok((capture, changes)) => HeldChanges::new(captures, capture, changes),
            Err(error) => HeldChanges::failed(&error),
        }
    }

    fn discard(&self) {
        if let Some(capture) = self.lock().take() {
            remove(capture);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of the changes of a call's commands.
#[derive(Debug, Default)]
pub struct CommandChanges {
    applied: AppliedChanges,
    /// Why none of them was applied.
    error: Option<String>,
    /// Those that the commands made themselves.
    observed: ObservedChanges,
    /// Why those are not recorded.
    not_recorded: Option<NotRecorded>,
}

/// Why nothing was recorded.
#[derive(Debug)]
struct NotRecorded {
    /// A stable code.
    code: &'static str,
    why: String,
}

impl CommandChanges {
    pub(super) fn of(applied: AppliedChanges, error: Option<String>) -> Self {
        Self { applied, error, ..Self::default() }
    }

    pub(super) fn observed(observed: ObservedChanges) -> Self {
        Self { observed, ..Self::default() }
    }

    pub(super) fn not_recorded(error: &StoreError) -> Self {
        let code = if matches!(error, StoreError::DiskFull) { RecordGap::DiskFull.code() } else { "failed" };
        Self { not_recorded: Some(NotRecorded { code, why: error.to_string() }), ..Self::default() }
    }

    /// Returns the code of why not everything that the commands changed is recorded.
    fn gap(&self) -> Option<&'static str> {
        let gap = self.observed.gap.or(self.observed.is_too_large.then_some(RecordGap::TooManyFiles));
        self.not_recorded.as_ref().map(|not_recorded| not_recorded.code).or(gap.map(RecordGap::code))
    }

    fn recorded(&self) -> impl Iterator<Item = &RecordedChange> {
        self.applied.recorded.iter().chain(&self.observed.recorded)
    }

    /// Adds the changed files to the answer of the call that changed them, and tells the model what was not applied.
    pub fn add_to(&self, answer: ToolAnswer) -> ToolAnswer {
        let mut answer = self.list_in(answer);
        if let Some(data) = answer.data.as_object_mut().filter(|_| self.recorded().next().is_some()) {
            data.insert("undo".to_owned(), json!(true));
        }
        answer
    }

    /// Like [`Self::add_to`], for the answer of another call, which has nothing to undo.
    pub fn list_in(&self, mut answer: ToolAnswer) -> ToolAnswer {
        if let Some(data) = answer.data.as_object_mut().filter(|_| self.recorded().next().is_some()) {
            let listed = self.recorded().take(LISTED).map(|change| {
                json!({"path": change.path.as_str(), "added": 0, "removed": 0, "deleted": change.after.is_none()})
            });
            data.insert("changes".to_owned(), listed.collect());
            data.insert("changed_count".to_owned(), json!(self.recorded().count()));
        }
        let commits: Vec<_> = self.applied.commits.iter().chain(&self.observed.commits).collect();
        if let Some(data) = answer.data.as_object_mut().filter(|_| !commits.is_empty()) {
            data.insert("commits".to_owned(), json!(commits));
        }
        if let (Some(data), Some(code)) = (answer.data.as_object_mut(), self.gap()) {
            data.insert("undo_gap".to_owned(), json!(code));
        }
        for note in self.notes() {
            answer.text.push_str(&format!("\n[{note}]"));
        }
        answer.ok &= self.error.is_none();
        answer
    }

    fn notes(&self) -> Vec<String> {
        let AppliedChanges { unkept, left, refused, .. } = &self.applied;
        let mut notes: Vec<String> = Vec::new();
        if let Some(error) = &self.error {
            notes.push(format!("its changes of files were not applied: {error}"));
        }
        let refused = refused.iter().map(|refused| (refused.path.as_path(), refusal(refused.why).to_owned()));
        let left = left.iter().map(|left| {
            let why = match &left.why {
                LeftReason::Changed => "it was changed by somebody else meanwhile".to_owned(),
                LeftReason::Io(error) => error.to_string(),
            };
            (left.path.as_path(), why)
        });
        let all: Vec<_> = refused.chain(left).collect();
        notes.extend(all.iter().take(TOLD).map(|(path, why)| format!("not applied: {}: {why}", shown(path))));
        if all.len() > TOLD {
            notes.push(format!("not applied: {} more", all.len() - TOLD));
        }
        let named = unkept.iter().take(TOLD);
        let named = named.map(|file| format!("cannot be undone: {} ({} bytes): {UNKEPT}", file.path, file.size));
        notes.extend(named);
        if unkept.len() > TOLD {
            notes.push(format!("cannot be undone: {} more", unkept.len() - TOLD));
        }
        if let Some(NotRecorded { why, .. }) = &self.not_recorded {
            notes.push(format!("what it changed is not recorded and cannot be undone: {why}"));
        }
        notes.extend(self::notes(&self.observed));
        notes
    }
}

/// Returns a path as people and the model see it: two paths never look the same.
pub(super) fn shown(path: &Path) -> String {
    visible(&escaped(path.as_os_str().as_encoded_bytes()))
}

pub(super) fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Special => "pipes, sockets and devices are not kept",
        Refusal::SetUserId => "a program may not run as its owner",
        Refusal::ChangedMeanwhile => "it was changed by somebody else meanwhile",
        Refusal::TooDeep => "its path is too long",
        Refusal::Unreadable => "it cannot be read",
        Refusal::OtherFileSystem => "it is on another file system",
    }
}
