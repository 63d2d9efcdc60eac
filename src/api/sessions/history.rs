//! The conversation of a session as a page shows it: whole, or from its end backwards in pages.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::requests::sent::{RetrievedWork, retrieved_works};
use crate::api::security::caller::Caller;
use crate::api::sessions::rewind::{BranchPoint, points};
use crate::api::sessions::transfer::{Parent, parent};
use crate::api::sessions::works::{Failure, WorkModel, failures_of, models_of, withdrawn_of};
use crate::domain::{
    Chosen, Message, PinnedMessage, ProjectId, QueuedMessage, Role, SessionId, Taint, TodoList, WorkId,
};
use crate::engine::{View, blocking};
use crate::store::StoreError;

/// Which messages of a session are wanted; all of them without any of these.
#[derive(Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryPage {
    /// Only the newest messages, at least this many. They begin with a message of the person, so that no answer is
    /// divided.
    last: Option<usize>,
    /// Only messages before the one with this id (`m` and its index if it has none); with `last`, the newest of those.
    before: Option<String>,
    /// With `last`: also all messages from the one with this id on, if the session contains it.
    from: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct History {
    session_id: String,
    title: String,
    #[schema(value_type = Vec<Message>)]
    messages: Vec<Arc<Message>>,
    /// Number of messages before these; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed_context: Option<String>,
    /// Id of the last event contained in this response: follow the events after it.
    last_event_id: String,
    running: Option<RunningWork>,
    /// The project that its tools work in; absent if they work in the home.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    project_id: Option<ProjectId>,
    /// The list of tasks that the model keeps; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    todo_list: Option<TodoList>,
    /// The model choice for the next message; absent if nothing was chosen.
    #[serde(skip_serializing_if = "Chosen::is_nothing")]
    chosen: Chosen,
    /// The model of each work of these messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    works: Vec<WorkModel>,
    /// The errors of failed works of these messages; their sentences are in the last messages of the works.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Failure>,
    /// Works of these messages that are withdrawn: no request contains their messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withdrawn: Vec<String>,
    /// The branches of the conversation: messages that an edit or a retry replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchPoint>,
    /// Works of these messages for which memory was searched; the results are at `works/{work_id}/retrieved`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retrieved: Vec<RetrievedWork>,
    /// The session and message it was branched off from; absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
    /// The sources of untrusted text that the conversation has read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taint: Vec<Taint>,
    /// Messages that run after the work under way, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue: Vec<QueuedMessage>,
    /// Pinned messages, whose text every request contains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<PinnedMessage>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RunningWork {
    work_id: String,
}

/// Returns the conversation so far, including tool calls. To read a long one in pages, ask for the `last` messages, then
/// for those `before` the first one received, until there are none `earlier`.
#[utoipa::path(get, path = "/api/sessions/{id}/history", tag = "sessions", params(("id" = String, Path), HistoryPage),
    responses((status = 200, body = History),
              (status = 404, description = "No such session, or no message with the id `before`", body = ErrorBody)))]
pub async fn history(
    caller: Caller,
    Path(id): Path<String>,
    Query(page): Query<HistoryPage>,
) -> Result<Json<History>, ApiError> {
    let id = SessionId::parse(&id)?;
    let View { session, last } = caller.engine.view(&id).await?;
    let range = range(&session.messages, &page)?;
    let messages: Vec<_> = session.messages[range.clone()].iter().map(without_reasoning).collect();
    let works: HashSet<&str> = messages.iter().filter_map(|m| m.work_id.as_ref()).map(WorkId::as_str).collect();
    let (home, of) = (caller.tenant().home.clone(), id.clone());
    let mut retrieved = blocking(move || Ok(retrieved_works(&home, &of))).await?;
    retrieved.retain(|work| works.contains(work.work_id()));
    Ok(Json(History {
        retrieved,
        session_id: id.to_string(),
        title: session.title.clone(),
        earlier: (range.start > 0).then_some(range.start),
        compressed_context: session.compressed_context.clone(),
        last_event_id: caller.tenant().hub.id(last).to_string(),
        project_id: session.project_id.clone(),
        todo_list: session.todo_list(),
        chosen: session.chosen.clone(),
        works: models_of(&session, &works),
        failures: failures_of(&session, &works),
        withdrawn: withdrawn_of(&session, &works),
        branches: points(&session),
        parent: parent(&session),
        taint: session.taint.clone(),
        queue: session.queue.clone(),
        pinned: session.pinned.clone(),
        running: session.running().map(|work| RunningWork { work_id: work.work_id.to_string() }),
        messages,
    }))
}

