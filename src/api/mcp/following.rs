//! A request that follows a work to its end or to a question. Steps are told as progress. A call that needs approval is answered
//! on the person's page only.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams, InputRequest,
    InputRequests, InputRequiredResult, JsonObject, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use sha2::{Digest, Sha256};

use super::answering::{AnswerState, WorkPlace, answer, failed, waiting_text};
use super::request_state::{WaitingWork, binding};
use super::server::{McpServer, refused};
use super::{calling, tasks};
use crate::api::error::ApiError;
use crate::api::openai::chat::lost;
use crate::api::openai::error::of_outcome;
use crate::api::openai::open_questions::{OpenQuestion, OpenQuestions};
use crate::api::openai::progress::{Delta, Progress};
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::{ClientRequest, Outcome, SessionId, WorkId};
use crate::engine::client_turns::{ClientTurnWork, WorkHold};

/// How long a request waits for a person before it says so. Many clients give up after a minute.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a request waits that a client repeats after it has shown the person the question.
const REPEATED_PATIENCE: Duration = Duration::from_secs(600);

/// How long a client that knows tasks waits for an answer before it gets a task instead.
const TASK_AFTER: Duration = Duration::from_secs(5);

/// Returns what names the works that a program begins with a message.
pub fn answers_key(caller: &Caller) -> String {
    // Not that of the OpenAI API, which looks for conversations by their content.
    format!("mcp {}", caller.client_key())
}

/// A call of a tool that has a work of the agent as its answer.
pub struct Request {
    pub tool: String,
    pub arguments: Option<JsonObject>,
    /// What its state is bound to.
    binding: Vec<u8>,
    /// What an earlier request left behind that this one repeats.
    repeated: Option<WaitingWork>,
}

impl Request {
    /// # Errors
    /// Returns an error if the request's state is not ours.
    pub fn of(server: &McpServer, request: CallToolRequestParams) -> Result<Self, ErrorData> {
        let text = serde_json::to_string(&request.arguments).unwrap_or_default();
        let binding = binding(&server.caller, &request.name, &text);
        let repeated = match request.request_state {
            None => None,
            Some(sealed) => {
                let message = "requestState is not that of this request, or it is too old; send the request without it";
                let waiting = server.states.open(&sealed, &binding);
                Some(waiting.ok_or_else(|| ErrorData::invalid_params(message, None))?)
            }
        };
        Ok(Self { tool: request.name.into_owned(), arguments: request.arguments, binding, repeated })
    }

    /// Returns what makes the same request known again.
    pub fn repeat_key(&self) -> String {
        base16ct::lower::encode_string(&Sha256::digest(&self.binding))
    }

    /// Returns the work that the repeated request began; `None` if this one has to begin it.
    pub async fn begun_before(&self, server: &McpServer) -> Option<Result<ClientTurnWork, ApiError>> {
        let waiting = self.repeated.as_ref()?;
        Some(watch(server, waiting).await)
    }

    /// Follows a work to its end or to a question.
    ///
    /// # Errors
    /// Returns an error if the request is cancelled.
    pub async fn follow(
        self,
        (server, context): (&McpServer, RequestContext<RoleServer>),
        mut turn: ClientTurnWork,
        options: FollowOptions,
    ) -> Result<CallToolResponse, ErrorData> {
        // Only the request that began a work stops it.
        if options.detach || self.repeated.is_some() {
            turn.hold.release();
        }
        let default = if self.repeated.is_some() { REPEATED_PATIENCE } else { PATIENCE };
        let waiting = Waiting {
            patience: options.wait.unwrap_or(default),
            repeat_key: self.repeat_key(),
            shown: self.repeated.map(|waiting| waiting.question),
            binding: self.binding,
        };
        let follower = Follower { expected: options.expected, ..Follower::new(server, turn, context) };
        follower.follow(waiting).await
    }
}

/// How a request follows its work.
pub struct FollowOptions {
    /// How long it waits for a person.
    pub wait: Option<Duration>,
    /// Whether the work goes on when the request is closed.
    pub detach: bool,
    pub expected: Expected,
}

