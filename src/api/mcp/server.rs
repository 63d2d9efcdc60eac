//! What the server offers, and which of its parts answers a request.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::listening::{self, Listeners};
use super::request_state::RequestStates;
use super::{asking, calling, prompts, reading, resources, tasks, tools};
use crate::api::error::ApiError;
use crate::api::openai::page_address::PageAddress;
use crate::api::security::caller::Caller;
use crate::engine::EventId;

const INSTRUCTIONS: &str = "A person's own agent with its memory and knowledge. `ask` has it work and returns its answer; the \
                            others read, or do what their names say. Calls that need approval are answered by the person on the agent's page, at the \
                            address that is returned.";
/// How long lists of what the person has may be kept, in milliseconds. Files change at any time.
const FRESH: u64 = 5_000;
/// How long the list of the own tools may be kept, in milliseconds. It changes with the version only.
const TOOLS_FRESH: u64 = 3_600_000;

/// The server as one caller sees it.
#[derive(Clone)]
pub struct McpServer {
    pub caller: Arc<Caller>,
    pub page: PageAddress,
    pub states: RequestStates,
    pub listeners: Listeners,
    /// The last publication of the person's home when the request came.
    pub begun: EventId,
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_tasks()
            .build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("miniclaw", version).with_title("miniclaw"))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    /// Answers a client of an older revision, which would listen on a stream of its own that there is not.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut answer = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request);
        answer.capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        Ok(answer)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(listening::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        listening::listen(self, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let called = calling::offered(&self.caller).await;
        // Tools are switched at any time.
        let fresh = if self.caller.calls_tools() { FRESH } else { TOOLS_FRESH };
        let list = ListToolsResult::with_all_items([tools::all(), called].concat());
        Ok(list.with_ttl_ms(fresh).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            tools::ASK | tools::REMEMBER => asking::call(self, request, context).await,
            name if calling::is_offered(&self.caller, name).await => calling::call(self, request, context).await,
            _ => reading::call(&self.caller, request).await.map(CallToolResponse::from),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = resources::list(&self.caller, request.and_then(|request| request.cursor)).await?;
        Ok(list.with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = ListResourceTemplatesResult::with_all_items(resources::templates());
        Ok(list.with_ttl_ms(TOOLS_FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.caller, &request.uri).await?;
        Ok(read.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(prompts::list(&self.caller).await?);
        Ok(list.with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        tasks::get(self, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::update(self, &request.task_id).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(self, &request.task_id).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.caller, &request.name).await.map(GetPromptResponse::from)
    }
}

/// Returns the protocol's error for one of ours. Its code is in `data`.
pub fn refused(error: &ApiError) -> ErrorData {
    let data = Some(serde_json::json!({"code": error.code}));
    match error.status.is_server_error() {
        true => ErrorData::internal_error(error.message.clone(), data),
        false => ErrorData::invalid_params(error.message.clone(), data),
    }
}
