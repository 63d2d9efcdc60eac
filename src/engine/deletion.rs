//! Deletes messages. They stay in the session's file, and nothing shows or sends them any more.

use super::actor::Command;
use super::{Engine, EngineError, IfMissing};
use crate::domain::{SessionId, name_of, turn_of};

impl Engine {
    /// Deletes a person's message, or an answer with all its calls and their results. `message` is its id, or that of a
    /// segment of the answer.
    ///
    /// # Errors
    /// Returns [`EngineError::NoMessage`] if the conversation has no such message, [`EngineError::Compacted`] if a summary
    /// replaces it, and [`EngineError::Busy`] during a run.
    pub async fn delete_message(&self, id: &SessionId, message: &str) -> Result<(), EngineError> {
        let transcript = self.transcript(id).await?;
        let all = transcript.all_messages();
        let turn = turn_of(&all, message).ok_or_else(|| EngineError::NoMessage(message.to_owned()))?;
        let place = turn.start.checked_sub(transcript.compacted.len()).ok_or(EngineError::Compacted)?;
        let first = (name_of(&all[turn.start]), place);
        self.ask(id, IfMissing::Fail, |reply| Command::DeleteMessage { first: first.clone(), reply }).await
    }
}
