//! Writes the answer of a chat completion: as a stream of chunks, or as one object.

use serde_json::{Value, json};

use super::error::{OpenAiError, OpenAiErrorBody};
use super::progress::HandedCall;
use crate::api::chat::sse;
use crate::api::error::ApiError;
use crate::clock;
use crate::config::StepsShown;
use crate::domain::{Outcome, Usage};

/// What all chunks of an answer have in common.
#[derive(Clone, Debug)]
pub struct ChunkWriter {
    id: String,
    created: u64,
    /// As the request names it.
    model: String,
    has_usage: bool,
}

impl ChunkWriter {
    pub fn new(id: &str, model: String, has_usage: bool) -> Self {
        Self { id: format!("chatcmpl-{id}"), created: clock::now() as u64, model, has_usage }
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if self.has_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn delta(&self, delta: Value, finish_reason: Option<&str>) -> Vec<u8> {
        sse::data(&self.chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}])))
    }

    /// Returns the first chunk.
    pub fn begin(&self) -> Vec<u8> {
        self.delta(json!({"role": "assistant", "content": ""}), None)
    }

    pub fn text(&self, text: &str) -> Vec<u8> {
        self.delta(json!({"content": text}), None)
    }

    pub fn thought(&self, text: &str) -> Vec<u8> {
        self.delta(json!({"reasoning_content": text}), None)
    }

    pub fn call(&self, index: usize, call: &HandedCall) -> Vec<u8> {
        let mut call = call_json(call);
        call["index"] = index.into();
        self.delta(json!({"tool_calls": [call]}), None)
    }

    /// Returns more of the arguments of a call.
    pub fn arguments(&self, index: u32, more: &str) -> Vec<u8> {
        self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": more}}]}), None)
    }

    /// Returns the end of an answer, with what it used if the program wants to know.
    pub fn end(&self, finish_reason: &str, usage: Usage) -> Vec<u8> {
        let mut bytes = self.delta(json!({}), Some(finish_reason));
        if self.has_usage {
            let mut last = self.chunk(json!([]));
            last["usage"] = usage_json(usage);
            bytes.extend(sse::data(&last));
        }
        bytes.extend_from_slice(sse::DONE);
        bytes
    }

    /// Returns the end of a stream whose answer failed.
    pub fn failed(&self, error: ApiError) -> Vec<u8> {
        let ApiError { status, code, message, .. } = error;
        let body = OpenAiErrorBody { error: OpenAiError::new(status, code, message) };
        let mut bytes = sse::event("error", None, &body);
        bytes.extend_from_slice(sse::DONE);
        bytes
    }

    /// Returns a whole answer.
    pub fn whole(&self, answer: WholeAnswer) -> Value {
        let WholeAnswer { text, thoughts, calls, finish_reason, usage } = answer;
        let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { Value::from(text) };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !thoughts.is_empty() {
            message["reasoning_content"] = thoughts.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(call_json).collect();
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": null}],
            "usage": usage_json(usage),
        })
    }
}

/// An answer that is complete.
#[derive(Debug, Default)]
pub struct WholeAnswer {
    pub text: String,
    pub thoughts: String,
    pub calls: Vec<HandedCall>,
    pub finish_reason: &'static str,
    pub usage: Usage,
}

impl WholeAnswer {
    /// Adds a line about a step where the settings want it.
    pub fn step(&mut self, line: &str, shown: StepsShown) {
        match shown {
            StepsShown::Reasoning => add_line(&mut self.thoughts, line),
            StepsShown::Text => add_line(&mut self.text, line),
            StepsShown::None => {}
        }
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
}

fn call_json(call: &HandedCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

pub fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    })
}

/// Returns the reason for the end of an answer in the words of the API.
pub fn finish_reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done | Outcome::Interrupted { .. } | Outcome::Error { .. } => "stop",
        Outcome::Length | Outcome::Limit { .. } => "length",
        Outcome::Refusal => "content_filter",
    }
}
