//! Which model of the catalogue a tenant uses: one of a configured provider, one found on this machine, or the embedded
//! one, which is started on first use.

mod fallback;
mod naming;
mod own;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

pub use fallback::EMBEDDED;
pub(super) use own::OwnModels;

use super::catalogue::{ModelCatalogue, OWN_PREFIX, RemoteModel, whole_id};
use super::hub::Hub;
use super::local_model::{LoadState, LocalModel};
use super::model_status::{ModelCandidate, ModelState, ModelStatus};
use super::notice::Notice;
use crate::domain::{Chosen, ErrorParams};
use crate::provider::{
    Audience, Client, Endpoint, ModelRequest, Profile, ProfileKind, ProviderError, Recipient, Thinking,
};

/// Why no model can be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{0}")]
    NoModel(String),
    /// The model that the session has chosen is not in the catalogue.
    #[error(
        "The model \"{0}\" is no longer available. Choose another model, restore it in the \
         settings, or start its server"
    )]
    Gone(String),
    /// There is no model of this name to choose.
    #[error("there is no model \"{0}\"; GET /api/models lists those that can be chosen")]
    Unknown(String),
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ModelError {
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::NoModel(_) => "no_model",
            ModelError::Gone(_) | ModelError::Unknown(_) => "unknown_model",
            ModelError::Provider(error) => error.code(),
        }
    }

    pub fn retryable(&self) -> bool {
        match self {
            ModelError::NoModel(_) | ModelError::Gone(_) => true,
            ModelError::Unknown(_) => false,
            ModelError::Provider(error) => error.retryable(),
        }
    }

    /// Returns the values that the error's sentence contains, by name.
    pub fn params(&self) -> ErrorParams {
        match self {
            ModelError::NoModel(_) => ErrorParams::new(),
            ModelError::Gone(model) | ModelError::Unknown(model) => {
                ErrorParams::from([("model".to_owned(), model.clone())])
            }
            ModelError::Provider(error) => error.params(),
        }
    }
}

/// Receives progress while the embedded model starts.
pub trait StartProgress: Send {
    fn told(&mut self, message: &str, progress: Option<f32>) -> impl Future<Output = ()> + Send;
}

/// Ignores the progress.
pub struct NoProgress;

impl StartProgress for NoProgress {
    async fn told(&mut self, _: &str, _: Option<f32>) {}
}

/// The model that a session's choice resolves to.
enum Target {
    Default,
    Remote(RemoteModel),
    Local,
}

enum Choice {
    None(String),
    Remote(RemoteModel),
    Local,
}

/// The error sentence when there is no model.
pub const NO_MODEL: &str = "No model connected. Connect a provider on the page, which works at once. Or set \
DEEPSEEK_API_KEY, or OPENAI_API_KEY with OPENAI_BASE_URL, in .env, run Ollama on this machine, or download the small \
built-in model with `make model`, and restart miniclaw.";

/// The models as one tenant sees them.
pub struct Models {
    catalogue: Arc<ModelCatalogue>,
    /// Those of the providers that the person has connected for themselves.
    own: RwLock<OwnModels>,
    choice: RwLock<Choice>,
    status: RwLock<ModelStatus>,
    hub: Arc<Hub>,
    /// Builds the system prompt and tools that every session's request begins with.
    shared_prefix: SharedPrefix,
    /// Whom errors of providers are for.
    audience: Audience,
}

/// Returns the system prompt and tools that every session's request begins with.
pub type SharedPrefix = Box<dyn Fn() -> BoxFuture<'static, ModelRequest> + Send + Sync>;

/// Interval between polls of a starting model.
const POLL: Duration = Duration::from_millis(250);

impl Models {
    pub fn new(
        catalogue: Arc<ModelCatalogue>,
        hub: Arc<Hub>,
        (shared_prefix, audience): (SharedPrefix, Audience),
    ) -> Arc<Self> {
        let (choice, status) = default_of(&catalogue, &OwnModels::default());
        let models = Arc::new(Self {
            catalogue: catalogue.clone(),
            own: RwLock::default(),
            choice: RwLock::new(choice),
            status: RwLock::new(status),
            hub,
            shared_prefix,
            audience,
        });
        catalogue.follow(&models);
        models
    }

    /// Replaces the models of the providers that the person has connected for themselves.
    pub(super) fn set_own(&self, own: OwnModels) {
        *write(&self.own) = own;
        self.catalogue_changed();
    }

    pub(super) fn catalogue_changed(&self) {
        let (choice, status) = default_of(&self.catalogue, &read(&self.own));
        *write(&self.choice) = choice;
        if !self.set(status) {
            // The default model is the same, but the choice of others may have changed.
            self.hub.notice(Notice::ModelChanged(self.status()));
        }
    }

    pub fn status(&self) -> ModelStatus {
        read(&self.status).clone()
    }

