//! `POST /v1/chat/completions`: the agent, or a model alone, as a chat model.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::Value;

use super::chat_chunks::{ChunkWriter, WholeAnswer, finish_reason};
use super::client_turn::{AgentRequest, Naming, SESSION_HEADER, begin};
use super::error::{OpenAiErrorBody, invalid, of_outcome};
use super::fields::Fields;
use super::message::read_messages;
use super::models::{ModelFields, RequestedModel};
use super::open_questions::OpenQuestions;
use super::page_address::PageAddress;
use super::parameters::Parameters;
use super::progress::{Delta, Progress};
use super::raw;
use crate::api::body::JsonBody;
use crate::api::chat::sse::respond;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::config::StepsShown;
use crate::domain::Usage;
use crate::domain::client_chain::{STEP_LINE, WAITING_NOTICE};
use crate::engine::client_turns::{ClientTurnWork, WorkHold};

/// How long a request without a stream waits for a person before it says so. Most programs give up after 30 s or more.
const QUESTION_PATIENCE: Duration = Duration::from_secs(25);
const IGNORED_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-ignored");
const WORK_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-work");
const WAITING_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-waiting");

/// How the answer is sent.
pub struct AnswerOptions {
    pub writer: ChunkWriter,
    pub streams: bool,
    pub ignored: Vec<String>,
}

/// Answers a conversation with the agent, or with a model alone.
///
/// The whole conversation comes with each request; its session is found by its content, or by the header `X-Miniclaw-Session`.
/// Fields that this server does not have are named in `X-Miniclaw-Ignored`. The shapes are those of OpenAI's API reference.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai", request_body = Object,
    responses((status = 200, description = "a chat.completion, or with stream:true SSE of chat.completion.chunk"),
              (status = 400, body = OpenAiErrorBody), (status = 401, body = OpenAiErrorBody),
              (status = 404, body = OpenAiErrorBody), (status = 429, body = OpenAiErrorBody)))]
pub async fn chat_completions(
    caller: Caller,
    page: PageAddress,
    headers: HeaderMap,
    request: Result<JsonBody<Value>, JsonRejection>,
) -> Result<Response, ApiError> {
    let ModelFields { name, model, mut fields } = ModelFields::of(&caller, request)?;
    let streams = fields.flag("stream")?.unwrap_or(false);
    let stream_options = fields.object("stream_options")?.unwrap_or_default();
    let has_usage = stream_options.get("include_usage").and_then(Value::as_bool).unwrap_or(false);
    let messages = fields.list("messages")?.ok_or_else(|| invalid("messages", "messages is an array"))?;
    let conversation = read_messages(messages)?;
    let parameters = Parameters::of_chat(&mut fields)?;
    let metadata = fields.object("metadata")?.unwrap_or_default();
    let mut naming = Naming::of_headers(&headers)?;
    naming.chat = naming.chat.or(metadata.get("session_id").and_then(Value::as_str).map(str::to_owned));
    naming.salt = fields.text("prompt_cache_key")?;
    // It tells people of a frontend apart, and never joins two conversations.
    fields.take("user");
    let ignored = |fields: Fields, more: &[String]| [fields.ignored(), more.to_vec()].concat();
    match model.for_conversation(&conversation) {
        RequestedModel::Raw(chosen) => {
            let ignored = ignored(fields, &parameters.ignored);
            let request = raw::request(conversation, parameters)?;
            let answer = caller.tenant().raw_turn(chosen, request, caller.until_over()).await?;
            let writer = ChunkWriter::new(answer.id.as_str(), name, has_usage);
            raw::answer(answer, AnswerOptions { writer, streams, ignored }).await
        }
        RequestedModel::Agent(model) => {
            fields.take("parallel_tool_calls");
            let ignored = ignored(fields, &parameters.ignored);
            let request = AgentRequest { model, conversation, parameters, naming, discard: false };
            let work = begin(&caller, request).await?;
            let writer = ChunkWriter::new(work.work.work_id.as_str(), name, has_usage);
            let address = page.of_session(work.session_id.as_str());
            let steps = caller.tenant().runtime.config().api.steps;
            answer(work, AnswerOptions { writer, streams, ignored }, Shown { steps, address }).await
        }
    }
}

/// What a program is shown beside the answer.
#[derive(Clone, Debug)]
struct Shown {
    steps: StepsShown,
    /// Where a person finds the conversation and answers questions.
    address: String,
}

impl Shown {
    fn question(&self, tool: &str) -> String {
        format!("{WAITING_NOTICE}: {tool}. Answer it at {}]", self.address)
    }
}

async fn answer(turn: ClientTurnWork, options: AnswerOptions, shown: Shown) -> Result<Response, ApiError> {
    let ClientTurnWork { session_id, work, hold } = turn;
    let mut headers = ignored_header(&options.ignored);
    let named = [(HeaderName::from_static(SESSION_HEADER), session_id.as_str()), (WORK_HEADER, work.work_id.as_str())];
    for (name, value) in named {
        headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
    }
    let follower =
        Follower { progress: Progress::of(work, None), hold, writer: options.writer, shown, usage: Usage::default() };
    if options.streams {
        return Ok((headers, respond(follower.stream())).into_response());
    }
    let (answer, waiting) = follower.whole().await?;
    headers.extend(waiting.and_then(|id| HeaderValue::from_str(&id).ok()).map(|id| (WAITING_HEADER, id)));
    Ok((headers, Json(answer)).into_response())
}

