//! The loop: asks the model and runs the calls that it requests, until there are none, a limit is reached, or a person
//! stops it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::budget::Budget;
use super::calls::{CallRunner, ProposedCall, RepeatCounter, Stop, StopSignal};
use super::deadline::Deadline;
use super::estimate::{SentText, cut_off};
use super::fallback::{ExchangeContext, Fallback, ModelAttempt};
use super::idle_time::BusyWork;
use super::limits::LimitCheck;
use super::recorder::{NotRecorded, Recorder};
use super::retrieving::Retrieved;
use super::sent::{AuthorLookup, RequestKeeper, RequestToKeep};
use super::turn::{Exchange, ExchangeError, exchange};
use crate::domain::{CallStatus, ErrorParams, Event, Outcome, Session, SessionId, StatusKind, Taint};
use crate::library::Library;
use crate::library::recall::Conversations;
use crate::prompt::pictures;
use crate::prompt::request::{ModelAbilities, NextRequest, RequestLimits, RequestSources, Retrieval};
use crate::provider::{Client, Finish, ModelRequest, ProviderError};
use crate::store::{Home, RequestPosition};
use crate::tokens::Counter;
use crate::tools::{Policy, ToolSet};

/// Limits that end a run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Maximum exchanges with the model.
    pub max_iterations: u32,
    /// Maximum output tokens over all exchanges, as counted by the provider.
    pub max_output_tokens: u64,
    pub deadline: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { max_iterations: 30, max_output_tokens: 200_000, deadline: Duration::from_secs(30 * 60) }
    }
}

/// What the calls of a run need.
pub struct Tasks {
    pub session_id: SessionId,
    pub home: Home,
    pub tools: ToolChoice,
    pub policy: Arc<Policy>,
    pub limits: RunLimits,
    pub stop_signal: StopSignal,
    pub untrusted: UntrustedSkills,
    pub busy: Arc<BusyWork>,
}

/// Returns the tools for the next exchange of a session, from its home and possibly from other sources such as a
/// project or client.
pub type ToolChoice = Arc<dyn for<'a> Fn(&'a Session) -> BoxFuture<'a, ToolSet> + Send + Sync>;

/// Updates the list of skills in the prompt, and returns a skill whose description it contains although nobody has
/// trusted its current version.
pub type UntrustedSkills = Arc<dyn Fn() -> Option<Taint> + Send + Sync>;

/// Everything one run uses.
pub struct Run {
    pub tasks: Tasks,
    pub client: Arc<Client>,
    pub fallback: Fallback,
    pub memory: Arc<Library>,
    pub conversations: Conversations,
    pub tokens: Arc<Counter>,
    pub writers: AuthorLookup,
    pub budget: Arc<Budget>,
    pub limit_check: LimitCheck,
}

/// How a run ended.
#[derive(Debug, PartialEq)]
pub enum RunEnd {
    Outcome(Outcome),
    /// The server stops while a person is asked, or another one goes on: the work has not ended, and continues there or at the
    /// next start.
    Suspended,
}

/// Offset of the attempt with less context: it follows the first attempt and its repetition without a refused field.
const SECOND: u32 = 2;

pub(super) enum TurnEnd {
    Outcome(Outcome),
    /// A person or the server stopped the run.
    Stopped,
    Suspended,
    Record(NotRecorded),
}

impl From<NotRecorded> for TurnEnd {
    fn from(error: NotRecorded) -> Self {
        TurnEnd::Record(error)
    }
}

/// Runs the exchanges `numbers` of one work to its outcome. Records everything except the terminal event.
///
/// # Errors
/// Returns an error if facts cannot be stored; nothing further is then done.
pub async fn run(run: &Run, recorder: &mut Recorder, numbers: Range<u32>) -> Result<RunEnd, NotRecorded> {
    let deadline = run.tasks.deadline();
    let ended = tokio::select! {
        ended = run.dialogues(recorder, &deadline, numbers) => ended,
        () = deadline.over() => Err(too_long(run.tasks.limits)),
    };
    end(recorder, ended, &run.tasks.stop_signal).await
}

/// Finishes the calls of an exchange that began before this start of the server. `None` if the run can continue with
/// the next exchange.
///
/// # Errors
/// Same as [`run`].
pub async fn finish_calls(tasks: &Tasks, recorder: &mut Recorder) -> Result<Option<RunEnd>, NotRecorded> {
    let deadline = tasks.deadline();
    let left = ProposedCall::left(recorder.session(), recorder.work_id());
    let tools = (tasks.tools)(recorder.session()).await;
    let calls = CallRunner { listed: tasks.listed().await, ..tasks.calls(&deadline, tools) };
    let mut repeats = RepeatCounter::default();
    let ended = tokio::select! {
        ended = calls.run(left, recorder, &mut repeats) => ended.map_err(TurnEnd::from),
        () = deadline.over() => Err(too_long(tasks.limits)),
    };
    match ended {
        Ok(()) => Ok(None),
        ended => end(recorder, ended, &tasks.stop_signal).await.map(Some),
    }
}

