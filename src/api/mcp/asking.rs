//! `ask` and `remember`: the agent works on a message.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answering::{failed, failed_with};
use super::following::{Expected, FollowOptions, Request, answers_key};
use super::server::{McpServer, refused};
use super::tools;
use crate::api::chat::attachments::prompt;
use crate::api::error::ApiError;
use crate::api::openai::models::{AGENT, RequestedModel};
use crate::clock;
use crate::domain::{ClientRequest, SessionId, UserPrompt};
use crate::engine::client_asks::{AskedSession, ClientAsk};
use crate::engine::client_turns::ClientTurnWork;

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
    server.caller.require_change().map_err(|error| refused(&error))?;
    let request = Request::of(server, request)?;
    let arguments = match AskArguments::of(&request.tool, request.arguments.clone()) {
        Ok(arguments) => arguments,
        Err(wrong) => return Ok(failed_with(wrong).into()),
    };
    let wait = arguments.wait.map(|seconds| Duration::from_secs(seconds.min(MAX_WAIT)));
    let options = FollowOptions { wait, detach: arguments.detach, expected: Expected::Answer };
    let begun = match request.begun_before(server).await {
        Some(begun) => begun,
        None => begin(server, arguments, request.repeat_key()).await,
    };
    match begun {
        Ok(turn) => request.follow((server, context), turn, options).await,
        Err(error) => Ok(failed(&error).into()),
    }
}

async fn begin(server: &McpServer, arguments: AskArguments, repeat_key: String) -> Result<ClientTurnWork, ApiError> {
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
    let client =
        ClientRequest { key: answers_key(caller), repeat_key: Some(repeat_key), model, ..ClientRequest::default() };
    let prompt = UserPrompt { client: Some(client.into()), ..prompt };
    let asked = ClientAsk { session: AskedSession::Named(session), prompt };
    Ok(caller.engine.client_ask(asked, caller.until_over()).await?)
}