/// Returns the header that names what was ignored, if anything was.
pub fn ignored_header(ignored: &[String]) -> HeaderMap {
    let value = Some(ignored.join(", ")).filter(|names| !names.is_empty());
    let value = value.and_then(|names| HeaderValue::from_str(&names).ok());
    value.map(|value| (IGNORED_HEADER, value)).into_iter().collect()
}

/// A response that follows a work.
struct Follower {
    progress: Progress,
    hold: WorkHold,
    writer: ChunkWriter,
    shown: Shown,
    usage: Usage,
}

/// Where a stream stands.
enum StreamState {
    Begins(Box<Follower>),
    Runs(Box<Follower>, usize),
    Ended,
}

impl Follower {
    fn stream(self) -> impl Stream<Item = Bytes> + Send + 'static {
        stream::unfold(StreamState::Begins(Box::new(self)), |state| async move {
            match state {
                StreamState::Begins(follower) => {
                    let first = follower.writer.begin();
                    Some((Bytes::from(first), StreamState::Runs(follower, 0)))
                }
                StreamState::Runs(mut follower, calls) => {
                    let (bytes, calls) = follower.next_bytes(calls).await;
                    let state = calls.map_or(StreamState::Ended, |calls| StreamState::Runs(follower, calls));
                    Some((Bytes::from(bytes), state))
                }
                StreamState::Ended => None,
            }
        })
    }

    /// Returns the next chunks, and how many calls have been told; `None` at the end.
    async fn next_bytes(&mut self, calls: usize) -> (Vec<u8>, Option<usize>) {
        let writer = &self.writer;
        loop {
            let bytes = match self.progress.next().await {
                Some(Delta::Text(text)) => writer.text(&text),
                Some(Delta::Thought(text)) => writer.thought(&text),
                Some(Delta::Step(line)) => match self.shown.steps {
                    StepsShown::Reasoning => writer.thought(&format!("\n{line}\n")),
                    StepsShown::Text => writer.text(&format!("\n{line}\n")),
                    StepsShown::None => continue,
                },
                Some(Delta::Asked { tool, .. }) => {
                    let line = self.shown.question(&tool);
                    match self.shown.steps {
                        StepsShown::Text => writer.text(&format!("\n{STEP_LINE}{line}\n")),
                        StepsShown::Reasoning | StepsShown::None => writer.thought(&format!("\n{line}\n")),
                    }
                }
                Some(Delta::Answered { .. }) => continue,
                Some(Delta::Usage(usage)) => {
                    self.usage.add(usage);
                    continue;
                }
                Some(Delta::Call(call)) => return (writer.call(calls, &call), Some(calls + 1)),
                Some(Delta::HandedOff) => {
                    self.hold.release();
                    return (writer.end("tool_calls", self.usage), None);
                }
                Some(Delta::Ended(outcome)) => {
                    self.hold.end();
                    let end = match of_outcome(&outcome) {
                        Some(error) => writer.failed(error),
                        None => writer.end(finish_reason(&outcome), self.usage),
                    };
                    return (end, None);
                }
                None => {
                    self.hold.release();
                    return (writer.failed(lost()), None);
                }
            };
            return (bytes, Some(calls));
        }
    }

    /// Waits for the whole answer. If the work waits for a person for too long, the answer says so, and the id of the question
    /// is returned too.
    async fn whole(mut self) -> Result<(Value, Option<String>), ApiError> {
        let mut answer = WholeAnswer::default();
        let mut questions = OpenQuestions::new(QUESTION_PATIENCE);
        loop {
            let next = tokio::select! {
                biased;
                next = self.progress.next() => next,
                question = questions.expired() => {
                    self.hold.release();
                    answer.text = self.shown.question(&question.tool);
                    answer.finish_reason = "stop";
                    answer.usage = self.usage;
                    return Ok((self.writer.whole(answer), Some(question.approval_id)));
                }
            };
            match next {
                Some(delta @ (Delta::Asked { .. } | Delta::Answered { .. })) => questions.follow(&delta),
                Some(Delta::Text(text)) => answer.text.push_str(&text),
                Some(Delta::Thought(text)) => answer.thoughts.push_str(&text),
                Some(Delta::Step(line)) => answer.step(&line, self.shown.steps),
                Some(Delta::Usage(usage)) => self.usage.add(usage),
                Some(Delta::Call(call)) => answer.calls.push(call),
                Some(Delta::HandedOff) => {
                    self.hold.release();
                    answer.finish_reason = "tool_calls";
                    break;
                }
                Some(Delta::Ended(outcome)) => {
                    self.hold.end();
                    if let Some(error) = of_outcome(&outcome) {
                        return Err(error);
                    }
                    answer.finish_reason = finish_reason(&outcome);
                    break;
                }
                None => {
                    self.hold.release();
                    return Err(lost());
                }
            }
        }
        answer.usage = self.usage;
        Ok((self.writer.whole(answer), None))
    }
}

/// The stream of events ended before the work did.
pub fn lost() -> ApiError {
    let message = "the work cannot be followed any more: the server stops, or the token does not count any more";
    ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "shutting_down", message)
}
