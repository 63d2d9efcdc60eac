//! The files that a person edits: read, save and list them.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, header};
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Place, Root};
use crate::engine::blocking;
use crate::engine::documents::{FileVersion, SavedText};
use crate::store::{self, Expect, Home, StoreError};
use crate::tokens::Counter;

#[derive(Deserialize, utoipa::IntoParams)]
pub struct FileQuery {
    /// Path relative to the home, e.g. `memory/MEMORY.md`.
    pub(in crate::api) path: String,
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct ListQuery {
    /// The root to list: `memory`, `workspace`, `skills` or `knowledge`.
    root: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileContent {
    path: String,
    content: String,
    /// Hash of the content. Send it in `If-Match` when you save the file.
    etag: String,
    /// Size in bytes.
    size: usize,
    tokens: usize,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct SaveFile {
    path: String,
    content: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Saved {
    path: String,
    etag: String,
    size: usize,
    tokens: usize,
    saved: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileEntry {
    path: String,
    /// Size in bytes.
    size: u64,
    /// Time of the last change, in Unix seconds.
    modified: f64,
    /// Token count; null if the file is not text or was not read.
    pub(super) tokens: Option<usize>,
    etag: Option<String>,
    /// Why the file cannot be shown or edited, in English; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The error code that reading the file would return; absent without `problem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem_code: Option<&'static str>,
}

impl FileEntry {
    pub(super) fn unread(file: &store::FileEntry) -> Self {
        let path = file.path.to_string();
        let (size, modified) = (file.size, file.modified);
        Self { path, size, modified, tokens: None, etag: None, problem: None, problem_code: None }
    }

    pub(super) fn read(home: &Home, tokens: &Counter, file: &store::FileEntry) -> Self {
        match home.read_text(&file.path) {
            Ok(text) => {
                let tokens = Some(tokens.count_cached(&text.content));
                Self { tokens, etag: Some(text.etag), ..Self::unread(file) }
            }
            Err(error) => {
                let problem = match &error {
                    StoreError::NotText { .. } => "not UTF-8 text".to_owned(),
                    other => other.to_string(),
                };
                let code = ApiError::from(error).code;
                Self { problem: Some(problem), problem_code: Some(code), ..Self::unread(file) }
            }
        }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileList {
    root: String,
    files: Vec<FileEntry>,
}

/// Reads a text file under workspace/, memory/, skills/ or knowledge/, or SKILLS_SNAPSHOT.md.
#[utoipa::path(get, path = "/api/files", tag = "files", params(FileQuery),
    responses((status = 200, body = FileContent), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 415, description = "not UTF-8", body = ErrorBody)))]
pub async fn read(caller: Caller, Query(query): Query<FileQuery>) -> Result<Json<FileContent>, ApiError> {
    let path = Place::parse(&query.path)?;
    let tenant = caller.tenant();
    let (home, tokens) = (tenant.home.clone(), tenant.runtime.tokens.clone());
    let content = blocking(move || {
        let file = home.read_text(&path)?;
        let tokens = tokens.count_cached(&file.content);
        Ok(FileContent {
            path: path.to_string(),
            size: file.content.len(),
            tokens,
            etag: file.etag,
            content: file.content,
        })
    })
    .await?;
    Ok(Json(content))
}

/// Saves a text file.
///
/// With `If-Match` and the hash that was read, a file that was changed in the meantime is not overwritten (412); with
/// `If-None-Match: *`, only a new file is written. A file saved in skills/, or an AGENTS.md of a project, becomes trusted if the
/// page saves it, with its secret.
#[utoipa::path(post, path = "/api/files", tag = "files", request_body = SaveFile,
    params(("If-Match" = Option<String>, Header), ("If-None-Match" = Option<String>, Header),
           ("X-Miniclaw-Secret" = Option<String>, Header)),
    responses((status = 200, body = Saved), (status = 403, description = "no_secret: the secret is not the page's", body = ErrorBody), (status = 412, description = "changed on disk", body = ErrorBody)))]
pub async fn save(
    caller: Caller,
    headers: HeaderMap,
    request: Result<JsonBody<SaveFile>, JsonRejection>,
) -> Result<Json<Saved>, ApiError> {
    let JsonBody(request) = request?;
    let path = Place::parse(&request.path)?;
    let expect = expectation(&headers)?;
    let tenant = caller.tenant();
    let text: std::sync::Arc<str> = request.content.into();
    let saved = SavedText { text: text.clone(), expect, by: caller.saves_as()? };
    let FileVersion { path, etag } = tenant.documents.save(&path, saved).await?;
    let (tokens, size) = (tenant.runtime.tokens.clone(), text.len());
    let tokens = blocking(move || Ok(tokens.count_cached(&text))).await?;
    Ok(Json(Saved { path: path.to_string(), etag, size, tokens, saved: true }))
}

/// Lists all files under one of the four roots, with their token counts.
///
/// Every file is read. Use `/api/files/folder` for one folder and `/api/files/find` to search by name.
#[utoipa::path(get, path = "/api/files/list", tag = "files", params(ListQuery),
    responses((status = 200, body = FileList), (status = 400, body = ErrorBody)))]
pub async fn list(caller: Caller, Query(query): Query<ListQuery>) -> Result<Json<FileList>, ApiError> {
    let root = parse_root(&query.root)?;
    let tenant = caller.tenant();
    let (home, tokens) = (tenant.home.clone(), tenant.runtime.tokens.clone());
    let list = blocking(move || {
        let files = home.list(&root)?;
        let files = files.iter().map(|file| FileEntry::read(&home, &tokens, file)).collect();
        Ok(FileList { root: root.to_string(), files })
    })
    .await?;
    Ok(Json(list))
}

pub(super) fn parse_root(name: &str) -> Result<Root, ApiError> {
    Root::parse(name).filter(|root| root.folder().is_some()).ok_or_else(|| {
        let known = Root::HOME.map(|root| root.to_string()).join(", ");
        ApiError::bad_request("bad_root", format!("root must be one of {known}"))
    })
}

pub(in crate::api) fn expectation(headers: &HeaderMap) -> Result<Expect, ApiError> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (None, None) => Ok(Expect::Anything),
        (Some(etag), None) if !etag.is_empty() && etag != "*" => Ok(Expect::Etag(etag.trim_matches('"').to_owned())),
        (None, Some("*")) => Ok(Expect::Absent),
        _ => Err(ApiError::bad_request("bad_precondition", "send If-Match: \"etag\", or If-None-Match: *, or neither")),
    }
}
