//! The commands that a session's task accepts, and their replies.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::{ApprovalAnswer, Chosen, Session, UserPrompt, WorkId};
use crate::engine::approvals::ApprovalResponse;
use crate::engine::compress::Proposal;
use crate::engine::{EngineError, Undone};

/// Commands to a session. Each gets one reply.
pub enum Command {
    Say {
        prompt: UserPrompt,
        key: Option<String>,
        reply: Reply<WorkStarted>,
    },
    Interrupt {
        reply: Reply<bool>,
    },
    /// A person's answer to a question; `hash` is that of the approval they saw.
    Answer {
        id: String,
        hash: String,
        wish: ApprovalResponse,
        reply: Reply<ApprovalAnswer>,
    },
    /// Undoes the changes that a call made to files, or redoes them.
    Undo {
        call_id: String,
        reply: Reply<Undone>,
    },
    /// Puts a message and all that follow aside as a branch, and restores the branch `to` in their place.
    Rewind {
        from: String,
        to: Option<String>,
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
    /// Chooses a model, and whether it thinks, from the next message on.
    Choose {
        chosen: Chosen,
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
    Deleted,
}

pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// A work has begun. Its events have numbers greater than `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkStarted {
    pub work_id: WorkId,
    pub after: u64,
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
