//! How a running server is asked again for its tools: in the background, once at a time.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};

use tokio::task::AbortHandle;

use super::server::{Server, ServerState};

/// How long a list counts without a new look.
const FRESH: Duration = Duration::from_secs(300);

/// A look at the list of a server, for which several exchanges can wait.
pub struct Relisting {
    task: AbortHandle,
    end: future::Shared<BoxFuture<'static, ()>>,
}

/// Why the tools of a server should be listed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// The server says that they changed.
    Announced,
    Old,
}

impl Server {
    /// Returns whether a running server should be asked for its tools again, and why.
    pub async fn staleness(&self) -> Option<Staleness> {
        let Ok(link) = self.link.try_lock() else { return None };
        let link = link.as_ref().filter(|link| link.is_open())?;
        let is_old = self.listed().and_then(|listed| listed.at).is_none_or(|at| at.elapsed() > FRESH);
        match link.take_list_changed() {
            true => Some(Staleness::Announced),
            false => is_old.then_some(Staleness::Old),
        }
    }

    /// Begins to list the tools of a running server again, unless that is under way. Dropping the future does not end it.
    pub fn relist(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let mut relisting = self.relisting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = relisting.as_ref().filter(|under_way| !under_way.task.is_finished()) {
            return under_way.end.clone();
        }
        let this = self.clone();
        let task = tokio::spawn(async move { this.listed_again().await });
        let (handle, end) = (task.abort_handle(), task.map(drop).boxed().shared());
        *relisting = Some(Relisting { task: handle, end: end.clone() });
        end
    }

    async fn listed_again(&self) {
        let Some(link) = self.link.lock().await.clone().filter(|link| link.is_open()) else { return };
        if let Err(why) = self.list(&link).await {
            self.set_state(ServerState::Failed(why));
        }
    }
}
