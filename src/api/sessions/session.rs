//! Sessions: list, create, rename, delete, restore, read, title.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Message, ProjectId, Role, SessionId};
use crate::store;

/// A session in a list.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionSummary {
    id: String,
    /// Empty until the session has a title.
    title: String,
    /// Beginning of its first message; absent if it has a title or no message.
    #[serde(skip_serializing_if = "String::is_empty")]
    begins: String,
    created_at: f64,
    updated_at: f64,
    message_count: usize,
    /// Input and output tokens of its works, as counted by the providers; 0 if they did not count.
    tokens: u64,
    state: SessionState,
    /// Whether a person has excluded it from recall; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    not_for_recall: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    Idle,
    Running,
    /// A run is under way and waits for a person's approval.
    Approval,
    /// The last work failed.
    Error,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionList {
    /// Most recent first.
    sessions: Vec<SessionSummary>,
    /// Ids of the pinned sessions, in the order in which they were pinned.
    pinned: Vec<String>,
    /// Ids of the archived sessions, which clients list separately.
    archived: Vec<String>,
    /// The labels of sessions by their ids. Sessions without labels are absent; some ids may be of deleted sessions.
    labels: BTreeMap<String, Vec<String>>,
    /// The same as `archived`, under its earlier name.
    #[schema(deprecated)]
    put_away: Vec<String>,
}

#[derive(Default, Deserialize, utoipa::ToSchema)]
pub struct NewSession {
    #[serde(default)]
    title: String,
    /// The project that its tools work in, `scratch` for the folder of commands; without one they work in the home.
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    project_id: Option<ProjectId>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct Rename {
    title: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Deleted {
    deleted: bool,
    id: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Messages {
    session_id: String,
    title: String,
    /// The messages; the first one is the system prompt as it would be sent next.
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed_context: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Titled {
    session_id: String,
    title: String,
}

/// Lists all sessions, newest first.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", responses((status = 200, body = SessionList)))]
pub async fn list(caller: Caller) -> Result<Json<SessionList>, ApiError> {
    let sessions = caller.engine.list().await?;
    let busy = Busy::of(&caller);
    let sessions = sessions.iter().map(|summary| shown(&busy, summary)).collect();
    let log = &caller.tenant().log;
    let (pinned, archived) =
        (log.list_ids(store::SessionListKind::Pinned).await?, log.list_ids(store::SessionListKind::Archived).await?);
    let labels = log.labels().await?;
    Ok(Json(SessionList { labels, sessions, pinned, put_away: archived.clone(), archived }))
}

/// Creates a session.
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    responses((status = 200, body = SessionSummary),
              (status = 404, description = "This home does not have the project", body = ErrorBody)))]
pub async fn create(
    caller: Caller,
    request: Result<JsonBody<NewSession>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let JsonBody(request) = request?;
    let summary = caller.engine.create(&title(&request.title)?, request.project_id).await?;
    Ok(Json(shown(&Busy::of(&caller), &summary)))
}

/// Renames a session.
#[utoipa::path(put, path = "/api/sessions/{id}", tag = "sessions", request_body = Rename, params(("id" = String, Path)),
    responses((status = 200, body = SessionSummary), (status = 404, body = ErrorBody)))]
pub async fn rename(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<Rename>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(request) = request?;
    let summary = caller.engine.rename(&id, &title(&request.title)?).await?;
    Ok(Json(shown(&Busy::of(&caller), &summary)))
}

/// Deletes a session: moves it to `sessions/archive/deleted/`, from where it can be restored.
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Deleted), (status = 404, body = ErrorBody)))]
pub async fn delete(caller: Caller, Path(id): Path<String>) -> Result<Json<Deleted>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.delete(&id).await?;
    Ok(Json(Deleted { deleted: true, id: id.to_string() }))
}

/// Restores a deleted session.
#[utoipa::path(post, path = "/api/sessions/{id}/restore", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = SessionSummary), (status = 404, body = ErrorBody)))]
pub async fn restore(caller: Caller, Path(id): Path<String>) -> Result<Json<SessionSummary>, ApiError> {
    let summary = caller.engine.restore(&SessionId::parse(&id)?).await?;
    Ok(Json(shown(&Busy::of(&caller), &summary)))
}

/// Returns the raw messages, with the system prompt first.
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Messages), (status = 404, body = ErrorBody)))]
pub async fn messages(caller: Caller, Path(id): Path<String>) -> Result<Json<Messages>, ApiError> {
    let id = SessionId::parse(&id)?;
    let session = caller.engine.view(&id).await?.session;
    let system = caller.tenant().next_request(None).await?.system.text;
    let mut messages = vec![Arc::new(Message::new(Role::System, system))];
    messages.extend(session.messages.iter().cloned());
    Ok(Json(Messages {
        session_id: id.to_string(),
        title: session.title.clone(),
        messages,
        compressed_context: session.compressed_context.clone(),
    }))
}

/// Has the model generate a title.
#[utoipa::path(post, path = "/api/sessions/{id}/generate-title", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Titled), (status = 404, body = ErrorBody)))]
pub async fn generate_title(caller: Caller, Path(id): Path<String>) -> Result<Json<Titled>, ApiError> {
    let id = SessionId::parse(&id)?;
    let title = caller.engine.retitle(&id).await?;
    Ok(Json(Titled { session_id: id.to_string(), title }))
}

/// Ids of the sessions with a run under way and of those that wait for a person, read once for each request.
pub(in crate::api) struct Busy {
    running: HashSet<String>,
    asking: HashSet<String>,
}

impl Busy {
    pub(in crate::api) fn of(caller: &Caller) -> Self {
        let tenant = caller.tenant();
        let running = tenant.runs.list().iter().map(ToString::to_string).collect();
        Self { running, asking: tenant.approvals.sessions() }
    }
}

pub(in crate::api) fn shown(busy: &Busy, summary: &store::SessionSummary) -> SessionSummary {
    let state = if busy.asking.contains(&summary.id) {
        SessionState::Approval
    } else if busy.running.contains(&summary.id) {
        SessionState::Running
    } else if summary.failed {
        SessionState::Error
    } else {
        SessionState::Idle
    };
    SessionSummary {
        not_for_recall: summary.chosen.not_for_recall,
        id: summary.id.clone(),
        begins: if summary.title.is_empty() { summary.begins.clone() } else { String::new() },
        title: summary.title.clone(),
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        message_count: summary.message_count,
        tokens: summary.tokens,
        state,
    }
}

/// Normalises a title to one line and checks that it has at most 255 characters.
pub(in crate::api) fn title(text: &str) -> Result<String, ApiError> {
    let title = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > 255 {
        return Err(ApiError::bad_request("too_long", "a title has at most 255 characters"));
    }
    Ok(title)
}