/// Returns a message without the sealed thoughts, which only their provider can read.
pub(in crate::api) fn without_reasoning(message: &Arc<Message>) -> Arc<Message> {
    match message.reasoning.is_empty() {
        true => message.clone(),
        false => Arc::new(Message { reasoning: Vec::new(), ..(**message).clone() }),
    }
}

/// Returns the messages that a page contains, as a range of all of them.
fn range(all: &[Arc<Message>], page: &HistoryPage) -> Result<Range<usize>, StoreError> {
    let at = |id: &str| all.iter().enumerate().position(|(i, message)| is_named(id, i, message));
    let end = match &page.before {
        Some(id) => at(id).ok_or_else(|| StoreError::NotFound { what: format!("message {id}") })?,
        None => all.len(),
    };
    let Some(last) = page.last else { return Ok(0..end) };
    let from = page.from.as_deref().and_then(at).unwrap_or(end);
    let at_most = end.saturating_sub(last).min(from);
    let begins = |message: &Arc<Message>| message.role == Role::User;
    // The end itself begins something too, so that no message is asked for in vain.
    let start = if at_most == end { end } else { all[..=at_most].iter().rposition(begins).unwrap_or(0) };
    Ok(start..end)
}

/// Whether this is the id of a message, or its index as `m0` if it has none.
fn is_named(id: &str, index: usize, message: &Message) -> bool {
    match &message.id {
        Some(own) => own == id,
        None => id.strip_prefix('m').and_then(|n| n.parse().ok()) == Some(index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, id: &str) -> Arc<Message> {
        Arc::new(Message { id: Some(id.to_owned()), ..Message::new(role, "text") })
    }

    #[test]
    fn page_begins_with_a_question_and_pages_join() {
        use Role::{Assistant, User};
        let roles = [Assistant, User, Assistant, Assistant, User, Assistant, User, User, Assistant];
        let all: Vec<_> = roles.iter().enumerate().map(|(i, role)| message(*role, &format!("m{i}"))).collect();
        for last in 1..=roles.len() + 1 {
            let mut page = HistoryPage { last: Some(last), ..HistoryPage::default() };
            let mut next = all.len();
            while next > 0 {
                let Range { start, end } = range(&all, &page).unwrap();
                assert_eq!(end, next);
                assert!(start == 0 || all[start].role == User, "{start}");
                assert!(end - start >= last.min(end));
                next = start;
                page.before = Some(format!("m{start}"));
            }
        }
    }

    #[test]
    fn messages_without_ids_have_their_index() {
        let all: Vec<_> = (0..4).map(|_| Arc::new(Message::new(Role::User, "text"))).collect();
        let page = HistoryPage { last: Some(1), before: Some("m3".to_owned()), from: Some("m1".to_owned()) };
        assert_eq!(range(&all, &page).unwrap(), 1..3);
    }

    #[test]
    fn from_extends_a_page_and_unknown_ids_do_not() {
        let all: Vec<_> = (0..6).map(|i| message(Role::User, &format!("m{i}"))).collect();
        let page = |last, before: Option<&str>, from: Option<&str>| {
            let [before, from] = [before, from].map(|id| id.map(str::to_owned));
            range(&all, &HistoryPage { last, before, from })
        };
        assert_eq!(page(None, None, None).unwrap(), 0..6);
        assert_eq!(page(Some(2), None, Some("m1")).unwrap(), 1..6);
        assert_eq!(page(Some(4), None, Some("m5")).unwrap(), 2..6);
        assert_eq!(page(Some(2), None, Some("gone")).unwrap(), 4..6);
        assert_eq!(page(Some(0), Some("m3"), None).unwrap(), 3..3);
        assert_eq!(page(None, Some("m3"), None).unwrap(), 0..3);
        assert_eq!(page(Some(1), Some("m0"), None).unwrap(), 0..0);
        assert!(matches!(page(Some(2), Some("gone"), None), Err(StoreError::NotFound { .. })));
        assert_eq!(range(&[], &HistoryPage { last: Some(3), ..HistoryPage::default() }).unwrap(), 0..0);
    }
}
