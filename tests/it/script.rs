//! Scripts of the scripted provider.

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

/// Title that every session gets from these scripts.
pub const TITLE: &str = "关于企鹅";
/// Summary that every compression gets.
pub const SUMMARY: &str = "They spoke about penguins.";

/// Returns a script with these replies in order, and a title and a summary for all requests that ask for them.
pub fn script(replies: impl IntoIterator<Item = Value>) -> Script {
    let mut all = vec![
        json!({"match": "Give this conversation a title", "repeat": true, "steps": [{"text": TITLE}, {"finish": "stop"}]}),
        json!({"match": "Summarise the conversation above", "repeat": true,
               "steps": [{"text": SUMMARY}, {"finish": "stop"}]}),
    ];
    all.extend(replies);
    Script::from_value(&json!({"replies": all})).expect("a script")
}

/// Returns a reply of these steps.
pub fn steps(steps: impl IntoIterator<Item = Value>) -> Value {
    json!({"steps": steps.into_iter().collect::<Vec<_>>()})
}

/// Returns a reply with these texts, one chunk each.
pub fn says<const N: usize>(texts: [&str; N]) -> Value {
    steps(texts.iter().map(|text| json!({"text": text})).chain([json!({"finish": "stop"})]))
}

/// Returns the same reply, for every request that no other reply matches.
pub fn always(reply: Value) -> Value {
    json!({"repeat": true, "steps": reply["steps"]})
}

pub fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"tool_call": {"id": id, "name": tool, "arguments": arguments}})
}

/// Returns a reply that makes these calls.
pub fn calls(calls: impl IntoIterator<Item = Value>) -> Value {
    steps(calls.into_iter().chain([json!({"finish": "tool_calls"})]))
}
