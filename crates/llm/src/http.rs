//! The HTTP interface: the OpenAI chat API and a health endpoint, for one local client that knows the secret.

use crate::chatml::Tokenizer;
use crate::engine::Shared;
use crate::error::ApiError;
use crate::fit::answer_prompt;
use crate::queue::{Event, Prefix};
use crate::recipe::answer_room;
use crate::reply::{CompletionBuilder, Extras, Head};
use crate::request::{self, ChatRequest, Delivery};
use crate::turns::Conversation;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

const MAX_BODY: usize = 8 << 20;
/// Interval of the SSE comments that keep an idle stream alive while a prompt is evaluated.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// State of all handlers.
#[derive(Clone)]
pub struct App {
    shared: Arc<Shared>,
    /// SHA-256 of the secret.
    secret: [u8; 32],
}

impl App {
    pub fn new(shared: Arc<Shared>, secret: &str) -> Self {
        Self { shared, secret: Sha256::digest(secret.as_bytes()).into() }
    }
}

/// Returns the router with all routes.
pub fn routes(app: App) -> Router {
    let guarded = Router::new()
        .route("/v1/models", get(models))
        .route("/v1/prefix", post(prefix))
        .route("/v1/chat/completions", post(chat))
        .route_layer(middleware::from_fn_with_state(app.clone(), authenticate));
    Router::new()
        .route("/health", get(health))
        .merge(guarded)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn(refuse_foreign_hosts))
        .with_state(app)
}

/// Refuses requests whose `Host` is not a loopback name. A web page can make its own name resolve to 127.0.0.1 (DNS
/// rebinding); such a request carries that name.
async fn refuse_foreign_hosts(request: Request, next: Next) -> Result<Response, ApiError> {
    match is_loopback_host(request.headers()) {
        true => Ok(next.run(request).await),
        false => Err(ApiError::ForeignHost),
    }
}

fn is_loopback_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|h| h.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) => return false,
        None => host,
    };
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
}

async fn authenticate(State(app): State<App>, request: Request, next: Next) -> Result<Response, ApiError> {
    match carries_secret(request.headers(), &app.secret) {
        true => Ok(next.run(request).await),
        false => Err(ApiError::Unauthorized),
    }
}

/// Compares all bytes of the two hashes, so that the response time reveals nothing about the secret.
fn carries_secret(headers: &HeaderMap, secret: &[u8; 32]) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|h| h.as_bytes().strip_prefix(b"Bearer "));
    let hash: [u8; 32] = Sha256::digest(given.unwrap_or_default()).into();
    let differences = hash.iter().zip(secret).fold(0u8, |sum, (a, b)| sum | (a ^ b));
    given.is_some() && differences == 0
}

async fn health(State(app): State<App>) -> Json<Value> {
    Json(app.shared.status.health())
}

async fn models(State(app): State<App>) -> Json<Value> {
    let id = app.shared.status.model();
    Json(json!({"object": "list", "data": [
        {"id": id, "object": "model", "owned_by": "local", "context_length": app.shared.ctx}]}))
}

async fn prefix(State(app): State<App>, body: Bytes) -> Result<Response, ApiError> {
    let (system, tools) = request::parse_prefix(&body)?;
    app.shared.queue.want_prefix(Prefix { system, tools });
    Ok((StatusCode::ACCEPTED, Json(json!({"status": "accepted"}))).into_response())
}

async fn chat(State(app): State<App>, body: Bytes) -> Result<Response, ApiError> {
    let request = request::parse(&body)?;
    app.shared.status.ready().await.map_err(ApiError::NotLoaded)?;
    let request = checked(&app.shared, request).await?;
    let delivery = request.delivery;
    let head = Head::new(app.shared.status.model());
    let events = app.shared.queue.push(request)?;
    match delivery {
        Delivery::Single => completion(events, &head).await,
        Delivery::Stream { usage, progress } => {
            let chunks = chunks(events, head, Extras { usage, progress });
            let alive = KeepAlive::new().interval(KEEP_ALIVE);
            Ok(Sse::new(chunks).keep_alive(alive).into_response())
        }
    }
}

/// Refuses a request that cannot fit before it enters the queue, while the HTTP status can still report the error.
async fn checked(shared: &Arc<Shared>, request: ChatRequest) -> Result<ChatRequest, ApiError> {
    let shared = Arc::clone(shared);
    let checked = tokio::task::spawn_blocking(move || {
        let model = shared.model.get().ok_or_else(|| ApiError::NotLoaded("not ready".into()))?;
        let tokenizer = Tokenizer::new(model).map_err(ApiError::Internal)?;
        let limit = shared.ctx as usize;
        let room = limit - answer_room(request.max_tokens, limit);
        answer_prompt(tokenizer, &Conversation::new(&request.messages), room).map(|_| request)
    });
    checked.await.map_err(|e| ApiError::Internal(e.to_string()))?
}

async fn completion(mut events: mpsc::Receiver<Event>, head: &Head) -> Result<Response, ApiError> {
    let mut builder = CompletionBuilder::default();
    while let Some(event) = events.recv().await {
        builder.add(event, head)?;
    }
    Ok(Json(builder.build(head)?).into_response())
}

fn chunks(
    events: mpsc::Receiver<Event>,
    head: Head,
    extras: Extras,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let opening = stream::iter([head.opening()]);
    let middle = ReceiverStream::new(events).flat_map(move |event| stream::iter(head.chunks(event, extras)));
    let data = opening.chain(middle).map(|chunk| sse::Event::default().data(chunk.to_string()));
    let done = stream::iter([sse::Event::default().data("[DONE]")]);
    data.chain(done).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn only_loopback_hosts_are_served() {
        for host in ["127.0.0.1:80", "localhost:4000", "LOCALHOST", "127.0.0.1"] {
            assert!(is_loopback_host(&headers(header::HOST, host)), "{host}");
        }
        for host in ["evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0:80", "[::1]:80", "a:b"] {
            assert!(!is_loopback_host(&headers(header::HOST, host)), "{host}");
        }
        assert!(!is_loopback_host(&HeaderMap::new()));
    }

    #[test]
    fn only_complete_secret_is_accepted() {
        let secret: [u8; 32] = Sha256::digest(b"s3cret").into();
        assert!(carries_secret(&headers(header::AUTHORIZATION, "Bearer s3cret"), &secret));
        for wrong in ["Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret", "Bearer "] {
            assert!(!carries_secret(&headers(header::AUTHORIZATION, wrong), &secret), "{wrong}");
        }
        assert!(!carries_secret(&HeaderMap::new(), &secret));
        let empty: [u8; 32] = Sha256::digest(b"").into();
        assert!(!carries_secret(&HeaderMap::new(), &empty));
    }
}
