//! A message as stored in `sessions/{id}.json`: the documented fields, and optional ones beside them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::approval::{ApprovalAnswer, CallApproval, Decision, RecordedAnswer};
use super::attachment::Attachment;
use super::defang::defang;
use super::elicitation::RecordedElicitation;
use super::ids::WorkId;
use super::reasoning::Reasoning;
use super::tool::SKIPPED;
use super::work::StoppedBy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
}

/// One message. An answer consists of one or several assistant messages (segments): text after a tool call begins a new
/// one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Message {
    pub role: Role,
    #[serde(default)]
    pub content: String,
    /// Files that a person sent with the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Attachment>)]
    pub attachments: Vec<Arc<Attachment>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub work_id: Option<WorkId>,
    /// Number of the dialogue inside the work that began this segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<f64>,
    /// The model's thinking before it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The same thinking, and that of the calls, as the provider wants it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::reasoning::lenient")]
    #[schema(ignore)]
    pub reasoning: Vec<Arc<Reasoning>>,
    /// Word of the outcome, on the last message of a work that did not end normally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Who stopped the work, if it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<StoppedBy>,
    /// Why the work failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields that this version does not know; kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// Whether this is text of an answer, with no call after it.
    pub fn is_text_of_answer(&self) -> bool {
        self.role == Role::Assistant && !self.content.trim().is_empty() && self.tool_calls.is_empty()
    }

    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            attachments: Vec::new(),
            tool_calls: Vec::new(),
            id: None,
            work_id: None,
            dialogue: None,
            created_at: None,
            thinking: None,
            reasoning: Vec::new(),
            stop_reason: None,
            stopped_by: None,
            error: None,
            extra: Map::new(),
        }
    }

    /// Returns the text of the message. If a person sent files without text, returns the names of the files, escaped so
    /// that they cannot imitate the control tokens of a chat.
    pub fn words(&self) -> Cow<'_, str> {
        if !self.content.trim().is_empty() || self.attachments.is_empty() {
            return Cow::Borrowed(&self.content);
        }
        let names: Vec<&str> = self.attachments.iter().map(|attachment| attachment.name.as_str()).collect();
        Cow::Owned(defang(&names.join(", ")).into_owned())
    }
}

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// Waits for a person's approval, or was approved and has not started.
    Approval,
    Running,
    Done,
    /// The tool, or the check of its arguments, reported an error; the model read why.
    Error,
    /// A person or the policy denied the call, or the approval expired; the model read why.
    Denied,
    /// The run was stopped before the call ended.
    Cancelled,
    /// The server stopped while the call ran: the outcome is unknown, and the call is never repeated automatically.
    Interrupted,
}

/// Maximum bytes of a running call's output that are kept until it ends.
const LIVE_OUTPUT: usize = 16 << 10;

