//! The tools, as the NanoClaw document lists them.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

use super::app::App;
use super::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use super::error::ApiError;
use super::names;
use super::security::caller::Caller;
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
    /// Whether the model can use it: `tools` in config.yml, which `PATCH /api/settings` changes.
    enabled: bool,
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
    let Some(caller) = caller else { return Ok(names::tools(&app).await?.into_response()) };
    let known = caller.tenant().tool_sources.known().await;
    let listed = known.into_iter().map(|(spec, enabled)| ListedTool {
        category: built_in(&spec.name).map(|tool| tool.category),
        name: spec.name,
        description: spec.description,
        schema: spec.parameters,
        enabled,
    });
    let tools: Vec<ListedTool> = listed.collect();
    Ok(enveloped(ToolList { total: tools.len(), tools }).into_response())
}
