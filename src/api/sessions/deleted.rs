//! Deleted sessions and files: they can be restored until they are deleted permanently.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::store::{DeletedFile, DeletedSession, MAX_TRASHED};

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// Most recently used first.
    sessions: Vec<DeletedSession>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrashedFiles {
    /// Most recently deleted first.
    files: Vec<DeletedFile>,
    /// Maximum number of deleted files kept; the oldest are removed first.
    kept: usize,
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct TrashQuery {
    /// The file's `trash` name from the list.
    trash: String,
}

#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Forgotten)]
pub struct Purged {
    #[serde(rename = "forgotten")]
    purged: bool,
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

/// Lists deleted files that can be restored.
#[utoipa::path(get, path = "/api/files/deleted", tag = "files", responses((status = 200, body = TrashedFiles)))]
pub async fn trashed(caller: Caller) -> Result<Json<TrashedFiles>, ApiError> {
    let files = caller.tenant().documents.trashed().await?;
    Ok(Json(TrashedFiles { files, kept: MAX_TRASHED }))
}

/// Deletes a file from the trash permanently. It cannot be restored.
#[utoipa::path(delete, path = "/api/files/deleted", tag = "files", operation_id = "forget_file",
    params(TrashQuery),
    responses((status = 200, body = Purged), (status = 404, body = ErrorBody)))]
pub async fn purge_file(caller: Caller, Query(query): Query<TrashQuery>) -> Result<Json<Purged>, ApiError> {
    caller.tenant().documents.purge(query.trash).await?;
    Ok(Json(Purged { purged: true }))
}
