//! Uploads of folders that go on after an interruption: begun, sent in batches of whole files, then committed as a project.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, Request};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::form::{Form, bad_form, path_of};
use super::project::{Project, shown};
use super::upload::WAITING;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::{self, ProjectName, RelPath};
use crate::engine::blocking;
use crate::store::{ArrivedCount, ArrivingFile, ResumableUpload, StoreError, UploadCommit};

/// Number of files in a page, unless the request says how many, and the maximum.
const DEFAULT_LIMIT: usize = 1_000;
const MAX_LIMIT: usize = 10_000;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewUpload {
    /// For people who go on with the upload; it becomes the name of the project unless another one is said at its end.
    #[serde(default)]
    name: Option<String>,
    /// At most 4,000 characters.
    #[serde(default)]
    description: Option<String>,
}

/// An upload that is not finished.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenUpload {
    id: String,
    name: String,
    description: String,
    /// Number of files that have arrived whole, and their bytes.
    files: u64,
    bytes: u64,
    /// RFC 3339, UTC.
    created_at: String,
    /// When it is discarded unless something arrives before. RFC 3339, UTC.
    expires_at: String,
}

/// An upload that is not finished, with a page of what has arrived.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenUploadFiles {
    #[serde(flatten)]
    upload: OpenUpload,
    arrived: Page<UploadedFile>,
}

/// A file that has arrived whole.
#[derive(Serialize, utoipa::ToSchema)]
pub struct UploadedFile {
    path: String,
    /// In bytes.
    size: u64,
    /// What the request said in `modified`; otherwise when it arrived. Unix milliseconds.
    modified: i64,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ArrivedQuery {
    /// Number of files, at most 10,000.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    /// The path of the last file of the page before.
    cursor: Option<String>,
}

/// The form of a batch. It is only described here: the server reads it as a stream.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "it describes a form")]
pub struct UploadBatch {
    /// When the file that follows was changed last, in Unix milliseconds.
    modified: Option<i64>,
    /// The files. The name of each is its path with `/`, as a browser gives it for the files of a folder.
    #[schema(value_type = Vec<String>, format = Binary)]
    files: Vec<u8>,
}

/// What is to be made of an upload.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct FinishedUpload {
    /// The name of the project; if absent, that of the upload, or of the folder that all files lie in.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// How many files and bytes must have arrived. Nothing is made if it is not exactly that.
    #[serde(default)]
    files: Option<u64>,
    #[serde(default)]
    bytes: Option<u64>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RemovedQuery {
    /// The path of a file that has arrived.
    path: String,
}

/// Begins an upload that goes on after an interruption.
///
/// What has arrived whole is kept for a day after the last file. At most four uploads are open; the oldest gives way if nothing
/// has arrived for an hour.
#[utoipa::path(post, path = "/api/projects/uploads", tag = "projects", operation_id = "begin_upload", request_body = NewUpload,
    responses((status = 200, body = Enveloped<OpenUpload>),
              (status = 400, description = "bad_project_name, description_too_long", body = EnvelopedError),
              (status = 503, description = "too_many_uploads", body = EnvelopedError)))]
pub async fn begin(
    caller: Caller,
    request: Result<JsonBody<NewUpload>, JsonRejection>,
) -> Result<Json<Enveloped<OpenUpload>>, ApiError> {
    let JsonBody(NewUpload { name, description }) = request?;
    let name = match name.filter(|name| !name.trim().is_empty()) {
        Some(name) => ProjectName::parse(&name)?.as_str().to_owned(),
        None => String::new(),
    };
    let description = domain::project::description(&description.unwrap_or_default())?;
    Ok(enveloped(open(&caller.engine.begin_upload(name, description).await?)))
}

/// Lists the uploads that are not finished, the oldest first.
#[utoipa::path(get, path = "/api/projects/uploads", tag = "projects", operation_id = "list_uploads",
    responses((status = 200, body = Enveloped<Page<OpenUpload>>)))]
pub async fn list(caller: Caller) -> Result<Json<Enveloped<Page<OpenUpload>>>, ApiError> {
    Ok(enveloped(Page::whole(caller.engine.resumable_uploads().await?.iter().map(open).collect())))
}

