//! What waits for a person, their answers, and what they allowed for good.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};
use crate::domain::{Approval, Decision, Remembered, Scope};
use crate::engine::approvals::Wish;
use crate::engine::blocking;

/// Proves that the answer comes from the page: only that was given it.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-secret");
/// The longest reason for a denial, in characters.
const MAX_REASON: usize = 2_000;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ApprovalList {
    /// Of all sessions, oldest first.
    approvals: Vec<Approval>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Approve,
    Deny,
    /// Approve, and do not ask about exactly this call again.
    Always,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    decision: Verdict,
    /// As it was shown.
    hash: String,
    /// With `approve`: the person's own arguments in place of the model's.
    arguments: Option<Value>,
    /// With `deny`: the model reads it.
    reason: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AnswerGiven {
    decision: Decision,
    scope: Scope,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct AlwaysRule {
    id: String,
    tool: String,
    arguments: Value,
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

/// The calls that wait for a person, of all sessions.
#[utoipa::path(get, path = "/api/approvals", tag = "approvals", responses((status = 200, body = ApprovalList)))]
pub async fn list(State(app): State<App>) -> Json<ApprovalList> {
    Json(ApprovalList { approvals: app.engine.services().approvals.list() })
}

/// Answers. It counts once, for what was shown, and only with the secret that the page was given.
#[utoipa::path(post, path = "/api/approvals/{id}", tag = "approvals", request_body = AnswerRequest,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = AnswerGiven), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody),
              (status = 409, description = "already_answered, expired, hash_differs or never_always", body = ErrorBody)))]
pub async fn answer(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Result<Json<AnswerRequest>, JsonRejection>,
) -> Result<Json<AnswerGiven>, ApiError> {
    is_the_page(&app, &headers)?;
    let Json(request) = request.map_err(|rejection| ApiError::bad_request("bad_json", rejection.body_text()))?;
    let AnswerRequest { decision, hash, arguments, reason } = request;
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > MAX_REASON) {
        return Err(ApiError::bad_request("too_long", format!("a reason has at most {MAX_REASON} characters")));
    }
    let wish = match decision {
        Verdict::Approve => Wish::Approve(arguments),
        Verdict::Deny | Verdict::Always if arguments.is_some() => {
            return Err(ApiError::bad_request("bad_arguments", "changed arguments go with \"approve\" only"));
        }
        Verdict::Deny => Wish::Deny(reason),
        Verdict::Always => Wish::Always,
    };
    let given = app.engine.answer(&id, &hash, wish).await?;
    Ok(Json(AnswerGiven { decision: given.decision, scope: given.scope }))
}

/// The calls that are not asked about any more.
#[utoipa::path(get, path = "/api/approvals/always", tag = "approvals", responses((status = 200, body = AlwaysRules)))]
pub async fn rules(State(app): State<App>) -> Result<Json<AlwaysRules>, ApiError> {
    let home = app.engine.services().home.clone();
    let rules = blocking(move || Ok(home.remembered())).await?;
    let rules = rules.into_iter().map(|rule| {
        let Remembered { id, tool, arguments, added_at, .. } = rule;
        AlwaysRule { id, tool, arguments, added_at }
    });
    Ok(Json(AlwaysRules { rules: rules.collect() }))
}

/// Asks about it again from now on.
#[utoipa::path(delete, path = "/api/approvals/always/{id}", tag = "approvals",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Removed), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_rule(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Removed>, ApiError> {
    is_the_page(&app, &headers)?;
    let home = app.engine.services().home.clone();
    if blocking(move || home.forget_remembered(&id)).await? {
        return Ok(Json(Removed { removed: true }));
    }
    Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is no such rule"))
}

pub(in crate::api) fn is_the_page(app: &App, headers: &HeaderMap) -> Result<(), ApiError> {
    let mut given = headers.get_all(SECRET_HEADER).iter();
    match (given.next(), given.next()) {
        (Some(secret), None) if secret.to_str().is_ok_and(|secret| app.secret.is(secret)) => Ok(()),
        _ => {
            let message = "only the page of this server may answer; load it again if the server was started anew";
            Err(ApiError::new(StatusCode::FORBIDDEN, "no_secret", message))
        }
    }
}
