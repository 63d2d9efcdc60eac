//! A message as it stands in `sessions/{id}.json`: the documented fields, and optional ones beside them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::approval::{Answer, CallApproval, Decision, RecordedAnswer};
use super::attachment::Attachment;
use super::defang::defang;
use super::ids::WorkId;
use super::work::StoppedBy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
}

/// One message. An answer is one or several assistant messages (segments): text after a tool call begins a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Message {
    pub role: Role,
    #[serde(default)]
    pub content: String,
    /// Files that a person sent along.
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
    /// The exchange with the model, inside the work, that began this segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<f64>,
    /// What the model thought before it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// On the last message of a work that did not simply end: the outcome's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Who stopped it, where it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<StoppedBy>,
    /// Why the work failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields this version does not know; kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
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
            stop_reason: None,
            stopped_by: None,
            error: None,
            extra: Map::new(),
        }
    }

    /// What was said, in a person's words; where somebody sent files without a word, their names, which cannot pose as the
    /// frame of a conversation.
    pub fn words(&self) -> Cow<'_, str> {
        if !self.content.trim().is_empty() || self.attachments.is_empty() {
            return Cow::Borrowed(&self.content);
        }
        let names: Vec<&str> = self.attachments.iter().map(|attachment| attachment.name.as_str()).collect();
        Cow::Owned(defang(&names.join(", ")).into_owned())
    }
}

/// How far a tool call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// It waits for a person's approval, or was approved and has not begun.
    Approval,
    Running,
    Done,
    /// The tool, or the check of its arguments, said no; the model read why.
    Error,
    /// A person, the policy or the end of the time for an approval said no; the model read why.
    Denied,
    /// A person stopped the run before it ended.
    Cancelled,
    /// The server went down while it ran: the outcome is unknown, and it is never run again by itself.
    Interrupted,
}

/// One tool call with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ToolCall {
    pub tool: String,
    /// For people: the one string argument, or the JSON of them all.
    #[serde(default)]
    pub input: String,
    /// What the model read.
    #[serde(default)]
    pub output: String,
    /// The id that pairs call and result for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exactly what the model sent: a JSON object, or a string where it was not valid JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CallStatus>,
    /// The exchange with the model that asked for it; calls of one exchange were asked for together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<u32>,
    /// The operation's place inside its dialogue, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// `{status, message, data, operationCode}`, as the tool answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What a person was asked about it, and what they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<CallApproval>,
    /// A person undid the change it made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// A call as the model asked for it; what became of it is still to be said.
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
            undone: false,
            extra: Map::new(),
        }
    }

    pub fn at(mut self, dialogue: u32, index: u32) -> Self {
        (self.dialogue, self.index) = (Some(dialogue), Some(index));
        self
    }

    /// The call has its result: what was shown is not needed any more, and a question that is open still is asked no more.
    pub(super) fn settle_approval(&mut self) {
        self.approval = match self.approval.take() {
            Some(CallApproval::Asked(approval)) => {
                let answer = Answer::no(Decision::Cancelled, None, &approval.hash);
                Some(CallApproval::Answered(RecordedAnswer::of(&approval.id, &answer)))
            }
            Some(CallApproval::Answered(answered)) => {
                Some(CallApproval::Answered(RecordedAnswer { shown: None, ..answered }))
            }
            None => None,
        };
    }

    pub fn set_arguments(&mut self, arguments: &Value) {
        self.input = input_line(arguments);
        self.arguments = Some(arguments.clone());
    }

    /// It has no result yet.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Some(CallStatus::Approval | CallStatus::Running))
    }

    /// It waits for a person, or for its turn after they said yes.
    pub fn waits(&self) -> bool {
        self.status == Some(CallStatus::Approval)
    }
}

/// The one line a person sees for a call: the only string argument, else the JSON of all arguments.
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
    fn input_keeps_every_argument_not_only_the_first() {
        assert_eq!(input_line(&json!({"command": "ls -la"})), "ls -la");
        assert_eq!(input_line(&json!({"path": "a.md", "offset": 3})), r#"{"path":"a.md","offset":3}"#);
        assert_eq!(input_line(&json!({})), "");
        assert_eq!(input_line(&json!("{broken")), "{broken");
    }

    #[test]
    fn message_of_files_only_is_named_by_them() {
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
    fn unknown_fields_of_a_message_survive() {
        let text = r#"{"role":"assistant","content":"x","mood":"fine","tool_calls":[{"tool":"t","input":"i","output":"o","n":1}]}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(message.extra["mood"], "fine");
        let back: Value = serde_json::to_value(&message).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
    }
}
