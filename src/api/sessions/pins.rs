//! Pinned sessions, which are listed before the others, and pinned messages, which every request contains.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{PinnedMessage, SessionId};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Pinned {
    pinned: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct PinnedMessages {
    pinned: Vec<PinnedMessage>,
}

/// Pins a session, so that it is listed before the others.
#[utoipa::path(put, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned), (status = 404, body = ErrorBody)))]
pub async fn pin(caller: Caller, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    Ok(Json(Pinned { pinned: caller.engine.pin(&id).await? }))
}

/// Unpins a session.
#[utoipa::path(delete, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned), (status = 404, body = ErrorBody)))]
pub async fn unpin(caller: Caller, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.view(&id).await?;
    Ok(Json(Pinned { pinned: caller.engine.unpin(&id).await? }))
}

/// Pins a message, or an answer by the id of its work: from the next request on, every request of the session contains its text, even if a summary replaces
/// it or it does not fit. All pinned messages of a session have at most 8,000 characters.
#[utoipa::path(put, path = "/api/sessions/{id}/messages/{message_id}/pin", tag = "sessions",
    params(("id" = String, Path), ("message_id" = String, Path)),
    responses((status = 200, body = PinnedMessages), (status = 404, body = ErrorBody),
              (status = 409, description = "no_text or pins_too_long", body = ErrorBody)))]
pub async fn pin_message(
    caller: Caller,
    Path((id, message_id)): Path<(String, String)>,
) -> Result<Json<PinnedMessages>, ApiError> {
    change_pin(&caller, &id, &message_id, true).await
}

/// Unpins a message.
#[utoipa::path(delete, path = "/api/sessions/{id}/messages/{message_id}/pin", tag = "sessions",
    params(("id" = String, Path), ("message_id" = String, Path)),
    responses((status = 200, body = PinnedMessages), (status = 404, body = ErrorBody)))]
pub async fn unpin_message(
    caller: Caller,
    Path((id, message_id)): Path<(String, String)>,
) -> Result<Json<PinnedMessages>, ApiError> {
    change_pin(&caller, &id, &message_id, false).await
}

async fn change_pin(
    caller: &Caller,
    id: &str,
    message_id: &str,
    pinned: bool,
) -> Result<Json<PinnedMessages>, ApiError> {
    let id = SessionId::parse(id)?;
    caller.engine.pin_message(&id, message_id, pinned).await?;
    Ok(Json(PinnedMessages { pinned: caller.engine.view(&id).await?.session.pinned.clone() }))
}
