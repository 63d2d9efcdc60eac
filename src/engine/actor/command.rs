//! The commands that a session's task accepts, and their replies.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::oneshot;

use crate::domain::{ApprovalAnswer, Chosen, ClientResult, ProjectId, Session, UserPrompt, When, WorkId};
use crate::engine::approvals::{ApprovalResponse, RequestedRehearsal};
use crate::engine::compress::Proposal;
use crate::engine::documents::WorkFile;
use crate::engine::withdrawal::WithdrawRequest;
use crate::engine::{ChoiceSender, EngineError, SessionChange, Undone};

/// Commands to a session. Each gets one reply.
pub enum Command {
    Say {
        prompt: UserPrompt,
        key: Option<String>,
        when: When,
        reply: Reply<WorkStarted>,
    },
    /// Continues the last work, which ended before its answer was complete.
    Continue {
        /// Whether the person's own limit of usage does not stop it again.
        beyond_own_limit: bool,
        reply: Reply<WorkStarted>,
    },
    EditQueued {
        id: String,
        content: String,
        reply: Reply<()>,
    },
    RemoveQueued {
        id: String,
        reply: Reply<()>,
    },
    /// Interrupts the run under way and runs a queued message.
    SendQueued {
        id: String,
        reply: Reply<()>,
    },
    Interrupt {
        reply: Reply<bool>,
    },
    /// Stops this work only, whether it is under way or waits in the queue.
    StopWork {
        work_id: WorkId,
        reply: Reply<bool>,
    },
    /// A person's answer to a question; `hash` is that of the approval they saw.
    Answer {
        id: String,
        hash: String,
        wish: ApprovalResponse,
        reply: Reply<ApprovalAnswer>,
    },
    /// The results of calls that were handed to the program whose tools they are.
    Deliver {
        results: Vec<ClientResult>,
        reply: Reply<WorkStarted>,
    },
    /// Starts the time to answer a question again.
    Hold {
        id: String,
        reply: Reply<f64>,
    },
    /// Rehearses the call of a question before a person answers it.
    Rehearse {
        id: String,
        reply: Reply<RequestedRehearsal>,
    },
    /// Undoes the changes that a call made to files, or redoes them.
    Undo {
        call_id: String,
        reply: Reply<Undone>,
    },
    /// Withdraws a work or reapplies it.
    Withdraw {
        request: WithdrawRequest,
        reply: Reply<Vec<WorkFile>>,
    },
    /// Puts a message and all that follow aside as a branch, and restores the branch `to` in their place.
    Rewind {
        from: String,
        to: Option<String>,
        reply: Reply<()>,
    },
    /// Deletes a message, or the answer that it is part of.
    DeleteMessage {
        /// What names its first message, and the index of that.
        first: (String, usize),
        reply: Reply<()>,
    },
    /// Pins a message, or unpins it.
    Pin {
        message_id: String,
        pinned: bool,
        reply: Reply<()>,
    },
    /// Clears the taint.
    ClearTaint {
        reply: Reply<bool>,
    },
    Rename {
        title: String,
        reply: Reply<()>,
    },
    /// Chooses a model, whether it thinks, and what may run, from the next message on.
    Choose {
        chosen: Chosen,
        sender: ChoiceSender,
        reply: Reply<()>,
    },
    /// Changes the title, the project and what is chosen, except what may run: all of it, or nothing.
    Change {
        change: SessionChange,
        reply: Reply<()>,
    },
    /// Binds the session to a project, or to none.
    Bind {
        project_id: Option<ProjectId>,
        reply: Reply<()>,
    },
    Retitle {
        reply: Reply<String>,
    },
    /// Compacts the older half under an accepted summary, or under one that the model makes.
    Compress {
        accepted: Option<Proposal>,
        reply: Reply<Compression>,
    },
    /// Restores compacted messages.
    BringBack {
        archive: String,
        reply: Reply<usize>,
    },
    View {
        reply: Reply<View>,
    },
    /// Stops the run and ends the task after everything is on disk.
    Close {
        closing: Closing,
        reply: Reply<()>,
    },
}

/// Why a session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The server is stopping: questions stay open until the next start.
    Server,
    /// The person may not use the home any more, or with other rights: runs end, also in a cluster. Questions stay open.
    Person,
    Deleted,
}

pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// The work of a message. Its events have numbers greater than `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkStarted {
    pub work_id: WorkId,
    pub after: u64,
    pub state: MessageState,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// Its work has begun.
    Started,
    /// Its work begins after those before it.
    Queued,
    /// It was the reason for denying what the work under way asked, and is no message of its own.
    Denied,
}

/// What a compression did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    pub compacted: usize,
    pub remaining: usize,
    pub summary: String,
    /// Name of the file under `sessions/archive/`.
    pub archive: String,
}

/// A session's current state, and the number of its last publication.
#[derive(Clone)]
pub struct View {
    pub session: Arc<Session>,
    pub last: u64,
}
