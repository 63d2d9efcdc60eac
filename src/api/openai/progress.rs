//! What a work does, as programs of the OpenAI API are told it: a projection of the session and of the events after it.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::domain::client_chain::STEP_LINE;
use crate::domain::message::input_line;
use crate::domain::{ClientRequest, Event, Message, Outcome, Role, Session, ToolCall, Usage, WorkId};
use crate::engine::{Publication, PublishedItem, WatchedWork};

/// Maximum characters of a line that tells a step.
const MAX_STEP: usize = 200;

/// One thing that a program is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Thought(String),
    /// A line about a step of the agent.
    Step(String),
    /// A call of one of the program's tools.
    Call(HandedCall),
    /// All calls are handed off: the response ends, and the work waits for their results.
    HandedOff,
    /// A call waits for a person.
    Asked {
        approval_id: String,
        tool: String,
    },
    Answered {
        approval_id: String,
    },
    Usage(Usage),
    Ended(Outcome),
}

/// A call as the program is told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedCall {
    pub id: String,
    /// The program's own name of its tool.
    pub name: String,
    /// A JSON object as text.
    pub arguments: String,
}

/// A work that a response follows.
pub struct Progress {
    work_id: WorkId,
    /// What the program has sent, which names its tools.
    client: Option<Arc<ClientRequest>>,
    pending: VecDeque<Delta>,
    publications: BoxStream<'static, Arc<Publication>>,
    /// Whether text has been told, so that a later segment is set apart.
    has_text: bool,
    is_new_segment: bool,
    is_over: bool,
    /// Number of hand-offs before what is told.
    part: usize,
}

impl Progress {
    /// Begins with what the work has done already: in this part, which a hand-off of calls ends, or in the last one.
    pub fn of(work: WatchedWork, part: Option<usize>) -> Self {
        let WatchedWork { work_id, session, publications, .. } = work;
        let client = session.works.iter().find(|work| work.work_id == work_id).and_then(|work| work.client.clone());
        let mut progress = Self {
            work_id,
            client,
            pending: VecDeque::new(),
            publications,
            has_text: false,
            is_new_segment: false,
            is_over: false,
            part: 0,
        };
        progress.begin(&session, part);
        progress
    }

    pub fn work_id(&self) -> &WorkId {
        &self.work_id
    }

    /// Returns the number of hand-offs before what is told.
    pub fn part(&self) -> usize {
        self.part
    }

    /// Returns what is known without waiting.
    pub fn pending(&mut self) -> Vec<Delta> {
        self.pending.drain(..).collect()
    }

    /// Returns the next thing; `None` after the end, or if the work cannot be followed any more.
    pub async fn next(&mut self) -> Option<Delta> {
        loop {
            if let Some(delta) = self.pending.pop_front() {
                self.is_over |= matches!(delta, Delta::HandedOff | Delta::Ended(_));
                return Some(delta);
            }
            if self.is_over {
                return None;
            }
            let published = self.publications.next().await?;
            if let PublishedItem::Event(event) = &published.what
                && event.work_id() == Some(&self.work_id)
            {
                self.add(event);
            }
        }
    }

    fn begin(&mut self, session: &Session, part: Option<usize>) {
        let is_answer = |m: &&Arc<Message>| m.role == Role::Assistant && m.work_id.as_ref() == Some(&self.work_id);
        let messages: Vec<_> = session.messages.iter().filter(is_answer).cloned().collect();
        for message in &messages {
            self.is_new_segment = true;
            self.pending.extend(message.thinking.clone().filter(|text| !text.is_empty()).map(Delta::Thought));
            self.say(&message.content);
            for call in message.tool_calls.iter().filter(|call| !call.handed_off) {
                self.pending.push_back(Delta::Step(step(&call.tool, &call.input)));
            }
            let mut handed = message.tool_calls.iter().filter(|call| call.handed_off).peekable();
            if handed.peek().is_none() {
                continue;
            }
            let is_away = message.tool_calls.iter().any(ToolCall::is_away);
            if is_away || part == Some(self.part) {
                let calls: Vec<_> =
                    handed.filter(|call| !is_away || call.is_away()).map(|call| self.handed(call)).collect();
                self.pending.extend(calls.into_iter().map(Delta::Call));
                self.pending.push_back(Delta::HandedOff);
                return;
            }
            // The program has this already.
            self.pending.clear();
            self.has_text = false;
            self.part += 1;
        }
        for approval in session.unanswered(&self.work_id) {
            let (approval_id, tool) = (approval.id.clone(), approval.tool.clone());
            self.pending.push_back(Delta::Asked { approval_id, tool });
        }
        let outcome = session.works.iter().find(|work| work.work_id == self.work_id).and_then(|work| {
            self.pending.extend(work.outcome.as_ref().map(|_| Delta::Usage(work.usage)));
            work.outcome.clone()
        });
        self.pending.extend(outcome.map(Delta::Ended));
    }

    fn add(&mut self, event: &Event) {
        match event {
            Event::SegmentStarted { .. } => self.is_new_segment = true,
            Event::Text { text, .. } => self.say(text),
            Event::Thinking { text, .. } => self.pending.push_back(Delta::Thought(text.clone())),
            Event::ToolStarted { call_id, tool, arguments, handed_off: Some(handed_off), .. } => {
                let call = self.named(call_id, tool, Some(arguments));
                self.pending.push_back(Delta::Call(call));
                if handed_off.more == 0 {
                    self.pending.push_back(Delta::HandedOff);
                }
            }
            Event::ToolStarted { tool, arguments, handed_off: None, .. } => {
                self.pending.push_back(Delta::Step(step(tool, &input_line(arguments))));
            }
            Event::ModelChanged { model, instead_of, .. } => {
                self.pending.push_back(Delta::Step(step("model", &format!("{model} answers instead of {instead_of}"))));
            }
            Event::ApprovalAsked { approval, .. } => {
                let (approval_id, tool) = (approval.id.clone(), approval.tool.clone());
                self.pending.push_back(Delta::Asked { approval_id, tool });
            }
            Event::ApprovalAnswered { approval_id, .. } => {
                self.pending.push_back(Delta::Answered { approval_id: approval_id.clone() });
            }
            Event::DialogueFinished { usage, .. } => self.pending.push_back(Delta::Usage(*usage)),
            Event::WorkFinished { outcome, .. } => self.pending.push_back(Delta::Ended(outcome.clone())),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let separator = if self.is_new_segment && self.has_text { "\n\n" } else { "" };
        (self.has_text, self.is_new_segment) = (true, false);
        self.pending.push_back(Delta::Text(format!("{separator}{text}")));
    }

    fn handed(&self, call: &ToolCall) -> HandedCall {
        self.named(call.id.as_deref().unwrap_or_default(), &call.tool, call.arguments.as_ref())
    }

    fn named(&self, id: &str, tool: &str, arguments: Option<&serde_json::Value>) -> HandedCall {
        let name = self.client.as_ref().map_or(tool, |client| client.own_name(tool));
        let arguments = match arguments {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(arguments) => arguments.to_string(),
            None => "{}".to_owned(),
        };
        HandedCall { id: id.to_owned(), name: name.to_owned(), arguments }
    }
}

/// Returns one line about a step.
fn step(tool: &str, input: &str) -> String {
    let line = input.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(MAX_STEP) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    format!("{STEP_LINE}{tool}: {line}")
}