/// Lists the files of an upload that have arrived whole, sorted by path.
#[utoipa::path(get, path = "/api/projects/uploads/{id}", tag = "projects", operation_id = "read_upload",
    params(("id" = String, Path), ArrivedQuery),
    responses((status = 200, body = Enveloped<OpenUploadFiles>), (status = 400, description = "bad_limit", body = EnvelopedError),
              (status = 404, description = "no_upload: finished, cancelled or expired", body = EnvelopedError)))]
pub async fn read(
    caller: Caller,
    Path(id): Path<String>,
    Query(ArrivedQuery { limit, cursor }): Query<ArrivedQuery>,
) -> Result<Json<Enveloped<OpenUploadFiles>>, ApiError> {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_LIMIT}")));
    }
    let upload = caller.engine.resumable_upload(&id).await?;
    let shown = open(&upload);
    let cursor = cursor.filter(|cursor| !cursor.is_empty());
    let (files, has_more) = blocking(move || upload.files(cursor.as_deref(), limit)).await?;
    let last = files.last().map(|file| file.path.clone());
    let file =
        |file: crate::store::ArrivedFile| UploadedFile { path: file.path, size: file.size, modified: file.modified };
    let arrived = Page::of(files.into_iter().map(file).collect(), last.as_deref(), has_more);
    Ok(enveloped(OpenUploadFiles { upload: shown, arrived }))
}

/// Adds files to an upload.
///
/// If the connection breaks, the files that have arrived whole stay. A file with the path of one that has arrived replaces it.
#[utoipa::path(post, path = "/api/projects/uploads/{id}/files", tag = "projects", operation_id = "add_to_upload",
    params(("id" = String, Path)), request_body(content = UploadBatch, content_type = "multipart/form-data"),
    responses((status = 200, body = Enveloped<OpenUpload>),
              (status = 400, description = "bad_form, bad_path", body = EnvelopedError),
              (status = 404, description = "no_upload: finished, cancelled or expired", body = EnvelopedError),
              (status = 409, description = "exists: a folder has the path of the file, or the reverse", body = EnvelopedError),
              (status = 413, description = "too_large: more than 100,000 files or 1 GiB", body = EnvelopedError),
              (status = 507, description = "disk_full", body = EnvelopedError)))]
pub async fn add(
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Enveloped<OpenUpload>>, ApiError> {
    let upload = caller.engine.resumable_upload(&id).await?;
    let slot = caller.engine.upload_slot()?;
    let mut form = Form::of(request).await?;
    let (pieces, mut arriving) = mpsc::channel(WAITING);
    let into = upload.clone();
    let writer = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        let mut file: Option<ArrivingFile> = None;
        while let Some(piece) = arriving.blocking_recv() {
            match (piece, &mut file) {
                (Piece::Begin(path, modified), _) => file = Some(into.begin(path, modified)?),
                (Piece::Bytes(bytes), Some(file)) => file.add(&bytes)?,
                (Piece::End, Some(_)) => file.take().map_or(Ok(()), ArrivingFile::finish)?,
                (Piece::Bytes(_) | Piece::End, None) => {}
            }
        }
        Ok::<(), StoreError>(())
    });
    let sent = receive(&mut form, &pieces).await;
    drop(pieces);
    // What the disk says tells more than that nobody takes the rest.
    writer.await.map_err(|_| StoreError::ShutDown)??;
    sent?;
    Ok(enveloped(open(&upload)))
}

enum Piece {
    /// The path of a file, and when it was changed last, in Unix milliseconds.
    Begin(RelPath, Option<i64>),
    Bytes(axum::body::Bytes),
    /// The file has arrived whole.
    End,
}

