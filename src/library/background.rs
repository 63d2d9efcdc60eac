//! The background tasks of a library, each on its own thread, and their state.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::project_files::IndexCounts;
use super::{IndexProgress, Library};
use crate::domain::EmbedError;

/// How long a model is not used again after a failure.
const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// How long closing a library waits for its tasks. Each stops at its next chunk or file.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// Work that runs in the background. At most one task of each kind runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    BuildIndex,
    LoadModel,
    MakeVectors,
    MoveToDatabase,
}

impl Task {
    fn thread_name(self, folder: &str) -> String {
        let does = match self {
            Self::BuildIndex => "index",
            Self::LoadModel => "load",
            Self::MakeVectors => "embed",
            Self::MoveToDatabase => "move",
        };
        format!("{does} {folder}")
    }
}

/// State of the background tasks, under one lock.
#[derive(Default)]
pub(super) struct Background {
    state: Mutex<BackgroundState>,
    ended: Condvar,
}

#[derive(Default)]
pub(super) struct BackgroundState {
    running: Vec<Task>,
    /// No task begins any more, and those that run stop at their next step.
    is_closed: bool,
    pub progress: IndexProgress,
    /// Number of files that the last scan left out because there are too many.
    pub left_out: usize,
    /// What is indexed of a project.
    pub counts: IndexCounts,
    /// Number of files of a project that are not read: those that are not text by their names, and those that are too large.
    pub skipped: (usize, usize),
    /// When moving the library into the database failed last.
    pub move_failed: Option<Instant>,
    /// The last failure to load or use the embedding model.
    pub no_model: Option<ModelFailure>,
}

/// The error of a model, and when it occurred.
pub(super) struct ModelFailure {
    at: Instant,
    pub error: EmbedError,
}

impl ModelFailure {
    pub fn now(error: EmbedError) -> Self {
        Self { at: Instant::now(), error }
    }

    /// Whether the failure is too recent to try again.
    pub fn is_recent(&self) -> bool {
        self.at.elapsed() < RETRY_PAUSE
    }
}

impl Background {
    pub fn state(&self) -> MutexGuard<'_, BackgroundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_running(&self, task: Task) -> bool {
        self.state().running.contains(&task)
    }

    /// Returns the recent failure because of which the embedding model is not used yet, if there is one.
    pub fn recent_failure(&self) -> Option<EmbedError> {
        self.state().no_model.as_ref().filter(|failure| failure.is_recent()).map(|failure| failure.error.clone())
    }

    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Waits until no task runs; returns false if that takes longer than `most`.
    fn wait_for_all(&self, most: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(self.state(), most, |state| !state.running.is_empty());
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Whether any task runs.
    pub fn is_busy(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// Waits until the task is not running; returns false if that takes longer than `most`.
    pub fn wait(&self, task: Task, most: Duration) -> bool {
        let is_running = |state: &mut BackgroundState| state.running.contains(&task);
        let waited = self.ended.wait_timeout_while(self.state(), most, is_running);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn begin(&self, task: Task) -> bool {
        let mut state = self.state();
        let begins = !state.is_closed && !state.running.contains(&task);
        if begins {
            state.running.push(task);
        }
        begins
    }
}

/// Guard of a running task: marks it as ended when dropped, also on a panic.
pub(super) struct RunningTask {
    library: Arc<Library>,
    task: Task,
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let background = &self.library.background;
        background.state().running.retain(|task| *task != self.task);
        background.ended.notify_all();
    }
}

impl Library {
    /// Lets the background tasks stop at their next step, and no other begin.
    pub fn stop_background(&self) {
        self.background.state().is_closed = true;
    }

    /// Stops what runs in the background and gives up the caches, so that another library of the same folder can use them. Searches go
    /// on with what is indexed. Blocks until everything has stopped, for ten seconds at most.
    pub fn close(&self) {
        self.stop_background();
        if !self.background.wait_for_all(CLOSE_WAIT) {
            tracing::warn!(folder = self.folder(), "a background task of the library has not stopped yet");
        }
        // With it goes the lock of its files.
        *self.lock(&self.index) = None;
    }

    /// Whether the library is closed: what runs in the background stops.
    pub(super) fn is_closed(&self) -> bool {
        self.background.is_closed()
    }

    /// Runs `work` on a thread of its own, unless the task is already running or the library is closed. Returns false if the thread cannot be
    /// started.
    pub(super) fn spawn_background(
        self: &Arc<Self>,
        task: Task,
        work: impl FnOnce(&Arc<Self>, RunningTask) + Send + 'static,
    ) -> bool {
        if !self.background.begin(task) {
            return true;
        }
        let (library, running) = (self.clone(), RunningTask { library: self.clone(), task });
        let thread = std::thread::Builder::new().name(task.thread_name(self.folder()));
        thread.spawn(move || work(&library, running)).is_ok()
    }

    pub(super) fn report(&self, progress: IndexProgress) {
        let before = std::mem::replace(&mut self.background.state().progress, progress);
        if before != progress
            && let Some(callback) = self.progress_callback.get()
        {
            callback(progress);
        }
    }
}
