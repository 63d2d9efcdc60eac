//! Splits a request into pieces for its record, and rebuilds it from them.

use serde_json::{Map, Value};

use super::{SystemPrompt, pictures};
use crate::domain::{SentPart, SentRequest, SentRetrieval, SentText, WorkId};
use crate::provider::RequestPicture;
use crate::store::{etag, sha256};

/// The fields that hold the messages, one in each API.
const MESSAGES: [&str; 2] = ["messages", "input"];
const CACHE_MARK: &str = "cache_control";
const TOOLS: &str = "tools";
/// Separator between the parts of a system prompt.
pub const BETWEEN_PARTS: &str = "\n\n";

/// A request that is about to be sent.
pub struct OutgoingRequest<'a> {
    /// Exactly what is sent.
    pub body: Value,
    pub system: &'a SystemPrompt,
    /// The retrieved passages as the model reads them; empty if there are none.
    pub retrieved: &'a str,
    /// Pictures in the request: the record names them, and their files beside the session hold the bytes.
    pub pictures: &'a [RequestPicture],
}

/// Splits a request into its record, which does not say yet where and when it was sent, and the texts that the record
/// refers to.
pub fn take_apart(sending: OutgoingRequest<'_>) -> (SentRequest, Vec<SentText>) {
    let OutgoingRequest { mut body, system, retrieved, pictures } = sending;
    let whole = body.to_string();
    let mut texts = Vec::new();
    let mut keep = |text: String| {
        let hash = etag(text.as_bytes());
        texts.push(SentText { hash: hash.clone(), text });
        hash
    };
    let mut messages = match messages_of(&mut body).map(Value::take) {
        Some(Value::Array(messages)) => messages,
        Some(_) | None => Vec::new(),
    };
    // The chat API has the system prompt as its first message, the others have a field for it.
    let own_field = system_field(&mut body).filter(|text| text.as_str() == Some(&*system.text)).map(Value::take);
    let is_message = own_field.is_none() && messages.first().is_some_and(|first| content(first) == system.text);
    let begins_with_system = own_field.is_some() || is_message;
    let parts = system.parts.iter().map(|part| SentPart {
        label: part.label.to_owned(),
        file: part.file.clone(),
        text: (part.end > part.start).then(|| keep(system.text[part.start..part.end].to_owned())),
        lines: part.lines,
        truncated: part.truncated,
        absent: part.absent.clone(),
        etag: part.etag.clone(),
        modified: None,
        by: None,
    });
    let parts = if begins_with_system { parts.collect() } else { Vec::new() };
    if is_message {
        messages.remove(0);
    }
    let cache_marks = (0..messages.len()).filter(|at| unmark(&mut messages[*at])).collect();
    messages.iter_mut().for_each(|message| pictures::without_bytes(message, pictures));
    let retrieved = find_retrieved(&messages, retrieved);
    let messages = messages.iter().map(|message| keep(message.to_string())).collect();
    let tools = body.get_mut(TOOLS).map(Value::take).map(|tools| keep(tools.to_string()));
    let request = SentRequest {
        at: 0.0,
        work_id: WorkId::default(),
        dialogue: 0,
        attempt: 0,
        provider: String::new(),
        model: String::new(),
        body,
        bytes: whole.len(),
        hash: etag(whole.as_bytes()),
        sha256: sha256(whole.as_bytes()),
        system: parts,
        messages,
        cache_marks,
        tools,
        retrieved,
        left_out: 0,
        usage: None,
    };
    (request, texts)
}

/// Finds the retrieved text, which ends the message before the question or is that message.
pub(super) fn find_retrieved(messages: &[Value], retrieved: &str) -> Option<SentRetrieval> {
    if retrieved.is_empty() {
        return None;
    }
    let message = messages.iter().rposition(|message| content(message).ends_with(retrieved))?;
    Some(SentRetrieval { message, start: content(&messages[message]).len() - retrieved.len() })
}

/// Returns the text of a message that has one; it may stand between other blocks, such as thoughts.
pub fn content(message: &Value) -> &str {
    match &message["content"] {
        Value::Array(blocks) => {
            let mut texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.next().filter(|_| texts.next().is_none()).unwrap_or_default()
        }
        content => content.as_str().unwrap_or_default(),
    }
}

/// Returns the field of a body that holds the messages.
pub fn messages_of(body: &mut Value) -> Option<&mut Value> {
    let fields = body.as_object_mut()?;
    let name = MESSAGES.into_iter().find(|name| fields.contains_key(*name))?;
    fields.get_mut(name)
}

/// Returns the system prompt's text where it is a field of the body.
fn system_field(body: &mut Value) -> Option<&mut Value> {
    let fields = body.as_object_mut()?;
    if fields.contains_key("instructions") {
        fields.get_mut("instructions")
    } else {
        fields.get_mut("system")?.get_mut(0)?.get_mut("text")
    }
}

/// Removes the mark for the provider's cache from a message. Returns whether it had one.
fn unmark(message: &mut Value) -> bool {
    let block = message.get_mut("content").and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut());
    block.and_then(Value::as_object_mut).is_some_and(|block| block.shift_remove(CACHE_MARK).is_some())
}

fn mark(message: &mut Value) {
    let block = message.get_mut("content").and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut());
    if let Some(block) = block.and_then(Value::as_object_mut) {
        block.insert(CACHE_MARK.to_owned(), serde_json::json!({"type": "ephemeral"}));
    }
}