pub(super) async fn end(
    recorder: &mut Recorder,
    ended: Result<(), TurnEnd>,
    stop_signal: &StopSignal,
) -> Result<RunEnd, NotRecorded> {
    let outcome = match ended {
        Ok(()) => Outcome::Done,
        Err(TurnEnd::Outcome(outcome)) => outcome,
        Err(TurnEnd::Stopped) => stop_signal.outcome(),
        Err(TurnEnd::Suspended) => return recorder.flush().await.map(|()| RunEnd::Suspended),
        Err(TurnEnd::Record(error)) => return Err(error),
    };
    recorder.flush().await?;
    // Calls that a timeout cut off still get a result.
    for event in recorder.session().closings(recorder.work_id()) {
        if matches!(&event, Event::ToolFinished { status: CallStatus::Interrupted, .. }) {
            recorder.fact(event).await?;
        }
    }
    Ok(RunEnd::Outcome(outcome))
}

pub(super) fn too_long(limits: RunLimits) -> TurnEnd {
    TurnEnd::Outcome(Outcome::Limit {
        detail: format!("it took longer than {} minutes", limits.deadline.as_secs() / 60),
    })
}

impl From<Stop> for TurnEnd {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => TurnEnd::Stopped,
            Stop::Limit(detail) => TurnEnd::Outcome(Outcome::Limit { detail }),
            Stop::Failed(error) => TurnEnd::Outcome(Outcome::Error {
                error,
                code: "tool_failed".to_owned(),
                retryable: true,
                params: ErrorParams::new(),
            }),
            Stop::Suspended => TurnEnd::Suspended,
            Stop::Record(error) => TurnEnd::Record(error),
        }
    }
}

impl Tasks {
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::new(self.limits.deadline, self.busy.clone())
    }

    pub(super) fn calls<'a>(&'a self, deadline: &'a Deadline, tools: ToolSet) -> CallRunner<'a> {
        CallRunner {
            tools,
            policy: &self.policy,
            home: &self.home,
            session_id: &self.session_id,
            stop_signal: &self.stop_signal,
            deadline,
            listed: None,
        }
    }

    pub(super) async fn listed(&self) -> Option<Taint> {
        let untrusted = self.untrusted.clone();
        let looked = tokio::task::spawn_blocking(move || untrusted()).await;
        looked.unwrap_or(Some(Taint::Outside))
    }
}

impl Run {
    async fn dialogues(
        &self,
        recorder: &mut Recorder,
        deadline: &Deadline,
        numbers: Range<u32>,
    ) -> Result<(), TurnEnd> {
        let retrieved = self.retrieve(recorder).await?;
        let mut repeats = RepeatCounter::default();
        let mut output_tokens = 0;
        let mut client = self.client.clone();
        let limits = self.tasks.limits;
        for dialogue in numbers {
            if self.tasks.stop_signal.is_draining() {
                return Err(TurnEnd::Suspended);
            }
            recorder.start_dialogue(dialogue).await?;
            let before = self.tasks.listed().await;
            let tools = (self.tasks.tools)(recorder.session()).await;
            let context = ExchangeContext { retrieved: retrieved.as_ref(), tools: &tools };
            let answer = self.answer(recorder, context, &mut client).await?;
            output_tokens += answer.usage.output_tokens;
            if !answer.reasoning.is_empty() {
                recorder.reason(client.endpoint().origin(), answer.reasoning).await?;
            }
            let finished = Event::DialogueFinished {
                work_id: recorder.work_id().clone(),
                dialogue,
                usage: answer.usage,
                context_window: client.endpoint().context_window,
                left_out: answer.left_out,
                request: answer.request,
            };
            recorder.mark(finished).await?;
            if answer.calls.is_empty() {
                return match answer.finish {
                    Finish::Stop | Finish::ToolCalls => Ok(()),
                    Finish::Length => Err(TurnEnd::Outcome(Outcome::Length)),
                    Finish::Refusal => Err(TurnEnd::Outcome(Outcome::Refusal)),
                };
            }
            // Checked before and after the exchange: the request may contain a skill that was listed in between, or one
            // that was removed since.
            let listed = before.or(self.tasks.listed().await);
            let wanted = ProposedCall::of(answer.calls, recorder.session(), &tools);
            let calls = CallRunner { listed, ..self.tasks.calls(deadline, tools) };
            calls.run(wanted, recorder, &mut repeats).await?;
            if output_tokens > limits.max_output_tokens {
                let detail = format!("it wrote more than {} tokens", limits.max_output_tokens);
                return Err(TurnEnd::Outcome(Outcome::Limit { detail }));
            }
        }
        let detail = format!("it took {} rounds with the model (max_iterations)", limits.max_iterations);
        Err(TurnEnd::Outcome(Outcome::Limit { detail }))
    }

