//! The audit log, for admins.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;

use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::domain::{AuditEntry, AuditFilter, AuditOutcome};

/// Number of entries in a page if the request does not say, and at most.
const LIMITS: (usize, usize) = (50, 100);

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only entries with this event.
    event: Option<String>,
    /// Only entries with this outcome.
    outcome: Option<AuditOutcome>,
    /// Only entries in which this account acted or was acted on, by its id.
    account: Option<String>,
    /// Number of entries: 1 to 100, 50 by default.
    limit: Option<usize>,
    /// The id of the last entry of the page before.
    cursor: Option<String>,
}

/// Lists the audit log, newest first: sign-ins, and changes of accounts and of the server, without contents. Only for admins.
#[utoipa::path(get, path = "/api/admin/audit", tag = "admin", params(AuditQuery),
    responses((status = 200, body = Enveloped<Page<AuditEntry>>),
              (status = "default", description = "400 bad_cursor, bad_limit", body = EnvelopedError)))]
pub async fn audit(
    requester: Requester,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<Enveloped<Page<AuditEntry>>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let Query(query) = query.map_err(|error| ApiError::bad_request("bad_query", error.body_text()))?;
    let limit = query.limit.unwrap_or(LIMITS.0);
    if !(1..=LIMITS.1).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {}", LIMITS.1)));
    }
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let filter = AuditFilter { event: filled(query.event), outcome: query.outcome, account: filled(query.account) };
    let page = people.audit(filter, (filled(query.cursor), limit)).await?;
    let missing = || ApiError::bad_request("bad_cursor", "nothing has the id in cursor; begin without it");
    let page = page.ok_or_else(missing)?;
    let last = page.entries.last().map(|entry| entry.id.clone());
    Ok(enveloped(Page::of(page.entries, last.as_deref(), page.has_more)))
}
