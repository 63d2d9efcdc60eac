//! Closes a work that was cut off: finds what is still open, and returns the events that end it.

use super::approval::{ApprovalAnswer, CallApproval, Decision};
use super::event::Event;
use super::ids::WorkId;
use super::message::{CallStatus, ToolCall};
use super::session::Session;
use super::work::{Outcome, StoppedBy, Work};

/// What the model reads in place of a result that was lost in a crash.
pub const INTERRUPTED_OUTPUT: &str =
    "[interrupted: the server stopped while this ran; the outcome is unknown and it was not run again]";

/// What the model reads in place of the result of a call that was waiting for a person when its run ended.
pub const NOT_RUN_OUTPUT: &str = "[cancelled: the run ended before anybody approved this call; it was not run]";

/// What the model reads in place of a result that the program whose tool was called did not return.
pub const UNANSWERED_OUTPUT: &str = "[cancelled: the program whose tool this is returned no result]";

/// The code of the error of a work that is not tried again.
pub const TOOK_SERVERS_DOWN: &str = "took_servers_down";

/// The number of servers that may end during one work. It may be what ends them.
const MOST_SERVERS_LOST: usize = 2;

/// What becomes of a work that was under way when its server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptedWork {
    /// It ends, and a person can have it continued.
    Ends,
    /// It goes on: its server gave it up before it ended.
    GoesOn,
    /// It goes on, unless it has taken too many servers down.
    GoesOnAfterLoss,
    /// It goes on, and that is recorded already.
    IsTakenOver,
}

impl Session {
    /// Returns the events to add after a crash, so that every call that had started has a result, and every work has an
    /// end or goes on. A work whose calls wait for a person keeps waiting: none of them has run.
    pub fn repairs(&self, interrupted: InterruptedWork) -> Vec<Event> {
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
            events.extend(self.after_interruption(work, interrupted));
        }
        events
    }

    /// Returns the event with which an interrupted work ends or goes on; `None` if it is recorded already that it goes on.
    fn after_interruption(&self, work: &Work, interrupted: InterruptedWork) -> Option<Event> {
        let is_last = self.works.last().is_some_and(|last| last.work_id == work.work_id);
        // The call that a program makes itself has begun, and nothing follows it.
        let is_direct_call = work.client.as_ref().is_some_and(|client| client.call.is_some());
        let servers_lost = match interrupted {
            InterruptedWork::GoesOn => work.servers_lost,
            InterruptedWork::GoesOnAfterLoss => work.servers_lost.saturating_add(1),
            InterruptedWork::Ends | InterruptedWork::IsTakenOver => 0,
        };
        let outcome = match interrupted {
            InterruptedWork::GoesOn | InterruptedWork::GoesOnAfterLoss if is_last && !is_direct_call => {
                if servers_lost < MOST_SERVERS_LOST {
                    return Some(Event::WorkTakenOver { work_id: work.work_id.clone(), servers_lost });
                }
                Outcome::Error {
                    error: format!(
                        "{servers_lost} servers ended while this was under way, so it is not tried again by itself; look at \
                         their logs, or have it continued"
                    ),
                    code: TOOK_SERVERS_DOWN.to_owned(),
                    retryable: true,
                    params: [("servers".to_owned(), servers_lost.to_string())].into(),
                }
            }
            InterruptedWork::IsTakenOver if is_last && !is_direct_call => return None,
            InterruptedWork::Ends
            | InterruptedWork::GoesOn
            | InterruptedWork::GoesOnAfterLoss
            | InterruptedWork::IsTakenOver => Outcome::Interrupted {
                detail: "the server stopped before the answer was complete".to_owned(),
                by: StoppedBy::Server,
            },
        };
        Some(Event::WorkFinished { work_id: work.work_id.clone(), outcome, content: "".into() })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let mut session = Session::new("t", 1.0);
        let started = Event::WorkStarted {
            work_id: WorkId::new("w"),
            message_id: "m".to_owned(),
            content: "Why?".to_owned(),
            attachments: Vec::new(),
            model: "mock".to_owned(),
            without_tools: false,
            client: None,
        };
        session.apply(&started, 2.0);
        session
    }

    fn repaired(session: &mut Session, interrupted: InterruptedWork) -> Option<Outcome> {
        let events = session.repairs(interrupted);
        events.iter().for_each(|event| session.apply(event, 3.0));
        session.works[0].outcome.clone()
    }

    #[test]
    fn work_goes_on_until_two_servers_have_ended() {
        let mut session = session();
        assert_eq!(repaired(&mut session, InterruptedWork::GoesOnAfterLoss), None);
        for _ in 0..5 {
            // A server that hands its works over is not lost.
            assert_eq!(repaired(&mut session, InterruptedWork::GoesOn), None);
        }
        assert_eq!(session.works[0].servers_lost, 1);
        assert!(session.repairs(InterruptedWork::IsTakenOver).is_empty(), "it counts once");
        let ended = repaired(&mut session, InterruptedWork::GoesOnAfterLoss);
        assert!(matches!(&ended, Some(Outcome::Error { code, .. }) if code == TOOK_SERVERS_DOWN), "{ended:?}");
        assert!(session.continuable().is_some(), "a person can try it");
    }

    #[test]
    fn without_other_servers_the_work_ends() {
        let ended = repaired(&mut session(), InterruptedWork::Ends);
        assert!(matches!(ended, Some(Outcome::Interrupted { by: StoppedBy::Server, .. })), "{ended:?}");
    }
}