/// One tool call with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ToolCall {
    pub tool: String,
    /// Input as people see it: the only string argument, or the JSON of all arguments.
    #[serde(default)]
    pub input: String,
    /// The output that the model read.
    #[serde(default)]
    pub output: String,
    /// Id that pairs the call with its result for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exactly what the model sent: a JSON object, or a string if it was not valid JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CallStatus>,
    /// Number of the dialogue that requested the call; the calls of one dialogue were requested together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<u32>,
    /// 0-based position of the operation inside its dialogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// `{status, message, data, operationCode}`, as the tool returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What a person was asked about the call, and what they answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<CallApproval>,
    /// What the tool's server asked for while it carried out the call, and what a person answered; oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elicitations: Vec<RecordedElicitation>,
    /// Whether a person undid the change that the call made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Whether it was not run here, but handed to the program whose tool it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed_off: bool,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// Adds output while the call runs; only the end of a long output is kept.
    pub(super) fn add_output(&mut self, text: &str) {
        self.output.push_str(text);
        let surplus = self.output.len().saturating_sub(LIVE_OUTPUT);
        self.output.drain(..self.output.ceil_char_boundary(surplus));
    }

    /// Returns whether it was not run, because identical calls had been before it in its run.
    pub fn was_skipped(&self) -> bool {
        let data = self.result.as_ref().and_then(|result| result.get("data"));
        self.status == Some(CallStatus::Error) && data.is_some_and(|data| data[SKIPPED] == true)
    }

    /// Returns whether it was run to its end. It may have changed files even if it failed.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, Some(CallStatus::Done | CallStatus::Error))
    }

    /// Returns whether it is unknown how far it came. A change that had begun is made to its end.
    pub fn was_stopped(&self) -> bool {
        matches!(self.status, Some(CallStatus::Cancelled | CallStatus::Interrupted))
    }

    /// Creates a call as the model requested it, without status and result.
    pub fn new(call_id: &str, tool: &str, arguments: &Value) -> Self {
        Self {
            tool: tool.to_owned(),
            input: input_line(arguments),
            output: String::new(),
            id: Some(call_id.to_owned()),
            arguments: Some(arguments.clone()),
            status: None,
            dialogue: None,
            index: None,
            started_at: None,
            duration_ms: None,
            result: None,
            approval: None,
            elicitations: Vec::new(),
            undone: false,
            handed_off: false,
            extra: Map::new(),
        }
    }

    pub fn at(mut self, dialogue: u32, index: u32) -> Self {
        (self.dialogue, self.index) = (Some(dialogue), Some(index));
        self
    }

    /// Updates the approval of a call that has its result: drops what was shown, and cancels a question that is still
    /// open.
    pub(super) fn settle_approval(&mut self) {
        self.approval = match self.approval.take() {
            Some(CallApproval::Asked(approval)) => {
                let answer = ApprovalAnswer::no(Decision::Cancelled, None, &approval.hash);
                Some(CallApproval::Answered(Box::new(RecordedAnswer::of(&approval.id, &answer))))
            }
            Some(CallApproval::Answered(answered)) => {
                Some(CallApproval::Answered(Box::new(RecordedAnswer { shown: None, elicited: None, ..*answered })))
            }
            None => None,
        };
    }

    pub fn set_arguments(&mut self, arguments: &Value) {
        self.input = input_line(arguments);
        self.arguments = Some(arguments.clone());
    }

    /// Returns whether the call has no result yet.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Some(CallStatus::Approval | CallStatus::Running))
    }

    /// Returns whether the call waits for the program whose tool it is.
    pub fn is_away(&self) -> bool {
        self.handed_off && self.status == Some(CallStatus::Running)
    }

    /// Returns whether the call waits for a person, or was approved and has not started.
    pub fn waits(&self) -> bool {
        self.status == Some(CallStatus::Approval)
    }
}

/// Returns the one line that a person sees for a call: the only string argument, or else the JSON of all arguments.
pub fn input_line(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Object(fields) => match fields.values().next() {
            Some(Value::String(only)) if fields.len() == 1 => only.clone(),
            Some(_) => arguments.to_string(),
            None => String::new(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn input_keeps_all_arguments() {
        assert_eq!(input_line(&json!({"command": "ls -la"})), "ls -la");
        assert_eq!(input_line(&json!({"path": "a.md", "offset": 3})), r#"{"path":"a.md","offset":3}"#);
        assert_eq!(input_line(&json!({})), "");
        assert_eq!(input_line(&json!("{broken")), "{broken");
    }

    #[test]
    fn message_of_only_files_is_titled_by_them() {
        let mut message = Message::new(Role::User, " ");
        assert_eq!(message.words(), " ");
        for name in ["a.md", "<|im_end|>.md"] {
            message.attachments.push(Arc::new(Attachment::new(name, None, String::new()).unwrap()));
        }
        assert_eq!(message.words(), "a.md, < |im_end|>.md");
        message.content = "Compare.".to_owned();
        assert_eq!(message.words(), "Compare.");
    }

    #[test]
    fn unknown_message_fields_survive() {
        let text = r#"{"role":"assistant","content":"x","mood":"fine","tool_calls":[{"tool":"t","input":"i","output":"o","n":1}]}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(message.extra["mood"], "fine");
        let back: Value = serde_json::to_value(&message).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
    }
}
