//! Sends a message to a session, continues its last answer, and stops it. Each returns at once.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::chat::attachments::{Attached, prompt};
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{SessionId, When, WorkId};
use crate::engine::{MessageState, NewMessage, WorkStarted};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct MessageRequest {
    /// The text of the message. May be empty if there are attachments.
    message: String,
    /// Text files and pictures sent with the message.
    #[serde(default)]
    attachments: Vec<Attached>,
    /// Idempotency key: a repeated request with the same key returns the first result and sends nothing, also after a
    /// restart. It becomes the message's id. 1 to 64 letters, digits, `-`, `_` or `.`.
    idempotency_key: Option<String>,
    /// Whether to interrupt a run under way. Default: `now`.
    #[serde(default)]
    when: When,
}

/// Checks that an idempotency key can be used in a file and in a URL.
pub(in crate::api) fn usable(key: String) -> Result<String, ApiError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&key.len()) && key.chars().all(fits) {
        return Ok(key);
    }
    Err(ApiError::bad_request("bad_key", "an idempotency_key has 1 to 64 letters, digits, '-', '_' or '.'"))
}

/// Returns the key in the header `Idempotency-Key`.
pub(in crate::api) fn key_in(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let key = headers.get("idempotency-key").map(|key| key.to_str().unwrap_or_default().to_owned());
    key.map(usable).transpose()
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MessageReceipt {
    session_id: String,
    /// The work that the message begins. With `state: denied`, the work under way.
    work_id: String,
    /// The events of the work come after this id.
    after: String,
    state: MessageState,
}

fn receipt(caller: &Caller, id: &SessionId, WorkStarted { work_id, after, state }: WorkStarted) -> MessageReceipt {
    MessageReceipt {
        session_id: id.to_string(),
        work_id: work_id.to_string(),
        after: caller.tenant().hub.id(after).to_string(),
        state,
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Interrupted {
    interrupted: bool,
}

/// Sends a message and returns at once.
///
/// Follow the work through the event streams. The key of the message can also be in the header, where servers of a cluster see it.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "chat", request_body = MessageRequest,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 202, body = MessageReceipt), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody),
              (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn say(
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Result<JsonBody<MessageRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<MessageReceipt>), ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(request) = request?;
    let key = match request.idempotency_key {
        Some(key) => Some(usable(key)?),
        None => key_in(&headers)?,
    };
    let prompt = prompt(&caller, &id, request.message, request.attachments).await?;
    let started = caller.engine.say(&id, NewMessage { prompt, key, when: request.when }).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt(&caller, &id, started))))
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct ContinueQuery {
    /// Lets this answer go on beyond the person's own limit of usage, to its end. Limits of the server count as always.
    #[serde(default)]
    beyond_own_limit: bool,
}

/// Continues the last work, which ended before its answer was complete, without a new message.
///
/// An answer that was cut off goes on where it stopped; one that failed is requested again.
#[utoipa::path(post, path = "/api/sessions/{id}/continue", tag = "chat", params(("id" = String, Path), ContinueQuery),
    responses((status = 202, body = MessageReceipt), (status = 404, body = ErrorBody),
              (status = 409, description = "busy, nothing_to_continue", body = ErrorBody)))]
pub async fn continue_work(
    caller: Caller,
    Path(id): Path<String>,
    Query(ContinueQuery { beyond_own_limit }): Query<ContinueQuery>,
) -> Result<(StatusCode, Json<MessageReceipt>), ApiError> {
    let id = SessionId::parse(&id)?;
    let started = caller.engine.continue_work(&id, beyond_own_limit).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt(&caller, &id, started))))
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct InterruptQuery {
    /// Stops only this work; if its message waits in the queue, it is removed.
    work_id: Option<String>,
}

/// Stops the work under way. The text so far is kept, and queued messages wait.
#[utoipa::path(post, path = "/api/sessions/{id}/interrupt", tag = "chat", params(("id" = String, Path), InterruptQuery),
    responses((status = 200, body = Interrupted), (status = 404, body = ErrorBody)))]
pub async fn interrupt(
    caller: Caller,
    Path(id): Path<String>,
    Query(InterruptQuery { work_id }): Query<InterruptQuery>,
) -> Result<Json<Interrupted>, ApiError> {
    let id = SessionId::parse(&id)?;
    let interrupted = match work_id {
        None => caller.engine.interrupt(&id).await?,
        Some(work) => caller.engine.interrupt_work(&id, &WorkId::new(work.as_str())).await?,
    };
    Ok(Json(Interrupted { interrupted }))
}
