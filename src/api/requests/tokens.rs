//! Token counts (cl100k_base, exact).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Place, Session, SessionId};
use crate::engine::{EngineError, Tenant, blocking};
use crate::prompt::budget::pictures;
use crate::prompt::system::{MemoryMode, PART_LIMIT, Share, part_of, share};
use crate::provider::ChatMessage;

#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionTokens {
    system_tokens: usize,
    message_tokens: usize,
    total_tokens: usize,
    /// Context window, in tokens, of the model that would answer; 0 if there is none.
    context_window: u32,
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
    request: Result<Json<FileText>, JsonRejection>,
) -> Result<Json<TextTokens>, ApiError> {
    let Json(FileText { path, text }) = request?;
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

/// Counts the tokens of the session's next request: system prompt and messages.
#[utoipa::path(get, path = "/api/tokens/session/{id}", tag = "tokens", params(("id" = String, Path)),
    responses((status = 200, body = SessionTokens), (status = 404, body = ErrorBody)))]
pub async fn session_tokens(caller: Caller, Path(id): Path<String>) -> Result<Json<SessionTokens>, ApiError> {
    let session = caller.engine.view(&SessionId::parse(&id)?).await?.session;
    let tenant = caller.tenant().clone();
    let context_window = tenant.models.status_of(&session.chosen).context_window;
    let counted = counted(&tenant, session).await?;
    Ok(Json(SessionTokens {
        system_tokens: counted.system,
        message_tokens: counted.messages,
        total_tokens: counted.total(),
        context_window,
    }))
}

/// Tokens of a session's next request.
pub(in crate::api) struct Counted {
    system: usize,
    messages: usize,
}

impl Counted {
    pub(in crate::api) fn total(&self) -> usize {
        self.system + self.messages
    }
}

/// Counts the tokens of the next request of this session.
pub(in crate::api) async fn counted(tenant: &Arc<Tenant>, session: Arc<Session>) -> Result<Counted, EngineError> {
    let (next, tokens) = (tenant.next_request(Some(session)).await?, tenant.runtime.tokens.clone());
    blocking(move || {
        let count = |text: &str| tokens.count_cached(text);
        let of = |message: &ChatMessage| match message {
            ChatMessage::System(_) => 0,
            ChatMessage::Pictured { content, .. } => count(content) + pictures(message),
            ChatMessage::User(text) | ChatMessage::Tool { content: text, .. } => count(text),
            ChatMessage::Assistant { content, calls, .. } => {
                count(content) + calls.iter().map(|call| count(&call.name) + count(&call.arguments)).sum::<usize>()
            }
        };
        let messages = next.request.messages.iter().map(of).sum();
        Ok(Counted { system: count(&next.system.text), messages })
    })
    .await
}

/// Counts the tokens of files.
///
/// Takes at most 1,000 paths.
#[utoipa::path(post, path = "/api/tokens/files", tag = "tokens", request_body = FilePaths,
    responses((status = 200, body = FileTokens), (status = 400, body = ErrorBody)))]
pub async fn file_tokens(
    caller: Caller,
    request: Result<Json<FilePaths>, JsonRejection>,
) -> Result<Json<FileTokens>, ApiError> {
    let Json(request) = request?;
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
