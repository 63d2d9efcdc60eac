//! Searching the titles and messages of all sessions.

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

/// Sessions answered with, and messages of each.
const SESSIONS: usize = 40;
const MESSAGES: usize = 4;
/// The longest query, in characters.
const LONGEST: usize = 200;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchSessionsQuery {
    /// Words; all of them must stand in a title or in one message.
    q: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSessions {
    /// Those whose title fits first, then the newest.
    sessions: Vec<FoundSession>,
    /// More fit than are shown.
    more: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSession {
    id: String,
    title: String,
    updated_at: f64,
    /// The words stand in the title.
    in_title: bool,
    /// How many messages hold the words.
    found: usize,
    /// The first of them.
    messages: Vec<FoundMessage>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundMessage {
    /// `m` and the message's number, from 0, where it has no id.
    message_id: String,
    role: Role,
    /// The tool in whose call the words stand, when it is not in what was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The file that was sent along, when they stand in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    attachment: Option<String>,
    /// One line around the first word.
    excerpt: String,
}

/// Sessions in whose title or messages all words stand.
#[utoipa::path(get, path = "/api/sessions/search", tag = "sessions", params(SearchSessionsQuery),
    responses((status = 200, body = FoundSessions), (status = 400, body = ErrorBody)))]
pub async fn find(caller: Caller, Query(looked): Query<SearchSessionsQuery>) -> Result<Json<FoundSessions>, ApiError> {
    if looked.q.chars().count() > LONGEST {
        return Err(ApiError::bad_request("too_long", format!("search for at most {LONGEST} characters")));
    }
    let Some(wanted) = SearchTerms::parse(&looked.q) else {
        return Err(ApiError::bad_request("no_words", "say what to look for"));
    };
    let running = running(&caller).await?;
    let log = &caller.tenant().log;
    let mut found = log
        .scan(move |stored| {
            let session = running.get(&stored.id).cloned().or_else(|| stored.read().map(Arc::new))?;
            in_session(&wanted, &stored.id, &session)
        })
        .await?;
    found.sort_by(|a, b| {
        (b.in_title, b.updated_at).partial_cmp(&(a.in_title, a.updated_at)).unwrap_or_else(|| a.id.cmp(&b.id))
    });
    let more = found.len() > SESSIONS;
    found.truncate(SESSIONS);
    Ok(Json(FoundSessions { sessions: found, more }))
}

/// Sessions at work: what they have said lately is not in their files yet.
async fn running(caller: &Caller) -> Result<HashMap<SessionId, Arc<Session>>, ApiError> {
    let mut sessions = HashMap::new();
    for id in caller.tenant().runs.list() {
        match caller.engine.view(&id).await {
            Ok(view) => drop(sessions.insert(id, view.session)),
            // Deleted in this moment.
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
