//! Runs a call that needs no question, or whose question is answered, and asks about what it changed if other programs run
//! these files later.

use std::sync::{Mutex, PoisonError};

use super::asking::{PendingApproval, Question};
use super::calls::{CallRunner, Stop};
use super::eliciting::{CallMode, ElicitingCall};
use super::executing::{CallEnd, Holding, finished};
use super::recorder::Recorder;
use super::rehearsals::{EndedRehearsal, Rehearsals};
use super::rehearsing::{CallInTurn, record_later};
use crate::clock;
use crate::domain::{CallStatus, Shown};
use crate::provider::CallRequest;
use crate::tools::policy::{RunsLaterRule, refused_runs_later};
use crate::tools::{Checked, HeldChanges, Reason};

/// A call that has run.
pub(super) struct EndedCall<'a> {
    pub index: u32,
    pub request: CallRequest,
    pub checked: &'a Checked,
    pub ended: CallEnd,
    /// Its changes, if a person is to be asked about them.
    pub held: Mutex<HeldChanges>,
}

/// What follows when a call has run.
pub(super) enum AfterRun {
    Ended(Box<CallEnd>),
    /// A person is asked about its changes.
    Asked(Box<PendingApproval>),
}

impl CallRunner<'_> {
    /// Runs a call that may change something, and asks about what other programs run later. Returns the reason if the run
    /// cannot continue.
    pub(super) async fn run_alone(
        &self,
        turn: CallInTurn<'_>,
        checked: &Checked,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<Option<String>, Stop> {
        let CallInTurn { call, rest } = turn;
        recorder.start_call(call.index, &call.request).await?;
        let held = Mutex::default();
        let eliciting = ElicitingCall { index: call.index, request: &call.request, checked, rest };
        let how = CallMode { approved: None, holding: Holding::RunsLater(&held) };
        let ended = self.run_eliciting(eliciting, how, (&mut *recorder, &mut *rehearsals)).await?;
        let ran = EndedCall { index: call.index, request: call.request.clone(), checked, ended, held };
        if !ran.holds_nothing() {
            record_later(rest, recorder).await?;
        }
        match self.ask_about_held(ran, (&mut *recorder, &mut *rehearsals)).await? {
            AfterRun::Asked(pending) => self.asked(turn, &pending, (recorder, rehearsals)).await,
            AfterRun::Ended(ended) => {
                recorder.fact(finished(recorder, &call.request, &ended)).await?;
                Ok(ended.fatal)
            }
        }
    }

    /// Asks about the changes of a call that were kept apart. Those of a call that was stopped are discarded, and those for
    /// which nobody is there to be asked.
    pub(super) async fn ask_about_held(
        &self,
        EndedCall { index, request, checked, mut ended, held }: EndedCall<'_>,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<AfterRun, Stop> {
        let changes = held.into_inner().unwrap_or_else(PoisonError::into_inner);
        if changes.is_empty() || matches!(ended.status, CallStatus::Cancelled) {
            return Ok(AfterRun::Ended(Box::new(ended)));
        }
        let rehearsed = match changes.rehearsed(&ended.answer).await {
            Ok(rehearsed) => rehearsed,
            Err(error) => {
                // Nobody knows what they are, so they are discarded.
                ended.answer.text.push_str(&format!("\n[its changes of files were not applied: {error}]"));
                (ended.answer.ok, ended.status) = (false, CallStatus::Error);
                return Ok(AfterRun::Ended(Box::new(ended)));
            }
        };
        if self.policy.of_runs_later(&request.name, checked.call.effect()) == RunsLaterRule::Refuse {
            let why = refused_runs_later(rehearsed.runs_later.iter().map(String::as_str));
            ended.answer.text.push_str(&format!("\n[denied: {why}] All its changes of files were discarded."));
            (ended.answer.ok, ended.status) = (false, CallStatus::Denied);
            return Ok(AfterRun::Ended(Box::new(ended)));
        }
        let pending = PendingApproval::asked(request, clock::new_id());
        let question = Question {
            effect: checked.call.effect(),
            arguments: checked.arguments.clone(),
            shown: Shown { rehearsal: Some(rehearsed.clone()), ..checked.call.shown() },
            reason: Reason::default().about_runs_later(rehearsed.runs_later.iter().map(String::as_str)),
            rehearsal: None,
        };
        let approval = self.approval(&pending, &question, recorder);
        recorder.ask(index, approval).await?;
        rehearsals.keep(pending.id(), EndedRehearsal { ended, changes, rehearsed });
        Ok(AfterRun::Asked(Box::new(pending)))
    }
}

impl EndedCall<'_> {
    fn holds_nothing(&self) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
