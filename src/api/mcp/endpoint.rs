//! `POST /mcp`: one message of a client each, answered by itself. Both the revision 2026-07-28 and the older ones with
//! `initialize` are served, and no request depends on one before it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::request_state::RequestStates;
use super::server::McpServer;
use crate::api::app::App;
use crate::api::error::ErrorBody;
use crate::api::openai::page_address::PageAddress;
use crate::api::security::caller::Caller;

/// Maximum bytes of a request: a message of a person, with room for its JSON encoding.
const MAX_REQUEST: usize = 4 << 20;

/// Answers a message of the Model Context Protocol, over its Streamable HTTP transport.
///
/// Needs `Authorization: Bearer …`, also on the own machine; cookies do not count. A token with the scope `read` can only read.
#[utoipa::path(post, path = "/mcp", tag = "mcp", request_body = Object,
    responses((status = 200, description = "SSE of JSON-RPC messages, or one as JSON"),
              (status = 202, description = "A notification was taken"),
              (status = 400, description = "A JSON-RPC error"), (status = 401, body = ErrorBody)))]
pub async fn mcp(State(app): State<App>, caller: Caller, page: PageAddress, request: Request) -> Response {
    let states = RequestStates::new(&app.secret);
    let hub = &caller.tenant().hub;
    let begun = hub.id(hub.last());
    let server = McpServer { caller: Arc::new(caller), page, states, listeners: app.mcp_listeners.clone(), begun };
    // The guard has checked Host and Origin.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_max_request_body_bytes(MAX_REQUEST)
        .with_cancellation_token(app.stopping.child_token())
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    let mut answer = service.handle(request).await.map(Body::new);
    // A proxy that collects a stream before it passes it on would hold back every step.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}