    /// Returns the status of the model that would answer a session with this choice.
    pub fn status_of(&self, chosen: &Chosen) -> ModelStatus {
        match self.target(chosen) {
            Ok(Target::Default) => self.status(),
            Ok(Target::Remote(model)) => remote_status(model.client.endpoint()),
            Ok(Target::Local) => self.catalogue.local().map_or_else(|| self.status(), LocalModel::status),
            Err(gone) => {
                let model = chosen.model.clone().unwrap_or_default();
                ModelStatus { label: model.clone(), model, ..none_status(&gone.to_string()) }
            }
        }
    }

    /// Returns the exact body in which `request` would be sent.
    pub fn body(&self, chosen: &Chosen, request: &ModelRequest) -> Value {
        match self.remote(chosen) {
            Some(client) => thinking(client, chosen).body(request),
            None => {
                let profile = Profile::new(ProfileKind::Local, "");
                let model = &self.status_of(chosen).model;
                crate::provider::body(Recipient { profile: &profile, model, origin: "", context_window: 0 }, request)
            }
        }
    }

    /// Returns all models that can be chosen.
    pub fn candidates(&self) -> Vec<ModelCandidate> {
        let own = read(&self.own).models.iter().map(|model| model.candidate.clone()).collect();
        [own, self.catalogue.candidates()].concat()
    }

    /// Returns the id of the default model; `None` if there is no model.
    pub fn default_id(&self) -> Option<String> {
        match &*read(&self.choice) {
            Choice::None(_) => None,
            Choice::Remote(model) => Some(model.candidate.id.clone()),
            Choice::Local => self.catalogue.local().map(|local| local.candidate().id),
        }
    }

    /// Resolves a choice, by the id or by the part of it before the address.
    fn target(&self, chosen: &Chosen) -> Result<Target, ModelError> {
        let Some(wanted) = &chosen.model else { return Ok(Target::Default) };
        if wanted.starts_with(OWN_PREFIX) {
            let found = read(&self.own).find(wanted);
            return found.map(Target::Remote).ok_or_else(|| ModelError::Gone(wanted.clone()));
        }
        let remote = self.catalogue.remote();
        let plain = |model: &&RemoteModel| model.candidate.id.split('@').next() == Some(wanted);
        let whole = |model: &&RemoteModel| whole_id(model.client.endpoint()) == *wanted;
        let found = remote.iter().find(|model| model.candidate.id == *wanted);
        let found = found.or_else(|| remote.iter().find(whole)).or_else(|| remote.iter().find(plain));
        if let Some(found) = found {
            return Ok(Target::Remote(found.clone()));
        }
        let embedded = self.catalogue.local().is_some_and(|local| local.candidate().id == *wanted);
        if embedded { Ok(Target::Local) } else { Err(ModelError::Gone(wanted.clone())) }
    }

    /// Whether the chosen model's thinking can be switched on and off.
    pub fn can_switch_thinking(&self, chosen: &Chosen) -> bool {
        self.remote(chosen).is_some_and(|client| client.endpoint().profile.can_switch_thinking())
    }

    /// Returns the client of the chosen provider's model; `None` for the embedded model and if there is no model.
    fn remote(&self, chosen: &Chosen) -> Option<Arc<Client>> {
        match (self.target(chosen).ok()?, &*read(&self.choice)) {
            (Target::Remote(model), _) => Some(model.client),
            (Target::Default, Choice::Remote(model)) => Some(model.client.clone()),
            (Target::Default, Choice::None(_) | Choice::Local) | (Target::Local, _) => None,
        }
    }

    /// Returns the client for a session with this choice, starting the embedded model if necessary.
    pub async fn client(
        self: &Arc<Self>,
        chosen: &Chosen,
        watch: &mut impl StartProgress,
    ) -> Result<Arc<Client>, ModelError> {
        let local = match self.target(chosen)? {
            Target::Remote(model) => return Ok(self.for_session(&model.client, chosen)),
            Target::Local => self.catalogue.local(),
            Target::Default => match &*read(&self.choice) {
                Choice::None(reason) => return Err(ModelError::NoModel(reason.clone())),
                Choice::Remote(model) => return Ok(self.for_session(&model.client, chosen)),
                Choice::Local => self.catalogue.local(),
            },
        };
        let Some(local) = local else { return Err(ModelError::NoModel(NO_MODEL.to_owned())) };
        self.start(local, watch).await
    }

    /// Returns the client with what the session has chosen, and with errors for those who use it.
    fn for_session(&self, client: &Arc<Client>, chosen: &Chosen) -> Arc<Client> {
        let client = thinking(client.clone(), chosen);
        match self.audience {
            // Who has chosen the address of a provider may know it.
            _ if client.endpoint().reach.is_some() => client,
            Audience::Admin => client,
            Audience::Member => Arc::new(client.with_audience(Audience::Member)),
        }
    }

