//! Which versions of the skills' files a person has trusted.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::api::app::App;
use crate::api::chat::approvals::is_the_page;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::files::file::FileQuery;
use crate::domain::HomePath;
use crate::engine::blocking;
use crate::engine::documents::FileVersion;
use crate::store::{PINNED, TrustedBy, etag, is_too_deep};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Trust {
    path: String,
    /// Of the file as it is now.
    etag: String,
    /// Whether this version of it is trusted.
    trusted: bool,
    /// The version that was trusted last.
    last: Option<TrustedLast>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrustedLast {
    /// Unix seconds.
    at: f64,
    by: TrustedBy,
    /// Absent where it was not kept.
    text: Option<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustVersion {
    path: String,
    /// Of the version that the person has looked at.
    etag: String,
}

/// Whether a file of a skill is trusted as it is now, and what was trusted before.
#[utoipa::path(get, path = "/api/skills/trust", tag = "files", params(FileQuery),
    responses((status = 200, body = Trust), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn trust_of(State(app): State<App>, Query(query): Query<FileQuery>) -> Result<Json<Trust>, ApiError> {
    let path = pinned(&query.path)?;
    let home = app.engine.services().home.clone();
    let trust = blocking(move || {
        let bytes = home.read_bytes(&path)?;
        let last = home.trusted_last(&path);
        let last = last.map(|(version, text)| TrustedLast { at: version.at, by: version.by, text });
        Ok(Trust { etag: etag(&bytes), trusted: home.trusts(&path, &bytes), path: path.to_string(), last })
    })
    .await?;
    Ok(Json(trust))
}

/// Trusts exactly this version of a file in skills/. Only with the secret that the page was given; 412 when the file is
/// another by now.
#[utoipa::path(post, path = "/api/skills/trust", tag = "files", request_body = TrustVersion,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Trust), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn trust(
    State(app): State<App>,
    headers: HeaderMap,
    request: Result<Json<TrustVersion>, JsonRejection>,
) -> Result<Json<Trust>, ApiError> {
    is_the_page(&app, &headers)?;
    let Json(TrustVersion { path, etag: seen }) = request?;
    let path = pinned(&path)?;
    let trusted = path.to_string();
    app.engine.services().documents.trust(FileVersion { path, etag: seen }).await?;
    trust_of(State(app), Query(FileQuery { path: trusted })).await
}

fn pinned(path: &str) -> Result<HomePath, ApiError> {
    let path = HomePath::parse(path)?;
    match path.root() == PINNED && path.parent().is_some() {
        true if is_too_deep(&path) => {
            let message = "this file lies deeper than the 12 folders that are looked at; move it up to trust it";
            Err(ApiError::bad_request("too_deep", message))
        }
        true => Ok(path),
        false => Err(ApiError::bad_request("not_pinned", "only files in skills/ are trusted version by version")),
    }
}
