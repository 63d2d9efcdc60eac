//! Conversations as the NanoClaw document defines them: a conversation is a session, in other words. Responses are
//! `{code: 0, data}`, and errors `{code, message}` with the same HTTP status.

pub mod conversation;
pub mod envelope;
pub mod message;
pub mod sending;
pub mod steps;
