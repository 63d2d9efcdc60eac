//! Whether the server takes requests, for load balancers.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};

pub const READY_PATH: &str = "/ready";

#[derive(Serialize, utoipa::ToSchema)]
pub struct Ready {
    status: ReadyState,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ReadyWord)]
pub enum ReadyState {
    Ready,
}

/// Readiness: whether new requests should be sent to this server. Needs no token, and says nothing but why not. The codes are
/// `starting`, `shutting_down`, and if the home is in a database, `database_…` and `fenced`.
#[utoipa::path(get, path = "/ready", tag = "status",
    responses((status = 200, body = Ready), (status = 503, body = ErrorBody)))]
pub async fn ready(State(app): State<App>) -> Result<Json<Ready>, ApiError> {
    if app.draining.is_cancelled() {
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the server is stopping"));
    }
    match app.tenants.database_problem().await {
        Some(code) => {
            let message = "the database behind the home cannot be used; see the log of the server";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message))
        }
        None => Ok(Json(Ready { status: ReadyState::Ready })),
    }
}

/// Returns the answer of a server that is not ready yet.
pub fn starting() -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "starting", "the server is starting")
}
