//! The frames that clients get, projected from events by pure functions.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::api::chat::frame::{self, Frame};
use crate::api::error::ApiError;
use crate::domain::{
    Approval, CallStatus, Cost, ErrorParams, Event, Message, Outcome, Role, Session, Shown, StoppedBy, Taint, Usage,
    Work, WorkId,
};
use crate::engine::{EventId, MessageState, Publication, PublishedItem};

/// A frame without its id.
#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SocketFrame {
    /// The conversation so far. It replaces what the client has.
    History {
        session_id: String,
        messages: Vec<Arc<Message>>,
        /// Number of messages before these, which `GET /api/sessions/{id}/history?before=` returns; absent if there are none.
        #[serde(skip_serializing_if = "Option::is_none")]
        earlier: Option<usize>,
        /// The work under way; the last messages are what it has done so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        running: Option<WorkId>,
    },
    Status(Status),
    /// A piece of the answer. A work has several segments if text follows tool calls.
    AssistantText {
        work_id: WorkId,
        segment: u32,
        delta: String,
    },
    /// A piece of the model's reasoning before the text of a segment.
    Thinking {
        work_id: WorkId,
        segment: u32,
        delta: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
        work_id: WorkId,
    },
    ToolResult(Box<CallResult>),
    ApprovalRequest(Box<Question>),
    /// A work has ended, and not with an error.
    Result(Box<WorkResult>),
    /// A work has failed, or a frame of the client is refused.
    Error(ErrorFrame),
}

/// Something else that a client may show.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Status {
    /// A frame of the other streams, as it is there.
    Frame(Box<Frame>),
    Own(OwnStatus),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OwnStatus {
    /// The stream goes on after the id that the client has named; what it missed follows.
    Resumed { session_id: String },
    /// A message was taken. Its work begins with a `user_message`.
    Accepted { work_id: WorkId, state: MessageState, reply_to: Value },
    /// Whether a work was under way.
    Interrupted { interrupted: bool, reply_to: Value },
    /// An answer to a question counts.
    Answered { request_id: String, reply_to: Value },
    /// The session was archived; a new one begins with the `HISTORY` that follows.
    Cleared { archived: String, session_id: String, reply_to: Value },
    /// The client has said who it is. `may_answer`: it can answer questions.
    Welcome { may_answer: bool, reply_to: Value },
}

/// What a call has led to.
#[derive(Serialize)]
pub struct CallResult {
    id: String,
    name: String,
    /// What the model reads.
    output: String,
    status: CallStatus,
    /// The tool's whole answer: `{status, message, data, operationCode}`.
    result: Value,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taint: Vec<Taint>,
    work_id: WorkId,
}

/// A call that waits for a person.
#[derive(Serialize)]
pub struct Question {
    /// Names exactly this question: a rehearsed call is asked about again under another one.
    pub request_id: String,
    /// Of what is shown. An answer may repeat it.
    hash: String,
    tool_name: String,
    tool_input: Value,
    /// The id of the call.
    id: String,
    shown: Shown,
    /// Unix seconds.
    expires_at: f64,
}

#[derive(Serialize)]
pub struct WorkResult {
    work_id: WorkId,
    stop_reason: &'static str,
    /// Null if it is not known any more, as while the server stops.
    usage: Option<Usage>,
    /// What the tokens with a known price cost; null if no price is known.
    cost: Option<Cost>,
    /// Since the work began for the first time.
    duration_ms: Option<u64>,
    /// The whole text of the answer.
    content: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<StoppedBy>,
}

#[derive(Serialize)]
pub struct ErrorFrame {
    pub code: String,
    pub message: String,
    /// Of the refused frame.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub reply_to: Value,
    /// Of the failed work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Values that `message` contains, by name.
    #[serde(rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
    pub params: ErrorParams,
}

/// What a publication leads to.
pub enum Projected {
    Nothing,
    Frame(SocketFrame),
    /// A frame after which the conversation is another one, and is sent anew.
    Replaced(SocketFrame),
    /// A work has ended; its usage is in the session.
    Finished(FinishedEvent),
}

pub struct FinishedEvent {
    pub work_id: WorkId,
    outcome: Outcome,
    content: Arc<str>,
}

