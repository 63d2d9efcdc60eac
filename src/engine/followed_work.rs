//! A work that a client follows from its message to its end, over whatever connection.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::{Engine, EngineError, NewMessage, Publication, PublishedItem, Subscription, View};
use crate::domain::{Event, Message, Outcome, Session, SessionId, UserPrompt, WorkId};

/// A work that was just started.
pub struct FollowedWork {
    pub work_id: WorkId,
    /// Everything that is published from the start of the work until it is settled: its end, and its title if one had to be
    /// made; or that its message was removed from the queue.
    pub publications: BoxStream<'static, Arc<Publication>>,
}

/// A work that was started now or before, with everything that it has led to so far.
pub struct WatchedWork {
    pub work_id: WorkId,
    /// The session as it was at the publication `last`. The work is not in it if its message waits in the queue.
    pub session: Arc<Session>,
    pub last: u64,
    /// Everything that is published after it.
    pub publications: BoxStream<'static, Arc<Publication>>,
}

/// A work that has ended.
pub struct FinishedWork {
    pub outcome: Outcome,
    /// The text of the answer.
    pub content: Arc<str>,
    /// Its messages, as they are stored in the session's file.
    pub messages: Vec<Arc<Message>>,
}

impl Engine {
    /// Starts a work and follows it. Dropping what is returned does not cancel the work. The stream ends early when `over`
    /// resolves.
    pub async fn say_and_follow(
        &self,
        id: &SessionId,
        message: NewMessage,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<FollowedWork, EngineError> {
        // Before the message, so that nothing is missed.
        let subscription = self.tenant.hub.follow(id, None);
        let work_id = self.say(id, message).await?.work_id;
        let (begun, settled) = (work_id.clone(), work_id.clone());
        let is_before = move |item: &PublishedItem| match item {
            PublishedItem::Event(event) => event.work_id() != Some(&begun),
            PublishedItem::Settled(_) | PublishedItem::Notice(_) => true,
        };
        let publications = subscription
            .publications(over)
            .skip_while(move |published| std::future::ready(is_before(&published.what)))
            .take_while(move |published| {
                let is_end = match &published.what {
                    PublishedItem::Settled(work) => *work == settled,
                    PublishedItem::Event(Event::Unqueued { work_id, .. }) => *work_id == settled,
                    PublishedItem::Event(_) | PublishedItem::Notice(_) => false,
                };
                std::future::ready(!is_end)
            });
        Ok(FollowedWork { work_id, publications: publications.boxed() })
    }

    /// Starts a work, or finds the one that the message's idempotency key began, and watches it. Dropping what is returned
    /// does not cancel the work. The stream ends early when `over` resolves.
    pub async fn say_and_watch(
        &self,
        id: &SessionId,
        message: NewMessage,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<WatchedWork, EngineError> {
        // Before the message, so that nothing is missed.
        let subscription = self.tenant.hub.follow(id, None);
        let work_id = self.say(id, message).await?.work_id;
        self.watched((id, work_id), subscription, over).await
    }

    /// Watches a work with a subscription that began before it.
    pub(super) async fn watched(
        &self,
        (id, work_id): (&SessionId, WorkId),
        subscription: Subscription,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<WatchedWork, EngineError> {
        let View { session, last } = self.view(id).await?;
        let publications = subscription.publications(over);
        let later = publications.filter(move |published| std::future::ready(published.number > last));
        Ok(WatchedWork { work_id, session, last, publications: later.boxed() })
    }

    /// Puts an answer aside as a branch, with what followed it, and has its message answered again. `message` names the
    /// message or one of the answer. If the key is that of a message already, the answer to that one is watched.
    ///
    /// # Errors
    /// Returns [`EngineError::NoMessage`] if there is no such message, and [`EngineError::Busy`] during a run.
    pub async fn regenerate_and_watch(
        self: &Arc<Self>,
        (id, message): (&SessionId, &str),
        key: Option<String>,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<WatchedWork, EngineError> {
        let session = self.view(id).await?.session;
        let is_repeated = key.as_ref().is_some_and(|key| session.place_of(key).is_some());
        let named = if is_repeated { key.as_deref().unwrap_or(message) } else { message };
        let missing = || EngineError::NoMessage(message.to_owned());
        let (asked, is_aside) = match session.question_of(named) {
            Some(asked) => (asked, false),
            // An earlier request was cut off before the message was sent again.
            None => (session.last_aside(named).ok_or_else(missing)?, true),
        };
        let from = asked.id.clone().ok_or_else(missing)?;
        // The bytes of its pictures stay with the session.
        let attachments = asked.attachments.clone();
        let without_tools = session.is_without_tools(asked);
        let text = asked.content.clone();
        let prompt = UserPrompt { text, attachments, without_tools, ..UserPrompt::default() };
        let (engine, id) = (self.clone(), id.clone());
        // A task, so that a client that disconnects does not cut it off in the middle.
        let watching = tokio::spawn(async move {
            if !is_repeated && !is_aside {
                engine.rewind(&id, &from, None).await?;
            }
            engine.say_and_watch(&id, NewMessage { prompt, key, ..NewMessage::default() }, over).await
        });
        watching.await.map_err(|_| EngineError::Internal("regenerating an answer was cut off"))?
    }

    /// Waits for the end of a work.
    ///
    /// # Errors
    /// Returns [`EngineError::ShuttingDown`] if the work cannot be followed to its end.
    pub async fn finished(&self, id: &SessionId, mut work: FollowedWork) -> Result<FinishedWork, EngineError> {
        while let Some(published) = work.publications.next().await {
            if let PublishedItem::Event(Event::WorkFinished { work_id, outcome, content }) = &published.what
                && *work_id == work.work_id
            {
                let session = self.view(id).await?.session;
                let messages = session.messages.iter().filter(|message| message.work_id.as_ref() == Some(work_id));
                let (outcome, content) = (outcome.clone(), content.clone());
                return Ok(FinishedWork { outcome, content, messages: messages.cloned().collect() });
            }
        }
        let removed = self.view(id).await?.session.works.iter().all(|known| known.work_id != work.work_id);
        Err(if removed { EngineError::Unqueued } else { EngineError::ShuttingDown })
    }
}

impl Subscription {
    /// Streams the publications that were missed, then the live ones, until the hub drops the subscription because it does
    /// not read, or `over` resolves.
    pub fn publications(self, over: impl Future<Output = ()> + Send) -> impl Stream<Item = Arc<Publication>> {
        let (missed, live) = self.missed_and_live(over);
        stream::iter(missed).chain(live)
    }

    /// Like [`Subscription::publications`], in two parts.
    pub fn missed_and_live(
        self,
        over: impl Future<Output = ()> + Send,
    ) -> (Vec<Arc<Publication>>, impl Stream<Item = Arc<Publication>>) {
        let live = tokio_stream::wrappers::ReceiverStream::new(self.live);
        (self.missed, live.take_until(over))
    }
}
