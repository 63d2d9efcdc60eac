//! Renaming files, moving them to the trash, and restoring them.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::JsonRejection;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::files::file::{FileQuery, expectation};
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::engine::documents::FileVersion;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RenameFile {
    from: String,
    to: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Renamed {
    path: String,
    etag: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrashedFile {
    path: String,
    /// The name under which the file can be restored.
    trash: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RestoreFile {
    /// The name that the deletion returned.
    trash: String,
}

/// Renames or moves a file.
///
/// Nothing is overwritten: if the new path exists, the request is refused (409 `exists`).
#[utoipa::path(post, path = "/api/files/rename", tag = "files", request_body = RenameFile,
    params(("If-Match" = Option<String>, Header)),
    responses((status = 200, body = Renamed), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn rename(
    caller: Caller,
    headers: HeaderMap,
    request: Result<JsonBody<RenameFile>, JsonRejection>,
) -> Result<Json<Renamed>, ApiError> {
    let JsonBody(request) = request?;
    let (from, to) = (Place::parse(&request.from)?, Place::parse(&request.to)?);
    let expect = expectation(&headers)?;
    let FileVersion { path, etag } = caller.tenant().documents.rename(&from, &to, expect).await?;
    Ok(Json(Renamed { path: path.to_string(), etag }))
}

/// Moves a file to `storage/trash/`, which keeps the last 200 deleted files.
#[utoipa::path(delete, path = "/api/files", tag = "files", params(FileQuery, ("If-Match" = Option<String>, Header)),
    responses((status = 200, body = TrashedFile), (status = 404, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn delete(
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<FileQuery>,
) -> Result<Json<TrashedFile>, ApiError> {
    let path = Place::parse(&query.path)?;
    let expect = expectation(&headers)?;
    let trash = caller.tenant().documents.delete(&path, expect).await?;
    Ok(Json(TrashedFile { path: path.to_string(), trash }))
}

/// Restores a deleted file to its old path.
///
/// If another file is at that path, the request is refused (409 `exists`).
#[utoipa::path(post, path = "/api/files/restore", tag = "files", request_body = RestoreFile,
    responses((status = 200, body = Renamed), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn restore(
    caller: Caller,
    request: Result<JsonBody<RestoreFile>, JsonRejection>,
) -> Result<Json<Renamed>, ApiError> {
    let JsonBody(request) = request?;
    let FileVersion { path, etag } = caller.tenant().documents.restore(request.trash).await?;
    Ok(Json(Renamed { path: path.to_string(), etag }))
}
