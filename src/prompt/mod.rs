//! Assembles requests: the system prompt from files, the history from messages, within the limit of the context.

pub mod budget;
pub mod history;
pub mod pictures;
mod project;
pub mod request;
pub mod sent;
pub mod system;
pub mod tokens;
pub mod transcript;

pub use system::{Part, SystemPrompt};
pub use tokens::RequestTokens;
