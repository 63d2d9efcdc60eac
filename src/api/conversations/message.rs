//! The messages of a conversation: one for each message of a person, and one for each answer, whatever number of segments
//! it has.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query};
use serde::Serialize;

use super::conversation::conversation_id;
use super::envelope::{Enveloped, EnvelopedError, Page, PageQuery, enveloped};
use super::steps::{ProcessStep, arguments_of, has_succeeded, result_of, steps_of};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::{Attachment, Message, Role, SessionId, ToolCall, turns};
use crate::engine::blocking;
use crate::engine::changes::Transcript;
use crate::tokens::Counter;

/// Number of messages in a page, unless the request says how many.
const DEFAULT_LIMIT: usize = 50;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ConversationMessage {
    /// Of an answer: that of its first segment.
    id: String,
    conversation_id: String,
    role: Role,
    /// The text of an answer, its segments joined by a blank line.
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<MessageAttachment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<MessageCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    process_steps: Vec<ProcessStep>,
    /// Tokens of the text; of an answer, all that the model wrote for it, as counted by the provider.
    token_count: u64,
    /// RFC 3339, UTC; `null` if unknown.
    created_at: Option<String>,
    /// Why the answer failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How the answer ended if it is not complete, such as `length`, `interrupted` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MessageAttachment {
    name: String,
    extension: String,
    /// The text of the file; empty for a picture.
    content: String,
    /// Where a picture is; absent for a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// A tool call, in the form of the OpenAI API with its result.
#[derive(Serialize, utoipa::ToSchema)]
pub struct MessageCall {
    id: String,
    /// Always `function`.
    r#type: &'static str,
    function: CalledFunction,
    /// JSON text: `{success: true, data}` or `{success: false, error}`; `null` while there is none.
    result: Option<String>,
    success: bool,
    /// Whether it was not run, because identical calls had been before it; the results of those count.
    skipped: bool,
    /// Seconds; `null` if it was not run.
    execution_time: Option<f64>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct CalledFunction {
    name: String,
    /// JSON text, as the call was recorded.
    arguments: String,
}

/// Returns the messages of a conversation, oldest first, in pages of 50. Compacted messages are part of it; replaced branches
/// are not.
#[utoipa::path(get, path = "/api/conversations/{id}/messages", tag = "conversations",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, body = Enveloped<Page<ConversationMessage>>),
              (status = 400, description = "bad_cursor, bad_limit", body = EnvelopedError),
              (status = 404, body = EnvelopedError)))]
pub async fn messages(
    caller: Caller,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Enveloped<Page<ConversationMessage>>>, ApiError> {
    let id = conversation_id(&id)?;
    let transcript = caller.engine.transcript(&id).await?;
    let all = transcript.all_messages();
    let groups = groups(&all);
    let range = page.range(groups.len(), DEFAULT_LIMIT, |cursor| {
        let found = groups.iter().position(|(id, _)| id == cursor).map(|at| at + 1);
        found.or_else(|| after_deleted(&transcript, (&groups, &all), cursor))
    })?;
    let (items, has_more) = (groups[range.clone()].to_vec(), range.end < groups.len());
    let last = items.last().map(|(id, _)| id.clone());
    let works = &transcript.session.works;
    let written = works.iter().map(|work| (work.work_id.to_string(), work.usage.output_tokens)).collect();
    let tenant = caller.tenant().clone();
    let shown = blocking(move || {
        let shaper = Shaper { conversation: &id, written: &written, tokens: &tenant.runtime.tokens };
        Ok(items.into_iter().map(|(id, range)| shaper.message(id, &all[range])).collect())
    });
    Ok(enveloped(Page::of(shown.await?, last.as_deref(), has_more)))
}

/// Returns the index of the group that followed a deleted message.
fn after_deleted(transcript: &Transcript, (groups, all): (&[Group], &[Arc<Message>]), id: &str) -> Option<usize> {
    let is_it = |message: &Arc<Message>| message.id.as_deref() == Some(id);
    let turn = transcript.session.deleted.iter().find(|turn| turn.messages.first().is_some_and(is_it))?;
    let end = match &turn.after {
        Some(after) => all.iter().position(|message| message.id.as_ref() == Some(after))? + 1,
        None => transcript.compacted.len(),
    };
    Some(groups.partition_point(|(_, range)| range.start < end))
}

/// Deletes a message, or an answer with all its tool calls and their results. What it changed in files stays. The message
/// remains in the session's file, but it is shown nowhere and no later request to a model contains it.
#[utoipa::path(delete, path = "/api/conversations/{id}/messages/{mid}", tag = "conversations",
    params(("id" = String, Path), ("mid" = String, Path, description = "Also the id of a segment of an answer")),
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "There is no such message; it may have been deleted", body = EnvelopedError),
              (status = 409, description = "busy: while it answers; compacted: a summary replaces the message",
               body = EnvelopedError)))]