impl FinishedEvent {
    /// Returns the frame of the end of a work, with what the session knows of it.
    pub fn frame(self, work: Option<&Work>) -> SocketFrame {
        let Self { work_id, outcome, content } = self;
        if let Outcome::Error { error, code, retryable, params } = outcome {
            let (work_id, retryable) = (Some(work_id), Some(retryable));
            return ErrorFrame { code, message: error, reply_to: Value::Null, work_id, retryable, params }.into();
        }
        let ended = work.and_then(|work| Some((work.finished_at? - work.created_at).max(0.0)));
        SocketFrame::Result(Box::new(WorkResult {
            stop_reason: outcome.word(),
            usage: work.map(|work| work.usage),
            cost: work.and_then(|work| work.usage.cost),
            // A conversion of a float to an integer saturates.
            duration_ms: ended.map(|seconds| (seconds * 1000.0) as u64),
            content,
            detail: outcome.detail().map(str::to_owned),
            stopped_by: outcome.stopped_by(),
            work_id,
        }))
    }
}

impl ErrorFrame {
    /// Returns the frame that refuses another one, whose id is `reply_to`.
    pub fn refusal(error: ApiError, reply_to: Value) -> Self {
        let ApiError { code, message, params, .. } = error;
        Self { code: code.to_owned(), message, reply_to, work_id: None, retryable: None, params }
    }
}

impl From<ErrorFrame> for SocketFrame {
    fn from(error: ErrorFrame) -> Self {
        Self::Error(error)
    }
}

impl Question {
    pub fn of(approval: &Approval) -> Self {
        Self {
            request_id: request_id(approval),
            hash: approval.hash.clone(),
            tool_name: approval.tool.clone(),
            tool_input: approval.arguments.clone(),
            id: approval.call_id.clone(),
            shown: approval.shown.clone(),
            expires_at: approval.expires_at,
        }
    }
}

/// Returns a name of exactly this question: an approval that is asked again with something else shown has another hash.
pub fn request_id(approval: &Approval) -> String {
    format!("{}.{}", approval.id, approval.hash)
}

/// Returns the id and the hash of the approval that a question's name contains.
pub fn approval_of(request_id: &str) -> Option<(&str, &str)> {
    request_id.rsplit_once('.')
}

/// Returns what a publication of a session leads to. `segment` is the one that pieces of text belong to.
pub fn project(published: &Publication, segment: &mut u32) -> Projected {
    let (Some(_), PublishedItem::Event(event)) = (&published.session, &published.what) else {
        return Projected::Nothing;
    };
    let frame = match event {
        Event::SegmentStarted { segment: begun, .. } => {
            *segment = *begun;
            return Projected::Nothing;
        }
        Event::Text { work_id, text, .. } => {
            SocketFrame::AssistantText { work_id: work_id.clone(), segment: *segment, delta: text.clone() }
        }
        Event::Thinking { work_id, text, .. } => {
            SocketFrame::Thinking { work_id: work_id.clone(), segment: *segment, delta: text.clone() }
        }
        Event::ToolStarted { work_id, call_id, tool, arguments, .. } => SocketFrame::ToolUse {
            id: call_id.clone(),
            name: tool.clone(),
            input: arguments.clone(),
            work_id: work_id.clone(),
        },
        Event::ToolFinished { work_id, call_id, tool, status, output, result, duration_ms, taint } => {
            SocketFrame::ToolResult(Box::new(CallResult {
                id: call_id.clone(),
                name: tool.clone(),
                output: output.clone(),
                status: *status,
                result: result.clone(),
                duration_ms: *duration_ms,
                taint: taint.clone(),
                work_id: work_id.clone(),
            }))
        }
        Event::ApprovalAsked { approval, .. } => SocketFrame::ApprovalRequest(Box::new(Question::of(approval))),
        Event::WorkFinished { work_id, outcome, content } => {
            let (work_id, outcome, content) = (work_id.clone(), outcome.clone(), content.clone());
            return Projected::Finished(FinishedEvent { work_id, outcome, content });
        }
        Event::WorkStarted { .. } => {
            *segment = 0;
            return status(published);
        }
        Event::Branched { .. } | Event::Deleted { .. } | Event::Compressed { .. } | Event::Restored { .. } => {
            return match status(published) {
                Projected::Frame(frame) => Projected::Replaced(frame),
                other => other,
            };
        }
        _ => return status(published),
    };
    Projected::Frame(frame)
}

/// Returns the frame of the other streams as a `STATUS`.
fn status(published: &Publication) -> Projected {
    match frame::project(published) {
        Some(frame) => Projected::Frame(SocketFrame::Status(Status::Frame(Box::new(frame)))),
        None => Projected::Nothing,
    }
}

impl From<OwnStatus> for SocketFrame {
    fn from(status: OwnStatus) -> Self {
        Self::Status(Status::Own(status))
    }
}

