//! Shows which versions of the skills' files a person has trusted, and trusts one.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::files::file::FileQuery;
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::engine::blocking;
use crate::engine::documents::FileVersion;
use crate::store::{TrustedBy, etag, is_too_deep};

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrustStatus {
    path: String,
    /// Hash of the file's current content.
    etag: String,
    /// Whether the current version is trusted.
    trusted: bool,
    /// The version that was trusted last; null if none was.
    last: Option<TrustedLast>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrustedLast {
    /// When it was trusted, in Unix seconds.
    at: f64,
    by: TrustedBy,
    /// Its text; null if it was not kept.
    text: Option<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustVersion {
    path: String,
    /// Hash of the version that the person has looked at.
    etag: String,
}

/// Returns whether the current version of a file of a skill, or of a project's AGENTS.md, is trusted, and which version was trusted last.
#[utoipa::path(get, path = "/api/skills/trust", tag = "files", params(FileQuery),
    responses((status = 200, body = TrustStatus), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn trust_of(caller: Caller, Query(query): Query<FileQuery>) -> Result<Json<TrustStatus>, ApiError> {
    let path = pinned(&query.path)?;
    let home = caller.tenant().home.clone();
    let trust = blocking(move || {
        let bytes = home.read_bytes(&path)?;
        let last = home.trusted_last(&path);
        let last = last.map(|(version, text)| TrustedLast { at: version.at, by: version.by, text });
        Ok(TrustStatus { etag: etag(&bytes), trusted: home.trusts(&path, &bytes), path: path.to_string(), last })
    })
    .await?;
    Ok(Json(trust))
}

/// Trusts exactly this version of a file of a skill, or of an AGENTS.md or CLAUDE.md of a project.
///
/// Requires the page's secret. Returns 412 if the file has changed in the meantime.
#[utoipa::path(post, path = "/api/skills/trust", tag = "files", request_body = TrustVersion,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = TrustStatus), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn trust(
    caller: Caller,
    request: Result<JsonBody<TrustVersion>, JsonRejection>,
) -> Result<Json<TrustStatus>, ApiError> {
    caller.require_page()?;
    let JsonBody(TrustVersion { path, etag: seen }) = request?;
    let path = pinned(&path)?;
    let trusted = path.to_string();
    caller.tenant().documents.trust(FileVersion { path, etag: seen }).await?;
    trust_of(caller, Query(FileQuery { path: trusted })).await
}

fn pinned(path: &str) -> Result<Place, ApiError> {
    let path = Place::parse(path)?;
    match path.is_pinned() {
        true if is_too_deep(&path) => {
            let message = "this file lies deeper than the 12 folders that are looked at; move it up to trust it";
            Err(ApiError::bad_request("too_deep", message))
        }
        true => Ok(path),
        false => Err(ApiError::bad_request(
            "not_pinned",
            "only files of skills, and AGENTS.md and CLAUDE.md of projects, are trusted version by version",
        )),
    }
}