    async fn start(
        self: &Arc<Self>,
        local: &LocalModel,
        watch: &mut impl StartProgress,
    ) -> Result<Arc<Client>, ModelError> {
        loop {
            let started = match local.ensure_started().await {
                Ok(started) => started,
                Err(reason) => return Err(self.not_started(local, reason)),
            };
            loop {
                match started.state().await {
                    LoadState::Done if started.claim_prefix() => {
                        self.prefix_changed().await;
                        return Ok(started.client);
                    }
                    LoadState::Done => return Ok(started.client),
                    LoadState::InProgress(progress) => {
                        self.catalogue.tell_local_status(&ModelStatus {
                            state: ModelState::Starting,
                            progress,
                            ..local.status()
                        });
                        watch.told("Starting the small model", progress).await;
                        tokio::time::sleep(POLL).await;
                    }
                    LoadState::Failed(reason) => return Err(self.not_started(local, reason)),
                    // The outer loop starts another process; `ensure_started` limits how often.
                    LoadState::NoProgress(reason) => {
                        tracing::warn!(reason, "the embedded model is silent");
                        local.discard(&started).await;
                        break;
                    }
                }
            }
        }
    }

    fn not_started(&self, local: &LocalModel, reason: String) -> ModelError {
        self.catalogue.tell_local_status(&ModelStatus {
            detail: Some(reason.clone()),
            state: local.absent_state(),
            ..local.status()
        });
        ModelError::NoModel(reason)
    }

    /// Starts the embedded model in the background if it is the default, so that it is warm when the first question
    /// comes.
    pub fn wake(self: &Arc<Self>) {
        if !matches!(&*read(&self.choice), Choice::Local) {
            return;
        }
        let models = self.clone();
        tokio::spawn(async move {
            if let Err(error) = models.client(&Chosen::default(), &mut NoProgress).await {
                tracing::warn!(%error, "the embedded model did not start");
            }
        });
    }

    /// Called when the files behind the system prompt have changed: the embedded model, if it runs, processes the new
    /// prompt.
    pub async fn prefix_changed(self: &Arc<Self>) {
        let Some(local) = self.catalogue.local() else { return };
        if let Some(started) = local.running().await {
            started.read_prefix(&(self.shared_prefix)().await).await;
            let models = self.clone();
            tokio::spawn(async move { models.follow_prefix().await });
        }
    }

    /// Publishes the progress of processing the shared prompt until it is done.
    async fn follow_prefix(&self) {
        let Some(local) = self.catalogue.local() else { return };
        let Some(started) = local.running().await else { return };
        while let Some(progress) = started.reading().await {
            self.catalogue.tell_local_status(&ModelStatus {
                state: ModelState::Reading,
                progress: Some(progress),
                ..local.status()
            });
            tokio::time::sleep(POLL).await;
        }
        self.catalogue.tell_local_status(&ModelStatus { state: ModelState::Ready, progress: None, ..local.status() });
    }

    /// Updates the status if the embedded model is this tenant's default.
    pub(super) fn local_status_changed(&self, status: &ModelStatus) {
        if matches!(&*read(&self.choice), Choice::Local) {
            self.set(status.clone());
        }
    }

    /// Sets the status and notifies clients of a change. Returns whether it changed.
    fn set(&self, status: ModelStatus) -> bool {
        let mut current = write(&self.status);
        let changed = *current != status;
        if changed {
            current.clone_from(&status);
            drop(current);
            self.hub.notice(Notice::ModelChanged(status));
        }
        changed
    }
}

/// Returns the default model and its status.
fn default_of(catalogue: &ModelCatalogue, own: &OwnModels) -> (Choice, ModelStatus) {
    let first = own.chosen().or_else(|| catalogue.first_remote());
    let first = if catalogue.local().is_none() { first.or_else(|| own.models.first().cloned()) } else { first };
    match (first, catalogue.local()) {
        (Some(first), _) => {
            let status = remote_status(first.client.endpoint());
            (Choice::Remote(first), status)
        }
        (None, Some(local)) => (Choice::Local, local.status()),
        (None, None) => (Choice::None(NO_MODEL.to_owned()), none_status(NO_MODEL)),
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the client with the session's choice of thinking.
fn thinking(client: Arc<Client>, chosen: &Chosen) -> Arc<Client> {
    match chosen.thinking {
        None => client,
        Some(on) => Arc::new(client.with_thinking(if on { Thinking::On } else { Thinking::Off })),
    }
}

fn remote_status(endpoint: &Endpoint) -> ModelStatus {
    ModelStatus {
        provider: endpoint.profile.kind.name().to_lowercase(),
        model: endpoint.model.clone(),
        label: endpoint.label.clone(),
        state: ModelState::Ready,
        progress: None,
        detail: None,
        small: false,
        context_window: endpoint.context_window,
        vision: endpoint.profile.vision,
    }
}

fn none_status(detail: &str) -> ModelStatus {
    ModelStatus {
        provider: "none".to_owned(),
        model: String::new(),
        label: String::new(),
        state: ModelState::None,
        progress: None,
        detail: Some(detail.to_owned()),
        small: false,
        context_window: 0,
        vision: false,
    }
}
