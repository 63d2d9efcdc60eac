//! A supervisor started in advance. A start takes longer than the supervisor's work for a short command. A waiting
//! supervisor has an empty environment, no job and no open descriptors except its pipes, and ends when the server does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Child;
use tokio::time::timeout;

use super::spawn::{Input, Supervised};
use super::wire::JobRequest;
use super::{Job, Level, Sandbox, SandboxError};

/// Maximum time for a supervisor to exit after its report.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The waiting supervisor, if any.
#[derive(Clone, Default)]
pub struct StandbySupervisor(Arc<Mutex<Option<Supervised>>>);

impl std::fmt::Debug for StandbySupervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StandbySupervisor")
    }
}

impl StandbySupervisor {
    fn take(&self) -> Option<Supervised> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // A supervisor that was killed while it waited must not look like one that died during a job.
        matches!(waiting.child.try_wait(), Ok(None)).then_some(waiting)
    }

    fn put(&self, supervised: Supervised) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(supervised);
    }
}

impl Sandbox {
    /// Returns the supervisor for a job without input. At level `strict` each job has its own, with its own namespaces.
    pub(super) async fn supervisor(&self, job: &Job, request: &JobRequest) -> Result<Supervised, SandboxError> {
        if let Some(mut waiting) = self.standby.take() {
            match waiting.control.submit(request).await {
                // It was killed while it waited, and nothing of the job was done.
                Err(SandboxError::Lost) => {}
                submitted => return submitted.map(|()| waiting),
            }
        }
        self.start_supervisor(&self.bubblewrap_arguments(job), Input::Null)
    }

    /// Waits in the background until a finished supervisor exits, then starts the next one. If that fails, the next job
    /// starts its own and reports the error.
    pub(super) fn reap_and_prestart(&self, mut done: Child) {
        let sandbox = self.clone();
        tokio::spawn(async move {
            if timeout(EXIT_TIMEOUT, done.wait()).await.is_err() {
                let _ = done.start_kill();
            }
            if sandbox.config.level == Level::Strict {
                return;
            }
            if let Ok(supervised) = sandbox.start_supervisor(&[], Input::Null) {
                sandbox.standby.put(supervised);
            }
        });
    }
}
