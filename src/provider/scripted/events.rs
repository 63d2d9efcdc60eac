//! The events in which each API streams an answer.

use serde_json::{Value, json};

use super::script::ScriptedCall;
use crate::provider::profile::Api;

/// Writes one answer.
pub(super) struct Writer {
    api: Api,
    is_begun: bool,
    /// The block or item that is being written, and its text or arguments so far.
    open: Option<Open>,
    /// Index of the next block or item.
    index: u64,
    /// Number of calls so far.
    calls: u64,
    /// The complete items of a response.
    items: Vec<Value>,
    usage: Value,
}

struct Open {
    kind: Kind,
    text: String,
    signature: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Thinking,
    Text,
}

impl Writer {
    pub fn new(api: Api) -> Self {
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        Self { api, is_begun: false, open: None, index: 0, calls: 0, items: Vec::new(), usage }
    }

    /// Sets the usage that the end of the answer tells.
    pub fn set_usage(&mut self, usage: &Value) {
        self.usage.clone_from(usage);
    }

    pub fn text(&mut self, text: &str) -> String {
        match self.api {
            Api::Chat => chat_delta(json!({"content": text})),
            Api::Messages | Api::Responses => self.grow(Kind::Text, text),
        }
    }

    pub fn thinking(&mut self, text: &str) -> String {
        match self.api {
            Api::Chat => chat_delta(json!({"reasoning_content": text})),
            Api::Messages | Api::Responses => self.grow(Kind::Thinking, text),
        }
    }

    /// Ends a thought with its signature, or its encrypted form. A thought that was not shown has only that.
    pub fn signature(&mut self, signature: &str) -> String {
        let mut events = match self.api {
            Api::Chat => return String::new(),
            Api::Messages | Api::Responses => self.grow(Kind::Thinking, ""),
        };
        if let Some(open) = &mut self.open {
            signature.clone_into(&mut open.signature);
        }
        events.push_str(&self.close());
        events
    }

    /// Writes a thought of which nothing is shown (Anthropic).
    pub fn redacted(&mut self, data: &str) -> String {
        let events = self.begin() + &self.close();
        let index = self.next_index();
        match self.api {
            Api::Chat | Api::Responses => events,
            Api::Messages => {
                let block = json!({"type": "redacted_thinking", "data": data});
                events
                    + &named(json!({"type": "content_block_start", "index": index, "content_block": block}))
                    + &named(json!({"type": "content_block_stop", "index": index}))
            }
        }
    }

