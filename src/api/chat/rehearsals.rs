//! What a rehearsed call would change, while a person is asked about it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::sessions::changes::{FileChangeKind, FileVersionFacts, VersionSide, shown_content, version_facts};
use crate::store::StoreError;
use crate::tools::files::Side;
use crate::tools::{Held, RehearsedFile};

/// Everything that would change, the deletions first.
#[derive(Serialize, utoipa::ToSchema)]
pub struct RehearsedChanges {
    files: Vec<RehearsedChange>,
}

/// A file, link or folder that would change.
#[derive(Serialize, utoipa::ToSchema)]
pub struct RehearsedChange {
    /// Relative to the working folder. Invisible characters are escaped.
    path: String,
    kind: FileChangeKind,
    /// `null` if it would be created.
    before: Option<FileVersionFacts>,
    /// `null` if it would be deleted.
    after: Option<FileVersionFacts>,
    /// Number of lines; `null` if a version is not text, or if counting all files took too long.
    added: Option<usize>,
    removed: Option<usize>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RehearsedContentQuery {
    /// As in the list of changes.
    path: String,
    #[param(inline)]
    side: VersionSide,
}

/// Returns what a rehearsed call would change in files.
///
/// Only while the question waits: afterwards the changes are applied or discarded.
#[utoipa::path(get, path = "/api/approvals/{id}/changes", tag = "approvals", params(("id" = String, Path)),
    responses((status = 200, body = RehearsedChanges),
              (status = 404, description = "No question about a rehearsed call has this id", body = ErrorBody)))]
pub async fn changes(caller: Caller, Path(id): Path<String>) -> Result<Json<RehearsedChanges>, ApiError> {
    let held = held(&caller, &id)?;
    let files = tokio::task::spawn_blocking(move || held.files()).await.map_err(|_| StoreError::ShutDown)?;
    Ok(Json(RehearsedChanges { files: files.into_iter().map(change).collect() }))
}

/// Returns the content of a file before a rehearsed call, or as the call would leave it.
///
/// Pictures have their own content type, texts are `text/plain`, and everything else is a download.
#[utoipa::path(get, path = "/api/approvals/{id}/changes/content", tag = "approvals",
    params(("id" = String, Path), RehearsedContentQuery),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
              (status = 404, description = "There is no such question, file or version", body = ErrorBody),
              (status = 413, description = "too_large", body = ErrorBody)))]
pub async fn content(
    caller: Caller,
    Path(id): Path<String>,
    Query(RehearsedContentQuery { path, side }): Query<RehearsedContentQuery>,
) -> Result<Response, ApiError> {
    let held = held(&caller, &id)?;
    let side = Side::from(side);
    let read = tokio::task::spawn_blocking(move || held.content(&path, side)).await;
    Ok(shown_content(read.map_err(|_| StoreError::ShutDown)??))
}

fn held(caller: &Caller, approval_id: &str) -> Result<Arc<Held>, ApiError> {
    let tenant = caller.tenant();
    let waiting = tenant.approvals.list().into_iter().find(|approval| approval.id == approval_id);
    let held = waiting.and_then(|approval| tenant.captures.waiting(&approval.shown.rehearsal?.hash));
    let missing = "no question about a rehearsed call has this id; it may be answered";
    held.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "not_found", missing))
}

fn change(RehearsedFile { path, before, after, lines }: RehearsedFile) -> RehearsedChange {
    let kind = match (&before, &after) {
        (None, _) => FileChangeKind::Created,
        (Some(_), None) => FileChangeKind::Deleted,
        (Some(_), Some(_)) => FileChangeKind::Changed,
    };
    RehearsedChange {
        path,
        kind,
        before: before.map(version_facts),
        after: after.map(version_facts),
        added: lines.map(|lines| lines.added),
        removed: lines.map(|lines| lines.removed),
    }
}
