//! Searching the texts of a project.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use super::files::{place_in, project_root};
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::engine::blocking;
use crate::engine::project_search::{FoundLine, LineSearch, search_lines};

/// Maximum bytes of a query.
const MAX_QUERY: usize = 1_000;
/// Maximum number of lines that are found.
const MAX_RESULTS: usize = 1_000;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct TextSearch {
    /// The text to find, not a pattern.
    query: String,
    /// A folder or file of the project, relative to its root; the whole project if absent.
    #[serde(default)]
    path: String,
    /// 1 to 1,000 lines; 50 if absent.
    #[serde(default)]
    max_results: Option<usize>,
    #[serde(default)]
    case_sensitive: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundProjectLine {
    /// Relative to the project's root.
    path: String,
    /// From 1.
    line: u64,
    /// The first 300 characters of the line.
    text: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundInProject {
    query: String,
    /// In the order of their paths.
    results: Vec<FoundProjectLine>,
    /// Number of files that were searched.
    files_searched: usize,
    /// There may be more lines than `max_results`, or the search took more than 10 s.
    more: bool,
}

/// Searches the text files of a project for a text. Files that a `.gitignore` leaves out, binary files, and files of more
/// than 10 MiB are not searched.
#[utoipa::path(post, path = "/api/projects/{id}/search", tag = "projects", operation_id = "search_project",
    params(("id" = String, Path)), request_body = TextSearch,
    responses((status = 200, body = Enveloped<FoundInProject>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_request: no query; bad_limit", body = EnvelopedError)))]
pub async fn search(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<TextSearch>, JsonRejection>,
) -> Result<Json<Enveloped<FoundInProject>>, ApiError> {
    let root = project_root(&caller, &id)?;
    let JsonBody(TextSearch { query, path, max_results, case_sensitive }) = request?;
    let most = max_results.unwrap_or(50);
    if !(1..=MAX_RESULTS).contains(&most) {
        let message = format!("max_results is a number from 1 to {MAX_RESULTS}");
        return Err(ApiError::bad_request("bad_limit", message));
    }
    if query.is_empty() || query.contains('\n') || query.len() > MAX_QUERY {
        let message = "query is a text of 1 to 1,000 bytes without line breaks";
        return Err(ApiError::bad_request("bad_request", message));
    }
    let place = place_in(&root, &path, Place::parse_folder)?;
    let (home, wanted) = (caller.tenant().home.clone(), query.clone());
    let found =
        blocking(move || search_lines(&home, &place, &LineSearch { text: &wanted, case_sensitive, most })).await?;
    let line = |FoundLine { place, number, text }| FoundProjectLine {
        path: Place::path(&place).to_owned(),
        line: number,
        text,
    };
    let results = found.lines.into_iter().map(line).collect();
    Ok(enveloped(FoundInProject { query, results, files_searched: found.searched, more: found.more }))
}
