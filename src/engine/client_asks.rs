//! Works that a program begins with one message, over MCP. It names the session, or a new one begins; nothing is looked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client_turns::ClientTurnWork;
use super::{Engine, EngineError, NewMessage, View};
use crate::clock;
use crate::domain::{ClientRequest, SessionId, UserPrompt, When, WorkId};
use crate::store::SessionSummary;

/// Maximum messages of a session in which a program makes another call.
const MAX_MESSAGES: usize = 400;
/// Maximum number of calls that a program has under way at once, also those that wait for a person.
pub(super) const MAX_CALLS_AT_ONCE: usize = 8;
/// How long a program's calls are in one session, in seconds.
const CALLS_TOGETHER: f64 = 24.0 * 3600.0;

/// Maximum number of works that requests are expected again for.
const MAX_WAITED_FOR: usize = 1_000;

/// How long the same request means the work that its program was told waits, in seconds.
const REPEATED_WITHIN: f64 = 600.0;

/// The works whose program was told that they wait for a person, by the key and the repeat key of its request. The same request
/// again gets the answer, also if the work has ended in the meantime; otherwise it would begin another one.
#[derive(Default)]
pub struct WaitedFor(Mutex<HashMap<(String, String), WaitedWork>>);

struct WaitedWork {
    work: (SessionId, WorkId),
    /// In Unix seconds.
    told_at: f64,
}

impl WaitedFor {
    fn works(&self) -> MutexGuard<'_, HashMap<(String, String), WaitedWork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, client: &ClientRequest, work: (SessionId, WorkId)) {
        let Some(repeat_key) = client.repeat_key.clone() else { return };
        let now = clock::now();
        let mut works = self.works();
        works.retain(|_, waited| now - waited.told_at <= REPEATED_WITHIN);
        if works.len() >= MAX_WAITED_FOR {
            let oldest = works.iter().min_by(|a, b| a.1.told_at.total_cmp(&b.1.told_at)).map(|(key, _)| key.clone());
            oldest.and_then(|key| works.remove(&key));
        }
        works.insert((client.key.clone(), repeat_key), WaitedWork { work, told_at: now });
    }

    /// Forgets a request whose work has ended under its eyes: the same request again is another one.
    pub fn remove(&self, client: &ClientRequest) {
        let Some(repeat_key) = client.repeat_key.clone() else { return };
        self.works().remove(&(client.key.clone(), repeat_key));
    }

    /// Returns the work that the same request was told waits.
    fn find(&self, prompt: &UserPrompt) -> Option<(SessionId, WorkId)> {
        let client = prompt.client.as_ref()?;
        let works = self.works();
        let waited = works.get(&(client.key.clone(), client.repeat_key.clone()?))?;
        (clock::now() - waited.told_at <= REPEATED_WITHIN).then(|| waited.work.clone())
    }
}

/// The session of a message.
pub enum AskedSession {
    /// This one; an unknown id begins one.
    Named(SessionId),
    /// The one of the program's last calls if it is idle, else a new one. A call never waits for another one.
    OfCalls,
}

/// A message of a program.
pub struct ClientAsk {
    pub session: AskedSession,
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
            let repeated = match engine.running_repeat(&prompt).await {
                Some(found) => Some(found),
                None => match engine.tenant.waited_for.find(&prompt) {
                    // A session that was deleted has no result any more.
                    Some(found) if engine.view(&found.0).await.is_ok() => Some(found),
                    _ => None,
                },
            };
            let is_repeated = repeated.is_some();
            let found = match repeated {
                Some(found) => found,
                None => {
                    let session = match session {
                        AskedSession::Named(id) => id,
                        AskedSession::OfCalls => engine.session_of_direct_calls(&prompt).await?,
                    };
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

    /// Has the works of a session that programs began found before its file says that it has them.
    ///
    /// # Errors
    /// Returns an error if there is no such session.
    pub async fn note_client_works(&self, id: &SessionId) -> Result<(), EngineError> {
        let session = self.view(id).await?.session;
        self.tenant.client_works.note(id, &session);
        Ok(())
    }

    async fn session_of_direct_calls(&self, prompt: &UserPrompt) -> Result<SessionId, EngineError> {
        let key = prompt.client.as_ref().map(|client| client.key.as_str()).unwrap_or_default();
        let (list, running) = (self.list().await?, self.tenant.runs.list());
        let mut under_way = 0;
        for id in &running {
            let Ok(View { session, .. }) = self.view(id).await else { continue };
            under_way += usize::from(session.client().is_some_and(|client| client.key == key));
        }
        if under_way >= MAX_CALLS_AT_ONCE {
            return Err(EngineError::TooManyCalls);
        }
        let fits = |summary: &&Arc<SessionSummary>| {
            summary.client_works.iter().any(|work| work.is_of(key))
                && summary.message_count < MAX_MESSAGES
                && summary.created_at > clock::now() - CALLS_TOGETHER
                // What a person chose there for themselves gives a program no rights.
                && summary.project_id.is_none()
                && summary.chosen.permission_mode.is_none()
                && running.iter().all(|id| id.as_str() != summary.id)
        };
        let found = list.iter().find(fits).and_then(|summary| SessionId::parse(&summary.id).ok());
        Ok(found.unwrap_or_else(|| SessionId::parse(&clock::new_id()).expect("a new id is one of a session")))
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
