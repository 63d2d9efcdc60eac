//! The taint of a conversation, and clearing it.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct TaintCleared {
    session_id: String,
    /// `false` if there was nothing to clear.
    cleared: bool,
}

/// Clears the taint of a conversation: all sources of untrusted text that it has read.
///
/// Requires the page's secret. Returns 409 while a run is under way.
#[utoipa::path(delete, path = "/api/sessions/{id}/taint", tag = "sessions",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = TaintCleared), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "busy: the session is at work", body = ErrorBody)))]
pub async fn clear(caller: Caller, Path(id): Path<String>) -> Result<Json<TaintCleared>, ApiError> {
    caller.require_page()?;
    let id = SessionId::parse(&id)?;
    let cleared = caller.engine.clear_taint(&id).await?;
    Ok(Json(TaintCleared { session_id: id.to_string(), cleared }))
}
