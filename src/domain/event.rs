//! Events. A session is the fold of its events; a view is a projection of them.
//!
//! An event is a **fact** when losing it would lose something (it is journaled before anyone sees it) and a **preview**
//! when it only says early what a fact will say in full, or describes the moment.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Answer, Approval};
use super::attachment::Attachment;
use super::chosen::Chosen;
use super::ids::WorkId;
use super::knowledge::Search;
use super::message::{CallStatus, Message};
use super::taint::Taint;
use super::work::{Outcome, Usage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session was given a name, by a person or by the model.
    Titled {
        title: String,
    },
    /// A person chose a model, or whether it thinks, for what is said from now on.
    Chosen {
        chosen: Chosen,
    },
    /// A person asked for something.
    WorkStarted {
        work_id: WorkId,
        message_id: String,
        content: String,
        /// Files that were sent along.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Arc<Attachment>>,
        model: String,
    },
    /// Another exchange with the model began; `dialogue` counts from 0 inside the work.
    DialogueStarted {
        work_id: WorkId,
        dialogue: u32,
    },
    /// The model did not answer, and another one was asked in its place.
    ModelChanged {
        work_id: WorkId,
        model: String,
        instead_of: String,
    },
    /// The answer's next assistant message began; `segment` counts from 0 inside the work.
    SegmentStarted {
        work_id: WorkId,
        dialogue: u32,
        segment: u32,
    },
    /// Text of the current segment from byte `at` on. Folding the same piece twice changes nothing.
    Text {
        work_id: WorkId,
        at: usize,
        text: String,
    },
    /// Thinking of the current segment from byte `at` on.
    Thinking {
        work_id: WorkId,
        at: usize,
        text: String,
    },
    /// What the model asked for in this exchange, where a person is asked about some of it: calls that come after one that
    /// waits are known after a restart.
    CallsRequested {
        work_id: WorkId,
        dialogue: u32,
        calls: Vec<RequestedCall>,
    },
    /// A call waits for a person. Asked again with the same id after a restart, with a new time.
    ApprovalAsked {
        work_id: WorkId,
        dialogue: u32,
        index: u32,
        approval: Arc<Approval>,
    },
    /// The answer, the end of the time for one, or the run's end.
    ApprovalAnswered {
        work_id: WorkId,
        approval_id: String,
        call_id: String,
        answer: Answer,
    },
    /// Recorded before the tool runs: after a crash it says that the outcome is unknown.
    ToolStarted {
        work_id: WorkId,
        dialogue: u32,
        index: u32,
        call_id: String,
        tool: String,
        arguments: Value,
    },
    ToolFinished {
        work_id: WorkId,
        call_id: String,
        tool: String,
        status: CallStatus,
        output: String,
        result: Value,
        duration_ms: u64,
        /// Where its output has text from that strangers may have written.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::taint::lenient")]
        taint: Vec<Taint>,
    },
    /// A person has said that the text from outside which the session has read does not count any more.
    TaintCleared {},
    /// A person undid the change a call made, or did it again.
    Undone {
        call_id: String,
        path: String,
        undone: bool,
    },
    /// The messages from `from` on were put aside, and the branch that begins with `to` took their place.
    Branched {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    DialogueFinished {
        work_id: WorkId,
        dialogue: u32,
        usage: Usage,
        context_window: u32,
    },
    /// The one terminal event of a work. `content` is all its text, for views; the messages hold it, so it is not stored.
    WorkFinished {
        work_id: WorkId,
        outcome: Outcome,
        #[serde(skip)]
        content: Arc<str>,
    },
    /// The first `count` messages went to the archive and `summary` stands for them.
    Compressed {
        count: usize,
        summary: String,
        archive: String,
        /// Of the archive's file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
    /// The messages of an archive are back where they stood, and their summary is gone.
    Restored {
        archive: String,
        messages: Vec<Arc<Message>>,
        /// This home did not write the archive.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        foreign: bool,
    },
    /// Preview: what RAG mode found for this request. Never stored.
    Retrieved {
        work_id: WorkId,
        search: Arc<Search>,
    },
    /// Preview: what is being waited for. Replaces the status before it.
    Status {
        work_id: WorkId,
        status: StatusKind,
        message: String,
        progress: Option<f32>,
        retry_in_ms: Option<u64>,
        writing: Option<InputProgress>,
    },
}

/// How much a model has written so far of what a tool is to be given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct InputProgress {
    /// As the model calls it, shortened where that is long.
    pub tool: String,
    pub bytes: usize,
}

/// A call of an exchange, exactly as the model sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    pub index: u32,
    pub call_id: String,
    pub tool: String,
    pub arguments: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusKind {
    StartingModel,
    ReadingPrompt,
    Waiting,
    Retrying,
    /// The model writes what a tool is to be given.
    WritingInput,
}

impl Event {
    pub fn work_id(&self) -> Option<&WorkId> {
        match self {
            Event::Titled { .. }
            | Event::Chosen { .. }
            | Event::Compressed { .. }
            | Event::Restored { .. }
            | Event::Undone { .. }
            | Event::TaintCleared {}
            | Event::Branched { .. } => None,
            Event::WorkStarted { work_id, .. }
            | Event::DialogueStarted { work_id, .. }
            | Event::ModelChanged { work_id, .. }
            | Event::SegmentStarted { work_id, .. }
            | Event::Text { work_id, .. }
            | Event::Thinking { work_id, .. }
            | Event::CallsRequested { work_id, .. }
            | Event::ApprovalAsked { work_id, .. }
            | Event::ApprovalAnswered { work_id, .. }
            | Event::ToolStarted { work_id, .. }
            | Event::ToolFinished { work_id, .. }
            | Event::DialogueFinished { work_id, .. }
            | Event::WorkFinished { work_id, .. }
            | Event::Retrieved { work_id, .. }
            | Event::Status { work_id, .. } => Some(work_id),
        }
    }
}

/// An event with its place in the session's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Dense inside a session, from 1. Order is by `seq`, never by the clock.
    pub seq: u64,
    /// Unix seconds.
    pub at: f64,
    pub event: Event,
}
