//! The tool calls of one exchange: checks them, runs read-only ones in parallel and the others in order, and records each.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::asking::{ApprovalResult, PendingApproval};
use super::deadline::Deadline;
use super::eliciting::{CallGroup, CallMode, ElicitingCall};
use super::executing::{CallEnd, Holding, finished};
use super::held_back::{AfterRun, EndedCall};
use super::recorder::{NotRecorded, Recorder};
use super::rehearsals::{EndedRehearsal, Rehearsals};
use super::rehearsing::{CallInTurn, PlannedRehearsal};
use crate::clock;
use crate::domain::{
    CallApproval, CallStatus, Outcome, RequestedCall, SKIPPED, Session, SessionId, StoppedBy, Taint, ToolAnswer, WorkId,
};
use crate::provider::CallRequest;
use crate::store::Home;
use crate::tools::{Checked, Policy, Rejection, ToolContext, ToolSet};

/// From this many identical calls on, the tool is not run again and the model is told so.
const SAME_CALL_TOLD: u32 = 3;
/// At this many identical calls, the run ends.
const SAME_CALL_ENDS: u32 = 5;
/// This many refused calls in a row (unknown tool, bad arguments) end the run.
const REFUSED_ENDS: u32 = 4;

/// Counts repeated calls and refused calls across a run.
#[derive(Default)]
pub struct RepeatCounter {
    seen: HashMap<(String, String), u32>,
    refused: u32,
}

/// Why the run ends after these calls.
pub enum Stop {
    Cancelled,
    /// A tool reported that the run cannot continue.
    Failed(String),
    Limit(String),
    /// The server stops while a person is asked: the run continues at the next start.
    Suspended,
    Record(NotRecorded),
}

impl From<NotRecorded> for Stop {
    fn from(error: NotRecorded) -> Self {
        Stop::Record(error)
    }
}

/// Stops a run, for a person or for the server.
#[derive(Clone, Default)]
pub struct StopSignal {
    pub cancel: CancellationToken,
    suspend: CancellationToken,
    drain: CancellationToken,
}

impl StopSignal {
    /// Stops the run, but keeps the questions that wait for a person, to be answered after the next start.
    pub fn suspend(&self) {
        self.suspend.cancel();
        self.cancel.cancel();
    }

    /// Lets the exchange under way and its calls end, and begins no other: another server goes on with the run.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    pub fn is_suspended(&self) -> bool {
        self.suspend.is_cancelled()
    }

    /// Returns the outcome of a run that was stopped.
    pub fn outcome(&self) -> Outcome {
        match self.is_suspended() {
            true => Outcome::Interrupted { detail: "the server was stopped".to_owned(), by: StoppedBy::Server },
            false => Outcome::Interrupted { detail: "stopped by the person".to_owned(), by: StoppedBy::Person },
        }
    }

    /// Returns the end of a call that was cut off, or did not start, because the run was stopped.
    pub(super) fn cancelled(&self, started: Instant) -> CallEnd {
        let why = match self.is_suspended() {
            true => "[cancelled: the server was stopped]",
            false => "[cancelled: the person stopped this run]",
        };
        let answer = ToolAnswer::failed(why);
        CallEnd { took: started.elapsed(), ..CallEnd::unrun(CallStatus::Cancelled, answer) }
    }
}

#[derive(Clone)]
pub struct CallRunner<'a> {
    /// The tools of this exchange.
    pub tools: ToolSet,
    pub policy: &'a Policy,
    pub home: &'a Home,
    pub session_id: &'a SessionId,
    pub stop_signal: &'a StopSignal,
    pub deadline: &'a Deadline,
    /// A skill that nobody has trusted, although the model has read its description in the request.
    pub listed: Option<Taint>,
}

/// A call of an exchange, with its approval if one was recorded before a restart.
pub struct ProposedCall {
    pub index: u32,
    pub request: CallRequest,
    pub approval: Option<CallApproval>,
    /// Whether it was handed to the program whose tool it is before a restart.
    pub is_away: bool,
}

impl ProposedCall {
    /// Creates the calls of an exchange. Some providers reuse ids, so each call of the session, also on its branches and among
    /// what was deleted, gets a unique one; otherwise an undo would be ambiguous. A call of `use_tool` is replaced by the one
    /// that it stands for, so that it is decided on and recorded as if the model had called that tool.
    pub fn of(calls: Vec<CallRequest>, session: &Session, tools: &ToolSet) -> Vec<Self> {
        let known = session.stored_messages().flat_map(|message| &message.tool_calls);
        let mut ids: HashSet<String> = known.filter_map(|call| call.id.clone()).collect();
        let wanted = calls.into_iter().zip(0..).map(|(mut request, index)| {
            let given = std::mem::take(&mut request.id);
            // A program names its calls by the id alone, whatever conversation they are in.
            let given = if tools.is_of_client(&request.name) { new_call_id() } else { given };
            let others = (2..).map(|n: u32| format!("{given}_{n}"));
            request.id = std::iter::once(given.clone()).chain(others).find(|id| !ids.contains(id)).unwrap_or(given);
            ids.insert(request.id.clone());
            if let Some((name, arguments)) = tools.inner_call(&request.name, &request.arguments) {
                (request.name, request.arguments) = (name, arguments);
            }
            Self { index, request, approval: None, is_away: false }
        });
        wanted.collect()
    }

