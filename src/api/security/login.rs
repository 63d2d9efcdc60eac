//! Signing in and out: exchanges the token for a cookie, and invalidates the cookie.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::access::{COOKIE_LIFE, Credentials};
use super::caller::Caller;
use super::guard;
use crate::api::app::App;
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
    ConnectInfo(source): ConnectInfo<SocketAddr>,
    request: Result<Json<Login>, JsonRejection>,
) -> Result<([(HeaderName, String); 1], Json<SignedIn>), ApiError> {
    let Json(Login { token, code }) = request?;
    let given = match (&token, &code) {
        (Some(token), None) => Credentials::Token(token),
        (None, Some(code)) => Credentials::Code(code),
        (None, None) | (Some(_), Some(_)) => {
            return Err(ApiError::bad_request("bad_json", "give either `token` or `code`"));
        }
    };
    let right = app.access.accepts(given, source.ip()).map_err(ApiError::too_many_tries)?;
    let Some(cookie) = app.access.new_cookie().filter(|_| right) else {
        let message = match given {
            Credentials::Token(_) => "invalid access token",
            Credentials::Code(_) => {
                "this sign-in link was already used or has expired; sign in with the access token, or restart the server"
            }
        };
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "wrong_token", message));
    };
    let name = app.access.cookie_name();
    let cookie = format!("{name}={cookie}; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict; Path=/");
    Ok(([(header::SET_COOKIE, cookie)], Json(SignedIn { signed_in: true })))
}

/// Signs this browser out: invalidates its cookie until the server is restarted, and deletes it from the browser.
#[utoipa::path(post, path = "/api/logout", tag = "status", responses((status = 204), (status = 401, body = ErrorBody)))]
pub async fn logout(State(app): State<App>, _: Caller, headers: HeaderMap) -> (StatusCode, [(HeaderName, String); 1]) {
    guard::cookies(&app, &headers).for_each(|cookie| app.access.sign_out(cookie));
    let cookie = format!("{}=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/", app.access.cookie_name());
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)])
}
