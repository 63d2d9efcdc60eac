//! The model that a session uses, and whether that model thinks.

use serde::{Deserialize, Serialize};

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
}

impl Chosen {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
