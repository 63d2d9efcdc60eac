//! The steps of an answer in the order in which they are shown: a projection of the messages of its work. A stream sends
//! the steps that have changed, so what a client has at the end is what it gets after a reload.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::{CallStatus, Message, Role, ToolCall};

/// One step of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ProcessStep {
    /// `step-{index}`.
    pub id: String,
    /// Position in the answer, from 0.
    pub index: usize,
    #[serde(flatten)]
    pub kind: StepKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StepKind {
    Thinking {
        content: String,
    },
    Text {
        content: String,
    },
    ToolCall {
        /// Id of the call, which its result has too.
        id_ref: String,
        name: String,
        /// JSON text, as the call was recorded.
        arguments: String,
    },
    ToolResult {
        id_ref: String,
        name: String,
        /// JSON text: `{success: true, data}` or `{success: false, error}`.
        content: String,
        /// Whether the call was not run, because identical ones had been before it; the results of those count.
        skipped: bool,
    },
}

/// Returns the steps of an answer, or of the end of one, whose messages are given in order; the first step has the index
/// `first`. Each call has two places, of which that of its result stays empty until it has one: so no step moves while calls
/// run beside each other.
pub fn steps_of<'m>(answer: impl IntoIterator<Item = &'m Arc<Message>>, first: usize) -> Vec<ProcessStep> {
    let (mut steps, mut index) = (Vec::new(), first);
    let mut push = |kind: Option<StepKind>| {
        if let Some(kind) = kind {
            steps.push(ProcessStep { id: format!("step-{index}"), index, kind });
        }
        index += 1;
    };
    for message in answer.into_iter().filter(|message| message.role == Role::Assistant) {
        let thinking = message.thinking.as_ref().filter(|text| !text.is_empty());
        if let Some(content) = thinking.cloned() {
            push(Some(StepKind::Thinking { content }));
        }
        if !message.content.is_empty() {
            push(Some(StepKind::Text { content: message.content.clone() }));
        }
        for call in &message.tool_calls {
            let (id_ref, name) = (call.id.clone().unwrap_or_default(), call.tool.clone());
            push(Some(StepKind::ToolCall {
                id_ref: id_ref.clone(),
                name: name.clone(),
                arguments: arguments_of(call),
            }));
            let content = result_of(call).map(|result| result.to_string());
            push(content.map(|content| StepKind::ToolResult { id_ref, name, content, skipped: call.was_skipped() }));
        }
    }
    steps
}

/// Returns the number of places that the steps of a message have.
pub fn places_of(message: &Message) -> usize {
    if message.role != Role::Assistant {
        return 0;
    }
    let has_thinking = message.thinking.as_ref().is_some_and(|text| !text.is_empty());
    usize::from(has_thinking) + usize::from(!message.content.is_empty()) + 2 * message.tool_calls.len()
}

/// Returns the arguments of a call as they were recorded.
pub fn arguments_of(call: &ToolCall) -> String {
    match &call.arguments {
        Some(Value::String(invalid)) => invalid.clone(),
        Some(arguments) => arguments.to_string(),
        None => json!({ "input": call.input }).to_string(),
    }
}

/// Returns the result of a call in the form of the document, with the text that the model read as `output` where `data` is
/// something else; `None` while there is none.
pub fn result_of(call: &ToolCall) -> Option<Value> {
    if matches!(call.status, Some(CallStatus::Approval | CallStatus::Running)) {
        return None;
    }
    if !has_succeeded(call) {
        return Some(json!({"success": false, "error": call.output}));
    }
    let data = call.result.as_ref().and_then(|result| result.get("data")).filter(|data| !data.is_null());
    Some(match data {
        Some(data) => json!({"success": true, "data": data, "output": call.output}),
        None => json!({"success": true, "data": call.output}),
    })
}

