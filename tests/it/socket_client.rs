//! A WebSocket client, and the transcript that one can make from its frames.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::http::PATIENCE;
use crate::world::{KEY, Server};

pub struct Socket {
    stream: WebSocketStream<TcpStream>,
}

impl Socket {
    /// Connects to `/ws` with this query.
    pub async fn open(server: &Server<'_>, query: &str) -> Self {
        let mut headers = Vec::new();
        if let Some(token) = &server.token {
            headers.push(("Authorization", format!("Bearer {token}")));
        }
        Self::open_with(server, query, &headers).await.expect("the handshake succeeds")
    }

    /// Connects with these headers. The error is the status and the code of the refusal.
    pub async fn open_with(
        server: &Server<'_>,
        query: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Self, (u16, String)> {
        let mut request = format!("ws://{}/ws{query}", server.address).into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).expect("a header"));
        }
        let connection = TcpStream::connect(server.address).await.expect("the server listens");
        match tokio_tungstenite::client_async(request, connection).await {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                let told: Value = serde_json::from_slice(body).unwrap_or_default();
                Err((response.status().as_u16(), told["code"].as_str().unwrap_or_default().to_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn send(&mut self, frame: Value) {
        self.send_raw(Message::text(frame.to_string())).await;
    }

    pub async fn send_raw(&mut self, message: Message) {
        self.stream.send(message).await.expect("the server reads");
    }

    /// Sends a message that the server may refuse to read.
    pub async fn send_in_vain(&mut self, message: Message) {
        let _ = self.stream.send(message).await;
    }

    /// Sends a frame and returns the reply to it; events before it are skipped.
    pub async fn asked(&mut self, kind: &str, data: Value) -> Value {
        self.send(json!({"type": kind, "data": data, "id": "q"})).await;
        loop {
            let frame = self.next().await;
            if frame["data"]["reply_to"] == "q" {
                return frame;
            }
        }
    }

    /// Returns the next frame, which must come.
    pub async fn next(&mut self) -> Value {
        self.read().await.unwrap_or_else(|closed| panic!("the connection was closed: {closed}"))
    }

    /// Returns the next frame, or the code with which the connection was closed; 0 if it was cut.
    pub async fn read(&mut self) -> Result<Value, u16> {
        // Pings do not count.
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let message = tokio::time::timeout_at(until, self.stream.next()).await.expect("the server says something");
            match message {
                Some(Ok(Message::Text(text))) => {
                    assert!(!text.contains(KEY), "the key is in a frame: {text}");
                    return Ok(serde_json::from_str(&text).expect("a frame is JSON"));
                }
                Some(Ok(Message::Close(close))) => return Err(close.map_or(0, |close| close.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(0),
            }
        }
    }

    /// Reads up to and including the first frame of this type.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next().await);
            if frames.last().is_some_and(|frame| frame["type"] == kind) {
                return frames;
            }
        }
    }

    /// Reads until the connection is closed. Returns the code.
    pub async fn closed(&mut self) -> u16 {
        loop {
            if let Err(code) = self.read().await {
                return code;
            }
        }
    }
}

/// The conversation as a client shows it: who said what, and which tools ran with which result.
pub type Transcript = Vec<Value>;

/// Returns the conversation that messages of a session's file stand for.
pub fn of_messages(messages: &Value) -> Transcript {
    sorted(lines_of(messages))
}

/// Returns the lines of messages in their order, so that what follows continues the last one.
fn lines_of(messages: &Value) -> Transcript {
    let mut lines = Vec::new();
    for message in messages.as_array().expect("messages") {
        let text = |field: &str| message[field].as_str().unwrap_or_default().to_owned();
        match message["role"].as_str() {
            Some("user") => lines.push(json!({"user": text("content")})),
            _ => {
                push(&mut lines, "thinking", &text("thinking"));
                push(&mut lines, "text", &text("content"));
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    lines.push(json!({"call": call["id"]}));
                    if matches!(call["status"].as_str(), Some("approval" | "running")) {
                        continue;
                    }
                    lines.push(json!({"result": call["id"], "output": call["output"]}));
                }
            }
        }
    }
    lines
}

/// Adds a piece of text to the last line, if that is of the same kind.
fn push(lines: &mut Transcript, kind: &str, piece: &str) {
    if piece.is_empty() {
        return;
    }
    if let Some(Value::String(text)) = lines.last_mut().and_then(|line| line.get_mut(kind)) {
        return text.push_str(piece);
    }
    lines.push(json!({ kind: piece }));
}

/// Calls that run beside each other may end in any order, so results are compared in that of their calls.
fn sorted(mut lines: Transcript) -> Transcript {
    let mut results: Vec<Value> = lines.extract_if(.., |line| line.get("result").is_some()).collect();
    results.sort_by_key(|line| line["result"].to_string());
    lines.extend(results);
    lines
}

/// What a client knows that has read these frames of `/ws`.
pub fn of_frames(frames: &[Value]) -> Transcript {
    let mut lines = Transcript::new();
    for frame in frames {
        let data = &frame["data"];
        match frame["type"].as_str().expect("a type") {
            "HISTORY" => lines = lines_of(&data["messages"]),
            "ASSISTANT_TEXT" => push(&mut lines, "text", data["delta"].as_str().expect("a delta")),
            "THINKING" => push(&mut lines, "thinking", data["delta"].as_str().expect("a delta")),
            "TOOL_USE" => lines.push(json!({"call": data["id"]})),
            "TOOL_RESULT" => lines.push(json!({"result": data["id"], "output": data["output"]})),
            "STATUS" if data["type"] == "user_message" => lines.push(json!({"user": data["content"]})),
            _ => {}
        }
    }
    sorted(lines)
}
