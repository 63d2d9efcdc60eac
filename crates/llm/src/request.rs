//! The request, parsed once at the boundary into types that cannot hold invalid values. The wire format is the OpenAI
//! chat completions API; unknown fields are ignored.

use crate::error::ApiError;
use serde::Deserialize;
use serde_json::Value;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A call the assistant made earlier in the conversation. `arguments` is JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// One message of the conversation. Only assistant messages have `calls`; only tool messages have
/// `tool_call_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub text: String,
    pub calls: Vec<PastCall>,
    pub tool_call_id: String,
}

/// A tool the model may call; `parameters` is a JSON schema of type object.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// Whether a tool may, must or must not be called. The index points into [`ChatRequest::tools`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    Only(usize),
}

/// Required format of the answer's text.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    Free,
    /// JSON that matches this schema.
    Json(Value),
}

/// Sampling parameters. `temperature` 0 is greedy; `repeat_penalty` 1 disables the penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    pub temperature: f32,
    pub top_p: f32,
    pub seed: u32,
    pub repeat_penalty: f32,
}

/// How the response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Single,
    /// Server-sent events; `usage` and `progress` enable the extra chunks.
    Stream {
        usage: bool,
        progress: bool,
    },
}

/// A validated request.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub tool_choice: ToolChoice,
    pub format: Format,
    pub sampling: Sampling,
    /// Maximum tokens of the answer.
    pub max_tokens: usize,
    pub stop: Vec<String>,
    pub delivery: Delivery,
}

const DEFAULT_MAX_TOKENS: usize = 1024;
const DEFAULT_TEMPERATURE: f32 = 0.3;
const DEFAULT_REPEAT_PENALTY: f32 = 1.05;
const MAX_STOPS: usize = 8;
const MAX_TOOLS: usize = 128;

