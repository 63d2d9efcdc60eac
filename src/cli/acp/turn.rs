//! Follows a work to its end: each of its events becomes an update of the editor.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    SessionInfoUpdate, SessionUpdate, StopReason, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, UsageUpdate,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::connection::AcpError;
use super::{permission, sessions, updates};
use crate::cli::ask::client::Frames;
use crate::domain::todo::{CREATE_TODO_LIST, DONE_TODO};
use crate::domain::{Approval, CallStatus};

/// Maximum bytes of a running call's output that the editor has.
const MAX_LIVE_OUTPUT: usize = 16 << 10;

/// The events that matter here, as of `POST /api/chat`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Frame {
    Thinking {
        content: String,
    },
    Token {
        content: String,
    },
    ToolStart {
        tool: String,
        input: String,
        id: String,
        arguments: Value,
    },
    ToolOutput {
        call_id: String,
        text: String,
    },
    ToolEnd {
        tool: String,
        output: String,
        id: String,
        status: CallStatus,
    },
    ApprovalRequest {
        #[serde(flatten)]
        approval: Box<Approval>,
    },
    ApprovalResult {
        approval_id: String,
    },
    Usage {
        input_tokens: u64,
        output_tokens: u64,
        context_window: u64,
    },
    Title {
        title: String,
    },
    Done {
        stop_reason: String,
    },
    Error {
        error: String,
    },
    #[serde(other)]
    Other,
}

pub struct Turn {
    agent: Arc<Agent>,
    session: String,
    /// The folder that the session works in.
    folder: PathBuf,
    /// The calls that the editor knows, each with the content that it has.
    calls: HashMap<String, Vec<ToolCallContent>>,
    /// What running calls have written.
    outputs: HashMap<String, String>,
    /// The questions that the editor shows, by approval.
    questions: HashMap<String, u64>,
}

impl Turn {
    pub fn new(agent: Arc<Agent>, session: String, folder: PathBuf) -> Self {
        Self { agent, session, folder, calls: HashMap::new(), outputs: HashMap::new(), questions: HashMap::new() }
    }

