//! Sends a message, or has an answer regenerated, and streams the steps of the answer.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::conversation::conversation_id;
use super::envelope::EnvelopedError;
use super::steps::{ProcessStep, StepKind, places_of, steps_of};
use crate::api::body::JsonBody;
use crate::api::chat::attachments::{Attached, prompt};
use crate::api::chat::sending::key_in;
use crate::api::chat::sse::{self, respond};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{Approval, Event, Outcome, Role, Session, StoppedBy, UserPrompt, WorkId};
use crate::engine::hub::{Hub, Publication, PublishedItem};
use crate::engine::{EventId, NewMessage, WatchedWork};

/// Maximum characters of a suggested title.
const TITLE: usize = 30;
/// The title of the document for a message without text.
const NO_TITLE: &str = "新对话";
/// Maximum number of events that are sent as one, to a client that reads more slowly than the model writes.
const AT_ONCE: usize = 256;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ConversationPrompt {
    /// The text of the message; may be empty if there are attachments.
    text: Option<String>,
    /// The same, if there is no `text`.
    content: Option<String>,
    /// The same, if there is neither.
    message: Option<String>,
    #[serde(default)]
    attachments: Vec<Attached>,
    /// Binds the conversation to this project first. Absent: the project that it is bound to.
    project_id: Option<String>,
    /// `false`: the model is offered no tools for this answer, also when it is continued or regenerated.
    tools_enabled: Option<bool>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StepsQuery {
    /// `1`: a thinking or text step that grew is sent with its new text only, as `delta`, instead of its whole `content`.
    delta: Option<u8>,
}

/// The events of a stream of steps.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum StepEvent {
    /// `process_step`: a step, new or changed. Its `id` says which.
    ProcessStep(ProcessStep),
    /// `process_step` with `delta=1`: text at the end of a step that was sent before.
    Delta { id: String, index: usize, delta: String },
    /// `approval_request`: a call waits for a person. The stream stays open.
    ApprovalRequest(Box<Approval>),
    /// `error`: the answer failed, or the server stopped before it was complete. What there is of it is stored.
    Error {
        content: String,
        /// Such as `auth`, `usage_limit`, `interrupted` or `message_gone`.
        code: String,
    },
    /// `done`: the answer is stored.
    Done {
        /// `done`; `length`, `refusal` or `interrupted` if the answer is not complete: the model reached its limit or refused,
        /// or a person stopped it, also by another message.
        stop_reason: &'static str,
        message_id: String,
        /// Tokens that the model wrote, as counted by the provider.
        token_count: u64,
        /// The beginning of the first message; `null` if the conversation has a title.
        suggested_title: Option<String>,
    },
}

impl StepEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::ProcessStep(_) | Self::Delta { .. } => "process_step",
            Self::ApprovalRequest(_) => "approval_request",
            Self::Error { .. } => "error",
            Self::Done { .. } => "done",
        }
    }
}

/// Sends a message and streams the steps of the answer. A client that disconnects does not cancel it.
///
/// With an `Idempotency-Key`, the same request again sends nothing and streams the same answer: first what there is of it,
/// then what comes.
#[utoipa::path(post, path = "/api/conversations/{id}/messages", tag = "conversations", request_body = ConversationPrompt,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header), StepsQuery),
    responses((status = 200, description = "SSE of StepEvent", content_type = "text/event-stream", body = StepEvent),
              (status = 400, body = EnvelopedError), (status = 404, body = EnvelopedError),
              (status = 409, body = EnvelopedError), (status = 413, body = EnvelopedError)))]
pub async fn send(
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<StepsQuery>,
    headers: HeaderMap,
    request: Result<JsonBody<ConversationPrompt>, JsonRejection>,
) -> Result<Response, ApiError> {
    let id = conversation_id(&id)?;
    let JsonBody(ConversationPrompt { text, content, message, attachments, project_id, tools_enabled }) = request?;
    let key = key_in(&headers)?;
    // Unknown ids are refused; the engine would create the session.
    let session = caller.engine.view(&id).await?.session;
    let is_repeated =
        key.as_deref().is_some_and(|key| session.asked_as(key).is_some() || session.queued(key).is_some());
    let text = text.or(content).or(message).unwrap_or_default();
    let prompt = prompt(&caller, &id, text, attachments).await?;
    // A repeated request resumes its stream, whatever the conversation is bound to since.
    if let Some(project) = project_id.as_deref().filter(|id| !id.is_empty() && !is_repeated) {
        caller.engine.bind(&id, Some(super::conversation::project_id(project)?)).await?;
    }
    let prompt = UserPrompt { without_tools: tools_enabled == Some(false), ..prompt };
    let message = NewMessage { prompt, key, ..NewMessage::default() };
    let work = caller.engine.say_and_watch(&id, message, caller.until_over()).await?;
    Ok(streamed(&caller, work, &query))
}

