//! Pinned sessions, which are listed before the others.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Pinned {
    pinned: Vec<String>,
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
    responses((status = 200, body = Pinned)))]
pub async fn unpin(caller: Caller, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    Ok(Json(Pinned { pinned: caller.engine.unpin(&id).await? }))
}