    /// Returns why the work ended. Once the prompt is cancelled, the work is stopped, or leaves the queue.
    ///
    /// # Errors
    /// Returns an error if it failed, or if the server went away.
    pub async fn follow(mut self, mut frames: Frames, cancelled: CancellationToken) -> Result<StopReason, AcpError> {
        let mut is_stopped = false;
        let ended = loop {
            let next = tokio::select! {
                () = cancelled.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.stop(&frames).await;
                    continue;
                }
                next = frames.next() => next,
            };
            let frame = match next {
                Ok(Some(frame)) => frame,
                Ok(None) if is_stopped => break Ok(StopReason::Cancelled),
                Ok(None) => break Err(lost("the server ended the stream before the answer was complete")),
                Err(error) => break Err(lost(&format!("{error:#}"))),
            };
            match serde_json::from_value(frame) {
                Ok(Frame::Done { stop_reason }) => break Ok(reason(&stop_reason)),
                Ok(Frame::Error { error }) => break Err(lost(&error)),
                Ok(frame) => self.tell(frame).await,
                Err(error) => break Err(lost(&error.to_string())),
            }
        };
        for (_, question) in self.questions.drain() {
            self.agent.connection.withdraw(question).await;
        }
        // The title comes after the end.
        tokio::spawn(async move {
            while let Ok(Some(frame)) = frames.next().await {
                if let Ok(frame @ Frame::Title { .. }) = serde_json::from_value(frame) {
                    self.tell(frame).await;
                }
            }
        });
        ended
    }

    /// Stops the work of these frames, and no other one of the session.
    async fn stop(&self, frames: &Frames) {
        let work = frames.work_id().map(|work| format!("?work_id={work}")).unwrap_or_default();
        // It may have ended just now.
        let _ = self.agent.client.post(&format!("api/sessions/{}/interrupt{work}", self.session), json!({})).await;
    }

    async fn tell(&mut self, frame: Frame) {
        let update = match frame {
            Frame::Thinking { content } => updates::thought(&content),
            Frame::Token { content } => updates::text(&content),
            Frame::ToolStart { tool, input, id, arguments } => self.started(&tool, &input, (id, arguments)),
            Frame::ToolOutput { call_id, text } => self.wrote(call_id, &text),
            Frame::ToolEnd { tool, output, id, status } => {
                let ended = self.ended(id, &output, status);
                self.update(ended).await;
                if tool == CREATE_TODO_LIST || tool == DONE_TODO {
                    self.tell_plan().await;
                }
                return;
            }
            Frame::ApprovalRequest { approval } => return self.asked(*approval).await,
            Frame::ApprovalResult { approval_id } => {
                if let Some(question) = self.questions.remove(&approval_id) {
                    self.agent.connection.withdraw(question).await;
                }
                return;
            }
            Frame::Usage { input_tokens, output_tokens, context_window } => {
                SessionUpdate::UsageUpdate(UsageUpdate::new(input_tokens + output_tokens, context_window))
            }
            Frame::Title { title } => SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)),
            Frame::Done { .. } | Frame::Error { .. } | Frame::Other => return,
        };
        self.update(update).await;
    }

    async fn update(&self, update: SessionUpdate) {
        self.agent.connection.update(&self.session, update).await;
    }

    fn started(&mut self, tool: &str, input: &str, (id, arguments): (String, Value)) -> SessionUpdate {
        if self.calls.contains_key(&id) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            return SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields));
        }
        self.calls.insert(id.clone(), Vec::new());
        let call = ToolCall::new(id, updates::title(tool, input))
            .kind(updates::kind(tool))
            .status(ToolCallStatus::InProgress)
            .locations(updates::locations(&arguments, &self.folder))
            .raw_input(arguments);
        SessionUpdate::ToolCall(call)
    }

    fn wrote(&mut self, id: String, text: &str) -> SessionUpdate {
        let output = self.outputs.entry(id.clone()).or_default();
        output.push_str(text);
        if output.len() > MAX_LIVE_OUTPUT {
            let mut from = output.len() - MAX_LIVE_OUTPUT;
            while !output.is_char_boundary(from) {
                from += 1;
            }
            output.drain(..from);
        }
        let content = updates::output(output);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, ToolCallUpdateFields::new().content(content)))
    }

    fn ended(&mut self, id: String, output: &str, status: CallStatus) -> SessionUpdate {
        self.outputs.remove(&id);
        // The diff that the person has seen stays.
        let shown = self.calls.get(&id).into_iter().flatten();
        let diffs = shown.filter(|content| matches!(content, ToolCallContent::Diff(_))).cloned();
        let content = diffs.chain(updates::output(output)).collect::<Vec<_>>();
        let fields = ToolCallUpdateFields::new().status(updates::status(status)).content(content);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
    }

    async fn asked(&mut self, approval: Approval) {
        // Asked about again, with what it did when it was tried out.
        if let Some(question) = self.questions.remove(&approval.id) {
            self.agent.connection.withdraw(question).await;
        }
        let content = updates::question(&approval, &self.folder, self.agent.client.page());
        if self.calls.insert(approval.call_id.clone(), content.clone()).is_none() {
            let call = ToolCall::new(approval.call_id.clone(), updates::title(&approval.tool, &approval.shown.command))
                .kind(updates::kind(&approval.tool))
                .status(ToolCallStatus::Pending)
                .content(content)
                .locations(updates::locations(&approval.arguments, &self.folder))
                .raw_input(approval.arguments.clone());
            self.update(SessionUpdate::ToolCall(call)).await;
        }
        let id = approval.id.clone();
        let question = permission::ask(&self.agent, approval, &self.folder).await;
        self.questions.insert(id, question);
    }

    async fn tell_plan(&self) {
        let path = format!("api/sessions/{}/history?last=1", self.session);
        let Ok(history) = self.agent.client.get(&path).await else { return };
        if let Some(plan) = sessions::plan_of(&history) {
            self.update(plan).await;
        }
    }
}

fn reason(word: &str) -> StopReason {
    match word {
        "length" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "limit" => StopReason::MaxTurnRequests,
        "interrupted" => StopReason::Cancelled,
        _ => StopReason::EndTurn,
    }
}

fn lost(message: &str) -> AcpError {
    AcpError { code: -32_603, message: message.to_owned() }
}
