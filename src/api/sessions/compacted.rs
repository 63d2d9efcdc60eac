//! Compacted messages: a summary replaces them in the conversation; they can still be read and restored.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{RestoreRefused, Session, SessionId};
use crate::engine::{EngineError, blocking};
use crate::store::CompactedMessages;

#[derive(Serialize, utoipa::ToSchema)]
pub struct CompactedParts {
    /// Oldest first.
    compacted: Vec<CompactedPart>,
    /// The same as `compacted`, under its earlier name.
    #[schema(deprecated)]
    archives: Vec<CompactedPart>,
}

/// Messages that a summary replaces, or replaced before they were restored.
#[derive(Clone, Serialize, utoipa::ToSchema)]
pub struct CompactedPart {
    #[serde(flatten)]
    file: CompactedMessages,
    /// The summary that replaces them; absent if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Whether they were restored to the conversation.
    restored: bool,
    /// Why they cannot be restored, as an English sentence; absent if they can.
    #[serde(rename = "stays", skip_serializing_if = "Option::is_none")]
    not_restorable_reason: Option<String>,
}

impl CompactedPart {
    fn of(file: CompactedMessages, session: Option<&Session>) -> Self {
        let known = session.and_then(|session| session.compacted.iter().rev().find(|part| part.archive == file.name));
        let not_restorable = match session {
            Some(session) => session.restorable(&file.name, file.message_count).err(),
            None => Some(RestoreRefused::NotRecorded),
        };
        Self {
            summary: known.map(|part| part.summary.clone()),
            restored: known.is_some_and(|part| part.restored_at.is_some()),
            not_restorable_reason: not_restorable.map(|why| why.to_string()),
            file,
        }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct CompactedContent {
    name: String,
    /// The messages as the session had them.
    #[schema(value_type = Vec<crate::domain::Message>)]
    messages: Vec<Value>,
}

/// Lists the compacted parts of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/compacted", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = CompactedParts), (status = 404, body = ErrorBody)))]
pub async fn compacted_parts(caller: Caller, Path(id): Path<String>) -> Result<Json<CompactedParts>, ApiError> {
    let id = SessionId::parse(&id)?;
    let kept = caller.tenant().home.session_files(&id);
    let session = match caller.engine.view(&id).await {
        Ok(view) => Some(view.session),
        Err(EngineError::NoSession(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let files = blocking(move || Ok(kept.compacted_files())).await?;
    if session.is_none() && files.is_empty() {
        return Err(EngineError::NoSession(id).into());
    }
    let parts: Vec<_> = files.into_iter().map(|file| CompactedPart::of(file, session.as_deref())).collect();
    Ok(Json(CompactedParts { archives: parts.clone(), compacted: parts }))
}

/// Returns the messages of a compacted part.
#[utoipa::path(get, path = "/api/sessions/{id}/compacted/{name}", tag = "sessions",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = CompactedContent), (status = 404, body = ErrorBody)))]
pub async fn compacted(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<CompactedContent>, ApiError> {
    let id = SessionId::parse(&id)?;
    let (kept, wanted) = (caller.tenant().home.session_files(&id), name.clone());
    let messages = blocking(move || kept.compacted(&wanted)).await?;
    Ok(Json(CompactedContent { name, messages }))
}
