//! Where a session has text from that strangers may have written. What it lets run unseen depends on that.

use serde::{Deserialize, Serialize};

/// One source of text from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "from", content = "file", rename_all = "snake_case")]
pub enum Taint {
    /// A page, a document, a command with network.
    Outside,
    /// A file of a skill, in a version that nobody has trusted.
    Skill(String),
    /// What a command wrote: from the sandbox's own folder, into which an earlier run may have fetched anything. It counts
    /// for what shapes the agent, or no command could be followed by another.
    Output,
    /// The session itself came from a file that this home did not write.
    Imported,
}
