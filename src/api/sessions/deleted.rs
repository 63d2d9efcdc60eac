//! Deleted sessions and files: they can be restored, until they are deleted for good.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::store::{DeletedSession, MOST_TRASHED, TrashedText};

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// The one used last first.
    sessions: Vec<DeletedSession>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrashedFiles {
    /// The one deleted last first.
    files: Vec<TrashedText>,
    /// How many deletions are kept; the oldest go first.
    kept: usize,
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct TrashQuery {
    /// As the list names it.
    trash: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Forgotten {
    forgotten: bool,
}

/// Deleted sessions that can be restored.
#[utoipa::path(get, path = "/api/sessions/deleted", tag = "sessions", responses((status = 200, body = DeletedSessions)))]
pub async fn deleted(caller: Caller) -> Result<Json<DeletedSessions>, ApiError> {
    let sessions = caller.tenant().log.deleted().await?;
    Ok(Json(DeletedSessions { sessions }))
}

/// Deletes a session for good, with its compacted messages. It cannot be restored.
#[utoipa::path(delete, path = "/api/sessions/deleted/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget(caller: Caller, Path(id): Path<String>) -> Result<Json<Forgotten>, ApiError> {
    caller.engine.forget(&SessionId::parse(&id)?).await?;
    Ok(Json(Forgotten { forgotten: true }))
}

/// Deleted files that can be restored.
#[utoipa::path(get, path = "/api/files/deleted", tag = "files", responses((status = 200, body = TrashedFiles)))]
pub async fn trashed(caller: Caller) -> Result<Json<TrashedFiles>, ApiError> {
    let files = caller.tenant().documents.trashed().await?;
    Ok(Json(TrashedFiles { files, kept: MOST_TRASHED }))
}

/// Lets a deleted file go for good. It cannot be brought back.
#[utoipa::path(delete, path = "/api/files/deleted", tag = "files", params(TrashQuery),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget_file(caller: Caller, Query(query): Query<TrashQuery>) -> Result<Json<Forgotten>, ApiError> {
    caller.tenant().documents.forget(query.trash).await?;
    Ok(Json(Forgotten { forgotten: true }))
}
