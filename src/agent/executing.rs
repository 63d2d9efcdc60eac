//! Executes one call, and says what became of it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::calls::CallRunner;
use super::recorder::{Previews, Recorder};
use crate::domain::{CallStatus, Elicitation, Event, Root, Shown, Taint, ToolAnswer};
use crate::provider::CallRequest;
use crate::tools::{
    Checked, Elicited, EndRun, FilesRead, HeldChanges, LiveOutput, LiveQuestions, Rehearsal, RunOptions,
    sanitize_for_model,
};

/// How long a tool may take to return after it was told to stop; then it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// Maximum number of pieces of output that wait to be shown.
const LIVE_QUEUE: usize = 64;

/// The row of a call in the session: what shows its output, and its id.
pub(super) type CallRow<'a> = (&'a Previews, &'a str);

/// A call that is executed.
pub(super) struct RunningCall<'a> {
    pub checked: &'a Checked,
    pub row: CallRow<'a>,
    /// What a person saw and approved.
    pub approved: Option<&'a Shown>,
    pub holding: Holding<'a>,
    /// What a person answered to a question of an earlier run of the call.
    pub elicited: Option<&'a Elicited>,
    pub questions: LiveQuestions,
}

/// What of the changes of a call is kept apart, and where.
#[derive(Clone, Copy)]
pub(super) enum Holding<'a> {
    Nothing,
    /// All of them, if there are files among them that other programs run later.
    RunsLater(&'a Mutex<HeldChanges>),
    /// It is rehearsed.
    Everything(&'a Mutex<HeldChanges>),
}

impl RunningCall<'_> {
    async fn run(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        let held = match self.holding {
            Holding::Nothing => return self.checked.call.run(options).await,
            Holding::RunsLater(held) => {
                return self.checked.call.run(RunOptions { held: Some(held), ..options }).await;
            }
            Holding::Everything(held) => held,
        };
        let Rehearsal { answer, changes } = self.checked.call.rehearse(options).await?;
        *held.lock().unwrap_or_else(PoisonError::into_inner) = changes;
        Ok(answer)
    }
}

pub(super) struct CallEnd {
    pub status: CallStatus,
    pub answer: ToolAnswer,
    pub took: Duration,
    /// Sources of text in the answer that strangers may have written.
    pub taint: Vec<Taint>,
    /// Why the run cannot continue.
    pub fatal: Option<String>,
    /// What a person is asked for; then the call has not ended, but goes on with the answer.
    pub elicitation: Option<Box<Elicitation>>,
}

impl CallEnd {
    /// Returns the end of a call that was not run.
    pub(super) fn unrun(status: CallStatus, answer: ToolAnswer) -> Self {
        // An answer may quote a file even if nothing was run.
        let taint = answer.sources.clone();
        Self { status, answer, took: Duration::ZERO, taint, fatal: None, elicitation: None }
    }
}

impl CallRunner<'_> {
    /// Returns a file of a skill that nobody has trusted in its current version, if a call may have read it unnoticed:
    /// commands can read skills/, and what a command has read is unknown.
    async fn untrusted_of(&self, checked: &Checked) -> Option<Taint> {
        if checked.call.outside_text().files == FilesRead::Named {
            return None;
        }
        let home = self.home.clone();
        let found = tokio::task::spawn_blocking(move || home.skill_files()).await;
        match found {
            Ok(Ok(files)) => files.first_untrusted().map(Taint::Skill),
            // If the files cannot be checked, assume the worse.
            Ok(Err(_)) | Err(_) => Some(Taint::Skill(format!("{}/", Root::Skills))),
        }
    }

    /// Runs or rehearses a call.
    pub(super) async fn execute(&self, call: RunningCall<'_>) -> CallEnd {
        let started = Instant::now();
        if self.stop_signal.cancel.is_cancelled() {
            return self.stop_signal.cancelled(started);
        }
        let checked = call.checked;
        let mut ended = self.execute_now(&call).await;
        ended.taint = checked.call.outside_text().sources(&ended.answer);
        ended
    }

    /// Returns the end of a call whose tool has answered.
    pub(super) async fn end_of(&self, checked: &Checked, mut answer: ToolAnswer) -> CallEnd {
        answer.sources.extend(self.untrusted_of(checked).await);
        let answer = sanitize_for_model(answer, checked.call.as_ref());
        let status = if answer.ok { CallStatus::Done } else { CallStatus::Error };
        let taint = checked.call.outside_text().sources(&answer);
        CallEnd { taint, ..CallEnd::unrun(status, answer) }
    }

    async fn execute_now(&self, call: &RunningCall<'_>) -> CallEnd {
        let RunningCall { checked, row: (previews, call_id), approved, elicited, .. } = *call;
        let started = Instant::now();
        let cancel = &self.stop_signal.cancel;
        let (live, mut output) = mpsc::channel(LIVE_QUEUE);
        let live = LiveOutput::new(live);
        let questions = call.questions.clone();
        let running = call.run(RunOptions { approved, cancel: cancel.clone(), live, held: None, elicited, questions });
        tokio::pin!(running);
        let out_of_patience = async {
            cancel.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::pin!(out_of_patience);
        let answer = loop {
            tokio::select! {
                answer = &mut running => break answer,
                () = &mut out_of_patience => return self.stop_signal.cancelled(started),
                Some(text) = output.recv() => {
                    let (work_id, call_id) = (previews.work_id().clone(), call_id.to_owned());
                    // A session without an owner is noticed when the end of the call is recorded.
                    let _ = previews.show(Event::ToolOutput { work_id, call_id, text }).await;
                }
            }
        };
        let took = started.elapsed();
        match answer {
            Ok(_) if cancel.is_cancelled() => self.stop_signal.cancelled(started),
            Ok(answer) => CallEnd { took, ..self.end_of(checked, answer).await },
            Err(EndRun::Cancelled { text, egress_attempts }) => {
                let mut cancelled = self.stop_signal.cancelled(started);
                egress_attempts.add_to(&mut cancelled.answer.data);
                cancelled.answer.sources.extend(self.untrusted_of(checked).await);
                let text = ToolAnswer { text, sources: cancelled.answer.sources.clone(), ..ToolAnswer::default() };
                let text = sanitize_for_model(text, checked.call.as_ref()).text;
                let text =
                    if text.is_empty() { cancelled.answer.text } else { format!("{text}\n{}", cancelled.answer.text) };
                cancelled.answer.text = egress_attempts.line().map_or(text.clone(), |line| format!("{text}\n{line}"));
                cancelled
            }
            Err(EndRun::InputRequired(elicitation)) => {
                let ended = CallEnd::unrun(CallStatus::Error, ToolAnswer::failed("[it needs input of the user]"));
                CallEnd { took, elicitation: Some(elicitation), ..ended }
            }
            Err(EndRun::Broken(reason)) => {
                let ended = CallEnd::unrun(CallStatus::Error, ToolAnswer::failed(&reason));
                CallEnd { took, fatal: Some(reason), ..ended }
            }
        }
    }
}

pub(super) fn finished(recorder: &Recorder, call: &CallRequest, ended: &CallEnd) -> Event {
    Event::ToolFinished {
        work_id: recorder.work_id().clone(),
        call_id: call.id.clone(),
        tool: call.name.clone(),
        status: ended.status,
        output: ended.answer.text.clone(),
        result: ended.answer.record(),
        duration_ms: ended.took.as_millis() as u64,
        taint: ended.taint.clone(),
    }
}
