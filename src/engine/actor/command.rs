//! The commands that a session's task takes, and its replies.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::{Answer, Chosen, Session, UserPrompt, WorkId};
use crate::engine::EngineError;
use crate::engine::approvals::ApprovalResponse;
use crate::engine::compress::Proposal;
use crate::tools::files::Undone;

/// Asks of a session. Each is answered once.
pub enum Command {
    Say {
        prompt: UserPrompt,
        key: Option<String>,
        reply: Reply<WorkStarted>,
    },
    Interrupt {
        reply: Reply<bool>,
    },
    /// A person's answer to a question; `hash` is that of what they were shown.
    Answer {
        id: String,
        hash: String,
        wish: ApprovalResponse,
        reply: Reply<Answer>,
    },
    /// Undoes the change of a file that a call made, or does it again.
    Undo {
        call_id: String,
        reply: Reply<Undone>,
    },
    /// Puts a message and all that follow aside, and the branch `to` in their place.
    Rewind {
        from: String,
        to: Option<String>,
        reply: Reply<()>,
    },
    /// Lets go of the sources of text from outside.
    ClearTaint {
        reply: Reply<bool>,
    },
    Rename {
        title: String,
        reply: Reply<()>,
    },
    /// Chooses a model, and whether it thinks, for what is said from now on.
    Choose {
        chosen: Chosen,
        reply: Reply<()>,
    },
    Retitle {
        reply: Reply<String>,
    },
    /// Compacts the older half under a summary that a person has accepted, or one that the model makes now.
    Compress {
        accepted: Option<Proposal>,
        reply: Reply<Compression>,
    },
    /// Puts compacted messages back.
    BringBack {
        archive: String,
        reply: Reply<usize>,
    },
    View {
        reply: Reply<View>,
    },
    /// Stops what runs and ends the task, everything on disk.
    Close {
        closing: Closing,
        reply: Reply<()>,
    },
}

/// Why a session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The server stops: what waits for a person waits on.
    Server,
    Deleted,
}

pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// A work has begun; its events come after `after`.
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
    /// The file's name under `sessions/archive/`.
    pub archive: String,
}

/// A session as it is now, and the number of the last publication that made it so.
#[derive(Clone)]
pub struct View {
    pub session: Arc<Session>,
    pub last: u64,
}
