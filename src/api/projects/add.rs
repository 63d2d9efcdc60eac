//! Uploading files into a project.

use axum::Json;
use axum::extract::{Path, Query, Request};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::files::{place_in, project_root};
use super::form::{Form, FormField, bad_form, path_of};
use super::upload::WAITING;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::files::file::expectation;
use crate::api::security::caller::Caller;
use crate::domain::{Place, RelPath};
use crate::store::{Expect, StagedFile, StoreError};

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AddQuery {
    /// The folder of the project, relative to its root, that the files go into; the root itself if absent.
    #[serde(default)]
    path: String,
}

/// The form of files for a project. It is only described here: the server reads it as a stream.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "it describes a form")]
pub struct AddedFiles {
    /// The files. The name of each is its path below the folder, with `/`.
    #[schema(value_type = Vec<String>, format = Binary)]
    files: Vec<u8>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AddedFile {
    /// Relative to the project's root.
    path: String,
    /// Hash of the content, for `If-Match`.
    etag: String,
    /// The name under which `POST /api/files/restore` restores what the file replaced; absent if there was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    trash: Option<String>,
}

/// Uploads files of any kind into a folder of a project, at most 1 GiB each.
///
/// Each file is written whole or not at all. What it replaces goes to the trash. With `If-None-Match: *`, no file is replaced (412);
/// with `If-Match` and the hash that was read, only that version is, of one file. If the request ends with an error, the files
/// before stay.
#[utoipa::path(post, path = "/api/projects/{id}/files", tag = "projects", operation_id = "add_project_files",
    params(("id" = String, Path), AddQuery, ("If-Match" = Option<String>, Header), ("If-None-Match" = Option<String>, Header)),
    request_body(content = AddedFiles, content_type = "multipart/form-data"),
    responses((status = 200, body = Enveloped<Vec<AddedFile>>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_form, bad_path", body = EnvelopedError),
              (status = 403, description = "not_allowed: a folder or a link has the path of a file", body = EnvelopedError),
              (status = 412, description = "changed_on_disk", body = EnvelopedError),
              (status = 413, description = "too_large", body = EnvelopedError),
              (status = 507, description = "disk_full", body = EnvelopedError)))]
pub async fn add(
    caller: Caller,
    Path(id): Path<String>,
    Query(AddQuery { path }): Query<AddQuery>,
    request: Request,
) -> Result<Json<Enveloped<Vec<AddedFile>>>, ApiError> {
    let folder = place_in(&project_root(&caller, &id)?, &path, Place::parse_folder)?;
    // Before anything arrives that would be refused.
    caller.tenant().home.require_writable(folder.root())?;
    let expect = expectation(request.headers())?;
    let _slot = caller.engine.upload_slot()?;
    let mut form = Form::of(request).await?;
    let mut added = Vec::new();
    while let Some(field) = form.next_field().await? {
        let Some(name) = field.inner.file_name() else { continue };
        let place = place_in(folder.root(), &below(&folder, &path_of(name)?), Place::parse)?;
        if matches!(expect, Expect::Etag(_)) && !added.is_empty() {
            return Err(bad_form("If-Match is for one file"));
        }
        let staged = stage(&caller, field).await?;
        let etag = staged.etag();
        let trash = caller.tenant().documents.add_file(&place, staged, expect.clone()).await?;
        added.push(AddedFile { path: place.path().to_owned(), etag, trash });
    }
    Ok(enveloped(added))
}

fn below(folder: &Place, path: &RelPath) -> String {
    match folder.path() {
        "" => path.to_string(),
        folder => format!("{folder}/{path}"),
    }
}

/// Writes a field apart, in a thread of its own.
async fn stage(caller: &Caller, mut field: FormField<'_>) -> Result<StagedFile, ApiError> {
    let home = caller.tenant().home.clone();
    let (pieces, mut arriving) = mpsc::channel::<axum::body::Bytes>(WAITING);
    let writer = tokio::task::spawn_blocking(move || {
        let mut staged = home.stage()?;
        while let Some(bytes) = arriving.blocking_recv() {
            staged.add(&bytes)?;
        }
        Ok::<StagedFile, StoreError>(staged)
    });
    let mut received = Ok(());
    loop {
        match field.chunk().await {
            // The writer has stopped, and tells why.
            Ok(Some(bytes)) => {
                if pieces.send(bytes).await.is_err() {
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => {
                received = Err(error);
                break;
            }
        }
    }
    drop(pieces);
    let staged = writer.await.map_err(|_| StoreError::ShutDown)??;
    received.map(|()| staged)
}
