//! Works that programs begin over the OpenAI API. A program sends the whole conversation each time; here its session is found
//! (`domain::client_chain`), or made with the messages that it brings, and its last message begins a work there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::actor::Command;
use super::{Engine, EngineError, IfMissing, Indexing, NewMessage, PublishedItem, View, WatchedWork};
use crate::clock;
use crate::domain::client_chain::{ChainPlace, ClientTurn, NextPlace};
use crate::domain::{ClientResult, Event, Message, Role, Session, SessionId, Taint, UserPrompt, When, Work, WorkId};
use crate::store::ClientWork;

/// Maximum number of works that are found before their session's file says that it has them.
const MAX_RECENT: usize = 4_096;
/// Maximum number of sessions that a conversation is compared with.
const MAX_CANDIDATES: usize = 100;
/// Maximum number of sessions that are looked through for calls.
const MAX_LOOKED_AT: usize = 20;

/// A message of a program with the conversation that it belongs to.
pub struct ClientMessage {
    pub turn: ClientTurn,
    /// The last message, with `UserPrompt::client` set.
    pub prompt: UserPrompt,
    /// Results of calls that came with it.
    pub results: Vec<ClientResult>,
    /// The messages before it, for a session that does not have them.
    pub history: Vec<Message>,
    pub session: ClientSession,
}

/// Which session a program means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientSession {
    /// The one in which the conversation is.
    #[default]
    ByContent,
    /// This one. What the program sends is added to it if it does not have the conversation.
    Named(SessionId),
    /// The one of the program's chat with this id. If the conversation begins anew, the earlier one is put aside.
    OfChat(SessionId),
    /// A new one.
    New,
}

/// The works of programs that were begun since the start of the server, and how many requests wait for each.
#[derive(Default)]
pub struct ClientWorks(Mutex<State>);

#[derive(Default)]
struct State {
    recent: HashMap<WorkId, (SessionId, ClientWork)>,
    attached: HashMap<WorkId, usize>,
}

impl ClientWorks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the works of a session that programs began.
    pub(super) fn note(&self, id: &SessionId, session: &Session) {
        let mut state = self.state();
        for work in &session.works {
            let Some(client) = &work.client else { continue };
            if state.recent.len() >= MAX_RECENT {
                state.recent.clear();
            }
            let known = ClientWork::of(&work.work_id, client);
            state.recent.insert(work.work_id.clone(), (id.clone(), known));
        }
    }

    fn attach(&self, work: &WorkId) {
        *self.state().attached.entry(work.clone()).or_default() += 1;
    }

    /// Returns how many requests still wait for the work.
    fn detach(&self, work: &WorkId) -> usize {
        let mut state = self.state();
        let Some(count) = state.attached.get_mut(work) else { return 0 };
        *count = count.saturating_sub(1);
        let left = *count;
        if left == 0 {
            state.attached.remove(work);
        }
        left
    }
}

/// A work that a program began or goes on with.
pub struct ClientTurnWork {
    pub session_id: SessionId,
    pub work: WatchedWork,
    /// Stops the work when it is dropped, unless it has ended or others wait for it too.
    pub hold: WorkHold,
}

/// A request that waits for a work. If it goes away before the end, the work is interrupted.
pub struct WorkHold {
    engine: Arc<Engine>,
    session: SessionId,
    work: WorkId,
    on_drop: OnDrop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    Interrupt,
    /// Interrupts the work, and deletes its session for good.
    Discard,
    Nothing,
}

impl WorkHold {
    /// Lets the work go on, whatever becomes of the request.
    pub fn release(&mut self) {
        self.on_drop = OnDrop::Nothing;
    }

    /// The work has ended: there is nothing to interrupt.
    pub fn end(&mut self) {
        if self.on_drop == OnDrop::Interrupt {
            self.on_drop = OnDrop::Nothing;
        }
    }
}