/// Encodes a frame as JSON text, with the id of the event that it shows, if it shows one.
pub fn encode(frame: &SocketFrame, id: Option<&EventId>) -> String {
    #[derive(Serialize)]
    struct Envelope<'a> {
        #[serde(flatten)]
        frame: &'a SocketFrame,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    }
    let envelope = Envelope { frame, id: id.map(ToString::to_string) };
    serde_json::to_string(&envelope).expect("frames have string keys and finite numbers, so they are JSON")
}

/// Maximum bytes of the messages of a `HISTORY`, unless one message is longer: many clients refuse frames of over 1 MiB.
const MAX_HISTORY: usize = 768 << 10;

/// Returns the index of the first of the newest messages that a `HISTORY` contains.
pub fn newest_that_fit(messages: &[Arc<Message>]) -> usize {
    let mut room = MAX_HISTORY;
    let fits = messages.iter().rev().enumerate().take_while(|(place, message)| {
        let size = serde_json::to_string(message).map_or(0, |text| text.len());
        let fits = size <= room || *place == 0;
        room = room.saturating_sub(size);
        fits
    });
    messages.len() - fits.count()
}

/// Returns the segment that the next piece of text belongs to, where a stream goes on that has missed these publications of what
/// the session contains.
pub fn segment_of<'p>(session: &Session, missed: impl IntoIterator<Item = &'p Arc<Publication>>) -> u32 {
    let events: Vec<&Event> = missed.into_iter().filter_map(|published| event_of(published)).collect();
    let first = events.iter().find_map(|event| event.work_id());
    // The last work may be continued, in the segment in which it ended.
    let Some(work) = first.or_else(|| session.works.last().map(|work| &work.work_id)) else { return 0 };
    let begins = |event: &&&Event| matches!(event, Event::SegmentStarted { work_id, .. } if work_id == work);
    // Each segment is a message.
    let is_segment =
        |message: &&Arc<Message>| message.role == Role::Assistant && message.work_id.as_ref() == Some(work);
    let segments = session.messages.iter().filter(is_segment).count();
    u32::try_from(segments.saturating_sub(1 + events.iter().filter(begins).count())).unwrap_or_default()
}

fn event_of(published: &Publication) -> Option<&Event> {
    match &published.what {
        PublishedItem::Event(event) => Some(event),
        PublishedItem::Settled(_) | PublishedItem::Notice(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn history_is_the_newest_messages_that_fit() {
        let message = |size: usize| Arc::new(Message::new(Role::User, "x".repeat(size)));
        assert_eq!(newest_that_fit(&[]), 0);
        assert_eq!(newest_that_fit(&[message(10), message(10)]), 0);
        assert_eq!(newest_that_fit(&[message(MAX_HISTORY / 2), message(MAX_HISTORY / 2), message(10)]), 1);
        assert_eq!(newest_that_fit(&[message(10), message(2 * MAX_HISTORY)]), 1, "never none");
    }

    #[test]
    fn frame_is_type_data_and_id() {
        let frame = SocketFrame::AssistantText { work_id: WorkId::new("w"), segment: 1, delta: "Hi".to_owned() };
        let id = EventId { boot: "b".to_owned(), number: 7 };
        let data = json!({"work_id": "w", "segment": 1, "delta": "Hi"});
        let told: Value = serde_json::from_str(&encode(&frame, Some(&id))).unwrap();
        assert_eq!(told, json!({"type": "ASSISTANT_TEXT", "data": data, "id": "b.7"}));
    }

    #[test]
    fn failed_work_is_an_error_and_any_other_end_a_result() {
        let finished = |outcome| FinishedEvent { work_id: WorkId::new("w"), outcome, content: "text".into() };
        let failed = Outcome::Error {
            error: "No network.".to_owned(),
            code: "unreachable".to_owned(),
            retryable: true,
            params: ErrorParams::new(),
        };
        let told: Value = serde_json::from_str(&encode(&finished(failed).frame(None), None)).unwrap();
        let data = json!({"code": "unreachable", "message": "No network.", "work_id": "w", "retryable": true});
        assert_eq!(told, json!({"type": "ERROR", "data": data}));
        let stopped = Outcome::Interrupted { detail: "stopped".to_owned(), by: StoppedBy::Person };
        let told: Value = serde_json::from_str(&encode(&finished(stopped).frame(None), None)).unwrap();
        assert_eq!((&told["type"], &told["data"]["stop_reason"]), (&json!("RESULT"), &json!("interrupted")));
        assert_eq!((&told["data"]["usage"], &told["data"]["cost"]), (&Value::Null, &Value::Null));
    }
}
