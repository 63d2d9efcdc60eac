//! What is not in a session's list any more, and can still be read: messages that a summary stands for, deleted sessions.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use serde_json::Value;

use super::app::App;
use super::error::{ApiError, ErrorBody};
use crate::domain::SessionId;
use crate::engine::blocking;
use crate::store::{Archive, DeletedSession};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Archives {
    /// Oldest first.
    archives: Vec<Archive>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Archived {
    name: String,
    /// Messages as the session had them.
    #[schema(value_type = Vec<crate::domain::Message>)]
    messages: Vec<Value>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// The one used last first.
    sessions: Vec<DeletedSession>,
}

/// The archives of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/archives", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Archives)))]
pub async fn archives(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Archives>, ApiError> {
    let id = SessionId::parse(&id)?;
    let home = app.engine.services().home.clone();
    let archives = blocking(move || Ok(home.archives(&id))).await?;
    Ok(Json(Archives { archives }))
}

/// The messages of an archive.
#[utoipa::path(get, path = "/api/sessions/{id}/archives/{name}", tag = "sessions",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Archived), (status = 404, body = ErrorBody)))]
pub async fn archived(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<Archived>, ApiError> {
    let id = SessionId::parse(&id)?;
    let (home, wanted) = (app.engine.services().home.clone(), name.clone());
    let messages = blocking(move || home.archived(&id, &wanted)).await?;
    Ok(Json(Archived { name, messages }))
}

/// Deleted sessions that can be brought back.
#[utoipa::path(get, path = "/api/sessions/deleted", tag = "sessions", responses((status = 200, body = DeletedSessions)))]
pub async fn deleted(State(app): State<App>) -> Result<Json<DeletedSessions>, ApiError> {
    let home = app.engine.services().home.clone();
    let sessions = blocking(move || Ok(home.deleted_sessions())).await?;
    Ok(Json(DeletedSessions { sessions }))
}
