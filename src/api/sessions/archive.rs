//! What is not in a session's list any more, and can still be read: messages that a summary stands for, deleted
//! sessions and files.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{RestoreRefused, Session, SessionId};
use crate::engine::{EngineError, blocking};
use crate::store::{Archive, DeletedSession, MOST_TRASHED, TrashedText};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Archives {
    /// Oldest first.
    archives: Vec<ArchivedPart>,
}

/// Messages that a summary stands for, or stood.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ArchivedPart {
    #[serde(flatten)]
    file: Archive,
    /// What stands for them; absent where it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// They are in the conversation again.
    restored: bool,
    /// Why they could not be brought back now; absent where they could.
    #[serde(skip_serializing_if = "Option::is_none")]
    stays: Option<String>,
}

impl ArchivedPart {
    fn of(file: Archive, session: Option<&Session>) -> Self {
        let known = session.and_then(|session| session.archived.iter().rev().find(|part| part.archive == file.name));
        let stays = match session {
            Some(session) => session.restorable(&file.name, file.message_count).err(),
            None => Some(RestoreRefused::NotRecorded),
        };
        Self {
            summary: known.map(|part| part.summary.clone()),
            restored: known.is_some_and(|part| part.restored_at.is_some()),
            stays: stays.map(|why| why.to_string()),
            file,
        }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Archived {
    name: String,
    /// Messages as the session had them.
    #[schema(value_type = Vec<crate::domain::Message>)]
    messages: Vec<Value>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedSessions {
    /// The one used last first.
    sessions: Vec<DeletedSession>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TrashedFiles {
    /// The one deleted last first.
    files: Vec<TrashedText>,
    /// How many deletions are kept; the oldest go first.
    kept: usize,
}

#[derive(Deserialize, utoipa::IntoParams)]
pub struct TrashQuery {
    /// As the list names it.
    trash: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Forgotten {
    forgotten: bool,
}

/// The archives of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/archives", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Archives)))]
pub async fn archives(caller: Caller, Path(id): Path<String>) -> Result<Json<Archives>, ApiError> {
    let id = SessionId::parse(&id)?;
    let kept = caller.tenant().home.session_files(&id);
    let session = match caller.engine.view(&id).await {
        Ok(view) => Some(view.session),
        Err(EngineError::NoSession(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let files = blocking(move || Ok(kept.archives())).await?;
    let archives = files.into_iter().map(|file| ArchivedPart::of(file, session.as_deref())).collect();
    Ok(Json(Archives { archives }))
}

/// The messages of an archive.
#[utoipa::path(get, path = "/api/sessions/{id}/archives/{name}", tag = "sessions",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Archived), (status = 404, body = ErrorBody)))]
pub async fn archived(caller: Caller, Path((id, name)): Path<(String, String)>) -> Result<Json<Archived>, ApiError> {
    let id = SessionId::parse(&id)?;
    let (kept, wanted) = (caller.tenant().home.session_files(&id), name.clone());
    let messages = blocking(move || kept.archived(&wanted)).await?;
    Ok(Json(Archived { name, messages }))
}

/// Deleted sessions that can be brought back.
#[utoipa::path(get, path = "/api/sessions/deleted", tag = "sessions", responses((status = 200, body = DeletedSessions)))]
pub async fn deleted(caller: Caller) -> Result<Json<DeletedSessions>, ApiError> {
    let sessions = caller.tenant().log.deleted().await?;
    Ok(Json(DeletedSessions { sessions }))
}

/// Lets a deleted session go for good, with its archives. It cannot be brought back.
#[utoipa::path(delete, path = "/api/sessions/deleted/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget(caller: Caller, Path(id): Path<String>) -> Result<Json<Forgotten>, ApiError> {
    caller.engine.forget(&SessionId::parse(&id)?).await?;
    Ok(Json(Forgotten { forgotten: true }))
}

/// Deleted files that can be brought back.
#[utoipa::path(get, path = "/api/files/deleted", tag = "files", responses((status = 200, body = TrashedFiles)))]
pub async fn trashed(caller: Caller) -> Result<Json<TrashedFiles>, ApiError> {
    let files = caller.tenant().documents.trashed().await?;
    Ok(Json(TrashedFiles { files, kept: MOST_TRASHED }))
}

/// Lets a deleted file go for good. It cannot be brought back.
#[utoipa::path(delete, path = "/api/files/deleted", tag = "files", params(TrashQuery),
    responses((status = 200, body = Forgotten), (status = 404, body = ErrorBody)))]
pub async fn forget_file(caller: Caller, Query(query): Query<TrashQuery>) -> Result<Json<Forgotten>, ApiError> {
    caller.tenant().documents.forget(query.trash).await?;
    Ok(Json(Forgotten { forgotten: true }))
}
