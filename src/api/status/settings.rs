//! Settings that a person switches in the page.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::store::Settings;

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct RagMode {
    enabled: bool,
    /// Whether passages of past conversations are retrieved, too. If absent in a request, this stays as it is.
    #[serde(default)]
    conversations: Option<bool>,
}

impl RagMode {
    fn of(settings: &Settings) -> Json<Self> {
        Json(Self { enabled: settings.rag_mode, conversations: Some(settings.rag_conversations) })
    }
}

/// Returns whether RAG mode is on: memory is retrieved for each question instead of being part of the prompt.
#[utoipa::path(get, path = "/api/config/rag-mode", tag = "settings", responses((status = 200, body = RagMode)))]
pub async fn rag_mode(caller: Caller) -> Result<Json<RagMode>, ApiError> {
    Ok(RagMode::of(&caller.tenant().retrieval_settings().await?))
}

/// Switches RAG mode. The setting is stored in config.json.
#[utoipa::path(put, path = "/api/config/rag-mode", tag = "settings", request_body = RagMode,
    responses((status = 200, body = RagMode)))]
pub async fn set_rag_mode(
    caller: Caller,
    request: Result<JsonBody<RagMode>, JsonRejection>,
) -> Result<Json<RagMode>, ApiError> {
    let JsonBody(RagMode { enabled, conversations }) = request?;
    let before = caller.tenant().retrieval_settings().await?;
    let rag_conversations = conversations.unwrap_or(before.rag_conversations);
    let settings = Settings { rag_mode: enabled, rag_conversations };
    caller.tenant().set_retrieval_settings(settings.clone()).await?;
    Ok(RagMode::of(&settings))
}
