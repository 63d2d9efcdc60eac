//! Sends messages of the Model Context Protocol to the server's `/mcp`, and reads what it answers.

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use url::Url;

use super::client::{Client, MAX_EVENT, SILENCE, silent, unreachable};

/// Where a request names the revision that it speaks, since 2026-07-28.
const VERSION_FIELD: &str = "io.modelcontextprotocol/protocolVersion";
/// The code of an error for a server that cannot be reached or refuses the client.
const SERVER_ERROR: i64 = -32_000;

/// The messages that answer a request.
pub struct McpMessages {
    response: Response,
    base: Url,
    bytes: Vec<u8>,
    /// Whether it is a stream, and not one message.
    is_stream: bool,
    is_over: bool,
}

impl Client {
    /// Sends a request. `version` is the revision that `initialize` agreed on, for a request that does not name its own.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub async fn mcp(&self, message: &Value, version: Option<&str>) -> anyhow::Result<McpMessages> {
        let mut request = self.request(Method::POST, "mcp").header(ACCEPT, "application/json, text/event-stream");
        let own = message["params"]["_meta"][VERSION_FIELD].as_str();
        if let Some(version) = own.or(version) {
            request = request.header("mcp-protocol-version", version);
        }
        if own.is_some() {
            let method = message["method"].as_str().unwrap_or_default();
            let name = message["params"]["name"].as_str().or(message["params"]["uri"].as_str());
            request = request.header("mcp-method", header_value(method));
            if let Some(name) = name.filter(|_| ["tools/call", "prompts/get", "resources/read"].contains(&method)) {
                request = request.header("mcp-name", header_value(name));
            }
        }
        let response = request.json(message).send().await.map_err(|error| unreachable(&self.base, &error))?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        Ok(McpMessages { response, base: self.base.clone(), bytes: Vec::new(), is_stream, is_over: false })
    }
}

impl McpMessages {
    /// Returns the next message; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the server goes away, or sends what is no message.
    pub async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        if !self.is_stream {
            return self.whole().await;
        }
        loop {
            while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).unwrap_or_default();
                if !data.is_empty() {
                    return Ok(Some(
                        serde_json::from_slice(data).context("the server sent a message that is no JSON")?,
                    ));
                }
            }
            if self.bytes.len() > MAX_EVENT {
                bail!("the server sent a message that is too long");
            }
            match self.chunk().await? {
                Some(bytes) => self.bytes.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }

    async fn chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let chunk = tokio::time::timeout(SILENCE, self.response.chunk()).await.map_err(|_| silent(&self.base))?;
        let chunk = chunk.map_err(|error| unreachable(&self.base, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }

    /// Returns a response that is one message, or the refusal of this server as one.
    async fn whole(&mut self) -> anyhow::Result<Option<Value>> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        while let Some(bytes) = self.chunk().await? {
            self.bytes.extend_from_slice(&bytes);
            if self.bytes.len() > MAX_EVENT {
                bail!("the server sent a message that is too long");
            }
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(&self.bytes).context("the server sent a message that is no JSON")?;
        if value.get("jsonrpc").is_some() {
            return Ok(Some(value));
        }
        let said = value["message"].as_str().unwrap_or("the server refused the request");
        Ok(Some(error_message(&Value::Null, SERVER_ERROR, said)))
    }
}

/// Returns a JSON-RPC error.
pub fn error_message(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Returns a text as the value of a header; one that a header cannot have is encoded as the protocol says.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    if is_plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_no_header_can_have_is_encoded() {
        assert_eq!(header_value("ask"), "ask");
        assert_eq!(header_value("miniclaw:///knowledge/茶.md"), "=?base64?bWluaWNsYXc6Ly8va25vd2xlZGdlL+iMti5tZA==?=");
        assert_eq!(header_value("a\r\nb"), "=?base64?YQ0KYg==?=");
    }
}
