//! The OpenAI API of this server (docs/openai.md): models, chat completions, responses and embeddings, as the API reference of
//! OpenAI describes them, with this agent as a model.

#[cfg(test)]
mod any_body;
pub mod chat;
mod chat_chunks;
mod client_turn;
pub mod embeddings;
pub mod error;
mod fields;
mod message;
pub mod models;
pub mod open_questions;
pub mod page_address;
mod parameters;
pub mod progress;
mod raw;
pub mod responses;
mod tools;
