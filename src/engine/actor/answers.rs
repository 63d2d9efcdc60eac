//! Answers to a run's questions. Only the session's task decides, so every question gets exactly one answer, even if
//! several clients respond.

use tokio::time::Instant;

use super::Actor;
use crate::agent::OwnerMessage;
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{
    AlwaysAllowedCall, Approval, ApprovalAnswer, Decision, Elicitation, ElicitationAction, ElicitationAnswer, Event,
    RehearsalState, Scope, Wanted, WorkId,
};
use crate::engine::EngineError;
use crate::engine::approvals::{AnswerRefused, ApprovalResponse, RequestedRehearsal, word};
use crate::engine::tool_sources::ExchangeScope;
use crate::tools::{Case, Checked, ToolContext, Verdict};

impl Actor {
    /// Records a person's answer, if the question is still open.
    pub(super) async fn answer(
        &mut self,
        id: &str,
        shown: &str,
        wish: ApprovalResponse,
    ) -> Result<ApprovalAnswer, EngineError> {
        let approval = self.in_time(id).await?;
        if shown != approval.hash {
            return Err(AnswerRefused::HashDiffers.into());
        }
        if let Some(elicitation) = &approval.shown.elicitation {
            let answer = elicited(elicitation, wish, &approval.hash)?;
            self.decide(&approval, answer.clone()).await?;
            return Ok(answer);
        }
        let yes = ApprovalAnswer {
            decision: Decision::Approved,
            ..ApprovalAnswer::no(Decision::Approved, None, &approval.hash)
        };
        let answer = match wish {
            ApprovalResponse::Deny(reason) => ApprovalAnswer::no(Decision::Denied, reason, &approval.hash),
            ApprovalResponse::Fill(_) | ApprovalResponse::Dismiss => return Err(AnswerRefused::NoForm.into()),
            ApprovalResponse::Approve(None) => yes,
            ApprovalResponse::Approve(Some(arguments)) if arguments == approval.arguments => yes,
            ApprovalResponse::Approve(Some(arguments)) => {
                let hash = self.rebound(&approval, &arguments).await?;
                ApprovalAnswer { arguments: Some(arguments), hash, ..yes }
            }
            ApprovalResponse::Always => {
                self.remember(&approval, None).await?;
                ApprovalAnswer { scope: Scope::Always, ..yes }
            }
            ApprovalResponse::AlwaysHost => {
                let host = approval.shown.host.clone().ok_or(AnswerRefused::NoHost)?;
                self.remember(&approval, Some(host)).await?;
                ApprovalAnswer { scope: Scope::Always, ..yes }
            }
        };
        self.decide(&approval, answer.clone()).await?;
        Ok(answer)
    }

    /// Starts the time to answer a question again, and returns when it expires, in Unix seconds.
    pub(super) async fn hold(&mut self, id: &str) -> Result<f64, EngineError> {
        self.in_time(id).await?;
        Ok(self.restart_time(id))
    }

    fn restart_time(&mut self, id: &str) -> f64 {
        let timeout = self.tenant.runtime.config().policy.timeout;
        let expires_at = clock::now() + timeout.as_secs_f64();
        self.timers.put(id, Instant::now() + timeout);
        self.tenant.approvals.held(id, expires_at);
        expires_at
    }

    /// Has the run rehearse the call of an open question and ask it again with what the call would change. Allows nothing.
    pub(super) async fn rehearse(&mut self, id: &str) -> Result<RequestedRehearsal, EngineError> {
        let approval = self.in_time(id).await?;
        if approval.shown.rehearsal.is_some() {
            return Ok(RequestedRehearsal::Ended);
        }
        if self.is_rehearsing(id) {
            return Ok(RequestedRehearsal::Running);
        }
        let checked = self.prepared(&approval, &approval.arguments).await?;
        if let Some(unrehearsable) = checked.call.unrehearsable() {
            self.tenant.approvals.set_rehearsal(id, unrehearsable.state());
            return Err(AnswerRefused::Unrehearsable(unrehearsable).into());
        }
        let Some(running) = &mut self.running else { return Err(AnswerRefused::Unknown.into()) };
        // A run that has ended does not receive it; its questions are cancelled.
        let _ = running.messages.send(OwnerMessage::Rehearse(id.to_owned()));
        running.rehearsing.insert(id.to_owned());
        self.tenant.approvals.set_rehearsal(id, RehearsalState::Running);
        self.restart_time(id);
        self.changed();
        Ok(RequestedRehearsal::Running)
    }

    fn is_rehearsing(&self, id: &str) -> bool {
        self.running.as_ref().is_some_and(|running| running.rehearsing.contains(id))
    }

    /// Returns whether this asks a question again that a person has answered in the meantime.
    pub(super) fn was_answered(&self, event: &Event) -> bool {
        let Event::ApprovalAsked { approval, .. } = event else { return false };
        self.running.as_ref().is_some_and(|running| running.answered.contains(&approval.id))
    }