/// Rebuilds the whole body; `None` if a text is missing or the result differs from what was sent.
pub fn put_together(
    request: &SentRequest,
    text: impl Fn(&str) -> Option<String>,
    picture: impl Fn(&str) -> Option<Vec<u8>>,
) -> Option<Value> {
    let parsed = |hash: &String| serde_json::from_str::<Value>(&text(hash)?).ok();
    let parts = request.system.iter().filter_map(|part| part.text.as_ref());
    let parts = parts.map(|hash| text(hash)).collect::<Option<Vec<String>>>()?;
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    let mut body = request.body.clone();
    let system = parts.join(BETWEEN_PARTS);
    if let Some(field) = system_field(&mut body).filter(|field| field.is_null()) {
        *field = system.into();
    } else if !parts.is_empty() {
        let mut first = Map::new();
        first.insert("role".to_owned(), "system".into());
        first.insert("content".to_owned(), system.into());
        messages.push(Value::Object(first));
    }
    let first = messages.len();
    let whole = |hash: &String| pictures::with_bytes(parsed(hash)?, &picture);
    messages.extend(request.messages.iter().map(whole).collect::<Option<Vec<Value>>>()?);
    for at in &request.cache_marks {
        messages.get_mut(first + at).into_iter().for_each(mark);
    }
    *messages_of(&mut body)? = Value::Array(messages);
    if let Some(tools) = &request.tools {
        body.as_object_mut()?.insert(TOOLS.to_owned(), parsed(tools)?);
    }
    (etag(body.to_string().as_bytes()) == request.hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::system::{MemoryMode, assemble};
    use crate::store::Home;
    use serde_json::json;
    use std::collections::HashMap;

    fn prompt() -> SystemPrompt {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("workspace/SOUL.md"), "You are kind.").unwrap();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "茶").unwrap();
        assemble(&home, MemoryMode::Whole)
    }

    fn body(system: &SystemPrompt) -> Value {
        json!({"model": "m", "messages": [
            {"role": "system", "content": system.text},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two\n\nFOUND: tea"},
            {"role": "user", "content": "three"}],
            "tools": [{"type": "function"}], "stream": true})
    }

    #[test]
    fn recorded_request_reassembles_to_the_same_bytes() {
        let system = prompt();
        let sent = body(&system);
        let (request, texts) =
            take_apart(OutgoingRequest { body: sent.clone(), system: &system, retrieved: "FOUND: tea", pictures: &[] });
        assert_eq!(request.body, json!({"model": "m", "messages": null, "tools": null, "stream": true}));
        assert_eq!(request.retrieved, Some(SentRetrieval { message: 1, start: 5 }));
        assert_eq!(request.system.iter().filter(|part| part.text.is_some()).count(), 2);
        assert_eq!((texts.len(), request.messages.len(), request.bytes), (6, 3, sent.to_string().len()));
        let mut known: HashMap<String, String> = texts.into_iter().map(|text| (text.hash, text.text)).collect();
        let back = put_together(&request, |hash| known.get(hash).cloned(), |_| None).unwrap();
        assert_eq!(back.to_string(), sent.to_string());
        let gone = known.remove(&request.messages[0]).unwrap();
        assert_eq!(put_together(&request, |hash| known.get(hash).cloned(), |_| None), None);
        known.insert(request.messages[0].clone(), gone.replace("one", "eins"));
        assert_eq!(
            put_together(&request, |hash| known.get(hash).cloned(), |_| None),
            None,
            "something else is not what was sent"
        );
    }

    #[test]
    fn requests_of_every_api_reassemble_to_the_same_bytes() {
        let system = prompt();
        let mark = json!({"type": "ephemeral"});
        let anthropic = json!({
            "model": "m", "tools": [{"name": "t"}],
            "system": [{"type": "text", "text": system.text, "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "one", "cache_control": mark}]},
                {"role": "assistant", "content": [{"type": "text", "text": "two\n\nFOUND: tea"}]},
                {"role": "user", "content": [{"type": "text", "text": "three", "cache_control": mark}]}],
            "max_tokens": 9});
        let responses = json!({
            "model": "m", "instructions": system.text,
            "input": [{"role": "assistant", "content": "two\n\nFOUND: tea"}, {"role": "user", "content": "three"}],
            "store": false});
        for (sent, retrieved, marks) in [(anthropic, 1, vec![0, 2]), (responses, 0, vec![])] {
            let body = sent.clone();
            let outgoing = OutgoingRequest { body, system: &system, retrieved: "FOUND: tea", pictures: &[] };
            let (request, texts) = take_apart(outgoing);
            assert_eq!(request.retrieved, Some(SentRetrieval { message: retrieved, start: 5 }));
            assert_eq!(request.cache_marks, marks);
            assert_eq!(request.system.iter().filter(|part| part.text.is_some()).count(), 2);
            assert!(!request.body.to_string().contains("kind"), "{}", request.body);
            assert!(!texts.iter().any(|text| text.text.contains("cache_control")));
            let known: HashMap<String, String> = texts.into_iter().map(|text| (text.hash, text.text)).collect();
            let back = put_together(&request, |hash| known.get(hash).cloned(), |_| None).unwrap();
            assert_eq!(back.to_string(), sent.to_string());
        }
    }

    #[test]
    fn minimal_request_is_recorded() {
        let sent = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let system = SystemPrompt::default();
        let (request, texts) =
            take_apart(OutgoingRequest { body: sent.clone(), system: &system, retrieved: "", pictures: &[] });
        assert_eq!((request.retrieved, request.tools.clone(), texts.len()), (None, None, 1));
        assert_eq!(put_together(&request, |_| Some(texts[0].text.clone()), |_| None), Some(sent));
    }
}
