//! `ask` and `remember`: the agent works, and its steps are told as progress. A call that needs approval is answered on the
//! person's page only.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, InputRequest, InputRequests,
    InputRequiredResult, JsonObject, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::answering::{AnswerState, WorkPlace, answer, failed, failed_with, waiting_text};
use super::request_state::{WaitingWork, binding};
use super::server::{McpServer, refused};
use super::tools;
use crate::api::chat::attachments::prompt;
use crate::api::error::ApiError;
use crate::api::openai::chat::lost;
use crate::api::openai::error::of_outcome;
use crate::api::openai::models::{AGENT, RequestedModel};
use crate::api::openai::open_questions::{OpenQuestion, OpenQuestions};
use crate::api::openai::progress::{Delta, Progress};
use crate::clock;
use crate::domain::{ClientRequest, SessionId, UserPrompt, WorkId};
use crate::engine::client_asks::ClientAsk;
use crate::engine::client_turns::{ClientTurnWork, WorkHold};

/// How long a request waits for a person before it says so. Many clients give up after a minute.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a request waits that a client repeats after it has shown the person the question.
const REPEATED_PATIENCE: Duration = Duration::from_secs(600);
const MAX_WAIT: u64 = 3_600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    message: String,
    session: Option<String>,
    model: Option<String>,
    #[serde(default)]
    detach: bool,
    wait: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    text: String,
    wait: Option<u64>,
}

impl AskArguments {
    /// # Errors
    /// Returns what is wrong with the arguments, for the model that wrote them.
    fn of(tool: &str, arguments: Option<JsonObject>) -> Result<Self, String> {
        if tool != tools::REMEMBER {
            return arguments_of(arguments);
        }
        let RememberArguments { text, wait } = arguments_of(arguments)?;
        if text.trim().is_empty() {
            return Err("text is empty".to_owned());
        }
        let message = format!(
            "Add this to memory/MEMORY.md, where it fits, unless it is there already. Change nothing else, and answer with one \
             sentence.\n\n{text}"
        );
        Ok(Self { message, session: None, model: None, detach: false, wait })
    }
}

/// Reads the arguments of a call.
///
/// # Errors
/// Returns what is wrong with them.
pub fn arguments_of<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default())).map_err(|error| format!("arguments: {error}"))
}

/// Begins a work, or goes on waiting for one, and follows it to its end or to a question.
///
/// # Errors
/// Returns an error if the token can only read, or if the request's state is not ours.
pub async fn call(
    server: &McpServer,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let caller = &server.caller;
    caller.require_change().map_err(|error| refused(&error))?;
    let text = serde_json::to_string(&request.arguments).unwrap_or_default();
    let binding = binding(caller, &request.name, &text);
    let arguments = match AskArguments::of(&request.name, request.arguments) {
        Ok(arguments) => arguments,
        Err(wrong) => return Ok(failed_with(wrong).into()),
    };
    let wait = arguments.wait.map(|seconds| Duration::from_secs(seconds.min(MAX_WAIT)));
    let detach = arguments.detach;
    let repeated = match request.request_state {
        None => None,
        Some(sealed) => {
            let message = "requestState is not that of this request, or it is too old; send the request without it";
            let waiting = server.states.open(&sealed, &binding);
            Some(waiting.ok_or_else(|| ErrorData::invalid_params(message, None))?)
        }
    };
    let begun = match &repeated {
        Some(waiting) => watch(server, waiting).await,
        None => begin(server, arguments, &binding).await,
    };
    let mut turn = match begun {
        Ok(turn) => turn,
        Err(error) => return Ok(failed(&error).into()),
    };
    // Only the request that began a work stops it.
    if detach || repeated.is_some() {
        turn.hold.release();
    }
    let default = if repeated.is_some() { REPEATED_PATIENCE } else { PATIENCE };
    let shown = repeated.map(|waiting| waiting.question);
    Follower::new(server, turn, context).follow(Waiting { patience: wait.unwrap_or(default), shown, binding }).await
}

async fn begin(server: &McpServer, arguments: AskArguments, binding: &[u8]) -> Result<ClientTurnWork, ApiError> {
    let caller = &server.caller;
    let session = match &arguments.session {
        None => SessionId::parse(&clock::new_id())?,
        Some(id) => {
            let id = SessionId::parse(id)?;
            caller.engine.view(&id).await?;
            id
        }
    };
    let model = match &arguments.model {
        None => None,
        Some(name) => {
            let name = if name.starts_with(AGENT) { name.clone() } else { format!("{AGENT}/{name}") };
            match RequestedModel::parse(&name, &caller.tenant().models)? {
                RequestedModel::Agent(model) => model,
                RequestedModel::Raw(_) => None,
            }
        }
    };
    let prompt = prompt(caller, &session, arguments.message, Vec::new()).await?;
    let client = ClientRequest {
        // Not that of the OpenAI API, which looks for conversations by their content.
        key: format!("mcp {}", caller.client_key()),
        repeat_key: Some(base16ct::lower::encode_string(&Sha256::digest(binding))),
        model,
        ..ClientRequest::default()
    };
    let prompt = UserPrompt { client: Some(client.into()), ..prompt };
    Ok(caller.engine.client_ask(ClientAsk { session, prompt }, caller.until_over()).await?)
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
    /// The question that the client has shown already.
    shown: Option<String>,
    binding: Vec<u8>,
}

/// A request that follows a work.
struct Follower<'s> {
    server: &'s McpServer,
    context: RequestContext<RoleServer>,
    progress: Progress,
    hold: WorkHold,
    place: WorkPlace,
    text: String,
    /// Number of steps that were told.
    steps: u32,
}

impl<'s> Follower<'s> {
    fn new(server: &'s McpServer, turn: ClientTurnWork, context: RequestContext<RoleServer>) -> Self {
        let ClientTurnWork { session_id, work, hold } = turn;
        let page = server.page.of_session(session_id.as_str());
        let place = WorkPlace { session: session_id.to_string(), work: work.work_id.to_string(), page };
        Self { server, context, progress: Progress::of(work, None), hold, place, text: String::new(), steps: 0 }
    }

    async fn follow(mut self, waiting: Waiting) -> Result<CallToolResponse, ErrorData> {
        let mut questions = OpenQuestions::new(waiting.patience);
        loop {
            let next = tokio::select! {
                biased;
                () = self.context.ct.cancelled() => {
                    // The hold stops the work.
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                next = self.progress.next() => next,
                OpenQuestion { tool, .. } = questions.expired() => {
                    self.hold.release();
                    return Ok(answer(self.text, AnswerState::Waiting { tool }, &self.place).into());
                }
            };
            if let Some(delta) = &next {
                questions.follow(delta);
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
                    return Ok(match of_outcome(&outcome) {
                        Some(error) => failed(&error).into(),
                        None => answer(self.text, AnswerState::of(&outcome), &self.place).into(),
                    });
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
        let is_new = self.context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let elicitation = self.context.client_capabilities().and_then(|known| known.elicitation);
        is_new && elicitation.is_some_and(|known| known.url.is_some())
    }

    /// Returns the request to send the person to the question.
    fn question(&self, approval: String, tool: &str, binding: &[u8]) -> InputRequiredResult {
        let WorkPlace { session, work, page } = &self.place;
        let message = format!("The agent wants to call {tool} and waits for your approval. Answer it on its page.");
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
