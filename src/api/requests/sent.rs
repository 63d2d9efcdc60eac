//! What was sent to the model for an answer: each request in pieces by origin, and how it differs from the request
//! before it.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::requests::changes::{Difference, compare};
use crate::api::security::caller::Caller;
use crate::domain::knowledge::Search;
use crate::domain::{SentPart, SentRequest, SessionId, Usage, WorkId};
use crate::engine::{Tenant, blocking};
use crate::prompt::budget::MESSAGE_OVERHEAD;
use crate::prompt::pictures::are_from_tools;
use crate::prompt::sent::{content, put_together};
use crate::prompt::system::CLIENT_LABEL;
use crate::prompt::tokens::of_message;
use crate::store::{FoundWork, Home, StoreError};

#[derive(Deserialize, utoipa::IntoParams)]
pub struct RequestsQuery {
    /// Return only the requests of this work.
    work_id: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SentRequests {
    /// In the order in which they were sent.
    requests: Vec<SentSummary>,
}

/// A request that was sent to the model.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SentSummary {
    /// Name of the request, unique in its session.
    name: String,
    work_id: String,
    /// 0-based index of the exchange in its work.
    dialogue: u32,
    /// 0-based attempt in the exchange. A request is repeated if it was too long or contained a field that was refused.
    attempt: u32,
    /// When the request was sent, in Unix seconds.
    at: f64,
    provider: String,
    model: String,
    /// Size of the whole body in bytes.
    bytes: usize,
    /// Number of the session's messages, counted from the first, that were left out because they did not fit.
    left_out: usize,
    /// Tokens as counted by the provider; null until it has answered.
    usage: Option<Usage>,
}

/// A request in pieces: tools, system prompt, messages. This is the order in which a provider's prompt cache sees them.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SentDetail {
    #[serde(flatten)]
    summary: SentSummary,
    /// The exact body; null when a piece is missing or damaged on disk.
    #[schema(value_type = Option<Object>)]
    body: Option<Value>,
    total_tokens: usize,
    pieces: Vec<Piece>,
    /// Difference from the previous request of this session; null for the oldest one that is stored.
    difference: Option<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The tools offered to the model.
    Tools,
    /// A file in the system prompt.
    File,
    /// Other text of the system prompt.
    Text,
    /// The instructions of a program that uses the OpenAI API.
    Client,
    History,
    /// Text that RAG mode retrieved.
    Retrieval,
    Question,
    /// Tool calls and results after the question.
    Work,
}

impl Origin {
    /// Returns the origin of a part of the system prompt.
    pub fn of_part(part: &SentPart) -> Self {
        match part.file {
            Some(_) => Self::File,
            None if part.label == CLIENT_LABEL => Self::Client,
            None => Self::Text,
        }
    }

    /// Returns whether it is that of a message.
    pub fn is_message(self) -> bool {
        !matches!(self, Self::Tools | Self::File | Self::Text | Self::Client)
    }
}

#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Piece {
    pub origin: Origin,
    /// The part's label; for a message, its role.
    pub label: String,
    pub file: Option<String>,
    /// First and last line of the file that are included, 1-based; null if the piece has no file.
    pub lines: Option<(u32, u32)>,
    pub bytes: usize,
    pub tokens: usize,
    pub truncated: bool,
    /// Why the part was left out; null if it was not.
    pub absent: Option<String>,
    /// A message as JSON, any other piece as plain text; null if it is missing or damaged on disk.
    pub text: Option<String>,
}

/// Lists the requests that were sent for a session's answers.
///
/// The last 200 requests of a session are stored, under `sessions/requests/`.
#[utoipa::path(get, path = "/api/sessions/{id}/requests", tag = "prompt", params(("id" = String, Path), RequestsQuery),
    responses((status = 200, body = SentRequests), (status = 404, body = ErrorBody)))]
pub async fn requests(
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<RequestsQuery>,
) -> Result<Json<SentRequests>, ApiError> {
    let id = SessionId::parse(&id)?;
    let (home, of) = (caller.tenant().home.clone(), id.clone());
    let all: Vec<_> = blocking(move || {
        let all = home.records().sent_requests(&of).into_iter();
        Ok(all.filter_map(|name| Some(summary(&name, &home.records().sent_request(&of, &name)?))).collect())
    })
    .await?;
    if all.is_empty() {
        caller.engine.view(&id).await?;
    }
    let wanted = |work: &str| query.work_id.as_deref().is_none_or(|wanted| wanted == work);
    let requests = all.into_iter().filter(|request: &SentSummary| wanted(&request.work_id)).collect();
    Ok(Json(SentRequests { requests }))
}

/// Returns one request exactly as it was sent, in pieces by origin, and how it differs from the one before.
#[utoipa::path(get, path = "/api/sessions/{id}/requests/{name}", tag = "prompt",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = SentDetail), (status = 404, body = ErrorBody)))]
pub async fn request(caller: Caller, Path((id, name)): Path<(String, String)>) -> Result<Json<SentDetail>, ApiError> {
    let id = SessionId::parse(&id)?;
    let tenant = caller.tenant().clone();
    let detail = blocking(move || {
        let missing = || StoreError::NotFound { what: format!("request {name} of session {id}") };
        detail(&tenant, &id, &name).ok_or_else(missing)
    })
    .await?;
    Ok(Json(detail))
}

/// Returns what RAG mode retrieved for a work. The model received it as it is here, without the weak hits if `withheld` counts any.
#[utoipa::path(get, path = "/api/sessions/{id}/works/{work_id}/retrieved", tag = "retrieval",
    params(("id" = String, Path), ("work_id" = String, Path)),
    responses((status = 200, body = Search), (status = 404, body = ErrorBody)))]
