//! What a person chooses for a session: its model, whether it thinks, and what may run.

use super::actor::Command;
use super::{Engine, EngineError, IfMissing};
use crate::domain::{Chosen, SessionId};

/// Who chooses for a session. What may run in it is a person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceSender {
    /// Perhaps a program: it cannot change what may run.
    Anyone,
    Page,
    /// The page, whose person has confirmed that commands run without approval.
    Confirmed,
}

impl Engine {
    /// Chooses a model, whether it thinks, and what may run, from the next message on.
    ///
    /// # Errors
    /// Returns an error if there is no such model, or if this sender may not change what may run.
    pub async fn choose(&self, id: &SessionId, chosen: Chosen, sender: ChoiceSender) -> Result<(), EngineError> {
        self.tenant.models.check(&chosen)?;
        self.ask(id, IfMissing::Fail, |reply| Command::Choose { chosen: chosen.clone(), sender, reply }).await
    }
}
