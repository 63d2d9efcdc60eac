//! Builds the request's JSON: the conversation in the form of the API, adapted to the profile. The OpenAI chat format is
//! here.

mod call_ids;
mod form;
mod messages;
mod responses;

use serde_json::{Map, Value, json};

use super::profile::{Api, Profile, ThinkingReplay};
use super::{ChatMessage, ModelRequest, RequestPicture};
use crate::domain::{Reasoning, ToolSpec};

/// Stands between the result of a call and a user message for models that refuse one directly after the other.
const AFTER_RESULT: &str = "I have the results.";

/// The model that a request is for.
#[derive(Clone, Copy)]
pub struct Recipient<'a> {
    pub profile: &'a Profile,
    pub model: &'a str,
    /// `Endpoint::origin`: only thoughts of this origin are sent back.
    pub origin: &'a str,
    /// Maximum tokens of prompt and answer together.
    pub context_window: u32,
}

impl Recipient<'_> {
    /// Returns these thoughts if they are the recipient's own.
    fn own<'r>(&self, reasoning: Option<&'r Reasoning>) -> Option<&'r Reasoning> {
        reasoning.filter(|reasoning| !self.origin.is_empty() && reasoning.origin == self.origin)
    }
}

/// Returns the whole body.
pub fn body(to: Recipient<'_>, request: &ModelRequest) -> Value {
    let mut body = match to.profile.api {
        Api::Chat => chat(to, request),
        Api::Messages => messages::body(to, request),
        Api::Responses => responses::body(to, request),
    };
    form::add_form(to.profile, &request.form, &mut body);
    Value::Object(body)
}

fn chat(Recipient { profile, model, .. }: Recipient<'_>, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), Value::Array(chat_messages(profile, &request.messages)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(&request.tools));
        if let Some(parallel) = profile.parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), json!(parallel));
        }
        body.extend(profile.extra_with_tools.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    }
    body.insert("stream".into(), json!(true));
    if profile.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    add_parameters(profile, request, &mut body);
    if let Some(effort) = profile.effort_with_tools.filter(|_| !request.tools.is_empty()) {
        body.insert("reasoning_effort".into(), json!(effort));
    }
    body.extend(profile.extra.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    body
}

/// Adds what a person has set, as far as the model accepts it: sampling, the limit of the answer, thinking.
fn add_parameters(profile: &Profile, request: &ModelRequest, body: &mut Map<String, Value>) {
    let parameters = profile.parameters;
    let temperature = request.temperature.or(parameters.temperature);
    if let Some(temperature) = temperature.filter(|_| profile.accepts("temperature")) {
        body.insert("temperature".into(), decimal(temperature.clamp(0.0, profile.temperature_ceiling)));
    }
    if let Some(top_p) = parameters.top_p.filter(|_| profile.accepts("top_p")) {
        body.insert("top_p".into(), decimal(top_p.clamp(0.0, 1.0)));
    }
    if let Some(wish) = request.max_tokens.or(parameters.max_tokens) {
        let most = profile.output_ceiling.unwrap_or(u32::MAX);
        body.insert(profile.max_tokens_field.into(), json!(wish.clamp(1, most)));
    }
    body.extend(profile.thinking_parameter.field(profile.thinking).map(|(name, value)| (name.to_owned(), value)));
}

/// Returns the shortest decimal that parses to the same `f32`: 0.7, not 0.699999988079071.
fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}

/// Returns the tools as a request's body contains them.
pub fn tools(specs: &[ToolSpec]) -> Value {
    specs.iter().map(tool).collect()
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
    })
}

fn chat_messages(profile: &Profile, messages: &[ChatMessage]) -> Vec<Value> {
    let mut out = Vec::with_capacity(messages.len());
    let mut follows_result = false;
    for (message, with_calls) in messages.iter().zip(mark_exchanges(messages)) {
        let (is_from_user, json) = match message {
            ChatMessage::System(content) => (false, json!({"role": "system", "content": content})),
            ChatMessage::User(content) => (true, json!({"role": "user", "content": content})),
            ChatMessage::Pictured { content, pictures, .. } => (true, pictured(content, pictures)),
            ChatMessage::Tool { call_id, content } => {
                (false, json!({"role": "tool", "tool_call_id": call_id, "content": content}))
            }
            // The message is empty, and several providers refuse a message without content.
            ChatMessage::Assistant { content, calls, .. } if content.is_empty() && calls.is_empty() => continue,
            ChatMessage::Assistant { .. } => (false, assistant(profile, message, with_calls)),
        };
        if follows_result && is_from_user && !profile.user_after_result {
            out.push(json!({"role": "assistant", "content": AFTER_RESULT}));
        }
        follows_result = matches!(message, ChatMessage::Tool { .. });
        out.push(json);
    }
    out
}

