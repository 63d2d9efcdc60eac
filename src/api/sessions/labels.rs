//! The labels of a session.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct Labels {
    /// At most 20, each of 1 to 40 characters.
    labels: Vec<String>,
}

/// Gives a session these labels instead of those it has.
#[utoipa::path(put, path = "/api/sessions/{id}/labels", tag = "sessions", request_body = Labels,
    params(("id" = String, Path)),
    responses((status = 200, body = Labels), (status = 400, description = "bad_label", body = ErrorBody),
              (status = 404, body = ErrorBody)))]
pub async fn set(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<Labels>, JsonRejection>,
) -> Result<Json<Labels>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(Labels { labels }) = request?;
    Ok(Json(Labels { labels: caller.engine.label(&id, labels).await? }))
}
