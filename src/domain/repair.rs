//! Closes a work that was cut off: finds what is still open, and returns the events that end it.

use super::approval::{ApprovalAnswer, CallApproval, Decision};
use super::event::Event;
use super::ids::WorkId;
use super::message::{CallStatus, ToolCall};
use super::session::Session;
use super::work::{Outcome, StoppedBy};

/// What the model reads in place of a result that was lost in a crash.
pub const INTERRUPTED_OUTPUT: &str =
    "[interrupted: the server stopped while this ran; the outcome is unknown and it was not run again]";

/// What the model reads in place of the result of a call that was waiting for a person when its run ended.
pub const NOT_RUN_OUTPUT: &str = "[cancelled: the run ended before anybody approved this call; it was not run]";

/// What the model reads in place of a result that the program whose tool was called did not return.
pub const UNANSWERED_OUTPUT: &str = "[cancelled: the program whose tool this is returned no result]";

impl Session {
    /// Returns the events to add after a crash, so that every call that had started has a result and every work has an
    /// end. A work whose calls wait for a person keeps waiting: none of them has run.
    pub fn repairs(&self) -> Vec<Event> {
        let waiting = self.waiting().map(|work| work.work_id.clone());
        let mut events = Vec::new();
        for work in self.works.iter().filter(|work| work.finished_at.is_none()) {
            let id = &work.work_id;
            if waiting.as_ref() == Some(id) {
                let begun =
                    self.calls_of(id).filter(|call| call.status == Some(CallStatus::Running) && !call.is_away());
                events.extend(begun.map(|call| close(id, call, (CallStatus::Interrupted, INTERRUPTED_OUTPUT))));
                continue;
            }
            events.extend(self.closings(id));
            events.push(Event::WorkFinished {
                work_id: id.clone(),
                outcome: Outcome::Interrupted {
                    detail: "the server stopped before the answer was complete".to_owned(),
                    by: StoppedBy::Server,
                },
                content: "".into(),
            });
        }
        events
    }

    /// Returns the events that give every open call of a work a result: calls that had started are interrupted, waiting
    /// ones are cancelled.
    pub fn closings(&self, work_id: &WorkId) -> Vec<Event> {
        let mut events = Vec::new();
        for call in self.calls_of(work_id) {
            let Some(ending) = ending_of_open(call) else { continue };
            if call.status == Some(CallStatus::Approval)
                && let Some(approval) = call.approval.as_ref().and_then(CallApproval::asked)
            {
                events.push(Event::ApprovalAnswered {
                    work_id: work_id.clone(),
                    approval_id: approval.id.clone(),
                    call_id: approval.call_id.clone(),
                    answer: ApprovalAnswer::no(Decision::Cancelled, None, &approval.hash),
                });
            }
            events.push(close(work_id, call, ending));
        }
        events
    }
}

/// Returns the result that is recorded for a call without a result of its own.
pub(super) fn unrun_result(output: &str) -> serde_json::Value {
    serde_json::json!({"status": 1, "message": output, "data": {}, "operationCode": []})
}

/// Returns how an open call ends if nobody continues it, and what the model reads in place of its result. `None` if the
/// call is not open.
pub(super) fn ending_of_open(call: &ToolCall) -> Option<(CallStatus, &'static str)> {
    match call.status {
        Some(CallStatus::Running) if call.handed_off => Some((CallStatus::Cancelled, UNANSWERED_OUTPUT)),
        Some(CallStatus::Running) => Some((CallStatus::Interrupted, INTERRUPTED_OUTPUT)),
        Some(CallStatus::Approval) => Some((CallStatus::Cancelled, NOT_RUN_OUTPUT)),
        Some(
            CallStatus::Done | CallStatus::Error | CallStatus::Denied | CallStatus::Cancelled | CallStatus::Interrupted,
        )
        | None => None,
    }
}

fn close(work_id: &WorkId, call: &ToolCall, (status, output): (CallStatus, &str)) -> Event {
    Event::ToolFinished {
        work_id: work_id.clone(),
        call_id: call.id.clone().unwrap_or_default(),
        tool: call.tool.clone(),
        status,
        output: output.to_owned(),
        result: unrun_result(output),
        duration_ms: 0,
        taint: Vec::new(),
    }
}
