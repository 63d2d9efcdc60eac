//! The models available to this process: one catalogue, shared by all tenants, each of which chooses from it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use super::local_model::LocalModel;
use super::model_status::{ModelCandidate, ModelStatus};
use super::models::Models;
use crate::config::ConfiguredEndpoint;
use crate::provider::{Client, Endpoint, ProviderError};

/// A provider's model and its client.
#[derive(Clone)]
pub(super) struct RemoteModel {
    pub candidate: ModelCandidate,
    pub client: Arc<Client>,
}

pub struct ModelCatalogue {
    /// Held while the models are made of it, so that concurrent changes are made one after the other.
    sources: Mutex<Sources>,
    /// The first one is the default.
    remote: RwLock<Vec<RemoteModel>>,
    local: Option<LocalModel>,
    fallback: OnceLock<String>,
    /// The tenants' model choices, which are notified when the catalogue changes.
    followers: Mutex<Vec<Weak<Models>>>,
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
        let wanted = self.wanted.as_ref();
        if let Some(place) = wanted.and_then(|wanted| all.iter().position(|one| one.endpoint.model == *wanted)) {
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
            fallback: OnceLock::new(),
            followers: Mutex::default(),
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
        for (ConfiguredEndpoint { endpoint, from }, id) in endpoints.iter().zip(ids(&endpoints)) {
            match Client::new(endpoint.clone()) {
                Ok(client) => {
                    remote.push(RemoteModel { candidate: candidate(id, endpoint, from), client: Arc::new(client) });
                }
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

    /// Sets the fallback model, by the name that is sent to the provider, or [`EMBEDDED`](super::models::EMBEDDED). It
    /// need not exist yet, because models of this machine come and go. Only the first call has an effect.
    pub fn set_fallback(&self, model: String) {
        let _ = self.fallback.set(model);
    }

    pub(super) fn fallback(&self) -> Option<&String> {
        self.fallback.get()
    }

    pub(super) fn remote(&self) -> Vec<RemoteModel> {
        self.remote.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn first_remote(&self) -> Option<RemoteModel> {
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

/// Returns the ids: `provider/model`, with the address where two would be equal, so that an id does not depend on the
/// order.
fn ids(endpoints: &[ConfiguredEndpoint]) -> Vec<String> {
    let plain = |endpoint: &Endpoint| format!("{}/{}", endpoint.profile.kind.word(), endpoint.model);
    let all: Vec<String> = endpoints.iter().map(|one| plain(&one.endpoint)).collect();
    let address = |endpoint: &Endpoint| {
        let host = endpoint.base_url.host_str().unwrap_or_default().to_owned();
        endpoint.base_url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    };
    let unique = endpoints.iter().zip(&all).map(|(one, id)| {
        let twice = all.iter().filter(|other| *other == id).count() > 1;
        if twice { format!("{id}@{}", address(&one.endpoint)) } else { id.clone() }
    });
    unique.collect()
}

fn candidate(id: String, endpoint: &Endpoint, from: &str) -> ModelCandidate {
    ModelCandidate {
        id,
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
            profile: Profile::new(ProfileKind::OpenAi, model),
        };
        ConfiguredEndpoint { endpoint, from: "a test".to_owned() }
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
    }
}
