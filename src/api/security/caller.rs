//! The caller: who sent a request, their tenant, and what they may do. A handler reaches data only through this
//! argument, so it cannot forget to check.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::security::access::{Access, KnownCookie};
use crate::api::security::guard;
use crate::api::security::person::{Person, Right};
use crate::domain::{AccountId, HomeId};
use crate::engine::documents::SavedBy;
use crate::engine::people::{Credential, People};
use crate::engine::{Engine, Tenant};
use crate::store::ApiTokenScope;

/// The header that proves that a request comes from the page: only the page has its secret.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-secret");

/// The caller's identity as established by the guard. Absent from a request without a credential to a server that needs
/// one.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub person: Person,
    pub proof: Proof,
}

/// What has proved the identity of a caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// The bearer token of a single-person server, or nothing, if it needs none.
    Server,
    /// A token of a program that uses the OpenAI API or the MCP server of a single-person server, by its id.
    ApiToken(String, ApiTokenScope),
    /// The cookie of a browser that has signed in to a single-person server.
    Cookie(KnownCookie),
    /// The credential of an account, from a cookie.
    AccountCookie(Credential),
    /// The credential of an account, as a bearer token.
    AccountBearer(Credential),
}

impl Proof {
    pub fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Server | Self::ApiToken(..) | Self::Cookie(_) => None,
            Self::AccountCookie(credential) | Self::AccountBearer(credential) => Some(credential),
        }
    }

    /// Checks that the browser has not signed out before this server started, or at another one of the cluster: only the home knows.
    ///
    /// # Errors
    /// Returns `signed_out` if it has, and an error if the home cannot be opened.
    pub(super) async fn require_signed_in(&self, app: &App) -> Result<(), ApiError> {
        let Self::Cookie(cookie) = self else { return Ok(()) };
        let engine = app.tenants.open(&HomeId::Server).await?;
        let has_left = engine.tenant().home.has_signed_out(&cookie.of_home());
        if has_left { Err(ApiError::signed_out()) } else { Ok(()) }
    }
}

pub struct Caller {
    pub person: Person,
    /// The sessions of the caller's tenant.
    pub engine: Arc<Engine>,
    /// Cancelled when the server stops; ends streams.
    stopping: CancellationToken,
    /// Cancelled when the caller signs out; ends streams.
    signed_out: Option<CancellationToken>,
    access: Arc<Access>,
    is_page: bool,
    /// The request carries a secret that is not the page's.
    has_wrong_secret: bool,
    proof: Proof,
    people: Option<Arc<People>>,
}

impl Caller {
    pub fn tenant(&self) -> &Arc<Tenant> {
        self.engine.tenant()
    }