/// Returns whether a call has a result that is not an error.
pub fn has_succeeded(call: &ToolCall) -> bool {
    // A call of an earlier version has no status.
    call.status.is_none_or(|status| status == CallStatus::Done)
        && call.result.as_ref().and_then(|result| result.get("status")).is_none_or(|status| status == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, status: CallStatus, output: &str) -> ToolCall {
        let call = ToolCall::new(id, "terminal", &json!({"command": "ls"}));
        ToolCall { status: Some(status), output: output.to_owned(), ..call }
    }

    fn segment(thinking: &str, content: &str, tool_calls: Vec<ToolCall>) -> Arc<Message> {
        let thinking = Some(thinking.to_owned()).filter(|text| !text.is_empty());
        Arc::new(Message { thinking, tool_calls, ..Message::new(Role::Assistant, content) })
    }

    fn shapes(steps: &[ProcessStep]) -> Vec<Value> {
        steps.iter().map(|step| serde_json::to_value(step).unwrap()).collect()
    }

    #[test]
    fn steps_are_those_of_the_document() {
        let answer = [
            segment("hm", "Let me look.", vec![call("c1", CallStatus::Done, "a.txt")]),
            segment("", "There is a.txt.", Vec::new()),
        ];
        let expected = [
            json!({"id": "step-0", "index": 0, "type": "thinking", "content": "hm"}),
            json!({"id": "step-1", "index": 1, "type": "text", "content": "Let me look."}),
            json!({"id": "step-2", "index": 2, "type": "tool_call", "id_ref": "c1", "name": "terminal",
                "arguments": r#"{"command":"ls"}"#}),
            json!({"id": "step-3", "index": 3, "type": "tool_result", "id_ref": "c1", "name": "terminal",
                "content": r#"{"success":true,"data":"a.txt"}"#, "skipped": false}),
            json!({"id": "step-4", "index": 4, "type": "text", "content": "There is a.txt."}),
        ];
        assert_eq!(shapes(&steps_of(&answer, 0)), expected);
    }

    #[test]
    fn steps_of_the_end_continue_those_of_the_beginning() {
        let answer = [
            segment("hm", "", vec![call("a", CallStatus::Done, "x"), call("b", CallStatus::Done, "y")]),
            segment("", "text", vec![call("c", CallStatus::Denied, "z")]),
            segment("so", "end", Vec::new()),
        ];
        let all = steps_of(&answer, 0);
        for cut in 0..answer.len() {
            let first = answer[..cut].iter().map(|message| places_of(message)).sum();
            let joined = [steps_of(&answer[..cut], 0), steps_of(&answer[cut..], first)].concat();
            assert_eq!(joined, all, "{cut}");
        }
    }

    #[test]
    fn no_step_moves_when_a_result_arrives() {
        let calls = |first, second| [segment("", "", vec![call("a", first, "x"), call("b", second, "y")])];
        let places = |calls: &[Arc<Message>]| -> Vec<(usize, bool)> {
            let is_result = |step: &ProcessStep| matches!(step.kind, StepKind::ToolResult { .. });
            steps_of(calls, 0).iter().map(|step| (step.index, is_result(step))).collect()
        };
        assert_eq!(places(&calls(CallStatus::Running, CallStatus::Running)), [(0, false), (2, false)]);
        assert_eq!(places(&calls(CallStatus::Running, CallStatus::Done)), [(0, false), (2, false), (3, true)]);
        let all = [(0, false), (1, true), (2, false), (3, true)];
        assert_eq!(places(&calls(CallStatus::Denied, CallStatus::Done)), all);
    }

    #[test]
    fn call_that_was_not_run_again_is_skipped() {
        let skipped = |result: Value, status| {
            let call = ToolCall { result: Some(result), ..call("a", status, "Use the result above.") };
            let steps = shapes(&steps_of(&[segment("", "", vec![call])], 0));
            steps[1]["skipped"].as_bool().unwrap()
        };
        assert!(skipped(json!({"status": 1, "data": {"skipped": true}}), CallStatus::Error));
        assert!(!skipped(json!({"status": 1, "data": null}), CallStatus::Error));
        assert!(!skipped(json!({"status": 0, "data": {"skipped": true}}), CallStatus::Done), "a tool's own word");
    }

    #[test]
    fn failed_call_has_an_error_and_invalid_arguments_stay_text() {
        let mut failed = call("a", CallStatus::Done, "2 of 3 failed");
        failed.result = Some(json!({"status": 1, "data": {"x": 1}}));
        assert_eq!(result_of(&failed), Some(json!({"success": false, "error": "2 of 3 failed"})));
        failed.result = Some(json!({"status": 0, "data": {"x": 1}}));
        assert_eq!(result_of(&failed), Some(json!({"success": true, "data": {"x": 1}, "output": "2 of 3 failed"})));
        failed.arguments = Some(json!("{oops"));
        assert_eq!(arguments_of(&failed), "{oops");
        assert_eq!(result_of(&call("a", CallStatus::Denied, "no")), Some(json!({"success": false, "error": "no"})));
    }
}
