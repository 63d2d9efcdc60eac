//! The limits that a person sets for themselves. They only ask.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use super::tokens::TokenLimit;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{WrittenLimits, read_object};
use crate::engine::usage_report::SetLimitsError;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct OwnLimitsRequest {
    /// Null takes them away.
    #[serde(deserialize_with = "read_object")]
    limits: Option<WrittenLimits>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct LimitList {
    /// All limits that count for the person now.
    limits: Vec<TokenLimit>,
}

/// Sets the caller's own limits. A request to a model that would exceed one is not sent: the work ends with `own_usage_limit`, and
/// goes on with `POST /api/sessions/{id}/continue?beyond_own_limit=true`.
#[utoipa::path(put, path = "/api/stats/limits", tag = "stats", request_body = OwnLimitsRequest,
    responses((status = 200, body = Enveloped<LimitList>),
              (status = 400, description = "bad_limits", body = EnvelopedError)))]
pub async fn set_own_limits(
    caller: Caller,
    request: Result<JsonBody<OwnLimitsRequest>, JsonRejection>,
) -> Result<Json<Enveloped<LimitList>>, ApiError> {
    let JsonBody(OwnLimitsRequest { limits }) = request?;
    caller.tenant().set_own_limits(limits.unwrap_or_default()).await.map_err(|error| match error {
        SetLimitsError::Bad(bad) => ApiError::bad_request("bad_limits", bad.to_string()),
        SetLimitsError::Engine(error) => error.into(),
    })?;
    let limits = caller.tenant().usage_limits().await?;
    Ok(enveloped(LimitList { limits: limits.into_iter().map(TokenLimit::from).collect() }))
}
