//! The choice of the model that a session uses, and whether it thinks.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Chosen, SessionId};
use crate::engine::EngineError;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ModelChoice {
    session_id: String,
    chosen: Chosen,
}

/// Chooses the model that answers this session from its next message on, and whether it thinks.
///
/// An absent field resets that choice to the default of the server or of the model.
#[utoipa::path(put, path = "/api/sessions/{id}/model", tag = "sessions", request_body = Chosen,
    params(("id" = String, Path)),
    responses((status = 200, body = ModelChoice),
              (status = 400, description = "no_thinking_switch: this model cannot be told to think or not", body = ErrorBody),
              (status = 404, body = ErrorBody),
              (status = 409, description = "unknown_model: it is none of those in GET /api/models", body = ErrorBody)))]
pub async fn choose(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<Json<Chosen>, JsonRejection>,
) -> Result<Json<ModelChoice>, ApiError> {
    let id = SessionId::parse(&id)?;
    let Json(chosen) = request?;
    let models = &caller.tenant().models;
    models.check(&chosen).map_err(EngineError::from)?;
    if chosen.thinking.is_some() && !models.can_switch_thinking(&chosen) {
        let model = models.status_of(&chosen).label;
        let message = format!("{model} has no thinking switch; omit `thinking`");
        return Err(ApiError::bad_request("no_thinking_switch", message));
    }
    caller.engine.choose(&id, chosen.clone()).await?;
    Ok(Json(ModelChoice { session_id: id.to_string(), chosen }))
}
