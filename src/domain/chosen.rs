//! What a person chose for a session: its model, whether that model thinks, how it is compacted, and what may run.

use serde::{Deserialize, Serialize};

use super::permission_mode::PermissionMode;

/// What happens when a conversation nearly fills the context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AutoCompact {
    /// The page proposes to compact it.
    #[default]
    Ask,
    /// It is compacted after the response. The page says so, and it can be undone.
    On,
    /// Nothing; messages that do not fit are left out, which the page shows.
    Off,
}

/// A session's own choice, which applies from its next message on. Absent fields leave the choice to the server and the
/// model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Chosen {
    /// Id of a model, as listed by `GET /api/models`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the model thinks before it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Whether it is compacted automatically; absent for the server's `auto_compact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compact: Option<AutoCompact>,
    /// What may run in it; absent for the server's rules as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
}

impl Chosen {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
