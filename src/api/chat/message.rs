//! `POST /api/chat`: sends a message and streams the work to its end. A client disconnect does not cancel the work.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::chat::attachments::{Attached, prompt};
use crate::api::chat::events::frames;
use crate::api::chat::sse::respond;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::{ClientRequest, Message, Outcome, PermissionMode, SessionId, UserPrompt, When};
use crate::engine::{EngineError, FinishedWork, NewMessage};

const SESSION_HEADER: HeaderName = HeaderName::from_static("x-session-id");
/// The work that the message begins, known before its stream begins.
const WORK_HEADER: HeaderName = HeaderName::from_static("x-work-id");

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ChatRequest {
    /// The text of the message. May be empty if there are attachments.
    message: String,
    /// Text files and pictures sent with the message.
    #[serde(default)]
    attachments: Vec<Attached>,
    /// The session. If absent, a new session is created; an unknown id creates a session with that id.
    session_id: Option<String>,
    /// Whether to interrupt a run under way. Default: `now`. With `next`, the stream begins when the message runs.
    #[serde(default)]
    when: When,
    /// What may run during the work of this message alone. Requires the page's secret.
    permission_mode: Option<PermissionMode>,
    /// Whether the person has confirmed that commands run without the approval that the server's rules require.
    #[serde(default)]
    confirm_loosening: bool,
    /// `false`: returns one JSON object at the end instead of a stream. Default: `true`.
    #[serde(default = "yes")]
    stream: bool,
}

fn yes() -> bool {
    true
}

/// The response to a request with `stream: false`.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ChatAnswer {
    content: String,
    session_id: String,
    work_id: String,
    stop_reason: String,
    /// The messages of this work, as stored in the session's file.
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
}

/// Sends a message and follows the work: an SSE stream of frames, or one JSON object.
#[utoipa::path(post, path = "/api/chat", request_body = ChatRequest, tag = "chat",
    responses((status = 200, description = "SSE of Frame; with stream:false a ChatAnswer", body = ChatAnswer),
              (status = 400, body = crate::api::error::ErrorBody),
              (status = 403, description = "no_secret: only the page sends `permission_mode`", body = crate::api::error::ErrorBody),
              (status = 413, body = crate::api::error::ErrorBody), (status = 422, body = crate::api::error::ErrorBody),
              (status = 409, description = "busy, confirm_loosening", body = crate::api::error::ErrorBody)))]
pub async fn chat(caller: Caller, request: Result<JsonBody<ChatRequest>, JsonRejection>) -> Result<Response, ApiError> {
    let JsonBody(request) = request?;
    let id = match request.session_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => SessionId::parse(id)?,
        None => SessionId::parse(&clock::new_id())?,
    };
    let permission_mode = request.permission_mode;
    if permission_mode.is_some() {
        caller.require_page()?;
        let is_widened = caller.tenant().runtime.config().policy.is_widened_by(permission_mode);
        if is_widened && !request.confirm_loosening {
            return Err(EngineError::ConfirmMode.into());
        }
    }
    let prompt = prompt(&caller, &id, request.message, request.attachments).await?;
    let client = ClientRequest { key: "page".to_owned(), permission_mode, ..ClientRequest::default() };
    let prompt = UserPrompt { client: permission_mode.map(|_| client.into()), ..prompt };
    let message = NewMessage { prompt, key: None, when: request.when };
    let work = caller.engine.say_and_follow(&id, message, caller.until_over()).await?;
    let header = [(SESSION_HEADER, id.to_string()), (WORK_HEADER, work.work_id.to_string())];
    if request.stream {
        let hub = caller.tenant().hub.clone();
        return Ok((header, respond(frames(work.publications, hub))).into_response());
    }
    let work_id = work.work_id.to_string();
    let FinishedWork { outcome, content, messages } = caller.engine.finished(&id, work).await?;
    if let Outcome::Error { error, .. } = outcome {
        let error = ApiError::new(axum::http::StatusCode::BAD_GATEWAY, "work_failed", error);
        return Ok((header, error).into_response());
    }
    let answer = ChatAnswer {
        content: content.to_string(),
        session_id: id.to_string(),
        work_id,
        stop_reason: outcome.word().to_owned(),
        messages,
    };
    Ok((header, Json(answer)).into_response())
}