    /// Returns an answer from this model; retries with less of the conversation if the model reports that it was too
    /// long.
    pub(super) async fn exchange(
        &self,
        recorder: &mut Recorder,
        attempt: ModelAttempt<'_>,
    ) -> Result<Exchange, ExchangeError> {
        let endpoint = attempt.client.endpoint();
        let tools = attempt.context.tools.specs();
        let limits = RequestLimits::new(ModelAbilities::of(endpoint), tools, &self.tokens);
        let next = self.next_request(recorder, attempt, &limits).await;
        if next.left_out > 0 {
            let message = format!("The {} oldest messages exceed the context window and are not sent", next.left_out);
            recorder.status(StatusKind::Waiting, message).await?;
        }
        let before = next.request.messages.len();
        let first = self.send(next, recorder, attempt).await;
        let overflow =
            matches!(first, Err(ExchangeError::Provider { error: ProviderError::ContextOverflow { .. }, .. }));
        if !overflow {
            return first;
        }
        // Our count was wrong for this model. Retry once with half the context, and only if that leaves something out.
        let next = self.next_request(recorder, attempt, &limits.halved()).await;
        if next.request.messages.len() == before {
            return first;
        }
        recorder
            .status(StatusKind::Retrying, "The conversation exceeds the context window. Retrying with fewer messages")
            .await?;
        self.send(next, recorder, ModelAttempt { number: attempt.number + SECOND, ..attempt }).await
    }

    /// Builds a request with what was retrieved, as far as conversations still say it.
    async fn next_request(
        &self,
        recorder: &Recorder,
        attempt: ModelAttempt<'_>,
        limits: &RequestLimits<'_>,
    ) -> NextRequest {
        let retrieved = self.recheck(recorder, attempt.context.retrieved).await;
        NextRequest::assemble(self.sources(recorder, Retrieved::contribution(retrieved.as_ref())), limits)
    }

    pub(super) fn sources<'a>(&'a self, recorder: &'a Recorder, retrieval: Retrieval<'a>) -> RequestSources<'a> {
        let session = recorder.session();
        let continues = session.messages.last().is_some_and(|last| last.is_text_of_answer());
        RequestSources { home: &self.tasks.home, session: Some(session), retrieval, attachments: 0, continues }
    }

    /// Loads the bytes of the request's pictures in a blocking task, because they are large.
    async fn with_pictures(&self, request: &Arc<ModelRequest>) -> Arc<ModelRequest> {
        if pictures::of(&request.messages).is_empty() {
            return request.clone();
        }
        let (kept, mut request) = (self.tasks.home.session_files(&self.tasks.session_id), ModelRequest::clone(request));
        let read = tokio::task::spawn_blocking(move || {
            pictures::load(&mut request.messages, &|hash| kept.picture(hash));
            request
        });
        Arc::new(read.await.expect("reading pictures does not panic"))
    }

    /// Sends one request and returns its answer; stores the request for later inspection.
    async fn send(
        &self,
        next: NextRequest,
        recorder: &mut Recorder,
        attempt: ModelAttempt<'_>,
    ) -> Result<Exchange, ExchangeError> {
        if let Some(part) = next.system.unreadable() {
            let file = part.file.clone().unwrap_or_else(|| part.label.to_owned());
            return Err(ExchangeError::Prompt { file, cause: part.absent.clone().unwrap_or_default() });
        }
        let reservation = self.reserve(recorder, attempt.client, &next).await?;
        let sent = SentText {
            request: Arc::new(next.request),
            system: Arc::new(next.system),
            retrieved: next.retrieved.into(),
        };
        let request = self.with_pictures(&sent.request).await;
        let keeper = RequestKeeper {
            home: self.tasks.home.clone(),
            session: self.tasks.session_id.clone(),
            client: attempt.client.clone(),
            writers: self.writers.clone(),
        };
        let keeping = keeper.keep(RequestToKeep {
            request: request.clone(),
            system: sent.system.clone(),
            retrieved: sent.retrieved.clone(),
            left_out: next.left_out,
            work_id: recorder.work_id().clone(),
            position: RequestPosition {
                seq: recorder.session().seq,
                dialogue: recorder.dialogues().saturating_sub(1),
                attempt: attempt.number,
            },
        });
        let ended = exchange(attempt.client, &request, recorder, &self.tasks.stop_signal.cancel).await;
        let usage = self.usage_of(&ended, attempt.client, &sent);
        reservation.into_iter().zip(usage).for_each(|(reservation, usage)| reservation.used(usage));
        let request = keeping.finish(usage).await;
        match ended.answer {
            Ok(answer) => Ok(Exchange { left_out: next.left_out, request, usage: usage.unwrap_or_default(), ..answer }),
            Err(error) => {
                if let Some(usage) = usage {
                    recorder.mark(cut_off(recorder, usage, attempt.client)).await?;
                }
                Err(error)
            }
        }
    }
}
