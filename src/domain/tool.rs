//! Tools as the model and a person see them: a name with a schema, an effect, and an answer.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::taint::Taint;

/// What running a tool can change. Determines which calls may run in parallel and what a person must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads files or indexes of the home.
    Read,
    /// Changes files of the home.
    Write,
    /// Starts a process.
    Execute,
    /// Communicates with other machines, without changing anything here.
    Network,
}

impl Effect {
    /// Returns whether calls only read, so that they may run in parallel.
    pub fn is_read_only(self) -> bool {
        match self {
            Effect::Read | Effect::Network => true,
            Effect::Write | Effect::Execute => false,
        }
    }
}

/// A tool as described to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// `[a-z_]+`, as in the transcript.
    pub name: String,
    /// When to use it and what comes back; the model reads this.
    pub description: String,
    /// JSON schema of the arguments object.
    pub parameters: Value,
    /// The effect of its calls as people are told it; what counts is what each call says of itself.
    pub effect: Effect,
}

/// The answer of every tool. `status`, `message`, `data` and `operationCode` are the record of the operation
/// (session-operations document); `text` is what the model reads and what `tool_calls[].output` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    pub ok: bool,
    /// One sentence for a person.
    pub message: String,
    /// The tool's own details: counts, exit code, source. Does not repeat what `text` says.
    pub data: Value,
    /// What a view shows for this operation, e.g. the command line that ran.
    pub operation_code: Vec<String>,
    pub text: String,
    /// Sources of text in the answer that strangers may have written, if only the answer shows them: the documents that
    /// a search found, a file of a skill in a version that nobody has trusted.
    pub sources: Vec<Taint>,
}

/// The field of a record's `data` that says that the call was not run, because identical ones had been before it.
pub const SKIPPED: &str = "skipped";

/// The field of an operation's record that names the untrusted file of a skill among [`ToolAnswer::sources`].
pub const UNTRUSTED_FILE: &str = "outside";

impl ToolAnswer {
    pub fn done(message: impl Into<String>, text: impl Into<String>) -> Self {
        Self { ok: true, message: message.into(), text: text.into(), ..Self::default() }
    }

    /// Creates a failure that the model reads and can react to.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { text: message.clone(), message, ..Self::default() }
    }

    pub fn with_source(mut self, source: Taint) -> Self {
        self.sources.push(source);
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

    /// Returns `{status: 0|1, message, data, operationCode}`; 0 is success. Adds `outside` if a file of a
    /// skill is among the sources.
    pub fn record(&self) -> Value {
        let mut record = json!({
            "status": if self.ok { 0 } else { 1 },
            "message": self.message,
            "data": self.data,
            "operationCode": self.operation_code,
        });
        let untrusted = |source: &Taint| match source {
            Taint::Skill(file) => Some(json!(file)),
            _ => None,
        };
        if let Some(file) = self.sources.iter().find_map(untrusted) {
            record[UNTRUSTED_FILE] = file;
        }
        record
    }
}

impl Default for ToolAnswer {
    /// Returns an empty failure.
    fn default() -> Self {
        Self {
            ok: false,
            message: String::new(),
            data: json!({}),
            operation_code: Vec::new(),
            text: String::new(),
            sources: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_has_documented_shape() {
        let answer = ToolAnswer::done("ran", "hello").with_code("echo hello").with_data(json!({"exit_code": 0}));
        assert_eq!(
            answer.record(),
            json!({"status": 0, "message": "ran", "data": {"exit_code": 0}, "operationCode": ["echo hello"]})
        );
        assert_eq!(ToolAnswer::failed("no such file").record()["status"], 1);
        assert_eq!(
            answer.with_source(Taint::Skill("skills/x/SKILL.md".to_owned())).record()["outside"],
            "skills/x/SKILL.md"
        );
    }
}
