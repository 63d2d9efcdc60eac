//! The providers that a person connects for themselves on a server of several people, with keys of their own. They reach
//! public addresses only, and those that the admin allows (`own_provider_hosts`): the person who chooses the address is not
//! the one whose network the server is in.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::json;
use url::Url;

use super::catalogue::OWN_PREFIX;
use super::models::OwnModels;
use super::provider_changes::first_names;
use super::provider_list::endpoint_of;
use super::{EngineError, Tenant, blocking};
use crate::config::ConfiguredEndpoint;
use crate::config::providers::{free_id, name_of};
use crate::egress::{DialTarget, Guard, Lookup, dialable, system_lookup};
use crate::provider::{AddressRefused, Api, Endpoint, Health, ProfileKind, ProviderError, Reach, list_models};
use crate::store::{OwnKey, OwnProvider, OwnProviderChange, OwnProviders};

/// Why the providers of a person are not there.
#[derive(Debug, thiserror::Error)]
pub enum OwnProvidersRefused {
    #[error("this server is for one person, whose providers are those of the server")]
    OnePerson,
    #[error("the admin of this server does not allow people to connect providers of their own")]
    Off,
    #[error("use an address that begins with https://, so that nobody reads the key on its way")]
    NotEncrypted,
    #[error("the key of this provider cannot be read: it belongs to another home or address; enter it again")]
    UnreadableKey,
    #[error("you have no model {0}")]
    UnknownModel(String),
}

/// A provider to connect.
#[derive(Debug)]
pub struct NewOwnProvider {
    pub base_url: Url,
    pub name: Option<String>,
    pub api: Option<Api>,
    pub api_key: Option<SecretString>,
}

/// What to change of a provider; `None` leaves it as it is.
#[derive(Debug, Default)]
pub struct OwnProviderEdit {
    pub name: Option<String>,
    /// Replaces the key, or removes it.
    pub api_key: Option<Option<SecretString>>,
    /// The names of the models that can be chosen.
    pub models: Option<Vec<String>>,
}

/// A provider of a person with its state.
pub struct ListedOwnProvider {
    pub provider: OwnProvider,
    pub kind: ProfileKind,
    /// The models that can be chosen: their ids and names.
    pub models: Vec<(String, String)>,
    /// The models that it named when it was asked last.
    pub named: Vec<String>,
    pub health: Option<Health>,
}

impl Tenant {
    /// Returns the providers that the person has connected for themselves, and the id of the model that they use by default.
    ///
    /// # Errors
    /// Returns [`OwnProvidersRefused`] where people have none, and an error if the file cannot be read.
    pub async fn own_providers(&self) -> Result<(Vec<ListedOwnProvider>, Option<String>), EngineError> {
        let own = self.read_own_providers().await?;
        let configured = self.own_endpoints(&own.providers);
        let models = self.runtime.models.own_models(&configured);
        let listed = own.providers.into_iter().map(|provider| {
            let asked = self.own_endpoint(&provider, "");
            let of_provider = models.iter().filter(|model| model.client.endpoint().base_url == provider.base_url);
            ListedOwnProvider {
                kind: ProfileKind::from_url(&provider.base_url),
                models: of_provider.map(|one| (one.candidate.id.clone(), one.candidate.model.clone())).collect(),
                named: self.runtime.models.named_by(&asked),
                health: self.runtime.models.health(&asked).last(),
                provider,
            }
        });
        Ok((listed.collect(), own.default_model))
    }

    /// Tests a provider, keeps it for the person and lists its models. Returns its id.
    ///
    /// # Errors
    /// Returns the provider's refusal, [`OwnProvidersRefused`], or that there are too many; nothing is written then.
    pub async fn add_own_provider(&self, new: NewOwnProvider) -> Result<String, EngineError> {
        let known = self.read_own_providers().await?.providers;
        let NewOwnProvider { base_url, name, api, api_key } = new;
        let kind = ProfileKind::from_url(&base_url);
        let id = free_id(kind, |id| known.iter().any(|provider| provider.id == id));
        let provider = OwnProvider {
            name: name.unwrap_or_else(|| name_of(kind, &base_url)),
            id: id.clone(),
            base_url,
            api: api.and_then(|api| serde_json::to_value(api).ok()?.as_str().map(str::to_owned)),
            api_key: api_key.map_or(OwnKey::None, OwnKey::Set),
            models: Vec::new(),
        };
        self.require_encrypted(&provider.base_url)?;
        let models = self.names_of(&provider).await?;
        let added = OwnProvider { models: first_names(&models), ..provider };
        self.tree.change_own_provider(self.claim, String::new(), OwnProviderChange::Add(added)).await?;
        self.use_own_providers().await?;
        Ok(id)
    }

