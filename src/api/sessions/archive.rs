//! Archived sessions: removed from the list, but not deleted.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ArchivedSessions {
    /// Ids of all archived sessions.
    archived: Vec<String>,
    /// The same as `archived`, under its earlier name.
    #[schema(deprecated)]
    put_away: Vec<String>,
}

impl ArchivedSessions {
    fn of(ids: Vec<String>) -> Json<Self> {
        Json(Self { put_away: ids.clone(), archived: ids })
    }
}

/// Archives a session: removes it from the list without deleting it. The next message in it unarchives it.
#[utoipa::path(put, path = "/api/sessions/{id}/archived", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = ArchivedSessions), (status = 404, body = ErrorBody)))]
pub async fn archive(caller: Caller, Path(id): Path<String>) -> Result<Json<ArchivedSessions>, ApiError> {
    Ok(ArchivedSessions::of(caller.engine.archive(&SessionId::parse(&id)?).await?))
}

/// Unarchives a session: puts it back into the list.
#[utoipa::path(delete, path = "/api/sessions/{id}/archived", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = ArchivedSessions), (status = 404, body = ErrorBody)))]
pub async fn unarchive(caller: Caller, Path(id): Path<String>) -> Result<Json<ArchivedSessions>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.view(&id).await?;
    Ok(ArchivedSessions::of(caller.engine.unarchive(&id).await?))
}
