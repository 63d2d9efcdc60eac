//! Adapts requests to a provider that refuses a field although its profile lists the field as accepted: models change
//! faster than tables. If the error names the field and the field is optional, this request is repeated without it, and
//! all later ones omit it. Sealed thoughts that a provider no longer accepts are left out of one request.

use serde_json::{Map, Value, json};

use super::error::ProviderError;

/// Optional fields. `max_tokens` is not among them: without it an answer may cost any amount.
const OPTIONAL_FIELDS: &[&str] = &[
    "stream_options",
    "temperature",
    "parallel_tool_calls",
    "return_progress",
    "tool_stream",
    "chat_template_kwargs",
    "enable_thinking",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "include",
    "store",
    "stop",
    "response_format",
    "tool_choice",
];

const EFFORT: &str = "reasoning_effort";
const OLD_LIMIT: &str = "max_tokens";
const NEW_LIMIT: &str = "max_completion_tokens";

/// A change to the request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adjustment {
    Without(&'static str),
    /// Leaves out the sealed thoughts of earlier answers: the provider does not accept one of them any more.
    NoThoughts,
    /// Turns reasoning off in requests with tools: OpenAI's newer models accept tools only without reasoning.
    NoEffort,
    /// Renames `max_tokens` to `max_completion_tokens`, or the other way round.
    Limit {
        old: &'static str,
        new: &'static str,
    },
}

/// Returns the change that an error asks for, if it would change this body.
pub(super) fn adjustment(error: &ProviderError, body: &Value) -> Option<Adjustment> {
    let ProviderError::Refused { status: 400 | 422, provider_message, .. } = error else { return None };
    let message = provider_message.to_lowercase();
    if refuses_thoughts(&message) && has_thoughts(body) {
        return Some(Adjustment::NoThoughts);
    }
    let refuses = [
        "unsupported",
        "not support",
        "unknown",
        "unrecognized",
        "unexpected",
        "not permitted",
        "not allowed",
        "extra inputs",
        "invalid parameter",
        "must be verified",
    ];
    if !refuses.iter().any(|word| message.contains(word)) {
        return None;
    }
    let refused = |field: &&str| body.get(*field).is_some() && names(&message, field);
    if message.contains("tools with reasoning_effort") {
        return (body.get(EFFORT) != Some(&json!("none"))).then_some(Adjustment::NoEffort);
    }
    if refused(&OLD_LIMIT) && names(&message, NEW_LIMIT) {
        return Some(Adjustment::Limit { old: OLD_LIMIT, new: NEW_LIMIT });
    }
    if refused(&NEW_LIMIT) {
        return Some(Adjustment::Limit { old: NEW_LIMIT, new: OLD_LIMIT });
    }
    OPTIONAL_FIELDS.iter().copied().find(|field| refused(field)).map(Adjustment::Without)
}

/// Whether an error is about the signature or the encrypted content of a thought: Anthropic's "Invalid `signature` in
/// `thinking` block", OpenAI's "The encrypted content … could not be verified".
fn refuses_thoughts(message: &str) -> bool {
    (message.contains("signature") && message.contains("thinking")) || message.contains("encrypted content")
}

fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking" | "reasoning"))
}

fn has_thoughts(body: &Value) -> bool {
    let list = |name: &str| body[name].as_array().into_iter().flatten();
    list("input").any(is_thought)
        || list("messages").filter_map(|message| message["content"].as_array()).flatten().any(is_thought)
}

/// Removes the thoughts. Anthropic's API wants the thought before a call while the work goes on, so such a request is
/// sent without thinking.
fn remove_thoughts(body: &mut Map<String, Value>) {
    if let Some(items) = body.get_mut("input").and_then(Value::as_array_mut) {
        items.retain(|item| !is_thought(item));
    }
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else { return };
    for message in messages.iter_mut() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| !is_thought(block));
        }
    }
    let last = messages.last().and_then(|message| message["content"].as_array());
    if last.is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result")) {
        body.shift_remove("thinking");
    }
}

/// Whether the text names the field as a whole word: `reasoning` is not `reasoning_effort`.
fn names(message: &str, field: &str) -> bool {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    message
        .match_indices(field)
        .any(|(at, _)| !message[..at].ends_with(part_of_name) && !message[at + field.len()..].starts_with(part_of_name))
}

