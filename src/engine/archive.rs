//! Archived sessions: out of the list, but not deleted. The next message in one unarchives it.

use super::{Engine, EngineError, Notice};
use crate::domain::SessionId;
use crate::store::MarkedSessions;

impl Engine {
    /// Archives a session; answers the ids of all archived ones.
    pub async fn archive(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Fails where there is no such session.
        self.view(id).await?;
        let all = self.tenant.log.enlist(self.tenant.claim, id, MarkedSessions::Archived).await?;
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        Ok(all)
    }

    /// Puts a session back into the list; one that is not archived stays there. Answers the ids of all archived ones.
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
