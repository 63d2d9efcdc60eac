//! What a session's task does besides runs: titles, undo, choices, pinned messages and taint.

use super::{Actor, Reply, SideRequest};
use crate::agent::title;
use crate::domain::{Binding, Chosen, Event, ProjectId, ToolCall, WorkId};
use crate::engine::documents::{Direction, UndoError, Undone};
use crate::engine::hub::PublishedItem;
use crate::engine::withdrawal::WithdrawRefused;
use crate::engine::work::make_title;
use crate::engine::{ChoiceSender, EngineError, SessionChange};

impl Actor {
    pub(super) async fn title_by_question(&mut self) {
        let session = &self.ledger.session;
        let first = session.messages.iter().find(|message| session.is_in_effect(message));
        let question = first.map(|message| title::tidy(&message.words())).unwrap_or_default();
        if let Err(error) = self.rename(question).await {
            tracing::warn!(session = %self.ledger.id, %error, "could not name the session");
        }
    }

    pub(super) async fn undo(&mut self, call_id: &str) -> Result<Undone, EngineError> {
        let session = &self.ledger.session;
        let is_it = |call: &&ToolCall| call.id.as_deref() == Some(call_id);
        let found = session
            .messages
            .iter()
            .rev()
            .chain(session.deleted_here())
            .find_map(|message| Some((message, message.tool_calls.iter().rev().find(is_it)?)));
        let (message, call) = found.ok_or(UndoError::Unknown)?;
        if !session.is_in_effect(message) {
            return Err(WithdrawRefused::Withdrawn.into());
        }
        // What a stopped call changed is undone if the files show that it did.
        let may_have = |call: &&ToolCall| call.has_ended() || call.was_stopped();
        let call = Some(call).filter(may_have).ok_or(UndoError::Unknown)?;
        if self.tenant.jobs.running_calls(&self.ledger.id).iter().any(|running| running == call_id) {
            return Err(UndoError::JobRunning.into());
        }
        let direction = if call.undone { Direction::Redo } else { Direction::Undo };
        let done = self.tenant.documents.undo(&self.ledger.id, call_id, direction).await?;
        let (call_id, path) = (call_id.to_owned(), done.path.to_string());
        self.ledger.fact(Event::Undone { call_id, path, undone: done.direction == Direction::Undo }).await?;
        if self.running.is_none() {
            self.settle().await;
        }
        Ok(done)
    }

    pub(super) async fn choose(&mut self, chosen: Chosen, sender: ChoiceSender) -> Result<(), EngineError> {
        let current = &self.ledger.session.chosen;
        // A client that does not know of the exclusion must not end it.
        let chosen = Chosen { not_for_recall: current.not_for_recall, ..chosen };
        if chosen == *current {
            return Ok(());
        }
        if chosen.permission_mode != current.permission_mode {
            let widened = self.tenant.runtime.config().policy.is_widened_by(chosen.permission_mode);
            match sender {
                ChoiceSender::Anyone => return Err(EngineError::OnlyPage),
                ChoiceSender::Page if widened => return Err(EngineError::ConfirmMode),
                ChoiceSender::Page | ChoiceSender::Confirmed => {}
            }
        }
        // A program may switch servers off, and only a person on again.
        if sender == ChoiceSender::Anyone && !current.mcp_off.is_subset(&chosen.mcp_off) {
            return Err(EngineError::OnlyPage);
        }
        self.ledger.fact(Event::Chosen { chosen }).await?;
        if self.running.is_none() {
            self.settle().await;
        }
        Ok(())
    }

