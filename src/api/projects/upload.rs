//! Uploading a folder as a project: a form whose files are written to the disk as they arrive.

use axum::Json;
use axum::body::Bytes;
use axum::extract::Multipart;
use axum::extract::multipart::{Field, MultipartError, MultipartRejection};
use axum::http::StatusCode;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::project::{Project, shown};
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{self, ProjectName, RelPath};
use crate::store::{ArchiveKind, StoreError, Upload};

/// Maximum bytes of a field that is no file.
const MAX_FIELD: usize = 64 << 10;
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
pub async fn upload(
    caller: Caller,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Json<Enveloped<Project>>, ApiError> {
    let mut form = form.map_err(|error| bad_form(&error.body_text()))?;
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

async fn read(form: &mut Multipart, writer: &Writer) -> Result<Told, ApiError> {
    let mut told = Told::default();
    while let Some(mut field) = form.next_field().await.map_err(|error| form_error(&error))? {
        if let Some(name) = field.file_name() {
            let is_archive = field.name() == Some("archive");
            if is_archive {
                let (kind, stem) = ArchiveKind::of_name(name).ok_or_else(unknown_archive)?;
                told.archive = Some(stem.to_owned());
                writer.send(Piece::BeginArchive(kind)).await?;
            } else {
                writer.send(Piece::Begin(RelPath::parse(name)?)).await?;
            }
            while let Some(bytes) = field.chunk().await.map_err(|error| form_error(&error))? {
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
    fn of(mut upload: Upload) -> Self {
        let (pieces, mut arriving) = mpsc::channel(WAITING);
        let done = tokio::task::spawn_blocking(move || {
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
