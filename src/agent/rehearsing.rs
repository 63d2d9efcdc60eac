//! Runs a call with its changes of files kept apart, and asks a person about what it would change.

use std::sync::{Mutex, PoisonError};

use super::asking::{PendingApproval, Question};
use super::calls::{CallRunner, ProposedCall, Stop};
use super::executing::{Holding, RunningCall, finished};
use super::recorder::{NotRecorded, Recorder};
use super::rehearsals::{EndedRehearsal, Rehearsals, state_of};
use crate::domain::{CallApproval, CallStatus, Rehearsed, RequestedCall, Shown};
use crate::tools::{Checked, HeldChanges, LiveQuestions, Reason, Unrehearsable};

/// A call that is to be rehearsed.
pub struct PlannedRehearsal {
    pub checked: Checked,
    pub approval_id: String,
    /// Why a person is asked if it would change something.
    pub reason: Reason,
    pub asks: AskAbout,
}

/// Which effects of a rehearsed call a person is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskAbout {
    Changes,
    /// Also about none, because they are asked about the call in any case.
    Every,
}

/// A call with those of the exchange that come after it.
#[derive(Clone, Copy)]
pub struct CallInTurn<'a> {
    pub call: &'a ProposedCall,
    pub rest: &'a [ProposedCall],
}

impl CallRunner<'_> {
    /// Rehearses a call. One that would change nothing may have ended then; for another one a person is asked, and exactly
    /// what they saw is applied or discarded. Returns the reason if the run cannot continue.
    pub(super) async fn rehearsed(
        &self,
        turn: CallInTurn<'_>,
        planned: &PlannedRehearsal,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<Option<String>, Stop> {
        let CallInTurn { call, .. } = turn;
        let (request, checked) = (&call.request, &planned.checked);
        if call.approval.is_none() {
            recorder.start_call(call.index, request).await?;
        }
        let held = Mutex::new(HeldChanges::default());
        let previews = recorder.previews();
        let (row, questions) = ((&previews, request.id.as_str()), LiveQuestions::default());
        let holding = Holding::Everything(&held);
        let mut ended =
            self.execute(RunningCall { checked, row, approved: None, holding, elicited: None, questions }).await;
        let changes = held.into_inner().unwrap_or_else(PoisonError::into_inner);
        if matches!(ended.status, CallStatus::Cancelled) {
            recorder.fact(finished(recorder, request, &ended)).await?;
            return Ok(ended.fatal);
        }
        if let Some(why) = checked.call.unrehearsable() {
            // The attempt has shown it; nothing was run.
            let pending = self.ask_first(&turn, planned, (why, &mut *recorder)).await?;
            return self.asked(turn, &pending, (recorder, rehearsals)).await;
        }
        let rehearsed = match changes.rehearsed(&ended.answer).await {
            Ok(rehearsed) => rehearsed,
            Err(error) => {
                // Nobody knows what they are, so they are discarded.
                drop(changes);
                ended.answer.text.push_str(&format!("\n[its changes of files were not applied: {error}]"));
                (ended.answer.ok, ended.status) = (false, CallStatus::Error);
                recorder.fact(finished(recorder, request, &ended)).await?;
                return Ok(ended.fatal);
            }
        };
        let has_ended = planned.asks == AskAbout::Changes || ended.fatal.is_some();
        if rehearsed.changes_nothing() && has_ended {
            let applied = changes.apply(self.session_id.clone(), request.id.clone()).await;
            ended.answer = applied.add_to(ended.answer);
            if call.approval.is_some() {
                recorder.start_call(call.index, request).await?;
            }
            recorder.fact(finished(recorder, request, &ended)).await?;
            return Ok(ended.fatal);
        }
        let pending = self.ask_about(&turn, planned, (rehearsed.clone(), &mut *recorder)).await?;
        rehearsals.keep(&planned.approval_id, EndedRehearsal { ended, changes, rehearsed });
        self.asked(turn, &pending, (recorder, rehearsals)).await
    }

    /// Asks about a call that could not be rehearsed.
    async fn ask_first(
        &self,
        CallInTurn { call, rest }: &CallInTurn<'_>,
        planned: &PlannedRehearsal,
        (why, recorder): (Unrehearsable, &mut Recorder),
    ) -> Result<PendingApproval, Stop> {
        let checked = &planned.checked;
        let reason = planned.reason.because.clone();
        let question = Question {
            effect: checked.call.effect(),
            arguments: checked.arguments.clone(),
            shown: checked.call.shown(),
            reason: Reason::unrehearsed("Running commands requires approval.", &why, reason),
            rehearsal: state_of(checked),
        };
        let pending = PendingApproval::asked(call.request.clone(), planned.approval_id.clone());
        record_later(rest, recorder).await?;
        let approval = self.approval(&pending, &question, recorder);
        recorder.ask(call.index, approval).await?;
        Ok(pending)
    }

    /// Asks about a rehearsed call, unless a person has answered before a restart.
    async fn ask_about(
        &self,
        CallInTurn { call, rest }: &CallInTurn<'_>,
        planned: &PlannedRehearsal,
        (rehearsed, recorder): (Rehearsed, &mut Recorder),
    ) -> Result<PendingApproval, Stop> {
        let (request, checked) = (&call.request, &planned.checked);
        let reason = match rehearsed.runs_later.as_slice() {
            [] => planned.reason.clone(),
            files => planned.reason.clone().about_runs_later(files.iter().map(String::as_str)),
        };
        let shown = Shown { rehearsal: Some(rehearsed), ..checked.call.shown() };
        let pending = PendingApproval::asked(request.clone(), planned.approval_id.clone());
        if matches!(&call.approval, Some(CallApproval::Answered(_))) {
            // An answer that was given to other changes is noticed when it is checked.
            return Ok(pending);
        }
        record_later(rest, recorder).await?;
        let question = Question {
            effect: checked.call.effect(),
            arguments: checked.arguments.clone(),
            shown,
            reason,
            rehearsal: None,
        };
        let approval = self.approval(&pending, &question, recorder);
        recorder.ask(call.index, approval).await?;
        Ok(pending)
    }
}

/// Records the calls that follow in this exchange, so that they go on after a restart.
pub(super) async fn record_later(rest: &[ProposedCall], recorder: &mut Recorder) -> Result<(), NotRecorded> {
    let calls = recorder.session().calls_of(recorder.work_id());
    let known: Vec<_> = calls.filter_map(|call| call.id.clone()).collect();
    let later = rest.iter().filter(|later| !known.contains(&later.request.id)).map(|later| RequestedCall {
        index: later.index,
        call_id: later.request.id.clone(),
        tool: later.request.name.clone(),
        arguments: later.request.arguments.clone(),
    });
    recorder.request(later.collect()).await
}
