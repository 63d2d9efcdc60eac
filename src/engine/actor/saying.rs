//! Prompts: each runs at once, after the run that it interrupts, or after the queue.

use super::{Actor, CompactedBy, KEYS, MessageState, QueuedPrompt, Reply, WorkStarted};
use crate::clock;
use crate::domain::{Chosen, ClientRequest, Event, MOST_QUEUED, QueuedMessage, UserPrompt, When, WorkId};
use crate::engine::model_status::ModelState;
use crate::engine::work::RunStart;
use crate::engine::{EngineError, Tenant};

impl Actor {
    /// Starts a work, or queues the prompt.
    pub(super) async fn say(&mut self, mut said: QueuedPrompt, when: When) {
        if said.key.as_deref().is_some_and(|key| self.has_other_text(key, &said.prompt.text)) {
            return tell(said.replies, Err(EngineError::KeyReused));
        }
        if let Some(started) = said.key.as_deref().and_then(|key| self.said_before(key)) {
            return tell(said.replies, Ok(started));
        }
        if let Some(twin) = self.said.iter_mut().find(|twin| twin.key.is_some() && twin.key == said.key) {
            return twin.replies.append(&mut said.replies);
        }
        let waits = self.running.is_some() || self.compressing.is_some() || !self.ledger.session.queue.is_empty();
        if when == When::Next && waits {
            let QueuedPrompt { prompt, key, replies } = said;
            tell(replies, self.say_next(prompt, key).await);
            return self.go_on().await;
        }
        if self.compressing == Some(CompactedBy::Person) {
            return tell(said.replies, Err(EngineError::Busy));
        }
        self.said.push_back(said);
        if self.running.is_some() {
            self.interrupt().await;
        } else {
            self.go_on().await;
        }
    }

    /// Denies what the run asks, with the prompt of the person as the reason. If it asks nothing, or a program said it, which
    /// answers no question, queues the prompt.
    async fn say_next(&mut self, prompt: UserPrompt, key: Option<String>) -> Result<WorkStarted, EngineError> {
        if prompt.client.is_none()
            && prompt.attachments.is_empty()
            && let Some(work_id) = self.deny_questions(&prompt.text).await?
        {
            let after = self.tenant.hub.last();
            return Ok(self.remember_key(key, WorkStarted { work_id, after, state: MessageState::Denied }));
        }
        if self.ledger.session.queue.len() >= MOST_QUEUED {
            return Err(EngineError::QueueFull);
        }
        self.keep_pictures(&prompt).await?;
        let message = self.message(prompt, key);
        let started = WorkStarted {
            work_id: message.work_id.clone(),
            after: self.tenant.hub.last(),
            state: MessageState::Queued,
        };
        self.queue_fact(Event::Queued { message }).await?;
        // A person who sends a message wants the conversation to go on.
        self.queue_paused = false;
        Ok(started)
    }

    /// Starts the next prompt: one that interrupted a run, else the first of the queue. If more interrupting ones are
    /// behind it, its run is interrupted at once, as a later prompt always does.
    pub(super) async fn go_on(&mut self) {
        if self.compressing.is_some() {
            return;
        }
        while let Some(QueuedPrompt { prompt, key, replies }) = self.said.pop_front() {
            tell(replies, self.begin(prompt, key).await);
            if self.running.is_none() {
                continue;
            }
            if !self.said.is_empty() {
                self.interrupt().await;
            }
            return;
        }
        if self.running.is_some() {
            return;
        }
        if let Some(message) = self.next_queued()
            && let Err(error) = self.start(message).await
        {
            tracing::error!(session = %self.ledger.id, %error, "could not start a queued message");
            self.queue_paused = true;
        }
    }

    fn next_queued(&mut self) -> Option<QueuedMessage> {
        let session = &self.ledger.session;
        let wanted = self.send_now.take().and_then(|id| session.queued(&id));
        wanted.or_else(|| session.queue.first().filter(|_| !self.queue_paused)).cloned()
    }

    async fn begin(&mut self, prompt: UserPrompt, key: Option<String>) -> Result<WorkStarted, EngineError> {
        self.keep_pictures(&prompt).await?;
        let message = self.message(prompt, key.clone());
        let started = self.start(message).await?;
        Ok(self.remember_key(key, started))
    }

    /// The key becomes the message's id in the session's file, so it is known after a restart too.
    fn message(&self, prompt: UserPrompt, key: Option<String>) -> QueuedMessage {
        QueuedMessage {
            id: key.unwrap_or_else(clock::new_id),
            work_id: WorkId::new(clock::new_id()),
            content: prompt.text,
            attachments: prompt.attachments,
            created_at: clock::now(),
            without_tools: prompt.without_tools,
            client: prompt.client,
        }
    }

    async fn start(&mut self, message: QueuedMessage) -> Result<WorkStarted, EngineError> {
        let work_id = message.work_id.clone();
        let after = self.tenant.hub.last();
        let model = self.tenant.models.status_of(&self.chosen_by(message.client.as_deref())).model;
        self.ledger.fact(message.begins(model)).await?;
        self.start_run(work_id.clone(), RunStart::Question);
        self.changed();
        Ok(WorkStarted { work_id, after, state: MessageState::Started })
    }

    fn remember_key(&mut self, key: Option<String>, started: WorkStarted) -> WorkStarted {
        if let Some(key) = key {
            self.keys.truncate(KEYS - 1);
            self.keys.push_front((key, started.clone()));
        }
        started
    }

