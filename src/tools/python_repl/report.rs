//! What the model reads of a call.

use std::time::Duration;

use serde_json::json;

use super::EvalResponse;
use super::interpreters::InterpreterLost;
use crate::domain::{EgressAttempts, ToolAnswer};
use crate::sandbox::{Captured, ClippedText, Exit};
use crate::tools::text::{plain, trimmed};
use crate::tools::{OUTPUT_LIMIT, Permissions};

/// The parts that every answer of a call has.
pub struct Report<'a> {
    pub code: &'a str,
    pub lost: Option<InterpreterLost>,
    pub permissions: Permissions,
    pub egress_attempts: &'a EgressAttempts,
    pub took: Duration,
}

impl Report<'_> {
    /// Returns a text between the notes about the interpreter and the network.
    pub fn with_note(&self, text: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(
            self.lost.map(|lost| format!("[new Python: {}; earlier variables and imports are gone]", lost.reason())),
        );
        lines.push(text.to_owned());
        lines.extend(self.egress_attempts.line());
        lines.join("\n")
    }

    pub fn failed(&self, message: &str, text: &str) -> ToolAnswer {
        let text = [text, &format!("[{message}]")].join("\n");
        let mut answer = ToolAnswer::failed(message).with_code(self.code);
        answer.text = self.with_note(text.trim_start());
        let mut data = json!({"duration_ms": self.took.as_millis() as u64, "new_interpreter": self.lost.is_some()});
        self.egress_attempts.add_to(&mut data);
        answer.with_data(data)
    }
}

/// Returns what the code printed, in at most [`OUTPUT_LIMIT`] characters.
pub fn output(response: &EvalResponse) -> ClippedText {
    let captured = Captured { head: bytes(&response.head), tail: bytes(&response.tail), total_bytes: response.bytes };
    let ClippedText { text, is_clipped } = captured.clip(OUTPUT_LIMIT);
    ClippedText { text: trimmed(&plain(&text)).unwrap_or_default().to_owned(), is_clipped }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Describes how the interpreter ended in the middle of a call.
pub fn crash(exit: Exit) -> String {
    let how = match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::TimedOut | Exit::Cancelled => "was stopped".to_owned(),
    };
    format!("Python {how} during this call. Output and variables are lost; the next call starts a new Python")
}
