//! Asks a person about calls: what they are shown, and what follows from their answer.

use super::calls::{CallRunner, PlannedCall, ProposedCall, Stop};
use super::recorder::{NotRecorded, Recorder};
use super::rehearsals::{EndedRehearsal, Rehearsals, Tried, state_of};
use super::rehearsing::{AskAbout, PlannedRehearsal};
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{
    Approval, CallApproval, CallStatus, Decision, Effect, RecordedAnswer, RehearsalState, RequestedCall, Session,
    Shown, Taint, ToolAnswer,
};
use crate::provider::CallRequest;
use crate::tools::{Case, Checked, Reason, ToolContext, Verdict};

/// A call that waits for its answer.
pub struct PendingApproval {
    request: CallRequest,
    approval_id: String,
    /// The question still to be asked; absent if it was answered before a restart, or is asked otherwise.
    question: Option<Question>,
}

impl PendingApproval {
    /// A question that has been asked.
    pub fn asked(request: CallRequest, approval_id: String) -> Self {
        Self { request, approval_id, question: None }
    }

    /// A question that is asked again after a restart.
    pub(super) fn again(request: CallRequest, approval_id: String, question: Question) -> Self {
        Self { request, approval_id, question: Some(question) }
    }

    pub(super) fn id(&self) -> &str {
        &self.approval_id
    }
}

pub(super) struct Question {
    pub effect: Effect,
    pub arguments: serde_json::Value,
    pub shown: Shown,
    pub reason: Reason,
    pub rehearsal: Option<RehearsalState>,
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
    /// The call was rehearsed, and exactly what a person saw is to be applied.
    Apply(Box<EndedRehearsal>),
    Answer(CallStatus, ToolAnswer),
}