    /// Continues the last work, which ended before its answer was complete; beyond the person's own limit of usage if they say so.
    pub(super) async fn continue_work(&mut self, beyond_own_limit: bool) -> Result<WorkStarted, EngineError> {
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        let Some(work) = self.ledger.session.continuable() else { return Err(EngineError::NothingToContinue) };
        let work_id = work.work_id.clone();
        let after = self.tenant.hub.last();
        self.ledger.fact(Event::WorkContinued { work_id: work_id.clone(), beyond_own_limit }).await?;
        self.start_run(work_id.clone(), RunStart::Continued { beyond_own_limit });
        self.changed();
        Ok(WorkStarted { work_id, after, state: MessageState::Started })
    }

    /// Replaces the text of a queued message.
    pub(super) async fn edit_queued(&mut self, id: &str, content: String) -> Result<(), EngineError> {
        let message = QueuedMessage { content, ..self.queued(id)? };
        self.queue_fact(Event::Queued { message }).await
    }

    pub(super) async fn remove_queued(&mut self, id: &str) -> Result<(), EngineError> {
        let QueuedMessage { id: message_id, work_id, .. } = self.queued(id)?;
        self.queue_fact(Event::Unqueued { message_id, work_id }).await
    }

    /// Interrupts a work if it is under way, or takes its message out of the queue. Returns `false` if it is neither.
    pub(super) async fn stop_work(&mut self, work_id: &WorkId) -> Result<bool, EngineError> {
        if let Some(message) = self.ledger.session.queue.iter().find(|message| message.work_id == *work_id) {
            let id = message.id.clone();
            self.remove_queued(&id).await?;
            return Ok(true);
        }
        match &self.running {
            Some(running) if running.work_id == *work_id => Ok(self.interrupt().await),
            Some(_) | None => Ok(false),
        }
    }

    /// Runs a queued message next, and interrupts the run under way.
    pub(super) async fn send_queued(&mut self, id: &str) -> Result<(), EngineError> {
        if self.compressing.is_some() {
            return Err(EngineError::Busy);
        }
        self.send_now = Some(self.queued(id)?.id);
        if self.running.is_some() {
            self.interrupt().await;
        } else {
            self.go_on().await;
        }
        Ok(())
    }

    /// Returns the choice that counts for a message that came with this.
    fn chosen_by(&self, client: Option<&ClientRequest>) -> Chosen {
        let chosen = &self.ledger.session.chosen;
        client.map_or_else(|| chosen.clone(), |client| client.chosen(chosen))
    }

    fn queued(&self, id: &str) -> Result<QueuedMessage, EngineError> {
        self.ledger.session.queued(id).cloned().ok_or_else(|| EngineError::NotQueued(id.to_owned()))
    }

    async fn queue_fact(&mut self, event: Event) -> Result<(), EngineError> {
        self.ledger.fact(event).await?;
        if self.running.is_none() {
            self.settle().await;
        }
        self.changed();
        Ok(())
    }

    /// Stores a prompt's pictures before a message refers to them. Refuses them if the model cannot see pictures.
    async fn keep_pictures(&self, prompt: &UserPrompt) -> Result<(), EngineError> {
        if prompt.attachments.iter().all(|file| file.picture.is_none()) {
            return Ok(());
        }
        let model = self.tenant.models.status_of(&self.chosen_by(prompt.client.as_deref()));
        // If there is no model at all, the run reports that.
        if !model.vision && model.state != ModelState::None {
            return Err(EngineError::CannotSee(model.label));
        }
        let Tenant { log, claim, .. } = &*self.tenant;
        Ok(log.keep_pictures(*claim, &self.ledger.id, prompt.pictures.clone()).await?)
    }

    /// Returns whether a message with this idempotency key has begun a work, or is about to, and has another text.
    fn has_other_text(&self, key: &str, text: &str) -> bool {
        let waiting = self.said.iter().find(|said| said.key.as_deref() == Some(key));
        let begun = || self.ledger.session.messages.iter().rev().find(|message| message.id.as_deref() == Some(key));
        let known = waiting.map(|said| said.prompt.text.as_str()).or_else(|| Some(begun()?.content.as_str()));
        known.is_some_and(|known| known != text)
    }

    /// Returns what the message with this idempotency key has become.
    fn said_before(&self, key: &str) -> Option<WorkStarted> {
        if let Some((_, started)) = self.keys.iter().find(|(known, _)| known == key) {
            return Some(started.clone());
        }
        let session = &self.ledger.session;
        let started = session.asked_as(key).map(|work_id| (work_id, MessageState::Started));
        let queued = || session.queued(key).map(|message| (&message.work_id, MessageState::Queued));
        let (work_id, state) = started.or_else(queued)?;
        Some(WorkStarted { work_id: work_id.clone(), after: self.tenant.hub.last(), state })
    }
}

fn tell(replies: Vec<Reply<WorkStarted>>, started: Result<WorkStarted, EngineError>) {
    let mut replies = replies.into_iter();
    let first = replies.next();
    for reply in replies {
        let again = started.as_ref().map(Clone::clone).map_err(|error| EngineError::Refused(error.to_string()));
        // The requester may have disconnected; the work has begun all the same.
        let _ = reply.send(again);
    }
    if let Some(first) = first {
        let _ = first.send(started);
    }
}
