//! A request as it was sent to a model: what of it came from where, kept beside its session so that it can be looked at
//! later. Its long texts stand apart, each under its hash and once, however many requests held it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::WorkId;
use super::work::Usage;

/// Who changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangedBy {
    /// Another program.
    Disk,
    /// A save through the API.
    Editor,
    /// A tool.
    Run,
}

/// The record of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRequest {
    /// Unix seconds.
    pub at: f64,
    pub work_id: WorkId,
    /// The exchange inside the work, from 0.
    pub dialogue: u32,
    /// Of the exchange, from 0: a request is made again when it was too long or held a field that was refused.
    pub attempt: u32,
    pub provider: String,
    pub model: String,
    /// The body without its `messages` and `tools`, which are null here and stand below by their hashes.
    pub body: Value,
    /// Of the whole body as it was sent.
    pub bytes: usize,
    /// Of the whole body as it was sent.
    pub hash: String,
    /// The system prompt: these texts joined by an empty line.
    pub system: Vec<SentPart>,
    /// The other messages, each as JSON.
    pub messages: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// What was retrieved for this question, inside one of the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<SentRetrieval>,
    /// Oldest messages that did not fit the context and were left out.
    #[serde(default)]
    pub dropped: usize,
    /// What the provider counted, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A part of the system prompt, or the reason it was not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentPart {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Of the part's text, its label included; absent where the part was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// First and last line of the file that are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When the file was last changed, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<f64>,
    /// By whom, where this server saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ChangedBy>,
}

/// Where in the messages what was retrieved stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRetrieval {
    /// Counted among `messages`, from 0.
    pub message: usize,
    /// The byte of the message's content at which it begins; it goes to the content's end.
    pub start: usize,
}

/// A text of a request, under the hash it is kept by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentText {
    pub hash: String,
    pub text: String,
}