pub async fn delete_message(
    caller: Caller,
    Path((id, mid)): Path<(String, String)>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    caller.engine.delete_message(&conversation_id(&id)?, &mid).await?;
    Ok(enveloped(None))
}

/// The id of a message, with the range of its segments.
type Group = (String, Range<usize>);

/// Returns the ids of the messages, each with the segments of which it consists as a range of all.
fn groups(all: &[Arc<Message>]) -> Vec<Group> {
    turns(all).map(|turn| (all[turn.start].id.clone().unwrap_or_else(|| format!("m{}", turn.start)), turn)).collect()
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// Makes messages of the document.
struct Shaper<'a> {
    conversation: &'a SessionId,
    /// Tokens that the model wrote, by work.
    written: &'a HashMap<String, u64>,
    tokens: &'a Counter,
}

impl Shaper<'_> {
    fn message(&self, id: String, segments: &[Arc<Message>]) -> ConversationMessage {
        let first = &segments[0];
        let texts = segments.iter().map(|segment| segment.content.as_str()).filter(|text| !text.is_empty());
        let text = texts.collect::<Vec<_>>().join("\n\n");
        let known = first.work_id.as_ref().and_then(|work| self.written.get(work.as_str()).copied());
        let written = known.filter(|tokens| is_answer(first) && *tokens > 0);
        ConversationMessage {
            id,
            conversation_id: self.conversation.to_string(),
            role: first.role,
            token_count: written.unwrap_or_else(|| self.tokens.count_cached(&text) as u64),
            text,
            attachments: first.attachments.iter().map(|file| self.attachment(file)).collect(),
            tool_calls: segments.iter().flat_map(|segment| &segment.tool_calls).map(shown_call).collect(),
            process_steps: steps_of(segments, 0),
            created_at: first.created_at.map(clock::rfc3339),
            error: segments.iter().find_map(|segment| segment.error.clone()),
            stop_reason: segments.last().and_then(|last| last.stop_reason.clone()),
        }
    }

    fn attachment(&self, file: &Attachment) -> MessageAttachment {
        let url = |hash: &str| format!("/api/sessions/{}/pictures/{hash}", self.conversation);
        MessageAttachment {
            name: file.name.clone(),
            extension: file.extension.clone(),
            content: file.content.clone(),
            url: file.picture.as_ref().map(|picture| url(&picture.hash)),
        }
    }
}

fn shown_call(call: &ToolCall) -> MessageCall {
    let result = result_of(call);
    MessageCall {
        id: call.id.clone().unwrap_or_default(),
        r#type: "function",
        function: CalledFunction { name: call.tool.clone(), arguments: arguments_of(call) },
        success: result.is_some() && has_succeeded(call),
        result: result.map(|result| result.to_string()),
        skipped: call.was_skipped(),
        execution_time: call.duration_ms.map(|milliseconds| milliseconds as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WorkId;

    fn message(role: Role, id: Option<&str>, work: Option<&str>) -> Arc<Message> {
        let (id, work_id) = (id.map(str::to_owned), work.map(WorkId::new));
        Arc::new(Message { id, work_id, ..Message::new(role, "text") })
    }

    #[test]
    fn answer_of_several_segments_is_one_message() {
        let all = [
            message(Role::User, Some("q"), Some("w")),
            message(Role::Assistant, Some("w.0"), Some("w")),
            message(Role::Assistant, Some("w.1"), Some("w")),
            message(Role::User, Some("q2"), Some("w2")),
            message(Role::User, Some("q3"), Some("w3")),
            message(Role::Assistant, Some("w3.0"), Some("w3")),
            message(Role::Assistant, Some("w4.0"), Some("w4")),
        ];
        let names: Vec<_> = groups(&all).into_iter().map(|(id, range)| format!("{id} {range:?}")).collect();
        assert_eq!(names, ["q 0..1", "w.0 1..3", "q2 3..4", "q3 4..5", "w3.0 5..6", "w4.0 6..7"]);
    }

    #[test]
    fn message_without_an_id_is_named_by_its_place() {
        let all = [message(Role::User, None, None), message(Role::Assistant, None, None)];
        let names: Vec<_> = groups(&all).into_iter().map(|(id, _)| id).collect();
        assert_eq!(names, ["m0", "m1"]);
        assert!(groups(&[]).is_empty());
    }
}
