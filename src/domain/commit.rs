//! A commit that a command made.

use serde::{Deserialize, Serialize};

/// A commit that a command made in a git repository of the project. An undo does not take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Commit {
    /// The folder of the repository, relative to the project's; empty if it is the project itself.
    pub repository: String,
    /// Hexadecimal.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}