impl Drop for WorkHold {
    fn drop(&mut self) {
        let is_last = self.engine.tenant.client_works.detach(&self.work) == 0;
        if self.on_drop == OnDrop::Nothing || !is_last {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (engine, session, work) = (self.engine.clone(), self.session.clone(), self.work.clone());
        let on_drop = self.on_drop;
        runtime.spawn(async move {
            let done = match on_drop {
                OnDrop::Discard => engine.discard(&session).await,
                OnDrop::Interrupt | OnDrop::Nothing => engine.interrupt_work(&session, &work).await.map(drop),
            };
            if let Err(error) = done {
                tracing::warn!(%session, %error, "a work whose program went away could not be stopped");
            }
        });
    }
}

impl Engine {
    /// Finds the session of a program's message, begins the work there, and watches it. A repeated request watches the work
    /// that the first one began.
    ///
    /// # Errors
    /// Also returns an error if the message or its model is refused.
    pub async fn client_turn(
        self: &Arc<Self>,
        message: ClientMessage,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ClientTurnWork, EngineError> {
        let engine = self.clone();
        // A task, so that a program that disconnects does not cut it off in the middle.
        let begun = tokio::spawn(async move { engine.begin_client_turn(message, over).await });
        begun.await.map_err(|_| EngineError::Internal("beginning a work was cut off"))?
    }

    async fn begin_client_turn(
        self: &Arc<Self>,
        message: ClientMessage,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ClientTurnWork, EngineError> {
        // One at a time, so that the same request twice at once begins one work.
        let turn = self.tenant.client_turns.lock().await;
        let ClientMessage { turn: said, prompt, results, history, session } = message;
        let repeated = prompt.client.as_ref().and_then(|client| client.repeat_key.clone());
        if let Some(repeat_key) = &repeated
            && let Some((id, work_id)) = self.repeated_work(&said.key, repeat_key).await?
        {
            return self.watch_client_work((id, work_id), over).await;
        }
        let found = match session {
            ClientSession::New => None,
            ClientSession::ByContent => self.session_by_content(&said).await?,
            ClientSession::Named(id) => Some(self.place_in(&id, &said).await?),
            ClientSession::OfChat(id) => Some(self.place_of_chat(&id, &said).await?),
        };
        let (id, place) = match found {
            Some((id, ChainPlace::Repeats(work_id))) => return self.watch_client_work((id, work_id), over).await,
            Some((id, ChainPlace::Next(place))) => (id, place),
            None => (self.session_with(history).await?, NextPlace::default()),
        };
        if !results.is_empty() {
            let deliver = |reply| Command::Deliver { results: results.clone(), reply };
            // The message goes on without results that nobody waits for.
            if let Err(error) = self.ask(&id, IfMissing::Fail, deliver).await {
                tracing::debug!(session = %id, %error, "results of a program were not used");
            }
        }
        self.go_to(&id, place).await?;
        let new = NewMessage { prompt, key: None, when: When::Now };
        let work = self.say_and_watch(&id, new, over).await?;
        self.tenant.client_works.note(&id, &work.session);
        drop(turn);
        Ok(self.held(id, work))
    }

    /// Delivers the results of calls that a work has handed to its program, and watches the work. The session is that of
    /// these calls.
    ///
    /// # Errors
    /// Returns [`EngineError::NotHandedOff`] if no work has handed off these calls, and [`EngineError::ResultsMissing`] if
    /// results of others are missing.
    pub async fn client_results(
        self: &Arc<Self>,
        key: &str,
        results: Vec<ClientResult>,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ClientTurnWork, EngineError> {
        let id = self.session_of_calls(key, &results).await?.ok_or(EngineError::NotHandedOff)?;
        // Before the results, so that nothing is missed.
        let subscription = self.tenant.hub.follow(&id, None);
        let deliver = |reply| Command::Deliver { results: results.clone(), reply };
        let work_id = self.ask(&id, IfMissing::Fail, deliver).await?.work_id;
        let work = self.watched((&id, work_id), subscription, over).await?;
        Ok(self.held(id, work))
    }

    /// Watches a work of a program: one under way, or one that has ended.
    ///
    /// # Errors
    /// Returns [`EngineError::NoSession`] if there is no such session.
    pub async fn watch_client_work(
        self: &Arc<Self>,
        (id, work_id): (SessionId, WorkId),
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ClientTurnWork, EngineError> {
        let subscription = self.tenant.hub.follow(&id, None);
        let work = self.watched((&id, work_id), subscription, over).await?;
        Ok(self.held(id, work))
    }

    /// Returns the session of a work that a program with this credential began.
    ///
    /// # Errors
    /// Returns an error if the sessions cannot be listed.
    pub async fn client_work(&self, key: &str, work_id: &WorkId) -> Result<Option<SessionId>, EngineError> {
        self.find_client_work(|work| work.is_of(key) && work.work_id == *work_id)
            .await
            .map(|found| found.map(|it| it.0))
    }

    /// Interrupts this work, if it is under way, and waits until it has ended.
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened.
    pub async fn stop_work(&self, id: &SessionId, work: &WorkId) -> Result<(), EngineError> {
        let mut subscription = self.tenant.hub.follow(id, None);
        if !self.interrupt_work(id, work).await? {
            return Ok(());
        }
        while let Some(published) = subscription.live.recv().await {
            let is_end = |event: &Event| match event {
                Event::WorkFinished { work_id, .. } | Event::Unqueued { work_id, .. } => work_id == work,
                _ => false,
            };
            if matches!(&published.what, PublishedItem::Event(event) if is_end(event)) {
                break;
            }
        }
        Ok(())
    }

    /// Deletes a session for good: its program did not want it to be kept.
    async fn discard(&self, id: &SessionId) -> Result<(), EngineError> {
        // What all of its works discard was never indexed.
        let works = self.view(id).await.map(|view| view.session.works.clone()).unwrap_or_default();
        let is_discarded = |work: &Arc<Work>| work.client.as_ref().is_some_and(|client| client.discard);
        let was_never = !works.is_empty() && works.iter().all(is_discarded);
        self.delete(id).await?;
        self.purge_as(id, if was_never { Indexing::Never } else { Indexing::Possible }).await
    }

    fn held(self: &Arc<Self>, session_id: SessionId, work: WatchedWork) -> ClientTurnWork {
        self.tenant.client_works.attach(&work.work_id);
        let known = work.session.works.iter().find(|known| known.work_id == work.work_id);
        let is_discarded = known.and_then(|known| known.client.as_ref()).is_some_and(|client| client.discard);
        let on_drop = if is_discarded { OnDrop::Discard } else { OnDrop::Interrupt };
        let (session, work_id) = (session_id.clone(), work.work_id.clone());
        let hold = WorkHold { engine: self.clone(), session, work: work_id, on_drop };
        ClientTurnWork { session_id, work, hold }
    }

    async fn repeated_work(&self, key: &str, repeat_key: &str) -> Result<Option<(SessionId, WorkId)>, EngineError> {
        self.find_client_work(|work| work.key == key && work.repeat_key.as_deref() == Some(repeat_key)).await
    }

    /// Returns the newest work that fits: of those begun since the start of the server, then of those in the list of sessions.
    async fn find_client_work(
        &self,
        fits: impl Fn(&ClientWork) -> bool,
    ) -> Result<Option<(SessionId, WorkId)>, EngineError> {
        let recent = {
            let state = self.tenant.client_works.state();
            let found = state
                .recent
                .values()
                .filter(|(_, work)| fits(work))
                .max_by(|a, b| a.1.work_id.as_str().cmp(b.1.work_id.as_str()));
            found.map(|(id, work)| (id.clone(), work.work_id.clone()))
        };
        if let Some((id, work)) = recent
            && self.view(&id).await.is_ok()
        {
            return Ok(Some((id, work)));
        }
        let list = self.list().await?;
        let found = list.iter().find_map(|summary| {
            let work = summary.client_works.iter().rev().find(|work| fits(work))?;
            Some((SessionId::parse(&summary.id).ok()?, work.work_id.clone()))
        });
        Ok(found)
    }

    /// Returns the sessions that a conversation may be in, most recently updated first.
    async fn candidates(&self, turn: &ClientTurn) -> Result<Vec<SessionId>, EngineError> {
        let wanted = [turn.before(), turn.head()];
        let fits = |work: &ClientWork| work.key == turn.key && wanted.contains(&work.chain);
        let mut ids: Vec<SessionId> = {
            let state = self.tenant.client_works.state();
            state.recent.values().filter(|(_, work)| fits(work)).map(|(id, _)| id.clone()).collect()
        };
        let list = self.list().await?;
        let stored = list.iter().filter(|summary| summary.client_works.iter().any(fits));
        ids.extend(stored.filter_map(|summary| SessionId::parse(&summary.id).ok()));
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        if turn.questions.len() == 1 && turn.base.is_none() {
            // Many conversations begin in the same way; only one under way can be meant.
            let running = self.tenant.runs.list();
            ids.retain(|id| running.contains(id));
        }
        ids.truncate(MAX_CANDIDATES);
        Ok(ids)
    }

    async fn session_by_content(&self, turn: &ClientTurn) -> Result<Option<(SessionId, ChainPlace)>, EngineError> {
        let mut best: Option<(SessionId, ChainPlace)> = None;
        for id in self.candidates(turn).await? {
            // One that was deleted in the meantime is no candidate.
            let Ok(View { session, .. }) = self.view(&id).await else { continue };
            let Some(place) = turn.place(&session, clock::now()) else { continue };
            if best.as_ref().is_none_or(|(_, known)| place.rank() < known.rank()) {
                best = Some((id, place));
            }
        }
        Ok(best)
    }

    /// Returns where a message goes on in the session that the program names.
    async fn place_in(&self, id: &SessionId, turn: &ClientTurn) -> Result<(SessionId, ChainPlace), EngineError> {
        let place = match self.view(id).await {
            Ok(View { session, .. }) => turn.place(&session, clock::now()),
            Err(EngineError::NoSession(_)) => None,
            Err(error) => return Err(error),
        };
        Ok((id.clone(), place.unwrap_or(ChainPlace::Next(NextPlace::default()))))
    }

    /// Returns where a message goes on in the session of a program's chat, which is made if there is none.
    async fn place_of_chat(&self, id: &SessionId, turn: &ClientTurn) -> Result<(SessionId, ChainPlace), EngineError> {
        let (id, place) = self.place_in(id, turn).await?;
        if turn.questions.len() != 1 || place != ChainPlace::Next(NextPlace::default()) {
            return Ok((id, place));
        }
        let Ok(View { session, .. }) = self.view(&id).await else { return Ok((id, place)) };
        if session.running().is_some() {
            return Ok((id, place));
        }
        let first = session.messages.iter().find(|message| message.role == Role::User);
        let rewind = first.and_then(|message| message.id.clone());
        Ok((id, ChainPlace::Next(NextPlace { rewind, restore: None })))
    }

    /// Creates a session with the messages that a program brings. They are marked, and taint it: anybody may have written
    /// them.
    async fn session_with(&self, history: Vec<Message>) -> Result<SessionId, EngineError> {
        let id = SessionId::parse(&clock::new_id()).map_err(|_| EngineError::Internal("a new id was not an id"))?;
        if history.is_empty() {
            return Ok(id);
        }
        let fresh = clock::new_id();
        let named = history.into_iter().enumerate().map(|(at, mut message)| {
            message.id = Some(format!("{fresh}-{at}"));
            message.extra.insert("from".to_owned(), "client".into());
            Arc::new(message)
        });
        let messages = named.collect();
        let session = Session { messages, taint: vec![Taint::Imported], ..Session::new("", clock::now()) };
        self.save_new(&id, &session).await?;
        Ok(id)
    }

    async fn go_to(&self, id: &SessionId, NextPlace { restore, rewind }: NextPlace) -> Result<(), EngineError> {
        if let Some(branch) = restore {
            self.rewind(id, &branch.from, Some(&branch.to)).await?;
        }
        match rewind {
            Some(from) => self.rewind(id, &from, None).await,
            None => Ok(()),
        }
    }

    /// Returns the session in which these calls were made by a work that a program with this credential began.
    async fn session_of_calls(&self, key: &str, results: &[ClientResult]) -> Result<Option<SessionId>, EngineError> {
        // A work that waits for results is under way; one that has them may have ended.
        let running = self.tenant.runs.list();
        let list = self.list().await?;
        let stored = list.iter().filter(|summary| summary.client_works.iter().any(|work| work.is_of(key)));
        let stored = stored.filter_map(|summary| SessionId::parse(&summary.id).ok()).take(MAX_LOOKED_AT);
        let mut looked_at = std::collections::HashSet::new();
        for id in running.into_iter().chain(stored) {
            if !looked_at.insert(id.clone()) {
                continue;
            }
            let Ok(View { session, .. }) = self.view(&id).await else { continue };
            let is_of = |work: &&Arc<Work>| {
                work.client.as_ref().is_some_and(|client| ClientWork::of(&work.work_id, client).is_of(key))
            };
            let of_key = session.works.iter().filter(is_of);
            let mut calls = of_key.flat_map(|work| session.calls_of(&work.work_id)).filter(|call| call.handed_off);
            if calls.any(|call| results.iter().any(|result| call.id.as_ref() == Some(&result.call_id))) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}