/// Has an answer regenerated, and streams the steps of the new one. The former answer and what followed it stay reachable as
/// a branch. `mid` is the id of the answer, of one of its segments, or of the message that it answers.
#[utoipa::path(post, path = "/api/conversations/{id}/regenerate/{mid}", tag = "conversations",
    params(("id" = String, Path), ("mid" = String, Path), ("Idempotency-Key" = Option<String>, Header), StepsQuery),
    responses((status = 200, description = "SSE of StepEvent", content_type = "text/event-stream", body = StepEvent),
              (status = 404, body = EnvelopedError), (status = 409, description = "busy", body = EnvelopedError)))]
pub async fn regenerate(
    caller: Caller,
    Path((id, mid)): Path<(String, String)>,
    Query(query): Query<StepsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = conversation_id(&id)?;
    let key = key_in(&headers)?;
    let work = caller.engine.regenerate_and_watch((&id, &mid), key, caller.until_over()).await?;
    Ok(streamed(&caller, work, &query))
}

fn streamed(caller: &Caller, work: WatchedWork, query: &StepsQuery) -> Response {
    let form = if query.delta.is_some_and(|delta| delta != 0) { StepForm::Delta } else { StepForm::Whole };
    respond(encoded(work, form, caller.tenant().hub.clone()))
}

/// Encodes the steps that there are, then those that change, until the answer ends.
fn encoded(work: WatchedWork, form: StepForm, hub: Arc<Hub>) -> impl Stream<Item = Bytes> {
    let WatchedWork { work_id, session, last, publications } = work;
    let mut answer = FollowedAnswer::new(work_id, &session, form);
    let first = bytes(answer.changes(), &hub.id(last));
    let is_over = answer.is_over;
    let live = publications.ready_chunks(AT_ONCE);
    let rest = stream::unfold((live, answer, is_over), move |(mut live, mut answer, is_over)| {
        let hub = hub.clone();
        async move {
            if is_over {
                return None;
            }
            let published = live.next().await?;
            let last = published.last()?.number;
            published.iter().for_each(|published| answer.apply(published));
            let is_over = answer.is_over;
            Some((bytes(answer.changes(), &hub.id(last)), (live, answer, is_over)))
        }
    });
    stream::iter([first]).chain(rest)
}

fn bytes(events: Vec<StepEvent>, id: &EventId) -> Bytes {
    events.iter().flat_map(|event| sse::event(event.name(), Some(id), event)).collect::<Vec<u8>>().into()
}

/// How a step is sent that has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepForm {
    Whole,
    Delta,
}

/// An answer that is followed: a fold of its events, and what was sent of it.
struct FollowedAnswer {
    work_id: WorkId,
    /// The session with the messages of this work only.
    session: Session,
    form: StepForm,
    /// Number of its messages whose steps do not change any more, and the index of the first step after them.
    settled: usize,
    first: usize,
    /// The steps that were sent, from `first` on.
    sent: Vec<ProcessStep>,
    /// Events that are no steps, to be sent after them.
    others: Vec<StepEvent>,
    suggested_title: Option<String>,
    is_over: bool,
}