/// What the result of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The answer of the agent.
    Answer,
    /// The result of the call that the work is.
    Call,
}

async fn watch(server: &McpServer, waiting: &WaitingWork) -> Result<ClientTurnWork, ApiError> {
    let caller = &server.caller;
    let id = SessionId::parse(&waiting.session)?;
    let work = WorkId::new(waiting.work.as_str());
    Ok(caller.engine.watch_client_work((id, work), caller.until_over()).await?)
}

/// How a request waits for a person.
struct Waiting {
    patience: Duration,
    repeat_key: String,
    /// The question that the client has shown already.
    shown: Option<String>,
    binding: Vec<u8>,
}

/// A request that follows a work.
struct Follower<'s> {
    server: &'s McpServer,
    context: RequestContext<RoleServer>,
    expected: Expected,
    progress: Progress,
    hold: WorkHold,
    place: WorkPlace,
    text: String,
    /// When the work began, in Unix seconds; `None` while it is in the queue.
    begun_at: Option<f64>,
    /// Number of steps that were told.
    steps: u32,
}

impl<'s> Follower<'s> {
    fn new(server: &'s McpServer, turn: ClientTurnWork, context: RequestContext<RoleServer>) -> Self {
        let ClientTurnWork { session_id, work, hold } = turn;
        let page = server.page.of_session(session_id.as_str());
        let place = WorkPlace { session: session_id.to_string(), work: work.work_id.to_string(), page };
        let begun = work.session.works.iter().find(|known| known.work_id == work.work_id);
        let begun_at = begun.map(|work| work.created_at);
        let (expected, progress) = (Expected::Answer, Progress::of(work, None));
        Self { server, context, expected, progress, hold, place, text: String::new(), begun_at, steps: 0 }
    }

