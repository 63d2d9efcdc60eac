//! Sessions that a person put away: out of the list and not deleted. What is said in one brings it back.

use super::{Engine, EngineError, Notice};
use crate::domain::SessionId;
use crate::store::SessionList;

impl Engine {
    /// Puts a session away; answers all that are.
    pub async fn put_away(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Only what there is can be put away.
        self.view(id).await?;
        let all = self.tenant.log.enlist(self.tenant.claim, id, SessionList::Archived).await?;
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        Ok(all)
    }

    /// Puts a session back into the list, if it is not there; answers all that are put away still.
    pub async fn put_back(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        let log = &self.tenant.log;
        let before = log.listed(SessionList::Archived).await?;
        let was_away = before.iter().any(|known| known == id.as_str());
        let all = if was_away { log.delist(self.tenant.claim, id, SessionList::Archived).await? } else { before };
        if was_away {
            self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        }
        Ok(all)
    }
}