    /// Returns the calls of a work that were requested and have not started, in order.
    pub fn left(session: &Session, work_id: &WorkId) -> Vec<Self> {
        let waiting = session.calls_of(work_id).filter(|call| call.waits() || call.is_away()).map(|call| {
            let arguments = match &call.arguments {
                Some(serde_json::Value::String(broken)) => broken.clone(),
                Some(arguments) => arguments.to_string(),
                None => String::new(),
            };
            let request = CallRequest { id: call.id.clone().unwrap_or_default(), name: call.tool.clone(), arguments };
            Self { index: call.index.unwrap_or(0), request, approval: call.approval.clone(), is_away: call.is_away() }
        });
        let work = session.works.iter().find(|work| work.work_id == *work_id);
        let requested = work.into_iter().flat_map(|work| &work.requested).cloned().map(|call| {
            let RequestedCall { index, call_id: id, tool: name, arguments } = call;
            Self { index, request: CallRequest { id, name, arguments }, approval: None, is_away: false }
        });
        let mut left: Vec<Self> = waiting.chain(requested).collect();
        left.sort_by_key(|wanted| wanted.index);
        left
    }
}

fn new_call_id() -> String {
    format!("call_{}", clock::new_id().replace('-', ""))
}

/// A call that may run, a call that a person is asked about, or the answer that the model gets instead.
pub(super) enum PlannedCall {
    Run(Checked),
    /// It is run with its changes kept apart, and a person is asked about these.
    Rehearse(Box<PlannedRehearsal>),
    Ask(Box<PendingApproval>),
    /// It had begun before a restart, and goes on with a person's answer to what its server asked.
    Elicit(Box<PendingApproval>),
    Answer(CallStatus, ToolAnswer),
    /// It is handed to the program whose tool it is.
    HandOff,
}

