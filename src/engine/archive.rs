//! Archived sessions: removed from the list, but not deleted. The next message in one unarchives it.

use super::{Engine, EngineError, Notice};
use crate::domain::SessionId;
use crate::store::MarkedSessions;

impl Engine {
    /// Archives a session. Returns the ids of all archived sessions.
    pub async fn archive(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Fails if there is no such session.
        self.view(id).await?;
        let all = self.tenant.log.enlist(self.tenant.claim, id, MarkedSessions::Archived).await?;
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        Ok(all)
    }

    /// Unarchives a session; does nothing if it is not archived. Returns the ids of all archived sessions.
    pub async fn unarchive(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        let log = &self.tenant.log;
        let before = log.listed(MarkedSessions::Archived).await?;
        let was_archived = before.iter().any(|known| known == id.as_str());
        let all =
            if was_archived { log.delist(self.tenant.claim, id, MarkedSessions::Archived).await? } else { before };
        if was_archived {
            self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        }
        Ok(all)
    }
}
