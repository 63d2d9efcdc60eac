//! Sessions that a person put away.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct PutAway {
    put_away: Vec<String>,
}

/// Takes a session out of the list without deleting it. What is said in it brings it back.
#[utoipa::path(put, path = "/api/sessions/{id}/away", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = PutAway), (status = 404, body = ErrorBody)))]
pub async fn put_away(State(app): State<App>, Path(id): Path<String>) -> Result<Json<PutAway>, ApiError> {
    let put_away = app.engine.put_away(&SessionId::parse(&id)?).await?;
    Ok(Json(PutAway { put_away }))
}

/// Puts a session back into the list.
#[utoipa::path(delete, path = "/api/sessions/{id}/away", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = PutAway)))]
pub async fn put_back(State(app): State<App>, Path(id): Path<String>) -> Result<Json<PutAway>, ApiError> {
    let put_away = app.engine.put_back(&SessionId::parse(&id)?).await?;
    Ok(Json(PutAway { put_away }))
}
