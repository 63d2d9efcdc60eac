//! The rehearsals of an exchange's calls: a person can request one while a call waits for their answer, and what rehearsed
//! calls would change is kept until the answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::calls::{CallRunner, Stop};
use super::executing::CallEnd;
use super::recorder::{NotRecorded, OwnerMessage, Recorder};
use crate::clock;
use crate::domain::approval::hash;
use crate::domain::{
    Approval, CallApproval, Effect, Event, RecordedAnswer, RehearsalState, Rehearsed, Shown, ToolCall,
};
use crate::tools::{Checked, EndRun, HeldChanges, Rehearsal, RunOptions, ToolContext, Unrehearsable};

/// A rehearsal that has ended.
pub(super) struct EndedRehearsal {
    /// How the call ends if its changes are applied.
    pub ended: CallEnd,
    pub changes: HeldChanges,
    pub rehearsed: Rehearsed,
}

/// The rehearsals of an exchange, by the ids of the questions. Dropping it stops those under way.
#[derive(Default)]
pub(super) struct Rehearsals {
    running: FuturesUnordered<BoxFuture<'static, RequestedRun>>,
    /// Stop the rehearsals under way when they are dropped.
    stops: HashMap<String, DropGuard>,
    ended: HashMap<String, EndedRehearsal>,
}

/// A call that was rehearsed because a person requested it.
struct RequestedRun {
    approval_id: String,
    /// `None` if its task panicked.
    ran: Option<(Checked, Result<Rehearsal, EndRun>)>,
    took: Duration,
}

/// What became of the rehearsal of a question.
pub(super) enum Tried {
    Never,
    /// It was stopped, and what it had changed is discarded.
    Stopped,
    Ended(Box<EndedRehearsal>),
}

impl Rehearsals {
    pub(super) fn keep(&mut self, approval_id: &str, ended: EndedRehearsal) {
        self.ended.insert(approval_id.to_owned(), ended);
    }

    /// Returns the rehearsal of a question that is answered. One that is under way is stopped.
    pub(super) fn take(&mut self, approval_id: &str) -> Tried {
        match (self.ended.remove(approval_id), self.stops.remove(approval_id)) {
            (Some(ended), _) => Tried::Ended(Box::new(ended)),
            (None, Some(_)) => Tried::Stopped,
            (None, None) => Tried::Never,
        }
    }

    fn is_known(&self, approval_id: &str) -> bool {
        self.stops.contains_key(approval_id) || self.ended.contains_key(approval_id)
    }

    fn start(&mut self, approval_id: String, checked: Checked, cancel: CancellationToken) {
        self.stops.insert(approval_id.clone(), cancel.clone().drop_guard());
        let started = Instant::now();
        // A task, so that it goes on while another call of the exchange runs.
        let running = tokio::spawn(async move {
            let options = RunOptions { cancel, ..RunOptions::default() };
            let ran = checked.call.rehearse(options).await;
            (checked, ran, started.elapsed())
        });
        self.running.push(Box::pin(async move {
            match running.await {
                Ok((checked, ran, took)) => RequestedRun { approval_id, ran: Some((checked, ran)), took },
                Err(_) => RequestedRun { approval_id, ran: None, took: started.elapsed() },
            }
        }));
    }
}