    /// Changes a provider of the person, after a test if its key is replaced.
    ///
    /// # Errors
    /// Returns the provider's refusal, and an error if there is no such provider.
    pub async fn change_own_provider(&self, id: &str, edit: OwnProviderEdit) -> Result<(), EngineError> {
        let known = self.own_provider(id).await?;
        let OwnProviderEdit { name, api_key, models } = edit;
        if let Some(key) = &api_key {
            let api_key = key.clone().map_or(OwnKey::None, OwnKey::Set);
            self.names_of(&OwnProvider { api_key, ..known }).await?;
        }
        let changes = [
            name.map(OwnProviderChange::Name),
            api_key.map(OwnProviderChange::Key),
            models.map(OwnProviderChange::Models),
        ];
        for change in changes.into_iter().flatten() {
            self.tree.change_own_provider(self.claim, id.to_owned(), change).await?;
        }
        self.use_own_providers().await
    }

    /// Removes a provider of the person and its key. Conversations that have chosen a model of it say that it is gone.
    ///
    /// # Errors
    /// Returns an error if there is no such provider.
    pub async fn remove_own_provider(&self, id: &str) -> Result<(), EngineError> {
        self.own_provider(id).await?;
        self.tree.change_own_provider(self.claim, id.to_owned(), OwnProviderChange::Remove).await?;
        self.use_own_providers().await
    }

    /// Asks a provider of the person for its models again. Its state says whether it answered.
    ///
    /// # Errors
    /// Returns an error if there is no such provider.
    pub async fn check_own_provider(&self, id: &str) -> Result<(), EngineError> {
        let provider = self.own_provider(id).await?;
        // The refusal is what the state shows.
        self.names_of(&provider).await.map(drop).or_else(|error| match error {
            EngineError::Provider(_) => Ok(()),
            other => Err(other),
        })
    }

    /// Chooses the model that the person uses by default, by its id; `None` leaves it to the server.
    ///
    /// # Errors
    /// Returns [`OwnProvidersRefused::UnknownModel`] if it is none of their own providers.
    pub async fn choose_own_default(&self, id: Option<String>) -> Result<(), EngineError> {
        self.read_own_providers().await?;
        if let Some(id) = &id
            && !self.models.candidates().iter().any(|model| model.id == *id && id.starts_with(OWN_PREFIX))
        {
            return Err(OwnProvidersRefused::UnknownModel(id.clone()).into());
        }
        self.tree.choose_own_default(self.claim, id).await?;
        self.use_own_providers().await
    }

    /// Makes the models of the person's own providers those that the file has now.
    pub(super) async fn use_own_providers(&self) -> Result<(), EngineError> {
        let own = match self.read_own_providers().await {
            Ok(own) => own,
            Err(EngineError::OwnProviders(_)) => OwnProviders::default(),
            Err(error) => return Err(error),
        };
        let models = self.runtime.models.own_models(&self.own_endpoints(&own.providers));
        self.models.set_own(OwnModels { models, wanted: own.default_model });
        Ok(())
    }

    async fn own_provider(&self, id: &str) -> Result<OwnProvider, EngineError> {
        let known = self.read_own_providers().await?.providers.into_iter().find(|provider| provider.id == id);
        let unknown =
            || crate::store::StoreError::OwnProvider(crate::store::OwnProviderRefused::Unknown(id.to_owned()));
        Ok(known.ok_or_else(unknown)?)
    }

    async fn read_own_providers(&self) -> Result<OwnProviders, EngineError> {
        let people = &self.runtime.config().people;
        if !people.is_multi() {
            return Err(OwnProvidersRefused::OnePerson.into());
        }
        if !people.own_providers {
            return Err(OwnProvidersRefused::Off.into());
        }
        let home = self.home.clone();
        blocking(move || home.own_providers()).await
    }

