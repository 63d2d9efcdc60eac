//! The files of a project: list, write, rename, delete, and make folders.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::links::{FormerLinks, former_links};
use crate::api::body::JsonBody;
use crate::api::conversations::conversation::project_id;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::files::file::expectation;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::path::BadPath;
use crate::domain::{Place, ProjectId, RelPath, Root};
use crate::engine::documents::{FileVersion, SavedText};
use crate::engine::note_links::Renamed;
use crate::engine::{EngineError, blocking};
use crate::store::{ListedAt, ListedEntry, ListedKind};

/// Maximum number of entries of a page.
const MAX_LIMIT: usize = 10_000;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FolderQuery {
    /// A folder of the project, relative to its root; the root itself if absent.
    #[serde(default)]
    path: String,
    /// 1 to 10,000 entries, which is the default.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectEntryType {
    Folder,
    File,
    Link,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectEntry {
    name: String,
    /// Relative to the project's root.
    path: String,
    #[serde(rename = "type")]
    #[schema(inline)]
    kind: ProjectEntryType,
    /// In bytes; 0 for folders.
    size: u64,
    /// RFC 3339, UTC.
    modified_at: String,
    /// A `.gitignore` leaves it out, or it belongs to git.
    ignored: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectFolder {
    #[schema(value_type = String)]
    project_id: ProjectId,
    /// Relative to the project's root; empty for the root.
    path: String,
    /// Folders first, each sorted by name, with numbers by their values.
    items: Vec<ProjectEntry>,
    /// `null` on the last page.
    next_cursor: Option<String>,
    has_more: bool,
    /// Number of entries after this page, and of those with names that no path can have.
    left_out: usize,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct WrittenContent {
    content: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewPath {
    /// Relative to the project's root.
    new_path: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewFolder {
    /// Relative to the project's root. The folders above it are made too.
    path: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectFile {
    /// Relative to the project's root.
    path: String,
    /// Hash of the content, for `If-Match`; absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RenamedEntry {
    /// Relative to the project's root.
    path: String,
    /// Hash of the content, for `If-Match`; absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// Links in notes that mean it by its former path; absent if they could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<FormerLinks>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedEntry {
    /// Relative to the project's root.
    path: String,
    /// The name under which `POST /api/files/restore` restores it.
    trash: String,
}

/// Lists one folder of a project page by page, with hidden and ignored entries.
#[utoipa::path(get, path = "/api/projects/{id}/files", tag = "projects", operation_id = "list_project_folder",
    params(("id" = String, Path), FolderQuery),
    responses((status = 200, body = Enveloped<ProjectFolder>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_cursor, bad_limit", body = EnvelopedError),
              (status = 403, description = "not_allowed: it is not a folder, or leads out of the project", body = EnvelopedError)))]
pub async fn list(
    caller: Caller,
    Path(id): Path<String>,
    Query(FolderQuery { path, limit, cursor }): Query<FolderQuery>,
) -> Result<Json<Enveloped<ProjectFolder>>, ApiError> {
    let root = project_root(&caller, &id)?;
    let folder = place_in(&root, &path, Place::parse_folder)?;
    let limit = limit.unwrap_or(MAX_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_LIMIT}")));
    }
    let no_cursor = || ApiError::bad_request("bad_cursor", "send next_cursor of the page before, or none");
    let after = cursor.map(|cursor| ListedAt::parse(&cursor).ok_or_else(no_cursor)).transpose()?;
    let (home, listed) = (caller.tenant().home.clone(), folder.clone());
    let listing = blocking(move || home.list_project_folder(&listed, after.as_ref(), limit)).await?;
    let next_cursor = listing.next.map(|next| next.to_string());
    Ok(enveloped(ProjectFolder {
        project_id: project_id(&id)?,
        path: folder.path().to_owned(),
        items: listing.entries.into_iter().map(entry).collect(),
        has_more: next_cursor.is_some(),
        next_cursor,
        left_out: listing.left_out,
    }))
}

/// Creates or replaces a text file of a project.
///
/// With `If-Match` and the hash that was read, a file that was changed in the meantime is not overwritten (412); with
/// `If-None-Match: *`, only a new file is written.
#[utoipa::path(put, path = "/api/projects/{id}/files/{*filepath}", tag = "projects", operation_id = "write_project_file",
    params(("id" = String, Path), ("filepath" = String, Path), ("If-Match" = Option<String>, Header),
           ("If-None-Match" = Option<String>, Header)),
    request_body = WrittenContent,
    responses((status = 200, body = Enveloped<ProjectFile>), (status = 404, body = EnvelopedError),
              (status = 412, description = "changed_on_disk", body = EnvelopedError),
              (status = 413, description = "too_large: more than 10 MiB", body = EnvelopedError)))]
pub async fn write(
    caller: Caller,
    Path((id, filepath)): Path<(String, String)>,
    headers: HeaderMap,
    request: Result<JsonBody<WrittenContent>, JsonRejection>,
) -> Result<Json<Enveloped<ProjectFile>>, ApiError> {
    let file = file(&caller, &id, &filepath)?;
    let JsonBody(WrittenContent { content }) = request?;
    let expect = expectation(&headers)?;
    let saved = SavedText { text: content.into(), expect, by: caller.saves_as()? };
    let FileVersion { path, etag } = caller.tenant().documents.save(&file, saved).await?;
    Ok(enveloped(ProjectFile { path: path.path().to_owned(), etag: Some(etag) }))
}

/// Renames or moves a file or folder of a project. Nothing is overwritten. Links to it in notes stay as they are, until
/// `POST …/links` is asked to update them.
#[utoipa::path(patch, path = "/api/projects/{id}/files/{*filepath}", tag = "projects", operation_id = "rename_project_file",
    params(("id" = String, Path), ("filepath" = String, Path), ("If-Match" = Option<String>, Header)),
    request_body = NewPath,
    responses((status = 200, body = Enveloped<RenamedEntry>), (status = 404, body = EnvelopedError),
              (status = 409, description = "exists", body = EnvelopedError),
              (status = 412, description = "changed_on_disk", body = EnvelopedError)))]
