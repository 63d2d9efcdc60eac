//! The files of a session besides its record: its pictures, its compacted messages, and what its calls changed. They are
//! read here, and written through the [`SessionLog`](super::SessionLog).

use super::home::Home;
use crate::domain::SessionId;

/// The files of one session. Cheap to clone.
#[derive(Clone)]
pub struct SessionFiles {
    pub(super) home: Home,
    pub(super) session: SessionId,
}

impl Home {
    pub fn session_files(&self, session: &SessionId) -> SessionFiles {
        SessionFiles { home: self.clone(), session: session.clone() }
    }
}