impl CallRunner<'_> {
    /// Runs all calls of an exchange. Every call gets exactly one result, even if the run is stopped in the middle.
    /// Only a suspended run leaves the calls that wait for a person, and those after them, unchanged.
    pub async fn run(
        &self,
        wanted: Vec<ProposedCall>,
        recorder: &mut Recorder,
        repeats: &mut RepeatCounter,
    ) -> Result<(), Stop> {
        let mut planned = Vec::new();
        for wanted in &wanted {
            planned.push(self.plan(wanted, recorder.session(), repeats).await);
        }
        self.ask(&wanted, &planned, recorder).await?;
        let (away, own): (Vec<_>, Vec<_>) =
            wanted.into_iter().zip(planned).partition(|(_, planned)| matches!(planned, PlannedCall::HandOff));
        let (wanted, planned): (Vec<_>, Vec<_>) = own.into_iter().unzip();
        let away: Vec<_> = away.into_iter().map(|(wanted, _)| wanted).collect();
        let mut rehearsals = Rehearsals::default();
        let mut stop = None;
        let mut at = 0;
        while at < wanted.len() {
            if self.stop_signal.is_suspended() && planned[at..].iter().any(PlannedCall::asks) {
                return Err(Stop::Suspended);
            }
            if let PlannedCall::Ask(asked) = &planned[at] {
                let turn = CallInTurn { call: &wanted[at], rest: &wanted[at + 1..] };
                let asking = (&mut *recorder, &mut rehearsals);
                stop = self.asked(turn, asked, asking).await?.map(Stop::Failed).or(stop);
                at += 1;
                continue;
            }
            if let PlannedCall::Rehearse(rehearsal) = &planned[at] {
                let turn = CallInTurn { call: &wanted[at], rest: &wanted[at + 1..] };
                let asking = (&mut *recorder, &mut rehearsals);
                stop = self.rehearsed(turn, rehearsal, asking).await?.map(Stop::Failed).or(stop);
                at += 1;
                continue;
            }
            if let PlannedCall::Run(checked) = &planned[at]
                && !planned[at].is_read_only()
            {
                let turn = CallInTurn { call: &wanted[at], rest: &wanted[at + 1..] };
                let asking = (&mut *recorder, &mut rehearsals);
                stop = self.run_alone(turn, checked, asking).await?.map(Stop::Failed).or(stop);
                at += 1;
                continue;
            }
            if let PlannedCall::Elicit(asked) = &planned[at] {
                let turn = CallInTurn { call: &wanted[at], rest: &wanted[at + 1..] };
                let fatal = self.resume_eliciting(turn, asked, (&mut *recorder, &mut rehearsals)).await?;
                stop = fatal.map(Stop::Failed).or(stop);
                at += 1;
                continue;
            }
            let more = planned[at..].iter().take_while(|planned| planned.is_read_only()).count();
            let group = at..at + more.max(1);
            at = group.end;
            let calls = CallGroup { calls: &wanted[group.clone()], planned: &planned[group], rest: &wanted[at..] };
            stop = self.run_group(calls, (&mut *recorder, &mut rehearsals)).await?.map(Stop::Failed).or(stop);
        }
        if self.stop_signal.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match stop.or_else(|| repeats.limit().map(Stop::Limit)) {
            Some(stop) => Err(stop),
            // Those of our own have run: the program gets the results of both.
            None => self.hand_off(&away, recorder).await,
        }
    }

    async fn plan(&self, wanted: &ProposedCall, session: &Session, repeats: &mut RepeatCounter) -> PlannedCall {
        let call = &wanted.request;
        let same = repeats.seen.entry((call.name.clone(), call.arguments.clone())).or_default();
        *same += 1;
        if *same >= SAME_CALL_TOLD {
            let text = format!(
                "This exact call was already made {} times in this run; its result stands above. \
                                Use it, or do something else.",
                *same - 1
            );
            let answer = ToolAnswer::failed(text).with_data(json!({ SKIPPED: true }));
            return PlannedCall::Answer(CallStatus::Error, answer);
        }
        let context = ToolContext::new(self.session_id, &call.id, session);
        match self.tools.prepare(&call.name, &call.arguments, context).await {
            Ok(checked) => {
                repeats.refused = 0;
                if checked.call.is_handed_off() {
                    return PlannedCall::HandOff;
                }
                if !checked.call.effect().is_read_only() {
                    // The call may change what other calls find, so making those again is not a repetition.
                    repeats.seen.retain(|(name, arguments), _| *name == call.name && *arguments == call.arguments);
                }
                self.allowed(wanted, checked, session)
            }
            Err(rejection) => {
                match &rejection {
                    Rejection::Unfit(_) => repeats.refused += 1,
                    Rejection::Impossible(_) => repeats.refused = 0,
                }
                PlannedCall::Answer(CallStatus::Error, rejection.answer())
            }
        }
    }

    /// Waits for a person and does what they decided. Returns the reason if the run cannot continue.
    pub(super) async fn asked(
        &self,
        CallInTurn { call: wanted, rest }: CallInTurn<'_>,
        asked: &PendingApproval,
        (recorder, rehearsals): (&mut Recorder, &mut Rehearsals),
    ) -> Result<Option<String>, Stop> {
        let mut later: Option<Box<PendingApproval>> = None;
        let ended = loop {
            let asked = later.as_deref().unwrap_or(asked);
            match self.decided(asked, (&mut *recorder, &mut *rehearsals)).await? {
                ApprovalResult::Run { request, checked, shown, note } => {
                    recorder.start_call(wanted.index, &request).await?;
                    let held = Mutex::default();
                    let call = ElicitingCall { index: wanted.index, request: &request, checked: &checked, rest };
                    let how = CallMode { approved: Some(&shown), holding: Holding::RunsLater(&held) };
                    let mut ended = self.run_eliciting(call, how, (&mut *recorder, &mut *rehearsals)).await?;
                    if let Some(note) = note {
                        ended.answer.text = format!("{note}\n{}", ended.answer.text);
                    }
                    let ran = EndedCall { index: wanted.index, request, checked: &checked, ended, held };
                    match self.ask_about_held(ran, (&mut *recorder, &mut *rehearsals)).await? {
                        AfterRun::Asked(pending) => later = Some(pending),
                        AfterRun::Ended(ended) => break *ended,
                    }
                }
                ApprovalResult::Apply(rehearsal) => {
                    recorder.start_call(wanted.index, &wanted.request).await?;
                    let EndedRehearsal { mut ended, changes, .. } = *rehearsal;
                    let applied = changes.apply_approved(self.session_id.clone(), wanted.request.id.clone()).await;
                    ended.answer = applied.add_to(ended.answer);
                    if !ended.answer.ok {
                        ended.status = CallStatus::Error;
                    }
                    break ended;
                }
                ApprovalResult::Answer(status, answer) => break CallEnd::unrun(status, answer),
            }
        };
        recorder.fact(finished(recorder, &wanted.request, &ended)).await?;
        Ok(ended.fatal)
    }
}

impl PlannedCall {
    fn is_read_only(&self) -> bool {
        match self {
            PlannedCall::Answer(..) => true,
            PlannedCall::Run(checked) => checked.call.effect().is_read_only(),
            PlannedCall::Rehearse(_) | PlannedCall::Ask(_) | PlannedCall::Elicit(_) | PlannedCall::HandOff => false,
        }
    }

    fn asks(&self) -> bool {
        matches!(self, PlannedCall::Ask(_) | PlannedCall::Elicit(_))
    }
}

impl RepeatCounter {
    fn limit(&self) -> Option<String> {
        if let Some(((tool, _), _)) = self.seen.iter().find(|(_, count)| **count >= SAME_CALL_ENDS) {
            return Some(format!("the model asked for the same {tool} call {SAME_CALL_ENDS} times"));
        }
        (self.refused >= REFUSED_ENDS)
            .then(|| format!("the model made {REFUSED_ENDS} calls in a row that could not be run"))
    }
}
