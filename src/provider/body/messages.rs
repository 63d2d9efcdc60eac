//! The conversation in the form of Anthropic's Messages API (platform.claude.com/docs/en/api/messages): the system prompt
//! is a field of its own, roles alternate and begin with the user's, the results of calls begin the user's next turn.

use serde_json::{Map, Value, json};

use super::call_ids::{CallIds, plain};
use super::{Piece, Recipient, add_parameters, in_order, object_of};
use crate::domain::ToolSpec;
use crate::provider::profile::{Thinking, ThinkingParameter};
use crate::provider::{ChatMessage, ModelRequest, RequestPicture};

/// Precedes an answer that begins the conversation, such as a summary.
const BEFORE_ANSWER: &str = "What happened before?";
/// Stands for a message without words, which is refused.
const NO_WORDS: &str = "(no text)";
/// Maximum tokens of an answer if nobody set them: the API requires a number.
const ANSWER_TOKENS: u32 = 32_000;
/// Least tokens that are left for an answer, whatever the length of the prompt.
const LEAST_ANSWER_TOKENS: u32 = 4_096;
/// Bytes of text for which a token is reserved. Few texts have less; the model's own count is not known here.
const BYTES_PER_TOKEN: usize = 3;
/// Least and most tokens of thinking. The API refuses less.
const LEAST_BUDGET: u32 = 1_024;
const MOST_BUDGET: u32 = 16_000;

/// Consecutive blocks of one role.
struct Turn {
    role: &'static str,
    blocks: Vec<Value>,
    /// Whether a person's message is among them.
    is_question: bool,
}

pub(super) fn body(to: Recipient<'_>, request: &ModelRequest) -> Map<String, Value> {
    let (system, mut turns) = turns(to, &request.messages);
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut system: Vec<Value> = system.into_iter().map(text_block).collect();
    // A title or a summary has neither; nothing would read what it wrote to the cache.
    if !tools.is_empty() || !system.is_empty() {
        mark(tools.last_mut());
        mark(system.last_mut());
        mark_turns(&mut turns);
    }
    let lacks_thoughts = calls_without_thoughts(&turns);
    let turns: Vec<Value> = turns.into_iter().map(|turn| json!({"role": turn.role, "content": turn.blocks})).collect();
    let mut body = Map::new();
    body.insert("model".into(), json!(to.model));
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    body.insert("messages".into(), Value::Array(turns));
    body.insert("stream".into(), json!(true));
    add_parameters(to.profile, request, &mut body);
    let most = match body.get("max_tokens").and_then(Value::as_u64) {
        Some(set) => u32::try_from(set).unwrap_or(u32::MAX),
        None => default_limit(to, request),
    };
    body.insert("max_tokens".into(), json!(most));
    settle_thinking(to, &mut body, (most, lacks_thoughts));
    body
}

/// Returns the answer's limit if nobody set one: less if the prompt leaves less of the context window.
fn default_limit(to: Recipient<'_>, request: &ModelRequest) -> u32 {
    let tools: usize = request.tools.iter().map(tool_bytes).sum();
    let bytes = request.messages.iter().map(text_bytes).sum::<usize>() + tools;
    let pictures: usize = request.messages.iter().map(picture_tokens).sum();
    let tokens = (bytes / BYTES_PER_TOKEN).saturating_add(pictures);
    let prompt = u32::try_from(tokens).unwrap_or(u32::MAX);
    let left = to.context_window.saturating_sub(prompt).max(LEAST_ANSWER_TOKENS);
    ANSWER_TOKENS.min(to.profile.output_ceiling.unwrap_or(u32::MAX)).min(left)
}

/// Returns the bytes of a tool's description in a request, about.
fn tool_bytes(tool: &ToolSpec) -> usize {
    tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
}

/// Returns the tokens of the pictures of a message, about.
fn picture_tokens(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::Pictured { pictures, .. } => pictures.iter().map(|seen| seen.picture.tokens()).sum(),
        ChatMessage::System(_) | ChatMessage::User(_) | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => 0,
    }
}

fn text_bytes(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::System(text) | ChatMessage::User(text) => text.len(),
        ChatMessage::Pictured { content, .. } | ChatMessage::Tool { content, .. } => content.len(),
        ChatMessage::Assistant { content, calls, .. } => {
            content.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
        }
    }
}

/// Completes the choice of thinking, or takes it back where the API would refuse it, and drops the sampling parameters
/// that a thinking model refuses.
fn settle_thinking(to: Recipient<'_>, body: &mut Map<String, Value>, (most, lacks_thoughts): (u32, bool)) {
    if to.profile.thinking_parameter == ThinkingParameter::Budget && to.profile.thinking == Thinking::On {
        let budget = (most / 2).clamp(LEAST_BUDGET, MOST_BUDGET);
        // With a budget, a turn that called tools must begin with a thought; one that another model began has none.
        if budget >= most || lacks_thoughts {
            body.shift_remove("thinking");
        } else {
            body["thinking"]["budget_tokens"] = json!(budget);
        }
    }
    let thinks = body.get("thinking").is_some_and(|thinking| thinking["type"] != "disabled");
    if thinks {
        body.shift_remove("temperature");
    }
    // Some models accept only one of both.
    if thinks || body.contains_key("temperature") {
        body.shift_remove("top_p");
    }
}

