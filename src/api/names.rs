//! What a request without a credential is told on a server for several people: the names of its models and tools, so that
//! clients of the NanoClaw document can list them before anybody signs in.

use axum::Json;
use serde::Serialize;

use super::app::App;
use super::conversations::envelope::{Enveloped, enveloped};
use super::error::ApiError;
use super::security::caller::server_for_names;
use crate::engine::model_status::ModelCandidate;

#[derive(Serialize)]
pub struct ModelNames {
    available: Vec<ModelName>,
}

#[derive(Serialize)]
struct ModelName {
    id: String,
    name: String,
    label: String,
}

#[derive(Serialize)]
pub struct ToolNames {
    tools: Vec<ToolName>,
    total: usize,
}

#[derive(Serialize)]
struct ToolName {
    name: String,
}

pub async fn models(app: &App) -> Result<Json<ModelNames>, ApiError> {
    let candidates = server_for_names(app).await?.models.candidates().into_iter();
    let shown = |ModelCandidate { id, name, label, .. }| ModelName { id, name, label };
    Ok(Json(ModelNames { available: candidates.map(shown).collect() }))
}

pub async fn tools(app: &App) -> Result<Json<Enveloped<ToolNames>>, ApiError> {
    let known = server_for_names(app).await?.tool_sources.known().await.into_iter();
    let tools: Vec<ToolName> = known.map(|(spec, _)| ToolName { name: spec.name }).collect();
    Ok(enveloped(ToolNames { total: tools.len(), tools }))
}
