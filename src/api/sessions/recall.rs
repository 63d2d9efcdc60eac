//! Whether a session can be recalled: found by a search in conversations.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{ChoiceChange, SessionId};
use crate::engine::SessionChange;

#[derive(Serialize, utoipa::ToSchema)]
pub struct RecallChoice {
    session_id: String,
    not_for_recall: bool,
}

/// Excludes a session from recall: from now on, no search in conversations finds it.
#[utoipa::path(put, path = "/api/sessions/{id}/not-for-recall", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = RecallChoice), (status = 404, body = ErrorBody)))]
pub async fn exclude(caller: Caller, Path(id): Path<String>) -> Result<Json<RecallChoice>, ApiError> {
    choose(&caller, &id, true).await
}

/// Includes a session in recall again. Only the page can do this.
#[utoipa::path(delete, path = "/api/sessions/{id}/not-for-recall", tag = "sessions",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = RecallChoice), (status = 403, description = "no_secret: only the page", body = ErrorBody),
              (status = 404, body = ErrorBody)))]
pub async fn include(caller: Caller, Path(id): Path<String>) -> Result<Json<RecallChoice>, ApiError> {
    caller.require_page()?;
    choose(&caller, &id, false).await
}

async fn choose(caller: &Caller, id: &str, not_for_recall: bool) -> Result<Json<RecallChoice>, ApiError> {
    let id = SessionId::parse(id)?;
    let choice = ChoiceChange { not_for_recall: Some(not_for_recall), ..ChoiceChange::default() };
    caller.engine.change(&id, SessionChange { choice, ..SessionChange::default() }).await?;
    Ok(Json(RecallChoice { session_id: id.to_string(), not_for_recall }))
}
