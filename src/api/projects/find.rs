//! Finding files of a project by their names.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use super::files::project_root;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::engine::blocking;
use crate::engine::project_find::find_names;

/// Maximum bytes of a query.
const MAX_QUERY: usize = 1_000;
/// Maximum number of files that are found, and their number if the request does not say how many.
const MAX_FOUND: usize = 200;
const DEFAULT_FOUND: usize = 50;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NameQuery {
    /// Words of the name or path, in any order; case does not count.
    q: String,
    /// 1 to 200 files; 50 if absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundProjectFile {
    name: String,
    /// Relative to the project's root.
    path: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundProjectFiles {
    query: String,
    /// Best first: names before paths, short ones before long ones.
    items: Vec<FoundProjectFile>,
    /// There may be more files than `limit`, or there are too many names to read.
    more: bool,
}

/// Finds files of a project by their names. Files that a `.gitignore` leaves out are not found.
///
/// A file matches if its path has every word; behind those come files that have the letters of each word in their order.
#[utoipa::path(get, path = "/api/projects/{id}/find", tag = "projects", operation_id = "find_project_files",
    params(("id" = String, Path), NameQuery),
    responses((status = 200, body = Enveloped<FoundProjectFiles>), (status = 404, body = EnvelopedError),
              (status = 400, description = "empty_query; bad_request: too long; bad_limit", body = EnvelopedError)))]
pub async fn find(
    caller: Caller,
    Path(id): Path<String>,
    Query(NameQuery { q, limit }): Query<NameQuery>,
) -> Result<Json<Enveloped<FoundProjectFiles>>, ApiError> {
    let root = Place::of_root(project_root(&caller, &id)?);
    let limit = limit.unwrap_or(DEFAULT_FOUND);
    if !(1..=MAX_FOUND).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_FOUND}")));
    }
    if q.trim().is_empty() {
        return Err(ApiError::bad_request("empty_query", "q is empty; enter something to search for"));
    }
    if q.len() > MAX_QUERY {
        return Err(ApiError::bad_request("bad_request", "q is a text of 1 to 1,000 bytes"));
    }
    let (home, query) = (caller.tenant().home.clone(), q.clone());
    let found = blocking(move || find_names(&home, &root, &query, limit)).await?;
    let file = |file: &Place| FoundProjectFile { name: file.file_name().to_owned(), path: file.path().to_owned() };
    Ok(enveloped(FoundProjectFiles { query: q, items: found.files.iter().map(file).collect(), more: found.more }))
}
