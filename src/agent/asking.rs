//! Asks a person about calls: what they are shown, and what follows from their answer.

use super::calls::{CallRunner, PlannedCall, ProposedCall, Stop};
use super::recorder::{NotRecorded, Recorder};
use super::rehearsing::PlannedRehearsal;
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{
    Approval, CallApproval, CallStatus, Decision, Effect, RecordedAnswer, Rehearsed, RequestedCall, Session, Shown,
    Taint, ToolAnswer,
};
use crate::provider::CallRequest;
use crate::tools::{Case, Checked, Reason, ToolContext, Verdict};

/// A call that waits for its answer.
pub struct PendingApproval {
    request: CallRequest,
    approval_id: String,
    /// The question still to be asked; absent if it was answered before a restart.
    question: Option<Question>,
    /// What the call did when it was rehearsed, which the answer is bound to.
    rehearsal: Option<Rehearsed>,
}

impl PendingApproval {
    /// The question about a rehearsed call.
    pub fn rehearsed(request: CallRequest, approval_id: String, rehearsal: Option<Rehearsed>) -> Self {
        Self { request, approval_id, question: None, rehearsal }
    }
}

pub(super) struct Question {
    pub effect: Effect,
    pub arguments: serde_json::Value,
    pub shown: Shown,
    pub reason: Reason,
}

/// What follows from a person's answer.
pub(super) enum ApprovalResult {
    Run {
        request: CallRequest,
        checked: Checked,
        shown: Box<Shown>,
        /// Note for the model if the arguments are not its own.
        note: Option<String>,
    },
    Answer(CallStatus, ToolAnswer),
}

impl CallRunner<'_> {
    /// Applies the policy to a call that fits its tool.
    pub(super) fn allowed(&self, wanted: &ProposedCall, checked: Checked, session: &Session) -> PlannedCall {
        let shown = checked.call.shown();
        let (effect, taint) = (checked.call.effect(), self.taint(session, &checked));
        let case = Case { tainted: taint.as_ref(), ..Case::of(&wanted.request.name, &checked, &shown) };
        let reason = match self.policy.decide(&case, &self.home.remembered()) {
            Verdict::Deny(why) => {
                let text = format!("[denied: {why}] It was not run. Go on without it, or tell the user.");
                return PlannedCall::Answer(CallStatus::Denied, ToolAnswer::failed(text));
            }
            // A question that a person has already been asked stays, even if the rules would allow the call.
            Verdict::Allow => match &wanted.approval {
                None => return PlannedCall::Run(checked),
                Some(CallApproval::Asked(Approval { reason, because, .. })) => {
                    Reason { sentence: reason.clone(), because: because.clone() }
                }
                Some(CallApproval::Answered(_)) => Reason::default(),
            },
            Verdict::Rehearse(reason) => match rehearsal_id(wanted.approval.as_ref()) {
                Some(approval_id) => {
                    return PlannedCall::Rehearse(Box::new(PlannedRehearsal { checked, approval_id, reason }));
                }
                None => reason,
            },
            Verdict::Ask(reason) => reason,
        };
        let request = wanted.request.clone();
        PlannedCall::Ask(Box::new(match &wanted.approval {
            Some(CallApproval::Answered(answered)) => {
                PendingApproval { request, approval_id: answered.id.clone(), question: None, rehearsal: None }
            }
            known => {
                let approval_id = known.as_ref().map_or_else(clock::new_id, |known| known.id().to_owned());
                let question = Question { effect, arguments: checked.arguments, shown, reason };
                PendingApproval { request, approval_id, question: Some(question), rehearsal: None }
            }
        }))
    }

    /// Returns the source of text that strangers may have written: in the session, in the list of skills, or in what
    /// the tool keeps between calls.
    fn taint(&self, session: &Session, checked: &Checked) -> Option<Taint> {
        let known = Taint::strongest(&session.taint).cloned();
        let is_weak = known.as_ref().is_none_or(|source| !source.is_strong());
        let held = || checked.call.outside_text().holds;
        let stronger = if is_weak { self.listed.clone().or_else(held) } else { None };
        stronger.or(known)
    }

    /// Asks all questions of an exchange at once.
    pub(super) async fn ask(
        &self,
        wanted: &[ProposedCall],
        planned: &[PlannedCall],
        recorder: &mut Recorder,
    ) -> Result<(), NotRecorded> {
        let asked: Vec<_> =
            wanted.iter().zip(planned).filter_map(|(wanted, planned)| planned.question(wanted)).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let unrecorded = wanted.iter().filter(|wanted| wanted.approval.is_none()).map(|wanted| RequestedCall {
            index: wanted.index,
            call_id: wanted.request.id.clone(),
            tool: wanted.request.name.clone(),
            arguments: wanted.request.arguments.clone(),
        });
        recorder.request(unrecorded.collect()).await?;
        for (index, asked, question) in asked {
            let approval = self.approval(asked, question, recorder);
            recorder.ask(index, approval).await?;
        }
        Ok(())
    }

    pub(super) fn approval(&self, asked: &PendingApproval, question: &Question, recorder: &Recorder) -> Approval {
        let asked_at = clock::now();
        Approval {
            id: asked.approval_id.clone(),
            session_id: self.session_id.clone(),
            work_id: recorder.work_id().clone(),
            call_id: asked.request.id.clone(),
            tool: asked.request.name.clone(),
            effect: question.effect,
            arguments: question.arguments.clone(),
            shown: question.shown.clone(),
            reason: question.reason.sentence.clone(),
            because: question.reason.because.clone(),
            hash: hash(self.session_id, &asked.request.name, &question.arguments, &question.shown),
            asked_at,
            expires_at: asked_at + self.policy.timeout.as_secs_f64(),
        }
    }

    /// Waits for the answer. The call runs only as it was shown: everything the answer is bound to is checked again.
    pub(super) async fn decided(
        &self,
        asked: &PendingApproval,
        recorder: &mut Recorder,
    ) -> Result<ApprovalResult, Stop> {
        let answered = {
            let _pause = self.deadline.pause();
            tokio::select! {
                biased;
                answered = recorder.answered(&asked.approval_id) => answered,
                () = self.stop_signal.cancel.cancelled() => None,
            }
        };
        let Some(answered) = answered else {
            if self.stop_signal.is_suspended() {
                return Err(Stop::Suspended);
            }
            return Ok(refusal(Decision::Cancelled, None));
        };
        if answered.decision != Decision::Approved {
            return Ok(refusal(answered.decision, answered.reason.as_deref()));
        }
        let request = match changed(recorder, &answered) {
            Some(arguments) => CallRequest { arguments, ..asked.request.clone() },
            None => asked.request.clone(),
        };
        let context = ToolContext::new(self.session_id, &request.id, recorder.session());
        let checked = match self.tools.prepare(&request.name, &request.arguments, context).await {
            Ok(checked) => checked,
            Err(rejection) => return Ok(ApprovalResult::Answer(CallStatus::Error, rejection.answer())),
        };
        let rehearsal = asked.rehearsal.clone().filter(|_| !answered.changed);
        let shown = Shown { rehearsal, ..checked.call.shown() };
        if hash(self.session_id, &request.name, &checked.arguments, &shown) != answered.hash {
            return Ok(ApprovalResult::Answer(CallStatus::Denied, ToolAnswer::failed(outdated(&shown))));
        }
        let note = answered
            .changed
            .then(|| format!("[the user changed the arguments before they approved; what ran: {}]", checked.arguments));
        Ok(ApprovalResult::Run { request, checked, shown: Box::new(shown), note })
    }
}

