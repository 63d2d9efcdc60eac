//! Undoing changes that the agent made to files.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{EntryPath, SessionId, WorkId};
use crate::engine::Direction;
use crate::engine::changes::LaterUndo;
use crate::engine::documents::{FileConflict, FileEffect, WorkFile};
use crate::engine::withdrawal::PreviewedFile;
use crate::tools::files::{PlannedUndo, UndoEffect};

#[derive(Serialize, utoipa::ToSchema)]
pub struct OperationUndone {
    call_id: String,
    path: String,
    /// `true` if the change was undone, `false` if it was redone.
    undone: bool,
}

/// Undoes the changes that an operation made to files. The same request again redoes them.
#[utoipa::path(post, path = "/api/sessions/{id}/operations/{call_id}/undo", tag = "sessions",
    params(("id" = String, Path), ("call_id" = String, Path)),
    responses((status = 200, body = OperationUndone), (status = 404, body = ErrorBody),
              (status = 409, description = "changed_since: the file is something else by now; job_running: its command is still \
                running in the background; not_kept: contents are not kept any more (`about.files`, one per line; \
                `about.sizes` with their bytes)", body = ErrorBody)))]
pub async fn undo(
    caller: Caller,
    Path((id, call_id)): Path<(String, String)>,
) -> Result<Json<OperationUndone>, ApiError> {
    let done = caller.engine.undo(&SessionId::parse(&id)?, &call_id).await?;
    Ok(Json(OperationUndone { call_id, path: done.path.to_string(), undone: done.direction == Direction::Undo }))
}

/// What undoing or withdrawing a work would do to files.
#[derive(Serialize, utoipa::ToSchema)]
pub struct UndoPreview {
    /// In the order in which they were first changed, without changes that are already undone.
    files: Vec<FileUndo>,
}

/// What undoing the changes of all works after one would do to files, which leaves them as that work left them.
#[derive(Serialize, utoipa::ToSchema)]
pub struct LaterUndoPreview {
    /// In the order in which they were first changed, without changes that are already undone.
    files: Vec<LaterFileUndo>,
    /// Ids of all operations that changed these files, oldest first. They are undone in reverse order.
    calls: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct LaterFileUndo {
    path: String,
    /// Ids of the operations that changed it, oldest first.
    calls: Vec<String>,
    /// Unified diff from the current content to the restored one; absent if the undo would be refused, because this
    /// file, or another one of the same operations, has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Number of lines that the undo adds.
    added: usize,
    /// Number of lines that the undo removes.
    removed: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileUndo {
    path: String,
    /// Ids of the operations that changed it and are done, oldest first. They are undone in reverse order.
    calls: Vec<String>,
    /// Unified diff from the current content to the restored one; absent if the undo would be refused, because this
    /// file, or another one of the same operations, has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// What becomes of the file if the whole work is withdrawn.
    effect: FileEffect,
    /// Whether the file differs from what the work wrote: a withdrawal is refused unless the file is kept.
    changed_since: bool,
    /// Whether what the file was before is not kept any more: a withdrawal is refused unless the file is kept as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_kept: bool,
    /// Ids of later works that changed the file too: a withdrawal is refused until they are withdrawn, unless the file is
    /// kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    later_works: Vec<String>,
    /// Number of lines that the undo adds.
    added: usize,
    /// Number of lines that the undo removes.
    removed: usize,
}

/// Previews undoing all changes of a work, and withdrawing it. Changes nothing.
#[utoipa::path(get, path = "/api/sessions/{id}/works/{work_id}/undo", tag = "sessions",
    params(("id" = String, Path), ("work_id" = String, Path)),
    responses((status = 200, body = UndoPreview), (status = 404, body = ErrorBody),
              (status = 409, description = "busy: the session is at work", body = ErrorBody)))]
pub async fn preview_undo(
    caller: Caller,
    Path((id, work_id)): Path<(String, String)>,
) -> Result<Json<UndoPreview>, ApiError> {
    let files = caller.engine.preview_undo(&SessionId::parse(&id)?, &WorkId::new(work_id)).await?;
    Ok(Json(UndoPreview { files: files.into_iter().map(file_undo).collect() }))
}

/// Previews undoing all changes of the works after this one. Changes nothing.
#[utoipa::path(get, path = "/api/sessions/{id}/works/{work_id}/undo/later", tag = "sessions",
    params(("id" = String, Path), ("work_id" = String, Path)),
    responses((status = 200, body = LaterUndoPreview),
              (status = 404, description = "No such session or work", body = ErrorBody),
              (status = 409, description = "busy: the session is at work", body = ErrorBody)))]
pub async fn preview_later_undo(
    caller: Caller,
    Path((id, work_id)): Path<(String, String)>,
) -> Result<Json<LaterUndoPreview>, ApiError> {
    let LaterUndo { files, calls } =
        caller.engine.preview_later_undo(&SessionId::parse(&id)?, &WorkId::new(work_id)).await?;
    Ok(Json(LaterUndoPreview { files: files.into_iter().map(later_file_undo).collect(), calls }))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangedPath {
    /// A file that the work changed, as `memory/MEMORY.md`.
    path: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TextBefore {
    path: String,
    /// `null` if the file did not exist then.
    before: Option<String>,
}

/// Returns the text of a file before a work changed it. Changes that are undone do not count.
#[utoipa::path(get, path = "/api/sessions/{id}/works/{work_id}/before", tag = "sessions",
    params(("id" = String, Path), ("work_id" = String, Path), ChangedPath),
    responses((status = 200, body = TextBefore),
              (status = 404, description = "The work did not change the file, or its changes are undone", body = ErrorBody),
              (status = 415, description = "not_utf8: the file was not text", body = ErrorBody)))]
pub async fn text_before(
    caller: Caller,
    Path((id, work_id)): Path<(String, String)>,
    Query(ChangedPath { path }): Query<ChangedPath>,
) -> Result<Json<TextBefore>, ApiError> {
    let entry = EntryPath::parse(&path)?;
    let before = caller.engine.text_before(&SessionId::parse(&id)?, &WorkId::new(work_id), entry).await?;
    Ok(Json(TextBefore { path, before }))
}

fn file_undo(PreviewedFile { file: WorkFile { path, effect, conflict, .. }, undo }: PreviewedFile) -> FileUndo {
    let changed_since = conflict == Some(FileConflict::ChangedSince);
    let not_kept = matches!(conflict, Some(FileConflict::NotKept(_)));
    let later_works = match conflict {
        Some(FileConflict::Works(works)) => works.iter().map(ToString::to_string).collect(),
        Some(FileConflict::ChangedSince | FileConflict::NotKept(_)) | None => Vec::new(),
    };
    let (calls, undone) = undo.map_or((Vec::new(), UndoEffect::Refuse), |undo| (undo.calls, undo.effect));
    let (diff, added, removed) = restored(undone);
    FileUndo { path: path.to_string(), calls, diff, effect, changed_since, not_kept, later_works, added, removed }
}

fn later_file_undo(PlannedUndo { path, calls, effect }: PlannedUndo) -> LaterFileUndo {
    let (diff, added, removed) = restored(effect);
    LaterFileUndo { path: path.to_string(), calls, diff, added, removed }
}

/// Returns the diff of a restored file and the numbers of its lines.
fn restored(effect: UndoEffect) -> (Option<String>, usize, usize) {
    match effect {
        UndoEffect::Restore { diff, added, removed } => (Some(diff), added, removed),
        UndoEffect::Refuse => (None, 0, 0),
    }
}
