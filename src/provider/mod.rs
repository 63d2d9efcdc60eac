//! Talks to providers: servers with the OpenAI chat API, Anthropic's Messages API or OpenAI's Responses API. Sends one
//! request and streams the answer, handling the provider's dialect and connection failures. A provider's embeddings API computes vectors of texts ([`Embeddings`]).
//!
//! Differences between providers are data ([`Profile`]); responses are parsed leniently in one place (`wire`); and
//! every failure is a [`ProviderError`] that says what a person or a caller can do about it. Nothing in this module
//! depends on sessions, tools or files, and no error, status or debug output contains a key.

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
mod error_params;
mod health;
pub mod local;
mod profile;
mod reach;
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

use crate::domain::{AnswerForm, Picture, Price, Reasoning, ReasoningItem, StatusKind, ToolSpec, Usage};

pub use body::{Recipient, body, tools};
pub use check::list_models;
pub use client::{Audience, Client, builder as http_client_builder};
pub use discover::find_local;
pub use embeddings::Embeddings;
pub use error::{ConnectionFailure, KeyProblem, Persistence, ProviderError, TimeoutPhase};
pub use health::{Health, HealthLog, HealthState, Problem};
pub use profile::{Api, Parameters, Profile, ProfileKind, Thinking};
pub use reach::{AddressRefused, Reach};
pub use turn::AnswerStream;

/// A model at an address, with everything needed to send it requests.
#[derive(Clone)]
pub struct Endpoint {
    pub profile: Profile,
    /// With or without `/v1`, as the provider documents it; the full address of an API, such as `…/chat/completions`, is
    /// accepted too.
    pub base_url: Url,
    /// Sent to `base_url`'s host and nowhere else, in the header that the API wants.
    pub api_key: Option<SecretString>,
    pub model: String,
    /// The display name in settings and errors.
    pub label: String,
    /// Maximum tokens of prompt and answer together.
    pub context_window: u32,
    /// What its tokens cost, if a person has said so.
    pub price: Option<Price>,
    /// What may be reached, if a person has chosen the address who does not own the server; `None` for every address.
    pub reach: Option<Arc<dyn Reach>>,
}

impl Endpoint {
    /// Returns the provider's address with the API, and the model: thoughts of this origin are sent to no other.
    pub fn origin(&self) -> String {
        format!("{}{} {}", self.base_url.origin().ascii_serialization(), self.profile.api.path(), self.model)
    }

    /// Returns it with this API, if one is given, in place of the one that its address tells. What was set in the profile
    /// is lost.
    pub fn with_api(self, api: Option<Api>) -> Self {
        match api {
            Some(api) => Self { profile: Profile::of_api(self.profile.kind, api, &self.model), ..self },
            None => self,
        }
    }

    /// Whether the address is on this machine, so that no request leaves it.
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
    /// A user message with pictures, for a model with vision.
    Pictured {
        sender: PictureSender,
        content: String,
        pictures: Vec<RequestPicture>,
    },
    Assistant {
        content: String,
        /// Sent back only to providers that require it.
        thinking: Option<String>,
        /// The thoughts in the form of the provider that made them. Sent back only to the same model.
        reasoning: Option<Arc<Reasoning>>,
        calls: Vec<CallRequest>,
    },
    /// The result of a call; `call_id` is the id of a call in an earlier assistant message.
    Tool {
        call_id: String,
        content: String,
    },
}

impl ChatMessage {
    /// Whether a person sent it. Pictures of tools have the same role, because no other may contain pictures.
    pub fn is_user(&self) -> bool {
        match self {
            Self::User(_) | Self::Pictured { sender: PictureSender::Person, .. } => true,
            Self::Pictured { sender: PictureSender::Tools, .. }
            | Self::System(_)
            | Self::Assistant { .. }
            | Self::Tool { .. } => false,
        }
    }
}

/// Where the pictures of a message come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureSender {
    Person,
    /// The calls whose results are before the message.
    Tools,
}

/// A picture in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestPicture {
    /// The picture's name in the message.
    pub label: String,
    pub picture: Picture,
    /// The bytes as a `data:` URL; until they are read, the placeholder that records use.
    pub url: Arc<str>,
}

/// A tool call that the model requested.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    pub id: String,
    pub name: String,
    /// JSON text exactly as the model sent it; not necessarily valid.
    pub arguments: String,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub messages: Vec<ChatMessage>,
    pub tools: Arc<[ToolSpec]>,
    /// Omitted if the provider or model refuses it, and limited to the provider's ceiling.
    pub temperature: Option<f32>,
    /// Maximum tokens of the answer, limited to the model's ceiling. `None`: the provider decides.
    pub max_tokens: Option<u32>,
    /// Sent as far as the API has it, and not to models that refuse it.
    pub form: AnswerForm,
}

impl Default for ModelRequest {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            tools: Arc::from([]),
            temperature: None,
            max_tokens: None,
            form: AnswerForm::default(),
        }
    }
}

/// One piece of a model's turn, in the order it arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamChunk {
    /// What the turn waits for; replaces the previous status. `progress` is 0 to 1.
    Status {
        status: StatusKind,
        message: String,
        progress: Option<f32>,
        retry_in_ms: Option<u64>,
    },
    Thinking(String),
    Text(String),
    /// A thought in the form in which the provider wants it back.
    Reasoning(ReasoningItem),
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
    /// The last chunk of a successful turn.
    Finish(Finish),
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    /// The output limit was reached: text and arguments may be truncated.
    Length,
    /// The model or the provider's filter declined.
    Refusal,
}