impl PlannedCall {
    fn question<'a>(&'a self, wanted: &ProposedCall) -> Option<(u32, &'a PendingApproval, &'a Question)> {
        match self {
            PlannedCall::Ask(asked) => Some((wanted.index, &**asked, asked.question.as_ref()?)),
            PlannedCall::Run(_) | PlannedCall::Rehearse(_) | PlannedCall::Answer(..) => None,
        }
    }
}

/// Returns the id of the question about a call that is to be rehearsed; `None` if a person was asked about the call itself
/// before, or chose other arguments.
fn rehearsal_id(known: Option<&CallApproval>) -> Option<String> {
    let is_of_rehearsal = |shown: Option<&Shown>| shown.is_some_and(|shown| shown.rehearsal.is_some());
    match known {
        None => Some(clock::new_id()),
        Some(CallApproval::Asked(asked)) => is_of_rehearsal(Some(&asked.shown)).then(|| asked.id.clone()),
        Some(CallApproval::Answered(answered)) => {
            (is_of_rehearsal(answered.shown.as_ref()) && !answered.changed).then(|| answered.id.clone())
        }
    }
}

/// Returns the arguments that a person substituted for the model's.
fn changed(recorder: &Recorder, answered: &RecordedAnswer) -> Option<String> {
    let mut calls = recorder.session().calls_of(recorder.work_id());
    let call = calls.find(|call| call.approval.as_ref().is_some_and(|approval| approval.id() == answered.id))?;
    answered.changed.then(|| call.arguments.as_ref().map(ToString::to_string))?
}

fn refusal(decision: Decision, reason: Option<&str>) -> ApprovalResult {
    let (status, text) = match (decision, reason) {
        (Decision::Denied, Some(reason)) => (
            CallStatus::Denied,
            format!("[denied by the user: {reason}] It was not run. Do what they say; do not try it another way."),
        ),
        (Decision::Denied, None) => (
            CallStatus::Denied,
            "[denied by the user] It was not run. Do not try it another way; go on without it, or ask them.".to_owned(),
        ),
        (Decision::Expired, _) => (
            CallStatus::Denied,
            "[not run: nobody approved it in time] Go on without it, and tell the user what is left to do.".to_owned(),
        ),
        (Decision::Cancelled | Decision::Approved, _) => (
            CallStatus::Cancelled,
            "[cancelled: the run was stopped before this call was approved; it was not run]".to_owned(),
        ),
    };
    ApprovalResult::Answer(status, ToolAnswer::failed(text))
}

fn outdated(shown: &Shown) -> String {
    match &shown.path {
        Some(path) => {
            format!("[not run: {path} was changed after this was shown to the user] Read it again, then ask again.")
        }
        None => "[not run: where it would run was changed after it was approved] Ask again if it is still needed."
            .to_owned(),
    }
}
