//! The messages of a request: read from the form of the chat API or the Responses API into one form.

use serde_json::{Map, Value};

use super::error::{invalid, unsupported};
use crate::api::error::ApiError;

const MAX_MESSAGES: usize = 10_000;

/// What a program sends as its conversation.
#[derive(Debug, Default, PartialEq)]
pub struct Conversation {
    /// Its system and developer messages.
    pub instructions: Vec<String>,
    /// The other messages, in order.
    pub entries: Vec<Entry>,
}

#[derive(Debug, PartialEq)]
pub enum Entry {
    User(UserEntry),
    Assistant {
        text: String,
        calls: Vec<EntryCall>,
    },
    /// The result of a call.
    Result {
        call_id: String,
        output: String,
    },
}

/// A person's message.
#[derive(Debug, Default, PartialEq)]
pub struct UserEntry {
    pub text: String,
    /// Pictures and documents, in order.
    pub files: Vec<EntryFile>,
}

#[derive(Debug, PartialEq)]
pub struct EntryFile {
    pub name: String,
    pub is_picture: bool,
    /// The bytes in base64.
    pub content: String,
}

#[derive(Debug, PartialEq)]
pub struct EntryCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl Conversation {
    /// Returns whether this is a job that Open WebUI has done about a chat (its title, its tags, what to ask next) and no
    /// message of a person. Its prompts for them, in every version so far, are one message with these two marks.
    pub fn is_job_about_chat(&self) -> bool {
        let [Entry::User(only)] = &self.entries[..] else { return false };
        only.files.is_empty() && only.text.starts_with("### Task:") && only.text.contains("<chat_history>")
    }
}

/// Reads `messages` of the chat API.
///
/// # Errors
/// Returns an error that names the first message, or part of one, that is not as the API wants it.
pub fn read_messages(messages: Vec<Value>) -> Result<Conversation, ApiError> {
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(invalid("messages", format!("there are 1 to {MAX_MESSAGES} messages")));
    }
    let mut read = Conversation::default();
    for (at, message) in messages.into_iter().enumerate() {
        let field = format!("messages[{at}]");
        let Value::Object(mut message) = message else { return Err(invalid(field, "a message is an object")) };
        let content = message.shift_remove("content").unwrap_or(Value::Null);
        let content_field = format!("{field}.content");
        match message.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => read.instructions.push(text_of(content, &content_field)?),
            Some("user") => read.entries.push(Entry::User(user_entry(content, &content_field)?)),
            Some("assistant") => {
                let text = text_of(content, &content_field)?;
                let calls = calls_of(&mut message, &field)?;
                read.entries.push(Entry::Assistant { text, calls });
            }
            Some("tool") => {
                let Some(Value::String(call_id)) = message.shift_remove("tool_call_id") else {
                    return Err(invalid(format!("{field}.tool_call_id"), "the result of a call names the call"));
                };
                read.entries.push(Entry::Result { call_id, output: text_of(content, &content_field)? });
            }
            Some(_) | None => {
                let message = "a role is system, developer, user, assistant or tool";
                return Err(invalid(format!("{field}.role"), message));
            }
        }
    }
    Ok(read)
}

fn calls_of(message: &mut Map<String, Value>, field: &str) -> Result<Vec<EntryCall>, ApiError> {
    let calls = match message.shift_remove("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(invalid(format!("{field}.tool_calls"), "tool_calls is an array")),
    };
    let read = calls.into_iter().enumerate().map(|(at, call)| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (id, function) = (text(&call["id"]), &call["function"]);
        match (id, text(&function["name"]), text(&function["arguments"])) {
            (Some(id), Some(name), Some(arguments)) => Ok(EntryCall { id, name, arguments }),
            _ => {
                Err(invalid(format!("{field}.tool_calls[{at}]"), "a call has an id, a name and arguments, all strings"))
            }
        }
    });
    read.collect()
}

