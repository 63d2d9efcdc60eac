//! Notices: what clients are told besides the events of sessions.

use std::sync::Arc;

use super::model_status::ModelStatus;
pub use crate::domain::ChangedBy;
use crate::library::IndexProgress;

#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A session was created, renamed, deleted or restored, or a work began or ended.
    SessionsChanged {
        session_id: String,
    },
    /// `etag` is `None` if the file was deleted.
    FileChanged {
        path: String,
        etag: Option<String>,
        by: ChangedBy,
    },
    /// Too many files in a folder changed at once to name them, or files beyond the limit of a listing may have
    /// changed.
    FolderChanged {
        path: String,
    },
    /// A command that runs in the background of a session started or ended; `running` of its commands run now.
    JobsChanged {
        session_id: String,
        running: usize,
    },
    SkillsChanged,
    /// A project was created, changed, deleted or restored.
    ProjectsChanged,
    ModelChanged(ModelStatus),
    ConfigChanged {
        rag_mode: bool,
        rag_conversations: bool,
    },
    /// Progress of the index of a folder.
    IndexChanged {
        folder: Arc<str>,
        progress: IndexProgress,
    },
}
