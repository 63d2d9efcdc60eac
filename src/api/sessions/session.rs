//! Sessions: list, make, rename, delete, bring back, read, say, stop, title.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::api::chat::attachments::{Attached, prompt};
use crate::api::error::{ApiError, ErrorBody};
use crate::api::requests::sent::{RetrievedWork, retrieved_works};
use crate::api::security::caller::Caller;
use crate::api::sessions::rewind::{BranchPoint, points};
use crate::api::sessions::transfer::{Parent, parent};
use crate::api::sessions::works::{Failure, WorkModel, failures_of, models_of};
use crate::domain::{Chosen, Message, Role, SessionId, Taint};
use crate::engine::{View, blocking};
use crate::prompt::system::{MemoryMode, assemble};
use crate::store;

/// A session in a list.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionSummary {
    id: String,
    /// Empty until it has one.
    title: String,
    /// How its first message begins, for as long as it has no title.
    #[serde(skip_serializing_if = "String::is_empty")]
    begins: String,
    created_at: f64,
    updated_at: f64,
    message_count: usize,
    /// What its works took in and gave out, as providers counted; 0 where they did not.
    tokens: u64,
    state: SessionState,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    Idle,
    Running,
    /// At work, and waiting for a person's approval.
    Approval,
    /// Its last work failed.
    Error,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionList {
    /// Newest first.
    sessions: Vec<SessionSummary>,
    /// Ids of those that stand before the others, in the order they were pinned.
    pinned: Vec<String>,
    /// Ids of the archived ones: they stand apart until the next message in them.
    archived: Vec<String>,
    /// The same, by the name that earlier versions used.
    #[schema(deprecated)]
    put_away: Vec<String>,
}

#[derive(Default, Deserialize, utoipa::ToSchema)]
pub struct NewSession {
    #[serde(default)]
    title: String,
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
    /// The system prompt as it would be sent now comes first.
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed_context: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct History {
    session_id: String,
    title: String,
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed_context: Option<String>,
    /// Everything up to here is in `messages`: follow from here on.
    last_event_id: String,
    running: Option<RunningWork>,
    /// What was chosen for what is said from now on.
    #[serde(skip_serializing_if = "Chosen::is_nothing")]
    chosen: Chosen,
    /// Which model each work was given to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    works: Vec<WorkModel>,
    /// Why works failed; the sentence stands with their last message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Failure>,
    /// Ways the conversation has gone before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchPoint>,
    /// Works for which memory was searched; what was found is at `works/{work_id}/retrieved`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retrieved: Vec<RetrievedWork>,
    /// Where it was branched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
    /// Where it has text from that strangers may have written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taint: Vec<Taint>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RunningWork {
    work_id: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct MessageRequest {
    /// May be empty where files are sent.
    message: String,
    /// Text files to go along with it.
    #[serde(default)]
    attachments: Vec<Attached>,
    /// The same key again answers as the first time and says nothing twice, also after a restart: it is the message's id.
    /// 1 to 64 letters, digits, `-`, `_` or `.`.
    idempotency_key: Option<String>,
}

/// A key that can stand in a file and in an address.
fn usable(key: String) -> Result<String, ApiError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&key.len()) && key.chars().all(fits) {
        return Ok(key);
    }
    Err(ApiError::bad_request("bad_key", "an idempotency_key has 1 to 64 letters, digits, '-', '_' or '.'"))
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MessageReceipt {
    session_id: String,
    work_id: String,
    /// The work's events come after this id.
    after: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Interrupted {
    interrupted: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Titled {
    session_id: String,
    title: String,
}

/// All sessions, newest first.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", responses((status = 200, body = SessionList)))]
pub async fn list(caller: Caller) -> Result<Json<SessionList>, ApiError> {
    let mut sessions = caller.engine.list().await?;
    let busy = Busy::of(&caller);
    // The file of a session that works for the first time says nothing yet.
    for summary in sessions.iter_mut().filter(|it| it.title.is_empty() && it.message_count == 0 && busy.holds(&it.id)) {
        if let Ok(id) = SessionId::parse(&summary.id)
            && let Ok(view) = caller.engine.view(&id).await
        {
            summary.begins = store::SessionSummary::of(&id, &view.session).begins;
        }
    }
    let sessions = sessions.into_iter().map(|summary| shown(&busy, summary)).collect();
    let log = &caller.tenant().log;
    let (pinned, archived) =
        (log.listed(store::MarkedSessions::Pinned).await?, log.listed(store::MarkedSessions::Archived).await?);
    Ok(Json(SessionList { sessions, pinned, put_away: archived.clone(), archived }))
}

/// A new session.
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    responses((status = 200, body = SessionSummary)))]
pub async fn create(
    caller: Caller,
    request: Result<Json<NewSession>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let Json(request) = request?;
    let summary = caller.engine.create(&title(&request.title)?).await?;
    Ok(Json(shown(&Busy::of(&caller), summary)))
}

/// Gives a session another title.
#[utoipa::path(put, path = "/api/sessions/{id}", tag = "sessions", request_body = Rename, params(("id" = String, Path)),
    responses((status = 200, body = SessionSummary), (status = 404, body = ErrorBody)))]
pub async fn rename(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<Json<Rename>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let id = SessionId::parse(&id)?;
    let Json(request) = request?;
    let summary = caller.engine.rename(&id, &title(&request.title)?).await?;
    Ok(Json(shown(&Busy::of(&caller), summary)))
}

