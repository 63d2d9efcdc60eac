//! What is or was sent to the model: prompts, stored requests, token counts.

pub mod changes;
pub mod prompt;
pub mod sent;
pub mod tokens;
