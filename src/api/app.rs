//! What every handler can reach.

use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::api::security::access::{Access, PageSecret};
use crate::domain::About;
use crate::engine::Engine;
use crate::engine::skills::Skills;

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub engine: Arc<Engine>,
    pub skills: Arc<Skills>,
    pub access: Arc<Access>,
    /// What answers to questions are proved with.
    pub secret: PageSecret,
    /// What a person should know about this server: warnings from the start.
    pub problems: Arc<Vec<String>>,
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
    pub about: About,
}
