//! Archived sessions: removed from the list, but not deleted. The next message in one unarchives it.

use super::{Engine, EngineError, Notice};
use crate::domain::SessionId;
use crate::store::SessionListKind;

impl Engine {
    /// Archives a session. Returns the ids of all archived sessions.
    pub async fn archive(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Fails if there is no such session.
        self.view(id).await?;
        let all = self.tenant.log.add_to_list(self.tenant.claim, id, SessionListKind::Archived).await?;
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        Ok(all)
    }

    /// Unarchives a session; does nothing if it is not archived. Returns the ids of all archived sessions.
    pub async fn unarchive(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        let log = &self.tenant.log;
        let before = log.list_ids(SessionListKind::Archived).await?;
        let was_archived = before.iter().any(|known| known == id.as_str());
        let all = if was_archived {
            log.remove_from_list(self.tenant.claim, id, SessionListKind::Archived).await?
        } else {
            before
        };
        if was_archived {
            self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        }
        Ok(all)
    }
}
