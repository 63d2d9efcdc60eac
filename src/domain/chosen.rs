//! The model that a session uses, and whether it thinks.

use serde::{Deserialize, Serialize};

/// A session's own choice, from its next message on. Absent fields leave it to the server and to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Chosen {
    /// The id of a model, as `GET /api/models` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it shall think before it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
}

impl Chosen {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
