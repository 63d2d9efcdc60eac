//! Who asks about accounts or the server, as opposed to a home: no home of theirs is opened, because another server of the cluster may
//! have it.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::security::access::KnownCookie;
use crate::api::security::caller::{Identity, Proof, has_secret};
use crate::api::security::person::{Person, Right};
use crate::domain::{AccountId, HomeId};
use crate::engine::people::People;
use crate::engine::provider_changes::ProviderRefused;
use crate::engine::{EngineError, Tenant, TenantRegistry};

/// A person who asks, and what proves it.
pub struct Requester {
    pub person: Person,
    proof: Proof,
    is_page: bool,
    people: Option<Arc<People>>,
    tenants: Arc<TenantRegistry>,
}

impl Requester {
    /// Returns the people of the server, and the account of the person.
    ///
    /// # Errors
    /// Returns `single_mode` on a single-person server, and `not_allowed` if the person does not have this right.
    pub fn people(&self, right: Right) -> Result<(&Arc<People>, &AccountId), ApiError> {
        let (Some(people), Some(account)) = (&self.people, self.person.account()) else {
            return Err(ApiError::single_mode());
        };
        self.person.rights().require(right).map(|()| (people, account))
    }

    /// Returns the tenant whose home holds the configuration of the server.
    ///
    /// # Errors
    /// Returns `not_allowed` if the person may not manage the server.
    pub async fn server(&self) -> Result<Arc<Tenant>, ApiError> {
        self.person.rights().require(Right::ManageServer)?;
        Ok(self.tenants.open(&HomeId::Server).await?.tenant().clone())
    }

    /// Returns the tenant whose home holds the configuration of the server, for a change of it.
    ///
    /// # Errors
    /// Returns `not_allowed` if the person may not manage the server, and `config_of_cluster` if other servers, with a config.yml of
    /// their own, have the same homes.
    pub async fn changeable_server(&self) -> Result<Arc<Tenant>, ApiError> {
        self.person.rights().require(Right::ManageServer)?;
        if self.tenants.is_in_cluster() {
            return Err(EngineError::from(ProviderRefused::OnAllServers).into());
        }
        self.server().await
    }

    /// Remembers in the home of a server for one person that a browser has signed out.
    ///
    /// # Errors
    /// Returns an error if the home cannot be opened or written.
    pub async fn remember_sign_out(&self, cookie: KnownCookie) -> Result<(), ApiError> {
        let engine = self.tenants.open(&HomeId::Server).await?;
        Ok(engine.tenant().sign_out(cookie.of_home()).await?)
    }

    /// Requires that the request comes from the page, as [`Caller::require_page`](super::caller::Caller::require_page) does.
    ///
    /// # Errors
    /// Returns `no_secret` if it does not.
    pub fn require_page(&self) -> Result<(), ApiError> {
        if self.is_page { Ok(()) } else { Err(ApiError::only_page()) }
    }

    /// Returns what has proved who asks.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }
}

impl FromRequestParts<App> for Requester {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Identity { person, proof } = parts.extensions.get::<Identity>().ok_or_else(ApiError::signed_out)?.clone();
        proof.require_signed_in(app).await?;
        let is_page = has_secret(app, &parts.headers, &proof);
        Ok(Self { person, proof, is_page, people: app.people.clone(), tenants: app.tenants.clone() })
    }
}
