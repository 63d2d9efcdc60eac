//! Resources and prompts of MCP servers, which a person puts into a message. Only the page gets them.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::JsonBody;
use super::error::{ApiError, ErrorBody};
use super::security::caller::Caller;
use crate::tools::mcp::{PromptView, ResourceView};

#[derive(Serialize, utoipa::ToSchema)]
pub struct McpResources {
    resources: Vec<ResourceView>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct McpPrompts {
    prompts: Vec<PromptView>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct McpResourceRequest {
    uri: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct McpPromptRequest {
    name: String,
    /// SHA-256 of the definition that the person has seen.
    sha256: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Map<String, Value>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct McpText {
    /// Text from outside, with invisible characters written out.
    text: String,
}

/// Lists the resources of a confirmed server, and its templates. Requires the page's secret.
#[utoipa::path(get, path = "/api/mcp/{name}/resources", tag = "tools",
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpResources), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn mcp_resources(caller: Caller, Path(name): Path<String>) -> Result<Json<McpResources>, ApiError> {
    caller.require_page()?;
    Ok(Json(McpResources { resources: caller.tenant().mcp_resources(&name).await? }))
}

/// Reads a resource of a confirmed server as text, so that it can be attached to a message. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/resources/read", tag = "tools", request_body = McpResourceRequest,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpText), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn read_mcp_resource(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<McpResourceRequest>, JsonRejection>,
) -> Result<Json<McpText>, ApiError> {
    caller.require_page()?;
    let JsonBody(McpResourceRequest { uri }) = request?;
    Ok(Json(McpText { text: caller.tenant().read_mcp_resource(&name, &uri).await? }))
}

/// Lists the prompts of a confirmed server. Requires the page's secret.
#[utoipa::path(get, path = "/api/mcp/{name}/prompts", tag = "tools",
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpPrompts), (status = 403, body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn mcp_prompts(caller: Caller, Path(name): Path<String>) -> Result<Json<McpPrompts>, ApiError> {
    caller.require_page()?;
    Ok(Json(McpPrompts { prompts: caller.tenant().mcp_prompts(&name).await? }))
}

/// Returns the text of a prompt in the version that the person has seen. Requires the page's secret.
#[utoipa::path(post, path = "/api/mcp/{name}/prompts/get", tag = "tools", request_body = McpPromptRequest,
    params(("name" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = McpText), (status = 403, body = ErrorBody),
              (status = 409, description = "mcp_changed", body = ErrorBody),
              (status = 502, description = "mcp_failed", body = ErrorBody)))]
pub async fn mcp_prompt(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<McpPromptRequest>, JsonRejection>,
) -> Result<Json<McpText>, ApiError> {
    caller.require_page()?;
    let JsonBody(McpPromptRequest { name: prompt, sha256, arguments }) = request?;
    let text = caller.tenant().mcp_prompt(&name, (&prompt, &sha256), &arguments).await?;
    Ok(Json(McpText { text }))
}
