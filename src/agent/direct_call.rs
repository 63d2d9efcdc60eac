//! A work that is one call, which a program makes itself over MCP. No model is asked; everything else is as in a run: what may
//! run is decided, asked about, bounded and recorded in the same way.

use super::calls::{CallRunner, ProposedCall, RepeatCounter};
use super::recorder::{NotRecorded, Recorder};
use super::run::{RunEnd, Tasks, TurnEnd, end, too_long};
use crate::domain::DirectCall;
use crate::provider::CallRequest;

/// Runs the call of a work to its end. Records everything except the terminal event.
///
/// # Errors
/// Returns an error if facts cannot be stored; nothing further is then done.
pub async fn run_direct_call(tasks: &Tasks, recorder: &mut Recorder, call: DirectCall) -> Result<RunEnd, NotRecorded> {
    let DirectCall { tool: name, arguments } = call;
    let deadline = tasks.deadline();
    recorder.start_dialogue(0).await?;
    let tools = (tasks.tools)(recorder.session()).await;
    let request = CallRequest { id: format!("direct_{}", recorder.work_id()), name, arguments: arguments.to_string() };
    let wanted = ProposedCall::of(vec![request], recorder.session(), &tools);
    let calls = CallRunner { listed: tasks.listed().await, ..tasks.calls(&deadline, tools) };
    let mut repeats = RepeatCounter::default();
    let ended = tokio::select! {
        ended = calls.run(wanted, recorder, &mut repeats) => ended.map_err(TurnEnd::from),
        () = deadline.over() => Err(too_long(tasks.limits)),
    };
    end(recorder, ended, &tasks.stop_signal).await
}
