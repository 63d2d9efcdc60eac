//! A session: an ordered list of works with their messages. It changes only through [`Session::apply`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::approval::{Approval, ApprovalAnswer, CallApproval, RecordedAnswer};
use super::branch::Branch;
use super::chosen::Chosen;
use super::compacted::CompactedPart;
use super::deleted::DeletedTurn;
use super::elicitation::RecordedElicitation;
use super::event::{Event, Fact};
use super::ids::{ProjectId, WorkId};
use super::message::{CallStatus, Message, Role, ToolCall};
use super::pinned::PinnedMessage;
use super::queued::QueuedMessage;
use super::taint::Taint;
use super::withdrawn::WithdrawnWork;
use super::work::{Outcome, Work};

/// Format of session files that this version writes (version 2 of the mini-OpenClaw document). Its files need no
/// `format` field; a later format that old versions must not write to declares a higher number.
const FORMAT: u64 = 2;

/// The content of `sessions/{id}.json`. All fields of the document keep their names; the others are optional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub created_at: f64,
    #[serde(default)]
    pub updated_at: f64,
    /// Summaries of the compacted messages; several are joined by `---`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed_context: Option<String>,
    /// Shared, like the works: every run and every reader copies the session, and a copy duplicates no text.
    #[serde(default)]
    pub messages: Vec<Arc<Message>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works: Vec<Arc<Work>>,
    /// Earlier branches of the conversation, which were put aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
    /// Messages that run after the run under way, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::queued::lenient")]
    pub queue: Vec<QueuedMessage>,
    /// What a person chose for the session.
    #[serde(default, skip_serializing_if = "Chosen::is_nothing")]
    pub chosen: Chosen,
    /// Parts that a summary replaces, oldest first. The field in the file keeps the name that earlier versions read.
    #[serde(rename = "archived", default, skip_serializing_if = "Vec::is_empty")]
    pub compacted: Vec<CompactedPart>,
    /// Messages that every request contains, in the order in which they were pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<PinnedMessage>,
    /// Works that a person has withdrawn, in the order in which they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::withdrawn::lenient")]
    pub withdrawn: Vec<WithdrawnWork>,
    /// Messages that a person has deleted, in the order in which they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::deleted::lenient")]
    pub deleted: Vec<DeletedTurn>,
    /// Sources of text in the session that strangers may have written. A source stays until a person clears them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::taint::lenient")]
    pub taint: Vec<Taint>,
    /// The project that its tools work in; without one they work in the home.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::ids::lenient_project")]
    pub project_id: Option<ProjectId>,
    /// Number of the last fact folded into this snapshot.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub seq: u64,
    /// Fields that this version does not know; kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Session {
    pub fn new(title: impl Into<String>, now: f64) -> Self {
        Self {
            title: title.into(),
            created_at: now,
            updated_at: now,
            compressed_context: None,
            messages: Vec::new(),
            works: Vec::new(),
            branches: Vec::new(),
            queue: Vec::new(),
            chosen: Chosen::default(),
            compacted: Vec::new(),
            pinned: Vec::new(),
            withdrawn: Vec::new(),
            deleted: Vec::new(),
            taint: Vec::new(),
            project_id: None,
            seq: 0,
            extra: Map::new(),
        }
    }

    /// Returns whether its file has a newer format than this version writes: such a file can be read but must not be
    /// changed.
    pub fn is_newer(&self) -> bool {
        self.extra.get("format").and_then(Value::as_u64).is_some_and(|format| format > FORMAT)
    }

    /// Folds a fact into the session. A fact that is already folded (its `seq` is not above the session's) changes
    /// nothing.
    pub fn apply_fact(&mut self, fact: &Fact) {
        if fact.seq <= self.seq {
            return;
        }
        self.seq = fact.seq;
        // A new title is no activity, and neither is an exclusion from recall: the session keeps its place in the list.
        let is_activity = match &fact.event {
            Event::Titled { .. } => false,
            Event::Changed { chosen, bound: None, .. } => chosen.as_ref().is_some_and(|chosen| {
                *chosen != Chosen { not_for_recall: chosen.not_for_recall, ..self.chosen.clone() }
            }),
            _ => true,
        };
        if is_activity {
            self.updated_at = fact.at;
        }
        self.apply(&fact.event, fact.at);
    }

    /// Applies an event; the session changes in no other way. Never fails: an event that does not fit (its work or call
    /// is unknown) changes nothing.
    pub fn apply(&mut self, event: &Event, at: f64) {
        match event {
            Event::Titled { title } => self.title.clone_from(title),
            Event::Chosen { chosen } => self.chosen.clone_from(chosen),
            Event::Bound { project_id } => self.project_id.clone_from(project_id),
            Event::Changed { title, chosen, bound } => {
                self.title = title.as_ref().unwrap_or(&self.title).clone();
                self.chosen = chosen.as_ref().unwrap_or(&self.chosen).clone();
                self.project_id = bound.as_ref().map_or(&self.project_id, |bound| &bound.project_id).clone();
            }
            Event::WorkStarted { work_id, message_id, content, attachments, model, without_tools, client } => {
                self.works.push(Arc::new(Work {
                    model: model.clone(),
                    project_id: self.project_id.clone(),
                    without_tools: *without_tools,
                    client: client.clone(),
                    ..Work::begun(work_id.clone(), at)
                }));
                for file in attachments {
                    Taint::add(&mut self.taint, &Taint::Attachment(file.name.clone()));
                }
                let mut message = Message::new(Role::User, content.clone());
                message.attachments.clone_from(attachments);
                message.id = Some(message_id.clone());
                message.work_id = Some(work_id.clone());
                message.created_at = Some(at);
                self.messages.push(Arc::new(message));
                self.dequeue(message_id);
            }
            Event::Queued { message } => self.enqueue(message),
            Event::Unqueued { message_id, .. } => self.dequeue(message_id),
            Event::WorkContinued { work_id, .. } => self.reopen(work_id),
            Event::WorkTakenOver { work_id, servers_lost } => {
                if let Some(work) = self.work_mut(work_id) {
                    work.servers_lost = *servers_lost;
                }
            }
            Event::DialogueStarted { work_id, dialogue } => {
                if let Some(work) = self.work_mut(work_id) {
                    work.dialogues = work.dialogues.max(dialogue.saturating_add(1));
                }
            }
            Event::ModelChanged { work_id, model, instead_of } => {
                if let Some(work) = self.work_mut(work_id) {
                    work.model.clone_from(model);
                    work.instead_of.get_or_insert_with(|| instead_of.clone());
                }
            }
            Event::SegmentStarted { work_id, dialogue, segment } => {
                self.start_segment(work_id, *dialogue, *segment, at)
            }
            Event::Text { work_id, at, text } => {
                if let Some(message) = self.segment_mut(work_id) {
                    splice(&mut message.content, *at, text);
                }
            }
            Event::Thinking { work_id, at, text } => {
                if let Some(message) = self.segment_mut(work_id) {
                    splice(message.thinking.get_or_insert_default(), *at, text);
                }
            }
            Event::Reasoned { work_id, reasoning } => {
                if let Some(message) = self.segment_mut(work_id)
                    && !message.reasoning.iter().any(|known| known.dialogue == reasoning.dialogue)
                {
                    message.reasoning.push(reasoning.clone());
                }
            }
            Event::CallsRequested { work_id, calls, .. } => {
                if let Some(work) = self.work_mut(work_id) {
                    work.requested.clone_from(calls);
                }
            }
            Event::ApprovalAsked { work_id, dialogue, index, approval } => {
                self.ask(work_id, (*dialogue, *index), approval)
            }
            Event::ApprovalAnswered { work_id, approval_id, answer, .. } => self.answer(work_id, approval_id, answer),
            Event::ToolStarted { work_id, dialogue, index, call_id, tool, arguments, handed_off } => {
                self.forget_requested(work_id, call_id);
                let known = self.open_call_mut(work_id, call_id, CallStatus::Approval);
                if let Some(call) = known {
                    call.set_arguments(arguments);
                    call.status = Some(CallStatus::Running);
                    call.started_at = Some(at);
                    if let Some(CallApproval::Answered(answered)) = &mut call.approval {
                        (answered.shown, answered.elicited) = (None, None);
                    }
                } else {
                    let call = ToolCall {
                        status: Some(CallStatus::Running),
                        started_at: Some(at),
                        handed_off: handed_off.is_some(),
                        ..ToolCall::new(call_id, tool, arguments).at(*dialogue, *index)
                    };
                    self.push_call(work_id, call);
                }
            }
            Event::ToolOutput { work_id, call_id, text } => {
                if let Some(call) = self.open_call_mut(work_id, call_id, CallStatus::Running) {
                    call.add_output(text);
                }
            }
            Event::ToolFinished { work_id, call_id, status, output, result, duration_ms, taint, .. } => {
                let running = self.open_call_mut(work_id, call_id, CallStatus::Running).is_some();
                let open = if running { CallStatus::Running } else { CallStatus::Approval };
                if let Some(call) = self.open_call_mut(work_id, call_id, open) {
                    call.status = Some(*status);
                    call.output.clone_from(output);
                    call.result = Some(result.clone());
                    call.duration_ms = Some(*duration_ms);
                    call.settle_approval();
                    for source in taint {
                        Taint::add(&mut self.taint, source);
                    }
                }
            }
            Event::TaintCleared {} => self.taint.clear(),
            Event::Pinned { message_id, pinned } => self.pin(message_id, *pinned),
            Event::Deleted { message_id, place } => self.delete_turn((message_id, *place), at),
            Event::Branched { from, to } => self.put_aside(from, to.as_deref()),
            Event::Withdrawn { work_id, withdrawn: true, calls, kept } => self.withdraw(work_id, (calls, kept), at),
            Event::Withdrawn { work_id, withdrawn: false, .. } => self.reapply(work_id),
            Event::Undone { call_id, undone, .. } => {
                let has_it = |m: &Message| m.tool_calls.iter().any(|call| call.id.as_deref() == Some(call_id));
                let deleted = self.deleted.iter_mut().flat_map(|turn| &mut turn.messages);
                let messages = self.messages.iter_mut().rev().chain(deleted);
                let message = { messages }.find(|m| has_it(m)).map(Arc::make_mut);
                let mut calls = message.into_iter().flat_map(|m| &mut m.tool_calls).rev();
                if let Some(call) = calls.find(|call| call.id.as_deref() == Some(call_id)) {
                    call.undone = *undone;
                }
            }
            Event::DialogueFinished { work_id, usage, left_out, request, .. } => {
                if let Some(work) = self.work_mut(work_id) {
                    work.requests.extend(request.clone());
                    work.usage.add(*usage);
                    work.left_out = work.left_out.max(*left_out);
                }
            }
            Event::WorkFinished { work_id, outcome, .. } => self.finish_work(work_id, outcome, at),
            Event::Compressed { count, summary, archive, sha256, .. } => {
                self.compact(*count, summary, (archive, sha256))
            }
            Event::Restored { archive, messages, foreign } => {
                self.restore_compacted(archive, messages, at);
                if *foreign && !self.taint.contains(&Taint::Imported) {
                    self.taint.push(Taint::Imported);
                }
            }
            Event::Retrieved { .. } | Event::Status { .. } => {}
        }
    }

    fn start_segment(&mut self, work_id: &WorkId, dialogue: u32, segment: u32, at: f64) {
        if self.work_mut(work_id).is_none() {
            return;
        }
        let known =
            self.messages.iter().filter(|m| m.role == Role::Assistant && m.work_id.as_ref() == Some(work_id)).count();
        if known as u32 > segment {
            return;
        }
        let mut message = Message::new(Role::Assistant, "");
        message.id = Some(format!("{work_id}.{segment}"));
        message.work_id = Some(work_id.clone());
        message.dialogue = Some(dialogue);
        message.created_at = Some(at);
        self.messages.push(Arc::new(message));
    }

    fn finish_work(&mut self, work_id: &WorkId, outcome: &Outcome, at: f64) {
        let Some(work) = self.work_mut(work_id) else { return };
        if work.finished_at.is_some() {
            return;
        }
        work.finished_at = Some(at);
        work.requested.clear();
        // Its texts would be in the file once for each work.
        work.client = work.client.take().map(|client| Arc::new(client.ended()));
        work.outcome = Some(outcome.clone());
        self.give_back(work_id);
        if *outcome == Outcome::Done {
            return;
        }
        // The last segment of the work carries the outcome; if there is none, an empty one does.
        if self.segment_mut(work_id).is_none() {
            self.start_segment(work_id, 0, 0, at);
        }
        if let Some(message) = self.segment_mut(work_id) {
            message.stop_reason = Some(outcome.word().to_owned());
            message.stopped_by = outcome.stopped_by();
            message.error = match outcome {
                Outcome::Error { error, .. } => Some(error.clone()),
                Outcome::Done
                | Outcome::Length
                | Outcome::Refusal
                | Outcome::Interrupted { .. }
                | Outcome::Limit { .. } => None,
            };
        }
    }

    /// Frees spare capacity of an answer's texts, which do not grow any more: most conversations are idle.
    fn give_back(&mut self, work_id: &WorkId) {
        let answers = self.messages.iter_mut().rev().take_while(|m| m.work_id.as_ref() == Some(work_id));
        for message in answers.filter(|m| m.role == Role::Assistant).map(Arc::make_mut) {
            message.content.shrink_to_fit();
            message.tool_calls.shrink_to_fit();
            if let Some(thinking) = &mut message.thinking {
                thinking.shrink_to_fit();
            }
        }
        self.messages.shrink_to(self.messages.len() + 8);
    }

    fn work_mut(&mut self, work_id: &WorkId) -> Option<&mut Work> {
        self.works.iter_mut().rev().find(|work| work.work_id == *work_id).map(Arc::make_mut)
    }

    fn segment_mut(&mut self, work_id: &WorkId) -> Option<&mut Message> {
        let is_segment = |m: &Message| m.role == Role::Assistant && m.work_id.as_ref() == Some(work_id);
        self.messages.iter_mut().rev().find(|m| is_segment(m)).map(Arc::make_mut)
    }

    fn open_call_mut(&mut self, work_id: &WorkId, call_id: &str, status: CallStatus) -> Option<&mut ToolCall> {
        self.call_mut(work_id, |call| call.id.as_deref() == Some(call_id) && call.status == Some(status))
    }

    /// Returns the first matching call in the work's last message that has one.
    fn call_mut(&mut self, work_id: &WorkId, is_it: impl Fn(&ToolCall) -> bool) -> Option<&mut ToolCall> {
        let mut of_work = self.messages.iter_mut().rev().filter(|m| m.work_id.as_ref() == Some(work_id));
        let message = of_work.find(|m| m.tool_calls.iter().any(&is_it))?;
        Arc::make_mut(message).tool_calls.iter_mut().find(|call| is_it(call))
    }

    fn forget_requested(&mut self, work_id: &WorkId, call_id: &str) {
        if let Some(work) = self.work_mut(work_id).filter(|work| !work.requested.is_empty()) {
            work.requested.retain(|call| call.call_id != call_id);
        }
    }

    /// Inserts a call into the current segment: at the end, or before the calls of its exchange that come after it.
    fn push_call(&mut self, work_id: &WorkId, call: ToolCall) {
        let Some(message) = self.segment_mut(work_id) else { return };
        let calls = &mut message.tool_calls;
        // Most messages have one call, and the four slots that a `Vec` starts with take three kilobytes.
        if calls.is_empty() {
            calls.reserve_exact(1);
        }
        let after = calls.iter().rev().take_while(|other| other.dialogue == call.dialogue && other.index > call.index);
        let place = calls.len() - after.count();
        calls.insert(place, call);
    }

    fn ask(&mut self, work_id: &WorkId, (dialogue, index): (u32, u32), approval: &Arc<Approval>) {
        let asked = Some(CallApproval::Asked(Box::new((**approval).clone())));
        // A call that was rehearsed runs until its question.
        let is_it = |call: &ToolCall| match call.status {
            Some(CallStatus::Running) => call.id.as_ref() == Some(&approval.call_id),
            _ => call.waits() && call.approval.as_ref().is_some_and(|a| a.id() == approval.id),
        };
        if let Some(call) = self.call_mut(work_id, is_it) {
            (call.status, call.approval) = (Some(CallStatus::Approval), asked);
            return;
        }
        self.forget_requested(work_id, &approval.call_id);
        let call = ToolCall {
            status: Some(CallStatus::Approval),
            approval: asked,
            ..ToolCall::new(&approval.call_id, &approval.tool, &approval.arguments).at(dialogue, index)
        };
        self.push_call(work_id, call);
    }

    fn answer(&mut self, work_id: &WorkId, approval_id: &str, answer: &ApprovalAnswer) {
        let is_it = |call: &ToolCall| {
            let asked = call.approval.as_ref().and_then(CallApproval::asked);
            call.waits() && asked.is_some_and(|approval| approval.id == approval_id)
        };
        let Some(call) = self.call_mut(work_id, is_it) else { return };
        let shown = call.approval.as_ref().and_then(CallApproval::asked).map(|approval| approval.shown.clone());
        let asked = answer.arguments.as_ref().and(call.arguments.clone());
        if let Some(arguments) = &answer.arguments {
            call.set_arguments(arguments);
        }
        let elicitation = shown.as_ref().and_then(|shown| shown.elicitation.as_deref());
        if let (Some(elicitation), Some(answer)) = (elicitation, &answer.elicited) {
            let (server, message) = (elicitation.server.clone(), elicitation.message.clone());
            let answer = (**answer).clone();
            call.elicitations.push(RecordedElicitation { id: approval_id.to_owned(), server, message, answer });
        }
        let answered = RecordedAnswer { asked, shown, ..RecordedAnswer::of(approval_id, answer) };
        call.approval = Some(CallApproval::Answered(Box::new(answered)));
    }
}

/// Writes `text` at byte `at` and drops what followed, unless `text` is already there. Appends if `at` is not a
/// position in `target`.
fn splice(target: &mut String, at: usize, text: &str) {
    if at.checked_add(text.len()).is_some_and(|end| end <= target.len())
        && target.is_char_boundary(at)
        && target[at..].starts_with(text)
    {
        return;
    }
    if at <= target.len() && target.is_char_boundary(at) {
        target.truncate(at);
    }
    target.push_str(text);
}
