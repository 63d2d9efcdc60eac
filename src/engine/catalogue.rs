//! The models available to this process: one catalogue, shared by all tenants, each of which chooses from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};

use super::local_model::LocalModel;
use super::model_status::{ModelCandidate, ModelStatus};
use super::models::{EMBEDDED, Models};
use crate::config::ConfiguredEndpoint;
use crate::provider::{Client, Endpoint, HealthLog, ProviderError};

/// A provider's model and its client.
#[derive(Clone)]
pub(super) struct RemoteModel {
    pub candidate: ModelCandidate,
    /// Its `id` in `models` of config.yml; `None` if it comes from elsewhere.
    pub configured_id: Option<String>,
    pub client: Arc<Client>,
}

pub struct ModelCatalogue {
    /// Held while the models are made of it, so that concurrent changes are made one after the other.
    sources: Mutex<Sources>,
    /// The first one is the default.
    remote: RwLock<Vec<RemoteModel>>,
    local: Option<LocalModel>,
    fallback: RwLock<Option<String>>,
    /// The tenants' model choices, which are notified when the catalogue changes.
    followers: Mutex<Vec<Weak<Models>>>,
    addresses: Mutex<BTreeMap<AddressWithKey, Address>>,
}

/// What the ids of models of a person's own providers begin with, so that they never mean a model of the server.
pub(super) const OWN_PREFIX: &str = "own/";

/// A provider's address, and the digest of the key that is sent to it.
type AddressWithKey = (String, Option<[u8; 32]>);

/// What is known of a provider's address since the start.
#[derive(Clone, Default)]
struct Address {
    health: HealthLog,
    /// The models that it named when it was asked last.
    named: Vec<String>,
}

/// Where the models of providers come from. Each source is replaced on its own, so that a search for servers that ends
/// late brings no earlier configuration back.
#[derive(Clone, Default)]
struct Sources {
    configured: Vec<ConfiguredEndpoint>,
    /// Found on this machine.
    found: Vec<ConfiguredEndpoint>,
    /// Name of the model that is to be the default, if it is not the first configured one.
    wanted: Option<String>,
}

impl Sources {
    /// Returns all endpoints, the default one first.
    fn all(&self) -> Vec<ConfiguredEndpoint> {
        let mut all = [&self.configured[..], &self.found[..]].concat();
        let place = self.wanted.as_ref().and_then(|wanted| {
            let endpoints: Vec<&Endpoint> = all.iter().map(|one| &one.endpoint).collect();
            place_of(wanted, &endpoints)
        });
        if let Some(place) = place {
            all[..=place].rotate_right(1);
        }
        all
    }
}

impl ModelCatalogue {
    pub fn new(local: Option<LocalModel>) -> Self {
        Self {
            sources: Mutex::default(),
            remote: RwLock::default(),
            local,
            fallback: RwLock::default(),
            followers: Mutex::default(),
            addresses: Mutex::default(),
        }
    }

    /// Replaces the configured models, and the name of the wanted one. The wanted one is the default, else the first one
    /// is; if there is none, the embedded model is.
    ///
    /// # Errors
    /// Returns an error if no client can be created for the default; nothing changes then. Other endpoints without a
    /// client are skipped.
    pub fn set_configured(
        &self,
        configured: Vec<ConfiguredEndpoint>,
        wanted: Option<String>,
    ) -> Result<(), ProviderError> {
        self.replace(|sources| *sources = Sources { configured, wanted, ..std::mem::take(sources) })
    }

    /// Replaces the models that were found on this machine.
    ///
    /// # Errors
    /// As [`ModelCatalogue::set_configured`].
    pub fn set_found(&self, found: Vec<ConfiguredEndpoint>) -> Result<(), ProviderError> {
        self.replace(|sources| sources.found = found)
    }

    fn replace(&self, change: impl FnOnce(&mut Sources)) -> Result<(), ProviderError> {
        let mut current = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sources = current.clone();
        change(&mut sources);
        let endpoints = sources.all();
        let mut remote = Vec::new();
        for (ConfiguredEndpoint { id: configured_id, endpoint, from }, id) in endpoints.iter().zip(ids(&endpoints)) {
            match Client::logging(endpoint.clone(), self.health(endpoint)) {
                Ok(client) => remote.push(RemoteModel {
                    candidate: ModelCandidate {
                        name: configured_id.clone().unwrap_or_else(|| endpoint.model.clone()),
                        ..candidate(id, endpoint, from)
                    },
                    configured_id: configured_id.clone(),
                    client: Arc::new(client),
                }),
                Err(error) if remote.is_empty() => return Err(error),
                Err(error) => tracing::warn!(id, %error, "this model cannot be used"),
            }
        }
        *current = sources;
        *self.remote.write().unwrap_or_else(PoisonError::into_inner) = remote;
        drop(current);
        self.followers().iter().for_each(|models| models.catalogue_changed());
        Ok(())
    }

