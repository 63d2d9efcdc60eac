//! Follows an answer to its end: its text to standard output, its calls to standard error. A call that needs approval is
//! denied, because nobody is asked.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, Frames};
use crate::domain::visible::visible;

/// How an answer ended.
#[derive(Debug)]
pub enum AnswerEnd {
    Done,
    /// It was cut off.
    Early {
        reason: String,
    },
    Failed {
        error: String,
    },
}

/// Where the text of an answer goes while it arrives.
pub enum Output {
    /// To standard output. What a terminal would obey is shown instead.
    Stdout { is_terminal: bool, has_open_line: bool },
    /// Nowhere: it is checked when it is complete.
    Kept,
}

/// The events that matter here, as of `POST /api/chat`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Frame {
    Token {
        content: String,
    },
    NewResponse {},
    ToolStart {
        tool: String,
        arguments: Value,
    },
    ApprovalRequest {
        id: String,
        hash: String,
        tool: String,
        reason: String,
    },
    Done {
        content: String,
        stop_reason: String,
        detail: Option<String>,
    },
    Error {
        error: String,
    },
    #[serde(other)]
    Other,
}

impl Output {
    pub fn to_stdout() -> Self {
        Self::Stdout { is_terminal: stdout().is_terminal(), has_open_line: false }
    }

    pub fn kept() -> Self {
        Self::Kept
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let Self::Stdout { is_terminal, has_open_line } = self else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        *has_open_line = !text.ends_with('\n');
        let text = if *is_terminal { harmless(text) } else { text.to_owned() };
        let mut out = stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        let is_open = matches!(self, Self::Stdout { has_open_line: true, .. });
        if is_open { self.write("\n") } else { Ok(()) }
    }
}

/// What follows on standard error begins on a line of its own.
impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.end_line();
    }
}

/// Follows the answer. Returns its whole text and how it ended.
pub async fn follow(
    client: &Client,
    session: &str,
    mut frames: Frames,
    mut output: Output,
) -> anyhow::Result<(String, AnswerEnd)> {
    let followed = read(client, &mut frames, &mut output).await;
    if followed.is_err() {
        // Nobody reads the rest.
        let _ = client.post(&format!("api/sessions/{session}/interrupt"), json!({})).await;
    }
    followed
}

async fn read(client: &Client, frames: &mut Frames, output: &mut Output) -> anyhow::Result<(String, AnswerEnd)> {
    while let Some(frame) = frames.next().await? {
        match serde_json::from_value(frame).context("the server sent an event that this version does not know")? {
            Frame::Token { content } => output.write(&content)?,
            Frame::NewResponse {} => output.end_line()?,
            Frame::ToolStart { tool, arguments } => note(&format!("{tool} {arguments}")),
            Frame::ApprovalRequest { id, hash, tool, reason } => {
                note(&format!("{tool} is denied: {reason}"));
                let reason = "nobody can be asked: the question came from a script (miniclaw ask)";
                let answer = json!({"decision": "deny", "hash": hash, "reason": reason});
                let denied = client.post(&format!("api/approvals/{id}"), answer).await;
                denied.with_context(|| format!("{tool} waits for a person, and it cannot be denied from here"))?;
            }
            Frame::Done { content, stop_reason, detail } => {
                output.end_line()?;
                let end = match stop_reason.as_str() {
                    "done" => AnswerEnd::Done,
                    _ => AnswerEnd::Early { reason: detail.unwrap_or(stop_reason) },
                };
                return Ok((content, end));
            }
            Frame::Error { error } => {
                output.end_line()?;
                return Ok((String::new(), AnswerEnd::Failed { error }));
            }
            Frame::Other => {}
        }
    }
    Err(anyhow!("the server ended the stream before the answer was complete"))
}

/// Returns a text without what a terminal would obey.
fn harmless(text: &str) -> String {
    text.chars().map(|char| if char.is_control() && !"\n\t".contains(char) { '\u{fffd}' } else { char }).collect()
}

/// Tells a person who watches what happens.
fn note(text: &str) {
    let line: String = visible(text).chars().take(200).collect();
    let _ = writeln!(stderr(), "· {}", line.replace('\n', " "));
}
