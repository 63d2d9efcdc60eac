//! The MCP servers of the caller's home.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::JsonBody;
use super::error::{ApiError, ErrorBody};
use super::security::caller::Caller;
use crate::api::openai::page_address::PageAddress;
use crate::domain::mcp::McpRules;
use crate::engine::mcp::{McpFiles, McpRefused};
use crate::store::TrustedBy;
use crate::tools::mcp::{ServerView, SignInAddress, SignInAnswer};

/// Where the browser comes back to from an authorization server: a path of the page.
pub const CALLBACK_PATH: &str = "/oauth/callback";
/// Where the document about this client of authorization servers is.
pub const CLIENT_PATH: &str = "/oauth/client.json";

#[derive(Serialize, utoipa::ToSchema)]
pub struct McpServerList {
    servers: Vec<ServerView>,
    /// Why `mcp.json` cannot be used; then there are no servers.
    problem: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RemoveMcpQuery {
    /// Keep its package and the files of its program (`storage/mcp-packages/{name}`, `storage/mcp/{name}`).
    #[serde(default)]
    keep_files: bool,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMcpPackage {
    /// `npm:NAME@VERSION`, with exactly one version.
    package: String,
    /// The name of the server; without it, the last part of that of the package.
    #[serde(default)]
    name: Option<String>,
    /// Arguments of its program; without them, those of the server with this name stay.
    #[serde(default)]
    args: Option<Vec<String>>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SignedIn {
    /// The MCP server that the person has signed in to.
    name: String,
}

/// A client of authorization servers, with the names of RFC 7591.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ClientMetadata {
    client_id: String,
    client_name: &'static str,
    redirect_uris: [String; 1],
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewMcpServers {
    /// Entries by the names of servers, in the form that other programs use.
    #[serde(rename = "mcpServers")]
    #[schema(value_type = Object)]
    servers: Map<String, Value>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenServer {
    /// SHA-256 of the entry that the person has looked at.
    sha256: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenTools {
    tools: Vec<SeenTool>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenTool {
    /// Its name at the server.
    name: String,
    /// SHA-256 of the definition that the person has looked at.
    sha256: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct McpCallRequest {
    tool: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Map<String, Value>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct McpCallResult {
    /// Whether the tool says that it succeeded.
    ok: bool,
    /// The result as the model would read it.
    text: String,
}

/// Lists the MCP servers with their tools, trusted or not.
///
/// Texts of tools are those of their servers. Without the page's secret, entries and the reasons of failures are left out.
#[utoipa::path(get, path = "/api/mcp", tag = "tools", responses((status = 200, body = McpServerList)))]
pub async fn mcp_servers(caller: Caller) -> Json<McpServerList> {
    listed(&caller).await
}

/// Adds MCP servers, or replaces their entries.
///
/// Requires the page's secret. A new or changed entry is not started before it is confirmed.
#[utoipa::path(post, path = "/api/mcp", tag = "tools", request_body = NewMcpServers,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 400, description = "bad_mcp_entry", body = ErrorBody),
              (status = 403, body = ErrorBody)))]
pub async fn add_mcp_servers(
    caller: Caller,
    request: Result<JsonBody<NewMcpServers>, JsonRejection>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let JsonBody(NewMcpServers { servers }) = request?;
    caller.tenant().set_mcp_servers(servers.into_iter().collect()).await?;
    Ok(listed(&caller).await)
}

/// Installs a package of npm as an MCP server. Requires the page's secret.
///
/// The package is fetched once, in the sandbox and without running its scripts. The entry of the server waits to be confirmed.
#[utoipa::path(post, path = "/api/mcp-packages", tag = "tools", request_body = NewMcpPackage,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 400, description = "bad_mcp_entry", body = ErrorBody),
              (status = 403, body = ErrorBody), (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn install_mcp_package(
    caller: Caller,
    request: Result<JsonBody<NewMcpPackage>, JsonRejection>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let JsonBody(NewMcpPackage { package, name, args }) = request?;
    caller.tenant().install_mcp_package(&package, (name, args)).await?;
    Ok(listed(&caller).await)
}

/// Sets when the tools of an MCP server are loaded, and the rules for their calls. Requires the page's secret.
///
/// An entry that was confirmed stays so.
#[utoipa::path(put, path = "/api/mcp/{name}/rules", tag = "tools", request_body = McpRules,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 400, description = "bad_mcp_entry", body = ErrorBody),
              (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "mcp_changed", body = ErrorBody)))]
pub async fn set_mcp_rules(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<McpRules>, JsonRejection>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let JsonBody(rules) = request?;
    caller.tenant().set_mcp_rules(&name, rules, TrustedBy::Person).await?;
    Ok(listed(&caller).await)
}

/// Removes an MCP server, with what was trusted of it and the files of its program. Requires the page's secret.
#[utoipa::path(delete, path = "/api/mcp/{name}", tag = "tools", params(("name" = String, Path), RemoveMcpQuery,
    ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_mcp_server(
    caller: Caller,
    Path(name): Path<String>,
    Query(RemoveMcpQuery { keep_files }): Query<RemoveMcpQuery>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let files = if keep_files { McpFiles::Keep } else { McpFiles::Remove };
    caller.tenant().remove_mcp_server(&name, files).await?;
    Ok(listed(&caller).await)
}

/// Begins a sign-in to a remote MCP server. Requires the page's secret.
///
/// The person opens the address that is returned. The authorization server leads the browser back to the page of this server,
/// which ends the sign-in with `POST /api/mcp-sign-in`, within 10 minutes.
#[utoipa::path(post, path = "/api/mcp/{name}/login", tag = "tools",
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = SignInAddress), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn begin_mcp_sign_in(
    caller: Caller,
    page: PageAddress,
    Path(name): Path<String>,
) -> Result<Json<SignInAddress>, ApiError> {
    caller.require_page()?;
    Ok(Json(caller.tenant().begin_mcp_sign_in(&name, &page.of_path(CALLBACK_PATH)).await?))
}

/// Signs out of a remote MCP server: its tokens are removed. Requires the page's secret.
#[utoipa::path(delete, path = "/api/mcp/{name}/login", tag = "tools",
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn end_mcp_sign_in(caller: Caller, Path(name): Path<String>) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    caller.tenant().end_mcp_sign_in(&name).await?;
    Ok(listed(&caller).await)
}

/// Ends a sign-in to an MCP server with what the browser has brought back. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp-sign-in", tag = "tools", request_body = SignInAnswer,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = SignedIn), (status = 403, body = ErrorBody),
              (status = 409, description = "no_mcp_sign_in", body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn finish_mcp_sign_in(
    caller: Caller,
    request: Result<JsonBody<SignInAnswer>, JsonRejection>,
) -> Result<Json<SignedIn>, ApiError> {
    caller.require_page()?;
    let JsonBody(answer) = request?;
    let name = caller.tenant().finish_mcp_sign_in(answer).await?;
    Ok(Json(SignedIn { name }))
}

/// Tells authorization servers who miniclaw is, for those that take the address of this document as the id of a client
/// (`oauth.client_id`).
#[utoipa::path(get, path = "/oauth/client.json", tag = "tools", responses((status = 200, body = ClientMetadata)))]
pub async fn oauth_client(page: PageAddress) -> Json<ClientMetadata> {
    Json(ClientMetadata {
        client_id: page.of_path(CLIENT_PATH),
        client_name: "miniclaw",
        redirect_uris: [page.of_path(CALLBACK_PATH)],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
    })
}

/// Confirms exactly this version of a server's entry, and starts it. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/trust", tag = "tools", request_body = SeenServer,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "mcp_changed", body = ErrorBody)))]
pub async fn trust_mcp_server(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<SeenServer>, JsonRejection>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let JsonBody(SeenServer { sha256 }) = request?;
    caller.tenant().trust_mcp_server(&name, &sha256, TrustedBy::Person).await?;
    Ok(listed(&caller).await)
}

/// Trusts exactly these versions of tools of a server, so that the model gets them. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/tools/trust", tag = "tools", request_body = SeenTools,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "mcp_changed", body = ErrorBody)))]
pub async fn trust_mcp_tools(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<SeenTools>, JsonRejection>,
) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    let JsonBody(SeenTools { tools }) = request?;
    let seen = tools.into_iter().map(|SeenTool { name, sha256 }| (name, sha256)).collect();
    caller.tenant().trust_mcp_tools(&name, seen, TrustedBy::Person).await?;
    Ok(listed(&caller).await)
}

/// Stops a confirmed server, starts it again and lists its tools. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/reconnect", tag = "tools",
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpServerList), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn reconnect_mcp_server(caller: Caller, Path(name): Path<String>) -> Result<Json<McpServerList>, ApiError> {
    caller.require_page()?;
    caller.tenant().reconnect_mcp_server(&name).await?;
    Ok(listed(&caller).await)
}

