//! The Tasks extension: a client that declares it gets a task instead of an answer that takes longer, and asks for its state. A
//! task is a work of the agent and has its id, so it is there after a restart. Only the credential that began it sees it.

use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use super::answering::{AnswerState, WorkPlace, answer, failed, waiting_text};
use super::following::answers_key;
use super::server::{McpServer, refused};
use crate::api::error::ApiError;
use crate::api::openai::error::of_outcome;
use crate::api::openai::progress::{Delta, Progress};
use crate::clock;
use crate::domain::{Outcome, SessionId, WorkId};

/// How often a client should ask, in milliseconds.
const POLL: u64 = 1_000;

/// Returns the task that a request gets whose work goes on.
pub fn begun(place: &WorkPlace, created_at: f64) -> CreateTaskResult {
    let message = format!("The agent works in session {}: {}", place.session, place.page);
    CreateTaskResult::new(task(&place.work, (created_at, clock::now())).with_status_message(message))
}

fn task(id: &str, (created_at, updated_at): (f64, f64)) -> Task {
    let (created_at, updated_at) = (clock::rfc3339(created_at), clock::rfc3339(updated_at));
    Task::new(id, TaskStatus::Working, created_at, updated_at).with_poll_interval_ms(POLL)
}

/// Finds the work of a task.
///
/// # Errors
/// Returns an error if the caller has no such task.
async fn find(server: &McpServer, id: &str) -> Result<(SessionId, WorkId), ErrorData> {
    let work = WorkId::new(id);
    let found = server.caller.engine.client_work(&answers_key(&server.caller), &work).await;
    let found = found.map_err(|error| refused(&error.into()))?;
    let missing = || ErrorData::invalid_params("there is no task with this id that this credential began", None);
    Ok((found.ok_or_else(missing)?, work))
}

/// Returns the state of a task, with the result that the call would have had.
///
/// # Errors
/// Returns an error if the caller has no such task.
pub async fn get(server: &McpServer, id: &str) -> Result<GetTaskResult, ErrorData> {
    let caller = &server.caller;
    let found = find(server, id).await?;
    let watched = caller.engine.watch_client_work(found, caller.until_over()).await;
    let mut turn = watched.map_err(|error| refused(&ApiError::from(error)))?;
    turn.hold.release();
    let page = server.page.of_session(turn.session_id.as_str());
    let place = WorkPlace { session: turn.session_id.to_string(), work: id.to_owned(), page };
    let work = turn.work.session.works.iter().find(|work| work.work_id.as_str() == id).cloned();
    let times = work.map_or((0.0, 0.0), |work| (work.created_at, work.finished_at.unwrap_or_else(clock::now)));
    let state = State::of(Progress::of(turn.work, None).pending());
    let task = match &state.asked {
        Some((_, tool)) if state.outcome.is_none() => {
            task(id, times).with_status_message(waiting_text(tool, &place.page))
        }
        Some(_) | None => task(id, times),
    };
    Ok(GetTaskResult::new(DetailedTask::new(task, state.payload(&place))))
}

/// Stops the work of a task.
///
/// # Errors
/// Returns an error if the caller has no such task, or can only read.
pub async fn cancel(server: &McpServer, id: &str) -> Result<(), ErrorData> {
    server.caller.require_change().map_err(|error| refused(&error))?;
    let (session, work) = find(server, id).await?;
    let stopped = server.caller.engine.interrupt_work(&session, &work).await;
    stopped.map(drop).map_err(|error| refused(&error.into()))
}

/// Takes note of what a client says about a task. Nothing that it says is an answer: the person answers on the page.
///
/// # Errors
/// Returns an error if the caller has no such task.
pub async fn update(server: &McpServer, id: &str) -> Result<(), ErrorData> {
    find(server, id).await.map(drop)
}

/// How far a work has come.
#[derive(Default)]
struct State {
    text: String,
    /// The question that waits: its id, and the tool.
    asked: Option<(String, String)>,
    outcome: Option<Outcome>,
}

impl State {
    fn of(deltas: Vec<Delta>) -> Self {
        let mut state = Self::default();
        for delta in deltas {
            match delta {
                Delta::Text(text) => state.text.push_str(&text),
                Delta::Asked { approval_id, tool } => state.asked = Some((approval_id, tool)),
                Delta::Ended(outcome) => state.outcome = Some(outcome),
                Delta::Thought(_)
                | Delta::Step(_)
                | Delta::Call(_)
                | Delta::HandedOff
                | Delta::Answered { .. }
                | Delta::Usage(_) => {}
            }
        }
        state
    }

    fn payload(self, place: &WorkPlace) -> TaskPayload {
        let Some(outcome) = self.outcome else { return TaskPayload::Working };
        if matches!(outcome, Outcome::Interrupted { .. }) {
            return TaskPayload::Cancelled;
        }
        let result = match of_outcome(&outcome) {
            Some(error) => failed(&error),
            None => answer(self.text, AnswerState::of(&outcome), place),
        };
        match serde_json::to_value(result) {
            Ok(Value::Object(result)) => TaskPayload::Completed { result },
            _ => TaskPayload::Working,
        }
    }
}
