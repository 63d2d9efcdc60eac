//! The background tasks of a library, each in its own thread, and their state.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{IndexProgress, Library};
use crate::domain::EmbedError;

/// After a failure a model is not asked again for so long.
const PAUSE: Duration = Duration::from_secs(30);

/// Work that is done beside searches. At most one of each is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    BuildIndex,
    LoadModel,
    MakeVectors,
}

impl Task {
    fn thread_name(self, folder: &str) -> String {
        let does = match self {
            Self::BuildIndex => "index",
            Self::LoadModel => "load",
            Self::MakeVectors => "embed",
        };
        format!("{does} {folder}")
    }
}

/// What the tasks say of themselves, under one lock.
#[derive(Default)]
pub(super) struct Background {
    state: Mutex<BackgroundState>,
    ended: Condvar,
}

#[derive(Default)]
pub(super) struct BackgroundState {
    running: Vec<Task>,
    pub progress: IndexProgress,
    /// Files beyond those that are indexed, at the last look.
    pub left_out: usize,
    /// Why there was no embedding model the last time.
    pub no_model: Option<ModelFailure>,
}

/// What did not work, and when.
pub(super) struct ModelFailure {
    at: Instant,
    pub error: EmbedError,
}

impl ModelFailure {
    pub fn now(error: EmbedError) -> Self {
        Self { at: Instant::now(), error }
    }

    /// It is not tried again yet.
    pub fn is_recent(&self) -> bool {
        self.at.elapsed() < PAUSE
    }
}

impl Background {
    pub fn state(&self) -> MutexGuard<'_, BackgroundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_running(&self, task: Task) -> bool {
        self.state().running.contains(&task)
    }

    /// Why the embedding model is not asked now.
    pub fn recent_failure(&self) -> Option<EmbedError> {
        self.state().no_model.as_ref().filter(|failure| failure.is_recent()).map(|failure| failure.error.clone())
    }

    /// Waits until the task is not under way; false when that takes longer than `most`.
    pub fn wait(&self, task: Task, most: Duration) -> bool {
        let is_running = |state: &mut BackgroundState| state.running.contains(&task);
        let waited = self.ended.wait_timeout_while(self.state(), most, is_running);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn begin(&self, task: Task) -> bool {
        let mut state = self.state();
        let begins = !state.running.contains(&task);
        if begins {
            state.running.push(task);
        }
        begins
    }
}

/// A task that is under way until this is dropped, also by a panic.
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
    /// Does `work` in a thread of its own, unless the task is under way. False when no thread can be had.
    pub(super) fn beside(
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
            && let Some(tell) = self.tell.get()
        {
            tell(progress);
        }
    }
}
