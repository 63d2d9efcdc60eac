//! Plays one reply: its steps become the bytes of a response, each sent as soon as it is reached.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::{self, Stream};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::ServerState;
use super::events::Writer;
use super::script::{Reply, Step, Tokens};
use crate::provider::profile::Api;

/// Plays the steps before the body, then returns a response whose body plays the rest.
pub(super) async fn play(reply: Arc<Reply>, state: Arc<ServerState>, api: Api) -> Response {
    let mut status = StatusCode::OK;
    let mut headers = Vec::new();
    let mut writer = Writer::new(api);
    let mut at = 0;
    while let Some(step) = reply.steps.get(at).filter(|step| !step.is_body()) {
        match step {
            Step::Status(code) => status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Step::Headers(more) => headers.extend(more.iter().filter_map(|(name, value)| {
                Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::try_from(value.as_str()).ok()?))
            })),
            Step::SleepMs(ms) => sleep(Duration::from_millis(*ms)).await,
            Step::Gate(name) => pass_gate(&state, name).await,
            Step::Usage(usage) => writer.set_usage(usage),
            Step::Text(_)
            | Step::Thinking(_)
            | Step::Signature(_)
            | Step::Redacted(_)
            | Step::ToolCall(_)
            | Step::Finish(_)
            | Step::Bytes(_)
            | Step::Tokens(_)
            | Step::Close(_) => break,
        }
        at += 1;
    }
    let good = status.is_success();
    let mut response = if at == reply.steps.len() && !good {
        let message = format!("scripted status {}", status.as_u16());
        Response::new(Body::from(json!({"error": {"message": message, "type": "script"}}).to_string()))
    } else {
        let player = Player { reply, state, at, writer, tokens: None };
        Response::new(Body::from_stream(body(player)))
    };
    *response.status_mut() = status;
    let kind = if good { "text/event-stream" } else { "application/json" };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().extend(headers);
    response
}

async fn pass_gate(state: &ServerState, name: &str) {
    let mut gate = state.gate(name);
    // The sender lives in the state, which outlives the reply.
    let _ = gate.wait_for(|open| *open).await;
}

/// The position of a response body in its reply.
struct Player {
    reply: Arc<Reply>,
    state: Arc<ServerState>,
    at: usize,
    writer: Writer,
    /// Number of tokens sent in the current step, and the time when it started.
    tokens: Option<(u32, Instant)>,
}

fn body(player: Player) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    stream::unfold(Some(player), |player| async move {
        let mut player = player?;
        match player.next().await? {
            Ok(bytes) => Some((Ok(bytes), Some(player))),
            // An error makes the server break the connection.
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl Player {
    async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        loop {
            let reply = self.reply.clone();
            let step = reply.steps.get(self.at)?;
            if let Step::Tokens(tokens) = step {
                match self.token(tokens).await {
                    Some(bytes) => return Some(Ok(bytes)),
                    None => self.at += 1,
                }
                continue;
            }
            self.at += 1;
            match step {
                Step::Text(text) => return Some(Ok(self.writer.text(text).into())),
                Step::Thinking(text) => return Some(Ok(self.writer.thinking(text).into())),
                Step::Signature(signature) => return Some(Ok(self.writer.signature(signature).into())),
                Step::Redacted(data) => return Some(Ok(self.writer.redacted(data).into())),
                Step::ToolCall(call) => return Some(Ok(self.writer.call(call).into())),
                Step::Finish(reason) => return Some(Ok(self.writer.finish(reason).into())),
                Step::Bytes(raw) => return Some(Ok(Bytes::from(raw.clone()))),
                Step::Usage(usage) => self.writer.set_usage(usage),
                Step::SleepMs(ms) => sleep(Duration::from_millis(*ms)).await,
                Step::Gate(name) => pass_gate(&self.state, name).await,
                Step::Close(true) => {
                    // Lets the server send what it has buffered.
                    tokio::task::yield_now().await;
                    return Some(Err(std::io::Error::other("the script closes the connection")));
                }
                Step::Close(false) | Step::Status(_) | Step::Headers(_) | Step::Tokens(_) => {}
            }
        }
    }

    async fn token(&mut self, tokens: &Tokens) -> Option<Bytes> {
        let (sent, since) = self.tokens.unwrap_or_else(|| (0, Instant::now()));
        if sent == tokens.count {
            self.tokens = None;
            return None;
        }
        if let Some(rate) = tokens.per_second.filter(|rate| *rate > 0.0) {
            // Relative to the start of the step and not to the previous token, so that the rate holds.
            sleep_until(since + Duration::from_secs_f64(f64::from(sent) / rate)).await;
        }
        self.tokens = Some((sent + 1, since));
        Some(self.writer.text(&tokens.token(sent)).into())
    }
}
