//! The frames of a chat stream (mini-OpenClaw document, "SSE 事件类型"), projected from events by pure functions.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::domain::knowledge::Search;
use crate::domain::{
    Approval, Attachment, CallStatus, Chosen, Decision, ElicitationAnswer, ErrorParams, Event, Hit, InputProgress,
    Outcome, QueuedMessage, Scope, SessionId, StatusKind, StoppedBy, Taint, message,
};
use crate::engine::{Publication, PublishedItem};

/// One frame; `type` is also the SSE event's name. Frames of the mini-OpenClaw document have its fields and some more.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Frame {
    /// A work began.
    UserMessage {
        work_id: String,
        message_id: String,
        content: String,
        /// Files sent with the message.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schema(value_type = Vec<Attachment>)]
        attachments: Vec<Arc<Attachment>>,
        /// The model that answers. Absent if it was not recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A message waits for the work under way to end, or a waiting one was edited. It leaves the queue with `unqueued`, or
    /// with the `user_message` of the same id.
    Queued {
        message: QueuedMessage,
    },
    /// A person removed a message from the queue.
    Unqueued {
        message_id: String,
    },
    /// The last work continues: its answer is not complete yet.
    WorkContinued {
        work_id: String,
    },
    /// RAG mode: what was found in memory for the question.
    Retrieval {
        query: String,
        results: Vec<Hit>,
        /// Details of the search; its hits are in `results`.
        search: Box<Search>,
    },
    /// A piece of the model's reasoning.
    Thinking {
        content: String,
    },
    /// A piece of the answer.
    Token {
        content: String,
    },
    ToolStart {
        tool: String,
        input: String,
        id: String,
        arguments: Value,
        index: u32,
        dialogue: u32,
    },
    ToolEnd {
        tool: String,
        output: String,
        id: String,
        status: CallStatus,
        operation_code: Vec<String>,
        /// The tool's whole answer: `{status, message, data, operationCode}`, as in the history.
        result: Value,
        duration_ms: u64,
        /// The sources of untrusted text in the output.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        taint: Vec<Taint>,
    },
    /// A person cleared the conversation's taint.
    TaintCleared {},
    /// A person pinned a message, or unpinned it.
    Pinned {
        message_id: String,
        pinned: bool,
    },
    /// A call waits for approval. Sent again, with new times, after a restart of the server.
    ApprovalRequest {
        #[serde(flatten)]
        approval: Box<Approval>,
        index: u32,
        dialogue: u32,
    },
    /// An approval was answered, expired or was cancelled.
    ApprovalResult {
        approval_id: String,
        call_id: String,
        decision: Decision,
        scope: Scope,
        reason: Option<String>,
        /// The person's own arguments, if they changed them; otherwise null.
        arguments: Option<Value>,
        /// What the person answered to the server of the tool; then the call goes on with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        elicited: Option<ElicitationAnswer>,
    },
    /// A person undid the change that a call made (`undone: true`), or redid it (`undone: false`).
    Undone {
        call_id: String,
        path: String,
        undone: bool,
    },
    /// A person withdrew a work (`withdrawn: true`), or reapplied it (`withdrawn: false`). The files changed before.
    Withdrawn {
        work_id: String,
        withdrawn: bool,
    },
    /// The conversation changed from this message on: reload the history.
    Branched {
        message_id: String,
    },
    /// Text follows a tool call: the next message of the answer begins.
    NewResponse {},
    /// What the work is waiting for; replaces the previous status.
    Status {
        kind: StatusKind,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        progress: Option<f32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
        /// Progress of a tool call's arguments; only with the kind `writing_input`.
        #[serde(skip_serializing_if = "Option::is_none")]
        writing: Option<InputProgress>,
    },
    /// Tokens of one exchange, as counted by the provider.
    Usage {
        input_tokens: u64,
        output_tokens: u64,
        cached_tokens: u64,
        context_window: u32,
        /// Number of the session's messages, counted from the first, that the request did not contain because they did not
        /// fit.
        left_out: usize,
    },
    /// The work ended. `content` is its whole text.
    Done {
        content: String,
        session_id: String,
        work_id: String,
        stop_reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Who stopped the work; absent unless it was interrupted.
        #[serde(skip_serializing_if = "Option::is_none")]
        stopped_by: Option<StoppedBy>,
    },
    /// The work failed.
    Error {
        error: String,
        session_id: String,
        work_id: String,
        code: String,
        retryable: bool,
        /// Values that `error` contains, by name.
        #[serde(rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
        #[schema(value_type = HashMap<String, String>)]
        params: ErrorParams,
    },
    Title {
        session_id: String,
        title: String,
    },
    /// The chosen model did not answer, and another one was asked instead.
    Model {
        work_id: String,
        model: String,
        instead_of: String,
    },
    /// A person chose a model, or whether it thinks, from the next message on.
    Chosen {
        chosen: Chosen,
    },
    /// The session works in another project from the next message on, or in none.
    Bound {
        project_id: Option<String>,
    },
    /// Output of a running tool, in addition to what it has written before. `tool_end` has all of it.
    ToolOutput {
        call_id: String,
        text: String,
    },
    /// The older half of the conversation was summarised.
    Compressed {
        archived_count: usize,
        /// Name with which the messages can be restored.
        archive: String,
        /// Nobody accepted the summary: `auto_compact` is on.
        automatic: bool,
    },
    /// Compacted messages were restored to the conversation.
    Restored {
        archive: String,
        restored_count: usize,
    },
    /// The events after the requested id are not available: reload the history, then continue with this stream.
    Gap {},
}

