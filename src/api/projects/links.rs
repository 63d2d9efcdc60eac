//! The links of notes to files that were renamed: counted, updated when a person asks for it, and restored.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use super::files::{place_in, project_root};
use super::notes::library_of;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{Place, Root};
use crate::engine::blocking;
use crate::engine::documents::FileVersion;
use crate::engine::note_links::{
    MAX_FILES, Renamed, StaleLinks, UpdatedLink, UpdatedNote, restore_links, stale_links, update_links,
};

/// A file or folder that was renamed or is going to be. Paths are relative to the project's root.
#[derive(Deserialize, utoipa::IntoParams, utoipa::ToSchema)]
#[into_params(parameter_in = Query)]
pub struct RenamedPath {
    /// The former path.
    path: String,
    new_path: String,
}

/// The links in notes that mean a renamed file by its former path.
#[derive(Serialize, utoipa::ToSchema)]
pub struct FormerLinks {
    count: usize,
    /// Number of notes that have them.
    files: usize,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct UpdatedNoteLink {
    /// Byte at which it begins in the new text.
    at: usize,
    now: String,
    was: String,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct UpdatedNoteFile {
    /// Relative to the project's root.
    path: String,
    /// Hash of the new content.
    etag: String,
    links: Vec<UpdatedNoteLink>,
}

/// The notes whose links were updated. Sent back, they restore them.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct UpdatedNoteFiles {
    files: Vec<UpdatedNoteFile>,
    /// There are more than 2,000 such notes; the same request updates the next ones.
    #[serde(default)]
    more: bool,
}

/// Counts the links in notes that mean a file by the path that it had before it was renamed, or that would after it.
#[utoipa::path(get, path = "/api/projects/{id}/links", tag = "projects", operation_id = "count_former_links",
    params(("id" = String, Path), RenamedPath),
    responses((status = 200, body = Enveloped<FormerLinks>), (status = 404, body = EnvelopedError)))]
pub async fn count(
    caller: Caller,
    Path(id): Path<String>,
    Query(paths): Query<RenamedPath>,
) -> Result<Json<Enveloped<FormerLinks>>, ApiError> {
    let renamed = renamed(&project_root(&caller, &id)?, &paths)?;
    Ok(enveloped(former_links(&caller, &id, renamed).await?))
}

/// Updates the links in notes to a file or folder that was renamed, in at most 2,000 notes at once: in all of them or in none.
///
/// Aliases, headings and the form of a link stay as they are; code and comments are left alone.
#[utoipa::path(post, path = "/api/projects/{id}/links", tag = "projects", operation_id = "update_links",
    params(("id" = String, Path)), request_body = RenamedPath,
    responses((status = 200, body = Enveloped<UpdatedNoteFiles>),
              (status = 404, description = "not_found: nothing has the new path", body = EnvelopedError),
              (status = 403, description = "read_only", body = EnvelopedError),
              (status = 412, description = "changed_on_disk: a note is being changed; nothing was written", body = EnvelopedError)))]
pub async fn update(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<RenamedPath>, JsonRejection>,
) -> Result<Json<Enveloped<UpdatedNoteFiles>>, ApiError> {
    let root = project_root(&caller, &id)?;
    let home = caller.tenant().home.clone();
    home.require_writable(&root)?;
    let JsonBody(paths) = request?;
    let renamed = renamed(&root, &paths)?;
    let library = library_of(&caller, &id)?;
    let (at, store) = (renamed.to.clone(), home.clone());
    let notes = blocking(move || {
        if store.has_entry(&at) {
            return library.vault.notes();
        }
        Err(crate::store::StoreError::NotFound { what: at.to_string() })
    })
    .await?;
    let updated = update_links(&caller.tenant().documents, home, notes, renamed).await?;
    let files = updated.notes.into_iter().map(file).collect();
    Ok(enveloped(UpdatedNoteFiles { files, more: updated.more }))
}

/// Restores links that were updated, in all of these notes or in none.
#[utoipa::path(post, path = "/api/projects/{id}/links/undo", tag = "projects", operation_id = "undo_links",
    params(("id" = String, Path)), request_body = UpdatedNoteFiles,
    responses((status = 200, body = Enveloped<UpdatedNoteFiles>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_request: more than 2,000 files", body = EnvelopedError),
              (status = 403, description = "read_only", body = EnvelopedError),
              (status = 412, description = "changed_on_disk: a note has changed since; nothing was written", body = EnvelopedError)))]
pub async fn undo(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<UpdatedNoteFiles>, JsonRejection>,
) -> Result<Json<Enveloped<UpdatedNoteFiles>>, ApiError> {
    let root = project_root(&caller, &id)?;
    let home = caller.tenant().home.clone();
    home.require_writable(&root)?;
    let JsonBody(UpdatedNoteFiles { files, .. }) = request?;
    if files.len() > MAX_FILES {
        return Err(ApiError::bad_request("bad_request", format!("files has at most {MAX_FILES} entries")));
    }
    let note = |UpdatedNoteFile { path, etag, links }: UpdatedNoteFile| {
        let link = |UpdatedNoteLink { at, now, was }| UpdatedLink { at, now, was };
        let place = place_in(&root, &path, Place::parse)?;
        Ok(UpdatedNote { place, etag, links: links.into_iter().map(link).collect() })
    };
    let notes = files.into_iter().map(note).collect::<Result<Vec<_>, ApiError>>()?;
    let restored = restore_links(&caller.tenant().documents, home, notes).await?;
    let file = |FileVersion { path, etag }: FileVersion| UpdatedNoteFile {
        path: path.path().to_owned(),
        etag,
        links: Vec::new(),
    };
    Ok(enveloped(UpdatedNoteFiles { files: restored.into_iter().map(file).collect(), more: false }))
}

/// Counts the links that a renaming leaves without their file.
pub(super) async fn former_links(caller: &Caller, id: &str, renamed: Renamed) -> Result<FormerLinks, ApiError> {
    let library = library_of(caller, id)?;
    let StaleLinks { count, files } =
        blocking(move || Ok(stale_links(library.vault.notes()?.as_ref(), &renamed))).await?;
    Ok(FormerLinks { count, files })
}

fn renamed(root: &Root, RenamedPath { path, new_path }: &RenamedPath) -> Result<Renamed, ApiError> {
    Ok(Renamed { from: place_in(root, path, Place::parse)?, to: place_in(root, new_path, Place::parse)? })
}

fn file(UpdatedNote { place, etag, links }: UpdatedNote) -> UpdatedNoteFile {
    let link = |UpdatedLink { at, now, was }| UpdatedNoteLink { at, now, was };
    UpdatedNoteFile { path: place.path().to_owned(), etag, links: links.into_iter().map(link).collect() }
}