    /// Returns an open question. One whose time is over expires now, even if its timer has not been served yet.
    async fn in_time(&mut self, id: &str) -> Result<Approval, EngineError> {
        let approval = self.waiting(id)?;
        if self.timers.is_over(id) && !self.is_rehearsing(id) {
            self.decide(&approval, ApprovalAnswer::no(Decision::Expired, None, &approval.hash)).await?;
            return Err(AnswerRefused::Expired.into());
        }
        Ok(approval)
    }

    fn waiting(&self, id: &str) -> Result<Approval, AnswerRefused> {
        let session = &self.ledger.session;
        let work_id = self.running.as_ref().map(|running| &running.work_id).ok_or(AnswerRefused::Unknown)?;
        if let Some(approval) = session.unanswered(work_id).into_iter().find(|approval| approval.id == id) {
            return Ok(approval.clone());
        }
        let mut approvals = session.calls_of(work_id).filter_map(|call| call.approval.as_ref()?.answered());
        let known = approvals.find(|answered| answered.id == id);
        Err(known.map_or(AnswerRefused::Unknown, |answered| AnswerRefused::Already(word(answered.decision))))
    }

    /// Checks the person's own arguments and returns the hash that the answer is bound to.
    async fn rebound(&self, approval: &Approval, arguments: &serde_json::Value) -> Result<String, AnswerRefused> {
        let checked = self.prepared(approval, arguments).await?;
        Ok(hash(&approval.session_id, &approval.tool, &checked.arguments, &checked.call.shown()))
    }

    /// Prepares the call of a question with these arguments, unless the policy denies it.
    async fn prepared(&self, approval: &Approval, arguments: &serde_json::Value) -> Result<Checked, AnswerRefused> {
        let tools = self.tenant.tools(ExchangeScope::of(&self.ledger.session)).await;
        let context = ToolContext::new(&approval.session_id, &approval.call_id, &self.ledger.session);
        let checked = tools.prepare(&approval.tool, &arguments.to_string(), context).await;
        let checked = checked.map_err(|rejection| AnswerRefused::BadArguments(rejection.to_string()))?;
        let shown = checked.call.shown();
        match self.tenant.runtime.config().policy.decide(&Case::of(&approval.tool, &checked, &shown), &[]) {
            Verdict::Deny(why) => Err(AnswerRefused::BadArguments(why)),
            Verdict::Allow | Verdict::Rehearse(_) | Verdict::Ask(_) => Ok(checked),
        }
    }

    /// Adds the call to those that are always allowed, or every page of this host.
    async fn remember(&self, approval: &Approval, host: Option<String>) -> Result<(), EngineError> {
        if approval.shown.changes_persona() {
            return Err(AnswerRefused::NeverAlways.into());
        }
        if !approval.shown.secrets.is_empty() {
            return Err(AnswerRefused::SecretsNeverAlways.into());
        }
        let rule = AlwaysAllowedCall {
            id: clock::new_id(),
            tool: approval.tool.clone(),
            arguments: approval.arguments.clone(),
            cwd: approval.shown.cwd.clone(),
            network: approval.shown.network,
            reads: approval.shown.reads.clone(),
            level: approval.shown.level.clone(),
            definition: approval.shown.definition.clone(),
            host,
            added_at: clock::now(),
        };
        Ok(self.tenant.tree.remember(self.tenant.claim, rule).await?)
    }

    /// Records an answer, updates the list of pending approvals, and sends the answer to the run.
    async fn decide(&mut self, approval: &Approval, answer: ApprovalAnswer) -> Result<(), EngineError> {
        let event = Event::ApprovalAnswered {
            work_id: approval.work_id.clone(),
            approval_id: approval.id.clone(),
            call_id: approval.call_id.clone(),
            answer,
        };
        self.ledger.fact(event.clone()).await?;
        self.noted(&event);
        if let Some(running) = &mut self.running {
            running.answered.insert(approval.id.clone());
            // A run that has ended does not receive it.
            let _ = running.messages.send(OwnerMessage::Answered(event));
        }
        Ok(())
    }

    pub(super) async fn expire(&mut self, id: &str) {
        self.timers.take(id);
        if self.is_rehearsing(id) {
            // The person waits for the command, not the other way round.
            self.restart_time(id);
            return;
        }
        let Ok(approval) = self.waiting(id) else { return };
        if let Err(error) = self.decide(&approval, ApprovalAnswer::no(Decision::Expired, None, &approval.hash)).await {
            tracing::error!(session = %self.ledger.id, %error, "could not record that nobody answered in time");
        }
    }

