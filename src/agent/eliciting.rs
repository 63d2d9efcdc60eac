//! Calls whose servers ask a person for input. Two ways: the call ends with its question and is repeated with the answer, which
//! may come after a restart; or it goes on, and its server waits for the answer as long as the connection lives.

use std::future::Future;

use futures_util::future::join_all;
use tokio::sync::mpsc;

use super::asking::{PendingApproval, Question};
use super::calls::{CallRunner, PlannedCall, ProposedCall, Stop};
use super::executing::{CallEnd, Holding, RunningCall, finished};
use super::recorder::Recorder;
use super::rehearsals::Rehearsals;
use super::rehearsing::{CallInTurn, record_later};
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{
    Approval, CallStatus, Decision, Elicitation, ElicitationAction, ElicitationAnswer, RecordedAnswer, Shown,
    ToolAnswer,
};
use crate::provider::CallRequest;
use crate::tools::{Checked, Elicited, LiveQuestion, LiveQuestions, Reason, ToolContext};

/// Maximum number of questions of calls under way that wait to be asked.
const QUEUE: usize = 8;
const LOST: &str = "[interrupted: the server stopped while this call waited for the user, and its connection to the MCP server \
    ended. Whether the call was carried out is unknown; look before you make it again.]";

/// A call that runs, with those of the exchange that come after it.
#[derive(Clone, Copy)]
pub(super) struct ElicitingCall<'a> {
    pub index: u32,
    pub request: &'a CallRequest,
    pub checked: &'a Checked,
    pub rest: &'a [ProposedCall],
}

/// What a person saw and approved of a call, and what of its changes is kept apart.
#[derive(Clone, Copy)]
pub(super) struct CallMode<'a> {
    pub approved: Option<&'a Shown>,
    pub holding: Holding<'a>,
}

/// Calls that run side by side, with those of the exchange that come after them.
#[derive(Clone, Copy)]
pub(super) struct CallGroup<'a> {
    pub calls: &'a [ProposedCall],
    pub planned: &'a [PlannedCall],
    pub rest: &'a [ProposedCall],
}

type Asking<'a> = (&'a mut Recorder, &'a mut Rehearsals);