impl Frame {
    /// The SSE event's name.
    pub fn name(&self) -> &'static str {
        match self {
            Frame::UserMessage { .. } => "user_message",
            Frame::Retrieval { .. } => "retrieval",
            Frame::Thinking { .. } => "thinking",
            Frame::Token { .. } => "token",
            Frame::ToolStart { .. } => "tool_start",
            Frame::ToolEnd { .. } => "tool_end",
            Frame::ApprovalRequest { .. } => "approval_request",
            Frame::ApprovalResult { .. } => "approval_result",
            Frame::TaintCleared {} => "taint_cleared",
            Frame::Pinned { .. } => "pinned",
            Frame::Undone { .. } => "undone",
            Frame::Withdrawn { .. } => "withdrawn",
            Frame::Branched { .. } => "branched",
            Frame::NewResponse {} => "new_response",
            Frame::Status { .. } => "status",
            Frame::Usage { .. } => "usage",
            Frame::Done { .. } => "done",
            Frame::Error { .. } => "error",
            Frame::Title { .. } => "title",
            Frame::Model { .. } => "model",
            Frame::Chosen { .. } => "chosen",
            Frame::Bound { .. } => "bound",
            Frame::ToolOutput { .. } => "tool_output",
            Frame::Compressed { .. } => "compressed",
            Frame::Restored { .. } => "restored",
            Frame::Queued { .. } => "queued",
            Frame::Unqueued { .. } => "unqueued",
            Frame::WorkContinued { .. } => "work_continued",
            Frame::Gap {} => "gap",
        }
    }
}

/// Returns the frame for a search. The hits appear only in `results`; the texts of near misses are truncated to
/// `GLANCE` characters.
fn retrieval(search: &Search) -> Frame {
    const GLANCE: usize = 240;
    let mut short = Search { hits: Vec::new(), ..search.clone() };
    for miss in &mut short.near_misses {
        if let Some((end, _)) = miss.hit.text.char_indices().nth(GLANCE) {
            miss.hit.text.truncate(end);
            miss.hit.text.push('…');
        }
    }
    Frame::Retrieval { query: search.query.clone(), results: search.hits.clone(), search: Box::new(short) }
}

/// Returns the frame for a publication; `None` if the chat stream does not show it.
pub fn project(published: &Publication) -> Option<Frame> {
    let session = published.session.as_ref()?;
    match &published.what {
        PublishedItem::Event(event) => project_event(session, event),
        PublishedItem::Settled(_) | PublishedItem::Notice(_) => None,
    }
}