async fn receive(form: &mut Form, pieces: &mpsc::Sender<Piece>) -> Result<(), ApiError> {
    let send = async |piece| pieces.send(piece).await.map_err(|_| ApiError::from(StoreError::ShutDown));
    let mut modified = None;
    while let Some(mut field) = form.next_field().await? {
        if let Some(path) = field.inner.file_name() {
            send(Piece::Begin(path_of(path)?, modified.take())).await?;
            while let Some(bytes) = field.chunk().await? {
                send(Piece::Bytes(bytes)).await?;
            }
            send(Piece::End).await?;
        } else if field.inner.name() == Some("modified") {
            let text = field.text().await?;
            modified = Some(text.trim().parse().map_err(|_| bad_form("`modified` is a number of milliseconds"))?);
        }
    }
    Ok(())
}

/// Removes a file from an upload, because it was deleted or renamed since.
#[utoipa::path(delete, path = "/api/projects/uploads/{id}/files", tag = "projects", operation_id = "remove_from_upload",
    params(("id" = String, Path), RemovedQuery),
    responses((status = 200, body = Enveloped<OpenUpload>),
              (status = 404, description = "no_upload; not_found: no such file has arrived", body = EnvelopedError)))]
pub async fn remove(
    caller: Caller,
    Path(id): Path<String>,
    Query(RemovedQuery { path }): Query<RemovedQuery>,
) -> Result<Json<Enveloped<OpenUpload>>, ApiError> {
    let path = RelPath::parse(&path)?;
    let upload = caller.engine.resumable_upload(&id).await?;
    let from = upload.clone();
    blocking(move || from.remove(&path)).await?;
    Ok(enveloped(open(&upload)))
}

/// Creates a project of what has arrived, whole or not at all. If that is refused, the upload stays as it is.
///
/// If all files lie in one folder, its content becomes the project. The project has the id of the upload: a request that is
/// repeated, because its response was lost, returns the project.
#[utoipa::path(post, path = "/api/projects/uploads/{id}/commit", tag = "projects", operation_id = "commit_upload",
    params(("id" = String, Path)), request_body = FinishedUpload,
    responses((status = 200, body = Enveloped<Project>),
              (status = 400, description = "bad_project_name, description_too_long", body = EnvelopedError),
              (status = 404, description = "no_upload: finished, cancelled or expired", body = EnvelopedError),
              (status = 409, description = "name_taken; incomplete: not what `files` and `bytes` say, or nothing at all",
               body = EnvelopedError)))]
pub async fn commit(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<FinishedUpload>, JsonRejection>,
) -> Result<Json<Enveloped<Project>>, ApiError> {
    let JsonBody(FinishedUpload { name, description, files, bytes }) = request?;
    if let Some(made) = caller.engine.committed_upload(id.clone()).await? {
        return Ok(enveloped(shown(&caller, made).await?));
    }
    let upload = caller.engine.resumable_upload(&id).await?;
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let name =
        said(name).or_else(|| said(Some(upload.info().name.clone()))).or_else(|| upload.top()).unwrap_or_default();
    let description = description.unwrap_or_else(|| upload.info().description.clone());
    let (name, description) = (ProjectName::parse(&name)?, domain::project::description(&description)?);
    let arrived = upload.arrived();
    let expected = ArrivedCount { files: files.unwrap_or(arrived.files), bytes: bytes.unwrap_or(arrived.bytes) };
    let expected = (files.is_some() || bytes.is_some()).then_some(expected);
    let commit = UploadCommit { id: upload.info().id.clone(), name, description, expected };
    drop(upload);
    let made = caller.engine.commit_upload(commit).await?;
    Ok(enveloped(shown(&caller, made).await?))
}

/// Discards an upload with everything that has arrived.
#[utoipa::path(delete, path = "/api/projects/uploads/{id}", tag = "projects", operation_id = "cancel_upload",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, description = "no_upload", body = EnvelopedError)))]
pub async fn cancel(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    caller.engine.cancel_upload(id).await?;
    Ok(enveloped(None))
}

fn open(upload: &ResumableUpload) -> OpenUpload {
    let (info, arrived) = (upload.info(), upload.arrived());
    OpenUpload {
        id: info.id.clone(),
        name: info.name.clone(),
        description: info.description.clone(),
        files: arrived.files,
        bytes: arrived.bytes,
        created_at: clock::rfc3339(info.created_at),
        expires_at: clock::rfc3339(upload.expires_at()),
    }
}
