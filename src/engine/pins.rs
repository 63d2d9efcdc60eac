//! Pinned sessions, which are listed before the others.

use super::{Engine, EngineError, Notice};
use crate::domain::SessionId;
use crate::store::SessionListKind;

impl Engine {
    /// Pins a session. Returns the ids of all pinned sessions, in the order in which they were pinned.
    pub async fn pin(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Fails if there is no such session.
        self.view(id).await?;
        let pinned = self.tenant.log.add_to_list(self.tenant.claim, id, SessionListKind::Pinned).await?;
        self.list_changed(id);
        Ok(pinned)
    }

    /// Unpins a session, whether it is pinned or not. Returns the ids of all pinned sessions.
    pub async fn unpin(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        let pinned = self.tenant.log.remove_from_list(self.tenant.claim, id, SessionListKind::Pinned).await?;
        self.list_changed(id);
        Ok(pinned)
    }

    fn list_changed(&self, id: &SessionId) {
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
    }
}
