//! Stopping the run of a session.

use std::time::Duration;

use super::Actor;

/// How long a stopped run may take to end before its task is aborted.
const CLOSE_GRACE: Duration = Duration::from_secs(8);
/// How long an exchange may take to end before its run goes on with another server.
const DRAIN_GRACE: Duration = Duration::from_secs(20);

impl Actor {
    /// Whether a run that is cut off goes on with another server.
    pub(super) fn goes_on_elsewhere(&self) -> bool {
        !self.ends_here && self.tenant.goes_on_elsewhere()
    }

    pub(super) async fn interrupt(&mut self) -> bool {
        // Before cancelling the run, so that it learns that its questions were cancelled and not that the owner is
        // gone.
        self.cancel_questions().await;
        if let Some(running) = &self.running {
            running.stop_signal.cancel.cancel();
        }
        self.running.is_some()
    }

    /// Ends the run under way. If the server stops, its questions stay open; in a cluster, it goes on with another server after the
    /// exchange under way.
    pub(super) async fn stop(&mut self) {
        let drains = self.suspending && self.goes_on_elsewhere() && !self.tenant.is_lost();
        match &self.running {
            Some(running) if drains && self.ledger.session.waiting().is_none() => running.stop_signal.drain(),
            Some(running) if self.suspending => running.stop_signal.suspend(),
            _ => drop(self.interrupt().await),
        }
        let grace = match drains {
            true => DRAIN_GRACE,
            // What a home that is lost still does counts nowhere.
            false if self.tenant.is_lost() => Duration::ZERO,
            false => CLOSE_GRACE,
        };
        let deadline = tokio::time::Instant::now() + grace;
        while let Some(running) = &mut self.running {
            match tokio::time::timeout_at(deadline, running.entries.recv()).await {
                Ok(Some(entry)) => {
                    self.record(entry).await;
                    // A question that was asked since then is asked again elsewhere.
                    if let Some(running) =
                        self.running.as_ref().filter(|_| drains && self.ledger.session.waiting().is_some())
                    {
                        running.stop_signal.suspend();
                    }
                }
                Ok(None) => self.end_run().await,
                Err(_) => {
                    running.task.abort();
                    self.end_run().await;
                }
            }
        }
    }
}