#[derive(Deserialize)]
struct Wire {
    messages: Vec<WireMessage>,
    #[serde(default)]
    tools: Option<Vec<WireTool>>,
    tool_choice: Option<Value>,
    response_format: Option<WireFormat>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    seed: Option<i64>,
    repeat_penalty: Option<f32>,
    stop: Option<WireStop>,
    stream: Option<bool>,
    stream_options: Option<WireStreamOptions>,
    return_progress: Option<bool>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    content: Option<WireContent>,
    #[serde(default)]
    tool_calls: Option<Vec<WireCall>>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireContent {
    Text(String),
    Parts(Vec<WirePart>),
}

#[derive(Deserialize)]
struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

#[derive(Deserialize)]
struct WireCall {
    #[serde(default)]
    id: String,
    function: WireCallFunction,
}

#[derive(Deserialize)]
struct WireCallFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct WireTool {
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: String,
    #[serde(default)]
    description: Option<String>,
    parameters: Option<Value>,
}

#[derive(Deserialize)]
struct WireFormat {
    #[serde(rename = "type")]
    kind: String,
    json_schema: Option<WireSchema>,
}

#[derive(Deserialize)]
struct WireSchema {
    schema: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireStop {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct WireStreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// Parses the body of a chat request.
///
/// # Errors
/// Returns [`ApiError::BadRequest`] with a message that names the field.
pub fn parse(body: &[u8]) -> Result<ChatRequest, ApiError> {
    let wire: Wire = serde_json::from_slice(body).map_err(|e| bad(format!("the body is not a chat request: {e}")))?;
    if wire.messages.is_empty() {
        return Err(bad("messages is empty"));
    }
    let messages = wire.messages.into_iter().map(message).collect::<Result<Vec<_>, _>>()?;
    let tools = tools(wire.tools.unwrap_or_default())?;
    let tool_choice = tool_choice(wire.tool_choice.as_ref(), &tools)?;
    let delivery = match wire.stream.unwrap_or(false) {
        false => Delivery::Single,
        true => Delivery::Stream {
            usage: wire.stream_options.is_some_and(|o| o.include_usage),
            progress: wire.return_progress.unwrap_or(false),
        },
    };
    let sampling = Sampling {
        temperature: within(wire.temperature, DEFAULT_TEMPERATURE, (0.0, 2.0), "temperature")?,
        top_p: within(wire.top_p, 0.95, (0.0, 1.0), "top_p")?,
        seed: wire.seed.map_or(0x5eed, |s| (s as u64 & 0x7fff_ffff) as u32),
        repeat_penalty: within(wire.repeat_penalty, DEFAULT_REPEAT_PENALTY, (0.5, 2.0), "repeat_penalty")?,
    };
    let max_tokens = wire.max_completion_tokens.or(wire.max_tokens).map_or(DEFAULT_MAX_TOKENS, |n| n as usize);
    if max_tokens == 0 {
        return Err(bad("max_tokens must be at least 1"));
    }
    Ok(ChatRequest {
        messages,
        tools,
        tool_choice,
        format: format(wire.response_format)?,
        sampling,
        max_tokens,
        stop: stops(wire.stop)?,
        delivery,
    })
}

/// Parses the body of `POST /v1/prefix`: the system message, which must be the first message, and the tools.
///
/// # Errors
/// Returns [`ApiError::BadRequest`].
pub fn parse_prefix(body: &[u8]) -> Result<(String, Vec<Tool>), ApiError> {
    let request = parse(body)?;
    match request.messages.first() {
        Some(first) if first.role == Role::System => Ok((first.text.clone(), request.tools)),
        _ => Err(bad("the first message must be the system message")),
    }
}

fn bad(text: impl Into<String>) -> ApiError {
    ApiError::BadRequest(text.into())
}

fn within(value: Option<f32>, default: f32, range: (f32, f32), name: &str) -> Result<f32, ApiError> {
    let value = value.unwrap_or(default);
    match value >= range.0 && value <= range.1 {
        true => Ok(value),
        false => Err(bad(format!("{name} must lie between {} and {}", range.0, range.1))),
    }
}

fn message(wire: WireMessage) -> Result<Message, ApiError> {
    let role = match wire.role.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        other => return Err(bad(format!("unknown role {other:?}"))),
    };
    let text = match wire.content {
        None => String::new(),
        Some(WireContent::Text(text)) => text,
        Some(WireContent::Parts(parts)) => joined(parts)?,
    };
    let calls = wire.tool_calls.unwrap_or_default().into_iter();
    let calls = calls.map(|c| PastCall { id: c.id, name: c.function.name, arguments: c.function.arguments }).collect();
    Ok(Message { role, text, calls, tool_call_id: wire.tool_call_id.unwrap_or_default() })
}

fn joined(parts: Vec<WirePart>) -> Result<String, ApiError> {
    let mut text = String::new();
    for part in parts {
        match (part.kind.as_str(), part.text) {
            ("text", Some(t)) => text.push_str(&t),
            (kind, _) => return Err(bad(format!("content parts of type {kind:?} cannot be read by this model"))),
        }
    }
    Ok(text)
}

fn tools(wire: Vec<WireTool>) -> Result<Vec<Tool>, ApiError> {
    if wire.len() > MAX_TOOLS {
        return Err(bad(format!("at most {MAX_TOOLS} tools")));
    }
    let mut tools: Vec<Tool> = Vec::with_capacity(wire.len());
    for WireTool { function } in wire {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if function.name.is_empty() || function.name.len() > 64 || !function.name.chars().all(legal) {
            return Err(bad(format!("tool name {:?} is not 1–64 letters, digits, _ or -", function.name)));
        }
        if tools.iter().any(|t| t.name == function.name) {
            return Err(bad(format!("two tools are named {:?}", function.name)));
        }
        let parameters = function.parameters.filter(Value::is_object);
        tools.push(Tool {
            name: function.name,
            description: function.description.unwrap_or_default(),
            parameters: parameters.unwrap_or_else(|| serde_json::json!({"type": "object", "properties": {}})),
        });
    }
    Ok(tools)
}

fn tool_choice(wire: Option<&Value>, tools: &[Tool]) -> Result<ToolChoice, ApiError> {
    if tools.is_empty() {
        return Ok(ToolChoice::None);
    }
    match wire {
        None | Some(Value::Null) => Ok(ToolChoice::Auto),
        Some(Value::String(s)) => match s.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            other => Err(bad(format!("unknown tool_choice {other:?}"))),
        },
        Some(choice) => {
            let name = choice["function"]["name"].as_str().ok_or_else(|| bad("tool_choice names no function"))?;
            let index = tools.iter().position(|t| t.name == name);
            index.map(ToolChoice::Only).ok_or_else(|| bad(format!("tool_choice {name:?} is not among the tools")))
        }
    }
}

fn format(wire: Option<WireFormat>) -> Result<Format, ApiError> {
    let Some(wire) = wire else { return Ok(Format::Free) };
    match wire.kind.as_str() {
        "text" => Ok(Format::Free),
        "json_object" => Ok(Format::Json(serde_json::json!({"type": "object"}))),
        "json_schema" => match wire.json_schema.and_then(|s| s.schema) {
            Some(schema) if schema.is_object() => Ok(Format::Json(schema)),
            _ => Err(bad("response_format json_schema has no schema")),
        },
        other => Err(bad(format!("unknown response_format {other:?}"))),
    }
}

fn stops(wire: Option<WireStop>) -> Result<Vec<String>, ApiError> {
    let mut stops = match wire {
        None => Vec::new(),
        Some(WireStop::One(stop)) => vec![stop],
        Some(WireStop::Many(stops)) => stops,
    };
    stops.retain(|s| !s.is_empty());
    match stops.len() <= MAX_STOPS {
        true => Ok(stops),
        false => Err(bad(format!("at most {MAX_STOPS} stop sequences"))),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
