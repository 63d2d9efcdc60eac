//! A mock provider that plays a script over real HTTP, for tests, demonstrations and benchmarks.
//!
//! `POST /v1/chat/completions`, `/v1/messages` and `/v1/responses` (with or without `/v1`) play the next reply in the form of
//! their API, `GET /requests` returns the bodies of all requests so far as a JSON array, `POST /gates/{name}` opens a gate,
//! `GET /v1/models` lists one model. [`Script`] describes the format of a script. A request that breaks the rules of
//! Anthropic's or the Responses API is refused as there, and takes no reply.

mod events;
mod play;
mod rules;
mod script;

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use super::profile::Api;
pub use rules::{broken_by_messages, broken_by_responses};
use script::{Reply, last_user_text};
pub use script::{Script, ScriptError};

/// Serves the script until the listener fails. Meant for loopback: there is no authentication.
pub async fn serve(script: Script, listener: TcpListener) -> std::io::Result<()> {
    run(Arc::new(ServerState::new(script)), listener).await
}

/// Serves the script on a free port of 127.0.0.1, in a task of the current runtime.
pub async fn start(script: Script) -> std::io::Result<MockProvider> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let base_url = Url::parse(&format!("http://{address}/v1")).map_err(std::io::Error::other)?;
    let state = Arc::new(ServerState::new(script));
    let task = tokio::spawn(run(state.clone(), listener)).abort_handle();
    Ok(MockProvider { base_url, state, task })
}

/// A running mock provider; dropping it stops the server.
pub struct MockProvider {
    /// Ends in `/v1`.
    pub base_url: Url,
    state: Arc<ServerState>,
    task: tokio::task::AbortHandle,
}

impl MockProvider {
    /// Returns the bodies of all chat requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().requests.clone()
    }

    /// Opens the gate of this name for every reply that waits at it, now or later.
    pub fn open_gate(&self, name: &str) {
        self.state.open_gate(name);
    }

    /// Returns how many TCP connections were made so far.
    pub fn connections(&self) -> usize {
        self.state.lock().connections
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// State shared by all connections.
struct ServerState {
    inner: Mutex<Inner>,
}

struct Inner {
    replies: Vec<(Arc<Reply>, Use)>,
    requests: Vec<Value>,
    gates: HashMap<String, watch::Sender<bool>>,
    connections: usize,
}

#[derive(PartialEq)]
enum Use {
    Fresh,
    Played,
}

impl ServerState {
    fn new(script: Script) -> Self {
        let replies = script.replies.into_iter().map(|reply| (Arc::new(reply), Use::Fresh)).collect();
        Self { inner: Mutex::new(Inner { replies, requests: Vec::new(), gates: HashMap::new(), connections: 0 }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request and takes the next reply that matches it.
    fn next_reply(&self, request: Value) -> Option<Arc<Reply>> {
        let user_text = last_user_text(&request);
        let mut inner = self.lock();
        inner.requests.push(request);
        let (reply, used) =
            inner.replies.iter_mut().find(|(reply, used)| *used == Use::Fresh && reply.fits(&user_text))?;
        if !reply.repeat {
            *used = Use::Played;
        }
        Some(reply.clone())
    }

    fn gate(&self, name: &str) -> watch::Receiver<bool> {
        self.lock().gates.entry(name.to_owned()).or_insert_with(|| watch::channel(false).0).subscribe()
    }

    fn open_gate(&self, name: &str) {
        self.lock().gates.entry(name.to_owned()).or_insert_with(|| watch::channel(false).0).send_replace(true);
    }
}

async fn run(state: Arc<ServerState>, listener: TcpListener) -> std::io::Result<()> {
    let counter = state.clone();
    let listener = listener.tap_io(move |connection| {
        counter.lock().connections += 1;
        // Without TCP_NODELAY, a small step would wait for the acknowledgement of the previous one.
        let _ = connection.set_nodelay(true);
    });
    let router = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .route("/v1/models", get(models))
        .route("/requests", get(requests))
        .route("/gates/{name}", post(open_gate))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(state);
    axum::serve(listener, router).await
}

async fn chat(State(state): State<Arc<ServerState>>, body: Bytes) -> Response {
    reply(state, body, Api::Chat).await
}

async fn messages(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    let refused = |status: StatusCode, kind: &str, message: String| {
        answer(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
    };
    // Clients of later versions of the API send the key as a bearer token.
    if !headers.contains_key("x-api-key") && !headers.contains_key(header::AUTHORIZATION) {
        let message = "x-api-key header is required".to_owned();
        return refused(StatusCode::UNAUTHORIZED, "authentication_error", message);
    }
    if !headers.contains_key("anthropic-version") {
        let message = "anthropic-version: header is required".to_owned();
        return refused(StatusCode::BAD_REQUEST, "invalid_request_error", message);
    }
    match serde_json::from_slice(&body).ok().and_then(|request| rules::broken_by_messages(&request)) {
        Some(rule) => refused(StatusCode::BAD_REQUEST, "invalid_request_error", rule),
        None => reply(state, body, Api::Messages).await,
    }
}

async fn responses(State(state): State<Arc<ServerState>>, body: Bytes) -> Response {
    match serde_json::from_slice(&body).ok().and_then(|request| rules::broken_by_responses(&request)) {
        Some(rule) => {
            let error = json!({"message": rule, "type": "invalid_request_error", "param": "input", "code": null});
            answer(StatusCode::BAD_REQUEST, &json!({"error": error}))
        }
        None => reply(state, body, Api::Responses).await,
    }
}

async fn reply(state: Arc<ServerState>, body: Bytes, api: Api) -> Response {
    let request = serde_json::from_slice(&body)
        .unwrap_or_else(|_| json!({"not_json": String::from_utf8_lossy(&body).into_owned()}));
    let user_text = last_user_text(&request);
    match state.next_reply(request) {
        Some(reply) => play::play(reply, state, api).await,
        None => {
            let message = format!("the script has no reply left for the user message {user_text:?}");
            answer(StatusCode::INTERNAL_SERVER_ERROR, &json!({"error": {"message": message, "type": "script"}}))
        }
    }
}

async fn models() -> Response {
    answer(StatusCode::OK, &json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))
}

async fn requests(State(state): State<Arc<ServerState>>) -> Response {
    let requests = Value::Array(state.lock().requests.clone());
    answer(StatusCode::OK, &requests)
}

async fn open_gate(State(state): State<Arc<ServerState>>, Path(name): Path<String>) -> Response {
    state.open_gate(&name);
    answer(StatusCode::OK, &json!({"open": name}))
}

fn answer(status: StatusCode, document: &Value) -> Response {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
