//! One exchange with the model, recorded as it streams.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::limits::LimitReached;
use super::recorder::{NotRecorded, Recorder};
use super::run::TurnEnd;
use crate::domain::{
    AnsweredRequest, ErrorParams, Event, InputProgress, Outcome, ReasoningItem, StatusKind, Usage, WorkId,
};
use crate::provider::{AnswerStream, CallRequest, Client, Finish, ModelRequest, ProviderError, StreamChunk};

/// The result of an exchange.
pub struct Exchange {
    pub calls: Vec<CallRequest>,
    /// What the model thought, as its provider wants it back.
    pub reasoning: Vec<ReasoningItem>,
    pub finish: Finish,
    pub usage: Usage,
    /// Number of the session's messages that the request did not contain.
    pub left_out: usize,
    /// The request that made the answer, once it is known.
    pub request: Option<AnsweredRequest>,
}

/// Why an exchange gave no answer.
pub enum ExchangeError {
    Cancelled,
    /// `shown`: part of the answer had already arrived.
    Provider {
        error: ProviderError,
        shown: bool,
    },
    /// A part of the system prompt exists and cannot be read: nothing was sent.
    Prompt {
        file: String,
        cause: String,
    },
    /// A limit would be exceeded: nothing was sent.
    Limit(LimitReached),
    /// The usage so far cannot be read, so the limits cannot be checked: nothing was sent.
    UsageUnknown(String),
    /// More output than any answer needs; the model was likely looping.
    TooLong,
    Record(NotRecorded),
}

impl From<NotRecorded> for ExchangeError {
    fn from(error: NotRecorded) -> Self {
        ExchangeError::Record(error)
    }
}

/// Returns how a run ends whose exchange gave no answer.
pub(super) fn ending(reason: ExchangeError) -> TurnEnd {
    match reason {
        ExchangeError::Cancelled => TurnEnd::Stopped,
        ExchangeError::Provider { error, .. } => TurnEnd::Outcome(Outcome::Error {
            error: error.to_string(),
            code: error.code().to_owned(),
            retryable: error.retryable(),
            params: error.params(),
        }),
        ExchangeError::Prompt { file, cause } => TurnEnd::Outcome(Outcome::Error {
            error: format!(
                "{file} is part of every request and cannot be read: {cause}. Nothing was sent to the model. Make the file \
                 readable, or remove it, then try again."
            ),
            code: "prompt_unreadable".to_owned(),
            retryable: true,
            params: ErrorParams::from([("file".to_owned(), file), ("cause".to_owned(), cause)]),
        }),
        ExchangeError::Limit(reached) => TurnEnd::Outcome(Outcome::Error {
            error: reached.to_string(),
            code: reached.code().to_owned(),
            retryable: true,
            params: reached.params(),
        }),
        ExchangeError::UsageUnknown(cause) => TurnEnd::Outcome(Outcome::Error {
            error: format!(
                "The usage so far cannot be read, so its limits cannot be checked: {cause}. Nothing was sent."
            ),
            code: "usage_unknown".to_owned(),
            retryable: true,
            params: ErrorParams::from([("cause".to_owned(), cause)]),
        }),
        ExchangeError::TooLong => {
            TurnEnd::Outcome(Outcome::Limit { detail: "the model kept repeating itself or would not stop".to_owned() })
        }
        ExchangeError::Record(error) => TurnEnd::Record(error),
    }
}

/// Maximum bytes of one exchange's answer: text, thinking and arguments together.
const MAX_ANSWER_BYTES: usize = 2 << 20;
/// Progress on a tool's input is reported each time this many more bytes have arrived.
const INPUT_STEP: usize = 512;
/// This many identical chunks in a row are a loop, not an answer.
const MAX_SAME_CHUNK: u32 = 200;

/// An exchange that has ended, with or without an answer.
pub struct EndedExchange {
    pub answer: Result<Exchange, ExchangeError>,
    /// All that the model wrote until then: thinking, text, and the input of tools.
    pub received: String,
}

/// Sends `request` and records thinking and text as they stream. What is recorded stays, however the exchange ends.
pub async fn exchange(
    client: &Client,
    request: &ModelRequest,
    recorder: &mut Recorder,
    cancel: &CancellationToken,
) -> EndedExchange {
    let mut received = String::new();
    let answer = stream(client.turn(request), recorder, cancel, &mut received).await;
    let price = client.endpoint().price.as_ref();
    let answer = answer.map(|answer| Exchange { usage: answer.usage.priced(price), ..answer });
    EndedExchange { answer, received }
}

