//! A provider is a server that speaks the OpenAI chat API. This module sends it one request and hands back what it says,
//! piece by piece, whatever dialect it speaks and however the line behaves. Its embeddings API makes vectors of texts
//! ([`Embeddings`]).
//!
//! What differs between providers is data ([`Profile`]); the words on the wire are read leniently in one place (`wire`);
//! and every failure is a [`ProviderError`] that says what a person or a caller can do about it. Nothing here knows
//! sessions, tools or files, and no error, status or debug output ever holds a key.

mod about;
mod adapt;
mod assemble;
mod body;
mod calls;
mod check;
mod classify;
mod client;
mod discover;
mod embeddings;
mod error;
pub mod local;
mod profile;
mod retry;
pub mod scripted;
mod sse;
#[cfg(test)]
mod tests;
mod think;
mod turn;
mod wire;

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use url::Url;

use crate::domain::{Picture, StatusKind, ToolSpec, Usage};

pub use body::body;
pub use check::list_models;
pub use client::Client;
pub use discover::find_local;
pub use embeddings::Embeddings;
pub use error::{ConnectionFailure, Key, Phase, ProviderError};
pub use profile::{Profile, ProfileKind, Thinking};
pub use turn::AnswerStream;

/// A model at an address: all that is needed to talk to it.
#[derive(Clone)]
pub struct Endpoint {
    pub profile: Profile,
    /// With or without `/v1`, as the provider documents it; a full `…/chat/completions` is accepted too.
    pub base_url: Url,
    /// Sent as a bearer token to `base_url`'s host and nowhere else.
    pub api_key: Option<SecretString>,
    pub model: String,
    /// What a person calls it, in settings and errors.
    pub label: String,
    /// Tokens of prompt and answer together.
    pub context_window: u32,
}

impl Endpoint {
    /// Whether it is on this machine: what is sent to it stays here.
    pub fn is_local(&self) -> bool {
        profile::is_loopback(&self.base_url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("label", &self.label)
            .field("kind", &self.profile.kind)
            .field("address", &client::shown_address(&self.base_url))
            .field("model", &self.model)
            .field("context_window", &self.context_window)
            .field("api_key", &if self.api_key.is_some() { "set" } else { "none" })
            .finish()
    }
}

/// One message of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    System(String),
    User(String),
    /// What a person said with pictures, for a model that sees them.
    Pictured {
        content: String,
        pictures: Vec<SeenPicture>,
    },
    Assistant {
        content: String,
        /// Sent back only to providers that want it.
        thinking: Option<String>,
        calls: Vec<CallRequest>,
    },
    /// What a call came to; `call_id` is the id of a call of an assistant message before it.
    Tool {
        call_id: String,
        content: String,
    },
}

impl ChatMessage {
    /// Whether a person said it.
    pub fn is_asked(&self) -> bool {
        match self {
            Self::User(_) | Self::Pictured { .. } => true,
            Self::System(_) | Self::Assistant { .. } | Self::Tool { .. } => false,
        }
    }
}

/// A picture as a request carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenPicture {
    /// How the message calls it.
    pub label: String,
    pub picture: Picture,
    /// Its bytes as a `data:` address; before they are read, what stands for them in a record.
    pub url: Arc<str>,
}

/// A tool call the model asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    pub id: String,
    pub name: String,
    /// JSON text exactly as the model sent it; not necessarily valid.
    pub arguments: String,
}

/// What the model is asked.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub messages: Vec<ChatMessage>,
    pub tools: Arc<[ToolSpec]>,
    /// Left out of the request where the provider or model refuses it, and kept under the provider's ceiling.
    pub temperature: Option<f32>,
    /// Tokens the answer may have; kept under the model's ceiling. `None`: the provider decides.
    pub max_tokens: Option<u32>,
}

impl Default for ModelRequest {
    fn default() -> Self {
        Self { messages: Vec::new(), tools: Arc::from([]), temperature: None, max_tokens: None }
    }
}

/// One piece of a model's turn, in the order it arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamChunk {
    /// What is being waited for; replaces the status before it. `progress` is 0 to 1.
    Status {
        status: StatusKind,
        message: String,
        progress: Option<f32>,
        retry_in_ms: Option<u64>,
    },
    Thinking(String),
    Text(String),
    /// `index` counts from 0 without gaps; `id` is unique within the turn.
    ToolCallStart {
        index: u32,
        id: String,
        name: String,
    },
    /// More of the arguments' JSON text. A call without any such chunk has no arguments.
    ToolCallArguments {
        index: u32,
        delta: String,
    },
    /// At most once, just before the end.
    Usage(Usage),
    /// The last chunk of a turn that ended well.
    Finish(Finish),
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    /// The output limit was reached: text and arguments may be cut.
    Length,
    /// The model or the provider's filter declined.
    Refusal,
}
