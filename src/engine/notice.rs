//! Notices: what clients are told beside the events of sessions.

use super::model_status::ModelStatus;
pub use crate::domain::ChangedBy;
use crate::library::IndexProgress;

#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A session was made, named, deleted, restored, or began or ended a work.
    SessionsChanged {
        session_id: String,
    },
    /// `etag` is null when the file is gone.
    FileChanged {
        path: String,
        etag: Option<String>,
        by: ChangedBy,
    },
    /// So many files in a folder changed at once that they are not named, or some that are not looked at one by one.
    FolderChanged {
        path: String,
    },
    SkillsChanged,
    ModelChanged(ModelStatus),
    ConfigChanged {
        rag_mode: bool,
    },
    /// How far the index of memory/ or knowledge/ is.
    IndexChanged {
        folder: &'static str,
        progress: IndexProgress,
    },
}
