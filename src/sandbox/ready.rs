//! A supervisor started in advance. Starting one takes longer than all that it does for a short command; one that waits
//! has an empty environment, no order and nothing open but its pipes, and ends when the server does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Child;
use tokio::time::timeout;

use super::spawn::{Input, Supervised};
use super::wire::JobRequest;
use super::{Job, Level, Sandbox, SandboxError};

/// How long a supervisor may take to end after its report.
const ENDING: Duration = Duration::from_secs(2);

/// The one that waits, if any.
#[derive(Clone, Default)]
pub struct Ready(Arc<Mutex<Option<Supervised>>>);

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ready")
    }
}

impl Ready {
    fn take(&self) -> Option<Supervised> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // One that was killed meanwhile must not be taken for one that died at work.
        matches!(waiting.child.try_wait(), Ok(None)).then_some(waiting)
    }

    fn put(&self, supervised: Supervised) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(supervised);
    }
}

impl Sandbox {
    /// The supervisor for a job that reads nothing. In level `strict` each has namespaces made for its job.
    pub(super) async fn supervisor(&self, job: &Job, order: &JobRequest) -> Result<Supervised, SandboxError> {
        if let Some(mut waiting) = self.ready.take() {
            match waiting.control.submit(order).await {
                // It was killed while it waited, and nothing of the order was done.
                Err(SandboxError::Lost) => {}
                submitted => return submitted.map(|()| waiting),
            }
        }
        self.start_supervisor(&self.around(job), Input::Null)
    }

    /// Waits beside for the end of a supervisor that has said its last word, then starts the next one. Where that fails, the
    /// next job starts its own and says why it cannot.
    pub(super) fn see_out(&self, mut done: Child) {
        let sandbox = self.clone();
        tokio::spawn(async move {
            if timeout(ENDING, done.wait()).await.is_err() {
                let _ = done.start_kill();
            }
            if sandbox.config.level == Level::Strict {
                return;
            }
            if let Ok(supervised) = sandbox.start_supervisor(&[], Input::Null) {
                sandbox.ready.put(supervised);
            }
        });
    }
}
