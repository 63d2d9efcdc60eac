//! Answers to questions of a run. Only the session's task decides, so there is one answer, whoever asks for another.

use tokio::time::Instant;

use super::Actor;
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{Answer, Approval, Decision, Event, Remembered, Scope};
use crate::engine::approvals::{NoAnswer, Wish, word};
use crate::engine::{EngineError, blocking};
use crate::tools::policy::is_persona;
use crate::tools::{Case, Verdict};

impl Actor {
    /// Records what a person said, if it still counts.
    pub(super) async fn answer(&mut self, id: &str, shown: &str, wish: Wish) -> Result<Answer, EngineError> {
        let approval = self.waiting(id)?;
        if self.desk.is_over(id) {
            self.decide(&approval, Answer::no(Decision::Expired, None, &approval.hash)).await?;
            return Err(NoAnswer::Expired.into());
        }
        if shown != approval.hash {
            return Err(NoAnswer::HashDiffers.into());
        }
        let yes = Answer { decision: Decision::Approved, ..Answer::no(Decision::Approved, None, &approval.hash) };
        let answer = match wish {
            Wish::Deny(reason) => Answer::no(Decision::Denied, reason, &approval.hash),
            Wish::Approve(None) => yes,
            Wish::Approve(Some(arguments)) if arguments == approval.arguments => yes,
            Wish::Approve(Some(arguments)) => {
                let hash = self.rebound(&approval, &arguments).await?;
                Answer { arguments: Some(arguments), hash, ..yes }
            }
            Wish::Always => {
                self.remember(&approval).await?;
                Answer { scope: Scope::Always, ..yes }
            }
        };
        self.decide(&approval, answer.clone()).await?;
        Ok(answer)
    }

    fn waiting(&self, id: &str) -> Result<Approval, NoAnswer> {
        let session = &self.ledger.session;
        let work_id = self.running.as_ref().map(|running| &running.work_id).ok_or(NoAnswer::Unknown)?;
        if let Some(approval) = session.unanswered(work_id).into_iter().find(|approval| approval.id == id) {
            return Ok(approval.clone());
        }
        let mut approvals = session.calls_of(work_id).filter_map(|call| call.approval.as_ref()?.answered());
        let known = approvals.find(|answered| answered.id == id);
        Err(known.map_or(NoAnswer::Unknown, |answered| NoAnswer::Already(word(answered.decision))))
    }

    /// What the person's own arguments are bound to.
    async fn rebound(&self, approval: &Approval, arguments: &serde_json::Value) -> Result<String, NoAnswer> {
        let checked = self.services.registry.check(&approval.tool, &arguments.to_string());
        let checked = checked.map_err(|rejection| NoAnswer::BadArguments(rejection.0))?;
        let shown = checked.tool.shown(&checked.arguments).await;
        let shown = shown.map_err(|answer| NoAnswer::BadArguments(answer.text))?;
        let (tool, effect) = (approval.tool.as_str(), approval.effect);
        let case = Case { tool, effect, arguments: &checked.arguments, shown: &shown, tainted: None };
        match self.services.policy.decide(&case, &[]) {
            Verdict::Deny(why) => Err(NoAnswer::BadArguments(why)),
            Verdict::Allow | Verdict::Ask(_) => Ok(hash(&approval.session_id, tool, &checked.arguments, &shown)),
        }
    }

    async fn remember(&self, approval: &Approval) -> Result<(), EngineError> {
        if is_persona(&approval.shown) {
            return Err(NoAnswer::NeverAlways.into());
        }
        let rule = Remembered {
            id: clock::new_id(),
            tool: approval.tool.clone(),
            arguments: approval.arguments.clone(),
            cwd: approval.shown.cwd.clone(),
            network: approval.shown.network,
            reads: approval.shown.reads.clone(),
            level: approval.shown.level.clone(),
            added_at: clock::now(),
        };
        let home = self.services.home.clone();
        blocking(move || home.remember(&rule)).await
    }

    /// Records an answer, and tells the run and everybody.
    async fn decide(&mut self, approval: &Approval, answer: Answer) -> Result<(), EngineError> {
        let event = Event::ApprovalAnswered {
            work_id: approval.work_id.clone(),
            approval_id: approval.id.clone(),
            call_id: approval.call_id.clone(),
            answer,
        };
        self.ledger.fact(event.clone()).await?;
        self.noted(&event);
        if let Some(running) = &self.running {
            // A run that has ended waits for nothing.
            let _ = running.answers.send(event);
        }
        Ok(())
    }

    pub(super) async fn expire(&mut self, id: &str) {
        self.desk.take(id);
        let Ok(approval) = self.waiting(id) else { return };
        if let Err(error) = self.decide(&approval, Answer::no(Decision::Expired, None, &approval.hash)).await {
            tracing::error!(session = %self.ledger.id, %error, "could not record that nobody answered in time");
        }
    }

    /// Nobody needs to answer what the run has asked: it stops.
    pub(super) async fn cancel_questions(&mut self) {
        let Some(work_id) = self.running.as_ref().map(|running| running.work_id.clone()) else { return };
        let waiting: Vec<Approval> = self.ledger.session.unanswered(&work_id).into_iter().cloned().collect();
        for approval in waiting {
            if let Err(error) = self.decide(&approval, Answer::no(Decision::Cancelled, None, &approval.hash)).await {
                tracing::error!(session = %self.ledger.id, %error, "could not record that a question is not asked any more");
            }
        }
    }

    /// Keeps the list of what waits in step with what was recorded.
    pub(super) fn noted(&mut self, event: &Event) {
        match event {
            Event::ApprovalAsked { approval, .. } => {
                self.desk.put(&approval.id, Instant::now() + self.services.policy.timeout);
                self.services.approvals.asked(approval);
                self.changed();
            }
            Event::ApprovalAnswered { approval_id, answer, .. } => {
                self.desk.take(approval_id);
                self.services.approvals.answered(approval_id, answer.decision);
                self.changed();
            }
            _ => {}
        }
    }
}
