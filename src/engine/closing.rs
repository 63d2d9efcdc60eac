//! Closes a home: first nothing runs there any more, then everything is written to disk.

use super::actor::Closing;
use super::{Engine, close};

impl Engine {
    /// Stops all runs and writes everything to disk. Later requests are refused.
    pub async fn shut_down(&self) {
        self.stop(Closing::Server).await;
        self.release().await;
    }

    /// Ends all works here, also in a cluster, with their commands. Later requests are refused, and [`Engine::release`] writes
    /// everything to disk.
    pub async fn end(&self) {
        self.stop(Closing::Person).await;
    }

    async fn stop(&self, why: Closing) {
        let sessions = {
            let mut alive = self.lock();
            alive.closing = true;
            std::mem::take(&mut alive.sessions)
        };
        futures_util::future::join_all(sessions.values().map(|handle| close(handle, why))).await;
        // Before the home is released, so that what they changed is recorded.
        self.tenant.jobs.stop_all().await;
        self.tenant.closing.cancel();
        // Whoever waits for the lock after this starts git no more.
        drop(self.tenant.git.lock().await);
        self.tenant.tool_sources.home_closed();
        self.tenant.mcp.stop_all().await;
    }

    /// Writes everything to disk, and gives up the home if other servers can have it.
    pub async fn release(&self) {
        let (_, released) = tokio::join!(self.tenant.close_libraries(), self.tenant.log.release(self.tenant.claim));
        if let Err(error) = released {
            tracing::warn!(%error, "the home is released when this process ends");
        }
    }
}
