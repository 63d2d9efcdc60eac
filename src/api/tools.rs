//! The tools, as the NanoClaw document lists them.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::app::App;
use super::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use super::error::ApiError;
use super::names;
use super::security::caller::Caller;
use crate::api::body::JsonBody;
use crate::engine::tool_choices::ChoiceRefused;
use crate::tools::{ToolCategory, built_in};

#[derive(Serialize, utoipa::ToSchema)]
pub struct ToolList {
    tools: Vec<ListedTool>,
    total: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ListedTool {
    name: String,
    /// What the model reads about it.
    description: String,
    /// `null` for a tool that is not built in.
    category: Option<ToolCategory>,
    /// JSON Schema of its arguments.
    #[schema(value_type = Object)]
    schema: Value,
    /// Whether the model can use it: the choice of the person, or else `tools` in config.yml.
    enabled: bool,
    /// Whether the person has chosen; `null` takes the choice back.
    chosen: bool,
    /// Whether `tools` in config.yml switches it off for everybody.
    forbidden: bool,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ToolPatch {
    /// Null takes the choice back.
    #[serde(deserialize_with = "Option::deserialize")]
    enabled: Option<bool>,
}

/// Lists every tool with its category, its schema, and whether it is enabled. A tool of a project is listed too; one that the
/// home and a project have in different forms is listed in that of the home. Without a credential, a server for several people
/// answers only each tool's `name`.
#[utoipa::path(
    get,
    path = "/api/tools",
    tag = "tools",
    responses((status = 200, body = Enveloped<ToolList>), (status = "default", body = EnvelopedError))
)]
pub async fn tools(State(app): State<App>, caller: Option<Caller>) -> Result<Response, ApiError> {
    match caller {
        Some(caller) => Ok(enveloped(listed(&caller).await).into_response()),
        None => Ok(names::tools(&app).await?.into_response()),
    }
}

/// Switches a built-in tool, or one of an MCP server, on or off for the caller, from the next request to a model on, and lists all tools.
#[utoipa::path(patch, path = "/api/tools/{name}", tag = "tools", request_body = ToolPatch, params(("name" = String, Path)),
    responses((status = 200, body = Enveloped<ToolList>),
              (status = "default", description = "404 not_found; 409 tool_forbidden", body = EnvelopedError)))]
pub async fn choose(
    caller: Caller,
    Path(name): Path<String>,
    request: Result<JsonBody<ToolPatch>, JsonRejection>,
) -> Result<Json<Enveloped<ToolList>>, ApiError> {
    let JsonBody(ToolPatch { enabled }) = request?;
    caller.tenant().choose_tool(&name, enabled).await?;
    Ok(enveloped(listed(&caller).await))
}

impl From<ChoiceRefused> for ApiError {
    fn from(refused: ChoiceRefused) -> Self {
        match refused {
            ChoiceRefused::Unknown => Self::new(StatusCode::NOT_FOUND, "not_found", refused.to_string()),
            ChoiceRefused::Forbidden => Self::new(StatusCode::CONFLICT, "tool_forbidden", refused.to_string()),
            ChoiceRefused::Engine(error) => error.into(),
        }
    }
}

async fn listed(caller: &Caller) -> ToolList {
    let tenant = caller.tenant();
    let known = tenant.tool_sources.known().await;
    let (config, choices) = (tenant.runtime.config(), tenant.home.tool_choices());
    let listed = known.into_iter().map(|(spec, enabled)| ListedTool {
        chosen: choices.contains_key(&spec.name),
        forbidden: config.tools.is_forbidden(&spec.name),
        category: built_in(&spec.name).map(|tool| tool.category),
        name: spec.name,
        description: spec.description,
        schema: spec.parameters,
        enabled,
    });
    let tools: Vec<ListedTool> = listed.collect();
    ToolList { total: tools.len(), tools }
}
