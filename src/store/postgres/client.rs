//! A connection that ends when it is dropped, whatever is under way on it.
//!
//! A client of the library that is dropped goes on until the database has answered, which may be never: a statement waits for a lock
//! as long as somebody holds it. Here it is cancelled, and the place among the connections of the process is free only when the
//! connection has ended.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio_postgres::{CancelToken, Client};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long a connection has to end by itself, which it does at once if nothing is under way.
const GRACE: Duration = Duration::from_millis(500);
/// Maximum time of asking for the cancellation of a statement, and of its end after that.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// A connection to a database.
pub(super) struct DatabaseClient {
    client: Client,
    /// Dropped after the client, so that a connection with nothing under way ends by itself.
    closing: Closing,
}

/// What ends a connection.
struct Closing {
    /// Passes messages on; it ends with the connection.
    task: Option<JoinHandle<()>>,
    cancel: CancelToken,
    connector: MakeRustlsConnect,
    /// Kept until the connection has ended.
    turn: Option<OwnedSemaphorePermit>,
}

impl DatabaseClient {
    /// `task` passes the messages of the client on. `connector` is the one that it was connected with.
    pub fn new(client: Client, task: JoinHandle<()>, connector: MakeRustlsConnect) -> Self {
        let cancel = client.cancel_token();
        Self { client, closing: Closing { task: Some(task), cancel, connector, turn: None } }
    }

    /// Keeps a place among the connections until this one is given back or has ended.
    pub fn keep_turn(&mut self, turn: OwnedSemaphorePermit) {
        self.closing.turn = Some(turn);
    }

    pub fn take_turn(&mut self) -> Option<OwnedSemaphorePermit> {
        self.closing.turn.take()
    }
}

impl Deref for DatabaseClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for DatabaseClient {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let Some(task) = self.task.take().filter(|task| !task.is_finished()) else { return };
        let (cancel, connector, turn) = (self.cancel.clone(), self.connector.clone(), self.turn.take());
        // Without a runtime, the task has ended or ends with it.
        let Ok(runtime) = Handle::try_current() else { return task.abort() };
        runtime.spawn(async move {
            end(task, (cancel, connector)).await;
            drop(turn);
        });
    }
}

/// Ends a connection whose client is gone.
async fn end(mut task: JoinHandle<()>, (cancel, connector): (CancelToken, MakeRustlsConnect)) {
    if tokio::time::timeout(GRACE, &mut task).await.is_ok() {
        return;
    }
    // No answer says whether it has worked, only the end of the connection does.
    let _ = tokio::time::timeout(CANCEL_LIMIT, cancel.cancel_query(connector)).await;
    match tokio::time::timeout(CANCEL_LIMIT, &mut task).await {
        Ok(_) => tracing::info!("a statement that nobody waits for was cancelled"),
        Err(_) => {
            tracing::warn!("a statement that nobody waits for could not be cancelled; its connection is closed");
            task.abort();
        }
    }
}
