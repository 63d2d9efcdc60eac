//! The caller's own profile.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::user::User;
use crate::api::app::App;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::engine::people::ProfileChange;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ProfilePatch {
    username: Option<String>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    email: Option<Option<String>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    avatar: Option<Option<String>>,
    /// Refused: a password is changed by `POST /api/auth/password`, which asks for the current one.
    #[schema(ignore)]
    password: Option<IgnoredAny>,
}

/// Tells null from a field that is absent.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Returns the caller's account. On a single-person server it is `default`, an admin.
#[utoipa::path(get, path = "/api/auth/profile", tag = "auth",
    responses((status = 200, body = Enveloped<User>), (status = "default", body = EnvelopedError)))]
pub async fn profile(State(app): State<App>, requester: Requester) -> Result<Json<Enveloped<User>>, ApiError> {
    let user = match (&app.people, requester.person.account()) {
        (Some(people), Some(account)) => people.account(account)?.into(),
        _ => User::of_single_server(app.started_at),
    };
    Ok(enveloped(user))
}

/// Changes the caller's account.
#[utoipa::path(patch, path = "/api/auth/profile", tag = "auth", request_body = ProfilePatch,
    responses((status = 200, body = Enveloped<User>),
              (status = "default", description = "400 bad_username, bad_email, bad_avatar, not_in_profile; 409 username_taken, email_taken",
                  body = EnvelopedError)))]
pub async fn change_profile(
    requester: Requester,
    request: Result<JsonBody<ProfilePatch>, JsonRejection>,
) -> Result<Json<Enveloped<User>>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    let JsonBody(ProfilePatch { username, email, avatar, password }) = request?;
    if password.is_some() {
        let message = "send the new password and the current one to POST /api/auth/password";
        return Err(ApiError::bad_request("not_in_profile", message));
    }
    let account = people.change_profile(account, ProfileChange { username, email, avatar }).await?;
    Ok(enveloped(account.into()))
}
