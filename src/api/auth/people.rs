//! What admins see and change of the accounts of others. Never the contents of their homes.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Deserializer, Serialize};

use super::user::User;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::audit::AuditNote;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::domain::{AccountId, AccountRefused, AccountRole, WrittenLimits, read_object};
use crate::engine::people::AccountChange;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct PersonPatch {
    is_active: Option<bool>,
    role: Option<AccountRole>,
    /// The most that the person may use, in place of `limits` in config.yml. `{}` limits nothing; null lets the server's limits
    /// count again.
    #[serde(default, deserialize_with = "present_object")]
    #[schema(value_type = Option<WrittenLimits>)]
    limits: Option<Option<WrittenLimits>>,
}

/// Tells null from a field that is absent, and an object from a list.
fn present_object<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<WrittenLimits>>, D::Error> {
    read_object(from).map(Some)
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TemporaryPassword {
    /// Shown only in this response.
    password: String,
}

/// Lists all accounts, oldest first. Only for admins.
#[utoipa::path(get, path = "/api/admin/people", tag = "admin",
    responses((status = 200, body = Enveloped<Page<User>>), (status = "default", body = EnvelopedError)))]
pub async fn people(requester: Requester) -> Result<Json<Enveloped<Page<User>>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    Ok(enveloped(Page::whole(people.accounts().into_iter().map(User::from).collect())))
}

/// Disables or enables an account, or changes its role or limits. Only for admins. A disabled person's streams and runs end at once.
#[utoipa::path(patch, path = "/api/admin/people/{id}", tag = "admin", request_body = PersonPatch,
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<User>), (status = "default", description = "400 bad_limits; 409 last_admin", body = EnvelopedError)))]
pub async fn change_person(
    requester: Requester,
    note: AuditNote,
    Path(id): Path<String>,
    request: Result<JsonBody<PersonPatch>, JsonRejection>,
) -> Result<Json<Enveloped<User>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let JsonBody(PersonPatch { is_active, role, limits }) = request?;
    if let Some(Some(limits)) = &limits {
        limits.parse().map_err(|error| ApiError::bad_request("bad_limits", error.to_string()))?;
    }
    note.detail("is_active", is_active.map(Into::into));
    note.detail("role", role.and_then(|role| serde_json::to_value(role).ok()));
    note.detail("limits", limits.as_ref().and_then(|limits| serde_json::to_value(limits).ok()));
    let account = people.change_account(&account_id(&id)?, AccountChange { is_active, role, limits }).await?;
    Ok(enveloped(account.into()))
}

/// Gives a person a temporary password. Only for admins. Ends all of the person's sign-ins and deletes their access tokens.
#[utoipa::path(post, path = "/api/admin/people/{id}/password", tag = "admin", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<TemporaryPassword>), (status = "default", body = EnvelopedError)))]
pub async fn reset_password(
    requester: Requester,
    Path(id): Path<String>,
) -> Result<Json<Enveloped<TemporaryPassword>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let password = people.reset_password(&account_id(&id)?).await?;
    Ok(enveloped(TemporaryPassword { password }))
}

fn account_id(text: &str) -> Result<AccountId, ApiError> {
    AccountId::parse(text).ok_or_else(|| AccountRefused::Unknown.into())
}