/// Builds a user message. A picture that could not be read is mentioned in the text and missing from `pictures`.
fn pictured(content: &str, pictures: &[RequestPicture]) -> Value {
    if pictures.is_empty() {
        return json!({"role": "user", "content": content});
    }
    let seen = pictures.iter().map(|seen| json!({"type": "image_url", "image_url": {"url": &*seen.url}}));
    let parts: Vec<Value> = std::iter::once(json!({"type": "text", "text": content})).chain(seen).collect();
    json!({"role": "user", "content": parts})
}

/// Returns for each message whether its exchange, from one user message to the next, contains tool calls.
fn mark_exchanges(messages: &[ChatMessage]) -> Vec<bool> {
    let calls = |message: &ChatMessage| match message {
        ChatMessage::Assistant { calls, .. } => !calls.is_empty(),
        ChatMessage::System(_) | ChatMessage::User(_) | ChatMessage::Pictured { .. } | ChatMessage::Tool { .. } => {
            false
        }
    };
    messages
        .chunk_by(|_, next| !next.is_user())
        .flat_map(|exchange| std::iter::repeat_n(exchange.iter().any(calls), exchange.len()))
        .collect()
}

fn assistant(profile: &Profile, message: &ChatMessage, exchange_with_calls: bool) -> Value {
    let ChatMessage::Assistant { content, thinking, calls, .. } = message else { return Value::Null };
    let mut fields = Map::new();
    fields.insert("role".into(), json!("assistant"));
    // With calls, "" and not null: chat templates of self-hosted models concatenate it with other text.
    fields.insert("content".into(), json!(content));
    match profile.thinking_replay {
        ThinkingReplay::Never => {}
        ThinkingReplay::WithCalls(field) => {
            if exchange_with_calls && (thinking.is_some() || !calls.is_empty()) {
                fields.insert(field.into(), json!(thinking.as_deref().unwrap_or_default()));
            }
        }
    }
    if !calls.is_empty() {
        let calls: Vec<Value> = calls
            .iter()
            .map(|call| {
                json!({
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": replayable(&call.arguments)},
                })
            })
            .collect();
        fields.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(fields)
}

/// Returns arguments as they are sent back to the provider. Self-hosted servers parse them and refuse the whole
/// conversation if they are not a JSON object, so invalid ones are wrapped in an object.
fn replayable(arguments: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(_) => arguments.to_owned(),
        Err(_) => Value::Object(object_of(arguments)).to_string(),
    }
}

/// Returns arguments as an object; invalid ones are wrapped in one.
fn object_of(arguments: &str) -> Map<String, Value> {
    if arguments.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(arguments)
        .unwrap_or_else(|_| Map::from_iter([("invalid_arguments".to_owned(), Value::from(arguments))]))
}

/// A piece of an assistant's message.
enum Piece<'a> {
    Thought(&'a Value),
    Text(&'a str),
    Call(&'a super::CallRequest),
}

/// Returns an assistant's message in the order in which it was written: its thoughts are where they were.
fn in_order<'a>(content: &'a str, calls: &'a [super::CallRequest], reasoning: Option<&'a Reasoning>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut text, mut call) = (0, 0);
    for thought in reasoning.into_iter().flat_map(|reasoning| &reasoning.items) {
        let end = content.floor_char_boundary(thought.text_before).max(text);
        push_text(&mut pieces, &content[text..end]);
        text = end;
        let end = thought.calls_before.clamp(call, calls.len());
        if end > call {
            // A call ends the text.
            push_text(&mut pieces, &content[text..]);
            text = content.len();
        }
        pieces.extend(calls[call..end].iter().map(Piece::Call));
        call = end;
        pieces.push(Piece::Thought(&thought.item));
    }
    push_text(&mut pieces, &content[text..]);
    pieces.extend(calls[call..].iter().map(Piece::Call));
    // An answer that was cut off after a thought: providers refuse one that nothing follows.
    while matches!(pieces.last(), Some(Piece::Thought(_))) {
        pieces.pop();
    }
    pieces
}

/// Adds a text, unless it is blank: Anthropic refuses such a block.
fn push_text<'a>(pieces: &mut Vec<Piece<'a>>, text: &'a str) {
    if !text.trim().is_empty() {
        pieces.push(Piece::Text(text));
    }
}