/// Calls a tool of a confirmed server for the person. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/call", tag = "tools", request_body = McpCallRequest,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpCallResult), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn call_mcp_tool(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<McpCallRequest>, JsonRejection>,
) -> Result<Json<McpCallResult>, ApiError> {
    caller.require_page()?;
    let JsonBody(McpCallRequest { tool, arguments }) = request?;
    let answer = caller.tenant().call_mcp_tool((&name, &tool), &Value::Object(arguments)).await?;
    Ok(Json(McpCallResult { ok: answer.ok, text: answer.text }))
}

async fn listed(caller: &Caller) -> Json<McpServerList> {
    let (servers, problem) = caller.tenant().mcp_servers().await;
    let is_page = caller.is_page();
    let shown = |view: ServerView| if is_page { view } else { view.without_secrets() };
    Json(McpServerList { servers: servers.into_iter().map(shown).collect(), problem })
}

impl From<McpRefused> for ApiError {
    fn from(refused: McpRefused) -> Self {
        match refused {
            McpRefused::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "not_found", refused.to_string()),
            McpRefused::BadEntry { .. } => Self::bad_request("bad_mcp_entry", refused.to_string()),
            McpRefused::NoSignIn => Self::new(StatusCode::CONFLICT, "no_mcp_sign_in", refused.to_string()),
            McpRefused::Changed => Self::new(StatusCode::CONFLICT, "mcp_changed", refused.to_string()),
            McpRefused::Failed(_) => Self::new(StatusCode::BAD_GATEWAY, "mcp_failed", refused.to_string()),
            McpRefused::Engine(error) => error.into(),
        }
    }
}
