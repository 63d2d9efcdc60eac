//! Searches the titles and messages of all sessions.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Engine, EngineError};
use crate::domain::find::SearchTerms;
use crate::domain::{Role, Session, SessionId};

/// Maximum number of sessions in a result, and of messages of each.
const SESSIONS: usize = 40;
const MESSAGES: usize = 4;

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSessions {
    /// Sessions with matching titles first, then by the time of their last change, newest first.
    pub sessions: Vec<FoundSession>,
    /// Whether more sessions match than are returned.
    pub more: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundSession {
    pub id: String,
    pub title: String,
    pub updated_at: f64,
    /// Whether the title contains all words.
    pub in_title: bool,
    /// Number of messages that contain all words.
    pub found: usize,
    /// The first of these messages, at most four.
    pub messages: Vec<FoundMessage>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundMessage {
    /// The message's id; if it has none, `m` and its 0-based index.
    pub message_id: String,
    pub role: Role,
    /// The tool whose call contains the words; absent if the message's own text or an attachment does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Name of the attachment that contains the words; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// One line of text around the first word.
    pub excerpt: String,
}

impl Engine {
    /// Finds the sessions whose title or messages contain all words.
    pub async fn find(&self, wanted: SearchTerms) -> Result<FoundSessions, EngineError> {
        let running = self.running().await?;
        let log = &self.tenant.log;
        let mut found = log.scan(running, move |id, session| in_session(&wanted, id, session)).await?;
        found.sort_by(|a, b| {
            (b.in_title, b.updated_at).partial_cmp(&(a.in_title, a.updated_at)).unwrap_or_else(|| a.id.cmp(&b.id))
        });
        let more = found.len() > SESSIONS;
        found.truncate(SESSIONS);
        Ok(FoundSessions { sessions: found, more })
    }

    /// Returns the sessions with a run under way, from memory: their latest messages are not in their files yet.
    async fn running(&self) -> Result<HashMap<SessionId, Arc<Session>>, EngineError> {
        let mut sessions = HashMap::new();
        for id in self.tenant.runs.list() {
            match self.view(&id).await {
                Ok(view) => drop(sessions.insert(id, view.session)),
                // The session was just deleted.
                Err(EngineError::NoSession(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sessions)
    }
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
