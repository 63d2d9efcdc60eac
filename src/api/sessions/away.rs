//! Sessions that a person put away.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ArchivedSession {
    put_away: Vec<String>,
}

/// Takes a session out of the list without deleting it. What is said in it brings it back.
#[utoipa::path(put, path = "/api/sessions/{id}/away", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = ArchivedSession), (status = 404, body = ErrorBody)))]
pub async fn put_away(caller: Caller, Path(id): Path<String>) -> Result<Json<ArchivedSession>, ApiError> {
    let put_away = caller.engine.put_away(&SessionId::parse(&id)?).await?;
    Ok(Json(ArchivedSession { put_away }))
}

/// Puts a session back into the list.
#[utoipa::path(delete, path = "/api/sessions/{id}/away", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = ArchivedSession)))]
pub async fn put_back(caller: Caller, Path(id): Path<String>) -> Result<Json<ArchivedSession>, ApiError> {
    let put_away = caller.engine.put_back(&SessionId::parse(&id)?).await?;
    Ok(Json(ArchivedSession { put_away }))
}