    /// Resolves when nothing more may be sent to the caller: the server stops, another one may have the home, the browser has signed out, the token was
    /// revoked, or the sign-in or the account has ended.
    pub fn until_over(&self) -> impl Future<Output = ()> + Send + use<> {
        let (stopping, signed_out) = (self.stopping.clone(), self.signed_out.clone().unwrap_or_default());
        let (people, credential) = (self.people.clone(), self.proof.credential().cloned());
        let (access, proof) = (self.access.clone(), self.proof.clone());
        // On another server, the client goes on.
        let moved = self.tenant().home.moved().unwrap_or_default();
        async move {
            let revoked = async {
                match &proof {
                    Proof::ApiToken(id, scope) => access.until_revoked(id, *scope).await,
                    _ => std::future::pending().await,
                }
            };
            let ended = async {
                match (people, credential) {
                    (Some(people), Some(credential)) => people.until_ended(credential).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stopping.cancelled() => {}
                () = signed_out.cancelled() => {}
                () = moved.cancelled() => {}
                () = ended => {}
                () = revoked => {}
            }
        }
    }

    /// Returns the people of the server, and the caller's account, whatever the caller may do besides using their home.
    ///
    /// # Errors
    /// Returns `single_mode` (409) on a single-person server, which has no members of projects.
    pub fn members(&self) -> Result<(&Arc<People>, &AccountId), ApiError> {
        match (&self.people, self.person.account()) {
            (Some(people), Some(account)) => Ok((people, account)),
            _ => Err(ApiError { status: StatusCode::CONFLICT, ..ApiError::single_mode() }),
        }
    }

    /// Returns the caller with the credential in these headers, which came after the request itself.
    ///
    /// # Errors
    /// Returns `signed_out` or `disabled` if the credential does not count.
    pub async fn with_credential(parts: Parts, app: &App) -> Result<Self, ApiError> {
        let request = Request::from_parts(parts, Body::empty());
        let identity = guard::identified(app, &request)?;
        Self::of(identity, app, request.headers()).await
    }

    async fn of(Identity { person, proof }: Identity, app: &App, headers: &HeaderMap) -> Result<Self, ApiError> {
        proof.require_signed_in(app).await?;
        let engine = app.tenants.open(&person.tenant()).await?;
        let signed_out = match proof {
            Proof::Cookie(cookie) => Some(app.access.until_signed_out(cookie)),
            Proof::Server | Proof::ApiToken(..) | Proof::AccountCookie(_) | Proof::AccountBearer(_) => None,
        };
        let is_page = has_secret(app, headers, &proof);
        let has_wrong_secret = !is_page && headers.contains_key(SECRET_HEADER);
        let (people, stopping) = (app.people.clone(), app.stopping.clone());
        let access = app.access.clone();
        Ok(Self { person, engine, stopping, signed_out, access, is_page, has_wrong_secret, proof, people })
    }

    /// Returns whether this is the secret of the caller's page.
    pub fn is_page_secret(&self, app: &App, secret: &str) -> bool {
        is_page_secret(app, secret, &self.proof)
    }

    /// Returns the name of the credential that tells a program's conversations from those of others. It is no secret.
    pub fn client_key(&self) -> String {
        match &self.proof {
            Proof::Server | Proof::Cookie(_) => "server".to_owned(),
            Proof::ApiToken(id, _) => format!("token {id}"),
            Proof::AccountCookie(credential) | Proof::AccountBearer(credential) => match credential {
                Credential::SignIn(_) => "sign-in".to_owned(),
                Credential::AccessToken { id, .. } => format!("token {id}"),
            },
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

    /// Requires that the credential can change something. The guard has checked it for every request but the handshake of a
    /// WebSocket and those to the MCP server, whose method does not say what they do.
    ///
    /// # Errors
    /// Returns `read_only_token` if it can only read.
    pub fn require_change(&self) -> Result<(), ApiError> {
        let may_change = match &self.proof {
            Proof::ApiToken(_, scope) => !matches!(scope, ApiTokenScope::Read | ApiTokenScope::Metrics),
            proof => proof.credential().is_none_or(Credential::may_change),
        };
        if may_change { Ok(()) } else { Err(ApiError::read_only_token()) }
    }

    /// Returns whether the credential is for programs that call tools themselves. No other one counts, so that a person decides
    /// it for each program.
    pub fn calls_tools(&self) -> bool {
        match &self.proof {
            Proof::ApiToken(_, scope) => *scope == ApiTokenScope::Tools,
            proof => proof.credential().is_some_and(Credential::calls_tools),
        }
    }

    /// Returns who saves a text by this request.
    ///
    /// # Errors
    /// Returns `no_secret` if the request carries a secret that is not the page's, as after a restart of the server.
    pub fn saves_as(&self) -> Result<SavedBy, ApiError> {
        match (self.is_page, self.has_wrong_secret) {
            (true, _) => Ok(SavedBy::Page),
            (false, true) => Err(ApiError::only_page()),
            (false, false) => Ok(SavedBy::Program),
        }
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

/// Opens the home of the server for a request without a credential, which learns only names from it.
///
/// # Errors
/// Returns an error if the home cannot be opened.
pub async fn server_for_names(app: &App) -> Result<Arc<Tenant>, ApiError> {
    Ok(app.tenants.open(&HomeId::Server).await?.tenant().clone())
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = parts.extensions.get::<Identity>().ok_or_else(ApiError::signed_out)?;
        Self::of(identity.clone(), app, &parts.headers).await
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

/// The caller, if there is one and this server has their home: asking claims no home of a cluster.
pub struct PresentCaller(pub Option<Caller>);

impl FromRequestParts<App> for PresentCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match parts.extensions.get::<Identity>() {
            Some(identity) if !app.tenants.is_elsewhere(&identity.person.tenant()) => {
                <Caller as FromRequestParts<App>>::from_request_parts(parts, app).await.map(|caller| Self(Some(caller)))
            }
            Some(_) | None => Ok(Self(None)),
        }
    }
}

pub(super) fn has_secret(app: &App, headers: &HeaderMap, proof: &Proof) -> bool {
    let mut given = headers.get_all(SECRET_HEADER).iter();
    let (Some(secret), None) = (given.next(), given.next()) else { return false };
    secret.to_str().is_ok_and(|secret| is_page_secret(app, secret, proof))
}

fn is_page_secret(app: &App, secret: &str, proof: &Proof) -> bool {
    match proof {
        Proof::Server | Proof::Cookie(_) => app.secret.is(secret, None),
        Proof::AccountCookie(Credential::SignIn(sign_in)) => app.secret.is(secret, Some(&sign_in.id)),
        // Only a browser that has signed in has the page.
        Proof::ApiToken(..) | Proof::AccountCookie(Credential::AccessToken { .. }) | Proof::AccountBearer(_) => false,
    }
}
