//! The rules that every provider enforces for a conversation, checked on the request bodies.

use std::collections::HashSet;

use miniclaw::provider::scripted;
use serde_json::Value;

/// Returns the errors in the messages of a request; empty if a strict provider would accept them.
pub fn problems(body: &Value) -> Vec<String> {
    if body.get("input").is_some() {
        return scripted::broken_by_responses(body).into_iter().collect();
    }
    // Anthropic's API requires the field, and has lists of blocks in all messages.
    if body.get("max_tokens").is_some()
        && body["messages"].as_array().is_some_and(|all| all.iter().all(|message| message["content"].is_array()))
    {
        return scripted::broken_by_messages(body).into_iter().collect();
    }
    let mut problems = Vec::new();
    let mut say = |at: usize, what: &str| problems.push(format!("message {at}: {what}"));
    let Some(messages) = body["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        return vec![format!("no messages: {body}")];
    };
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            say(at, &format!("comes before the results of {open:?}"));
            open.clear();
        }
        let content = message["content"].as_str().or_else(|| text_of_parts(message));
        let Some(content) = content else {
            say(at, "has no text");
            continue;
        };
        match role {
            "system" if at > 0 => say(at, "a system message that is not the first"),
            "system" | "user" if content.trim().is_empty() => say(at, "says nothing"),
            "system" | "user" => {}
            "tool" => match message["tool_call_id"].as_str().and_then(|id| open.iter().position(|o| *o == id)) {
                Some(place) => drop(open.remove(place)),
                None => say(at, "a result nobody waits for"),
            },
            "assistant" => {
                let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
                if calls.is_empty() && content.is_empty() {
                    say(at, "says nothing");
                }
                for call in calls {
                    let id = call["id"].as_str().unwrap_or_default();
                    if id.is_empty() || !ids.insert(id) {
                        say(at, &format!("the call id {id:?} is empty or was used before"));
                    }
                    if call["function"]["name"].as_str().unwrap_or_default().is_empty() || call["type"] != "function" {
                        say(at, "a call without a function");
                    }
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
                        say(at, &format!("arguments that are no JSON object: {arguments:?}"));
                    }
                    open.push(id);
                }
            }
            other => say(at, &format!("the unknown role {other:?}")),
        }
    }
    if !open.is_empty() {
        say(messages.len(), &format!("no results of {open:?}"));
    }
    let last = messages.last().map(|message| message["role"].clone()).unwrap_or_default();
    if last != "user" && last != "tool" {
        say(messages.len() - 1, "the last message asks nothing");
    }
    problems
}

/// Returns the text of a user message with pictures: one text part, then pictures with their bytes in a data URL.
fn text_of_parts(message: &Value) -> Option<&str> {
    let (text, pictures) = message["content"].as_array()?.split_first()?;
    let whole = |part: &Value| {
        let address = part["image_url"]["url"].as_str().unwrap_or_default();
        part["type"] == "image_url" && address.starts_with("data:image/") && address.contains(";base64,")
    };
    let right = message["role"] == "user" && text["type"] == "text" && !pictures.is_empty();
    text["text"].as_str().filter(|_| right && pictures.iter().all(whole))
}

#[test]
fn transcript_check_detects_what_providers_refuse() {
    use serde_json::json;
    let call = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "r"});
    let user = json!({"role": "user", "content": "hi"});
    let check = |messages: Value| problems(&json!({"messages": messages})).len();
    assert_eq!(check(json!([user, call, result])), 0);
    let pictured = |address: &str| {
        let picture = json!({"type": "image_url", "image_url": {"url": address}});
        json!([{"role": "user", "content": [{"type": "text", "text": "look"}, picture]}])
    };
    assert_eq!(check(pictured("data:image/png;base64,AA==")), 0);
    assert_eq!(check(pictured("picture:image/png;1x1;aa")), 1);
    assert_eq!(check(json!([])), 1);
    assert_eq!(check(json!([user, call, user])), 1);
    assert_eq!(check(json!([user, call])), 2);
    assert_eq!(check(json!([user, call, result, call, result])), 1);
    assert_eq!(check(json!([user, call, result, result])), 1);
    assert_eq!(check(json!([user, {"role": "system", "content": "x"}, user])), 1);
    assert_eq!(check(json!([{"role": "assistant", "content": ""}, user])), 1);
    let mut broken = call.clone();
    broken["tool_calls"][0]["function"]["arguments"] = json!("{");
    assert_eq!(check(json!([user, broken, result])), 1);
}
