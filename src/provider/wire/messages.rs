//! Reads answers of Anthropic's Messages API (platform.claude.com/docs/en/build-with-claude/streaming). An answer is a
//! list of blocks: text, thinking, calls. The events of a stream say how each of them grows.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{StreamItem, error_of, number_of, text_of};
use crate::domain::Usage;
use crate::provider::calls::{CallPiece, arguments_text};

/// The state of one answer.
#[derive(Debug, Default)]
pub(in crate::provider) struct Reader {
    /// Blocks that are not complete, by their index. Text needs no state.
    blocks: HashMap<u64, Block>,
    usage: Counts,
}

#[derive(Debug)]
enum Block {
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(Value),
    /// `whole` is what the first event contains of the arguments; a stream sends them afterwards.
    Call {
        whole: String,
        is_streamed: bool,
    },
}

/// Token counts. Later events repeat those of earlier ones, as far as they have changed.
#[derive(Debug, Default)]
struct Counts {
    /// Input that was neither read from the cache nor written to it.
    input: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
    thinking: u64,
}

impl Reader {
    /// Returns the items of an event's data, or of a whole message.
    pub fn read(&mut self, document: &Value) -> Vec<StreamItem> {
        let mut said = Vec::new();
        let index = number_of(document, "index");
        match document.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                if let Some(usage) = document.get("message").and_then(|message| message.get("usage")) {
                    self.usage.add(usage);
                }
            }
            "content_block_start" => {
                self.start(index, document.get("content_block").unwrap_or(&Value::Null), &mut said)
            }
            "content_block_delta" => self.grow(index, document.get("delta").unwrap_or(&Value::Null), &mut said),
            "content_block_stop" => self.stop(index, &mut said),
            "message_delta" => {
                if let Some(usage) = document.get("usage") {
                    self.usage.add(usage);
                }
                self.end(document.get("delta").unwrap_or(&Value::Null), &mut said);
            }
            "message_stop" => said.push(StreamItem::Done),
            "message" => self.whole(document, &mut said),
            _ => said.extend(error_of(document).map(StreamItem::Error)),
        }
        said
    }

    fn start(&mut self, index: u64, block: &Value, said: &mut Vec<StreamItem>) {
        let text = |field: &str| text_of(block, field).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => said.extend(text_of(block, "text").map(|text| StreamItem::Text(text.to_owned()))),
            "thinking" => {
                let (text, signature) = (text("thinking"), text("signature"));
                if !text.is_empty() {
                    said.push(StreamItem::Thinking(text.clone()));
                }
                self.blocks.insert(index, Block::Thinking { text, signature });
            }
            "redacted_thinking" => {
                self.blocks.insert(index, Block::Redacted(block.clone()));
            }
            "tool_use" => {
                let whole = match block.get("input") {
                    Some(Value::Object(fields)) if fields.is_empty() => String::new(),
                    input => arguments_text(input),
                };
                self.blocks.insert(index, Block::Call { whole, is_streamed: false });
                let name = text_of(block, "name").map(str::to_owned);
                let id = text_of(block, "id").map(str::to_owned);
                said.push(StreamItem::Call(CallPiece { index: Some(index), id, name, arguments: String::new() }));
            }
            _ => {}
        }
    }

    fn grow(&mut self, index: u64, delta: &Value, said: &mut Vec<StreamItem>) {
        match delta.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text_delta" => said.extend(text_of(delta, "text").map(|text| StreamItem::Text(text.to_owned()))),
            "thinking_delta" => {
                let Some(more) = text_of(delta, "thinking") else { return };
                if let Some(Block::Thinking { text, .. }) = self.blocks.get_mut(&index) {
                    text.push_str(more);
                }
                said.push(StreamItem::Thinking(more.to_owned()));
            }
            "signature_delta" => {
                if let Some(Block::Thinking { signature, .. }) = self.blocks.get_mut(&index) {
                    signature.push_str(text_of(delta, "signature").unwrap_or_default());
                }
            }
            "input_json_delta" => {
                let Some(more) = text_of(delta, "partial_json") else { return };
                if let Some(Block::Call { is_streamed, .. }) = self.blocks.get_mut(&index) {
                    *is_streamed = true;
                }
                said.push(arguments(index, more.to_owned()));
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: u64, said: &mut Vec<StreamItem>) {
        match self.blocks.remove(&index) {
            // Without a signature it cannot be sent back.
            Some(Block::Thinking { text, signature }) if !signature.is_empty() => {
                said.push(StreamItem::Reasoning(json!({"type": "thinking", "thinking": text, "signature": signature})));
            }
            Some(Block::Redacted(block)) => said.push(StreamItem::Reasoning(block)),
            Some(Block::Call { whole, is_streamed: false }) if !whole.is_empty() => said.push(arguments(index, whole)),
            Some(Block::Thinking { .. } | Block::Call { .. }) | None => {}
        }
    }

    fn end(&self, message: &Value, said: &mut Vec<StreamItem>) {
        said.extend(self.usage.usage().map(StreamItem::Usage));
        said.extend(text_of(message, "stop_reason").map(|reason| StreamItem::Finish(reason.to_owned())));
    }

    fn whole(&mut self, message: &Value, said: &mut Vec<StreamItem>) {
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        for (index, block) in (0..).zip(blocks) {
            self.start(index, block, said);
            self.stop(index, said);
        }
        if let Some(usage) = message.get("usage") {
            self.usage.add(usage);
        }
        self.end(message, said);
    }
}

fn arguments(index: u64, arguments: String) -> StreamItem {
    StreamItem::Call(CallPiece { index: Some(index), id: None, name: None, arguments })
}

impl Counts {
    fn add(&mut self, usage: &Value) {
        let Value::Object(fields) = usage else { return };
        let told = |name: &str, fields: &Map<String, Value>| fields.get(name).and_then(Value::as_u64);
        for (count, name) in [
            (&mut self.input, "input_tokens"),
            (&mut self.cache_written, "cache_creation_input_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *count = told(name, fields).unwrap_or(*count);
        }
        let details = fields.get("output_tokens_details").and_then(Value::as_object);
        self.thinking = details.and_then(|details| told("thinking_tokens", details)).unwrap_or(self.thinking);
    }

    /// Returns the counts as other APIs have them: the input contains what was cached.
    fn usage(&self) -> Option<Usage> {
        let input_tokens = self.input.saturating_add(self.cache_written).saturating_add(self.cache_read);
        let usage = Usage {
            input_tokens,
            output_tokens: self.output,
            cached_tokens: self.cache_read,
            thinking_tokens: self.thinking.min(self.output),
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
    }
}