pub async fn rename(
    caller: Caller,
    Path((id, filepath)): Path<(String, String)>,
    headers: HeaderMap,
    request: Result<JsonBody<NewPath>, JsonRejection>,
) -> Result<Json<Enveloped<RenamedEntry>>, ApiError> {
    let from = file(&caller, &id, &filepath)?;
    let JsonBody(NewPath { new_path }) = request?;
    let to = place_below(from.root(), &new_path)?;
    let documents = &caller.tenant().documents;
    let etag = match is_folder(&caller, &from).await? {
        true => documents.rename_folder(&from, &to).await.map(|()| None)?,
        false => Some(documents.rename(&from, &to, expectation(&headers)?).await?.etag),
    };
    let path = to.path().to_owned();
    // The file has been renamed, even if its links cannot be counted.
    let links = former_links(&caller, &id, Renamed { from, to }).await.ok();
    Ok(enveloped(RenamedEntry { path, etag, links }))
}

/// Moves a file or folder of a project to the trash, which keeps the last 200 deletions.
#[utoipa::path(delete, path = "/api/projects/{id}/files/{*filepath}", tag = "projects", operation_id = "delete_project_file",
    params(("id" = String, Path), ("filepath" = String, Path), ("If-Match" = Option<String>, Header)),
    responses((status = 200, body = Enveloped<DeletedEntry>), (status = 404, body = EnvelopedError),
              (status = 412, description = "changed_on_disk", body = EnvelopedError)))]
pub async fn delete(
    caller: Caller,
    Path((id, filepath)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Enveloped<DeletedEntry>>, ApiError> {
    let place = file(&caller, &id, &filepath)?;
    let documents = &caller.tenant().documents;
    let trash = match is_folder(&caller, &place).await? {
        true => documents.delete_folder(&place).await?,
        false => documents.delete(&place, expectation(&headers)?).await?,
    };
    Ok(enveloped(DeletedEntry { path: place.path().to_owned(), trash }))
}

/// Makes a folder in a project. One that exists is left as it is.
#[utoipa::path(post, path = "/api/projects/{id}/directories", tag = "projects", operation_id = "make_project_folder",
    params(("id" = String, Path)), request_body = NewFolder,
    responses((status = 200, body = Enveloped<ProjectFile>), (status = 404, body = EnvelopedError),
              (status = 403, description = "not_allowed: it would lead out of the project", body = EnvelopedError)))]
pub async fn make_folder(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<NewFolder>, JsonRejection>,
) -> Result<Json<Enveloped<ProjectFile>>, ApiError> {
    let root = project_root(&caller, &id)?;
    let JsonBody(NewFolder { path }) = request?;
    let folder = place_below(&root, &path)?;
    caller.tenant().documents.make_folder(&folder).await?;
    Ok(enveloped(ProjectFile { path: folder.path().to_owned(), etag: None }))
}

/// Returns the root of a project of the caller's home.
///
/// # Errors
/// Returns `not_found` if the home does not have it.
pub(super) fn project_root(caller: &Caller, id: &str) -> Result<Root, ApiError> {
    let id = project_id(id)?;
    let root = Root::Project(id.clone());
    if caller.tenant().home.has_root(&root) { Ok(root) } else { Err(EngineError::NoProject(id).into()) }
}

/// Returns the place of a path in the project; the root itself for an empty one, if `parse` accepts it.
pub(super) fn place_in(root: &Root, path: &str, parse: fn(&str) -> Result<Place, BadPath>) -> Result<Place, ApiError> {
    let path = path.trim_end_matches('/');
    if matches!(path, "" | ".") {
        return Ok(parse(&root.to_string())?);
    }
    // Parsed by itself first, so that an error speaks of the path in the request.
    let below = RelPath::parse(path)?;
    Ok(parse(&format!("{root}/{below}"))?)
}

/// Returns the file or folder that the path of a request names.
pub(in crate::api) fn file(caller: &Caller, id: &str, filepath: &str) -> Result<Place, ApiError> {
    place_below(&project_root(caller, id)?, filepath)
}

/// Returns the place of a path in the project.
///
/// # Errors
/// Returns `bad_path` if it is empty: the project's folder is neither written, moved nor deleted this way.
fn place_below(root: &Root, path: &str) -> Result<Place, ApiError> {
    if matches!(path.trim_end_matches('/'), "" | ".") {
        return Err(ApiError::bad_request("bad_path", "the path is empty; name a file or folder of the project"));
    }
    place_in(root, path, Place::parse)
}

async fn is_folder(caller: &Caller, place: &Place) -> Result<bool, ApiError> {
    let (home, place) = (caller.tenant().home.clone(), place.clone());
    Ok(blocking(move || Ok(home.is_folder(&place))).await?)
}

fn entry(ListedEntry { place, kind, size, modified, is_ignored }: ListedEntry) -> ProjectEntry {
    ProjectEntry {
        name: place.file_name().to_owned(),
        path: place.path().to_owned(),
        kind: match kind {
            ListedKind::Folder => ProjectEntryType::Folder,
            ListedKind::File => ProjectEntryType::File,
            ListedKind::Link => ProjectEntryType::Link,
        },
        size,
        modified_at: clock::rfc3339(modified),
        ignored: is_ignored,
    }
}
