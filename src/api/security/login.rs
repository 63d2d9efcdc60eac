//! Signing in and out: exchanges the token for a cookie, and invalidates the cookie.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::access::{COOKIE_LIFE, Credentials};
use super::client::Client;
use super::guard;
use super::requester::Requester;
use crate::api::app::App;
use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct Login {
    /// The server's token. Give either this or `code`.
    token: Option<String>,
    /// The code of the one-time link.
    code: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SignedIn {
    signed_in: bool,
}

/// Signs a browser in: exchanges the token, or the code of the one-time link, for a cookie.
#[utoipa::path(post, path = "/api/login", tag = "status", request_body = Login,
    responses((status = 200, body = SignedIn), (status = 401, body = ErrorBody), (status = 429, body = ErrorBody)))]
pub async fn login(
    State(app): State<App>,
    client: Client,
    request: Result<JsonBody<Login>, JsonRejection>,
) -> Result<([(HeaderName, String); 1], Json<SignedIn>), ApiError> {
    if app.people.is_some() {
        let message = "several people use this server: sign in with POST /api/auth/login";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "multi_mode", message));
    }
    let JsonBody(Login { token, code }) = request?;
    let given = match (&token, &code) {
        (Some(token), None) => Credentials::Token(token),
        (None, Some(code)) => Credentials::Code(code),
        (None, None) | (Some(_), Some(_)) => {
            return Err(ApiError::bad_request("bad_json", "give either `token` or `code`"));
        }
    };
    let right = app.access.accepts(given, client.address).map_err(ApiError::too_many_tries)?;
    let Some(cookie) = app.access.new_cookie().filter(|_| right) else {
        let message = match given {
            Credentials::Token(_) => "invalid access token",
            Credentials::Code(_) => {
                "this sign-in link was already used or has expired; sign in with the access token, or restart the server"
            }
        };
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "wrong_token", message));
    };
    let cookie = cookie_line(&app, (&cookie, COOKIE_LIFE), client);
    Ok(([(header::SET_COOKIE, cookie)], Json(SignedIn { signed_in: true })))
}

/// Returns the `Set-Cookie` line for a value and its lifetime in seconds.
pub(in crate::api) fn cookie_line(app: &App, (value, seconds): (&str, u64), client: Client) -> String {
    let secure = if client.is_https { "; Secure" } else { "" };
    format!("{}={value}; Max-Age={seconds}; HttpOnly; SameSite=Strict; Path=/{secure}", app.access.cookie_name())
}

/// Returns the `Set-Cookie` line for what a browser keeps of a sign-in. Only the sign-in gets it back.
pub(in crate::api) fn device_line(app: &App, (value, seconds): (&str, u64), client: Client) -> String {
    let secure = if client.is_https { "; Secure" } else { "" };
    let name = guard::device_cookie_name(app);
    format!("{name}={value}; Max-Age={seconds}; HttpOnly; SameSite=Strict; Path=/api/auth{secure}")
}

/// Returns what the browser of a request has kept of an earlier sign-in.
pub(in crate::api) fn device_cookie<'a>(app: &App, headers: &'a HeaderMap) -> Option<&'a str> {
    guard::cookies_named(guard::device_cookie_name(app), headers).next()
}

/// Ends the sign-in of a request.
pub(in crate::api) async fn sign_out(app: &App, requester: &Requester, headers: &HeaderMap) -> Result<(), ApiError> {
    match (&app.people, requester.proof().credential()) {
        (Some(people), Some(credential)) => people.logout(credential.clone()).await?,
        _ => {
            let known: Vec<_> =
                guard::cookies(app, headers).filter_map(|value| app.access.knows_cookie(value)).collect();
            for cookie in known {
                // In the home first: if that fails, the browser can try again.
                requester.remember_sign_out(cookie).await?;
                app.access.sign_out(cookie);
            }
        }
    }
    Ok(())
}

/// Signs this browser out: invalidates its cookie for ever, and deletes it from the browser.
#[utoipa::path(post, path = "/api/logout", tag = "status", responses((status = 204), (status = 401, body = ErrorBody)))]
pub async fn logout(
    State(app): State<App>,
    requester: Requester,
    client: Client,
    headers: HeaderMap,
) -> Result<(StatusCode, [(HeaderName, String); 1]), ApiError> {
    sign_out(&app, &requester, &headers).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie_line(&app, ("", 0), client))]))
}
