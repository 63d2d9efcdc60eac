//! A piece of a document that was found, and where it stands.

use serde::{Deserialize, Serialize};

/// One found piece of memory or knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Hit {
    pub text: String,
    /// Higher is better; comparable only within one answer.
    pub score: f64,
    /// The home path of the file, e.g. `memory/MEMORY.md`.
    pub source: String,
    /// The headings above it, joined by ` › `; absent at the top of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// First and last line in the file, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
}
