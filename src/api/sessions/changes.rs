//! What a session or one of its works changed in files: the net change of each file, and its contents.

use axum::Json;
use axum::extract::{Path, Query};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::picture::{Media, head};
use crate::domain::{Commit, EntryPath, SessionId, WorkId};
use crate::engine::changes::{ChangingWork, CommitOfCall, SessionChanges, WantedContent};
use crate::store::{FileMode, RecordGap};
use crate::tools::files::{
    ContentFacts, FileFacts, FileNow, FileUndoing, NetChange, Problem, RecordProblem, Side, WorkCall,
};

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangesQuery {
    /// Only the changes of this work; otherwise those of the whole session.
    work_id: Option<String>,
}

/// The net change of each file, by the operations that are done and not undone.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Changes {
    /// The works that changed files, oldest first.
    works: Vec<WorkWithChanges>,
    /// By path. A file that is again what it was is left out.
    files: Vec<ChangedFile>,
    /// Operations whose changes are not all part of `files`, because their record cannot be used or lacks some.
    problems: Vec<UnusableRecord>,
    /// The commits that commands made in git repositories, oldest first. An undo does not take them back.
    commits: Vec<MadeCommit>,
}

/// A commit, with the operation that made it.
#[derive(Serialize, utoipa::ToSchema)]
pub struct MadeCommit {
    work_id: String,
    call_id: String,
    #[serde(flatten)]
    commit: Commit,
}

/// A work that changed files.
#[derive(Serialize, utoipa::ToSchema)]
pub struct WorkWithChanges {
    work_id: String,
    /// The beginning of the message that started it; at most 200 characters.
    prompt: String,
    /// Unix seconds; `null` if unknown.
    create_time: Option<f64>,
    /// Whether a summary replaces its messages: it cannot be undone before they are restored.
    compacted: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Created,
    Changed,
    Deleted,
    /// A work deleted one file and created another with the same content.
    Renamed,
}

/// Whether the changes of one file can be undone without those of others.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileUndoState {
    Possible,
    /// One of its operations also changed other files, and an operation is undone as a whole.
    Shared,
    /// The file was changed since, or between the operations, by somebody else.
    Changed,
    /// A summary replaces the message of one of its operations.
    Compacted,
    /// What the file was before is not kept any more.
    NotKept,
}

/// A file before the first and after the last of its operations.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ChangedFile {
    /// As `knowledge/notes.md`. A backslash in a name is `\\\\`, and a byte of a control character or of what is not UTF-8
    /// is `\\x0a`.
    path: String,
    kind: FileChangeKind,
    /// The path before; only with `renamed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<String>,
    /// `null` if the file did not exist.
    before: Option<FileVersionFacts>,
    /// `null` if the file was deleted.
    after: Option<FileVersionFacts>,
    /// Number of lines; `null` if a version is not text, or if counting all files took too long.
    added: Option<usize>,
    removed: Option<usize>,
    /// The works and operations that changed it, oldest first.
    works: Vec<ChangingOperations>,
    /// Whether the content is no longer what the last operation left.
    changed_since: bool,
    /// Whether the file was deleted since.
    deleted_since: bool,
    undo: FileUndoState,
}

/// The operations of one work that changed a file.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ChangingOperations {
    work_id: String,
    /// Oldest first.
    calls: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    /// UTF-8.
    Text,
    /// PNG, JPEG, WebP or GIF.
    Picture,
    Binary,
    /// A symbolic link; the content is its target.
    Link,
    /// A folder, without what is in it.
    Folder,
    /// Larger than a file may be here.
    TooLarge,
    /// Left by a command, not kept, and changed since.
    NotKept,
    /// Dropped, or not kept, so that all kept contents stay below the limit `undo.kept_mib`.
    Dropped,
    /// The copy that was kept is missing or damaged.
    Damaged,
}

/// What is known of a version of a file.
#[derive(Serialize, utoipa::ToSchema)]
pub struct FileVersionFacts {
    content: ContentKind,
    /// Bytes; `null` for a folder, and if the copy is damaged.
    size: Option<u64>,
    /// SHA-256 of the content, in hexadecimal.
    hash: String,
    executable: bool,
    /// Only for pictures, like `width` and `height`, which are pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<Media>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// The operation changed files, but there is no record of it.
    Missing,
    /// This home did not write the record.
    Foreign,
    Damaged,
    /// The disk was full when the operation ended: what some of its files were is not kept.
    DiskFull,
    /// The operation left more files than are looked at: those beyond that are not recorded, and an undo leaves them.
    TooManyFiles,
}

/// An operation whose record of changes cannot be used, or lacks some.
#[derive(Serialize, utoipa::ToSchema)]
pub struct UnusableRecord {
    work_id: String,
    call_id: String,
    problem: RecordState,
}

/// Returns what a session, or one of its works, changed in files: the net change of each, without changes that are undone.
///
/// Works whose messages a summary replaces count; replaced branches of the conversation do not.
#[utoipa::path(get, path = "/api/sessions/{id}/changes", tag = "sessions",
    params(("id" = String, Path), ChangesQuery),
    responses((status = 200, body = Changes),
              (status = 404, description = "There is no such session or work", body = ErrorBody)))]
pub async fn changes(
    caller: Caller,
    Path(id): Path<String>,
    Query(ChangesQuery { work_id }): Query<ChangesQuery>,
) -> Result<Json<Changes>, ApiError> {
    let SessionChanges { works, net, commits } =
        caller.engine.changes(&SessionId::parse(&id)?, work_id.map(WorkId::new)).await?;
    Ok(Json(Changes {
        works: works.into_iter().map(work_with_changes).collect(),
        files: net.files.into_iter().map(changed_file).collect(),
        problems: net.problems.into_iter().map(unusable_record).collect(),
        commits: commits.into_iter().map(made_commit).collect(),
    }))
}

