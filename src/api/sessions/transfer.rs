//! Exporting, importing and branching sessions.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::sessions::session::{Busy, SessionSummary, shown};
use crate::domain::picture::MOST_PICTURE_BYTES;
use crate::domain::written::markdown;
use crate::domain::{NewPicture, Session, SessionId, without_claims};
use crate::engine::export::ExportedSession;
use crate::engine::{BranchEnd, blocking};

/// Field of an exported session with its compacted messages, by file name.
const ARCHIVES: &str = "archives";
/// Field of an exported session with its pictures: bytes in base64, by hash.
const PICTURES: &str = "pictures";

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    #[param(inline)]
    format: Format,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Markdown, for reading.
    Md,
    /// JSON, for import: the session's file with its compacted messages and its pictures.
    Json,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct BranchOff {
    message_id: String,
    cut: CutAt,
}

#[derive(Clone, Copy, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CutAt {
    /// The new session ends before the message.
    Before,
    /// The new session includes the message.
    After,
}

/// Exports a session as a file.
#[utoipa::path(get, path = "/api/sessions/{id}/export", tag = "sessions", params(("id" = String, Path), ExportQuery),
    responses((status = 200, body = String, content_type = "text/markdown"), (status = 404, body = ErrorBody)))]
pub async fn export(
    caller: Caller,
    Path(id): Path<String>,
    Query(wanted): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let id = SessionId::parse(&id)?;
    let (kind, ending, text) = match wanted.format {
        Format::Md => {
            let session = caller.engine.view(&id).await?.session;
            ("text/markdown; charset=utf-8", "md", markdown(&session))
        }
        Format::Json => {
            let exported = caller.engine.export(&id).await?;
            let encode = move || Ok(json(exported));
            ("application/json", "json", blocking(encode).await?)
        }
    };
    let disposition = format!("attachment; filename=\"{id}.{ending}\"");
    let headers: [(HeaderName, String); 2] =
        [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, text).into_response())
}

fn json(ExportedSession { session, compacted, pictures }: ExportedSession) -> String {
    let archives = compacted.into_iter().map(|part| (part.name, Value::Array(part.messages)));
    let pictures = pictures.into_iter().map(|one| (one.hash, STANDARD.encode(&one.bytes).into()));
    let more: [(&str, Map<String, Value>); 2] = [(ARCHIVES, archives.collect()), (PICTURES, pictures.collect())];
    let mut value = serde_json::to_value(&*session).expect("a session is JSON");
    if let Value::Object(fields) = &mut value {
        let more = more.into_iter().filter(|(_, all)| !all.is_empty());
        fields.extend(more.map(|(name, all)| (name.to_owned(), Value::Object(all))));
    }
    let mut text = serde_json::to_string_pretty(&value).expect("a JSON value is JSON");
    text.push('\n');
    text
}

/// Imports an exported session under a new id.
///
/// All messages are kept. Nothing in it runs by itself.
#[utoipa::path(post, path = "/api/sessions/import", tag = "sessions", request_body = Value,
    responses((status = 200, body = SessionSummary), (status = 400, body = ErrorBody)))]
pub async fn import(
    caller: Caller,
    request: Result<JsonBody<Map<String, Value>>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let JsonBody(mut fields) = request?;
    let bad = |what: &str| ApiError::bad_request("bad_session", format!("not an exported session: {what}"));
    let archives: BTreeMap<String, Vec<Value>> = match fields.remove(ARCHIVES) {
        None => BTreeMap::new(),
        Some(archives) => serde_json::from_value(archives).map_err(|error| bad(&error.to_string()))?,
    };
    let pictures: BTreeMap<String, String> = match fields.remove(PICTURES) {
        None => BTreeMap::new(),
        Some(pictures) => serde_json::from_value(pictures).map_err(|error| bad(&error.to_string()))?,
    };
    if !fields.get("messages").is_some_and(Value::is_array) {
        return Err(bad("it has no messages"));
    }
    without_claims(&mut fields);
    let session: Session = serde_json::from_value(Value::Object(fields)).map_err(|error| bad(&error.to_string()))?;
    let summary = caller.engine.import(session, archives, decoded(pictures)).await?;
    Ok(Json(shown(&Busy::of(&caller), &summary)))
}

/// Decodes the pictures. Damaged or too large ones are dropped; the session shows a note in their place.
fn decoded(pictures: BTreeMap<String, String>) -> Vec<NewPicture> {
    let decoded = pictures.into_iter().filter_map(|(hash, text)| {
        let bytes = STANDARD.decode(text).ok().filter(|bytes| bytes.len() <= MOST_PICTURE_BYTES)?;
        Some(NewPicture { hash, bytes: bytes.into() })
    });
    decoded.collect()
}

/// The session and message that a session was branched off from. Either may have been deleted since.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct Parent {
    session_id: String,
    message_id: String,
}

/// Returns the parent that [`Engine::branch`](crate::engine::Engine::branch) recorded; `None` if its id is invalid.
pub(in crate::api) fn parent(session: &Session) -> Option<Parent> {
    let parent: Parent = serde_json::from_value(session.extra.get("parent")?.clone()).ok()?;
    SessionId::parse(&parent.session_id).ok().map(|_| parent)
}

/// Creates a session with the messages of this one up to a message.
#[utoipa::path(post, path = "/api/sessions/{id}/branch", tag = "sessions", request_body = BranchOff,
    params(("id" = String, Path)), responses((status = 200, body = SessionSummary), (status = 404, body = ErrorBody)))]
pub async fn branch(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<BranchOff>, JsonRejection>,
) -> Result<Json<SessionSummary>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(off) = request?;
    let cut = match off.cut {
        CutAt::Before => BranchEnd::Before,
        CutAt::After => BranchEnd::After,
    };
    let Some(summary) = caller.engine.branch(&id, &off.message_id, cut).await? else {
        let message = format!("session {id} has no message {}", off.message_id);
        return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message));
    };
    Ok(Json(shown(&Busy::of(&caller), &summary)))
}
