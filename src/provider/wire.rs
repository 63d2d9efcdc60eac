//! Parses the JSON of answers leniently: unknown fields are ignored and a field of an unexpected type counts as missing,
//! so that a provider's extensions never break a turn. Each API has a reader; that of the chat API is here.

mod messages;
mod responses;

use serde_json::Value;

use super::calls::{CallPiece, arguments_text};
use super::profile::Api;
use crate::domain::{Cost, Currency, Usage};

/// One item of a JSON document of the stream, in display order.
#[derive(Debug, PartialEq)]
pub(super) enum StreamItem {
    /// `total` and `processed` count tokens of the prompt, cached ones included.
    PromptProgress {
        total: u64,
        processed: u64,
    },
    /// Number of requests queued before this one.
    Queue(u64),
    Thinking(String),
    /// A whole thought in the form in which the provider wants it back.
    Reasoning(Value),
    Text(String),
    /// The model's refusal, shown as text.
    Refusal(String),
    Call(CallPiece),
    Usage(Usage),
    Finish(String),
    /// An error instead of an answer.
    Error(Value),
    /// The end of the stream, in APIs that have such an event.
    Done,
}

/// Reads the JSON documents of one answer.
pub(super) enum Reader {
    Chat,
    Messages(messages::Reader),
    Responses(responses::Reader),
}

impl Reader {
    pub fn of(api: Api) -> Self {
        match api {
            Api::Chat => Self::Chat,
            Api::Messages => Self::Messages(messages::Reader::default()),
            Api::Responses => Self::Responses(responses::Reader::default()),
        }
    }

    /// Returns the items of an event's data, or of a whole answer that was not streamed.
    pub fn read(&mut self, document: &Value) -> Vec<StreamItem> {
        match self {
            Self::Chat => read(document),
            Self::Messages(reader) => reader.read(document),
            Self::Responses(reader) => reader.read(document),
        }
    }
}

/// Returns a field's text, unless it is missing or empty.
fn text_of<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns a field's number; 0 if it is missing or negative.
fn number_of(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the items of a chunk or a whole completion.
fn read(document: &Value) -> Vec<StreamItem> {
    let mut said = Vec::new();
    if let Some(error) = error_of(document) {
        said.push(StreamItem::Error(error));
        return said;
    }
    if let Some(progress) = document.get("prompt_progress") {
        let number = |name: &str| progress.get(name).and_then(Value::as_u64);
        if let (Some(total), Some(processed)) = (number("total"), number("processed")) {
            said.push(StreamItem::PromptProgress { total, processed });
        }
    }
    said.extend(document.get("queue_position").and_then(Value::as_u64).map(StreamItem::Queue));
    let choice = document.get("choices").and_then(|choices| choices.get(0));
    if let Some(choice) = choice {
        // A whole completion has `message` where a chunk has `delta`.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            read_delta(delta, &mut said);
        }
    }
    let usage = document.get("usage").or_else(|| choice.and_then(|choice| choice.get("usage")));
    said.extend(usage.and_then(usage_of).map(StreamItem::Usage));
    if let Some(reason) = choice.and_then(|choice| choice.get("finish_reason")).and_then(Value::as_str)
        && !reason.is_empty()
    {
        said.push(StreamItem::Finish(reason.to_owned()));
    }
    said
}

fn read_delta(delta: &Value, said: &mut Vec<StreamItem>) {
    let text_field = |name: &str| text_of(delta, name);
    // OpenRouter sends the same words as `reasoning` and as `reasoning_details`.
    let thinking = text_field("reasoning_content")
        .or_else(|| text_field("reasoning"))
        .map_or_else(|| details_text(delta.get("reasoning_details")), str::to_owned);
    if !thinking.is_empty() {
        said.push(StreamItem::Thinking(thinking));
    }
    match delta.get("content") {
        Some(Value::String(text)) if !text.is_empty() => said.push(StreamItem::Text(text.clone())),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| read_part(part, said)),
        _ => {}
    }
    said.extend(text_field("refusal").map(|text| StreamItem::Refusal(text.to_owned())));
    if let Some(Value::Array(calls)) = delta.get("tool_calls") {
        said.extend(calls.iter().map(call_piece).map(StreamItem::Call));
    }
    // The predecessor of `tool_calls`, which some gateways still use.
    if let Some(function @ Value::Object(_)) = delta.get("function_call") {
        said.push(StreamItem::Call(CallPiece {
            index: Some(0),
            id: None,
            name: name_of(function),
            arguments: arguments_text(function.get("arguments")),
        }));
    }
}

fn read_part(part: &Value, said: &mut Vec<StreamItem>) {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    let text = match kind {
        "thinking" => texts_of(part.get("thinking")),
        _ => texts_of(part.get("text")),
    };
    match kind {
        _ if text.is_empty() => {}
        "thinking" => said.push(StreamItem::Thinking(text)),
        "text" | "output_text" => said.push(StreamItem::Text(text)),
        "refusal" => said.push(StreamItem::Refusal(text)),
        _ => {}
    }
}

/// Returns a string, or the joined `text` of the parts of an array.
fn texts_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        _ => String::new(),
    }
}

fn details_text(details: Option<&Value>) -> String {
    let Some(Value::Array(details)) = details else { return String::new() };
    details
        .iter()
        .filter_map(|detail| detail.get("text").or_else(|| detail.get("summary")).and_then(Value::as_str))
        .collect()
}