    /// Writes a whole call; its arguments come in two pieces.
    pub fn call(&mut self, call: &ScriptedCall) -> String {
        let number = self.calls;
        self.calls += 1;
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}"));
        let arguments = match &call.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(raw) => raw.clone(),
            other => other.to_string(),
        };
        if self.api == Api::Chat {
            let function = json!({"name": call.name, "arguments": arguments});
            return chat_delta(
                json!({"tool_calls": [{"index": number, "id": id, "type": "function", "function": function}]}),
            );
        }
        let events = self.begin() + &self.close();
        let index = self.next_index();
        let (first, rest) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
        match self.api {
            Api::Chat => events,
            Api::Messages => {
                let block = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
                let delta = |part: &str| {
                    named(json!({"type": "content_block_delta", "index": index,
                        "delta": {"type": "input_json_delta", "partial_json": part}}))
                };
                events
                    + &named(json!({"type": "content_block_start", "index": index, "content_block": block}))
                    + &delta(first)
                    + &delta(rest)
                    + &named(json!({"type": "content_block_stop", "index": index}))
            }
            Api::Responses => {
                let item_id = format!("fc_{index}");
                let item = |arguments: &str, status: &str| {
                    json!({"type": "function_call", "id": item_id, "call_id": id, "name": call.name,
                        "arguments": arguments, "status": status})
                };
                let delta = |part: &str| {
                    named(json!({"type": "response.function_call_arguments.delta", "item_id": item_id,
                        "output_index": index, "delta": part}))
                };
                self.items.push(item(&arguments, "completed"));
                events
                    + &named(json!({"type": "response.output_item.added", "output_index": index,
                        "item": item("", "in_progress")}))
                    + &delta(first)
                    + &delta(rest)
                    + &named(json!({"type": "response.function_call_arguments.done", "item_id": item_id,
                        "output_index": index, "name": call.name, "arguments": arguments}))
                    + &named(json!({"type": "response.output_item.done", "output_index": index,
                        "item": item(&arguments, "completed")}))
            }
        }
    }

    /// Ends the answer. `reason` is that of the chat API.
    pub fn finish(&mut self, reason: &str) -> String {
        if self.api == Api::Chat {
            let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            let counted = json!({"choices": [], "usage": self.usage});
            return chat_event(last) + &chat_event(counted) + "data: [DONE]\n\n";
        }
        let events = self.begin() + &self.close();
        match self.api {
            Api::Chat => events,
            Api::Messages => {
                let reason = match reason {
                    "stop" => "end_turn",
                    "tool_calls" => "tool_use",
                    "length" => "max_tokens",
                    other => other,
                };
                let delta = json!({"stop_reason": reason, "stop_sequence": null});
                let usage = json!({"output_tokens": self.count("completion_tokens")});
                events
                    + &named(json!({"type": "message_delta", "delta": delta, "usage": usage}))
                    + &named(json!({"type": "message_stop"}))
            }
            Api::Responses => {
                let incomplete = match reason {
                    "length" => Some("max_output_tokens"),
                    "content_filter" => Some("content_filter"),
                    _ => None,
                };
                let kind = if incomplete.is_some() { "incomplete" } else { "completed" };
                let mut response = self.response(kind);
                response["incomplete_details"] = incomplete.map_or(Value::Null, |reason| json!({"reason": reason}));
                let input = self.count("prompt_tokens");
                let output = self.count("completion_tokens");
                response["usage"] = json!({
                    "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
                    "input_tokens_details": {"cached_tokens": self.count("cached_tokens")},
                    "output_tokens_details": {"reasoning_tokens": self.count("reasoning_tokens")},
                });
                events + &named(json!({"type": format!("response.{kind}"), "response": response}))
            }
        }
    }

    fn count(&self, name: &str) -> u64 {
        self.usage.get(name).and_then(Value::as_u64).unwrap_or(0)
    }

    fn next_index(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        index
    }

    /// Writes the events before the first block, once.
    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.is_begun, true) {
            return String::new();
        }
        match self.api {
            Api::Chat => String::new(),
            Api::Messages => {
                let (cached, written) = (self.count("cached_tokens"), self.count("written_tokens"));
                let usage = json!({
                    "input_tokens": self.count("prompt_tokens").saturating_sub(cached + written),
                    "cache_creation_input_tokens": written, "cache_read_input_tokens": cached, "output_tokens": 1,
                });
                let message = json!({
                    "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted", "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": usage,
                });
                named(json!({"type": "message_start", "message": message})) + &named(json!({"type": "ping"}))
            }
            Api::Responses => named(json!({"type": "response.created", "response": self.response("in_progress")})),
        }
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": "resp_scripted", "object": "response", "created_at": 0, "status": status, "model": "scripted",
            "output": self.items, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "temperature": null, "top_p": null,
            "usage": null,
        })
    }

    fn grow(&mut self, kind: Kind, text: &str) -> String {
        let mut events = self.begin();
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            events.push_str(&self.close());
            events.push_str(&self.start(kind));
            self.open = Some(Open { kind, text: String::new(), signature: String::new() });
        }
        if let Some(open) = self.open.as_mut().filter(|_| !text.is_empty()) {
            open.text.push_str(text);
            events.push_str(&self.delta(kind, text));
        }
        events
    }

    fn start(&self, kind: Kind) -> String {
        let index = self.index;
        match (self.api, kind) {
            (Api::Chat, _) => String::new(),
            (Api::Messages, Kind::Text) => block_start(index, json!({"type": "text", "text": ""})),
            (Api::Messages, Kind::Thinking) => {
                block_start(index, json!({"type": "thinking", "thinking": "", "signature": ""}))
            }
            (Api::Responses, Kind::Text) => {
                let item = json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
                    "status": "in_progress", "content": []});
                named(json!({"type": "response.output_item.added", "output_index": index, "item": item}))
                    + &named(json!({"type": "response.content_part.added", "item_id": format!("msg_{index}"),
                        "output_index": index, "content_index": 0,
                        "part": {"type": "output_text", "text": "", "annotations": []}}))
            }
            (Api::Responses, Kind::Thinking) => {
                let item = json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": []});
                named(json!({"type": "response.output_item.added", "output_index": index, "item": item}))
                    + &named(json!({"type": "response.reasoning_summary_part.added", "item_id": format!("rs_{index}"),
                        "output_index": index, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}))
            }
        }
    }

    fn delta(&self, kind: Kind, text: &str) -> String {
        let index = self.index;
        let of_block = |delta: Value| named(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        match (self.api, kind) {
            (Api::Chat, _) => String::new(),
            (Api::Messages, Kind::Text) => of_block(json!({"type": "text_delta", "text": text})),
            (Api::Messages, Kind::Thinking) => of_block(json!({"type": "thinking_delta", "thinking": text})),
            (Api::Responses, Kind::Text) => named(json!({"type": "response.output_text.delta",
                "item_id": format!("msg_{index}"), "output_index": index, "content_index": 0, "delta": text,
                "logprobs": []})),
            (Api::Responses, Kind::Thinking) => named(json!({"type": "response.reasoning_summary_text.delta",
                "item_id": format!("rs_{index}"), "output_index": index, "summary_index": 0, "delta": text})),
        }
    }

    /// Ends the block or item that is being written.
    fn close(&mut self) -> String {
        let Some(Open { kind, text, signature }) = self.open.take() else { return String::new() };
        let index = self.next_index();
        match (self.api, kind) {
            (Api::Chat, _) => String::new(),
            (Api::Messages, _) => {
                let signature = Some(signature).filter(|signature| !signature.is_empty()).map(|signature| {
                    named(json!({"type": "content_block_delta", "index": index,
                        "delta": {"type": "signature_delta", "signature": signature}}))
                });
                signature.unwrap_or_default() + &named(json!({"type": "content_block_stop", "index": index}))
            }
            (Api::Responses, kind) => {
                let item = match kind {
                    Kind::Text => json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]}),
                    Kind::Thinking => {
                        let summary = Some(json!({"type": "summary_text", "text": text})).filter(|_| !text.is_empty());
                        let encrypted = Some(signature).filter(|signature| !signature.is_empty());
                        json!({"type": "reasoning", "id": format!("rs_{index}"),
                            "summary": summary.into_iter().collect::<Vec<_>>(), "encrypted_content": encrypted})
                    }
                };
                self.items.push(item.clone());
                named(json!({"type": "response.output_item.done", "output_index": index, "item": item}))
            }
        }
    }
}

fn block_start(index: u64, block: Value) -> String {
    named(json!({"type": "content_block_start", "index": index, "content_block": block}))
}

/// Formats an event whose name is its type.
fn named(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn chat_delta(delta: Value) -> String {
    chat_event(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

/// Formats one event as a chat completion chunk.
fn chat_event(mut chunk: Value) -> String {
    chunk["id"] = json!("chatcmpl-scripted");
    chunk["object"] = json!("chat.completion.chunk");
    chunk["model"] = json!("scripted");
    format!("data: {chunk}\n\n")
}
