//! Compression: what would be compacted, a proposed summary, accepting it, and restoring the messages.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Event, Mention, Message, Session, SessionId, mentions};
use crate::engine::{Draft, EngineError, Plan, Proposal, Tenant, blocking};

/// Maximum length of an accepted summary, in characters. The model's own have at most 500.
const LONGEST: usize = 8000;
/// Maximum number of mentions listed; the rest is only counted.
const MOST_MENTIONS: usize = 300;

/// What a compression would remove from the conversation.
#[derive(Serialize, utoipa::ToSchema)]
pub struct CompressionPlan {
    session_id: String,
    /// Hash of this state of the conversation: a summary is made and accepted for it and for no other.
    hash: String,
    /// The messages that the summary would replace. Withdrawn ones between them are compacted too, but not summarised.
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    /// Number of messages that would stay.
    remaining_count: usize,
    /// Tokens of the next request as it is.
    tokens_before: usize,
    /// Tokens of the next request without these messages and without any summary of them.
    tokens_without: usize,
    /// What the messages mention, found by its form: file paths, addresses, ids, numbers, questions. The results of
    /// tools are not searched.
    mentions: Vec<Mention>,
    /// Number of mentions that are not listed.
    more_mentions: usize,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct PreviewRequest {
    /// The `hash` of the plan.
    hash: String,
}

/// A proposed summary. The session is unchanged.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProposedSummary {
    session_id: String,
    hash: String,
    summary: String,
    tokens_before: usize,
    /// Tokens of the next request if this summary were accepted unchanged.
    tokens_after: usize,
}

/// If empty, the model makes the summary, which takes effect at once.
#[derive(Default, Deserialize, utoipa::ToSchema)]
pub struct CompressRequest {
    /// The summary that replaces the messages; a person may have written or edited it. At most 8,000 characters.
    summary: Option<String>,
    /// The `hash` of the plan that the summary was made for. Required with `summary`.
    hash: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Compressed {
    archived_count: usize,
    remaining_count: usize,
    summary: String,
    /// Name of the file with the compacted messages; absent if the request contained no summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RestoredMessages {
    session_id: String,
    archive: String,
    restored_count: usize,
}

/// Returns what a compression would remove from the conversation. Asks no model and changes nothing.
#[utoipa::path(get, path = "/api/sessions/{id}/compress", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = CompressionPlan),
              (status = 400, description = "too_short: there is too little to compress", body = ErrorBody),
              (status = 404, body = ErrorBody), (status = 409, description = "busy: it is at work", body = ErrorBody)))]
pub async fn compression(caller: Caller, Path(id): Path<String>) -> Result<Json<CompressionPlan>, ApiError> {
    let id = SessionId::parse(&id)?;
    let plan = caller.engine.plan(&id).await?;
    let tenant = caller.tenant().clone();
    let mut without = (*plan.session).clone();
    without.messages.drain(..plan.count);
    let remaining_count = without.messages.len();
    let tokens_before = size(&tenant, plan.session.clone()).await?;
    let tokens_without = size(&tenant, Arc::new(without)).await?;
    let told = blocking(move || {
        let messages = plan.session.in_effect(&plan.session.messages[..plan.count]);
        let mut found = mentions(&messages);
        let more = found.len().saturating_sub(MOST_MENTIONS);
        found.truncate(MOST_MENTIONS);
        Ok(CompressionPlan {
            session_id: id.to_string(),
            remaining_count,
            tokens_before,
            tokens_without,
            hash: plan.hash,
            messages,
            mentions: found,
            more_mentions: more,
        })
    });
    Ok(Json(told.await?))
}

/// Returns the tokens of a session's next request.
async fn size(tenant: &Arc<Tenant>, session: Arc<Session>) -> Result<usize, EngineError> {
    Ok(tenant.request_size(Some(session), Draft::default()).await?.tokens.total())
}

/// Has the model propose a summary.
///
/// Changes nothing. If the client disconnects, the model request is cancelled.
#[utoipa::path(post, path = "/api/sessions/{id}/compress/preview", tag = "sessions", request_body = PreviewRequest,
    params(("id" = String, Path)),
    responses((status = 200, body = ProposedSummary), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "changed_since: the conversation is not the one of this hash; busy",
               body = ErrorBody)))]
pub async fn preview(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<PreviewRequest>, JsonRejection>,
) -> Result<Json<ProposedSummary>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(PreviewRequest { hash }) = request?;
    let (Plan { session, count, hash }, summary) = caller.engine.propose(&id, &hash).await?;
    let tenant = caller.tenant().clone();
    let mut after = (*session).clone();
    let compressed =
        Event::Compressed { count, summary: summary.clone(), archive: String::new(), sha256: None, automatic: false };
    after.apply(&compressed, after.updated_at);
    Ok(Json(ProposedSummary {
        session_id: id.to_string(),
        hash,
        tokens_before: size(&tenant, session).await?,
        tokens_after: size(&tenant, Arc::new(after)).await?,
        summary,
    }))
}

/// Compacts the first half of the messages, at least four, and replaces them by a summary.
///
/// The summary is the given one, for the conversation with the given hash, or one that the model makes.
#[utoipa::path(post, path = "/api/sessions/{id}/compress", tag = "sessions", request_body = CompressRequest,
    params(("id" = String, Path)),
    responses((status = 200, body = Compressed), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "changed_since: the conversation is not the one of this hash; busy",
               body = ErrorBody)))]
pub async fn compress(caller: Caller, Path(id): Path<String>, body: Bytes) -> Result<Json<Compressed>, ApiError> {
    let id = SessionId::parse(&id)?;
    let done = match accepted(&body)? {
        None => {
            let done = caller.engine.compress(&id).await?;
            (done, None)
        }
        Some(proposal) => {
            let done = caller.engine.accept(&id, proposal).await?;
            let archive = done.archive.clone();
            (done, Some(archive))
        }
    };
    let (done, archive) = done;
    Ok(Json(Compressed {
        archived_count: done.compacted,
        remaining_count: done.remaining,
        summary: done.summary,
        archive,
    }))
}

/// Parses an accepted summary; `None` if the body is empty.
fn accepted(body: &[u8]) -> Result<Option<Proposal>, ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let request: CompressRequest =
        serde_json::from_slice(body).map_err(|error| ApiError::bad_request("bad_json", error.to_string()))?;
    let (summary, hash) = match (request.summary, request.hash) {
        (None, None) => return Ok(None),
        (Some(summary), Some(hash)) => (summary.trim().to_owned(), hash),
        (Some(_), None) | (None, Some(_)) => {
            return Err(ApiError::bad_request("bad_json", "give `summary` and `hash` together, or neither"));
        }
    };
    if summary.is_empty() {
        return Err(ApiError::bad_request("empty_summary", "the summary is empty"));
    }
    let length = summary.chars().count();
    if length > LONGEST {
        let message = format!("the summary has {length} characters; the limit is {LONGEST}");
        return Err(ApiError::bad_request("too_long", message));
    }
    Ok(Some(Proposal { hash, summary }))
}

/// Restores compacted messages to their place and removes their summary.
#[utoipa::path(post, path = "/api/sessions/{id}/compacted/{name}/restore", tag = "sessions",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = RestoredMessages), (status = 404, body = ErrorBody),
              (status = 409, description = "stays_archived: the message says why; busy", body = ErrorBody)))]
pub async fn restore_compacted(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<RestoredMessages>, ApiError> {
    let id = SessionId::parse(&id)?;
    let restored_count = caller.engine.restore_compacted(&id, &name).await?;
    Ok(Json(RestoredMessages { session_id: id.to_string(), archive: name, restored_count }))
}