pub async fn retrieved(caller: Caller, Path((id, work_id)): Path<(String, String)>) -> Result<Json<Search>, ApiError> {
    let id = SessionId::parse(&id)?;
    let home = caller.tenant().home.clone();
    let search = blocking(move || {
        let missing = || StoreError::NotFound { what: format!("what was retrieved for work {work_id}") };
        home.records().found(&id, &WorkId::new(work_id.clone())).ok_or_else(missing)
    })
    .await?;
    Ok(Json(search))
}

/// A work for which memory was searched.
#[derive(Serialize, utoipa::ToSchema)]
pub struct RetrievedWork {
    work_id: String,
    /// Number of passages that the model received.
    hits: usize,
    /// Number of weak passages that it did not receive.
    withheld: usize,
}

impl RetrievedWork {
    pub(in crate::api) fn work_id(&self) -> &str {
        &self.work_id
    }
}

/// Returns the works of a session for which a search of memory is stored.
pub(in crate::api) fn retrieved_works(home: &Home, id: &SessionId) -> Vec<RetrievedWork> {
    let works = home.records().found_works(id).into_iter();
    let row = |FoundWork { work, hits, withheld }| RetrievedWork { work_id: work.to_string(), hits, withheld };
    works.map(row).collect()
}

fn summary(name: &str, request: &SentRequest) -> SentSummary {
    SentSummary {
        name: name.to_owned(),
        work_id: request.work_id.to_string(),
        dialogue: request.dialogue,
        attempt: request.attempt,
        at: request.at,
        provider: request.provider.clone(),
        model: request.model.clone(),
        bytes: request.bytes,
        left_out: request.left_out,
        usage: request.usage,
    }
}

/// A stored request with access to its texts.
pub(in crate::api) struct Opened<'a> {
    pub tenant: &'a Tenant,
    pub session: &'a SessionId,
    pub request: SentRequest,
}

impl Opened<'_> {
    pub fn text(&self, hash: &str) -> Option<String> {
        self.tenant.home.records().sent_text(self.session, hash)
    }

    pub fn count(&self, text: &str) -> usize {
        self.tenant.runtime.tokens.count_cached(text)
    }

    /// Returns the pieces in the order in which a provider's prompt cache sees them.
    pub fn pieces(&self) -> Vec<Piece> {
        let tools = self.request.tools.iter().map(|hash| self.piece(Origin::Tools, "", self.text(hash)));
        let system = self.request.system.iter().map(|part| self.part(part));
        let mut pieces: Vec<Piece> = tools.chain(system).collect();
        let messages: Vec<Option<String>> = self.request.messages.iter().map(|hash| self.text(hash)).collect();
        let parsed: Vec<Value> = messages.iter().map(|text| parse(text.as_deref())).collect();
        let question = parsed.iter().rposition(|message| message["role"] == "user" && !are_from_tools(message));
        for (at, (text, message)) in messages.into_iter().zip(&parsed).enumerate() {
            let role = message["role"].as_str().or_else(|| message["type"].as_str()).unwrap_or_default();
            let origin = match question {
                Some(question) if at == question => Origin::Question,
                Some(question) if at > question => Origin::Work,
                Some(_) | None => Origin::History,
            };
            match self.request.retrieved.filter(|retrieved| retrieved.message == at) {
                None => {
                    let tokens = of_message(message, &|text| self.count(text));
                    pieces.push(Piece { tokens, ..self.piece(origin, role, text) });
                }
                Some(found) => {
                    let words = content(message);
                    let own = words.get(..found.start).filter(|own| !own.is_empty()).map(str::to_owned);
                    let passages = self.piece(Origin::Retrieval, role, words.get(found.start..).map(str::to_owned));
                    // The message is that of its own text, if it has any.
                    let overhead = if own.is_some() { 0 } else { MESSAGE_OVERHEAD };
                    pieces.extend(own.map(|own| {
                        let piece = self.piece(origin, role, Some(own));
                        Piece { tokens: piece.tokens + MESSAGE_OVERHEAD, ..piece }
                    }));
                    pieces.push(Piece { tokens: passages.tokens + overhead, ..passages });
                }
            }
        }
        pieces
    }

    fn part(&self, part: &SentPart) -> Piece {
        let text = match &part.text {
            Some(hash) => self.text(hash),
            None => Some(String::new()),
        };
        let origin = Origin::of_part(part);
        Piece {
            file: part.file.clone(),
            lines: part.lines,
            truncated: part.truncated,
            absent: part.absent.clone(),
            ..self.piece(origin, &part.label, text)
        }
    }

    fn piece(&self, origin: Origin, label: &str, text: Option<String>) -> Piece {
        Piece {
            origin,
            label: label.to_owned(),
            file: None,
            lines: None,
            bytes: text.as_deref().map(str::len).unwrap_or_default(),
            tokens: text.as_deref().map(|text| self.count(text)).unwrap_or_default(),
            truncated: false,
            absent: None,
            text,
        }
    }
}

fn parse(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn detail(tenant: &Tenant, session: &SessionId, name: &str) -> Option<SentDetail> {
    let home = &tenant.home;
    let open = |name: &str| Some(Opened { tenant, session, request: home.records().sent_request(session, name)? });
    let opened = open(name)?;
    let names = home.records().sent_requests(session);
    let before = names.iter().take_while(|known| *known != name).last();
    let before = before.and_then(|before| Some((before, open(before)?)));
    let pieces = opened.pieces();
    let difference = before.map(|(name, before)| compare(name, (&before, &opened), &pieces));
    Some(SentDetail {
        summary: summary(name, &opened.request),
        body: put_together(&opened.request, |hash| opened.text(hash), |hash| home.session_files(session).picture(hash)),
        total_tokens: pieces.iter().map(|piece| piece.tokens).sum(),
        pieces,
        difference,
    })
}
