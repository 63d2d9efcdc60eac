//! The agent's tools that a program calls itself: those that `mcp_server` in config.yml names, with a token that is for them. A
//! call is a work in a session that the person sees. What may run, and what the person is asked, is decided as in a run.

use std::sync::Arc;

use axum::http::StatusCode;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::answering::{WorkPlace, failed, failed_with};
use super::following::{Expected, FollowOptions, Request};
use super::server::McpServer;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{CallStatus, ClientRequest, DirectCall, Effect, SessionId, ToolSpec, UserPrompt, WorkId};
use crate::engine::client_asks::{AskedSession, ClientAsk};
use crate::engine::client_turns::ClientTurnWork;
use crate::engine::tool_sources::ExchangeScope;

/// Maximum size of the arguments of a call, in bytes of JSON. They are kept with the conversation.
const MAX_ARGUMENTS: usize = 1 << 20;

/// Returns the tools that the caller can call, none without a token for them.
pub async fn offered(caller: &Caller) -> Vec<Tool> {
    specs(caller).await.iter().map(tool).collect()
}

/// Returns whether the caller can call a tool.
pub async fn is_offered(caller: &Caller, name: &str) -> bool {
    specs(caller).await.iter().any(|spec| spec.name == name)
}

async fn specs(caller: &Caller) -> Vec<ToolSpec> {
    if !caller.calls_tools() {
        return Vec::new();
    }
    let config = caller.tenant().runtime.config();
    let tools = caller.tenant().tools(ExchangeScope::new_session()).await;
    tools.specs().iter().filter(|spec| config.mcp_server.offers(&spec.name)).cloned().collect()
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema = spec.parameters.as_object().cloned().unwrap_or_default();
    let reads = spec.effect.is_read_only();
    let annotations = ToolAnnotations::new().read_only(reads).open_world(spec.effect == Effect::Network);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema)).with_annotations(annotations)
}

/// Begins the work of a call, or goes on waiting for one, and follows it to its end or to a question.
///
/// # Errors
/// Returns an error if the request's state is not ours.
pub async fn call(
    server: &McpServer,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let request = Request::of(server, request)?;
    let begun = match request.begun_before(server).await {
        Some(begun) => begun,
        None => begin(&server.caller, &request).await,
    };
    let options = FollowOptions { wait: None, detach: false, expected: Expected::Call };
    match begun {
        Ok(turn) => request.follow((server, context), turn, options).await,
        Err(error) => Ok(failed(&error).into()),
    }
}

/// Returns what names the calls of a program.
pub fn key(caller: &Caller) -> String {
    format!("mcp tools {}", caller.client_key())
}

async fn begin(caller: &Caller, request: &Request) -> Result<ClientTurnWork, ApiError> {
    let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
    let size = arguments.to_string().len();
    if size > MAX_ARGUMENTS {
        let message = format!("the arguments have {size} bytes; the limit is {MAX_ARGUMENTS}");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let client = ClientRequest {
        key: key(caller),
        repeat_key: Some(request.repeat_key()),
        call: Some(DirectCall { tool: request.tool.clone(), arguments }),
        ..ClientRequest::default()
    };
    // The record of the call has its arguments. A program does not write what the person has said.
    let text = format!("A program called {} over MCP.", request.tool);
    let prompt = UserPrompt { text, client: Some(client.into()), ..UserPrompt::default() };
    let asked = ClientAsk { session: AskedSession::OfCalls, prompt };
    Ok(caller.engine.client_ask(asked, caller.until_over()).await?)
}

/// Returns the result of the call that a work was.
///
/// # Errors
/// Returns an error if the session is gone.
pub async fn result(caller: &Caller, place: &WorkPlace) -> Result<CallToolResult, ApiError> {
    let session = caller.engine.view(&SessionId::parse(&place.session)?).await?.session;
    let found = session.calls_of(&WorkId::new(place.work.as_str())).last().cloned();
    let Some(call) = found else { return Ok(failed_with("the call was not made; see the conversation on the page")) };
    let at = ContentBlock::text(format!("[session {}: {}]", place.session, place.page));
    let content = vec![ContentBlock::text(call.output), at];
    Ok(match call.status {
        Some(CallStatus::Done) => CallToolResult::success(content),
        _ => CallToolResult::error(content),
    })
}
