//! What the server has once. A handler reaches data through its [`Caller`](super::security::caller::Caller).

use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::api::security::access::{Access, PageSecret};
use crate::domain::ErrorFields;
use crate::engine::TenantRegistry;

/// What the server has once. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub tenants: Arc<TenantRegistry>,
    pub access: Arc<Access>,
    /// What answers to questions are proved with.
    pub secret: PageSecret,
    pub sandbox: Arc<SandboxInfo>,
    /// Unix seconds.
    pub started_at: f64,
    /// Ends streams when the server stops.
    pub stopping: CancellationToken,
}

/// What tools' processes may do.
#[derive(Clone, Serialize, utoipa::ToSchema)]
pub struct SandboxInfo {
    pub level: String,
    /// One sentence, which is English.
    pub note: String,
    /// Which sentence: `off`, `standard`, `strict`, `no_landlock` or `no_bubblewrap`.
    pub code: String,
    /// What the sentence names, each by its name.
    pub about: ErrorFields,
}
