//! The messages of a session that wait for the work under way to end.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{QueuedMessage, SessionId};

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueEdit {
    /// The new text of the message.
    message: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Queue {
    session_id: String,
    /// In the order in which they run.
    queue: Vec<QueuedMessage>,
}

/// Replaces the text of a queued message. Its files and its place stay.
#[utoipa::path(put, path = "/api/sessions/{id}/queue/{message_id}", tag = "chat", request_body = QueueEdit,
    params(("id" = String, Path), ("message_id" = String, Path)),
    responses((status = 200, body = Queue), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn edit(
    caller: Caller,
    Path((id, message)): Path<(String, String)>,
    request: Result<JsonBody<QueueEdit>, JsonRejection>,
) -> Result<Json<Queue>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(QueueEdit { message: content }) = request?;
    let content = content.trim();
    if content.is_empty() {
        return Err(ApiError::bad_request("empty", "a message can't be empty; delete it from the queue instead"));
    }
    caller.engine.edit_queued(&id, &message, content).await?;
    queue(&caller, &id).await
}

/// Removes a message from the queue.
#[utoipa::path(delete, path = "/api/sessions/{id}/queue/{message_id}", tag = "chat",
    params(("id" = String, Path), ("message_id" = String, Path)),
    responses((status = 200, body = Queue), (status = 404, body = ErrorBody)))]
pub async fn remove(caller: Caller, Path((id, message)): Path<(String, String)>) -> Result<Json<Queue>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.remove_queued(&id, &message).await?;
    queue(&caller, &id).await
}

/// Interrupts the work under way and sends a queued message.
#[utoipa::path(post, path = "/api/sessions/{id}/queue/{message_id}/send", tag = "chat",
    params(("id" = String, Path), ("message_id" = String, Path)),
    responses((status = 200, body = Queue), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn send(caller: Caller, Path((id, message)): Path<(String, String)>) -> Result<Json<Queue>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.send_queued(&id, &message).await?;
    queue(&caller, &id).await
}

async fn queue(caller: &Caller, id: &SessionId) -> Result<Json<Queue>, ApiError> {
    let queue = caller.engine.view(id).await?.session.queue.clone();
    Ok(Json(Queue { session_id: id.to_string(), queue }))
}
