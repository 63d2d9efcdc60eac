//! Uploading a folder as a project: a form whose files are written to the disk as they arrive.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::project::{Project, shown};
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{self, ProjectName, RelPath};
use crate::engine::UploadSlot;
use crate::store::{ArchiveKind, StoreError, Upload};

/// Maximum bytes of a field that is no file.
const MAX_FIELD: usize = 64 << 10;
/// Maximum bytes that arrive before a piece of a field is read.
const MAX_UNREAD: u64 = 64 << 20;
/// Number of pieces of files that wait for the disk.
const WAITING: usize = 16;

/// The form of an upload. It is only described here: the server reads it as a stream.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "it describes a form")]
pub struct UploadedFolder {
    /// The name of the project; if absent, that of the folder that all files lie in, or of the archive.
    name: Option<String>,
    description: Option<String>,
    /// The files. The name of each is its path with `/`, as a browser gives it for the files of a folder.
    #[schema(value_type = Vec<String>, format = Binary)]
    files: Vec<u8>,
    /// An archive of files, which is unpacked: `.zip`, `.tar`, `.tar.gz` or `.tgz`.
    #[schema(value_type = String, format = Binary)]
    archive: Option<Vec<u8>>,
}

/// Creates a project of the files of a folder, or of an archive.
///
/// If all files lie in one folder, its content becomes the project. At most 100,000 files and 1 GiB, unpacked too; if anything is
/// refused or the connection breaks, no project is made. Symbolic links of an archive are kept if they lead to a place in it.
#[utoipa::path(post, path = "/api/projects/upload", tag = "projects", operation_id = "upload_project",
    request_body(content = UploadedFolder, content_type = "multipart/form-data"),
    responses((status = 200, body = Enveloped<Project>),
              (status = 400, description = "bad_archive, bad_form, bad_path, bad_project_name, no_files", body = EnvelopedError),
              (status = 409, description = "name_taken; exists: two files have the same path", body = EnvelopedError),
              (status = 413, description = "too_large", body = EnvelopedError),
              (status = 507, description = "disk_full", body = EnvelopedError)))]
pub async fn upload(caller: Caller, request: Request) -> Result<Json<Enveloped<Project>>, ApiError> {
    let unread = Arc::<AtomicU64>::default();
    let form = Multipart::from_request(bounded(request, unread.clone()), &()).await;
    let mut form = Form { fields: form.map_err(|error| bad_form(&error.body_text()))?, unread };
    let writer = Writer::of(caller.engine.new_upload().await?);
    let read = read(&mut form, &writer).await;
    // What the disk says tells more than that nobody takes the rest.
    let upload = writer.finish().await?;
    match read.and_then(|told| told.checked(&upload)) {
        Ok((name, description)) => {
            Ok(enveloped(shown(caller.engine.create_uploaded(name, description, upload).await?)))
        }
        Err(error) => {
            // Many files may have arrived.
            tokio::task::spawn_blocking(move || drop(upload));
            Err(error)
        }
    }
}

/// A form that is read as it arrives.
struct Form {
    fields: Multipart,
    /// Bytes that have arrived since the last piece of a field was read.
    unread: Arc<AtomicU64>,
}

/// Returns the request with a body that ends with an error if the parser keeps too much of it: what comes before the first
/// field, and the head of a field, are read into memory.
fn bounded(request: Request, unread: Arc<AtomicU64>) -> Request {
    let (parts, body) = request.into_parts();
    let counted = body.into_data_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        let length = piece.len() as u64;
        if unread.fetch_add(length, Ordering::Relaxed).saturating_add(length) > MAX_UNREAD {
            return Err(io::Error::other("the head of a field is too long"));
        }
        Ok(piece)
    });
    Request::from_parts(parts, Body::from_stream(counted))
}

/// What the form says besides the files.
#[derive(Default)]
struct Told {
    name: Option<String>,
    description: Option<String>,
    /// The name of the archive, without what says its form.
    archive: Option<String>,
}

