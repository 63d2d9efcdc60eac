//! A message that a citation names, with what was said around it: also one that a summary replaces or that is on another branch.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::sessions::rewind::{BranchPoint, point};
use crate::domain::{Message, MessagePosition, Role, Session, SessionId, name_in_transcript};
use crate::engine::blocking;
use crate::store::{SessionFiles, StoreError};

/// Maximum number of messages before it, and after it.
const MAX_AROUND: usize = 4;
/// Maximum bytes of a message around it.
const MAX_BYTES_AROUND: usize = 64 << 10;

#[derive(Serialize, utoipa::ToSchema)]
pub struct CitedMessage {
    position: MessagePosition,
    /// The message and those around it, in order. Long ones around it are left out, with those beyond them.
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    /// 0-based index of the message among these.
    index: usize,
    /// The branch that it is on; absent if it is on the current one, or if the branch has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<BranchPoint>,
}

/// Returns a message with what was said around it, also if a summary replaces it or it is on another branch. A deleted message is
/// not found.
#[utoipa::path(get, path = "/api/sessions/{id}/messages/{message_id}", tag = "sessions",
    params(("id" = String, Path), ("message_id" = String, Path, description = "its id; `m` and its index if it has none")),
    responses((status = 200, body = CitedMessage), (status = 404, body = ErrorBody)))]
pub async fn cited(
    caller: Caller,
    Path((id, message_id)): Path<(String, String)>,
) -> Result<Json<CitedMessage>, ApiError> {
    let id = SessionId::parse(&id)?;
    let session = caller.engine.view(&id).await?.session;
    let files = caller.tenant().home.session_files(&id);
    Ok(Json(blocking(move || found(&session, &files, &message_id)).await?))
}

/// Finds a message in a session: where it is shown, then in what summaries replace, then on other branches.
fn found(session: &Session, files: &SessionFiles, id: &str) -> Result<CitedMessage, StoreError> {
    let deleted: HashSet<&str> = session.deleted_messages().filter_map(|message| message.id.as_deref()).collect();
    let is_shown = |message: &Arc<Message>| {
        message.role != Role::System && !message.id.as_deref().is_some_and(|id| deleted.contains(id))
    };
    let around = |messages: &[Arc<Message>], position: MessagePosition| {
        let is_named = |(index, message): (usize, &Arc<Message>)| {
            name_in_transcript(message, (index, position)) == id && is_shown(message)
        };
        let at = messages.iter().enumerate().position(is_named)?;
        Some(excerpt(messages, (at, position), is_shown))
    };
    let current = || around(&session.messages, MessagePosition::Current);
    let compacted = || {
        // In a file that this home did not write, many parts can name one file.
        let mut read = HashSet::new();
        let parts = session.compacted.iter().rev().filter(|part| part.restored_at.is_none());
        parts.filter(|part| read.insert(&part.archive)).filter_map(|part| files.compacted(&part.archive).ok()).find_map(
            |messages| {
                let messages =
                    messages.into_iter().filter_map(|message| serde_json::from_value::<Message>(message).ok());
                around(&messages.map(Arc::new).collect::<Vec<_>>(), MessagePosition::Compacted)
            },
        )
    };
    let branches = || {
        session.branches.iter().find_map(|branch| {
            let found = around(&branch.messages, MessagePosition::Branch)?;
            Some(CitedMessage { branch: point(branch), ..found })
        })
    };
    let missing = || StoreError::NotFound { what: format!("message {id}") };
    current().or_else(compacted).or_else(branches).ok_or_else(missing)
}

/// Returns the message at an index with its neighbours.
fn excerpt(
    messages: &[Arc<Message>],
    (at, position): (usize, MessagePosition),
    is_shown: impl Fn(&Arc<Message>) -> bool,
) -> CitedMessage {
    let is_short = |message: &&Arc<Message>| size(message) <= MAX_BYTES_AROUND;
    let shown = |message: &&Arc<Message>| is_shown(message);
    let mut before: Vec<_> =
        messages[..at].iter().rev().filter(shown).take(MAX_AROUND).take_while(is_short).cloned().collect();
    before.reverse();
    let index = before.len();
    let after = messages[at + 1..].iter().filter(shown).take(MAX_AROUND).take_while(is_short);
    let messages = before.into_iter().chain([messages[at].clone()]).chain(after.cloned()).collect();
    CitedMessage { position, messages, index, branch: None }
}

/// Returns about how many bytes a message has.
fn size(message: &Message) -> usize {
    let files = message.attachments.iter().map(|file| file.content.len());
    let calls = message.tool_calls.iter().map(|call| call.input.len() + call.output.len());
    files.chain(calls).fold(message.content.len(), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(id: &str, text: &str) -> Arc<Message> {
        Arc::new(Message { id: Some(id.to_owned()), ..Message::new(Role::User, text) })
    }

    #[test]
    fn excerpt_has_few_and_short_neighbours() {
        let mut messages: Vec<_> = (0..20).map(|number| said(&format!("n{number}"), "Hello.")).collect();
        messages[8] = said("long", &"long ".repeat(20_000));
        messages[12] = said("hidden", "Deleted.");
        let ids = |found: &CitedMessage| {
            found.messages.iter().filter_map(|message| message.id.clone()).collect::<Vec<_>>().join(" ")
        };
        let is_shown = |message: &Arc<Message>| message.id.as_deref() != Some("hidden");
        let found = excerpt(&messages, (10, MessagePosition::Compacted), is_shown);
        assert_eq!((ids(&found).as_str(), found.index), ("n9 n10 n11 n13 n14 n15", 1));
        let found = excerpt(&messages, (8, MessagePosition::Branch), is_shown);
        assert_eq!((ids(&found).as_str(), found.index), ("n4 n5 n6 n7 long n9 n10 n11 n13", 4));
        let found = excerpt(&messages, (0, MessagePosition::Current), is_shown);
        assert_eq!((ids(&found).as_str(), found.index), ("n0 n1 n2 n3 n4", 0));
    }
}
