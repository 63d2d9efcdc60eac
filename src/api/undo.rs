//! Taking back what the agent did to files.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;

use super::app::App;
use super::error::{ApiError, ErrorBody};
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Undone {
    call_id: String,
    path: String,
    /// `false`: what had been undone was done again.
    undone: bool,
}

/// Brings the file that an operation changed back to what it was; the same again does the change again.
#[utoipa::path(post, path = "/api/sessions/{id}/operations/{call_id}/undo", tag = "sessions",
    params(("id" = String, Path), ("call_id" = String, Path)),
    responses((status = 200, body = Undone), (status = 404, body = ErrorBody),
              (status = 409, description = "changed_since: the file is something else by now", body = ErrorBody)))]
pub async fn undo(
    State(app): State<App>,
    Path((id, call_id)): Path<(String, String)>,
) -> Result<Json<Undone>, ApiError> {
    let done = app.engine.undo(&SessionId::parse(&id)?, &call_id).await?;
    Ok(Json(Undone { call_id, path: done.path.to_string(), undone: done.undone }))
}
