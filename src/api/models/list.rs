//! The models that can be chosen.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::names;
use crate::api::security::caller::Caller;
use crate::engine::model_status::{ModelCandidate, ModelStatus};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Models {
    /// The default model, for sessions that have chosen none.
    current: ModelStatus,
    /// Its id in `available`; null if there is no model.
    default_id: Option<String>,
    available: Vec<ModelCandidate>,
    /// Ids of the models that a person likes.
    favorites: Vec<String>,
}

/// Returns the default model and all models that can be chosen. Without a credential, a server for several people answers
/// only the `id`, `name` and `label` of each in `available`.
#[utoipa::path(get, path = "/api/models", tag = "status", responses((status = 200, body = Models)))]
pub async fn models(State(app): State<App>, caller: Option<Caller>) -> Result<Response, ApiError> {
    let Some(caller) = caller else { return Ok(names::models(&app).await?.into_response()) };
    let models = &caller.tenant().models;
    let models = Models {
        current: models.status(),
        default_id: models.default_id(),
        available: models.candidates(),
        favorites: caller.tenant().runtime.config().favorites.clone(),
    };
    Ok(Json(models).into_response())
}