impl Adjustment {
    pub fn apply(self, body: &mut Value) {
        let Some(fields) = body.as_object_mut() else { return };
        match self {
            Self::NoThoughts => remove_thoughts(fields),
            Self::Without(field) => {
                fields.shift_remove(field);
            }
            // A request without tools keeps its reasoning effort.
            Self::NoEffort => {
                if fields.contains_key("tools") {
                    fields.insert(EFFORT.to_owned(), json!("none"));
                }
            }
            Self::Limit { old, new } => {
                if let Some(limit) = fields.shift_remove(old) {
                    fields.insert(new.to_owned(), limit);
                }
            }
        }
    }

    /// Whether later requests need the change too. The thoughts of another conversation may be accepted.
    pub fn is_lasting(self) -> bool {
        self != Self::NoThoughts
    }

    /// Whether applying both changes in one turn would loop.
    pub fn repeats(self, before: Self) -> bool {
        self == before || matches!((self, before), (Self::Limit { .. }, Self::Limit { .. }))
    }

    /// Returns the status message for the person who waits.
    pub fn message(self, provider: &str) -> String {
        match self {
            Self::Without(field) => format!("{provider} doesn't support \"{field}\", retrying without it"),
            Self::NoThoughts => format!("{provider} doesn't accept an earlier thought, retrying without its thoughts"),
            Self::NoEffort => format!("{provider} supports tools only without reasoning, retrying without it"),
            Self::Limit { old, new } => format!("{provider} doesn't support \"{old}\", retrying with \"{new}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjustment_for(message: &str) -> Option<Adjustment> {
        let error = ProviderError::Refused { provider: "P".into(), status: 400, provider_message: message.into() };
        let body = json!({"max_tokens": 5, "temperature": 0.7, "stream_options": {}, "reasoning_effort": "none"});
        adjustment(&error, &body)
    }

    fn refused(message: &str, body: &Value) -> Option<Adjustment> {
        let error = ProviderError::Refused { provider: "P".into(), status: 400, provider_message: message.into() };
        adjustment(&error, body)
    }

    #[test]
    fn thoughts_that_are_refused_are_left_out_once() {
        let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "old"});
        let call = json!({"type": "tool_use", "id": "c", "name": "n", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "r"});
        let mut body = json!({"thinking": {"type": "adaptive"}, "messages": [
            {"role": "user", "content": "q"}, {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]}]});
        let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
        let change = refused(message, &body).unwrap();
        assert!(!change.is_lasting());
        change.apply(&mut body);
        assert_eq!(body["messages"][1]["content"], json!([call]));
        assert_eq!(body.get("thinking"), None, "a call without its thought");
        assert_eq!(refused(message, &body), None, "there is nothing more to leave out");

        let mut body = json!({"input": [{"role": "user", "content": "q"}, {"type": "reasoning", "encrypted_content": "x"},
            {"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}]});
        let message = "The encrypted content gAAA... could not be verified.";
        refused(message, &body).unwrap().apply(&mut body);
        assert_eq!(body["input"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn field_is_dropped_only_when_refused_by_name() {
        assert_eq!(
            adjustment_for(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            ),
            Some(Adjustment::Limit { old: "max_tokens", new: "max_completion_tokens" })
        );
        assert_eq!(
            adjustment_for("Unsupported value: 'temperature' does not support 0.7 with this model."),
            Some(Adjustment::Without("temperature"))
        );
        assert_eq!(
            adjustment_for("Extra inputs are not permitted: stream_options"),
            Some(Adjustment::Without("stream_options"))
        );
        assert_eq!(adjustment_for("Unknown field reasoning_effort"), Some(Adjustment::Without("reasoning_effort")));
        let effort = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions.";
        let error = ProviderError::Refused { provider: "P".into(), status: 400, provider_message: effort.into() };
        let mut body = json!({"tools": []});
        let change = adjustment(&error, &body);
        assert_eq!(change, Some(Adjustment::NoEffort));
        change.unwrap().apply(&mut body);
        assert_eq!(body, json!({"tools": [], "reasoning_effort": "none"}));
        assert_eq!(
            adjustment_for("Function tools with reasoning_effort are not supported for m in /v1/chat/completions."),
            None,
            "it is none already"
        );
        for other in [
            "temperature must be at most 1",
            "max_tokens is not supported",
            "Unsupported parameter: reasoning",
            "The reasoning_content in the thinking mode must be passed back to the API",
            "unsupported content",
        ] {
            assert_eq!(adjustment_for(other), None, "{other}");
        }
    }
}