    /// Returns the models at these endpoints, which are only a person's own. Endpoints without a client are skipped.
    pub(super) fn own_models(&self, endpoints: &[ConfiguredEndpoint]) -> Vec<RemoteModel> {
        let model = |(configured, id): (&ConfiguredEndpoint, String)| {
            let ConfiguredEndpoint { endpoint, from, .. } = configured;
            let client = Client::logging(endpoint.clone(), self.health(endpoint));
            let client = client.inspect_err(|error| tracing::warn!(id, %error, "this model cannot be used")).ok()?;
            let candidate = candidate(format!("{OWN_PREFIX}{id}"), endpoint, from);
            Some(RemoteModel { candidate, configured_id: None, client: Arc::new(client) })
        };
        endpoints.iter().zip(ids(endpoints)).filter_map(model).collect()
    }

    /// Sets the fallback model, by the name that is sent to the provider, or [`EMBEDDED`](super::models::EMBEDDED). It
    /// need not exist yet, because models of this machine come and go.
    pub fn set_fallback(&self, model: Option<String>) {
        *self.fallback.write().unwrap_or_else(PoisonError::into_inner) = model;
    }

    pub(super) fn fallback(&self) -> Option<String> {
        self.fallback.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the log of whether the provider at this address answers to this key.
    pub(super) fn health(&self, endpoint: &Endpoint) -> HealthLog {
        self.address(endpoint, |address| address.health.clone())
    }

    /// Returns the models that the provider at this address named when it was asked last.
    pub(super) fn named_by(&self, endpoint: &Endpoint) -> Vec<String> {
        self.address(endpoint, |address| address.named.clone())
    }

    pub(super) fn set_named(&self, endpoint: &Endpoint, names: Vec<String>) {
        self.address(endpoint, |address| address.named = names);
    }

    fn address<T>(&self, endpoint: &Endpoint, ask: impl FnOnce(&mut Address) -> T) -> T {
        let url = endpoint.base_url.as_str().trim_end_matches('/').to_owned();
        let digest = endpoint.api_key.as_ref().map(|key| Sha256::digest(key.expose_secret()).into());
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        ask(addresses.entry((url, digest)).or_default())
    }

    /// Returns the id of the model at this endpoint, if it can be chosen.
    pub(super) fn id_of(&self, endpoint: &Endpoint) -> Option<String> {
        let remote = self.remote.read().unwrap_or_else(PoisonError::into_inner);
        let is_it = |model: &&RemoteModel| {
            let known = model.client.endpoint();
            known.model == endpoint.model && known.base_url == endpoint.base_url
        };
        remote.iter().find(is_it).map(|model| model.candidate.id.clone())
    }

    /// Returns the id of the model of a provider that a configured name means.
    pub(super) fn id_for(&self, wanted: &str) -> Option<String> {
        let remote = self.remote.read().unwrap_or_else(PoisonError::into_inner);
        let endpoints: Vec<&Endpoint> = remote.iter().map(|model| model.client.endpoint()).collect();
        place_of(wanted, &endpoints).map(|place| remote[place].candidate.id.clone())
    }

    /// Returns the models that were found on this machine, with their ids.
    pub(super) fn found(&self) -> Vec<(String, Endpoint)> {
        let found = self.sources.lock().unwrap_or_else(PoisonError::into_inner).found.clone();
        found.into_iter().filter_map(|one| Some((self.id_of(&one.endpoint)?, one.endpoint))).collect()
    }

    /// Returns the embedded model, if it can be chosen.
    pub(super) fn embedded(&self) -> Option<ModelCandidate> {
        self.local.as_ref().map(LocalModel::candidate)
    }

    pub(super) fn remote(&self) -> Vec<RemoteModel> {
        self.remote.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the model of a provider that is the default; `None` if there is none, or the embedded model is wanted.
    pub(super) fn first_remote(&self) -> Option<RemoteModel> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.wanted.as_deref() == Some(EMBEDDED) {
            return None;
        }
        self.remote.read().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }

    pub(super) fn local(&self) -> Option<&LocalModel> {
        self.local.as_ref()
    }

    /// Returns all models that can be chosen, the embedded one last.
    pub fn candidates(&self) -> Vec<ModelCandidate> {
        let remote = self.remote().into_iter().map(|model| model.candidate);
        remote.chain(self.local.as_ref().map(LocalModel::candidate)).collect()
    }

    /// Notifies `models` of every later change of the catalogue.
    pub(super) fn follow(&self, models: &Arc<Models>) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(models));
    }

    /// Sends the embedded model's status to every tenant that uses it by default.
    pub(super) fn tell_local_status(&self, status: &ModelStatus) {
        self.followers().iter().for_each(|models| models.local_status_changed(status));
    }

    fn followers(&self) -> Vec<Arc<Models>> {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|models| models.strong_count() > 0);
        followers.iter().filter_map(Weak::upgrade).collect()
    }

    /// Stops the embedded model.
    pub async fn stop(&self) {
        if let Some(local) = &self.local {
            local.stop().await;
        }
    }
}