    /// Cancels a question that its call does not ask any more, unless a person has answered it.
    pub(super) async fn withdraw_question(&mut self, event: &Event) -> Result<(), String> {
        let Event::ApprovalAnswered { approval_id, answer, .. } = event else { return Ok(()) };
        let Ok(approval) = self.waiting(approval_id) else { return Ok(()) };
        self.decide(&approval, answer.clone()).await.map_err(|error| error.to_string())
    }

    /// Denies the run's open questions for this reason. Returns the run's work, or `None` if it asks nothing.
    pub(super) async fn deny_questions(&mut self, reason: &str) -> Result<Option<WorkId>, EngineError> {
        let waiting = self.open_questions();
        let Some(work_id) = waiting.first().map(|approval| approval.work_id.clone()) else { return Ok(None) };
        for approval in waiting {
            let answer = ApprovalAnswer::no(Decision::Denied, Some(reason.to_owned()), &approval.hash);
            self.decide(&approval, answer).await?;
        }
        Ok(Some(work_id))
    }

    fn open_questions(&self) -> Vec<Approval> {
        let Some(running) = &self.running else { return Vec::new() };
        self.ledger.session.unanswered(&running.work_id).into_iter().cloned().collect()
    }

    /// Cancels the run's open questions, because the run is being stopped.
    pub(super) async fn cancel_questions(&mut self) {
        for approval in self.open_questions() {
            if let Err(error) =
                self.decide(&approval, ApprovalAnswer::no(Decision::Cancelled, None, &approval.hash)).await
            {
                tracing::error!(session = %self.ledger.id, %error, "could not record that a question is not asked any more");
            }
        }
    }

    /// Updates the timers and the list of pending approvals after a question or an answer was recorded.
    pub(super) fn noted(&mut self, event: &Event) {
        match event {
            Event::ApprovalAsked { approval, .. } => {
                if let Some(running) = &mut self.running {
                    running.rehearsing.remove(&approval.id);
                }
                self.timers.put(&approval.id, Instant::now() + self.tenant.runtime.config().policy.timeout);
                self.tenant.approvals.asked(approval);
                self.changed();
            }
            Event::ApprovalAnswered { approval_id, answer, .. } => {
                if let Some(running) = &mut self.running {
                    running.rehearsing.remove(approval_id);
                }
                self.timers.take(approval_id);
                self.tenant.approvals.answered(approval_id, answer.decision);
                self.changed();
            }
            Event::Titled { .. }
            | Event::Chosen { .. }
            | Event::Bound { .. }
            | Event::Changed { .. }
            | Event::WorkStarted { .. }
            | Event::DialogueStarted { .. }
            | Event::ModelChanged { .. }
            | Event::SegmentStarted { .. }
            | Event::Text { .. }
            | Event::Thinking { .. }
            | Event::Reasoned { .. }
            | Event::CallsRequested { .. }
            | Event::ToolStarted { .. }
            | Event::ToolOutput { .. }
            | Event::ToolFinished { .. }
            | Event::TaintCleared {}
            | Event::Pinned { .. }
            | Event::Queued { .. }
            | Event::Unqueued { .. }
            | Event::WorkContinued { .. }
            | Event::WorkTakenOver { .. }
            | Event::Undone { .. }
            | Event::Withdrawn { .. }
            | Event::Deleted { .. }
            | Event::Branched { .. }
            | Event::DialogueFinished { .. }
            | Event::WorkFinished { .. }
            | Event::Compressed { .. }
            | Event::Restored { .. }
            | Event::Retrieved { .. }
            | Event::Status { .. } => {}
        }
    }
}

/// Returns the answer to what a server asks for. Only a checked form is sent.
fn elicited(elicitation: &Elicitation, wish: ApprovalResponse, hash: &str) -> Result<ApprovalAnswer, AnswerRefused> {
    let is_url = matches!(elicitation.wanted, Wanted::Url { .. });
    let (decision, answer) = match wish {
        ApprovalResponse::Fill(content) => {
            elicitation.check(&content).map_err(AnswerRefused::BadFields)?;
            (Decision::Approved, ElicitationAnswer { action: ElicitationAction::Accept, content })
        }
        ApprovalResponse::Approve(None) if is_url => {
            (Decision::Approved, ElicitationAnswer::of(ElicitationAction::Accept))
        }
        ApprovalResponse::Deny(_) => (Decision::Denied, ElicitationAnswer::of(ElicitationAction::Decline)),
        ApprovalResponse::Dismiss => (Decision::Denied, ElicitationAnswer::of(ElicitationAction::Cancel)),
        ApprovalResponse::Approve(_) => return Err(AnswerRefused::FormNeeded),
        ApprovalResponse::Always | ApprovalResponse::AlwaysHost => return Err(AnswerRefused::FormNeverAlways),
    };
    Ok(ApprovalAnswer { elicited: Some(Box::new(answer)), ..ApprovalAnswer::no(decision, None, hash) })
}
