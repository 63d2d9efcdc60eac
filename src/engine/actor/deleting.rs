//! Deletes messages of the session. What they changed in files stays, and can still be undone.

use super::Actor;
use crate::domain::Event;
use crate::engine::EngineError;

impl Actor {
    /// Deletes the message, or the answer, that begins with the message of this name at this place.
    pub(super) async fn delete_message(&mut self, (message_id, place): (String, usize)) -> Result<(), EngineError> {
        self.ledger.writable()?;
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        if self.ledger.session.deletable((&message_id, place)).is_none() {
            return Err(EngineError::NoMessage(message_id));
        }
        self.ledger.fact(Event::Deleted { message_id, place }).await?;
        self.settle().await;
        self.changed();
        Ok(())
    }
}
