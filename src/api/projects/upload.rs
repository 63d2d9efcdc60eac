//! Uploading a folder as a project: a form whose files are written to the disk as they arrive.

use axum::Json;
use axum::body::Bytes;
use axum::extract::Request;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::form::{Form, bad_form, path_of};
use super::project::{Project, shown};
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{self, ProjectName, RelPath};
use crate::engine::UploadSlot;
use crate::store::{ArchiveKind, StoreError, Upload};

/// Number of pieces of files that wait for the disk.
pub(super) const WAITING: usize = 16;

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
    let mut form = Form::of(request).await?;
    let writer = Writer::of(caller.engine.new_upload().await?);
    let read = read(&mut form, &writer).await;
    // What the disk says tells more than that nobody takes the rest.
    let upload = writer.finish().await?;
    match read.and_then(|told| told.checked(&upload)) {
        Ok((name, description)) => {
            let made = caller.engine.create_uploaded(name, description, upload).await?;
            Ok(enveloped(shown(&caller, made).await?))
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

async fn read(form: &mut Form, writer: &Writer) -> Result<Told, ApiError> {
    let mut told = Told::default();
    while let Some(mut field) = form.next_field().await? {
        if let Some(name) = field.inner.file_name() {
            let is_archive = field.inner.name() == Some("archive");
            if is_archive && told.archive.is_some() {
                return Err(bad_form("it has more than one archive"));
            }
            if is_archive {
                let (kind, stem) = ArchiveKind::of_name(name).ok_or_else(unknown_archive)?;
                told.archive = Some(stem.to_owned());
                writer.send(Piece::BeginArchive(kind)).await?;
            } else {
                writer.send(Piece::Begin(path_of(name)?)).await?;
            }
            while let Some(bytes) = field.chunk().await? {
                writer.send(Piece::Bytes(bytes)).await?;
            }
            if is_archive {
                writer.send(Piece::Unpack).await?;
            }
            continue;
        }
        match field.inner.name() {
            Some("name") => told.name = Some(field.text().await?).filter(|name| !name.trim().is_empty()),
            Some("description") => told.description = Some(field.text().await?),
            // A field of another version says nothing here.
            Some(_) | None => {}
        }
    }
    Ok(told)
}

fn unknown_archive() -> ApiError {
    ApiError::bad_request("bad_archive", "an archive is a .zip, .tar, .tar.gz or .tgz file")
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