    /// Checks everything, and records what is different in one fact.
    pub(super) async fn change(&mut self, change: SessionChange) -> Result<(), EngineError> {
        let session = &self.ledger.session;
        let SessionChange { title, project_id, choice } = change;
        let chooses_model = choice.model.is_some();
        if choice.mcp_off.as_ref().is_some_and(|off| !session.chosen.mcp_off.is_subset(off)) {
            return Err(EngineError::OnlyPage);
        }
        let mut chosen = choice.of(&session.chosen);
        chosen.check()?;
        // A model that is gone is no reason to refuse other changes.
        if chooses_model {
            chosen = self.tenant.models.resolve(chosen)?;
        }
        let title = title.filter(|title| *title != session.title);
        let chosen = Some(chosen).filter(|chosen| *chosen != session.chosen);
        let bound = project_id.filter(|id| *id != session.project_id).map(|project_id| Binding { project_id });
        if bound.is_some() && self.is_busy() {
            return Err(EngineError::Busy);
        }
        if title.is_none() && chosen.is_none() && bound.is_none() {
            return Ok(());
        }
        let parts = [
            title.clone().map(|title| Event::Titled { title }),
            chosen.clone().map(|chosen| Event::Chosen { chosen }),
            bound.clone().map(|Binding { project_id }| Event::Bound { project_id }),
        ];
        self.ledger.fact(Event::Changed { title, chosen, bound }).await?;
        parts.into_iter().flatten().for_each(|part| self.ledger.preview(part));
        if self.running.is_none() {
            self.settle().await;
        }
        self.changed();
        Ok(())
    }

    /// Binds the session to a project of this home, or to none, from the next message on.
    pub(super) async fn bind(&mut self, project_id: Option<ProjectId>) -> Result<(), EngineError> {
        if project_id == self.ledger.session.project_id {
            return Ok(());
        }
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        self.ledger.fact(Event::Bound { project_id }).await?;
        self.settle().await;
        Ok(())
    }

    /// Pins a message from the next request on, or unpins it.
    pub(super) async fn pin(&mut self, message_id: String, pinned: bool) -> Result<(), EngineError> {
        let session = &self.ledger.session;
        if pinned {
            session.pinnable(&message_id).ok_or_else(|| EngineError::NoMessage(message_id.clone()))??;
        } else if !session.pinned.iter().any(|pin| pin.id == message_id) {
            return Ok(());
        }
        self.ledger.fact(Event::Pinned { message_id, pinned }).await?;
        if self.running.is_none() {
            self.settle().await;
        }
        Ok(())
    }

    pub(super) async fn clear_taint(&mut self) -> Result<bool, EngineError> {
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        if self.ledger.session.taint.is_empty() {
            return Ok(false);
        }
        self.ledger.fact(Event::TaintCleared {}).await?;
        self.settle().await;
        Ok(true)
    }

    pub(super) async fn rename(&mut self, title: String) -> Result<(), EngineError> {
        self.ledger.fact(Event::Titled { title }).await?;
        if self.running.is_none() {
            self.settle().await;
        }
        self.changed();
        Ok(())
    }

    /// Has the model make a title in the background.
    pub(super) fn retitle(&mut self, settles: Option<WorkId>, reply: Option<Reply<String>>) {
        if settles.is_some() {
            self.untitled.clone_from(&settles);
        }
        let (tenant, session, to) = (self.tenant.clone(), self.ledger.session.clone(), self.errands.0.clone());
        tokio::spawn(async move {
            let title = make_title(&tenant, &session).await;
            drop(session);
            // If the session was closed in the meantime, nobody needs the title.
            let _ = to.send(SideRequest::Title { title, settles, reply }).await;
        });
    }

    pub(super) async fn titled(&mut self, title: String, settles: Option<WorkId>, reply: Option<Reply<String>>) {
        // A title that a person has set in the meantime wins.
        let wanted = reply.is_some() || self.ledger.session.title.is_empty();
        let mut kept = Ok(());
        if wanted && !title.is_empty() {
            kept = self.rename(title.clone()).await;
        }
        if let Some(work_id) = settles {
            self.untitled = None;
            self.ledger.publish(PublishedItem::Settled(work_id));
        }
        if let Some(reply) = reply {
            // The requester may have disconnected; the title is kept.
            let _ = reply.send(kept.map(|()| title));
        }
    }
}