impl Told {
    fn checked(self, upload: &Upload) -> Result<(ProjectName, String), ApiError> {
        if upload.is_empty() {
            let message = "the form has no files; an empty project is made without a form";
            return Err(ApiError::bad_request("no_files", message));
        }
        let name = self.name.or_else(|| upload.top().map(str::to_owned)).or(self.archive).unwrap_or_default();
        let description = domain::project::description(&self.description.unwrap_or_default())?;
        Ok((ProjectName::parse(&name)?, description))
    }
}

async fn read(form: &mut Form, writer: &Writer) -> Result<Told, ApiError> {
    let mut told = Told::default();
    let Form { fields, unread } = form;
    while let Some(mut field) = fields.next_field().await.map_err(|error| form_error(&error))? {
        unread.store(0, Ordering::Relaxed);
        if let Some(name) = field.file_name() {
            let is_archive = field.name() == Some("archive");
            if is_archive && told.archive.is_some() {
                return Err(bad_form("it has more than one archive"));
            }
            if is_archive {
                let (kind, stem) = ArchiveKind::of_name(name).ok_or_else(unknown_archive)?;
                told.archive = Some(stem.to_owned());
                writer.send(Piece::BeginArchive(kind)).await?;
            } else {
                writer.send(Piece::Begin(RelPath::parse(name)?)).await?;
            }
            while let Some(bytes) = field.chunk().await.map_err(|error| form_error(&error))? {
                unread.store(0, Ordering::Relaxed);
                writer.send(Piece::Bytes(bytes)).await?;
            }
            if is_archive {
                writer.send(Piece::Unpack).await?;
            }
            continue;
        }
        match field.name() {
            Some("name") => told.name = Some(text(field).await?).filter(|name| !name.trim().is_empty()),
            Some("description") => told.description = Some(text(field).await?),
            // A field of another version says nothing here.
            Some(_) | None => {}
        }
    }
    Ok(told)
}

async fn text(mut field: Field<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(more) = field.chunk().await.map_err(|error| form_error(&error))? {
        bytes.extend_from_slice(&more);
        if bytes.len() > MAX_FIELD {
            return Err(bad_form("a field that is no file has more than 64 KiB"));
        }
    }
    String::from_utf8(bytes).map_err(|_| bad_form("a field is not UTF-8"))
}

fn unknown_archive() -> ApiError {
    ApiError::bad_request("bad_archive", "an archive is a .zip, .tar, .tar.gz or .tgz file")
}

fn bad_form(why: &str) -> ApiError {
    ApiError::bad_request("bad_form", format!("the form cannot be read: {why}"))
}

fn form_error(error: &MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.body_text()),
        _ => bad_form(&error.body_text()),
    }
}

enum Piece {
    Begin(RelPath),
    BeginArchive(ArchiveKind),
    Bytes(Bytes),
    Unpack,
}

/// Writes files in a thread of its own, in the order in which they arrive.
struct Writer {
    pieces: mpsc::Sender<Piece>,
    done: JoinHandle<Result<Upload, StoreError>>,
}

impl Writer {
    fn of((mut upload, slot): (Upload, UploadSlot)) -> Self {
        let (pieces, mut arriving) = mpsc::channel(WAITING);
        let done = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            while let Some(piece) = arriving.blocking_recv() {
                match piece {
                    Piece::Begin(path) => upload.begin(path)?,
                    Piece::BeginArchive(kind) => upload.begin_archive(kind)?,
                    Piece::Unpack => upload.unpack()?,
                    Piece::Bytes(bytes) => upload.add(&bytes)?,
                }
            }
            Ok(upload)
        });
        Self { pieces, done }
    }

    /// # Errors
    /// Returns an error if the writer has stopped; [`Self::finish`] tells why.
    async fn send(&self, piece: Piece) -> Result<(), ApiError> {
        self.pieces.send(piece).await.map_err(|_| StoreError::ShutDown.into())
    }

    async fn finish(self) -> Result<Upload, StoreError> {
        let Self { pieces, done } = self;
        drop(pieces);
        done.await.map_err(|_| StoreError::ShutDown)?
    }
}
