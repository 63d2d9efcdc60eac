//! The next request, exactly as it would be sent, with the parts of its system prompt.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Chosen, PermissionMode, ProjectId, Session, SessionId};
use crate::engine::{Tenant, blocking};
use crate::prompt::request::NextRequest;

#[derive(Deserialize, utoipa::IntoParams)]
pub struct PromptQuery {
    /// The session whose history the request contains. If absent, the request of a new session is returned.
    session_id: Option<String>,
    /// Of a new session: the model chosen for it.
    model: Option<String>,
    /// Of a new session: whether the model thinks.
    thinking: Option<bool>,
    /// Of a new session: what may run in it.
    permission_mode: Option<PermissionMode>,
    /// Of a new session: the project that it would be bound to.
    #[param(value_type = Option<String>)]
    project_id: Option<ProjectId>,
}

/// One part of the system prompt.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PromptPart {
    label: String,
    /// Path of the file, relative to the home; null for the text that replaces memory in RAG mode.
    file: Option<String>,
    /// Size in the prompt in bytes, including the label.
    bytes: usize,
    /// Characters of the text taken from the file.
    characters: usize,
    tokens: usize,
    truncated: bool,
    /// Why the part is missing; null if it is not.
    absent: Option<String>,
    /// The file exists but cannot be read: no request is sent to a model until this is fixed.
    unreadable: bool,
    /// First byte of the part in `system`; `end` is the byte after its last one.
    start: usize,
    end: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Prompt {
    system: String,
    parts: Vec<PromptPart>,
    /// Size of the tools' names, descriptions and schemas as JSON, in bytes; `tools_tokens` is the same in tokens.
    tools_bytes: usize,
    tools_tokens: usize,
    /// Size of the whole request body in bytes.
    total_bytes: usize,
    /// Tokens of the request; the same number as in `GET /api/tokens/session/{id}`.
    total_tokens: usize,
    /// Of them, those of the messages, with an estimate for pictures.
    message_tokens: usize,
    /// Of them, those reserved for passages of memory, which are retrieved when the question is sent. An estimate.
    retrieved_tokens: usize,
    /// Number of messages, without the system prompt.
    messages: usize,
    /// Number of the session's messages, counted from the first, that are left out because they do not fit.
    left_out: usize,
    /// The body of the next request, without the new question. In RAG mode, retrieved text is added when the question
    /// is sent.
    request: Value,
}

/// Returns the exact prompt of the next request.
#[utoipa::path(get, path = "/api/prompt", tag = "prompt", params(PromptQuery),
    responses((status = 200, body = Prompt),
              (status = 404, description = "No such session, or this home does not have the project", body = ErrorBody)))]
pub async fn prompt(caller: Caller, Query(query): Query<PromptQuery>) -> Result<Json<Prompt>, ApiError> {
    let PromptQuery { session_id, model, thinking, permission_mode, project_id } = query;
    let session = match session_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => Some(caller.engine.view(&SessionId::parse(id)?).await?.session),
        None => {
            let chosen = Chosen { model, thinking, permission_mode, ..Chosen::default() };
            Some(caller.engine.unsaved_session(chosen, project_id)?)
        }
    };
    let tenant = caller.tenant().clone();
    let next = tenant.next_request(session.clone()).await?;
    Ok(Json(blocking(move || Ok(explain(&tenant, session.as_deref(), next))).await?))
}

fn explain(tenant: &Tenant, session: Option<&Session>, next: NextRequest) -> Prompt {
    let chosen = session.map(|session| session.chosen.clone()).unwrap_or_default();
    let body = tenant.models.body(&chosen, &next.request);
    let tokens = next.tokens(&body, &tenant.runtime.tokens);
    let NextRequest { system, request, left_out, .. } = next;
    let count = |text: &str| tenant.runtime.tokens.count_cached(text);
    let parts = system.parts.iter().map(|part| PromptPart {
        label: part.label.to_owned(),
        file: part.file.clone(),
        bytes: part.end - part.start,
        characters: part.characters,
        tokens: count(&system.text[part.start..part.end]),
        truncated: part.truncated,
        absent: part.absent.clone(),
        unreadable: part.unreadable,
        start: part.start,
        end: part.end,
    });
    let parts = parts.collect();
    let tools = body.get("tools").map(Value::to_string).unwrap_or_default();
    Prompt {
        parts,
        tools_bytes: tools.len(),
        tools_tokens: tokens.tools,
        total_bytes: body.to_string().len(),
        total_tokens: tokens.total(),
        message_tokens: tokens.messages,
        retrieved_tokens: tokens.retrieved,
        messages: request.messages.len() - usize::from(!system.text.is_empty()),
        left_out,
        request: body,
        system: system.text,
    }
}