fn call_piece(call: &Value) -> CallPiece {
    let function = call.get("function").unwrap_or(&Value::Null);
    CallPiece {
        index: call.get("index").and_then(Value::as_u64),
        id: text_of(call, "id").map(str::to_owned),
        name: name_of(function),
        arguments: arguments_text(function.get("arguments")),
    }
}

fn name_of(function: &Value) -> Option<String> {
    text_of(function, "name").map(str::to_owned)
}

/// Returns the token counts; `None` if all are 0. A negative or missing number counts as 0. OpenRouter and Perplexity add what
/// they charge, in dollars (openrouter.ai/docs/use-cases/usage-accounting, docs.perplexity.ai).
fn usage_of(usage: &Value) -> Option<Usage> {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
    let cached = usage
        .get("prompt_tokens_details")
        .and_then(|details| details.get("cached_tokens"))
        .or_else(|| usage.get("prompt_cache_hit_tokens"))
        .or_else(|| usage.get("cached_tokens"));
    let thinking = usage.get("completion_tokens_details").and_then(|details| details.get("reasoning_tokens"));
    let (input_tokens, output_tokens) = (number(usage.get("prompt_tokens")), number(usage.get("completion_tokens")));
    let counted = Usage {
        input_tokens,
        output_tokens,
        cached_tokens: number(cached).min(input_tokens),
        thinking_tokens: number(thinking).min(output_tokens),
        ..Usage::default()
    };
    let cost = usage.get("cost").map(|cost| cost.get("total_cost").unwrap_or(cost));
    let cost = cost.and_then(Value::as_f64).and_then(|cost| Cost::of(cost, Currency::USD));
    let counted = Usage { cost, priced_tokens: cost.map_or(0, |_| counted.total()), ..counted };
    (counted != Usage::default()).then_some(counted)
}

/// Returns the error in a document: `{"error": …}`, an error in the first choice, or `{"message", "code"}` without
/// choices.
fn error_of(document: &Value) -> Option<Value> {
    match document.get("error") {
        None | Some(Value::Null) => {}
        Some(error) => return Some(error.clone()),
    }
    let choice_error = document.get("choices").and_then(|choices| choices.get(0)).and_then(|c| c.get("error"));
    if let Some(error @ Value::Object(_)) = choice_error {
        return Some(error.clone());
    }
    let bare = document.get("choices").is_none()
        && document.get("message").is_some_and(Value::is_string)
        && (document.get("code").is_some() || document.get("object").and_then(Value::as_str) == Some("error"));
    bare.then(|| document.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn delta(delta: Value) -> Vec<StreamItem> {
        read(&json!({"choices": [{"index": 0, "delta": delta}]}))
    }

    #[test]
    fn thinking_is_read_once_under_every_name() {
        let thought = || vec![StreamItem::Thinking("hm".to_owned())];
        assert_eq!(delta(json!({"reasoning_content": "hm", "content": null})), thought());
        assert_eq!(delta(json!({"reasoning": "hm", "content": ""})), thought());
        assert_eq!(
            delta(json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]})),
            thought()
        );
        assert_eq!(delta(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]})), thought());
        assert_eq!(
            delta(json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}
            ]})),
            [StreamItem::Thinking("hm".into()), StreamItem::Text("yes".into())]
        );
    }

    #[test]
    fn arguments_may_be_an_object() {
        assert_eq!(
            delta(json!({"tool_calls": [{"id": "", "function": {"name": "f", "arguments": {"a": 1}}}]})),
            [StreamItem::Call(CallPiece {
                index: None,
                id: None,
                name: Some("f".into()),
                arguments: "{\"a\":1}".into()
            })]
        );
    }

    #[test]
    fn usage_includes_cached_tokens_and_tolerates_nonsense() {
        let usage = |usage: Value| read(&json!({"choices": [], "usage": usage}));
        let counted = |input_tokens, output_tokens, cached_tokens| {
            vec![StreamItem::Usage(Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })]
        };
        assert_eq!(
            usage(json!({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}})),
            counted(10, 2, 8)
        );
        assert_eq!(
            usage(json!({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4})),
            counted(10, 2, 4)
        );
        assert_eq!(usage(json!({"prompt_tokens": -1, "completion_tokens": 2, "cached_tokens": 5})), counted(0, 2, 0));
        assert_eq!(usage(json!(null)), []);
        assert_eq!(usage(json!("none")), []);
        assert_eq!(
            read(&json!({"choices": [{"delta": {}, "usage": {"prompt_tokens": 3}, "finish_reason": "stop"}]})),
            [counted(3, 0, 0).remove(0), StreamItem::Finish("stop".into())]
        );
    }

    #[test]
    fn stream_errors_are_recognised() {
        for error in [
            json!({"error": {"message": "no", "code": 429}}),
            json!({"error": "no"}),
            json!({"object": "error", "message": "no", "code": 400}),
            json!({"choices": [{"delta": {}, "error": {"message": "no"}, "finish_reason": "error"}]}),
        ] {
            assert!(matches!(read(&error).as_slice(), [StreamItem::Error(_)]), "{error}");
        }
        assert_eq!(
            read(&json!({"error": null, "choices": [{"delta": {"content": "x"}}]})),
            [StreamItem::Text("x".into())]
        );
    }

    #[test]
    fn unknown_fields_are_ignored() {
        for odd in [json!(1), json!([]), json!({"choices": null}), json!({"choices": [{"delta": 5}]}), json!(null)] {
            assert_eq!(read(&odd), [], "{odd}");
        }
    }
}
