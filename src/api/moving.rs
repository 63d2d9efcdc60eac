//! Files under another name, in the trash, and back.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::error::{ApiError, ErrorBody};
use super::files::{FileQuery, expectation};
use crate::domain::HomePath;
use crate::engine::watch::Saves;
use crate::engine::{ChangedBy, blocking};
use crate::store::{Home, TrustedBy, etag};
use crate::tools::library::Library;

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
    /// What brings it back.
    trash: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RestoreFile {
    /// As the deletion answered it.
    trash: String,
}

/// Gives a file another name or folder. Nothing is overwritten: a path that is taken is refused (409 `exists`).
#[utoipa::path(post, path = "/api/files/rename", tag = "files", request_body = RenameFile,
    params(("If-Match" = Option<String>, Header)),
    responses((status = 200, body = Renamed), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn rename(
    State(app): State<App>,
    headers: HeaderMap,
    request: Result<Json<RenameFile>, JsonRejection>,
) -> Result<Json<Renamed>, ApiError> {
    let Json(request) = request?;
    let (from, to) = (HomePath::parse(&request.from)?, HomePath::parse(&request.to)?);
    let expect = expectation(&headers)?;
    let (home, saves, libraries) = parts(&app);
    let renamed = blocking(move || {
        let bytes = home.read_bytes(&from)?;
        let etag = etag(&bytes);
        if home.trusts(&from, &bytes) {
            home.trust(&to, &bytes, TrustedBy::Editor)?;
        }
        saves.note(&to, &etag, ChangedBy::Editor);
        saves.note(&from, "", ChangedBy::Editor);
        home.rename_text(&from, &to, &expect)?;
        follow(&libraries, &[&from, &to]);
        Ok(Renamed { path: to.to_string(), etag })
    })
    .await?;
    Ok(Json(renamed))
}

/// Moves a file to `storage/trash/`, which keeps the last 200.
#[utoipa::path(delete, path = "/api/files", tag = "files", params(FileQuery, ("If-Match" = Option<String>, Header)),
    responses((status = 200, body = TrashedFile), (status = 404, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn delete(
    State(app): State<App>,
    headers: HeaderMap,
    Query(query): Query<FileQuery>,
) -> Result<Json<TrashedFile>, ApiError> {
    let path = HomePath::parse(&query.path)?;
    let expect = expectation(&headers)?;
    let (home, saves, libraries) = parts(&app);
    let trashed = blocking(move || {
        saves.note(&path, "", ChangedBy::Editor);
        let trash = home.trash_text(&path, &expect)?;
        follow(&libraries, &[&path]);
        Ok(TrashedFile { path: path.to_string(), trash })
    })
    .await?;
    Ok(Json(trashed))
}

/// Brings a deleted file back to where it was; 409 `exists` when there is another by now.
#[utoipa::path(post, path = "/api/files/restore", tag = "files", request_body = RestoreFile,
    responses((status = 200, body = Renamed), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn restore(
    State(app): State<App>,
    request: Result<Json<RestoreFile>, JsonRejection>,
) -> Result<Json<Renamed>, ApiError> {
    let Json(request) = request?;
    let (home, saves, libraries) = parts(&app);
    let restored = blocking(move || {
        let path = home.restore_text(&request.trash)?;
        let etag = home.hash(&path)?;
        saves.note(&path, &etag, ChangedBy::Editor);
        follow(&libraries, &[&path]);
        Ok(Renamed { path: path.to_string(), etag })
    })
    .await?;
    Ok(Json(restored))
}

type Parts = (Home, Arc<Saves>, [Arc<Library>; 2]);

fn parts(app: &App) -> Parts {
    let services = app.engine.services();
    (services.home.clone(), app.saves.clone(), [services.memory.clone(), services.knowledge.clone()])
}

/// The next search finds what was moved.
fn follow(libraries: &[Arc<Library>], paths: &[&HomePath]) {
    for library in libraries {
        if paths.iter().any(|path| path.root() == library.folder()) {
            library.follow_if_open();
        }
    }
}
