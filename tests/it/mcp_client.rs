//! A client of the MCP server, of either revision.

use serde_json::{Value, json};

use crate::http::{Answer, Incoming, open};
use crate::world::{Server, World};

pub const NEW: &str = "2026-07-28";
pub const OLD: &str = "2025-11-25";

/// A client with a token of its own.
pub struct McpClient<'s, 'w> {
    pub server: &'s Server<'w>,
    pub bearer: String,
    pub version: &'static str,
    /// What it declares, in the new revision.
    pub capabilities: Value,
}

/// Makes a token for the home of a server, as a person does on the command line.
pub async fn token(world: &World, scope: &str) -> String {
    let home = world.home();
    let home = home.to_str().unwrap();
    let made = world.run(&["token", "--home", home, "add", "--scope", scope]).await;
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

impl<'s, 'w> McpClient<'s, 'w> {
    pub async fn new(server: &'s Server<'w>, version: &'static str) -> Self {
        let token = token(server.world, "ask").await;
        Self::with_token(server, version, &token)
    }

    pub fn with_token(server: &'s Server<'w>, version: &'static str, token: &str) -> Self {
        Self { server, bearer: format!("Bearer {token}"), version, capabilities: json!({}) }
    }

    /// Returns a request, and its headers.
    fn request(&self, method: &str, mut params: Value) -> (Value, Vec<(&'static str, String)>) {
        let mut headers = vec![
            ("Authorization", self.bearer.clone()),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("MCP-Protocol-Version", self.version.to_owned()),
        ];
        if self.version == NEW {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEW.into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            headers.push(("Mcp-Method", method.to_owned()));
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()).or(params["taskId"].as_str()) {
                headers.push(("Mcp-Name", name.to_owned()));
            }
        }
        (json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}), headers)
    }

    pub async fn send(&self, method: &str, params: Value) -> Answer {
        let (body, headers) = self.request(method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.server.send("POST", "/mcp", &headers, body.to_string().as_bytes()).await
    }

    /// Sends a request and returns all messages that answer it.
    pub async fn messages(&self, method: &str, params: Value) -> Vec<Value> {
        let answer = self.send(method, params).await;
        assert_eq!(answer.head.header("x-accel-buffering"), Some("no"));
        messages(&answer)
    }

    /// Sends a request and returns its result.
    pub async fn result(&self, method: &str, params: Value) -> Value {
        let mut messages = self.messages(method, params).await;
        let mut last = messages.pop().expect("an answer");
        assert_eq!(last["id"], 7, "{last}");
        assert!(last["error"].is_null(), "{last}");
        last["result"].take()
    }

    /// Sends a request and returns its error.
    pub async fn error(&self, method: &str, params: Value) -> Value {
        let mut messages = self.messages(method, params).await;
        let mut last = messages.pop().expect("an answer");
        assert!(last["error"].is_object(), "{last}");
        last["error"].take()
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a request whose answer is read as it arrives.
    pub async fn open(&self, method: &str, params: Value) -> Incoming {
        let (body, headers) = self.request(method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = self.server.request("POST", "/mcp", &headers, body.to_string().as_bytes());
        open(self.server.address, &request).await
    }
}

/// Returns the messages of a response, which is a stream or one message.
pub fn messages(answer: &Answer) -> Vec<Value> {
    if answer.head.header("content-type") == Some("application/json") {
        return vec![answer.json()];
    }
    assert_eq!(answer.head.header("content-type"), Some("text/event-stream"), "{}", answer.text());
    let text = answer.text();
    let data =
        text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).expect("data is JSON")).collect()
}
