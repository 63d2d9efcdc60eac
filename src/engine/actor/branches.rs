//! Rewinds a session to a message; what followed is kept as a branch.

use super::Actor;
use crate::domain::Event;
use crate::engine::EngineError;

impl Actor {
    /// Puts a message and all that follow aside as a branch, and restores the branch `to` in their place.
    pub(super) async fn rewind(&mut self, from: String, to: Option<String>) -> Result<(), EngineError> {
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        let session = &self.ledger.session;
        let Some(at) = session.place_of(&from) else { return Err(EngineError::NoMessage(from)) };
        let after = at.checked_sub(1).and_then(|before| session.messages[before].id.as_deref());
        let is_branch = |id: &String| {
            session.branches.iter().any(|branch| branch.id() == Some(id) && branch.after.as_deref() == after)
        };
        if let Some(missing) = to.as_ref().filter(|id| !is_branch(id)) {
            return Err(EngineError::NoMessage(missing.clone()));
        }
        self.ledger.fact(Event::Branched { from, to }).await?;
        self.settle().await;
        self.changed();
        Ok(())
    }
}
