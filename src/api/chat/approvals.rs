//! Calls that wait for approval, answers to them, and the calls that are always allowed.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{AlwaysAllowedCall, Approval, Decision, Scope};
use crate::engine::approvals::{ApprovalResponse, RequestedRehearsal};

/// Maximum length of a reason for a denial, in characters.
const MAX_REASON: usize = 2_000;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ApprovalList {
    /// The pending approvals of all sessions, oldest first.
    approvals: Vec<Approval>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalVerdict {
    Approve,
    Deny,
    /// Approves the call, and every later call with the same arguments in the same place.
    Always,
    /// Approves the call, and every later page of the same host (`shown.host`).
    #[serde(rename = "always_host")]
    AlwaysHost,
    /// Leaves what a server asks for (`shown.elicitation`) without a choice; `deny` declines it.
    Dismiss,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    decision: ApprovalVerdict,
    /// The `hash` of the approval that the person saw.
    hash: String,
    /// Only with `approve`: the person's own arguments, which replace the model's.
    arguments: Option<Value>,
    /// Only with `approve` of a form (`shown.elicitation`): the values by the names of the fields.
    #[schema(value_type = Option<Object>)]
    content: Option<Map<String, Value>>,
    /// Only with `deny`: the reason, which the model reads. At most 2,000 characters.
    reason: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AnswerGiven {
    decision: Decision,
    scope: Scope,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Rehearsing {
    state: RequestedRehearsal,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Held {
    /// When it expires unless it is held or answered before. Unix seconds.
    expires_at: f64,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AlwaysRule {
    id: String,
    tool: String,
    arguments: Value,
    /// If present, every page of this host is allowed instead of one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    added_at: f64,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AlwaysRules {
    rules: Vec<AlwaysRule>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Removed {
    removed: bool,
}

/// Lists the calls of all sessions that wait for approval.
#[utoipa::path(get, path = "/api/approvals", tag = "approvals", responses((status = 200, body = ApprovalList)))]
pub async fn list(caller: Caller) -> Json<ApprovalList> {
    Json(ApprovalList { approvals: caller.tenant().approvals.list() })
}

/// Answers an approval.
///
/// The first answer counts, and only for exactly what was shown (`hash`). Requires the page's secret.
#[utoipa::path(post, path = "/api/approvals/{id}", tag = "approvals", request_body = AnswerRequest,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = AnswerGiven), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody),
              (status = 409, description = "already_answered, expired, hash_differs, never_always, no_host, form_needed, no_form or form_never_always", body = ErrorBody)))]
pub async fn answer(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<AnswerRequest>, JsonRejection>,
) -> Result<Json<AnswerGiven>, ApiError> {
    caller.require_page()?;
    let JsonBody(request) = request.map_err(|rejection| ApiError::bad_request("bad_json", rejection.body_text()))?;
    let AnswerRequest { decision, hash, arguments, content, reason } = request;
    let reason = checked_reason(reason)?;
    let wish = match (decision, content) {
        (ApprovalVerdict::Approve, Some(content)) if arguments.is_none() => ApprovalResponse::Fill(content),
        (ApprovalVerdict::Approve, None) => ApprovalResponse::Approve(arguments),
        (_, content) if arguments.is_some() || content.is_some() => {
            return Err(ApiError::bad_request("bad_arguments", "arguments or content go with \"approve\" only"));
        }
        (decision, _) => match decision {
            ApprovalVerdict::Approve => ApprovalResponse::Approve(None),
            ApprovalVerdict::Deny => ApprovalResponse::Deny(reason),
            ApprovalVerdict::Always => ApprovalResponse::Always,
            ApprovalVerdict::AlwaysHost => ApprovalResponse::AlwaysHost,
            ApprovalVerdict::Dismiss => ApprovalResponse::Dismiss,
        },
    };
    let given = caller.engine.answer(&id, &hash, wish).await?;
    Ok(Json(AnswerGiven { decision: given.decision, scope: given.scope }))
}

/// Returns the reason for a denial; `None` if it is empty.
///
/// # Errors
/// Returns `too_long` above [`MAX_REASON`] characters.
pub(in crate::api) fn checked_reason(reason: Option<String>) -> Result<Option<String>, ApiError> {
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > MAX_REASON) {
        return Err(ApiError::bad_request("too_long", format!("a reason has at most {MAX_REASON} characters")));
    }
    Ok(reason)
}

/// Keeps an approval open, because a person has the page in front of them.
///
/// Its time to answer starts again with every such request; it expires after the last one as it would without any.
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/approvals/{id}/hold", tag = "approvals",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Held), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "already_answered or expired", body = ErrorBody)))]
pub async fn hold(caller: Caller, Path(id): Path<String>) -> Result<Json<Held>, ApiError> {
    caller.require_page()?;
    Ok(Json(Held { expires_at: caller.engine.hold_approval(&id).await? }))
}

/// Rehearses the command of an approval: it runs with its changes of files kept apart and without network.
///
/// Then the same approval is asked again, with `shown.rehearsal` and another `hash`; approving it applies exactly that.
/// Rehearsing allows nothing. Repeating the request changes nothing. Requires the page's secret.
#[utoipa::path(post, path = "/api/approvals/{id}/rehearse", tag = "approvals",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 202, body = Rehearsing), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody),
              (status = 409, description = "unrehearsable, already_answered or expired", body = ErrorBody)))]
pub async fn rehearse(caller: Caller, Path(id): Path<String>) -> Result<(StatusCode, Json<Rehearsing>), ApiError> {
    caller.require_page()?;
    let state = caller.engine.rehearse(&id).await?;
    Ok((StatusCode::ACCEPTED, Json(Rehearsing { state })))
}

/// Lists the calls that are always allowed.
#[utoipa::path(get, path = "/api/approvals/always", tag = "approvals", responses((status = 200, body = AlwaysRules)))]
pub async fn rules(caller: Caller) -> Result<Json<AlwaysRules>, ApiError> {
    let rules = caller.tenant().always_allowed_calls().await?.into_iter().map(|rule| {
        let AlwaysAllowedCall { id, tool, arguments, host, added_at, .. } = rule;
        AlwaysRule { id, tool, arguments, host, added_at }
    });
    Ok(Json(AlwaysRules { rules: rules.collect() }))
}

/// Removes a call from those that are always allowed: a person is asked about it again.
///
/// Requires the page's secret.
#[utoipa::path(delete, path = "/api/approvals/always/{id}", tag = "approvals",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Removed), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_rule(caller: Caller, Path(id): Path<String>) -> Result<Json<Removed>, ApiError> {
    caller.require_page()?;
    if caller.tenant().forget_call(id).await? {
        return Ok(Json(Removed { removed: true }));
    }
    Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is no such rule"))
}