impl CallRunner<'_> {
    /// Waits for the answer to a question. Meanwhile calls are rehearsed as a person requests it. `None` if the run is stopped,
    /// or if there will be no answer.
    pub(super) async fn answer_to(
        &self,
        approval_id: &str,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<Option<RecordedAnswer>, Stop> {
        loop {
            if let Some(answered) = recorder.answer_to(approval_id) {
                return Ok(Some(answered));
            }
            let is_rehearsing = !rehearsals.running.is_empty();
            // While a command runs, the run does not wait for a person alone.
            let _pause = (!is_rehearsing).then(|| self.deadline.pause());
            let ended = tokio::select! {
                biased;
                message = recorder.told() => match message {
                    None => return Ok(None),
                    Some(OwnerMessage::Answered(Event::ApprovalAnswered { approval_id, .. })) => {
                        // If it is rehearsed just now, the answer was given without that.
                        if let Some(stop) = rehearsals.stops.get_mut(&approval_id) {
                            *stop = CancellationToken::new().drop_guard();
                        }
                        continue;
                    }
                    Some(OwnerMessage::Answered(_)) => continue,
                    Some(OwnerMessage::Rehearse(approval_id)) => {
                        self.start_rehearsal(&approval_id, (recorder, rehearsals)).await?;
                        continue;
                    }
                },
                () = self.stop_signal.cancel.cancelled() => return Ok(None),
                Some(ended) = rehearsals.running.next(), if is_rehearsing => ended,
            };
            self.end_rehearsal(ended, (recorder, rehearsals)).await?;
        }
    }

    /// Starts the rehearsal that a person requested for a question.
    async fn start_rehearsal(
        &self,
        approval_id: &str,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<(), NotRecorded> {
        let Some(approval) = open_question(recorder, approval_id).filter(|_| !rehearsals.is_known(approval_id)) else {
            return Ok(());
        };
        let arguments = approval.arguments.to_string();
        let context = ToolContext::new(self.session_id, &approval.call_id, recorder.session());
        let Ok(checked) = self.tools.prepare(&approval.tool, &arguments, context).await else {
            // The answer to the question tells the model why it cannot be made.
            return self.ask_again(Approval { rehearsal: None, ..approval }, recorder).await;
        };
        match state_of(&checked) {
            Some(RehearsalState::Available) => {
                rehearsals.start(approval_id.to_owned(), checked, self.stop_signal.cancel.child_token());
                Ok(())
            }
            state => self.ask_again(Approval { rehearsal: state, ..approval }, recorder).await,
        }
    }

    /// Asks again about a call that was rehearsed, with what it would change.
    async fn end_rehearsal(
        &self,
        RequestedRun { approval_id, ran, took }: RequestedRun,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<(), NotRecorded> {
        let Some(approval) = open_question(recorder, &approval_id) else { return Ok(()) };
        if self.stop_signal.cancel.is_cancelled() {
            return Ok(());
        }
        rehearsals.stops.remove(&approval_id);
        let unread =
            || Some(Unrehearsable::new("unread", "What it changed could not be read and was discarded.").state());
        let (checked, Rehearsal { answer, changes }) = match ran {
            Some((checked, Ok(rehearsal))) => (checked, rehearsal),
            Some((_, Err(error))) => {
                tracing::warn!(session = %self.session_id, %error, "a rehearsal ended without a result");
                return self.ask_again(Approval { rehearsal: unread(), ..approval }, recorder).await;
            }
            None => return self.ask_again(Approval { rehearsal: unread(), ..approval }, recorder).await,
        };
        // The attempt may have shown that it cannot be rehearsed; nothing was run then.
        if let Some(state @ RehearsalState::Unavailable { .. }) = state_of(&checked) {
            return self.ask_again(Approval { rehearsal: Some(state), ..approval }, recorder).await;
        }
        let ended = CallEnd { took, ..self.end_of(&checked, answer).await };
        let rehearsed = match changes.rehearsed(&ended.answer).await {
            Ok(rehearsed) if !changes.are_unread() => rehearsed,
            Ok(_) => return self.ask_again(Approval { rehearsal: unread(), ..approval }, recorder).await,
            Err(error) => {
                tracing::warn!(session = %self.session_id, %error, "the changes of a rehearsal could not be read");
                return self.ask_again(Approval { rehearsal: unread(), ..approval }, recorder).await;
            }
        };
        let shown = Shown { rehearsal: Some(rehearsed.clone()), ..checked.call.shown() };
        rehearsals.keep(&approval_id, EndedRehearsal { ended, changes, rehearsed });
        self.ask_again(Approval { shown, rehearsal: None, ..approval }, recorder).await
    }

    /// Asks a question again that a person has not answered. If they answer at the same time, their answer counts.
    async fn ask_again(&self, approval: Approval, recorder: &mut Recorder) -> Result<(), NotRecorded> {
        let asked_at = clock::now();
        let hash = hash(self.session_id, &approval.tool, &approval.arguments, &approval.shown);
        let expires_at = asked_at + self.policy.timeout.as_secs_f64();
        let is_it = |call: &&ToolCall| call.id.as_ref() == Some(&approval.call_id);
        let index = recorder.session().calls_of(recorder.work_id()).find(is_it).and_then(|call| call.index);
        recorder.ask(index.unwrap_or(0), Approval { hash, asked_at, expires_at, ..approval }).await
    }
}

/// Returns whether a call can be rehearsed; `None` for one that runs no command.
pub(super) fn state_of(checked: &Checked) -> Option<RehearsalState> {
    (checked.call.effect() == Effect::Execute).then(|| match checked.call.unrehearsable() {
        None => RehearsalState::Available,
        Some(unrehearsable) => unrehearsable.state(),
    })
}

fn open_question(recorder: &Recorder, approval_id: &str) -> Option<Approval> {
    recorder.session().approval(recorder.work_id(), approval_id).and_then(CallApproval::asked).cloned()
}
