//! The caller: who sent a request, their tenant, and what they may do. A handler reaches data only through this
//! argument, so it cannot forget to check.

use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use tokio_util::sync::CancellationToken;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::security::access::CookieDigest;
use crate::api::security::person::{Person, Right};
use crate::engine::{Engine, Tenant};

/// The header that proves that a request comes from the page: only the page has its secret.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-secret");

/// The caller's identity as established by the guard. Absent from a request without a credential to a server that needs
/// one.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub person: Person,
    /// Digest of the cookie of a signed-in browser; `None` for a bearer token, and if no credential is needed.
    pub cookie: Option<CookieDigest>,
}

pub struct Caller {
    pub person: Person,
    /// The sessions of the caller's tenant.
    pub engine: Arc<Engine>,
    /// Cancelled when the server stops; ends streams.
    stopping: CancellationToken,
    /// Cancelled when the caller signs out; ends streams.
    signed_out: Option<CancellationToken>,
    is_page: bool,
}

impl Caller {
    pub fn tenant(&self) -> &Arc<Tenant> {
        self.engine.tenant()
    }

    /// Resolves when nothing more may be sent to the caller: the server stops, or the browser has signed out.
    pub fn until_over(&self) -> impl Future<Output = ()> + Send + use<> {
        let (stopping, signed_out) = (self.stopping.clone(), self.signed_out.clone().unwrap_or_default());
        async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = signed_out.cancelled() => {}
            }
        }
    }

    /// Requires a right that not everybody has.
    ///
    /// # Errors
    /// Returns `not_allowed` if the caller does not have it.
    pub fn require(&self, right: Right) -> Result<(), ApiError> {
        self.person.rights().require(right)
    }

    /// Returns whether the request carries the page's secret.
    pub fn is_page(&self) -> bool {
        self.is_page
    }

    /// Requires that the request comes from the page, whose secret no command of the agent can read. Decisions of a
    /// person (approvals, trust, keys) need this.
    ///
    /// # Errors
    /// Returns `no_secret` if the request does not carry the page's secret.
    pub fn require_page(&self) -> Result<(), ApiError> {
        if self.is_page {
            return Ok(());
        }
        Err(ApiError::only_page())
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = parts.extensions.get::<Identity>().ok_or_else(ApiError::signed_out)?;
        let person = identity.person;
        let engine = app.tenants.open(&person.tenant()).await?;
        let signed_out = identity.cookie.map(|cookie| app.access.until_signed_out(cookie));
        let is_page = has_secret(app, &parts.headers);
        Ok(Self { person, engine, stopping: app.stopping.clone(), signed_out, is_page })
    }
}

impl OptionalFromRequestParts<App> for Caller {
    type Rejection = ApiError;

    /// Returns `None` for a request without a credential to a public path of a server that needs one.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Option<Self>, ApiError> {
        match parts.extensions.get::<Identity>() {
            None => Ok(None),
            Some(_) => <Self as FromRequestParts<App>>::from_request_parts(parts, app).await.map(Some),
        }
    }
}

fn has_secret(app: &App, headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(SECRET_HEADER).iter();
    match (given.next(), given.next()) {
        (Some(secret), None) => secret.to_str().is_ok_and(|secret| app.secret.is(secret)),
        _ => false,
    }
}