impl CallRunner<'_> {
    /// Applies the policy to a call that fits its tool.
    pub(super) fn allowed(&self, wanted: &ProposedCall, checked: Checked, session: &Session) -> PlannedCall {
        let shown = checked.call.shown();
        let (effect, taint) = (checked.call.effect(), self.taint(session, &checked));
        let case = Case { tainted: taint.as_ref(), ..Case::of(&wanted.request.name, &checked, &shown) };
        let approved = wanted.approval.as_ref().and_then(approved_rehearsal).filter(|_| case.unrehearsable.is_none());
        let verdict = self.policy.decide(&case, &self.home.remembered());
        if let Some(elicitation) = wanted.approval.as_ref().and_then(CallApproval::elicitation)
            && !matches!(verdict, Verdict::Deny(_))
        {
            return self.plan_elicitation(wanted, &checked, elicitation);
        }
        let reason = match (verdict, approved) {
            (Verdict::Deny(why), _) => {
                let text = format!("[denied: {why}] It was not run. Go on without it, or tell the user.");
                return PlannedCall::Answer(CallStatus::Denied, ToolAnswer::failed(text));
            }
            (Verdict::Allow | Verdict::Ask(_), Some(approval_id)) => {
                let (reason, asks) = (Reason::default(), AskAbout::Every);
                return PlannedCall::Rehearse(Box::new(PlannedRehearsal { checked, approval_id, reason, asks }));
            }
            // A question that a person has already been asked stays, even if the rules would allow the call.
            (Verdict::Allow, None) => match &wanted.approval {
                None => return PlannedCall::Run(checked),
                Some(CallApproval::Asked(asked)) => {
                    Reason { sentence: asked.reason.clone(), because: asked.because.clone() }
                }
                Some(CallApproval::Answered(_)) => Reason::default(),
            },
            (Verdict::Rehearse(reason), _) => match rehearsal_id(wanted.approval.as_ref()) {
                Some(approval_id) => {
                    let asks = AskAbout::Changes;
                    return PlannedCall::Rehearse(Box::new(PlannedRehearsal { checked, approval_id, reason, asks }));
                }
                None => reason,
            },
            (Verdict::Ask(reason), None) => reason,
        };
        let request = wanted.request.clone();
        PlannedCall::Ask(Box::new(match &wanted.approval {
            Some(CallApproval::Answered(answered)) => PendingApproval::asked(request, answered.id.clone()),
            known => {
                let approval_id = known.as_ref().map_or_else(clock::new_id, |known| known.id().to_owned());
                let rehearsal = state_of(&checked);
                let question = Question { effect, arguments: checked.arguments, shown, reason, rehearsal };
                PendingApproval { request, approval_id, question: Some(question) }
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
        let unrecorded =
            wanted.iter().filter(|wanted| wanted.approval.is_none() && !wanted.is_away).map(|wanted| RequestedCall {
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
            rehearsal: question.rehearsal.clone(),
            hash: hash(self.session_id, &asked.request.name, &question.arguments, &question.shown),
            asked_at,
            expires_at: asked_at + self.policy.timeout.as_secs_f64(),
        }
    }

    /// Waits for the answer. The call runs only as it was shown: everything the answer is bound to is checked again.
    pub(super) async fn decided(
        &self,
        asked: &PendingApproval,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<ApprovalResult, Stop> {
        let answered = self.answer_to(&asked.approval_id, (&mut *recorder, &mut *rehearsals)).await?;
        let tried = rehearsals.take(&asked.approval_id);
        let is_tried = !matches!(tried, Tried::Never);
        let Some(answered) = answered else {
            if self.stop_signal.is_suspended() {
                return Err(Stop::Suspended);
            }
            return Ok(refusal((Decision::Cancelled, None), is_tried));
        };
        if answered.decision != Decision::Approved {
            let was_shown = answered.shown.is_some_and(|shown| shown.rehearsal.is_some());
            return Ok(refusal((answered.decision, answered.reason.as_deref()), is_tried || was_shown));
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
        let shown = checked.call.shown();
        let is_of = |shown: &Shown| hash(self.session_id, &request.name, &checked.arguments, shown) == answered.hash;
        if let Tried::Ended(ended) = tried
            && !answered.changed
            && is_of(&Shown { rehearsal: Some(ended.rehearsed.clone()), ..shown.clone() })
        {
            return Ok(ApprovalResult::Apply(ended));
        }
        // It was answered before it was rehearsed, or with other arguments; or it was not rehearsed.
        if !is_of(&shown) {
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
            PlannedCall::Ask(asked) | PlannedCall::Elicit(asked) => {
                Some((wanted.index, &**asked, asked.question.as_ref()?))
            }
            PlannedCall::Run(_) | PlannedCall::Rehearse(_) | PlannedCall::Answer(..) | PlannedCall::HandOff => None,
        }
    }
}

/// Returns the id of the question about a call that is to be rehearsed; `None` if a person was asked about the call itself
/// before, chose other arguments, or did not approve it.
fn rehearsal_id(known: Option<&CallApproval>) -> Option<String> {
    match known {
        None => Some(clock::new_id()),
        Some(CallApproval::Asked(asked)) => asked.shown.rehearsal.is_some().then(|| asked.id.clone()),
        Some(answered @ CallApproval::Answered(_)) => approved_rehearsal(answered),
    }
}

/// Returns the id of a question about the effect of a rehearsed call that a person approved before a restart: the call is
/// rehearsed again, and its changes are applied if they are the same.
fn approved_rehearsal(known: &CallApproval) -> Option<String> {
    let answered = known.answered().filter(|answered| answered.decision == Decision::Approved && !answered.changed)?;
    answered.shown.as_ref()?.rehearsal.as_ref().map(|_| answered.id.clone())
}

/// Returns the arguments that a person substituted for the model's.
fn changed(recorder: &Recorder, answered: &RecordedAnswer) -> Option<String> {
    let mut calls = recorder.session().calls_of(recorder.work_id());
    let call = calls.find(|call| call.approval.as_ref().is_some_and(|approval| approval.id() == answered.id))?;
    answered.changed.then(|| call.arguments.as_ref().map(ToString::to_string))?
}

/// Returns what the model is told of a call that was not approved; `is_tried`: it was rehearsed before.
fn refusal((decision, reason): (Decision, Option<&str>), is_tried: bool) -> ApprovalResult {
    let became = if is_tried { "It was tried out, and what it changed was discarded." } else { "It was not run." };
    let (status, text) = match (decision, reason) {
        (Decision::Denied, Some(reason)) => (
            CallStatus::Denied,
            format!("[denied by the user: {reason}] {became} Do what they say; do not try it another way."),
        ),
        (Decision::Denied, None) => (
            CallStatus::Denied,
            format!("[denied by the user] {became} Do not try it another way; go on without it, or ask them."),
        ),
        (Decision::Expired, _) => (
            CallStatus::Denied,
            format!("[nobody approved it in time] {became} Go on without it, and tell the user what is left to do."),
        ),
        (Decision::Cancelled | Decision::Approved, _) => {
            (CallStatus::Cancelled, format!("[cancelled: the run was stopped before this call was approved] {became}"))
        }
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
