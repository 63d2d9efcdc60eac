//! Token counts (cl100k_base, exact).

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{AutoCompact, Chosen, Place, ProjectId, SessionId};
use crate::engine::{Draft, RequestSize, blocking};
use crate::prompt::system::{MemoryMode, PART_LIMIT, Share, part_of, share};

/// The size of a session's next request in tokens.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionTokens {
    system_tokens: usize,
    tools_tokens: usize,
    /// The conversation, with its summary, earlier attachments and the draft.
    message_tokens: usize,
    /// Files attached to the draft.
    attachment_tokens: usize,
    /// Passages of memory, which are retrieved when the question is sent: about the most that they can have. 0 if memory
    /// is not searched.
    retrieved_tokens: usize,
    /// The sum; the same number as in the prompt X-ray.
    total_tokens: usize,
    /// Most tokens that a request may have: the context window without the space for the answer. Messages beyond it are
    /// left out, the oldest first. 0 if the context window is not known.
    limit_tokens: usize,
    /// Context window, in tokens, of the model that would answer; 0 if there is none or it is not known.
    context_window: u32,
    /// Number of the session's messages, counted from the first, that do not fit and will be left out.
    left_out: usize,
    /// Number of pinned messages, counted from the first, that do not fit beside the conversation and will be left out.
    pins_left_out: usize,
    /// Id of the first message that fits; null if all fit. A message without an id is called `m` and its number, counted
    /// from 0.
    first_sent: Option<String>,
    /// What happens when it nearly fills the context window.
    auto_compact: AutoCompact,
    /// Whether it nearly does: 80 % of `limit_tokens`, or a message is left out.
    nearly_full: bool,
}

impl From<RequestSize> for SessionTokens {
    fn from(size: RequestSize) -> Self {
        let nearly_full = size.is_nearly_full();
        let RequestSize { tokens, limit, context_window, left_out, pins_left_out, first_sent, auto_compact } = size;
        Self {
            auto_compact,
            nearly_full,
            system_tokens: tokens.system,
            tools_tokens: tokens.tools,
            message_tokens: tokens.messages,
            attachment_tokens: tokens.attachments,
            retrieved_tokens: tokens.retrieved,
            total_tokens: tokens.total(),
            limit_tokens: limit.unwrap_or(0),
            context_window,
            left_out,
            pins_left_out,
            first_sent,
        }
    }
}

/// A message that is not sent yet.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct DraftMessage {
    /// The session; absent for the first message of a new one.
    session_id: Option<String>,
    /// What is chosen for a new session.
    #[serde(default)]
    chosen: Chosen,
    /// The project that a new session would be bound to.
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    project_id: Option<ProjectId>,
    message: String,
    /// Tokens of its files, as `POST /api/tokens/attachment` counts them.
    #[serde(default)]
    attachment_tokens: u32,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct FilePaths {
    paths: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileTokens {
    /// Token count by path; null if the file is missing or not text.
    tokens: BTreeMap<String, Option<usize>>,
    total_tokens: usize,
}

/// Maximum number of files in one request.
const MAX_PATHS: usize = 1000;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct FileText {
    /// Path of the file that would have this text.
    path: String,
    text: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TextTokens {
    /// Tokens of the whole text.
    tokens: usize,
    characters: usize,
    /// Tokens that the text adds to each request; 0 if it is not part of each request.
    prompt_tokens: usize,
    /// How the file reaches the model.
    share: Share,
    /// Maximum characters of a file in a request.
    limit: usize,
    /// Whether the text is longer than `limit`, so that its rest is not sent.
    truncated: bool,
}

/// Counts the tokens of a text as if it were the content of a file.
///
/// Counts what would be sent. Nothing is saved.
#[utoipa::path(post, path = "/api/tokens/text", tag = "tokens", request_body = FileText,
    responses((status = 200, body = TextTokens), (status = 400, body = ErrorBody)))]
pub async fn text_tokens(
    caller: Caller,
    request: Result<JsonBody<FileText>, JsonRejection>,
) -> Result<Json<TextTokens>, ApiError> {
    let JsonBody(FileText { path, text }) = request?;
    let path = Place::parse(&path)?;
    let tenant = caller.tenant().clone();
    let counted = blocking(move || {
        let share = share(&path, MemoryMode::of(&tenant.home.settings()));
        let part = part_of(&path, &text);
        let (part, truncated) = part.filter(|_| share == Share::Each).unwrap_or_default();
        Ok(TextTokens {
            tokens: tenant.runtime.tokens.count(&text),
            characters: text.chars().count(),
            prompt_tokens: tenant.runtime.tokens.count(&part),
            share,
            limit: PART_LIMIT,
            truncated,
        })
    })
    .await?;
    Ok(Json(counted))
}

/// Counts the tokens of the session's next request, by origin.
#[utoipa::path(get, path = "/api/tokens/session/{id}", tag = "tokens", params(("id" = String, Path)),
    responses((status = 200, body = SessionTokens), (status = 404, body = ErrorBody)))]
pub async fn session_tokens(caller: Caller, Path(id): Path<String>) -> Result<Json<SessionTokens>, ApiError> {
    let session = caller.engine.view(&SessionId::parse(&id)?).await?.session;
    Ok(Json(caller.tenant().request_size(Some(session), Draft::default()).await?.into()))
}

/// Counts the tokens of the next request if this message were sent now.
///
/// Nothing is stored or sent.
#[utoipa::path(post, path = "/api/tokens/request", tag = "tokens", request_body = DraftMessage,
    responses((status = 200, body = SessionTokens),
              (status = 404, description = "No such session, or this home does not have the project", body = ErrorBody),
              (status = 413, body = ErrorBody)))]
pub async fn request_tokens(
    caller: Caller,
    request: Result<JsonBody<DraftMessage>, JsonRejection>,
) -> Result<Json<SessionTokens>, ApiError> {
    let JsonBody(DraftMessage { session_id, chosen, project_id, message, attachment_tokens }) = request?;
    let session = match session_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => Some(caller.engine.view(&SessionId::parse(id)?).await?.session),
        None => Some(caller.engine.unsaved_session(chosen, project_id)?),
    };
    let draft = Draft { text: message, attachments: attachment_tokens as usize };
    Ok(Json(caller.tenant().request_size(session, draft).await?.into()))
}

/// Counts the tokens of files.
///
/// Takes at most 1,000 paths.
#[utoipa::path(post, path = "/api/tokens/files", tag = "tokens", request_body = FilePaths,
    responses((status = 200, body = FileTokens), (status = 400, body = ErrorBody)))]
pub async fn file_tokens(
    caller: Caller,
    request: Result<JsonBody<FilePaths>, JsonRejection>,
) -> Result<Json<FileTokens>, ApiError> {
    let JsonBody(request) = request?;
    if request.paths.len() > MAX_PATHS {
        return Err(ApiError::bad_request("too_many", format!("at most {MAX_PATHS} paths in one request")));
    }
    let tenant = caller.tenant().clone();
    let tokens = blocking(move || {
        let count = |path: &str| {
            let text = tenant.home.read_text(&Place::parse(path).ok()?).ok()?;
            Some(tenant.runtime.tokens.count_cached(&text.content))
        };
        Ok(request.paths.into_iter().map(|path| (path.clone(), count(&path))).collect::<BTreeMap<_, _>>())
    })
    .await?;
    let total_tokens = tokens.values().flatten().sum();
    Ok(Json(FileTokens { tokens, total_tokens }))
}
