//! Deleted files: they can be restored until they are deleted permanently.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::sessions::deleted::Purged;
use crate::store::{DeletedFile, MAX_TRASHED};

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