/// Returns the text of a content: a string, or parts of text.
pub fn text_of(content: Value, field: &str) -> Result<String, ApiError> {
    let parts = match content {
        Value::Null => return Ok(String::new()),
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        _ => return Err(invalid(field, "content is a string or an array of parts")),
    };
    let texts = parts.into_iter().enumerate().map(|(at, part)| {
        let text = part["text"].as_str().or(part["refusal"].as_str()).map(str::to_owned);
        text.ok_or_else(|| invalid(format!("{field}[{at}]"), "only text can stand here"))
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// Reads a person's message, with pictures and documents.
pub fn user_entry(content: Value, field: &str) -> Result<UserEntry, ApiError> {
    let parts = match content {
        Value::String(text) => return Ok(UserEntry { text, files: Vec::new() }),
        Value::Array(parts) => parts,
        _ => return Err(invalid(field, "content is a string or an array of parts")),
    };
    let mut entry = UserEntry::default();
    for (at, part) in parts.into_iter().enumerate() {
        let field = format!("{field}[{at}]");
        match part["type"].as_str() {
            Some("text" | "input_text") => {
                let text = part["text"].as_str().ok_or_else(|| invalid(format!("{field}.text"), "it is a string"))?;
                if !entry.text.is_empty() {
                    entry.text.push('\n');
                }
                entry.text.push_str(text);
            }
            Some("image_url" | "input_image") => {
                let url = part["image_url"]["url"].as_str().or(part["image_url"].as_str());
                let content = url.and_then(data_of).ok_or_else(|| {
                    let message = "send a picture as a data: URL in base64; addresses of other servers are not opened";
                    invalid(format!("{field}.image_url"), message)
                })?;
                let name = format!("picture {}", entry.files.len() + 1);
                entry.files.push(EntryFile { name, is_picture: true, content });
            }
            Some("file" | "input_file") => entry.files.push(document(&part, &field)?),
            Some("input_audio") => return Err(unsupported(&field, "this server takes no audio")),
            Some(_) | None => return Err(invalid(format!("{field}.type"), "a part is text, image_url or file")),
        }
    }
    Ok(entry)
}

fn document(part: &Value, field: &str) -> Result<EntryFile, ApiError> {
    let file = if part["file"].is_object() { &part["file"] } else { part };
    let content = file["file_data"].as_str().map(|data| data_of(data).unwrap_or_else(|| data.to_owned()));
    let content =
        content.ok_or_else(|| invalid(format!("{field}.file_data"), "send a file's bytes in file_data, in base64"))?;
    let name = file["filename"].as_str().filter(|name| !name.trim().is_empty()).unwrap_or("document.pdf").to_owned();
    Ok(EntryFile { name, is_picture: false, content })
}

/// Returns the bytes of a `data:` URL, in base64.
fn data_of(url: &str) -> Option<String> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then(|| data.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_read_in_order() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}});
        let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
        let read = read_messages(vec![
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "a cat"}]}),
        ])
        .unwrap();
        assert_eq!(read.instructions, ["Be brief."]);
        let Entry::User(user) = &read.entries[0] else { panic!("{read:?}") };
        assert_eq!((user.text.as_str(), user.files[0].content.as_str()), ("What is this?", "QQ=="));
        assert!(matches!(&read.entries[1], Entry::Assistant { calls, .. } if calls[0].name == "look"));
        assert_eq!(read.entries[2], Entry::Result { call_id: "c".to_owned(), output: "a cat".to_owned() });
    }

    #[test]
    fn wrong_message_is_named() {
        let user = |content: Value| json!({"role": "user", "content": content});
        let url = |url: &str| user(json!([{"type": "image_url", "image_url": {"url": url}}]));
        for (message, field) in [
            (json!("hi"), "messages[0]"),
            (json!({"role": "king", "content": ""}), "messages[0].role"),
            (json!({"content": "x"}), "messages[0].role"),
            (user(json!(7)), "messages[0].content"),
            (user(json!([{"type": "video"}])), "messages[0].content[0].type"),
            (user(json!([{"type": "input_audio"}])), "messages[0].content[0]"),
            (url("https://example.com/a.png"), "messages[0].content[0].image_url"),
            (url("file:///etc/passwd"), "messages[0].content[0].image_url"),
            (json!({"role": "tool", "content": "x"}), "messages[0].tool_call_id"),
            (json!({"role": "assistant", "tool_calls": [{}]}), "messages[0].tool_calls[0]"),
            (json!({"role": "system", "content": [{"type": "image_url"}]}), "messages[0].content[0]"),
        ] {
            assert_eq!(read_messages(vec![message]).unwrap_err().field(), Some(field));
        }
        assert!(read_messages(Vec::new()).is_err());
    }
}
