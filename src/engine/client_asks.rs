//! Works that a program begins with one message, over MCP. It names the session, or a new one begins; nothing is looked for.

use std::sync::Arc;

use super::client_turns::ClientTurnWork;
use super::{Engine, EngineError, NewMessage, View};
use crate::domain::{SessionId, UserPrompt, When, WorkId};

/// A message of a program.
pub struct ClientAsk {
    pub session: SessionId,
    /// The message, with `UserPrompt::client` set: its key and its repeat key make the same request known again.
    pub prompt: UserPrompt,
}

impl Engine {
    /// Begins the work of a message, and watches it. If a work that the same request began is under way, it is that one which is
    /// watched.
    ///
    /// # Errors
    /// Returns an error if the message is refused.
    pub async fn client_ask(
        self: &Arc<Self>,
        asked: ClientAsk,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ClientTurnWork, EngineError> {
        let engine = self.clone();
        // A task, so that a program that disconnects does not cut it off in the middle.
        let begun = tokio::spawn(async move {
            // One at a time, so that the same request twice at once begins one work.
            let turn = engine.tenant.client_turns.lock().await;
            let ClientAsk { session, prompt } = asked;
            let repeated = engine.running_repeat(&prompt).await;
            let is_repeated = repeated.is_some();
            let found = match repeated {
                Some(found) => found,
                None => {
                    let message = NewMessage { prompt, key: None, when: When::Next };
                    let work = engine.say(&session, message).await?.work_id;
                    (session, work)
                }
            };
            drop(turn);
            let mut watched = engine.watch_client_work(found, over).await?;
            if is_repeated {
                // Only the request that began a work stops it.
                watched.hold.release();
            }
            Ok(watched)
        });
        begun.await.map_err(|_| EngineError::Internal("beginning a work was cut off"))?
    }

    /// Returns the work under way that the same request began.
    async fn running_repeat(&self, prompt: &UserPrompt) -> Option<(SessionId, WorkId)> {
        let client = prompt.client.as_ref()?;
        let repeat_key = client.repeat_key.as_ref()?;
        for id in self.tenant.runs.list() {
            let Ok(View { session, .. }) = self.view(&id).await else { continue };
            let Some(work) = session.running() else { continue };
            let same = work.client.as_ref().filter(|known| known.key == client.key);
            if same.is_some_and(|known| known.repeat_key.as_ref() == Some(repeat_key)) {
                return Some((id, work.work_id.clone()));
            }
        }
        None
    }
}
