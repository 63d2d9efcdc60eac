//! Settings that a person switches in the page.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::store::{Settings, SettingsChange};

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct RagMode {
    enabled: bool,
    /// Whether passages of past conversations are retrieved, too. If absent in a request, this stays as it is. Only the page can
    /// switch it on.
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
    params(("X-Miniclaw-Secret" = Option<String>, Header)),
    responses((status = 200, body = RagMode), (status = 403, description = "no_secret: only the page", body = ErrorBody)))]
pub async fn set_rag_mode(
    caller: Caller,
    request: Result<JsonBody<RagMode>, JsonRejection>,
) -> Result<Json<RagMode>, ApiError> {
    let JsonBody(RagMode { enabled, conversations }) = request?;
    if conversations == Some(true) {
        // A program may only switch it off: it decides what of other conversations a model is sent.
        caller.require_page()?;
    }
    let change = SettingsChange { rag_mode: enabled, rag_conversations: conversations };
    let settings = caller.tenant().set_retrieval_settings(change).await?;
    Ok(RagMode::of(&settings))
}
