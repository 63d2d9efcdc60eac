//! Deleted sessions and files: they can be restored until they are deleted permanently.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::store::{DeletedSession, MOST_TRASHED, TrashedText};

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// Most recently used first.
    sessions: Vec<DeletedSession>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrashedFiles {
    /// Most recently deleted first.
    files: Vec<TrashedText>,
    /// Maximum number of deleted files kept; the oldest are removed first.
    kept: usize,
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct TrashQuery {
    /// The file's `trash` name from the list.
    trash: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Forgotten {
    forgotten: bool,
}

/// Lists deleted sessions that can be restored.
#[utoipa::path(get, path = "/api/sessions/deleted", tag = "sessions", responses((status = 200, body = DeletedSessions)))]
pub async fn deleted(caller: Caller) -> Result<Json<DeletedSessions>, ApiError> {
    let sessions = caller.tenant().log.deleted().await?;
    Ok(Json(DeletedSessions { sessions }))
}

/// Deletes a session permanently, with its compacted messages. It cannot be restored.
#[utoipa::path(delete, path = "/api/sessions/deleted/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget(caller: Caller, Path(id): Path<String>) -> Result<Json<Forgotten>, ApiError> {
    caller.engine.forget(&SessionId::parse(&id)?).await?;
    Ok(Json(Forgotten { forgotten: true }))
}

/// Lists deleted files that can be restored.
#[utoipa::path(get, path = "/api/files/deleted", tag = "files", responses((status = 200, body = TrashedFiles)))]
pub async fn trashed(caller: Caller) -> Result<Json<TrashedFiles>, ApiError> {
    let files = caller.tenant().documents.trashed().await?;
    Ok(Json(TrashedFiles { files, kept: MOST_TRASHED }))
}

/// Deletes a file from the trash permanently. It cannot be restored.
#[utoipa::path(delete, path = "/api/files/deleted", tag = "files", params(TrashQuery),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget_file(caller: Caller, Query(query): Query<TrashQuery>) -> Result<Json<Forgotten>, ApiError> {
    caller.tenant().documents.forget(query.trash).await?;
    Ok(Json(Forgotten { forgotten: true }))
}
