//! The format of a script, and its parser.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A list of replies, as YAML or JSON:
///
/// ```yaml
/// replies:
///   - match: weather          # only for a last user message with this text; without it, any
///     repeat: true            # stays for later requests; without it, the reply is used once
///     steps:
///       - status: 429                      # before the first body step
///       - headers: {retry-after: "1"}      # before the first body step
///       - thinking: "Hm."
///       - signature: "c2ln"                # ends the thought before it (Messages and Responses API)
///       - redacted: "ZGF0YQ"               # a thought that is not shown (Messages API)
///       - text: "Hel"
///       - tool_call: {id: c1, name: read_file, arguments: {path: a.md}}   # or a string, sent as it is
///       - usage: {prompt_tokens: 12, completion_tokens: 3}                # what `finish` will send
///       - finish: stop                     # the reason, then usage and [DONE]
///       - bytes: "data: raw\n\n"           # sent as it is
///       - sleep_ms: 50
///       - gate: name                       # waits until POST /gates/name
///       - tokens: {count: 500, per_second: 50, text: "tok{n} "}   # {n}: from 0; without per_second: at full speed
///       - tokens: {count: 500, pieces: ["Be", "gun "]}             # these in turn, again and again, as they are
///       - close: true                      # breaks the connection off
/// ```
///
/// A `sleep_ms` or `gate` before the first body step delays the response headers too.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) replies: Vec<Reply>,
}

/// An error in a script, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

#[derive(Clone, Debug)]
pub(super) struct Reply {
    matching: Option<String>,
    pub repeat: bool,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Status(u16),
    Headers(BTreeMap<String, String>),
    Text(String),
    Thinking(String),
    Signature(String),
    Redacted(String),
    ToolCall(ScriptedCall),
    Finish(String),
    Usage(Value),
    Bytes(String),
    SleepMs(u64),
    Gate(String),
    Tokens(Tokens),
    Close(bool),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    #[serde(default)]
    pub id: Option<String>,
    pub name: String,
    #[serde(default)]
    pub arguments: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    pub count: u32,
    #[serde(default)]
    pub per_second: Option<f64>,
    #[serde(default = "default_token")]
    pub text: String,
    #[serde(default)]
    pub pieces: Vec<String>,
}

fn default_token() -> String {
    "tok ".to_owned()
}

impl Tokens {
    /// Returns the token with this 0-based number.
    pub fn token(&self, number: u32) -> String {
        match self.pieces.len() {
            0 => self.text.replace("{n}", &number.to_string()),
            pieces => self.pieces[number as usize % pieces].clone(),
        }
    }
}

impl Script {
    /// Parses YAML, of which JSON is a subset.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let value: Value = serde_yaml::from_str(text)
            .map_err(|error| ScriptError(format!("not readable as YAML or JSON: {error}")))?;
        Self::from_value(&value)
    }

    /// Reads a script from a value, e.g. one made by `serde_json::json!`.
    pub fn from_value(value: &Value) -> Result<Self, ScriptError> {
        let replies = match value.get("replies") {
            Some(Value::Array(replies)) => replies,
            Some(_) | None => return Err(ScriptError("a script is a mapping with a list \"replies\"".to_owned())),
        };
        let replies = replies.iter().enumerate().map(|(at, reply)| read_reply(reply, at + 1));
        Ok(Self { replies: replies.collect::<Result<_, _>>()? })
    }

    /// Creates a script from replies, each a list of steps.
    pub fn of_steps<const N: usize>(replies: [Value; N]) -> Result<Self, ScriptError> {
        let replies: Vec<Value> = replies.into_iter().map(|steps| serde_json::json!({"steps": steps})).collect();
        Self::from_value(&serde_json::json!({"replies": replies}))
    }
}

