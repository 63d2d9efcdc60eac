//! Deleted sessions: they can be restored until they are deleted permanently.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::store::DeletedSession;

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// Most recently used first.
    sessions: Vec<DeletedSession>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Forgotten)]
pub struct Purged {
    #[serde(rename = "forgotten")]
    pub(in crate::api) purged: bool,
}

/// Lists deleted sessions that can be restored.
#[utoipa::path(get, path = "/api/sessions/deleted", tag = "sessions", responses((status = 200, body = DeletedSessions)))]
pub async fn deleted(caller: Caller) -> Result<Json<DeletedSessions>, ApiError> {
    let sessions = caller.tenant().log.deleted().await?;
    Ok(Json(DeletedSessions { sessions }))
}

/// Deletes a session permanently, with its compacted messages. It cannot be restored.
#[utoipa::path(delete, path = "/api/sessions/deleted/{id}", tag = "sessions", operation_id = "forget",
    params(("id" = String, Path)),
    responses((status = 200, body = Purged), (status = 404, body = ErrorBody)))]
pub async fn purge(caller: Caller, Path(id): Path<String>) -> Result<Json<Purged>, ApiError> {
    caller.engine.purge(&SessionId::parse(&id)?).await?;
    Ok(Json(Purged { purged: true }))
}
