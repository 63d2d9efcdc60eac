//! Making an account, and signing in and out.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::AppendHeaders;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::proxy::ProxyMode;
use super::user::User;
use crate::api::app::App;
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::audit::AuditNote;
use crate::api::security::client::{Client, Peer};
use crate::api::security::guard::proxy_user;
use crate::api::security::login::{cookie_line, device_cookie, device_line, sign_out};
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::config::people::{AuthMode, Registration};
use crate::engine::people::{DEVICE_LIFE, Joining, LoginFrom, People, SIGN_IN_LIFE, SignedIn};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Mode {
    auth_mode: AuthMode,
    registration: Registration,
    /// Whether there is an account. The first one needs the code that the server printed at its start, and becomes the admin.
    has_accounts: bool,
    /// Only on requests on which a trusted proxy names a person: they sign in without a form, with `POST /api/auth/proxy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy_sign_in: Option<ProxyMode>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewUser {
    username: String,
    #[schema(value_type = String)]
    password: SecretString,
    email: Option<String>,
    /// The code of an invitation.
    invitation: Option<String>,
    /// For the first account: the code that the server printed at its start. It is accepted as `invitation` too.
    setup_code: Option<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct UserLogin {
    username: String,
    #[schema(value_type = String)]
    password: SecretString,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct PasswordChange {
    #[schema(value_type = String)]
    current_password: SecretString,
    #[schema(value_type = String)]
    new_password: SecretString,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct UserToken {
    /// A JSON web token, valid for seven days. Programs send it as `Authorization: Bearer`.
    token: String,
    user: User,
}

type WithCookie<T> = ([(HeaderName, String); 1], Json<Enveloped<T>>);
/// A sign-in sets a second cookie: what tells at the next one that this browser is known.
type WithCookies<T> = (AppendHeaders<[(HeaderName, String); 2]>, Json<Enveloped<T>>);

/// Returns who uses this server, and who may make an account.
#[utoipa::path(get, path = "/api/auth/mode", tag = "auth",
    responses((status = 200, body = Enveloped<Mode>), (status = "default", body = EnvelopedError)))]
pub async fn mode(State(app): State<App>, peer: Peer, headers: HeaderMap) -> Json<Enveloped<Mode>> {
    enveloped(match &app.people {
        None => Mode {
            auth_mode: AuthMode::Single,
            registration: Registration::Closed,
            has_accounts: true,
            proxy_sign_in: None,
        },
        Some(people) => Mode {
            auth_mode: AuthMode::Multi,
            registration: people.registration(),
            has_accounts: people.has_accounts(),
            proxy_sign_in: ProxyMode::of(&app, peer, &headers),
        },
    })
}

/// Makes an account. It does not sign in.
#[utoipa::path(post, path = "/api/auth/register", tag = "auth", request_body = NewUser,
    responses((status = 200, body = Enveloped<User>),
              (status = "default", description = "400 bad_username, weak_password, bad_email; 403 single_mode, setup_code_needed, \
                  bad_invitation, invitation_needed, registration_closed; 409 username_taken, email_taken, name_of_proxy; 429 too_many_tries", body = EnvelopedError)))]
pub async fn register(
    State(app): State<App>,
    (peer, client): (Peer, Client),
    (note, headers): (AuditNote, HeaderMap),
    request: Result<JsonBody<NewUser>, JsonRejection>,
) -> Result<Json<Enveloped<User>>, ApiError> {
    let people = app.people.as_ref().ok_or_else(ApiError::single_mode)?;
    let JsonBody(new) = request?;
    let named = proxy_user(&app, peer, &headers)?;
    let joining = Joining {
        username: &new.username,
        password: new.password.expose_secret(),
        email: new.email.as_deref(),
        invitation: new.invitation.as_deref(),
        setup_code: new.setup_code.as_deref(),
        named: named.name(),
    };
    let account = people.register(joining, client.address).await?;
    note.account(account.id.clone());
    Ok(enveloped(account.into()))
}

/// Signs in: returns a token, and sets it as a cookie for the page.
#[utoipa::path(post, path = "/api/auth/login", tag = "auth", request_body = UserLogin,
    responses((status = 200, body = Enveloped<UserToken>),
              (status = "default", description = "401 wrong_password; 403 single_mode, disabled; 429 too_many_tries",
                  body = EnvelopedError)))]
pub async fn login(
    State(app): State<App>,
    client: Client,
    note: AuditNote,
    headers: HeaderMap,
    request: Result<JsonBody<UserLogin>, JsonRejection>,
) -> Result<WithCookies<UserToken>, ApiError> {
    let people = app.people.as_ref().ok_or_else(ApiError::single_mode)?;
    let JsonBody(UserLogin { username, password }) = request?;
    if let Some(account) = people.account_named(&username) {
        note.account(account);
    }
    let from = LoginFrom { source: client.address, device: device_cookie(&app, &headers) };
    let signed_in = people.login((&username, password.expose_secret()), from).await?;
    Ok(answer(&app, people, (signed_in, client)))
}

/// Signs out: ends this sign-in and its streams. An access token is deleted.
#[utoipa::path(post, path = "/api/auth/logout", tag = "auth",
    responses((status = 200, body = Enveloped<Option<bool>>), (status = "default", body = EnvelopedError)))]
pub async fn logout(
    State(app): State<App>,
    requester: Requester,
    client: Client,
    headers: HeaderMap,
) -> Result<WithCookie<()>, ApiError> {
    sign_out(&app, &requester, &headers).await?;
    Ok(over(&app, client))
}

/// Ends all sign-ins of the account, and their streams.
#[utoipa::path(post, path = "/api/auth/logout-everywhere", tag = "auth",
    responses((status = 200, body = Enveloped<Option<bool>>), (status = "default", body = EnvelopedError)))]
pub async fn logout_everywhere(
    State(app): State<App>,
    requester: Requester,
    client: Client,
) -> Result<WithCookie<()>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    people.logout_everywhere(account).await?;
    Ok(over(&app, client))
}

/// Changes the password. Ends all sign-ins of the account and deletes its access tokens; the response signs in again.
#[utoipa::path(post, path = "/api/auth/password", tag = "auth", request_body = PasswordChange,
    responses((status = 200, body = Enveloped<UserToken>),
              (status = "default", description = "400 weak_password; 401 wrong_password; 429 too_many_tries",
                  body = EnvelopedError)))]
pub async fn password(
    State(app): State<App>,
    requester: Requester,
    client: Client,
    request: Result<JsonBody<PasswordChange>, JsonRejection>,
) -> Result<WithCookies<UserToken>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    let JsonBody(PasswordChange { current_password, new_password }) = request?;
    let passwords = [current_password.expose_secret(), new_password.expose_secret()];
    let signed_in = people.change_password(account, passwords).await?;
    Ok(answer(&app, people, (signed_in, client)))
}

fn answer(app: &App, people: &People, (signed_in, client): (SignedIn, Client)) -> WithCookies<UserToken> {
    let SignedIn { token, account } = signed_in;
    let cookie = cookie_line(app, (&token, SIGN_IN_LIFE), client);
    let device = device_line(app, (&people.device_proof(&account), DEVICE_LIFE), client);
    let cookies = AppendHeaders([(header::SET_COOKIE, cookie), (header::SET_COOKIE, device)]);
    (cookies, enveloped(UserToken { token, user: account.into() }))
}

fn over(app: &App, client: Client) -> WithCookie<()> {
    ([(header::SET_COOKIE, cookie_line(app, ("", 0), client))], enveloped(()))
}
