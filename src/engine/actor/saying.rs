//! Prompts: each runs at once, or after the run that it interrupts.

use super::{Actor, KEYS, QueuedPrompt, Reply, WorkStarted};
use crate::clock;
use crate::domain::{Event, UserPrompt, WorkId};
use crate::engine::model_status::ModelState;
use crate::engine::work::RunStart;
use crate::engine::{EngineError, Tenant};

impl Actor {
    /// Starts a work. A run under way is interrupted first, and the work starts after it.
    pub(super) async fn say(&mut self, mut said: QueuedPrompt) {
        if let Some(started) = said.key.as_deref().and_then(|key| self.said_before(key)) {
            return tell(said.replies, Ok(started));
        }
        if let Some(twin) = self.said.iter_mut().find(|twin| twin.key.is_some() && twin.key == said.key) {
            return twin.replies.append(&mut said.replies);
        }
        if self.compressing {
            return tell(said.replies, Err(EngineError::Busy));
        }
        self.said.push_back(said);
        if self.running.is_some() {
            self.interrupt().await;
        } else {
            self.go_on().await;
        }
    }

    /// Starts the next queued prompt. If more are queued behind it, its run is interrupted at once, as a later prompt
    /// always does.
    pub(super) async fn go_on(&mut self) {
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
    }

    async fn begin(&mut self, prompt: UserPrompt, key: Option<String>) -> Result<WorkStarted, EngineError> {
        self.keep_pictures(&prompt).await?;
        let work_id = WorkId::new(clock::new_id());
        let event = Event::WorkStarted {
            work_id: work_id.clone(),
            // The key becomes the message's id in the session's file, so it is known after a restart too.
            message_id: key.clone().unwrap_or_else(clock::new_id),
            content: prompt.text,
            attachments: prompt.attachments,
            model: self.tenant.models.status_of(&self.ledger.session.chosen).model,
        };
        let after = self.tenant.hub.last();
        self.ledger.fact(event).await?;
        self.start_run(work_id.clone(), RunStart::Question);
        self.changed();
        let started = WorkStarted { work_id, after };
        if let Some(key) = key {
            self.keys.truncate(KEYS - 1);
            self.keys.push_front((key, started.clone()));
        }
        Ok(started)
    }

    /// Stores a prompt's pictures before a message refers to them. Refuses them if the model cannot see pictures.
    async fn keep_pictures(&self, prompt: &UserPrompt) -> Result<(), EngineError> {
        if prompt.attachments.iter().all(|file| file.picture.is_none()) {
            return Ok(());
        }
        let model = self.tenant.models.status_of(&self.ledger.session.chosen);
        // If there is no model at all, the run reports that.
        if !model.vision && model.state != ModelState::None {
            return Err(EngineError::CannotSee(model.label));
        }
        let Tenant { log, claim, .. } = &*self.tenant;
        Ok(log.keep_pictures(*claim, &self.ledger.id, prompt.pictures.clone()).await?)
    }

    /// Returns the work that began with this idempotency key.
    fn said_before(&self, key: &str) -> Option<WorkStarted> {
        if let Some((_, started)) = self.keys.iter().find(|(known, _)| known == key) {
            return Some(started.clone());
        }
        let work_id = self.ledger.session.asked_as(key)?.clone();
        Some(WorkStarted { work_id, after: self.tenant.hub.last() })
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
