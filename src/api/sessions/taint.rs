//! The sources of untrusted text in a conversation, and clearing them.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
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
pub async fn clear(caller: Caller, Path(id): Path<String>) -> Result<Json<TaintCleared>, ApiError> {
    caller.require_page()?;
    let id = SessionId::parse(&id)?;
    let cleared = caller.engine.clear_taint(&id).await?;
    Ok(Json(TaintCleared { session_id: id.to_string(), cleared }))
}