fn project_event(session: &SessionId, event: &Event) -> Option<Frame> {
    let frame = match event {
        Event::Titled { title } => Frame::Title { session_id: session.to_string(), title: title.clone() },
        Event::WorkStarted { work_id, message_id, content, attachments, model, .. } => Frame::UserMessage {
            work_id: work_id.to_string(),
            message_id: message_id.clone(),
            content: content.clone(),
            attachments: attachments.clone(),
            model: Some(model.clone()).filter(|model| !model.is_empty()),
        },
        Event::Queued { message } => Frame::Queued { message: message.clone() },
        Event::Unqueued { message_id, .. } => Frame::Unqueued { message_id: message_id.clone() },
        Event::WorkContinued { work_id, .. } | Event::WorkTakenOver { work_id, .. } => {
            Frame::WorkContinued { work_id: work_id.to_string() }
        }
        Event::ModelChanged { work_id, model, instead_of } => {
            Frame::Model { work_id: work_id.to_string(), model: model.clone(), instead_of: instead_of.clone() }
        }
        // The events that it consists of follow it as previews.
        Event::Changed { .. } => return None,
        Event::DialogueStarted { .. } | Event::Reasoned { .. } | Event::CallsRequested { .. } => return None,
        Event::ApprovalAsked { approval, dialogue, index, .. } => {
            Frame::ApprovalRequest { approval: Box::new((**approval).clone()), index: *index, dialogue: *dialogue }
        }
        Event::ApprovalAnswered { approval_id, call_id, answer, .. } => Frame::ApprovalResult {
            approval_id: approval_id.clone(),
            call_id: call_id.clone(),
            decision: answer.decision,
            scope: answer.scope,
            reason: answer.reason.clone(),
            arguments: answer.arguments.clone(),
            elicited: answer.elicited.as_deref().cloned(),
        },
        Event::SegmentStarted { segment, .. } => {
            if *segment == 0 {
                return None;
            }
            Frame::NewResponse {}
        }
        Event::Text { text, .. } => Frame::Token { content: text.clone() },
        Event::Thinking { text, .. } => Frame::Thinking { content: text.clone() },
        Event::ToolStarted { dialogue, index, call_id, tool, arguments, .. } => Frame::ToolStart {
            tool: tool.clone(),
            input: message::input_line(arguments),
            id: call_id.clone(),
            arguments: arguments.clone(),
            index: *index,
            dialogue: *dialogue,
        },
        Event::ToolFinished { call_id, tool, status, output, result, duration_ms, taint, .. } => Frame::ToolEnd {
            tool: tool.clone(),
            output: output.clone(),
            id: call_id.clone(),
            status: *status,
            operation_code: codes(result),
            result: result.clone(),
            duration_ms: *duration_ms,
            taint: taint.clone(),
        },
        Event::TaintCleared {} => Frame::TaintCleared {},
        Event::Pinned { message_id, pinned } => Frame::Pinned { message_id: message_id.clone(), pinned: *pinned },
        Event::Undone { call_id, path, undone } => {
            Frame::Undone { call_id: call_id.clone(), path: path.clone(), undone: *undone }
        }
        Event::Withdrawn { work_id, withdrawn, .. } => {
            Frame::Withdrawn { work_id: work_id.to_string(), withdrawn: *withdrawn }
        }
        Event::Deleted { message_id, .. } => Frame::Branched { message_id: message_id.clone() },
        Event::Branched { from, .. } => Frame::Branched { message_id: from.clone() },
        Event::DialogueFinished { usage, context_window, left_out, .. } => Frame::Usage {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            context_window: *context_window,
            left_out: *left_out,
        },
        Event::WorkFinished { work_id, outcome: Outcome::Error { error, code, retryable, params }, .. } => {
            Frame::Error {
                error: error.clone(),
                session_id: session.to_string(),
                work_id: work_id.to_string(),
                code: code.clone(),
                retryable: *retryable,
                params: params.clone(),
            }
        }
        Event::WorkFinished { work_id, outcome, content } => Frame::Done {
            content: content.to_string(),
            session_id: session.to_string(),
            work_id: work_id.to_string(),
            stop_reason: outcome.word().to_owned(),
            detail: outcome.detail().map(str::to_owned),
            stopped_by: outcome.stopped_by(),
        },
        Event::Chosen { chosen } => Frame::Chosen { chosen: chosen.clone() },
        Event::Bound { project_id } => Frame::Bound { project_id: project_id.as_ref().map(ToString::to_string) },
        Event::ToolOutput { call_id, text, .. } => Frame::ToolOutput { call_id: call_id.clone(), text: text.clone() },
        Event::Compressed { count, archive, automatic, .. } => {
            Frame::Compressed { archived_count: *count, archive: archive.clone(), automatic: *automatic }
        }
        Event::Restored { archive, messages, .. } => {
            Frame::Restored { archive: archive.clone(), restored_count: messages.len() }
        }
        Event::Retrieved { search, .. } => retrieval(search),
        Event::Status { status, message, progress, retry_in_ms, writing, .. } => Frame::Status {
            kind: *status,
            message: message.clone(),
            progress: *progress,
            retry_in_ms: *retry_in_ms,
            writing: writing.clone(),
        },
    };
    Some(frame)
}

fn codes(result: &Value) -> Vec<String> {
    let codes = result.get("operationCode").and_then(Value::as_array).into_iter().flatten();
    codes.filter_map(|code| code.as_str().map(str::to_owned)).collect()
}
