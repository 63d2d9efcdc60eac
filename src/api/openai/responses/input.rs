//! The input of a response: a text, or items.

use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::openai::error::invalid;
use crate::api::openai::message::{Conversation, Entry, EntryCall, UserEntry, text_of, user_entry};

const MAX_ITEMS: usize = 10_000;

/// Reads `input`.
///
/// # Errors
/// Returns an error that names the first item that is not as the API wants it. Thoughts, and calls of tools that this server
/// does not have, are left out.
pub fn read_input(input: Value) -> Result<Conversation, ApiError> {
    let items = match input {
        Value::String(text) => {
            let entries = vec![Entry::User(UserEntry { text, files: Vec::new() })];
            return Ok(Conversation { instructions: Vec::new(), entries });
        }
        Value::Array(items) if (1..=MAX_ITEMS).contains(&items.len()) => items,
        _ => return Err(invalid("input", format!("input is a string, or 1 to {MAX_ITEMS} items"))),
    };
    let mut read = Conversation::default();
    for (at, item) in items.into_iter().enumerate() {
        let field = format!("input[{at}]");
        let Value::Object(item) = item else { return Err(invalid(field, "an item is an object")) };
        match item.get("type").and_then(Value::as_str) {
            None | Some("message") => message(item, &field, &mut read)?,
            Some("function_call") => {
                let call = EntryCall {
                    id: text(&item, "call_id", &field)?,
                    name: text(&item, "name", &field)?,
                    arguments: text(&item, "arguments", &field)?,
                };
                match read.entries.last_mut() {
                    // Calls of one answer are one message.
                    Some(Entry::Assistant { calls, .. }) => calls.push(call),
                    _ => read.entries.push(Entry::Assistant { text: String::new(), calls: vec![call] }),
                }
            }
            Some("function_call_output") => {
                let call_id = text(&item, "call_id", &field)?;
                let output = text_of(item.get("output").cloned().unwrap_or_default(), &format!("{field}.output"))?;
                read.entries.push(Entry::Result { call_id, output });
            }
            Some(_) => {}
        }
    }
    Ok(read)
}

fn message(mut item: Map<String, Value>, field: &str, read: &mut Conversation) -> Result<(), ApiError> {
    let content = item.shift_remove("content").unwrap_or_default();
    let content_field = format!("{field}.content");
    match item.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => read.instructions.push(text_of(content, &content_field)?),
        Some("user") => read.entries.push(Entry::User(user_entry(content, &content_field)?)),
        Some("assistant") => {
            let text = text_of(content, &content_field)?;
            read.entries.push(Entry::Assistant { text, calls: Vec::new() });
        }
        _ => return Err(invalid(format!("{field}.role"), "a role is system, developer, user or assistant")),
    }
    Ok(())
}

fn text(item: &Map<String, Value>, name: &str, field: &str) -> Result<String, ApiError> {
    let text = item.get(name).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| invalid(format!("{field}.{name}"), format!("{name} is a string")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_are_read_as_messages() {
        let read = read_input(json!([
            {"role": "developer", "content": "Be brief."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "see", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "2"}]},
        ]))
        .unwrap();
        assert_eq!(read.instructions, ["Be brief."]);
        assert_eq!(read.entries.len(), 4);
        assert!(matches!(&read.entries[1], Entry::Assistant { text, calls } if text == "Hello" && calls.len() == 2));
        assert_eq!(read.entries[3], Entry::Result { call_id: "b".to_owned(), output: "2".to_owned() });
    }

    #[test]
    fn wrong_item_is_named() {
        for (input, field) in [
            (json!(7), "input"),
            (json!([]), "input"),
            (json!([1]), "input[0]"),
            (json!([{"role": "king", "content": "x"}]), "input[0].role"),
            (json!([{"type": "function_call", "call_id": "a", "name": "x"}]), "input[0].arguments"),
            (json!([{"type": "function_call_output", "output": "x"}]), "input[0].call_id"),
            (json!([{"role": "user", "content": [{"type": "input_audio"}]}]), "input[0].content[0]"),
        ] {
            assert_eq!(read_input(input).unwrap_err().field(), Some(field));
        }
    }
}