/// Moves a session to `sessions/archive/deleted/`.
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Deleted), (status = 404, body = ErrorBody)))]
pub async fn delete(caller: Caller, Path(id): Path<String>) -> Result<Json<Deleted>, ApiError> {
    let id = SessionId::parse(&id)?;
    caller.engine.delete(&id).await?;
    Ok(Json(Deleted { deleted: true, id: id.to_string() }))
}

/// Brings a deleted session back.
#[utoipa::path(post, path = "/api/sessions/{id}/restore", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = SessionSummary), (status = 404, body = ErrorBody)))]
pub async fn restore(caller: Caller, Path(id): Path<String>) -> Result<Json<SessionSummary>, ApiError> {
    let summary = caller.engine.restore(&SessionId::parse(&id)?).await?;
    Ok(Json(shown(&Busy::of(&caller), summary)))
}

/// The raw messages, with the system prompt first.
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Messages), (status = 404, body = ErrorBody)))]
pub async fn messages(caller: Caller, Path(id): Path<String>) -> Result<Json<Messages>, ApiError> {
    let id = SessionId::parse(&id)?;
    let session = caller.engine.view(&id).await?.session;
    let home = caller.tenant().home.clone();
    let system = blocking(move || {
        let mode = if home.settings().rag_mode { MemoryMode::Retrieved } else { MemoryMode::Whole };
        Ok(assemble(&home, mode).text)
    })
    .await?;
    let mut messages = vec![Arc::new(Message::new(Role::System, system))];
    messages.extend(session.messages.iter().cloned());
    Ok(Json(Messages {
        session_id: id.to_string(),
        title: session.title.clone(),
        messages,
        compressed_context: session.compressed_context.clone(),
    }))
}

/// The conversation, tool calls included, as far as it has come.
#[utoipa::path(get, path = "/api/sessions/{id}/history", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = History), (status = 404, body = ErrorBody)))]
pub async fn history(caller: Caller, Path(id): Path<String>) -> Result<Json<History>, ApiError> {
    let id = SessionId::parse(&id)?;
    let View { session, last } = caller.engine.view(&id).await?;
    let (home, of) = (caller.tenant().home.clone(), id.clone());
    let retrieved = blocking(move || Ok(retrieved_works(&home, &of))).await?;
    Ok(Json(History {
        retrieved,
        session_id: id.to_string(),
        title: session.title.clone(),
        messages: session.messages.clone(),
        compressed_context: session.compressed_context.clone(),
        last_event_id: caller.tenant().hub.id(last).to_string(),
        chosen: session.chosen.clone(),
        works: models_of(&session),
        failures: failures_of(&session),
        branches: points(&session),
        parent: parent(&session),
        taint: session.taint.clone(),
        running: session.running().map(|work| RunningWork { work_id: work.work_id.to_string() }),
    }))
}

/// Says something and answers at once; the work is observed through the event streams.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "chat", request_body = MessageRequest, params(("id" = String, Path)),
    responses((status = 202, body = MessageReceipt), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody),
              (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn say(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<Json<MessageRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<MessageReceipt>), ApiError> {
    let id = SessionId::parse(&id)?;
    let Json(request) = request?;
    let key = request.idempotency_key.map(usable).transpose()?;
    let said = prompt(&caller, &id, request.message, request.attachments).await?;
    let started = caller.engine.say(&id, said, key).await?;
    let said = MessageReceipt {
        session_id: id.to_string(),
        work_id: started.work_id.to_string(),
        after: caller.tenant().hub.id(started.after).to_string(),
    };
    Ok((StatusCode::ACCEPTED, Json(said)))
}

/// Stops what runs; what was said so far is kept.
#[utoipa::path(post, path = "/api/sessions/{id}/interrupt", tag = "chat", params(("id" = String, Path)),
    responses((status = 200, body = Interrupted), (status = 404, body = ErrorBody)))]
pub async fn interrupt(caller: Caller, Path(id): Path<String>) -> Result<Json<Interrupted>, ApiError> {
    let interrupted = caller.engine.interrupt(&SessionId::parse(&id)?).await?;
    Ok(Json(Interrupted { interrupted }))
}

/// Has the model make a title.
#[utoipa::path(post, path = "/api/sessions/{id}/generate-title", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Titled), (status = 404, body = ErrorBody)))]
pub async fn generate_title(caller: Caller, Path(id): Path<String>) -> Result<Json<Titled>, ApiError> {
    let id = SessionId::parse(&id)?;
    let title = caller.engine.retitle(&id).await?;
    Ok(Json(Titled { session_id: id.to_string(), title }))
}

/// The ids of the sessions that are at work and of those that wait for a person, looked up once a request.
pub(in crate::api) struct Busy {
    running: HashSet<String>,
    asking: HashSet<String>,
}

impl Busy {
    fn holds(&self, id: &str) -> bool {
        self.running.contains(id) || self.asking.contains(id)
    }

    pub(in crate::api) fn of(caller: &Caller) -> Self {
        let tenant = caller.tenant();
        let running = tenant.runs.list().iter().map(ToString::to_string).collect();
        Self { running, asking: tenant.approvals.sessions() }
    }
}

pub(in crate::api) fn shown(busy: &Busy, summary: store::SessionSummary) -> SessionSummary {
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
        id: summary.id,
        begins: if summary.title.is_empty() { summary.begins } else { String::new() },
        title: summary.title,
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        message_count: summary.message_count,
        tokens: summary.tokens,
        state,
    }
}

/// A title on one line, of at most 200 characters.
fn title(text: &str) -> Result<String, ApiError> {
    let title = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > 200 {
        return Err(ApiError::bad_request("too_long", "a title has at most 200 characters"));
    }
    Ok(title)
}
