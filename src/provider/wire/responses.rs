//! Reads answers of OpenAI's Responses API (platform.openai.com/docs/api-reference/responses-streaming). An answer is a
//! list of items: messages, calls, reasoning. The events of a stream say how each of them grows.

use std::collections::HashSet;

use serde_json::Value;

use super::{StreamItem, error_of, number_of, text_of};
use crate::domain::Usage;
use crate::provider::calls::{CallPiece, arguments_text};

/// The state of one answer.
#[derive(Debug, Default)]
pub(in crate::provider) struct Reader {
    /// Indexes of the items whose text or arguments came in pieces, so that the whole item at the end repeats them.
    streamed: HashSet<u64>,
    /// Indexes of the calls that were announced.
    calls: HashSet<u64>,
}

impl Reader {
    /// Returns the items of an event's data, or of a whole response.
    pub fn read(&mut self, document: &Value) -> Vec<StreamItem> {
        let mut said = Vec::new();
        let index = number_of(document, "output_index");
        let kind = document.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "response.output_text.delta" => self.text(index, document, StreamItem::Text, &mut said),
            "response.refusal.delta" => self.text(index, document, StreamItem::Refusal, &mut said),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.text(index, document, StreamItem::Thinking, &mut said);
            }
            // The parts of a summary are paragraphs.
            "response.reasoning_summary_part.added" if number_of(document, "summary_index") > 0 => {
                said.push(StreamItem::Thinking("\n\n".to_owned()));
            }
            "response.output_item.added" => {
                let item = document.get("item").unwrap_or(&Value::Null);
                if is(item, "function_call") {
                    self.call(index, item, &mut said);
                }
            }
            "response.function_call_arguments.delta" => {
                self.streamed.insert(index);
                said.extend(text_of(document, "delta").map(|more| arguments(index, more.to_owned())));
            }
            "response.output_item.done" => self.item(index, document.get("item").unwrap_or(&Value::Null), &mut said),
            "response.completed" | "response.incomplete" | "response.failed" => {
                end(document.get("response").unwrap_or(&Value::Null), &mut said);
            }
            _ if document.get("object").and_then(Value::as_str) == Some("response") => {
                let items = document.get("output").and_then(Value::as_array).into_iter().flatten();
                (0..).zip(items).for_each(|(index, item)| self.item(index, item, &mut said));
                end(document, &mut said);
            }
            "error" => said.push(StreamItem::Error(error_of(document).unwrap_or_else(|| document.clone()))),
            _ => said.extend(error_of(document).map(StreamItem::Error)),
        }
        said
    }

    fn text(&mut self, index: u64, document: &Value, item: impl Fn(String) -> StreamItem, said: &mut Vec<StreamItem>) {
        self.streamed.insert(index);
        said.extend(text_of(document, "delta").map(|text| item(text.to_owned())));
    }

    fn call(&mut self, index: u64, item: &Value, said: &mut Vec<StreamItem>) {
        self.calls.insert(index);
        let field = |name: &str| text_of(item, name).map(str::to_owned);
        let id = field("call_id").or_else(|| field("id"));
        let arguments = arguments_text(item.get("arguments"));
        if !arguments.is_empty() {
            self.streamed.insert(index);
        }
        said.push(StreamItem::Call(CallPiece { index: Some(index), id, name: field("name"), arguments }));
    }

    /// Adds what a whole item has and no earlier event had.
    fn item(&mut self, index: u64, item: &Value, said: &mut Vec<StreamItem>) {
        let parts = |name: &str| item.get(name).and_then(Value::as_array).into_iter().flatten();
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "function_call" if !self.calls.contains(&index) => self.call(index, item, said),
            "function_call" if !self.streamed.contains(&index) => {
                said.push(arguments(index, arguments_text(item.get("arguments"))));
            }
            "message" if !self.streamed.contains(&index) => {
                for part in parts("content") {
                    said.extend(text_of(part, "text").map(|text| StreamItem::Text(text.to_owned())));
                    said.extend(text_of(part, "refusal").map(|text| StreamItem::Refusal(text.to_owned())));
                }
            }
            "reasoning" => {
                if !self.streamed.contains(&index) {
                    let texts: Vec<&str> =
                        parts("summary").chain(parts("content")).filter_map(|part| text_of(part, "text")).collect();
                    if !texts.is_empty() {
                        said.push(StreamItem::Thinking(texts.join("\n\n")));
                    }
                }
                // Nothing is stored at the provider, so only an encrypted thought can be sent back.
                if text_of(item, "encrypted_content").is_some() {
                    said.push(StreamItem::Reasoning(item.clone()));
                }
            }
            _ => {}
        }
    }
}

fn is(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

fn arguments(index: u64, arguments: String) -> StreamItem {
    StreamItem::Call(CallPiece { index: Some(index), id: None, name: None, arguments })
}

fn end(response: &Value, said: &mut Vec<StreamItem>) {
    if let Some(error @ Value::Object(_)) = response.get("error") {
        said.push(StreamItem::Error(error.clone()));
        return;
    }
    said.extend(response.get("usage").and_then(usage_of).map(StreamItem::Usage));
    let reason = match response.get("status").and_then(Value::as_str) {
        Some("incomplete") => match response.get("incomplete_details").and_then(|details| text_of(details, "reason")) {
            Some("max_output_tokens") | None => "length",
            Some(other) => other,
        },
        Some("failed" | "cancelled") => "error",
        _ => "stop",
    };
    said.push(StreamItem::Finish(reason.to_owned()));
    said.push(StreamItem::Done);
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let detail = |group: &str, name: &str| usage.get(group).map(|details| number_of(details, name)).unwrap_or(0);
    let (input_tokens, output_tokens) = (number_of(usage, "input_tokens"), number_of(usage, "output_tokens"));
    let counted = Usage {
        input_tokens,
        output_tokens,
        cached_tokens: detail("input_tokens_details", "cached_tokens").min(input_tokens),
        thinking_tokens: detail("output_tokens_details", "reasoning_tokens").min(output_tokens),
        ..Usage::default()
    };
    (counted != Usage::default()).then_some(counted)
}