    async fn follow(mut self, waiting: Waiting) -> Result<CallToolResponse, ErrorData> {
        let mut questions = OpenQuestions::new(waiting.patience);
        let task_after = tokio::time::sleep(TASK_AFTER.min(waiting.patience));
        let mut task_after = std::pin::pin!(task_after);
        let mut queue_patience = std::pin::pin!(tokio::time::sleep(waiting.patience));
        let takes_tasks = self.takes_tasks();
        loop {
            let next = tokio::select! {
                biased;
                () = self.context.ct.cancelled() => {
                    // The hold stops the work.
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                next = self.progress.next() => next,
                () = &mut task_after, if takes_tasks && self.begun_at.is_some() => return self.task().await,
                // The work before it may wait for a person, and a stop may have paused the queue.
                () = &mut queue_patience, if self.begun_at.is_none() => {
                    return Ok(self.told_to_wait(AnswerState::Queued, &waiting).into());
                }
                OpenQuestion { tool, .. } = questions.expired() => {
                    return Ok(self.told_to_wait(AnswerState::Waiting { tool }, &waiting).into());
                }
            };
            if let Some(delta) = &next {
                questions.follow(delta);
                self.begun_at.get_or_insert_with(clock::now);
            }
            match next {
                Some(Delta::Text(text)) => self.text.push_str(&text),
                Some(Delta::Step(line)) => self.tell(line).await,
                Some(Delta::Asked { approval_id, tool }) => {
                    if self.opens_pages() && waiting.shown.as_ref() != Some(&approval_id) {
                        self.hold.release();
                        return Ok(self.question(approval_id, &tool, &waiting.binding).into());
                    }
                    self.tell(waiting_text(&tool, &self.place.page)).await;
                }
                Some(Delta::Ended(outcome)) => {
                    self.hold.end();
                    self.caller().tenant().waited_for.remove(&self.repetition(&waiting.repeat_key));
                    return Ok(self.result(outcome).await.into());
                }
                // These requests bring no tools, so that no call is handed off.
                Some(
                    Delta::Answered { .. } | Delta::Thought(_) | Delta::Usage(_) | Delta::Call(_) | Delta::HandedOff,
                ) => {}
                None => {
                    self.hold.release();
                    return Ok(failed(&lost()).into());
                }
            }
        }
    }

    /// Lets the work go on without this request, and has the same request again get its answer.
    fn told_to_wait(mut self, state: AnswerState, waiting: &Waiting) -> CallToolResult {
        self.hold.release();
        self.expect_repetition(&waiting.repeat_key);
        answer(self.text, state, &self.place)
    }

    async fn result(self, outcome: Outcome) -> CallToolResult {
        if let Some(error) = of_outcome(&outcome) {
            return failed(&error);
        }
        match self.expected {
            Expected::Answer => answer(self.text, AnswerState::of(&outcome), &self.place),
            Expected::Call => {
                let result = calling::result(&self.server.caller, &self.place).await;
                result.unwrap_or_else(|error| failed(&error))
            }
        }
    }

    /// Returns whether the client can be given a task in place of an answer.
    fn takes_tasks(&self) -> bool {
        let is_declared = self.context.client_capabilities().is_some_and(|known| known.supports_tasks());
        self.expected == Expected::Answer && is_declared && self.is_of_new_revision()
    }

    /// Lets the work go on as a task.
    async fn task(mut self) -> Result<CallToolResponse, ErrorData> {
        let engine = &self.server.caller.engine;
        let id = SessionId::parse(&self.place.session).map_err(|error| refused(&error.into()))?;
        engine.note_client_works(&id).await.map_err(|error| refused(&error.into()))?;
        self.hold.release();
        let created_at = self.begun_at.unwrap_or_else(clock::now);
        Ok(CallToolResponse::Task(tasks::begun(&self.place, created_at)))
    }

    /// Has the same request again get this answer, also if the work has ended by then.
    fn expect_repetition(&self, repeat_key: &str) {
        let Ok(session) = SessionId::parse(&self.place.session) else { return };
        let work = (session, WorkId::new(self.place.work.as_str()));
        self.caller().tenant().waited_for.add(&self.repetition(repeat_key), work);
    }

    fn caller(&self) -> &Caller {
        &self.server.caller
    }

    /// Returns what makes the same request known again.
    fn repetition(&self, repeat_key: &str) -> ClientRequest {
        let caller = self.caller();
        let key = match self.expected {
            Expected::Answer => answers_key(caller),
            Expected::Call => calling::key(caller),
        };
        ClientRequest { key, repeat_key: Some(repeat_key.to_owned()), ..ClientRequest::default() }
    }

    /// Tells the client of a step, if it wants to be told.
    async fn tell(&mut self, line: String) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        self.steps += 1;
        let told = ProgressNotificationParam::new(token, f64::from(self.steps)).with_message(line);
        // A client that has gone away is noticed by the cancellation.
        let _ = self.context.peer.notify_progress(told).await;
    }

    /// Returns whether the client can send its person to a page, and repeat the request after that.
    fn opens_pages(&self) -> bool {
        let elicitation = self.context.client_capabilities().and_then(|known| known.elicitation);
        self.is_of_new_revision() && elicitation.is_some_and(|known| known.url.is_some())
    }

    fn is_of_new_revision(&self) -> bool {
        self.context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    /// Returns the request to send the person to the question.
    fn question(&self, approval: String, tool: &str, binding: &[u8]) -> InputRequiredResult {
        let WorkPlace { session, work, page } = &self.place;
        let who = match self.expected {
            Expected::Answer => "The agent",
            Expected::Call => "A program",
        };
        let message = format!("{who} wants to call {tool} and waits for your approval. Answer it on its page.");
        let url = ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message,
            url: page.clone(),
            elicitation_id: approval.clone(),
        };
        let waiting = WaitingWork { session: session.clone(), work: work.clone(), question: approval };
        let sealed = self.server.states.seal(&waiting, binding);
        let requests =
            InputRequests::from([("approval".to_owned(), InputRequest::Elicitation(ElicitRequest::new(url)))]);
        InputRequiredResult::new(Some(requests), Some(sealed))
    }
}