/// Which version of a file.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VersionSide {
    Before,
    After,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ContentQuery {
    /// A changed file, as the list of changes names it; for a renamed one the new path.
    path: String,
    #[param(inline)]
    side: VersionSide,
    /// As in the list of changes.
    work_id: Option<String>,
}

/// Returns the content of a changed file before or after the changes of a session or of one of its works.
///
/// Pictures have their own content type, texts are `text/plain`, and everything else is a download.
#[utoipa::path(get, path = "/api/sessions/{id}/changes/content", tag = "sessions",
    params(("id" = String, Path), ContentQuery),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
              (status = 404, description = "The file did not change or did not exist, or its copy is damaged", body = ErrorBody),
              (status = 413, description = "too_large", body = ErrorBody)))]
pub async fn content(
    caller: Caller,
    Path(id): Path<String>,
    Query(ContentQuery { path, side, work_id }): Query<ContentQuery>,
) -> Result<Response, ApiError> {
    let wanted = WantedContent { work: work_id.map(WorkId::new), path: EntryPath::parse(&path)?, side: side.into() };
    Ok(shown_content(caller.engine.changed_content(&SessionId::parse(&id)?, wanted).await?))
}

impl From<VersionSide> for Side {
    fn from(side: VersionSide) -> Self {
        match side {
            VersionSide::Before => Side::Before,
            VersionSide::After => Side::After,
        }
    }
}

/// Returns a content as the page shows it: a picture, a text, or a download.
pub fn shown_content(bytes: Vec<u8>) -> Response {
    let (kind, disposition) = match head(&bytes) {
        Some(picture) => (picture.media.name(), "inline"),
        None if std::str::from_utf8(&bytes).is_ok() => ("text/plain; charset=utf-8", "inline"),
        None => ("application/octet-stream", "attachment"),
    };
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)], bytes).into_response()
}

fn work_with_changes(ChangingWork { work, prompt, at, compacted }: ChangingWork) -> WorkWithChanges {
    WorkWithChanges { work_id: work.to_string(), prompt, create_time: at, compacted }
}

fn made_commit(CommitOfCall { work, call, commit }: CommitOfCall) -> MadeCommit {
    MadeCommit { work_id: work.to_string(), call_id: call, commit }
}

fn changed_file(change: NetChange) -> ChangedFile {
    let kind = match (&change.renamed_from, &change.before, &change.after) {
        (Some(_), _, _) => FileChangeKind::Renamed,
        (None, None, _) => FileChangeKind::Created,
        (None, Some(_), None) => FileChangeKind::Deleted,
        (None, Some(_), Some(_)) => FileChangeKind::Changed,
    };
    ChangedFile {
        path: change.path.to_string(),
        kind,
        renamed_from: change.renamed_from.map(|path| path.to_string()),
        before: change.before.map(version_facts),
        after: change.after.map(version_facts),
        added: change.lines.map(|lines| lines.added),
        removed: change.lines.map(|lines| lines.removed),
        works: by_work(change.calls),
        changed_since: change.now != FileNow::Same,
        deleted_since: change.now == FileNow::Deleted,
        undo: match change.undoing {
            FileUndoing::Possible => FileUndoState::Possible,
            FileUndoing::Shared => FileUndoState::Shared,
            FileUndoing::Changed => FileUndoState::Changed,
            FileUndoing::Compacted => FileUndoState::Compacted,
            FileUndoing::NotKept => FileUndoState::NotKept,
        },
    }
}

fn by_work(calls: Vec<WorkCall>) -> Vec<ChangingOperations> {
    let mut works: Vec<ChangingOperations> = Vec::new();
    for WorkCall { work, call, .. } in calls {
        match works.last_mut().filter(|last| last.work_id == work.as_str()) {
            Some(last) => last.calls.push(call),
            None => works.push(ChangingOperations { work_id: work.to_string(), calls: vec![call] }),
        }
    }
    works
}

pub fn version_facts(FileFacts { hash, mode, content }: FileFacts) -> FileVersionFacts {
    let (kind, size, header) = match content {
        ContentFacts::Text { size } => (ContentKind::Text, Some(size), None),
        ContentFacts::Picture { size, header } => (ContentKind::Picture, Some(size), Some(header)),
        ContentFacts::Binary { size } => (ContentKind::Binary, Some(size), None),
        ContentFacts::Link { size } => (ContentKind::Link, Some(size), None),
        ContentFacts::Folder => (ContentKind::Folder, None, None),
        ContentFacts::NotKept { size } => (ContentKind::NotKept, Some(size), None),
        ContentFacts::Dropped { size } => (ContentKind::Dropped, Some(size), None),
        ContentFacts::TooLarge { size } => (ContentKind::TooLarge, Some(size), None),
        ContentFacts::Damaged => (ContentKind::Damaged, None, None),
    };
    FileVersionFacts {
        content: kind,
        size,
        hash,
        executable: mode == FileMode::Executable,
        media_type: header.map(|header| header.media),
        width: header.map(|header| header.width),
        height: header.map(|header| header.height),
    }
}

fn unusable_record(RecordProblem { call, problem }: RecordProblem) -> UnusableRecord {
    let problem = match problem {
        Problem::Missing => RecordState::Missing,
        Problem::Foreign => RecordState::Foreign,
        Problem::Damaged => RecordState::Damaged,
        Problem::Gap(RecordGap::DiskFull) => RecordState::DiskFull,
        Problem::Gap(RecordGap::TooManyFiles) => RecordState::TooManyFiles,
    };
    UnusableRecord { work_id: call.work.to_string(), call_id: call.call, problem }
}
