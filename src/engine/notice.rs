//! What clients are told beside the events of sessions.

use serde::Serialize;

use super::model_status::ModelStatus;
use crate::tools::library::Progress;

/// Who changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangedBy {
    /// Another program.
    Disk,
    /// A save through the API.
    Editor,
    /// A tool.
    Run,
}

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
    SkillsChanged,
    ModelChanged(ModelStatus),
    ConfigChanged {
        rag_mode: bool,
    },
    /// How far the index of memory/ or knowledge/ is.
    IndexChanged {
        folder: &'static str,
        progress: Progress,
    },
}