async fn stream(
    mut turn: AnswerStream,
    recorder: &mut Recorder,
    cancel: &CancellationToken,
    received: &mut String,
) -> Result<Exchange, ExchangeError> {
    let mut calls = BTreeMap::<u32, CallRequest>::new();
    let mut reasoning = Vec::new();
    let mut finish = Finish::Stop;
    let mut usage = Usage::default();
    let mut guard = LoopGuard::default();
    let mut statuses = StatusThrottle::default();
    let mut shown = false;
    loop {
        let chunk = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ExchangeError::Cancelled),
            chunk = turn.next() => chunk,
        };
        match chunk {
            None => break,
            Some(Err(error)) => return Err(ExchangeError::Provider { error, shown }),
            Some(Ok(StreamChunk::Status { status, message, progress, retry_in_ms })) => {
                if statuses.is_worth_telling(status) {
                    recorder.send_status(status, message, progress, retry_in_ms).await?;
                }
            }
            Some(Ok(StreamChunk::Thinking(text))) => {
                shown = true;
                received.push_str(&text);
                guard.check(&text)?;
                recorder.think(text).await?;
            }
            Some(Ok(StreamChunk::Reasoning(thought))) => {
                guard.bytes_more(thought.item.to_string().len())?;
                reasoning.push(thought);
            }
            Some(Ok(StreamChunk::Text(text))) => {
                shown = true;
                received.push_str(&text);
                guard.check(&text)?;
                recorder.say(text).await?;
            }
            Some(Ok(StreamChunk::ToolCallStart { index, id, name })) => {
                received.push_str(&name);
                calls.insert(index, CallRequest { id, name, arguments: String::new() });
            }
            Some(Ok(StreamChunk::ToolCallArguments { index, delta })) => {
                received.push_str(&delta);
                guard.count(&delta)?;
                if let Some(call) = calls.get_mut(&index) {
                    let before = call.arguments.len() / INPUT_STEP;
                    call.arguments.push_str(&delta);
                    if call.arguments.len() / INPUT_STEP > before && statuses.is_worth_telling(StatusKind::WritingInput)
                    {
                        recorder.preview(so_far(call, recorder.work_id())).await?;
                    }
                }
            }
            Some(Ok(StreamChunk::Usage(told))) => usage = told,
            Some(Ok(StreamChunk::Finish(told))) => finish = told,
        }
    }
    Ok(Exchange { calls: calls.into_values().collect(), reasoning, finish, usage, left_out: 0, request: None })
}

/// Maximum characters shown of a tool's name: a model may call a tool by a name of any length.
const NAME_SHOWN: usize = 64;

fn so_far(call: &CallRequest, work_id: &WorkId) -> Event {
    let tool: String = call.name.chars().take(NAME_SHOWN).collect();
    let bytes = call.arguments.len();
    Event::Status {
        work_id: work_id.clone(),
        status: StatusKind::WritingInput,
        message: format!("Writing the input of {tool}: {:.1} KB", bytes as f64 / 1024.0),
        progress: None,
        retry_in_ms: None,
        writing: Some(InputProgress { tool, bytes }),
    }
}

/// Limits status updates to a few per second, because progress comes in small steps.
#[derive(Default)]
struct StatusThrottle {
    last: Option<(StatusKind, Instant)>,
}

const STATUS_EVERY: Duration = Duration::from_millis(250);

impl StatusThrottle {
    fn is_worth_telling(&mut self, kind: StatusKind) -> bool {
        let told = self.last.is_some_and(|(last, at)| last == kind && at.elapsed() < STATUS_EVERY);
        if !told {
            self.last = Some((kind, Instant::now()));
        }
        !told
    }
}

#[derive(Default)]
struct LoopGuard {
    bytes: usize,
    last: String,
    same: u32,
}

impl LoopGuard {
    fn check(&mut self, text: &str) -> Result<(), ExchangeError> {
        if text == self.last && !text.trim().is_empty() {
            self.same += 1;
        } else {
            self.same = 0;
            text.clone_into(&mut self.last);
        }
        if self.same >= MAX_SAME_CHUNK { Err(ExchangeError::TooLong) } else { self.count(text) }
    }

    fn count(&mut self, text: &str) -> Result<(), ExchangeError> {
        self.bytes_more(text.len())
    }

    fn bytes_more(&mut self, bytes: usize) -> Result<(), ExchangeError> {
        self.bytes += bytes;
        if self.bytes > MAX_ANSWER_BYTES { Err(ExchangeError::TooLong) } else { Ok(()) }
    }
}
