//! What the agent may do in one conversation, as far as a person has chosen that there.

use serde::{Deserialize, Serialize};

/// Narrows the server's approval rules for one conversation. Only `sandboxed` can also widen them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Changes of files and commands are denied. Reading pages of the web stays as the rules say.
    ReadOnly,
    /// The same, and the model is asked for a plan instead of the work.
    Plan,
    /// Everything but reading needs approval, except calls that are always allowed.
    Ask,
    /// Commands run without approval if they are sandboxed and have no network.
    Sandboxed,
}

impl PermissionMode {
    /// Returns what the model is told, so that it does not try what would be denied.
    pub fn instructions(self) -> Option<&'static str> {
        match self {
            Self::ReadOnly => Some(
                "The user has set this conversation to read only. Calls that change files or run commands are denied. \
                Answer from what you can read, and say what you could not do.",
            ),
            Self::Plan => Some(
                "The user wants a plan, not the work. Calls that change files or run commands are denied. Read what you \
                need, then answer with a short plan: numbered steps with the files and commands that each needs, and \
                open questions. The user will switch this off when the work should begin.",
            ),
            Self::Ask | Self::Sandboxed => None,
        }
    }

    /// Returns the mode's name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read only",
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Sandboxed => "sandboxed",
        }
    }
}
