//! What the model is sent: the system prompt from files, the history from messages, and what was left out of it.

pub mod budget;
pub mod history;
pub mod pictures;
pub mod request;
pub mod sent;
pub mod system;

pub use system::{Part, SystemPrompt};
