//! Searches the titles and messages of all sessions.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::find::SearchTerms;
use crate::domain::{Role, Session, SessionId};
use crate::engine::EngineError;

/// Maximum number of sessions in a response, and of messages of each.
const SESSIONS: usize = 40;
const MESSAGES: usize = 4;
/// Maximum length of a query, in characters.
const LONGEST: usize = 200;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchSessionsQuery {
    /// Words; all of them must occur in the title or in one message.
    q: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSessions {
    /// Sessions with matching titles first, then by the time of their last change, newest first.
    sessions: Vec<FoundSession>,
    /// Whether more sessions match than are returned.
    more: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSession {
    id: String,
    title: String,
    updated_at: f64,
    /// Whether the title contains all words.
    in_title: bool,
    /// Number of messages that contain all words.
    found: usize,
    /// The first of these messages, at most four.
    messages: Vec<FoundMessage>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundMessage {
    /// The message's id; if it has none, `m` and its 0-based index.
    message_id: String,
    role: Role,
    /// The tool whose call contains the words; absent if the message's own text or an attachment does.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Name of the attachment that contains the words; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    attachment: Option<String>,
    /// One line of text around the first word.
    excerpt: String,
}

/// Finds sessions whose title or messages contain all words.
#[utoipa::path(get, path = "/api/sessions/search", tag = "sessions", params(SearchSessionsQuery),
    responses((status = 200, body = FoundSessions), (status = 400, body = ErrorBody)))]
pub async fn find(caller: Caller, Query(looked): Query<SearchSessionsQuery>) -> Result<Json<FoundSessions>, ApiError> {
    if looked.q.chars().count() > LONGEST {
        return Err(ApiError::bad_request("too_long", format!("search for at most {LONGEST} characters")));
    }
    let Some(wanted) = SearchTerms::parse(&looked.q) else {
        return Err(ApiError::bad_request("no_words", "enter something to search for"));
    };
    let running = running(&caller).await?;
    let log = &caller.tenant().log;
    let mut found = log.scan(running, move |id, session| in_session(&wanted, id, session)).await?;
    found.sort_by(|a, b| {
        (b.in_title, b.updated_at).partial_cmp(&(a.in_title, a.updated_at)).unwrap_or_else(|| a.id.cmp(&b.id))
    });
    let more = found.len() > SESSIONS;
    found.truncate(SESSIONS);
    Ok(Json(FoundSessions { sessions: found, more }))
}

/// Returns the sessions with a run under way, from memory: their latest messages are not in their files yet.
async fn running(caller: &Caller) -> Result<HashMap<SessionId, Arc<Session>>, ApiError> {
    let mut sessions = HashMap::new();
    for id in caller.tenant().runs.list() {
        match caller.engine.view(&id).await {
            Ok(view) => drop(sessions.insert(id, view.session)),
            // The session was just deleted.
            Err(EngineError::NoSession(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sessions)
}

fn in_session(wanted: &SearchTerms, id: &SessionId, session: &Session) -> Option<FoundSession> {
    let in_title = wanted.are_in(&session.title);
    let found = wanted.find(session.messages.iter().map(Arc::as_ref));
    if !in_title && found.is_empty() {
        return None;
    }
    let messages = found.iter().take(MESSAGES).map(|hit| {
        let message = &session.messages[hit.index];
        FoundMessage {
            message_id: message.id.clone().unwrap_or_else(|| format!("m{}", hit.index)),
            role: message.role,
            tool: hit.tool.clone(),
            attachment: hit.attachment.clone(),
            excerpt: hit.excerpt.clone(),
        }
    });
    Some(FoundSession {
        id: id.to_string(),
        title: session.title.clone(),
        updated_at: session.updated_at,
        in_title,
        found: found.len(),
        messages: messages.collect(),
    })
}
