//! The handshake of `/ws`.

use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::connection::{AuthenticatedClient, Connection, IDLE_TIMEOUT, Start};
use super::inbound::{Hello, Inbound, MAX_FRAME, parse};
use super::writer::{CloseCode, Writer};
use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::forwarding::OwnerSocket;
use crate::api::security::caller::Caller;
use crate::api::security::guard;
use crate::clock;
use crate::domain::SessionId;
use crate::engine::EngineError;

/// Bytes that a connection has for reading, and for writing. There may be thousands of connections.
const BUFFER: usize = 4 << 10;
/// A client that could set no header says who it is within this time.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize, utoipa::IntoParams)]
pub struct SocketQuery {
    /// The session. If absent, a new one; an unknown id creates a session with that id.
    session_id: Option<String>,
    /// The last event id that the client received. If absent, the stream begins with the conversation so far.
    after: Option<String>,
}

/// Upgrades to a WebSocket that sends and takes text frames `{type, data, id}`; docs/websocket.md describes them.
#[utoipa::path(get, path = "/ws", tag = "chat", params(SocketQuery),
    responses((status = 101, description = "The connection is a WebSocket from here on"),
              (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 426, description = "not_websocket", body = ErrorBody)))]
pub async fn socket(
    State(app): State<App>,
    caller: Option<Caller>,
    Query(SocketQuery { session_id, after }): Query<SocketQuery>,
    parts: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let id = match session_id.filter(|id| !id.is_empty()) {
        Some(id) => SessionId::parse(&id)?,
        None => SessionId::parse(&clock::new_id())?,
    };
    let upgrade = upgrade.map_err(|rejection| {
        let message = format!("connect with a WebSocket client: {}", rejection.body_text());
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "not_websocket", message)
    })?;
    // Longer frames than those that are taken are read to be refused by name.
    let upgrade = upgrade.max_message_size(2 * MAX_FRAME).max_frame_size(2 * MAX_FRAME);
    let upgrade = upgrade.read_buffer_size(BUFFER).write_buffer_size(BUFFER);
    let start = Start { id, after };
    let open = app.sockets.token();
    let Some(caller) = caller else {
        let Ok(place) = app.unauthenticated_sockets.clone().try_acquire_owned() else {
            let message =
                "too many clients are signing in on /ws; try again, or send the credential with the handshake";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_sockets", message));
        };
        return Ok(upgrade.on_upgrade(move |socket| async move {
            let _open = open;
            let Some((socket, client)) = greeted(&app, parts, socket).await else { return };
            drop(place);
            match client {
                Greeted::Here(client) => Connection::serve(app, client, socket, start).await,
                Greeted::Elsewhere { owner, hello } => owner.pass_frames(socket, hello, IDLE_TIMEOUT).await,
            }
        }));
    };
    let client = AuthenticatedClient { caller, is_page: false };
    Ok(upgrade.on_upgrade(move |socket| async move {
        Connection::serve(app, client, socket, start).await;
        drop(open);
    }))
}

/// A client that has said who it is in its first frame.
enum Greeted {
    Here(AuthenticatedClient),
    /// Another server of the cluster has the home.
    Elsewhere {
        owner: OwnerSocket,
        /// The frame that tells the owner the page's secret, if the client has brought one.
        hello: Option<String>,
    },
}

/// Waits for the first frame of a client without a credential, which has to bring one. Returns `None` if it does not.
async fn greeted(app: &App, parts: Parts, mut socket: WebSocket) -> Option<(WebSocket, Greeted)> {
    let until = Instant::now() + HELLO_TIMEOUT;
    let (error, code) = loop {
        let frame = tokio::select! {
            frame = timeout_at(until, socket.recv()) => frame,
            () = app.stopping.cancelled() => break (EngineError::ShuttingDown.into(), CloseCode::GoingAway),
        };
        match frame {
            Ok(Some(Ok(Message::Text(text)))) => match parse(&text).frame {
                Ok(Inbound::Hello(hello)) => match identified(app, parts, hello).await {
                    Ok(client) => return Some((socket, client)),
                    // The home is moving: the client is right to come again.
                    Err(error) if error.retry_after.is_some() => break (error, CloseCode::GoingAway),
                    Err(error) => break (error, CloseCode::Policy),
                },
                _ => break (ApiError::signed_out(), CloseCode::Policy),
            },
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Ok(Some(Ok(Message::Binary(_)))) | Err(_) => break (ApiError::signed_out(), CloseCode::Policy),
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
        }
    };
    let mut writer = Writer::new(socket.split().0);
    let reason = error.code;
    if writer.refuse(Value::Null, error).await.is_ok() {
        writer.close(code, reason).await;
    }
    None
}

/// Returns the client whose token a first frame brings.
async fn identified(app: &App, mut parts: Parts, hello: Hello) -> Result<Greeted, ApiError> {
    let token = hello.token.ok_or_else(ApiError::signed_out)?;
    let bearer = format!("Bearer {token}").parse().map_err(|_| ApiError::signed_out())?;
    parts.headers.insert(header::AUTHORIZATION, bearer);
    let handshake = Request::from_parts(parts.clone(), Body::empty());
    if let Some(owner) = guard::socket_elsewhere(app, handshake).await? {
        let hello = hello.secret.map(|secret| json!({"type": "HELLO", "data": {"secret": secret}}).to_string());
        return Ok(Greeted::Elsewhere { owner, hello });
    }
    let caller = Caller::with_credential(parts, app).await?;
    let is_page = hello.secret.is_some_and(|secret| caller.is_page_secret(app, &secret));
    Ok(Greeted::Here(AuthenticatedClient { caller, is_page }))
}
