//! The state shared by all handlers. A handler reaches a tenant's data through its
//! [`Caller`](super::security::caller::Caller).

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::forwarding::Forwarder;
use crate::api::mcp::listening::Listeners;
use crate::api::security::access::{Access, PageSecret};
use crate::domain::ErrorParams;
use crate::engine::TenantRegistry;
use crate::engine::people::People;

/// Maximum number of clients of `/ws` that have not said yet who they are.
pub const MAX_UNAUTHENTICATED_SOCKETS: usize = 32;

/// The state shared by all handlers. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub tenants: Arc<TenantRegistry>,
    pub access: Arc<Access>,
    /// Passes requests on to other servers; `None` on a server that is in no cluster.
    pub forwarder: Option<Arc<Forwarder>>,
    /// The people with accounts; `None` on a single-person server.
    pub people: Option<Arc<People>>,
    /// The secret that proves that an answer to a question comes from the page.
    pub secret: PageSecret,
    /// A permit for each client of `/ws` that has not said yet who it is.
    pub unauthenticated_sockets: Arc<Semaphore>,
    /// The open connections of `/ws`. A server that stops closes them, and waits for that.
    pub sockets: TaskTracker,
    /// The clients of the MCP server that are told of changes.
    pub mcp_listeners: Listeners,
    pub sandbox: Arc<SandboxInfo>,
    /// Start time of the server, in Unix seconds.
    pub started_at: f64,
    /// Cancelled when the server begins to stop; `/ready` refuses new requests from then on.
    pub draining: CancellationToken,
    /// Cancelled when the server stops; ends all streams.
    pub stopping: CancellationToken,
}

/// What the processes of tools may do.
#[derive(Clone, Serialize, utoipa::ToSchema)]
pub struct SandboxInfo {
    pub level: String,
    /// The description of the sandbox level, as one English sentence.
    pub note: String,
    /// Code of the sentence: `off`, `standard`, `strict`, `no_landlock` or `no_bubblewrap`.
    pub code: String,
    /// Values that the sentence contains, by name.
    #[serde(rename = "about")]
    pub params: ErrorParams,
}
