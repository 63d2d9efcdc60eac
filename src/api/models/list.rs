//! The models that can be chosen.

use axum::Json;
use serde::Serialize;

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

/// Returns the default model and all models that can be chosen.
#[utoipa::path(get, path = "/api/models", tag = "status", responses((status = 200, body = Models)))]
pub async fn models(caller: Caller) -> Json<Models> {
    let models = &caller.tenant().models;
    Json(Models {
        current: models.status(),
        default_id: models.default_id(),
        available: models.candidates(),
        favorites: caller.tenant().runtime.config().favorites.clone(),
    })
}
