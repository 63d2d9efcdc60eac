//! Settings that a person switches in the page.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::prompt::system::MemoryMode;

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct RagMode {
    enabled: bool,
}

/// Returns whether RAG mode is on: memory is retrieved for each question instead of being part of the prompt.
#[utoipa::path(get, path = "/api/config/rag-mode", tag = "settings", responses((status = 200, body = RagMode)))]
pub async fn rag_mode(caller: Caller) -> Result<Json<RagMode>, ApiError> {
    let enabled = caller.tenant().memory_mode().await? == MemoryMode::Retrieved;
    Ok(Json(RagMode { enabled }))
}

/// Switches RAG mode. The setting is stored in config.json.
#[utoipa::path(put, path = "/api/config/rag-mode", tag = "settings", request_body = RagMode,
    responses((status = 200, body = RagMode)))]
pub async fn set_rag_mode(
    caller: Caller,
    request: Result<JsonBody<RagMode>, JsonRejection>,
) -> Result<Json<RagMode>, ApiError> {
    let JsonBody(RagMode { enabled }) = request?;
    let mode = if enabled { MemoryMode::Retrieved } else { MemoryMode::Whole };
    caller.tenant().set_memory_mode(mode).await?;
    Ok(Json(RagMode { enabled }))
}
