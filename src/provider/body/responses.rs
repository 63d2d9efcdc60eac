//! The conversation in the form of OpenAI's Responses API (platform.openai.com/docs/api-reference/responses): a list of
//! items, in which calls, results and thoughts stand beside the messages. Nothing is stored at the provider, so every
//! request contains the whole conversation, with the encrypted thoughts.

use serde_json::{Map, Value, json};

use super::call_ids::{CallIds, plain};
use super::{Piece, Recipient, add_parameters, in_order, replayable};
use crate::domain::ToolSpec;
use crate::provider::profile::Thinking;
use crate::provider::{ChatMessage, ModelRequest, RequestPicture};

pub(super) fn body(to: Recipient<'_>, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), json!(to.model));
    let (first, rest) = match request.messages.split_first() {
        Some((ChatMessage::System(text), rest)) => (Some(text), rest),
        _ => (None, request.messages.as_slice()),
    };
    if let Some(text) = first {
        body.insert("instructions".into(), json!(text));
    }
    body.insert("input".into(), Value::Array(items(to, rest)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    body.insert("stream".into(), json!(true));
    body.insert("store".into(), json!(false));
    if to.profile.can_reason {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    add_parameters(to.profile, request, &mut body);
    // The thoughts are summarised only on request.
    if to.profile.can_reason && to.profile.thinking == Thinking::Auto {
        body.insert("reasoning".into(), json!({"summary": "auto"}));
    }
    body
}

/// Without `strict: false`, every parameter of a tool would be required.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": false,
    })
}

fn items(to: Recipient<'_>, messages: &[ChatMessage]) -> Vec<Value> {
    let mut items = Vec::with_capacity(messages.len());
    let mut ids = CallIds::default();
    for message in messages {
        match message {
            ChatMessage::System(text) => items.push(json!({"role": "developer", "content": text})),
            ChatMessage::User(text) => items.push(json!({"role": "user", "content": text})),
            ChatMessage::Pictured { content, pictures, .. } => items.push(pictured(content, pictures)),
            ChatMessage::Tool { call_id, content } => {
                items.push(json!({"type": "function_call_output", "call_id": ids.of(call_id), "output": content}));
            }
            ChatMessage::Assistant { content, calls, .. } if content.trim().is_empty() && calls.is_empty() => {}
            ChatMessage::Assistant { content, calls, reasoning, .. } => {
                let pieces = in_order(content, calls, to.own(reasoning.as_deref())).into_iter();
                items.extend(pieces.map(|piece| match piece {
                    Piece::Thought(item) => item.clone(),
                    Piece::Text(text) => json!({"role": "assistant", "content": text}),
                    Piece::Call(call) => json!({
                        "type": "function_call",
                        "call_id": ids.of(&call.id),
                        "name": plain(&call.name),
                        "arguments": replayable(&call.arguments),
                    }),
                }));
            }
        }
    }
    items
}

fn pictured(content: &str, pictures: &[RequestPicture]) -> Value {
    let seen = pictures.iter().map(|seen| json!({"type": "input_image", "image_url": &*seen.url}));
    let parts: Vec<Value> = std::iter::once(json!({"type": "input_text", "text": content})).chain(seen).collect();
    json!({"role": "user", "content": parts})
}
