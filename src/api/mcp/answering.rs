//! What a call returns: the answer of the agent, or that it waits for a person.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

use crate::api::error::ApiError;
use crate::domain::Outcome;

/// Where a work is, as programs are told.
#[derive(Clone, Debug)]
pub struct WorkPlace {
    pub session: String,
    pub work: String,
    /// Where a person sees the conversation and answers questions.
    pub page: String,
}

/// How far an answer has come.
#[derive(Clone, Debug)]
pub enum AnswerState {
    Done,
    CutOff {
        why: String,
    },
    /// A call of this tool needs the person's approval.
    Waiting {
        tool: String,
    },
    /// The message waits behind other work of its conversation.
    Queued,
}

impl AnswerState {
    /// Returns the state of an outcome that is no failure.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Interrupted { detail, .. } | Outcome::Limit { detail } => Self::CutOff { why: detail.clone() },
            Outcome::Length | Outcome::Refusal | Outcome::Error { .. } => {
                Self::CutOff { why: outcome.word().to_owned() }
            }
        }
    }
}

/// Returns the result of a call that had the agent work.
pub fn answer(text: String, state: AnswerState, place: &WorkPlace) -> CallToolResult {
    let WorkPlace { session, work, page } = place;
    let (word, detail, said) = match state {
        AnswerState::Done => ("done", None, text.clone()),
        AnswerState::CutOff { why } => {
            let said = format!("{text}\n\n[The answer was cut off: {why}]");
            ("cut_off", Some(why), said)
        }
        AnswerState::Waiting { tool } => {
            let said = waiting_text(&tool, page);
            ("waiting", Some(format!("{tool} waits for approval")), said)
        }
        AnswerState::Queued => {
            let said = format!(
                "This waits behind other work of the conversation, which may wait for the person at {page} . Call again with the \
                 same arguments to wait for the answer."
            );
            ("waiting", Some("it is in the queue of the conversation".to_owned()), said)
        }
    };
    let mut structured = json!({"text": text, "state": word, "session": session, "work": work, "page": page});
    if let Some(detail) = detail {
        structured["detail"] = detail.into();
    }
    let place = format!("[session {session}: {page}]");
    let mut result = CallToolResult::success(vec![ContentBlock::text(said), ContentBlock::text(place)]);
    result.structured_content = Some(structured);
    result
}

/// Returns what a program is told while a call waits for approval.
pub fn waiting_text(tool: &str, page: &str) -> String {
    format!(
        "This waits for the person's approval of a call of {tool}. Only the person can answer, at {page} . Call again with the \
         same arguments to wait for the answer."
    )
}

/// Returns the result of a call that failed, in words that a model can act on.
pub fn failed(error: &ApiError) -> CallToolResult {
    failed_with(format!("{} ({})", error.message, error.code))
}

pub fn failed_with(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
