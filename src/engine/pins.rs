//! Pinned sessions, which are listed before the others, and pinned messages, which every request contains.

use super::actor::Command;
use super::{Engine, EngineError, IfMissing, Notice};
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

    /// Pins a message of a session, or unpins it: every request contains the text of a pinned message.
    ///
    /// # Errors
    /// Returns an error if there is no such message, or if it cannot be pinned.
    pub async fn pin_message(&self, id: &SessionId, message_id: &str, pinned: bool) -> Result<(), EngineError> {
        let message_id = message_id.to_owned();
        self.ask(id, IfMissing::Fail, |reply| Command::Pin { message_id: message_id.clone(), pinned, reply }).await
    }

    pub(super) fn list_changed(&self, id: &SessionId) {
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
    }
}
