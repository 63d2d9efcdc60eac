//! Results of calls that were handed to the program whose tools they are.

use super::{Actor, WorkStarted};
use crate::agent::OwnerMessage;
use crate::domain::defang::defang;
use crate::domain::{CallStatus, ClientResult, Event, Taint, ToolAnswer, ToolCall};
use crate::engine::{EngineError, MessageState};

/// Maximum characters of one result that the model reads.
const MAX_RESULT: usize = 200_000;
const CUT: &str = "\n[cut: the result was longer]";

impl Actor {
    /// Records the results of the calls that the work under way has handed off, and lets it go on. Results that it has
    /// already are ignored, so a repeated request changes nothing.
    pub(super) async fn deliver(&mut self, results: Vec<ClientResult>) -> Result<WorkStarted, EngineError> {
        let session = &self.ledger.session;
        let is_named = |call: &ToolCall| results.iter().any(|result| call.id.as_ref() == Some(&result.call_id));
        let is_of = |work: &&std::sync::Arc<crate::domain::Work>| session.calls_of(&work.work_id).any(is_named);
        let Some(work) = session.works.iter().rev().find(is_of).cloned() else {
            return Err(EngineError::NotHandedOff);
        };
        let open: Vec<ToolCall> = session.calls_of(&work.work_id).filter(|call| call.is_away()).cloned().collect();
        let after = self.tenant.hub.last();
        let started = WorkStarted { work_id: work.work_id.clone(), after, state: MessageState::Started };
        if open.is_empty() {
            return Ok(started);
        }
        let missing: Vec<_> = open.iter().filter(|call| !is_named(call)).filter_map(|call| call.id.clone()).collect();
        if !missing.is_empty() {
            return Err(EngineError::ResultsMissing(missing.join(", ")));
        }
        for call in open {
            let result = results.iter().find(|result| call.id.as_ref() == Some(&result.call_id));
            let Some(result) = result else { continue };
            let answer = ToolAnswer { text: shown(&result.output), ..ToolAnswer::default() };
            let took = call.started_at.map_or(0.0, |since| (crate::clock::now() - since).max(0.0));
            let event = Event::ToolFinished {
                work_id: work.work_id.clone(),
                call_id: result.call_id.clone(),
                tool: call.tool.clone(),
                status: CallStatus::Done,
                output: answer.text.clone(),
                result: answer.record(),
                duration_ms: (took * 1e3) as u64,
                // A program returns whatever it has read.
                taint: vec![Taint::Outside],
            };
            self.ledger.fact(event.clone()).await?;
            if let Some(running) = &self.running {
                // A run that has ended does not receive it.
                let _ = running.messages.send(OwnerMessage::Answered(event));
            }
        }
        self.changed();
        Ok(started)
    }
}

fn shown(output: &str) -> String {
    let text = defang(output);
    match text.char_indices().nth(MAX_RESULT) {
        Some((end, _)) => format!("{}{CUT}", &text[..end]),
        None => text.into_owned(),
    }
}
