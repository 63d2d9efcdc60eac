//! Where a conversation has text from that strangers may have written, and a person's word that it does not count any more.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::Serialize;

use crate::api::app::App;
use crate::api::chat::approvals::is_the_page;
use crate::api::error::{ApiError, ErrorBody};
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct TaintCleared {
    session_id: String,
    /// `false`: there was nothing to clear.
    cleared: bool,
}

/// Lets go of all sources of text from outside that the conversation has read. Only with the secret that the page was given;
/// 409 while the conversation is at work.
#[utoipa::path(delete, path = "/api/sessions/{id}/taint", tag = "sessions",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = TaintCleared), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "busy: the session is at work", body = ErrorBody)))]
pub async fn clear(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<TaintCleared>, ApiError> {
    is_the_page(&app, &headers)?;
    let id = SessionId::parse(&id)?;
    let cleared = app.engine.clear_taint(&id).await?;
    Ok(Json(TaintCleared { session_id: id.to_string(), cleared }))
}