fn read_reply(reply: &Value, number: usize) -> Result<Reply, ScriptError> {
    let wrong = |what: String| ScriptError(format!("reply {number}: {what}"));
    let Value::Object(fields) = reply else { return Err(wrong("must be a mapping with \"steps\"".to_owned())) };
    if let Some(unknown) = fields.keys().find(|key| !matches!(key.as_str(), "match" | "repeat" | "steps")) {
        return Err(wrong(format!("unknown field \"{unknown}\"; there are match, repeat and steps")));
    }
    let matching = match fields.get("match") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err(wrong("\"match\" must be a text".to_owned())),
    };
    let repeat = match fields.get("repeat") {
        None => false,
        Some(Value::Bool(repeat)) => *repeat,
        Some(_) => return Err(wrong("\"repeat\" must be true or false".to_owned())),
    };
    let Some(Value::Array(steps)) = fields.get("steps") else {
        return Err(wrong("\"steps\" must be a list".to_owned()));
    };
    let read = |(at, step): (usize, &Value)| {
        serde_path_to_error::deserialize::<_, Step>(step).map_err(|error| {
            let place = error.path().to_string();
            let place = if matches!(place.as_str(), "." | "?") { String::new() } else { format!(" ({place})") };
            wrong(format!("step {}{place}: {}", at + 1, error.inner()))
        })
    };
    let steps: Vec<Step> = steps.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let body = steps.iter().position(Step::is_body);
    if let Some(at) = steps.iter().rposition(Step::is_head)
        && body.is_some_and(|body| body < at)
    {
        return Err(wrong(format!("step {}: status and headers come before the body", at + 1)));
    }
    Ok(Reply { matching, repeat, steps })
}

impl Reply {
    pub fn fits(&self, said: &str) -> bool {
        self.matching.as_ref().is_none_or(|part| said.contains(part))
    }
}

impl Step {
    fn is_head(&self) -> bool {
        matches!(self, Self::Status(_) | Self::Headers(_))
    }

    /// Whether the response headers must be sent before this step.
    pub fn is_body(&self) -> bool {
        match self {
            Self::Status(_) | Self::Headers(_) | Self::SleepMs(_) | Self::Gate(_) | Self::Usage(_) => false,
            Self::Text(_)
            | Self::Thinking(_)
            | Self::Signature(_)
            | Self::Redacted(_)
            | Self::ToolCall(_)
            | Self::Finish(_)
            | Self::Bytes(_)
            | Self::Tokens(_)
            | Self::Close(_) => true,
        }
    }
}

/// Returns the text of the last message with the role `user`; empty if there is none.
pub(super) fn last_user_text(request: &Value) -> String {
    let messages = request.get("messages").or_else(|| request.get("input"));
    let mut messages = messages.and_then(Value::as_array).into_iter().flatten();
    let content = messages
        .rfind(|message| message.get("role").and_then(Value::as_str) == Some("user"))
        .and_then(|message| message.get("content"));
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Script::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn tokens_are_numbered_or_listed() {
        let tokens = |text: &str| serde_yaml::from_str::<Tokens>(text).unwrap();
        let said = |tokens: Tokens| (0..tokens.count).map(|n| tokens.token(n)).collect::<String>();
        assert_eq!(said(tokens("{count: 3, text: 't{n} '}")), "t0 t1 t2 ");
        assert_eq!(said(tokens("{count: 3, pieces: ['{n}', b]}")), "{n}b{n}");
    }

    #[test]
    fn script_is_yaml_or_json() {
        let yaml =
            "replies:\n  - match: hi\n    steps:\n      - status: 200\n      - text: Hel\n      - finish: stop\n";
        let json = r#"{"replies":[{"match":"hi","steps":[{"status":200},{"text":"Hel"},{"finish":"stop"}]}]}"#;
        for text in [yaml, json] {
            let script = Script::parse(text).unwrap();
            assert_eq!(script.replies.len(), 1);
            assert!(matches!(script.replies[0].steps.as_slice(), [Step::Status(200), Step::Text(_), Step::Finish(_)]));
            assert!(script.replies[0].fits("oh hi") && !script.replies[0].fits("ho"));
        }
    }

    #[test]
    fn script_errors_name_reply_and_step() {
        assert_eq!(fault("nothing"), "a script is a mapping with a list \"replies\"");
        assert_eq!(
            fault(r#"{"replies":[{"steps":[]},{"step":[]}]}"#),
            "reply 2: unknown field \"step\"; there are match, repeat and steps"
        );
        let unknown = fault(r#"{"replies":[{"steps":[{"text":"a"},{"txt":"b"}]}]}"#);
        assert!(unknown.starts_with("reply 1: step 2: unknown variant `txt`, expected one of `status`"), "{unknown}");
        let wrong = fault(r#"{"replies":[{"steps":[{"tool_call":{"id":"c","nam":"x"}}]}]}"#);
        assert!(wrong.starts_with("reply 1: step 1 (tool_call") && wrong.contains("`nam`"), "{wrong}");
        assert_eq!(
            fault(r#"{"replies":[{"steps":[{"text":"a"},{"status":500}]}]}"#),
            "reply 1: step 2: status and headers come before the body"
        );
        assert!(fault("replies: [").starts_with("not readable as YAML or JSON:"));
    }
}
