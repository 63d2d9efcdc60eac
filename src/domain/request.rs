//! A request as it was sent to a model, with the origin of its parts. It is kept beside its session for inspection.
//! Long texts are stored separately, each once under its hash, however many requests contain it.

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
    /// 0-based number of the exchange inside the work.
    pub dialogue: u32,
    /// 0-based number of the attempt inside the exchange: a request is repeated if it was too long or had a field that
    /// was refused.
    pub attempt: u32,
    pub provider: String,
    pub model: String,
    /// The body without its `messages` and `tools`, which are null here; their hashes are in the fields below.
    pub body: Value,
    /// Bytes of the whole body as sent.
    pub bytes: usize,
    /// Hash of the whole body as sent.
    pub hash: String,
    /// SHA-256 of the whole body as sent; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// The system prompt: the texts of these parts, joined by an empty line.
    pub system: Vec<SentPart>,
    /// Hashes of the other messages, each stored as JSON; in the Responses API its items.
    pub messages: Vec<String>,
    /// 0-based indexes of the messages whose last block marks what the provider's cache should keep. They are stored
    /// without the mark, which moves from request to request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_marks: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// What was retrieved for this question and is inside one of the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<SentRetrieval>,
    /// Number of the session's messages, counted from the first, that did not fit and were left out.
    #[serde(default, alias = "dropped")]
    pub left_out: usize,
    /// The provider's token counts, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A part of the system prompt, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentPart {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Hash of the part's text, including its label; absent if the part was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// First and last line of the file that are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Hash of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When the file was last changed, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<f64>,
    /// Who changed it last, if this server saw the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ChangedBy>,
}

/// Position of the retrieved text in the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRetrieval {
    /// 0-based index in `messages`.
    pub message: usize,
    /// Byte offset in the message's content at which it begins; it extends to the end of the content.
    pub start: usize,
}

/// The request that made an answer, as its session records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredRequest {
    /// 0-based number of the exchange inside the work.
    pub dialogue: u32,
    /// 0-based number of the attempt inside the exchange.
    pub attempt: u32,
    /// SHA-256 of the whole body as sent.
    pub sha256: String,
}

/// A text of a request, with the hash under which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentText {
    pub hash: String,
    pub text: String,
}
