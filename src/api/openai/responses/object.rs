//! The object of a response, and what of it a stream tells.

use serde_json::{Map, Value, json};

use crate::api::error::ApiError;
use crate::api::openai::error::{OpenAiError, of_outcome};
use crate::domain::{Outcome, Usage};

/// What a response says besides its items.
#[derive(Clone, Debug, Default)]
pub struct ResponseHead {
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// As the request names it.
    pub model: String,
    pub previous_response_id: Option<String>,
    pub instructions: Option<String>,
    pub store: bool,
    pub background: bool,
    pub temperature: Option<f32>,
    pub max_output_tokens: Option<u32>,
    pub metadata: Map<String, Value>,
    /// The program's tools, in the form of this API.
    pub tools: Vec<Value>,
}

/// How far a response is.
#[derive(Debug)]
pub enum ResponseState {
    InProgress,
    Completed,
    Ended(Outcome),
    /// It cannot be followed any more, or its model failed.
    Failed(ApiError),
}

impl ResponseState {
    /// Returns the status in the words of the API.
    pub fn status(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed | Self::Ended(Outcome::Done | Outcome::Refusal) => "completed",
            Self::Ended(Outcome::Length | Outcome::Limit { .. }) => "incomplete",
            Self::Ended(Outcome::Error { .. }) | Self::Failed(_) => "failed",
            Self::Ended(Outcome::Interrupted { .. }) => "cancelled",
        }
    }

    /// Returns the event that ends a stream with it.
    pub fn last_event(&self) -> &'static str {
        match self {
            Self::InProgress => "response.in_progress",
            Self::Completed | Self::Ended(Outcome::Done | Outcome::Refusal) => "response.completed",
            Self::Ended(Outcome::Length | Outcome::Limit { .. } | Outcome::Interrupted { .. }) => "response.incomplete",
            Self::Ended(Outcome::Error { .. }) | Self::Failed(_) => "response.failed",
        }
    }

    fn error(&self) -> Value {
        let error = match self {
            Self::Failed(error) => Some(OpenAiError::new(error.status, error.code, error.message.clone())),
            Self::Ended(outcome) => {
                of_outcome(outcome).map(|error| OpenAiError::new(error.status, error.code, error.message))
            }
            Self::InProgress | Self::Completed => None,
        };
        error.map_or(Value::Null, |error| json!({"code": error.code, "message": error.message}))
    }

    fn incomplete(&self) -> Value {
        match self {
            Self::Ended(Outcome::Length | Outcome::Limit { .. }) => json!({"reason": "max_output_tokens"}),
            Self::Ended(Outcome::Interrupted { .. }) => json!({"reason": "interrupted"}),
            _ => Value::Null,
        }
    }
}

impl ResponseHead {
    pub fn object(&self, state: &ResponseState, output: Vec<Value>, usage: Option<Usage>) -> Value {
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": state.status(),
            "background": self.background,
            "error": state.error(),
            "incomplete_details": state.incomplete(),
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": self.metadata,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": self.previous_response_id,
            "reasoning": {"effort": null, "summary": null},
            "store": self.store,
            "temperature": self.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": self.tools,
            "top_p": null,
            "truncation": "disabled",
            "usage": usage.map(usage_json),
        })
    }
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
        "total_tokens": usage.total(),
    })
}
