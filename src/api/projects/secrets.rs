//! The secrets of a project: set, listed by name, removed. No response has a value.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::git::existing;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::SecretName;
use crate::domain::secret::check_value;
use crate::store::StoredSecret;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectSecret {
    /// Also the name of the variable.
    name: String,
    /// When it was set. RFC 3339, UTC.
    updated_at: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct SecretValue {
    /// 8 bytes to 8 KiB. No response has it.
    #[schema(value_type = String)]
    value: SecretString,
}

/// Lists the names of a project's secrets, sorted.
#[utoipa::path(get, path = "/api/projects/{id}/secrets", tag = "projects", operation_id = "list_project_secrets",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Page<ProjectSecret>>), (status = 404, body = EnvelopedError)))]
pub async fn list(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Page<ProjectSecret>>>, ApiError> {
    let secrets = caller.engine.project_secrets(&existing(&caller, &id)?).await?;
    let secret = |StoredSecret { name, updated_at }| ProjectSecret {
        name: name.to_string(),
        updated_at: clock::rfc3339(updated_at),
    };
    Ok(enveloped(Page::whole(secrets.into_iter().map(secret).collect())))
}

/// Sets a secret of a project, or replaces its value.
///
/// A command gets it as a variable only if a person approved that command with the secret named. Its value is hidden in the
/// output of commands.
#[utoipa::path(put, path = "/api/projects/{id}/secrets/{name}", tag = "projects", operation_id = "set_project_secret",
    params(("id" = String, Path), ("name" = String, Path)), request_body = SecretValue,
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_secret_name, secret_name_reserved, secret_too_short, secret_too_long, \
               bad_secret_value", body = EnvelopedError),
              (status = 409, description = "too_many_secrets", body = EnvelopedError)))]
pub async fn set(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
    request: Result<JsonBody<SecretValue>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let (id, name) = (existing(&caller, &id)?, SecretName::parse(&name)?);
    // The error of the framework may quote the value.
    let JsonBody(SecretValue { value }) =
        request.map_err(|_| ApiError::bad_request("bad_json", "send {\"value\": text}"))?;
    check_value(value.expose_secret())?;
    caller.engine.set_project_secret(&id, name, value).await?;
    Ok(enveloped(None))
}

/// Removes a secret of a project.
#[utoipa::path(delete, path = "/api/projects/{id}/secrets/{name}", tag = "projects", operation_id = "remove_project_secret",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "not_found, no_secret_of_name", body = EnvelopedError)))]
pub async fn remove(
    caller: Caller,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    caller.engine.remove_project_secret(&id, SecretName::parse(&name)?).await?;
    Ok(enveloped(None))
}