    /// Asks a provider for its models, and records that it answered or not.
    async fn names_of(&self, provider: &OwnProvider) -> Result<Vec<String>, EngineError> {
        if matches!(provider.api_key, OwnKey::Unreadable) {
            return Err(OwnProvidersRefused::UnreadableKey.into());
        }
        let endpoint = self.own_endpoint(provider, "");
        let names: Result<Vec<String>, ProviderError> = list_models(endpoint.clone()).await;
        self.runtime.models.health(&endpoint).record(&names);
        let names = names?;
        self.runtime.models.set_named(&endpoint, names.clone());
        Ok(names)
    }

    /// # Errors
    /// Returns [`OwnProvidersRefused::NotEncrypted`] for an address without TLS that the admin has not allowed.
    fn require_encrypted(&self, base_url: &Url) -> Result<(), EngineError> {
        let hosts = &self.runtime.config().people.own_provider_hosts;
        let is_allowed = matches!(Guard::new(hosts).check(base_url), Ok(DialTarget::Allowed));
        if base_url.scheme() == "https" || is_allowed {
            return Ok(());
        }
        Err(OwnProvidersRefused::NotEncrypted.into())
    }

    fn own_endpoints(&self, providers: &[OwnProvider]) -> Vec<ConfiguredEndpoint> {
        let usable = providers.iter().filter(|provider| !matches!(provider.api_key, OwnKey::Unreadable));
        let of_provider = |provider: &OwnProvider| -> Vec<ConfiguredEndpoint> {
            let configured = |name: &String| {
                let endpoint = Endpoint { label: name.clone(), ..self.own_endpoint(provider, name) };
                ConfiguredEndpoint { id: None, endpoint, from: provider.name.clone() }
            };
            provider.models.iter().map(configured).collect()
        };
        usable.flat_map(of_provider).collect()
    }

    fn own_endpoint(&self, provider: &OwnProvider, model: &str) -> Endpoint {
        let key = if let OwnKey::Set(key) = &provider.api_key { Some(key.clone()) } else { None };
        let config = self.runtime.config();
        let api = provider.api.as_ref().and_then(|word| serde_json::from_value(json!(word)).ok());
        let guard = Guard::new(&config.people.own_provider_hosts).but_not(Some(self.runtime.own_port));
        let mut endpoint = endpoint_of(&provider.base_url, key, model).with_api(api);
        endpoint.reach = Some(Arc::new(GuardedReach { guard, lookup: system_lookup() }));
        config.seeing.mark(&mut endpoint);
        config.prices.mark(&mut endpoint);
        endpoint
    }
}

/// Lets a client reach public addresses and the hosts that the admin allows.
struct GuardedReach {
    guard: Guard,
    lookup: Lookup,
}

impl Reach for GuardedReach {
    fn check(&self, url: &Url) -> Result<(), AddressRefused> {
        self.guard.check(url).map(drop).map_err(|why| AddressRefused(why.to_string()))
    }

    fn addresses(
        &self,
        url: &Url,
        name: String,
    ) -> BoxFuture<'static, Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>>> {
        let reach = self.guard.check(url).map_err(|why| AddressRefused(why.to_string()));
        let found = (self.lookup)(name.clone());
        Box::pin(async move {
            let dialled = dialable(&name, found.await?, reach?);
            Ok(dialled.map_err(|why| AddressRefused(why.to_string()))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn name_that_turns_to_a_private_address_is_refused() {
        let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let lookup: Lookup = Arc::new(move |_| {
            let first = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            let address: IpAddr = if first { [93, 184, 216, 34].into() } else { [127, 0, 0, 1].into() };
            Box::pin(async move { Ok(vec![address]) })
        });
        let reach = GuardedReach { guard: Guard::new(&[]), lookup };
        let url = Url::parse("https://flip.test/v1").unwrap();
        reach.check(&url).unwrap();
        assert_eq!(reach.addresses(&url, "flip.test".to_owned()).await.unwrap().len(), 1);
        let second = reach.addresses(&url, "flip.test".to_owned()).await.unwrap_err();
        assert!(second.downcast_ref::<AddressRefused>().is_some(), "{second}");
        assert!(reach.check(&Url::parse("https://[::1]/v1").unwrap()).is_err());
    }
}