/// Returns which endpoint a configured name means: an id with or without the address, else the name of a model. An id with
/// an address never means another one.
pub(super) fn place_of(wanted: &str, endpoints: &[&Endpoint]) -> Option<usize> {
    let by_id = endpoints
        .iter()
        .position(|one| whole_id(one) == wanted)
        .or_else(|| endpoints.iter().position(|one| plain_id(one) == wanted));
    by_id.or_else(|| endpoints.iter().position(|one| one.model == wanted))
}

fn plain_id(endpoint: &Endpoint) -> String {
    format!("{}/{}", endpoint.profile.kind.word(), endpoint.model)
}

fn address(endpoint: &Endpoint) -> String {
    let host = endpoint.base_url.host_str().unwrap_or_default().to_owned();
    endpoint.base_url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// Returns the id of a model that cannot be chosen.
pub(super) fn whole_id(endpoint: &Endpoint) -> String {
    format!("{}@{}", plain_id(endpoint), address(endpoint))
}

/// Returns the ids: `provider/model`, with the address where two would be equal, so that an id does not depend on the
/// order. Two models of one name at one host have their ids of config.yml behind the address.
fn ids(endpoints: &[ConfiguredEndpoint]) -> Vec<String> {
    let count = |id_of: fn(&Endpoint) -> String, id: &String| {
        endpoints.iter().filter(|other| id_of(&other.endpoint) == *id).count()
    };
    let unique = endpoints.iter().map(|one| {
        let (plain, whole) = (plain_id(&one.endpoint), whole_id(&one.endpoint));
        match &one.id {
            _ if count(plain_id, &plain) == 1 => plain,
            Some(id) if count(whole_id, &whole) > 1 => format!("{whole}/{id}"),
            Some(_) | None => whole,
        }
    });
    unique.collect()
}

fn candidate(id: String, endpoint: &Endpoint, from: &str) -> ModelCandidate {
    ModelCandidate {
        id,
        name: endpoint.model.clone(),
        context_window: endpoint.context_window,
        thinking: endpoint.profile.can_switch_thinking(),
        vision: endpoint.profile.vision,
        provider: endpoint.profile.kind.name().to_lowercase(),
        model: endpoint.model.clone(),
        label: endpoint.label.clone(),
        from: from.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Profile, ProfileKind};

    fn endpoint(model: &str) -> ConfiguredEndpoint {
        let endpoint = Endpoint {
            base_url: "http://127.0.0.1:1/v1".parse().unwrap(),
            model: model.to_owned(),
            label: model.to_owned(),
            api_key: None,
            context_window: 8192,
            price: None,
            reach: None,
            profile: Profile::new(ProfileKind::OpenAi, model),
        };
        ConfiguredEndpoint { id: None, endpoint, from: "a test".to_owned() }
    }

    fn models(catalogue: &ModelCatalogue) -> Vec<String> {
        catalogue.candidates().into_iter().map(|candidate| candidate.model).collect()
    }

    #[test]
    fn late_search_keeps_the_connected_provider() {
        let catalogue = ModelCatalogue::new(None);
        catalogue.set_configured(vec![endpoint("old")], None).unwrap();
        catalogue.set_configured(vec![endpoint("connected")], None).unwrap();
        catalogue.set_found(vec![endpoint("found")]).unwrap();
        assert_eq!(models(&catalogue), ["connected", "found"]);
        catalogue.set_configured(vec![endpoint("another")], None).unwrap();
        assert_eq!(models(&catalogue), ["another", "found"], "what was found stays");
    }

    #[test]
    fn wanted_model_is_the_default_as_soon_as_it_is_found() {
        let catalogue = ModelCatalogue::new(None);
        catalogue.set_configured(vec![endpoint("a"), endpoint("b")], Some("found".to_owned())).unwrap();
        assert_eq!(models(&catalogue), ["a", "b"]);
        catalogue.set_found(vec![endpoint("found")]).unwrap();
        assert_eq!(models(&catalogue), ["found", "a", "b"]);
        for wanted in ["openai/b", "openai/b@127.0.0.1:1", "b"] {
            catalogue.set_configured(vec![endpoint("a"), endpoint("b")], Some(wanted.to_owned())).unwrap();
            assert_eq!(models(&catalogue), ["b", "a", "found"], "{wanted}");
        }
        catalogue.set_configured(vec![endpoint("a"), endpoint("b")], Some("openai/b@elsewhere".to_owned())).unwrap();
        assert_eq!(models(&catalogue), ["a", "b", "found"], "an address never means another one");
    }
}