impl CallRunner<'_> {
    /// Runs a call to its end, and asks a person what its server wants to know.
    pub(super) async fn run_eliciting(
        &self,
        call: ElicitingCall<'_>,
        how: CallMode<'_>,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<CallEnd, Stop> {
        let previews = recorder.previews();
        let running = |to| {
            let questions = LiveQuestions::new(to, &call.request.id);
            let CallMode { approved, holding } = how;
            let row = (&previews, call.request.id.as_str());
            self.execute(RunningCall { checked: call.checked, row, approved, holding, elicited: None, questions })
        };
        let ended = self.attended(&[call], running, (&mut *recorder, &mut *rehearsals)).await?;
        self.repeated(call, ended, (recorder, rehearsals)).await
    }

    /// Runs calls side by side and records their results. Returns the reason if the run cannot continue.
    pub(super) async fn run_group(
        &self,
        CallGroup { calls, planned, rest }: CallGroup<'_>,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<Option<String>, Stop> {
        for wanted in calls {
            recorder.start_call(wanted.index, &wanted.request).await?;
        }
        let previews = recorder.previews();
        let eliciting: Vec<_> = { calls.iter().zip(planned) }
            .filter_map(|(wanted, planned)| {
                let PlannedCall::Run(checked) = planned else { return None };
                Some(ElicitingCall { index: wanted.index, request: &wanted.request, checked, rest })
            })
            .collect();
        let running = |to: mpsc::Sender<LiveQuestion>| {
            let all = calls.iter().zip(planned).map(|(wanted, planned)| {
                let (row, questions) =
                    ((&previews, wanted.request.id.as_str()), LiveQuestions::new(to.clone(), &wanted.request.id));
                async move {
                    let Some(checked) = planned.checked() else { return planned.answer() };
                    let holding = Holding::Nothing;
                    self.execute(RunningCall { checked, row, approved: None, holding, elicited: None, questions }).await
                }
            });
            join_all(all)
        };
        let ended = self.attended(&eliciting, running, (&mut *recorder, &mut *rehearsals)).await?;
        let (mut fatal, mut asking) = (None, Vec::new());
        // First those that have ended, so that no result is lost while a person is asked.
        for (wanted, ended) in calls.iter().zip(ended) {
            if ended.elicitation.is_some() {
                asking.push((wanted, ended));
                continue;
            }
            recorder.fact(finished(recorder, &wanted.request, &ended)).await?;
            fatal = ended.fatal.or(fatal);
        }
        // All questions are recorded before a person is waited for.
        let mut asked = Vec::new();
        for (wanted, mut ended) in asking {
            let call = eliciting.iter().find(|call| call.index == wanted.index);
            let (Some(call), Some(elicitation)) = (call, ended.elicitation.take()) else { continue };
            record_later(call.rest, recorder).await?;
            let approval = self.elicit(*call, *elicitation, recorder).await?;
            asked.push((wanted, *call, approval.id));
        }
        for (wanted, call, approval) in asked {
            let ended = self.continued(call, &approval, (&mut *recorder, &mut *rehearsals)).await?;
            let ended = self.repeated(call, ended, (&mut *recorder, &mut *rehearsals)).await?;
            recorder.fact(finished(recorder, &wanted.request, &ended)).await?;
            fatal = ended.fatal.or(fatal);
        }
        Ok(fatal)
    }

    /// Returns how a call goes on whose server had asked for input before a restart.
    pub(super) fn plan_elicitation(
        &self,
        wanted: &ProposedCall,
        checked: &Checked,
        elicitation: &Elicitation,
    ) -> PlannedCall {
        let Some(known) = wanted.approval.as_ref().filter(|_| elicitation.resumption.is_some()) else {
            return PlannedCall::Answer(CallStatus::Interrupted, ToolAnswer::failed(LOST));
        };
        let (request, id) = (wanted.request.clone(), known.id().to_owned());
        PlannedCall::Elicit(Box::new(match known.answered() {
            Some(_) => PendingApproval::asked(request, id),
            None => PendingApproval::again(request, id, question(checked, elicitation.clone())),
        }))
    }

    /// Waits for the answer to a question that was asked before a restart, and goes on with the call. Returns the reason if the
    /// run cannot continue.
    pub(super) async fn resume_eliciting(
        &self,
        CallInTurn { call, rest }: CallInTurn<'_>,
        asked: &PendingApproval,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<Option<String>, Stop> {
        let context = ToolContext::new(self.session_id, &call.request.id, recorder.session());
        let ended = match self.tools.prepare(&call.request.name, &call.request.arguments, context).await {
            Ok(checked) => {
                let eliciting = ElicitingCall { index: call.index, request: &call.request, checked: &checked, rest };
                let ended = self.continued(eliciting, asked.id(), (&mut *recorder, &mut *rehearsals)).await?;
                self.repeated(eliciting, ended, (&mut *recorder, &mut *rehearsals)).await?
            }
            Err(rejection) => CallEnd::unrun(CallStatus::Error, rejection.answer()),
        };
        recorder.fact(finished(recorder, &call.request, &ended)).await?;
        Ok(ended.fatal)
    }

    /// Asks a person what a call needs, and repeats it until it has ended.
    async fn repeated(
        &self,
        call: ElicitingCall<'_>,
        mut ended: CallEnd,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<CallEnd, Stop> {
        while let Some(elicitation) = ended.elicitation.take() {
            record_later(call.rest, recorder).await?;
            let approval = self.elicit(call, *elicitation, recorder).await?;
            ended = self.continued(call, &approval.id, (&mut *recorder, &mut *rehearsals)).await?;
        }
        Ok(ended)
    }

    async fn elicit(
        &self,
        call: ElicitingCall<'_>,
        elicitation: Elicitation,
        recorder: &mut Recorder,
    ) -> Result<Approval, Stop> {
        let pending = PendingApproval::asked(call.request.clone(), clock::new_id());
        let approval = self.approval(&pending, &question(call.checked, elicitation), recorder);
        recorder.ask(call.index, approval.clone()).await?;
        Ok(approval)
    }

    /// Waits for the answer to a question, and repeats the call with it. Everything that the answer is bound to is checked.
    async fn continued(
        &self,
        call: ElicitingCall<'_>,
        approval_id: &str,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<CallEnd, Stop> {
        let answered = self.answer_to(approval_id, (&mut *recorder, &mut *rehearsals)).await?;
        if answered.is_none() && self.stop_signal.is_suspended() {
            return Err(Stop::Suspended);
        }
        let (asked, answer, shown_hash) = match given(answered) {
            Ok(given) => given,
            Err(ended) => {
                call.checked.call.abandoned();
                return Ok(*ended);
            }
        };
        let shown = Shown { elicitation: Some(Box::new(asked.clone())), ..call.checked.call.shown() };
        if hash(self.session_id, &call.request.name, &call.checked.arguments, &shown) != shown_hash {
            call.checked.call.abandoned();
            let text = "[not run: the server or its tool was changed after the user answered] Ask again if it is still needed.";
            return Ok(CallEnd::unrun(CallStatus::Denied, ToolAnswer::failed(text)));
        }
        recorder.start_call(call.index, call.request).await?;
        let (previews, elicited) = (recorder.previews(), Elicited { asked, answer });
        let running = |to| {
            let questions = LiveQuestions::new(to, &call.request.id);
            let (row, holding, elicited) = ((&previews, call.request.id.as_str()), Holding::Nothing, Some(&elicited));
            self.execute(RunningCall { checked: call.checked, row, approved: None, holding, elicited, questions })
        };
        self.attended(&[call], running, (recorder, rehearsals)).await
    }

    /// Runs calls, and asks a person what their servers want to know meanwhile. A question is withdrawn when its call ends, and
    /// when its server does not wait any more.
    async fn attended<T, F: Future<Output = T>>(
        &self,
        calls: &[ElicitingCall<'_>],
        run: impl FnOnce(mpsc::Sender<LiveQuestion>) -> F,
        (recorder, rehearsals): Asking<'_>,
    ) -> Result<T, Stop> {
        let (to, mut questions) = mpsc::channel(QUEUE);
        let previews = recorder.previews();
        let running = run(to);
        tokio::pin!(running);
        loop {
            let LiveQuestion { call_id, asked, mut answer } = tokio::select! {
                biased;
                ended = &mut running => return Ok(ended),
                Some(question) = questions.recv() => question,
            };
            let Some(call) = calls.iter().find(|call| call.request.id == call_id) else { continue };
            record_later(call.rest, recorder).await?;
            let approval = self.elicit(*call, asked, recorder).await?;
            let (mut ended, mut is_withdrawn) = (None, false);
            let answered = {
                let waiting = self.answer_to(&approval.id, (&mut *recorder, &mut *rehearsals));
                tokio::pin!(waiting);
                loop {
                    tokio::select! {
                        biased;
                        answered = &mut waiting => break answered?,
                        done = &mut running, if ended.is_none() => ended = Some(done),
                        () = answer.closed(), if !is_withdrawn => {}
                    }
                    if !is_withdrawn {
                        is_withdrawn = true;
                        previews.withdraw(&approval).await?;
                    }
                }
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
            recorder.start_call(call.index, call.request).await?;
            let elicited = answered.and_then(|answered| answered.elicited);
            // Nobody waits for the answer if the question was withdrawn.
            let _ =
                answer.send(elicited.map_or_else(|| ElicitationAnswer::of(ElicitationAction::Cancel), |given| *given));
        }
    }
}

impl PlannedCall {
    fn checked(&self) -> Option<&Checked> {
        match self {
            PlannedCall::Run(checked) => Some(checked),
            PlannedCall::Rehearse(_)
            | PlannedCall::Ask(_)
            | PlannedCall::Elicit(_)
            | PlannedCall::Answer(..)
            | PlannedCall::HandOff => None,
        }
    }

    /// Returns the end of a call that is not run.
    fn answer(&self) -> CallEnd {
        match self {
            PlannedCall::Answer(status, answer) => CallEnd::unrun(*status, answer.clone()),
            PlannedCall::Run(_)
            | PlannedCall::Rehearse(_)
            | PlannedCall::Ask(_)
            | PlannedCall::Elicit(_)
            | PlannedCall::HandOff => CallEnd::unrun(CallStatus::Cancelled, ToolAnswer::failed("[cancelled]")),
        }
    }
}

fn question(checked: &Checked, elicitation: Elicitation) -> Question {
    Question {
        effect: checked.call.effect(),
        arguments: checked.arguments.clone(),
        reason: Reason::elicitation(&elicitation.server),
        shown: Shown { elicitation: Some(Box::new(elicitation)), ..checked.call.shown() },
        rehearsal: None,
    }
}

/// Returns what a person was asked, their answer and the hash of what they saw; otherwise how the call ends without an answer.
fn given(answered: Option<RecordedAnswer>) -> Result<(Elicitation, ElicitationAnswer, String), Box<CallEnd>> {
    let (decision, reason) = match answered {
        Some(RecordedAnswer {
            shown: Some(Shown { elicitation: Some(asked), .. }),
            elicited: Some(answer),
            hash,
            ..
        }) => {
            return Ok((*asked, *answer, hash));
        }
        Some(answered) => (answered.decision, answered.reason),
        None => (Decision::Cancelled, None),
    };
    let became = "The server was told nothing, and the call did not go on.";
    let (status, text) = match (decision, reason) {
        (Decision::Expired, _) => (
            CallStatus::Denied,
            format!(
                "[nobody answered in time what the server asked the user] {became} Tell the user what is left to do."
            ),
        ),
        (Decision::Denied, Some(reason)) => {
            (CallStatus::Denied, format!("[the user did not answer what the server asked: {reason}] {became}"))
        }
        (Decision::Denied, None) => {
            (CallStatus::Denied, format!("[the user did not answer what the server asked] {became}"))
        }
        (Decision::Approved | Decision::Cancelled, _) => (
            CallStatus::Cancelled,
            format!("[cancelled: the run was stopped before the user answered what the server asked] {became}"),
        ),
    };
    Err(Box::new(CallEnd::unrun(status, ToolAnswer::failed(text))))
}
