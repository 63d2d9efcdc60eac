//! The choice of the model that a session uses, whether it thinks, and what may run.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Chosen, SessionId};
use crate::engine::{ChoiceSender, EngineError};

#[derive(Serialize, utoipa::ToSchema)]
pub struct ModelChoice {
    session_id: String,
    chosen: Chosen,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ChoiceRequest {
    #[serde(flatten)]
    chosen: Chosen,
    /// Whether the person has confirmed that commands run without the approval that the server's rules require.
    #[serde(default)]
    confirm_loosening: bool,
}

/// Chooses the model that answers this session from its next message on, whether it thinks, and what may run.
///
/// An absent field resets that choice to the default of the server or of the model; `not_for_recall` stays as it is. Changing `permission_mode` requires the
/// page's secret.
#[utoipa::path(put, path = "/api/sessions/{id}/model", tag = "sessions", request_body = ChoiceRequest,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = Option<String>, Header)),
    responses((status = 200, body = ModelChoice),
              (status = 400, description = "no_thinking_switch: this model cannot be told to think or not; unknown_model: it is none \
                of those in GET /api/models", body = ErrorBody),
              (status = 403, description = "no_secret: only the page changes `permission_mode`", body = ErrorBody),
              (status = 404, body = ErrorBody),
              (status = 409, description = "confirm_loosening", body = ErrorBody)))]
pub async fn choose(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<ChoiceRequest>, JsonRejection>,
) -> Result<Json<ModelChoice>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(ChoiceRequest { chosen, confirm_loosening }) = request?;
    let sender = match (caller.is_page(), confirm_loosening) {
        (false, _) => ChoiceSender::Anyone,
        (true, false) => ChoiceSender::Page,
        (true, true) => ChoiceSender::Confirmed,
    };
    let models = &caller.tenant().models;
    let chosen = models.resolve(chosen).map_err(EngineError::from)?;
    if chosen.thinking.is_some() && !models.can_switch_thinking(&chosen) {
        let model = models.status_of(&chosen).label;
        let message = format!("{model} has no thinking switch; omit `thinking`");
        return Err(ApiError::bad_request("no_thinking_switch", message));
    }
    caller.engine.choose(&id, chosen.clone(), sender).await?;
    Ok(Json(ModelChoice { session_id: id.to_string(), chosen }))
}
