//! Splits a request into pieces for its record, and rebuilds it from them.

use serde_json::{Map, Value};

use super::{SystemPrompt, pictures};
use crate::domain::{SentPart, SentRequest, SentRetrieval, SentText, WorkId};
use crate::provider::RequestPicture;
use crate::store::{etag, sha256};

const MESSAGES: &str = "messages";
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
    let mut messages = match body.get_mut(MESSAGES).map(Value::take) {
        Some(Value::Array(messages)) => messages,
        Some(_) | None => Vec::new(),
    };
    let begins_with_system = messages.first().is_some_and(|first| content(first) == system.text);
    let parts = system.parts.iter().map(|part| SentPart {
        label: part.label.to_owned(),
        file: part.file.map(str::to_owned),
        text: (part.end > part.start).then(|| keep(system.text[part.start..part.end].to_owned())),
        lines: part.lines,
        truncated: part.truncated,
        absent: part.absent.clone(),
        etag: part.etag.clone(),
        modified: None,
        by: None,
    });
    let parts = if begins_with_system { parts.collect() } else { Vec::new() };
    if begins_with_system {
        messages.remove(0);
    }
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

pub fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
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
    if !parts.is_empty() {
        let mut system = Map::new();
        system.insert("role".to_owned(), "system".into());
        system.insert("content".to_owned(), parts.join(BETWEEN_PARTS).into());
        messages.push(Value::Object(system));
    }
    let whole = |hash: &String| pictures::with_bytes(parsed(hash)?, &picture);
    messages.extend(request.messages.iter().map(whole).collect::<Option<Vec<Value>>>()?);
    let mut body = request.body.clone();
    let fields = body.as_object_mut()?;
    fields.insert(MESSAGES.to_owned(), Value::Array(messages));
    if let Some(tools) = &request.tools {
        fields.insert(TOOLS.to_owned(), parsed(tools)?);
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
    fn minimal_request_is_recorded() {
        let sent = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let system = SystemPrompt::default();
        let (request, texts) =
            take_apart(OutgoingRequest { body: sent.clone(), system: &system, retrieved: "", pictures: &[] });
        assert_eq!((request.retrieved, request.tools.clone(), texts.len()), (None, None, 1));
        assert_eq!(put_together(&request, |_| Some(texts[0].text.clone()), |_| None), Some(sent));
    }
}
