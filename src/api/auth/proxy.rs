//! Signing in by the header of a trusted proxy.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use serde::Serialize;

use super::user::User;
use crate::api::app::App;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::audit::AuditNote;
use crate::api::security::client::{Client, Peer};
use crate::api::security::guard::proxy_user;
use crate::api::security::login::cookie_line;
use crate::api::security::proxy_user::ProxyUser;
use crate::engine::people::{ByProxy, SIGN_IN_LIFE};

/// How the page signs in and out behind a proxy that names people.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProxyMode {
    /// Where the page goes to sign out; null if nobody can sign out by the page.
    logout_url: Option<String>,
}

impl ProxyMode {
    /// Returns `None` if no trusted proxy names a person on this request.
    pub fn of(app: &App, peer: Peer, headers: &HeaderMap) -> Option<Self> {
        let proxy = app.access.proxy_header.as_ref()?;
        // With a header that is wrong, too: signing in then says what is wrong with it.
        let is_absent = matches!(proxy_user(app, peer, headers), Ok(ProxyUser::Absent));
        (!is_absent).then(|| Self { logout_url: proxy.logout_url.clone() })
    }
}

/// Signs in the person whom a trusted proxy names in its header (`proxy_sign_in` in config.yml), and sets a cookie. The sign-in
/// counts only on requests on which the proxy names the same person.
#[utoipa::path(post, path = "/api/auth/proxy", tag = "auth",
    responses((status = 200, body = Enveloped<User>),
              (status = "default", description = "400 bad_proxy_user; 401 no_proxy_user; 403 single_mode, no_account, \
                  setup_code_needed, disabled", body = EnvelopedError)))]
pub async fn sign_in_by_proxy(
    State(app): State<App>,
    (peer, client): (Peer, Client),
    note: AuditNote,
    headers: HeaderMap,
) -> Result<([(HeaderName, String); 1], Json<Enveloped<User>>), ApiError> {
    let people = app.people.as_ref().ok_or_else(ApiError::single_mode)?;
    note.detail("by", Some("proxy".into()));
    let name = match proxy_user(&app, peer, &headers)? {
        ProxyUser::Named(name) => name,
        ProxyUser::Absent | ProxyUser::Invalid(_) => {
            let message = "no trusted proxy names a person on this request; sign in with a password";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "no_proxy_user", message));
        }
    };
    if let Some(account) = people.account_named(name.as_str()) {
        note.account(account);
    }
    let creates = app.access.proxy_header.as_ref().is_some_and(|proxy| proxy.creates);
    let ByProxy { signed_in, is_new } = people.sign_in_by_proxy(&name, creates).await?;
    note.account(signed_in.account.id.clone());
    note.detail("created", is_new.then(|| true.into()));
    let cookie = cookie_line(&app, (&signed_in.token, SIGN_IN_LIFE), client);
    Ok(([(header::SET_COOKIE, cookie)], enveloped(signed_in.account.into())))
}
