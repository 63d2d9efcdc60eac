//! The tool calls of one exchange: checked, run side by side where they only look, recorded one by one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::recorder::{NotRecorded, Recorder};
use crate::domain::{CallStatus, Event, SessionId, ToolAnswer};
use crate::provider::CallRequest;
use crate::tools::{Call, Checked, EndRun, Registry};

/// A tool that does not return so long after it was told to stop is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// From this many identical calls on, the model is told instead of the tool run again.
const SAME_CALL_TOLD: u32 = 3;
/// At this many, the run ends.
const SAME_CALL_ENDS: u32 = 5;
/// So many refused calls in a row (unknown tool, bad arguments) end the run.
const REFUSED_ENDS: u32 = 4;

/// Counts across a run what keeps coming back.
#[derive(Default)]
pub struct Repeats {
    seen: HashMap<(String, String), u32>,
    refused: u32,
}

/// Why the run ends after these calls.
pub enum Stop {
    Cancelled,
    /// A tool said that the run cannot go on.
    Failed(String),
    Limit(String),
    Record(NotRecorded),
}

impl From<NotRecorded> for Stop {
    fn from(error: NotRecorded) -> Self {
        Stop::Record(error)
    }
}

pub struct Calls<'a> {
    pub registry: &'a Registry,
    pub session_id: &'a SessionId,
    pub cancel: &'a CancellationToken,
}

/// A call that may run, or the answer the model gets instead.
enum Planned {
    Run(Checked),
    Answer(ToolAnswer),
}

struct Ended {
    status: CallStatus,
    answer: ToolAnswer,
    took: Duration,
    fatal: Option<String>,
}

impl Calls<'_> {
    /// Runs all calls of an exchange. Every call gets exactly one result, also when the run is stopped in the middle.
    pub async fn run(&self, calls: &[CallRequest], recorder: &mut Recorder, repeats: &mut Repeats) -> Result<(), Stop> {
        let planned: Vec<Planned> = calls.iter().map(|call| self.plan(call, repeats)).collect();
        let mut stop = None;
        let mut rest = calls.iter().zip(&planned).enumerate().peekable();
        while let Some(first) = rest.next() {
            let mut group = vec![first];
            if first.1.1.is_read_only() {
                while let Some(next) = rest.next_if(|(_, (_, planned))| planned.is_read_only()) {
                    group.push(next);
                }
            }
            for (index, (call, _)) in &group {
                recorder.start_call(*index as u32, call).await?;
            }
            let ended = join_all(group.iter().map(|(_, (call, planned))| self.one(call, planned))).await;
            for ((_, (call, _)), ended) in group.iter().zip(ended) {
                recorder.fact(finished(recorder, call, &ended)).await?;
                if let Some(reason) = ended.fatal {
                    stop = Some(Stop::Failed(reason));
                }
            }
        }
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match stop.or_else(|| repeats.limit().map(Stop::Limit)) {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    fn plan(&self, call: &CallRequest, repeats: &mut Repeats) -> Planned {
        let same = repeats.seen.entry((call.name.clone(), call.arguments.clone())).or_default();
        *same += 1;
        if *same >= SAME_CALL_TOLD {
            let text = format!(
                "This exact call was already made {} times in this run; its result stands above. \
                                Use it, or do something else.",
                *same - 1
            );
            return Planned::Answer(ToolAnswer::failed(text));
        }
        match self.registry.check(&call.name, &call.arguments) {
            Ok(checked) => {
                repeats.refused = 0;
                if !checked.tool.spec().effect.is_read_only() {
                    // It may change what other calls find: making those again is no repetition.
                    repeats.seen.retain(|(name, arguments), _| *name == call.name && *arguments == call.arguments);
                }
                Planned::Run(checked)
            }
            Err(rejection) => {
                repeats.refused += 1;
                Planned::Answer(ToolAnswer::failed(rejection.0))
            }
        }
    }

    async fn one(&self, request: &CallRequest, planned: &Planned) -> Ended {
        let started = Instant::now();
        let checked = match planned {
            Planned::Answer(answer) => {
                return Ended {
                    status: CallStatus::Error,
                    answer: answer.clone(),
                    took: started.elapsed(),
                    fatal: None,
                };
            }
            Planned::Run(_) if self.cancel.is_cancelled() => return Ended::cancelled(started),
            Planned::Run(checked) => checked,
        };
        let call = Call {
            session: self.session_id,
            call_id: &request.id,
            arguments: &checked.arguments,
            cancel: self.cancel.clone(),
        };
        let running = checked.tool.run(call);
        let out_of_patience = async {
            self.cancel.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        let answer = tokio::select! {
            answer = running => answer,
            () = out_of_patience => return Ended::cancelled(started),
        };
        let took = started.elapsed();
        match answer {
            Ok(_) if self.cancel.is_cancelled() => Ended::cancelled(started),
            Ok(answer) => {
                let status = if answer.ok { CallStatus::Done } else { CallStatus::Error };
                Ended { status, answer, took, fatal: None }
            }
            Err(EndRun::Cancelled { text }) => {
                let cancelled = Ended::cancelled(started);
                let text =
                    if text.is_empty() { cancelled.answer.text } else { format!("{text}\n{}", cancelled.answer.text) };
                Ended { answer: ToolAnswer { text, ..cancelled.answer }, ..cancelled }
            }
            Err(EndRun::Broken(reason)) => {
                Ended { status: CallStatus::Error, answer: ToolAnswer::failed(&reason), took, fatal: Some(reason) }
            }
        }
    }
}

impl Planned {
    fn is_read_only(&self) -> bool {
        match self {
            Planned::Answer(_) => true,
            Planned::Run(checked) => checked.tool.spec().effect.is_read_only(),
        }
    }
}

impl Ended {
    fn cancelled(started: Instant) -> Self {
        let answer = ToolAnswer::failed("[cancelled: the person stopped this run]");
        Self { status: CallStatus::Cancelled, answer, took: started.elapsed(), fatal: None }
    }
}

impl Repeats {
    fn limit(&self) -> Option<String> {
        if let Some(((tool, _), _)) = self.seen.iter().find(|(_, count)| **count >= SAME_CALL_ENDS) {
            return Some(format!("the model asked for the same {tool} call {SAME_CALL_ENDS} times"));
        }
        (self.refused >= REFUSED_ENDS)
            .then(|| format!("the model made {REFUSED_ENDS} calls in a row that could not be run"))
    }
}

fn finished(recorder: &Recorder, call: &CallRequest, ended: &Ended) -> Event {
    Event::ToolFinished {
        work_id: recorder.work_id().clone(),
        call_id: call.id.clone(),
        tool: call.name.clone(),
        status: ended.status,
        output: ended.answer.text.clone(),
        result: ended.answer.record(),
        duration_ms: ended.took.as_millis() as u64,
    }
}
