//! The models available to this process: one catalogue, shared by all tenants, each of which chooses from it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use super::local_model::LocalModel;
use super::model_status::{ModelCandidate, ModelStatus};
use super::models::Models;
use crate::provider::{Client, Endpoint, ProviderError};

/// A provider's model and its client.
#[derive(Clone)]
pub(super) struct RemoteModel {
    pub candidate: ModelCandidate,
    pub client: Arc<Client>,
}

pub struct ModelCatalogue {
    /// The first one is the default.
    remote: RwLock<Vec<RemoteModel>>,
    local: Option<LocalModel>,
    fallback: OnceLock<String>,
    /// The tenants' model choices, which are notified when the catalogue changes.
    followers: Mutex<Vec<Weak<Models>>>,
}

impl ModelCatalogue {
    pub fn new(local: Option<LocalModel>) -> Self {
        Self { remote: RwLock::default(), local, fallback: OnceLock::new(), followers: Mutex::default() }
    }

    /// Replaces the models of providers. The first one is the default; if there is none, the embedded model is.
    ///
    /// # Errors
    /// Returns an error if no client can be created for the first endpoint; nothing changes then. Other endpoints
    /// without a client are skipped.
    pub fn set(&self, endpoints: &[(Endpoint, String)]) -> Result<(), ProviderError> {
        let ids = ids(endpoints);
        let mut remote = Vec::new();
        for ((endpoint, from), id) in endpoints.iter().zip(ids) {
            match Client::new(endpoint.clone()) {
                Ok(client) => {
                    remote.push(RemoteModel { candidate: candidate(id, endpoint, from), client: Arc::new(client) });
                }
                Err(error) if remote.is_empty() => return Err(error),
                Err(error) => tracing::warn!(id, %error, "this model cannot be used"),
            }
        }
        *self.remote.write().unwrap_or_else(PoisonError::into_inner) = remote;
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
fn ids(endpoints: &[(Endpoint, String)]) -> Vec<String> {
    let plain = |endpoint: &Endpoint| format!("{}/{}", endpoint.profile.kind.word(), endpoint.model);
    let all: Vec<String> = endpoints.iter().map(|(endpoint, _)| plain(endpoint)).collect();
    let address = |endpoint: &Endpoint| {
        let host = endpoint.base_url.host_str().unwrap_or_default().to_owned();
        endpoint.base_url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    };
    let unique = endpoints.iter().zip(&all).map(|((endpoint, _), id)| {
        let twice = all.iter().filter(|other| *other == id).count() > 1;
        if twice { format!("{id}@{}", address(endpoint)) } else { id.clone() }
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