/// Whether the answer to the last question begins with calls and no thought. What follows the first calls needs none.
fn calls_without_thoughts(turns: &[Turn]) -> bool {
    let question = turns.iter().rposition(|turn| turn.is_question).unwrap_or(0);
    let has =
        |turn: &Turn, kinds: &[&str]| turn.blocks.iter().any(|block| kinds.iter().any(|kind| block["type"] == **kind));
    let first = turns[question..].iter().find(|turn| turn.role == "assistant");
    first.is_some_and(|turn| has(turn, &["tool_use"]) && !has(turn, &["thinking", "redacted_thinking"]))
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description, "input_schema": spec.parameters})
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Marks the end of what the provider's prompt cache should keep. The mark is the block's last field.
fn mark(block: Option<&mut Value>) {
    if let Some(Value::Object(fields)) = block {
        fields.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}

/// Marks the last user turn, which the next request of the work continues, and the one before the question: what is
/// between them may differ in the next work, because passages of memory are retrieved anew. With tools and system prompt
/// these are the four marks that the API allows.
fn mark_turns(turns: &mut [Turn]) {
    let question = turns.iter().rposition(|turn| turn.is_question).unwrap_or(0);
    let last = turns.iter().rposition(|turn| turn.role == "user");
    let before = turns[..question].iter().rposition(|turn| turn.role == "user");
    for at in [last, before].into_iter().flatten() {
        mark(turns[at].blocks.last_mut());
    }
}

/// Returns the system prompt, and the turns.
fn turns<'r>(to: Recipient<'_>, messages: &'r [ChatMessage]) -> (Option<&'r str>, Vec<Turn>) {
    let (mut system, mut turns) = (None, Vec::new());
    let mut ids = CallIds::default();
    for message in messages {
        match message {
            ChatMessage::System(text) if system.is_none() && turns.is_empty() && !text.trim().is_empty() => {
                system = Some(text.as_str());
            }
            ChatMessage::System(text) | ChatMessage::User(text) => {
                push(&mut turns, ("user", message.is_user()), [words(text)]);
            }
            ChatMessage::Pictured { content, pictures, .. } => {
                let blocks = std::iter::once(words(content)).chain(pictures.iter().map(image));
                push(&mut turns, ("user", message.is_user()), blocks);
            }
            ChatMessage::Tool { call_id, content } => {
                let result = json!({"type": "tool_result", "tool_use_id": ids.of(call_id), "content": content});
                push(&mut turns, ("user", false), [result]);
            }
            ChatMessage::Assistant { content, calls, .. } if content.trim().is_empty() && calls.is_empty() => {}
            ChatMessage::Assistant { content, calls, reasoning, .. } => {
                let reasoning = to.own(reasoning.as_deref()).filter(|_| to.profile.thinking != Thinking::Off);
                let blocks: Vec<Value> = in_order(content, calls, reasoning)
                    .into_iter()
                    .map(|piece| match piece {
                        Piece::Thought(item) => item.clone(),
                        Piece::Text(text) => text_block(text),
                        Piece::Call(call) => json!({
                            "type": "tool_use",
                            "id": ids.of(&call.id),
                            "name": plain(&call.name),
                            "input": object_of(&call.arguments),
                        }),
                    })
                    .collect();
                if turns.is_empty() {
                    push(&mut turns, ("user", false), [text_block(BEFORE_ANSWER)]);
                }
                push(&mut turns, ("assistant", false), blocks);
            }
        }
    }
    (system, turns)
}

/// Adds blocks to the last turn, or as a new one if that is the other's.
fn push(turns: &mut Vec<Turn>, (role, is_question): (&'static str, bool), blocks: impl IntoIterator<Item = Value>) {
    match turns.last_mut() {
        Some(last) if last.role == role => {
            last.blocks.extend(blocks);
            last.is_question |= is_question;
        }
        _ => turns.push(Turn { role, blocks: blocks.into_iter().collect(), is_question }),
    }
}

fn words(text: &str) -> Value {
    text_block(if text.trim().is_empty() { NO_WORDS } else { text })
}

/// Returns a picture as a block. A picture that is not read yet has its placeholder in place of the data.
fn image(seen: &RequestPicture) -> Value {
    let data = seen.url.split_once(";base64,").map_or(&*seen.url, |(_, data)| data);
    let media = seen.picture.media_type.name();
    json!({"type": "image", "source": {"type": "base64", "media_type": media, "data": data}})
}
