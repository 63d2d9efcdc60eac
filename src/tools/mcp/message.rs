//! Messages of JSON-RPC 2.0, as MCP uses them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::elicitation;
use super::era::Era;
use super::param_headers::Header;
use super::tasks;

/// What this client says of itself.
const CLIENT: &str = "miniclaw";

/// An error that a server answered. The message is text from outside.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RpcError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub data: Value,
}

impl RpcError {
    /// Returns an error that this client makes of an answer that is none. Its code is 0.
    pub fn of(message: String) -> Self {
        Self { code: 0, message, data: Value::Null }
    }
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.message.as_str()) {
            (0, "") => formatter.write_str("the server answered with an error"),
            (0, message) => formatter.write_str(message),
            (code, message) => write!(formatter, "the server answered with the error {code}: {message}"),
        }
    }
}

/// A request to a server.
pub struct Request<'a> {
    pub method: &'a str,
    pub params: Value,
    /// What a remote server gets in headers, too.
    pub mirrored: Vec<Header>,
}

impl<'a> From<(&'a str, Value)> for Request<'a> {
    fn from((method, params): (&'a str, Value)) -> Self {
        Self { method, params, mirrored: Vec::new() }
    }
}

/// A message of a server.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    Response {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// A request of the server, with its id and its method.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// None of these.
    Other,
}

impl Incoming {
    pub fn parse(bytes: &[u8]) -> Self {
        // Values that are nested deeper than 128 levels do not parse.
        let Ok(Value::Object(mut message)) = serde_json::from_slice(bytes) else { return Self::Other };
        let id = message.remove("id");
        match (message.remove("method"), id) {
            (Some(Value::String(method)), None) => {
                Self::Notification { method, params: message.remove("params").unwrap_or_default() }
            }
            (Some(Value::String(method)), Some(id @ (Value::Number(_) | Value::String(_)))) => {
                Self::Request { id, method, params: message.remove("params").unwrap_or_default() }
            }
            (None, Some(id)) => Self::response(&id, message),
            _ => Self::Other,
        }
    }

    fn response(id: &Value, mut message: Map<String, Value>) -> Self {
        // An id that is not ours belongs to no request.
        let Some(id) = id.as_u64() else { return Self::Other };
        match (message.remove("result"), message.remove("error")) {
            (Some(result), None) => Self::Response { id, result: Ok(result) },
            (_, Some(error)) => {
                let unread = RpcError::of(String::new());
                Self::Response { id, result: Err(serde_json::from_value(error).unwrap_or(unread)) }
            }
            (None, None) => Self::Other,
        }
    }
}

/// Returns a request. In the modern era, each one says which revision it is of.
pub fn request(era: Era, id: u64, (method, mut params): (&str, Value)) -> Value {
    if let Value::Object(fields) = &mut params {
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        meta["progressToken"] = id.into();
        if era == Era::Modern {
            meta["io.modelcontextprotocol/protocolVersion"] = era.revision().into();
            meta["io.modelcontextprotocol/clientInfo"] = client_info();
            // Only the person who has a tool called can be asked for something.
            meta["io.modelcontextprotocol/clientCapabilities"] = match method {
                "tools/call" | "tasks/get" | "tasks/update" | "tasks/cancel" => {
                    let mut capabilities = elicitation::capability();
                    capabilities["extensions"] = json!({tasks::EXTENSION: {}});
                    capabilities
                }
                _ => json!({}),
            };
        }
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns the response with a result.
pub fn response(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Returns the response to a request of the server that nobody answers.
pub fn response_to(id: &Value, method: &str) -> Value {
    match method {
        "ping" => response(id, json!({})),
        elicitation::CREATE => response(id, json!({"action": "decline"})),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "this client does not have it"}}),
    }
}

pub fn client_info() -> Value {
    json!({"name": CLIENT, "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let parse = |value: Value| Incoming::parse(value.to_string().as_bytes());
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
            Incoming::Response { id: 1, result: Ok(json!({})) }
        );
        let error = RpcError { code: -32602, message: "no".to_owned(), data: json!({}) };
        assert_eq!(
            parse(json!({"id": 2, "error": {"code": -32602, "message": "no", "data": {}}})),
            Incoming::Response { id: 2, result: Err(error) }
        );
        assert_eq!(
            parse(json!({"id": "x", "method": "roots/list"})),
            Incoming::Request { id: json!("x"), method: "roots/list".to_owned(), params: json!(null) }
        );
        assert!(matches!(parse(json!({"method": "notifications/progress"})), Incoming::Notification { .. }));
        for odd in [json!([]), json!({"id": "x", "result": {}}), json!({"id": 1}), json!({"id": {}, "method": "x"})] {
            assert_eq!(parse(odd.clone()), Incoming::Other, "{odd}");
        }
        assert_eq!(Incoming::parse(b"Server listening"), Incoming::Other);
        assert_eq!(Incoming::parse("[".repeat(100_000).as_bytes()), Incoming::Other);
    }

    #[test]
    fn modern_request_says_its_revision() {
        let modern = request(Era::Modern, 3, ("tools/list", json!({})));
        assert_eq!(modern["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let legacy = request(Era::Legacy, 3, ("tools/list", json!({})));
        assert_eq!(legacy["params"]["_meta"], json!({"progressToken": 3}));
    }
}
