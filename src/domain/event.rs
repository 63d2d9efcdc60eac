//! Events. A session is the fold of its events; a view is a projection of them.
//!
//! An event is a **fact** if losing it would lose data (it is journaled before anyone sees it), and a **preview** if it
//! only says early what a fact will say in full, or describes the moment.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Approval, ApprovalAnswer};
use super::attachment::Attachment;
use super::chosen::Chosen;
use super::client::ClientRequest;
use super::ids::{ProjectId, WorkId};
use super::knowledge::Search;
use super::message::{CallStatus, Message};
use super::queued::QueuedMessage;
use super::reasoning::Reasoning;
use super::request::AnsweredRequest;
use super::taint::Taint;
use super::work::{Outcome, Usage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A person or the model named the session.
    Titled { title: String },
    /// A person chose a model, or whether it thinks, for the messages that follow.
    Chosen { chosen: Chosen },
    /// A person bound the session to a project, or to none.
    Bound { project_id: Option<ProjectId> },
    /// A person changed several of these at once: all of them, or none.
    Changed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<Chosen>,
        /// The session is bound to another project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Binding>,
    },
    /// A person sent a prompt.
    WorkStarted {
        work_id: WorkId,
        message_id: String,
        content: String,
        /// Files that were sent with the prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Arc<Attachment>>,
        model: String,
        /// The model is offered no tools.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_tools: bool,
        /// What the program sent that the message came from, if it came over the OpenAI API.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<Arc<ClientRequest>>,
    },
    /// A person sent a message that runs after the run under way, or edited such a message.
    Queued { message: QueuedMessage },
    /// A person removed a message from the queue.
    Unqueued { message_id: String, work_id: WorkId },
    /// A person had a work continued that had ended before its answer was complete.
    WorkContinued {
        work_id: WorkId,
        /// Whether the person's own limit of usage does not stop it again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beyond_own_limit: bool,
    },
    /// A server took the work over, because the one before has ended or given it up; it goes on.
    WorkTakenOver {
        work_id: WorkId,
        /// The number of servers that ended without a word while it was under way.
        #[serde(default, skip_serializing_if = "super::is_zero")]
        servers_lost: usize,
    },
    /// Another exchange with the model began; `dialogue` counts from 0 inside the work.
    DialogueStarted { work_id: WorkId, dialogue: u32 },
    /// The model did not answer, and another model was asked instead.
    ModelChanged { work_id: WorkId, model: String, instead_of: String },
    /// The answer's next assistant message began; `segment` counts from 0 inside the work.
    SegmentStarted { work_id: WorkId, dialogue: u32, segment: u32 },
    /// Text of the current segment, from byte `at` on. Folding the same piece twice changes nothing.
    Text { work_id: WorkId, at: usize, text: String },
    /// Thinking of the current segment, from byte `at` on.
    Thinking { work_id: WorkId, at: usize, text: String },
    /// What the model thought in this exchange, as its provider wants it back with the current segment.
    Reasoned { work_id: WorkId, reasoning: Arc<Reasoning> },
    /// The calls that the model requested in this exchange, recorded if a person is asked about any of them, so that
    /// the calls after a waiting one survive a restart.
    CallsRequested { work_id: WorkId, dialogue: u32, calls: Vec<RequestedCall> },
    /// A call waits for a person. After a restart the question is asked again with the same id and a new time.
    ApprovalAsked { work_id: WorkId, dialogue: u32, index: u32, approval: Arc<Approval> },
    /// A question was answered, expired, or was cancelled by the end of its run.
    ApprovalAnswered { work_id: WorkId, approval_id: String, call_id: String, answer: ApprovalAnswer },
    /// Recorded before the tool runs: after a crash it shows that the outcome is unknown.
    ToolStarted {
        work_id: WorkId,
        dialogue: u32,
        index: u32,
        call_id: String,
        tool: String,
        arguments: Value,
        /// The call is not run here: it is handed to the program whose tool it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handed_off: Option<HandOff>,
    },
    /// Preview: output of a running tool, in addition to what it has written before.
    ToolOutput { work_id: WorkId, call_id: String, text: String },
    ToolFinished {
        work_id: WorkId,
        call_id: String,
        tool: String,
        status: CallStatus,
        output: String,
        result: Value,
        duration_ms: u64,
        /// Sources of text in the output that strangers may have written.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::taint::lenient")]
        taint: Vec<Taint>,
    },
    /// A person cleared the taint of the session: the text from outside that it has read stops counting.
    TaintCleared {},
    /// A person pinned a message, or unpinned it.
    Pinned { message_id: String, pinned: bool },
    /// A person undid the change that a call made, or redid it.
    Undone { call_id: String, path: String, undone: bool },
    /// A person withdrew a work (`withdrawn`), or reapplied it; the files were changed before.
    Withdrawn {
        work_id: WorkId,
        withdrawn: bool,
        /// Ids of the calls whose changes of files were taken back, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<String>,
        /// Paths of these changes that were not taken back, because a person kept the files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// A person deleted a message, or the answer that it begins; `place` is its index in the session's messages.
    Deleted { message_id: String, place: usize },
    /// The messages from `from` on were put aside, and the branch that begins with `to`, if any, took their place.
    Branched {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// A dialogue has ended, with its answer or before it.
    DialogueFinished {
        work_id: WorkId,
        dialogue: u32,
        usage: Usage,
        context_window: u32,
        /// Number of the session's messages that did not fit into the request.
        #[serde(default, skip_serializing_if = "super::is_zero")]
        left_out: usize,
        /// The request that made the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<AnsweredRequest>,
    },
    /// The terminal event of a work, unless a person has it continued. `content` is all its text, for views; it is not stored, because the messages
    /// hold it.
    WorkFinished {
        work_id: WorkId,
        outcome: Outcome,
        #[serde(skip)]
        content: Arc<str>,
    },
    /// The first `count` messages were archived, and `summary` replaces them.
    Compressed {
        count: usize,
        summary: String,
        archive: String,
        /// SHA-256 of the archive's file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
        /// Nobody accepted the summary: `auto_compact` is on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        automatic: bool,
    },
    /// The messages of an archive were restored to where they stood, and their summary was removed.
    Restored {
        archive: String,
        messages: Vec<Arc<Message>>,
        /// Whether the archive was not written by this home.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        foreign: bool,
    },
    /// Preview: what RAG mode found for this request. Never stored.
    Retrieved { work_id: WorkId, search: Arc<Search> },
    /// Preview: what the run is waiting for. Replaces the previous status.
    Status {
        work_id: WorkId,
        status: StatusKind,
        message: String,
        progress: Option<f32>,
        retry_in_ms: Option<u64>,
        writing: Option<InputProgress>,
    },
}

/// A call was handed to the program whose tool it is, and waits for its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOff {
    /// Number of calls of the same exchange that are handed off after this one.
    pub more: u32,
}

