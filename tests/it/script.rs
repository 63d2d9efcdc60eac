//! What the scripted provider is told to say.

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

/// The title every session gets from these scripts.
pub const TITLE: &str = "关于企鹅";
/// The summary every compression gets.
pub const SUMMARY: &str = "They spoke about penguins.";

/// One reply after the other, with a title and a summary for whoever asks for them.
pub fn script(replies: impl IntoIterator<Item = Value>) -> Script {
    let mut all = vec![
        json!({"match": "Give this conversation a title", "repeat": true, "steps": [{"text": TITLE}, {"finish": "stop"}]}),
        json!({"match": "Summarise the conversation above", "repeat": true,
               "steps": [{"text": SUMMARY}, {"finish": "stop"}]}),
    ];
    all.extend(replies);
    Script::from_value(&json!({"replies": all})).expect("a script")
}

/// A reply of these steps.
pub fn steps(steps: impl IntoIterator<Item = Value>) -> Value {
    json!({"steps": steps.into_iter().collect::<Vec<_>>()})
}

/// A reply that says these texts, one chunk each.
pub fn says<const N: usize>(texts: [&str; N]) -> Value {
    steps(texts.iter().map(|text| json!({"text": text})).chain([json!({"finish": "stop"})]))
}

/// The same reply, for every request that no other reply fits.
pub fn always(reply: Value) -> Value {
    json!({"repeat": true, "steps": reply["steps"]})
}

pub fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"tool_call": {"id": id, "name": tool, "arguments": arguments}})
}

/// A reply that makes these calls.
pub fn calls(calls: impl IntoIterator<Item = Value>) -> Value {
    steps(calls.into_iter().chain([json!({"finish": "tool_calls"})]))
}
