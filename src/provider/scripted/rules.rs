//! The rules that Anthropic's API and the Responses API enforce for a conversation, as far as their documentation says.

use std::collections::HashSet;

use serde_json::Value;

/// Most cache marks of a request.
const MOST_MARKS: usize = 4;

/// Returns the first rule of the Messages API that a body breaks.
pub fn broken_by_messages(body: &Value) -> Option<String> {
    let Some(max_tokens) = body["max_tokens"].as_u64().filter(|most| *most > 0) else {
        return Some("max_tokens: Field required".to_owned());
    };
    if let Some(budget) = body["thinking"]["budget_tokens"].as_u64()
        && (budget < 1_024 || budget >= max_tokens)
    {
        return Some("thinking.budget_tokens: must be at least 1024 and less than max_tokens".to_owned());
    }
    let marks = marks(body);
    if marks > MOST_MARKS {
        return Some(format!("A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."));
    }
    let Some(messages) = body["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        return Some("messages: at least one message is required".to_owned());
    };
    let (mut ids, mut open) = (HashSet::new(), Vec::<String>::new());
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return Some(format!("messages.{at}: roles must alternate and begin with \"user\""));
        }
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_text = message["content"].as_str().is_some_and(|text| !text.trim().is_empty());
        if blocks.is_empty() && !is_text {
            return Some(format!("messages.{at}: must have non-empty content"));
        }
        let results = blocks.iter().take_while(|block| block["type"] == "tool_result");
        let results: Vec<&str> = results.filter_map(|block| block["tool_use_id"].as_str()).collect();
        if results != open {
            return Some(format!(
                "messages.{at}: `tool_use` ids {open:?} were found without `tool_result` blocks immediately after"
            ));
        }
        open.clear();
        if blocks.last().is_some_and(|last| last["type"] == "thinking" || last["type"] == "redacted_thinking") {
            return Some(format!("messages.{at}: The final block in an assistant message cannot be `thinking`."));
        }
        for block in &blocks[results.len()..] {
            match block["type"].as_str().unwrap_or_default() {
                "text" if block["text"].as_str().is_some_and(|text| !text.trim().is_empty()) => {}
                "text" => {
                    return Some(format!("messages.{at}: text content blocks must contain non-whitespace text"));
                }
                "image" if role == "user" => {}
                "thinking" | "redacted_thinking" if role == "assistant" => {
                    let sealed = block["signature"].as_str().or_else(|| block["data"].as_str());
                    if sealed.is_none_or(str::is_empty) {
                        return Some(format!("messages.{at}: Invalid `signature` in `thinking` block"));
                    }
                }
                "tool_use" if role == "assistant" => {
                    let (id, name) = (block["id"].as_str().unwrap_or_default(), block["name"].as_str());
                    if !is_plain(id) || !ids.insert(id.to_owned()) {
                        return Some(format!(
                            "messages.{at}: `tool_use` ids must be unique and match ^[a-zA-Z0-9_-]+$"
                        ));
                    }
                    if !name.is_some_and(is_plain) || !block["input"].is_object() {
                        return Some(format!("messages.{at}: the name or the input of a `tool_use` is not valid"));
                    }
                    open.push(id.to_owned());
                }
                other => return Some(format!("messages.{at}: unexpected block {other:?}")),
            }
        }
    }
    (!open.is_empty()).then(|| format!("`tool_use` ids {open:?} were found without `tool_result` blocks"))
}

/// Returns the first rule of the Responses API that a body breaks.
pub fn broken_by_responses(body: &Value) -> Option<String> {
    let Some(items) = body["input"].as_array() else {
        return Some("Missing required parameter: 'input'.".to_owned());
    };
    let (mut ids, mut open) = (HashSet::new(), HashSet::new());
    for (at, item) in items.iter().enumerate() {
        let call_id = item["call_id"].as_str().unwrap_or_default();
        match (item["type"].as_str(), item["role"].as_str()) {
            (None | Some("message"), Some("user" | "assistant" | "developer")) => {
                let is_empty = item["content"].as_str().is_some_and(str::is_empty);
                if !open.is_empty() || is_empty && item["role"] == "assistant" {
                    return Some(format!("No tool output found for function call {open:?}."));
                }
            }
            (Some("function_call"), _) => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
                let name = item["name"].as_str().unwrap_or_default();
                if call_id.len() > 64 || !is_plain(name) || !is_object || !ids.insert(call_id.to_owned()) {
                    return Some(format!("Invalid 'input[{at}]'."));
                }
                open.insert(call_id.to_owned());
            }
            (Some("function_call_output"), _) if open.remove(call_id) && item["output"].is_string() => {}
            (Some("function_call_output"), _) => {
                return Some(format!("No tool call found for function call output with call_id {call_id}."));
            }
            (Some("reasoning"), _) if item["encrypted_content"].is_string() => {
                let follows = items.get(at + 1).is_some_and(|next| next["role"] != "user");
                if !follows {
                    return Some(
                        "Item of type 'reasoning' was provided without its required following item.".to_owned(),
                    );
                }
            }
            _ => return Some(format!("Invalid value: 'input[{at}]'.")),
        }
    }
    (!open.is_empty()).then(|| format!("No tool output found for function call {open:?}."))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| usize::from(name == "cache_control") + marks(value)).sum()
        }
        Value::Array(items) => items.iter().map(marks).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn broken_rules_of_the_messages_api_are_named() {
        let rule = |messages: Value| broken_by_messages(&json!({"max_tokens": 9, "messages": messages}));
        let user = json!({"role": "user", "content": [{"type": "text", "text": "hi"}]});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]});
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": ""}]});
        assert_eq!(rule(json!([user, call, result])), None);
        for messages in [
            json!([]),
            json!([user, user]),
            json!([call, result]),
            json!([user, call]),
            json!([user, call, user]),
            json!([user, call, result, call, result]),
            json!([{"role": "user", "content": [{"type": "text", "text": " "}]}]),
            json!([user, {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]}]),
        ] {
            assert!(rule(messages.clone()).is_some(), "{messages}");
        }
        assert!(broken_by_messages(&json!({"messages": [user]})).is_some());
    }

    #[test]
    fn broken_rules_of_the_responses_api_are_named() {
        let rule = |items: Value| broken_by_responses(&json!({"input": items}));
        let user = json!({"role": "user", "content": "hi"});
        let call = json!({"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"});
        let result = json!({"type": "function_call_output", "call_id": "a", "output": ""});
        assert_eq!(rule(json!([user, call, result])), None);
        for items in [json!([user, call]), json!([result]), json!([call, user, result]), json!([{"type": "reasoning"}])]
        {
            assert!(rule(items.clone()).is_some(), "{items}");
        }
    }
}