/// The project that a session is bound to, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub project_id: Option<ProjectId>,
}

/// How much of a tool's input the model has written so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct InputProgress {
    /// Name of the tool as the model wrote it; a long one is shortened.
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
    /// The model writes the input of a tool.
    WritingInput,
}

impl Event {
    pub fn work_id(&self) -> Option<&WorkId> {
        match self {
            Event::Titled { .. }
            | Event::Chosen { .. }
            | Event::Bound { .. }
            | Event::Changed { .. }
            | Event::Compressed { .. }
            | Event::Restored { .. }
            | Event::Undone { .. }
            | Event::Withdrawn { .. }
            | Event::Deleted { .. }
            | Event::TaintCleared {}
            | Event::Pinned { .. }
            | Event::Queued { .. }
            | Event::Branched { .. } => None,
            Event::WorkStarted { work_id, .. }
            | Event::Unqueued { work_id, .. }
            | Event::WorkContinued { work_id, .. }
            | Event::WorkTakenOver { work_id, .. }
            | Event::DialogueStarted { work_id, .. }
            | Event::ModelChanged { work_id, .. }
            | Event::SegmentStarted { work_id, .. }
            | Event::Text { work_id, .. }
            | Event::Thinking { work_id, .. }
            | Event::Reasoned { work_id, .. }
            | Event::CallsRequested { work_id, .. }
            | Event::ApprovalAsked { work_id, .. }
            | Event::ApprovalAnswered { work_id, .. }
            | Event::ToolStarted { work_id, .. }
            | Event::ToolOutput { work_id, .. }
            | Event::ToolFinished { work_id, .. }
            | Event::DialogueFinished { work_id, .. }
            | Event::WorkFinished { work_id, .. }
            | Event::Retrieved { work_id, .. }
            | Event::Status { work_id, .. } => Some(work_id),
        }
    }
}

/// An event with its position in the session's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// 1-based and dense inside a session. Facts are ordered by `seq`, never by the clock.
    pub seq: u64,
    /// Unix seconds.
    pub at: f64,
    pub event: Event,
}
