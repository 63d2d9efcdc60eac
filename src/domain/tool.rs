//! Tools as the model and a person see them: a name with a schema, an effect, and an answer.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::taint::Taint;

/// What running a tool can do to the world. Decides what may run side by side and what a person must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Looks at files or indexes of the home.
    Read,
    /// Changes files of the home.
    Write,
    /// Starts a process.
    Execute,
    /// Talks to other machines, without changing anything here.
    Network,
}

impl Effect {
    /// Calls that only look may run side by side.
    pub fn is_read_only(self) -> bool {
        match self {
            Effect::Read | Effect::Network => true,
            Effect::Write | Effect::Execute => false,
        }
    }
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// `[a-z_]+`, as in the transcript.
    pub name: String,
    /// When to use it and what comes back; the model reads this.
    pub description: String,
    /// JSON schema of the arguments object.
    pub parameters: Value,
    pub effect: Effect,
}

/// What every tool answers. `status`, `message`, `data` and `operationCode` are the record of the operation
/// (session-operations document); `text` is what the model reads and what `tool_calls[].output` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    pub ok: bool,
    /// One sentence for a person.
    pub message: String,
    /// The tool's own details: counts, exit code, source; what `text` already says is not repeated here.
    pub data: Value,
    /// What a view shows for this operation, e.g. the command line that ran.
    pub operation_code: Vec<String>,
    pub text: String,
    /// The file that may have brought text from strangers into the answer, although such a call does not as a rule.
    pub outside: Option<String>,
    /// Where the answer has text from that strangers may have written, where the call's arguments do not say it.
    pub taint: Vec<Taint>,
}

/// The field of an operation's record that names [`ToolAnswer::outside`].
pub const OUTSIDE: &str = "outside";

impl ToolAnswer {
    pub fn done(message: impl Into<String>, text: impl Into<String>) -> Self {
        Self { ok: true, message: message.into(), text: text.into(), ..Self::default() }
    }

    /// A failure the model is told of and can react to.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { text: message.clone(), message, ..Self::default() }
    }

    pub fn from_outside(mut self, file: impl Into<String>) -> Self {
        self.outside = Some(file.into());
        self
    }

    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.operation_code.push(code.into());
        self
    }

    /// `{status: 0|1, message, data, operationCode}`; 0 is success. `outside` beside them where there is one.
    pub fn record(&self) -> Value {
        let mut record = json!({
            "status": if self.ok { 0 } else { 1 },
            "message": self.message,
            "data": self.data,
            "operationCode": self.operation_code,
        });
        if let Some(file) = &self.outside {
            record[OUTSIDE] = json!(file);
        }
        record
    }
}

impl Default for ToolAnswer {
    /// A failure without a word.
    fn default() -> Self {
        Self {
            ok: false,
            message: String::new(),
            data: json!({}),
            operation_code: Vec::new(),
            text: String::new(),
            outside: None,
            taint: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_the_documented_shape() {
        let answer = ToolAnswer::done("ran", "hello").with_code("echo hello").with_data(json!({"exit_code": 0}));
        assert_eq!(
            answer.record(),
            json!({"status": 0, "message": "ran", "data": {"exit_code": 0}, "operationCode": ["echo hello"]})
        );
        assert_eq!(ToolAnswer::failed("no such file").record()["status"], 1);
        assert_eq!(answer.from_outside("skills/x/SKILL.md").record()["outside"], "skills/x/SKILL.md");
    }
}