impl FollowedAnswer {
    fn new(work_id: WorkId, session: &Session, form: StepForm) -> Self {
        let of_work = |work: Option<&WorkId>| work == Some(&work_id);
        let messages = session.messages.iter().filter(|message| of_work(message.work_id.as_ref())).cloned().collect();
        let works = session.works.iter().filter(|work| of_work(Some(&work.work_id))).cloned().collect();
        let asked: Vec<Approval> = session.unanswered(&work_id).into_iter().cloned().collect();
        let suggested_title = session.title.is_empty().then(|| suggested(session));
        let mut answer = Self {
            session: Session { messages, works, ..Session::new("", session.created_at) },
            work_id,
            form,
            settled: 0,
            first: 0,
            sent: Vec::new(),
            others: asked.into_iter().map(|approval| StepEvent::ApprovalRequest(Box::new(approval))).collect(),
            suggested_title,
            is_over: false,
        };
        let ended = answer.session.works.first().filter(|work| work.finished_at.is_some());
        if let Some(outcome) = ended.and_then(|work| work.outcome.clone()) {
            answer.end(&outcome);
        }
        let waits = session.queue.iter().any(|queued| queued.work_id == answer.work_id);
        let is_deleted = session.has_deleted(&answer.work_id, Role::Assistant);
        if is_deleted {
            answer.others.clear();
        }
        if is_deleted || (answer.session.works.is_empty() && !waits) {
            answer.others.push(gone("this message is no longer in the conversation"));
            answer.is_over = true;
        }
        answer
    }

    /// Folds what was published.
    fn apply(&mut self, published: &Publication) {
        let PublishedItem::Event(event) = &published.what else { return };
        if event.work_id() != Some(&self.work_id) {
            return;
        }
        self.session.apply(event, crate::clock::now());
        match event {
            Event::ApprovalAsked { approval, .. } => {
                self.others.push(StepEvent::ApprovalRequest(Box::new((**approval).clone())));
            }
            Event::WorkFinished { outcome, .. } => self.end(outcome),
            Event::Unqueued { .. } => {
                self.others.push(gone("the message was removed from the queue"));
                self.is_over = true;
            }
            _ => {}
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        self.is_over = true;
        self.others.push(match outcome {
            Outcome::Error { error: content, code, .. } => {
                StepEvent::Error { content: content.clone(), code: code.clone() }
            }
            Outcome::Limit { detail: content } | Outcome::Interrupted { detail: content, by: StoppedBy::Server } => {
                StepEvent::Error { content: content.clone(), code: outcome.word().to_owned() }
            }
            Outcome::Done | Outcome::Length | Outcome::Refusal | Outcome::Interrupted { by: StoppedBy::Person, .. } => {
                StepEvent::Done {
                    stop_reason: outcome.word(),
                    message_id: format!("{}.0", self.work_id),
                    token_count: self.session.works.first().map_or(0, |work| work.usage.output_tokens),
                    suggested_title: self.suggested_title.take(),
                }
            }
        });
    }

    /// Returns what is to be sent since the last time.
    fn changes(&mut self) -> Vec<StepEvent> {
        let open = &self.session.messages[self.settled.min(self.session.messages.len())..];
        let steps = steps_of(open, self.first);
        let mut events = Vec::new();
        for step in &steps {
            let before = self.sent.binary_search_by_key(&step.index, |sent| sent.index).ok().map(|at| &self.sent[at]);
            if before != Some(step) {
                let added = before.and_then(|before| added(before, step)).filter(|_| self.form == StepForm::Delta);
                events.push(added.unwrap_or_else(|| StepEvent::ProcessStep(step.clone())));
            }
        }
        // What comes before the last segment does not change any more.
        if let [settled @ .., _] = open {
            self.first += settled.iter().map(|message| places_of(message)).sum::<usize>();
            self.settled += settled.len();
        }
        self.sent = steps.into_iter().filter(|step| step.index >= self.first).collect();
        events.append(&mut self.others);
        events
    }
}

/// Returns what was added at the end of a step; `None` if it changed in another way.
fn added(before: &ProcessStep, now: &ProcessStep) -> Option<StepEvent> {
    let delta = match (&before.kind, &now.kind) {
        (StepKind::Thinking { content: before }, StepKind::Thinking { content: now })
        | (StepKind::Text { content: before }, StepKind::Text { content: now }) => now.strip_prefix(before.as_str())?,
        _ => return None,
    };
    Some(StepEvent::Delta { id: now.id.clone(), index: now.index, delta: delta.to_owned() })
}

fn gone(content: &str) -> StepEvent {
    StepEvent::Error { content: content.to_owned(), code: "message_gone".to_owned() }
}

/// Returns a title for a conversation: the beginning of its first message.
fn suggested(session: &Session) -> String {
    let first = session.messages.iter().find(|message| message.role == Role::User);
    let words = first.map(|message| message.content.split_whitespace().collect::<Vec<_>>().join(" "));
    let title: String = words.unwrap_or_default().chars().take(TITLE).collect();
    if title.is_empty() { NO_TITLE.to_owned() } else { title }
}
