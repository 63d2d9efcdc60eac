//! Assembles requests: the system prompt from files, the history from messages, and what is left out of it.

pub mod budget;
pub mod history;
pub mod pictures;
pub mod request;
pub mod sent;
pub mod system;

pub use system::{Part, SystemPrompt};
