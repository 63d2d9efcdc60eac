//! Which model answers: a configured provider, one found on this machine, or the embedded one, started on first use.

mod fallback;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

pub use fallback::EMBEDDED;

use super::hub::Hub;
use super::local_model::{Loading, LocalModel};
use super::model_status::{Candidate, ModelState, ModelStatus};
use super::notice::Notice;
use crate::domain::{About, Chosen};
use crate::provider::{Client, Endpoint, ModelRequest, Profile, ProfileKind, ProviderError, Thinking};

/// Why there is no model to ask.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{0}")]
    NoModel(String),
    /// The session's own choice is none of the models there are.
    #[error(
        "there is no model \"{0}\" here (any more): choose another one below the text field, or bring it back (config.yml, \
         .env, or start its server), and start miniclaw again"
    )]
    Gone(String),
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ModelError {
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::NoModel(_) => "no_model",
            ModelError::Gone(_) => "unknown_model",
            ModelError::Provider(error) => error.code(),
        }
    }

    pub fn retryable(&self) -> bool {
        match self {
            ModelError::NoModel(_) | ModelError::Gone(_) => true,
            ModelError::Provider(error) => error.retryable(),
        }
    }

    /// What the sentence speaks of.
    pub fn about(&self) -> About {
        match self {
            ModelError::NoModel(_) => About::new(),
            ModelError::Gone(model) => About::from([("model".to_owned(), model.clone())]),
            ModelError::Provider(error) => error.about(),
        }
    }
}

/// Who is told while the model starts.
pub trait Watch: Send {
    fn told(&mut self, message: &str, progress: Option<f32>) -> impl Future<Output = ()> + Send;
}

/// Nobody is.
pub struct Silent;

impl Watch for Silent {
    async fn told(&mut self, _: &str, _: Option<f32>) {}
}

/// A model that could be asked.
#[derive(Clone)]
struct Known {
    candidate: Candidate,
    client: Arc<Client>,
}

/// What a session's choice comes to.
enum Target {
    Default,
    Known(Known),
    Local,
}

enum Choice {
    None(String),
    Remote(Arc<Client>),
    Local,
}

/// What to say where there is nothing to ask.
pub const NO_MODEL: &str = "No model is connected. Connect a provider in the page, which works at once; or put \
DEEPSEEK_API_KEY, or OPENAI_API_KEY with OPENAI_BASE_URL, into .env, run Ollama on this machine, or get the small embedded \
model with `make model`, and start miniclaw again.";

pub struct Models {
    choice: RwLock<Choice>,
    status: RwLock<ModelStatus>,
    /// All that could be chosen, without the embedded one.
    known: RwLock<Vec<Known>>,
    local: Option<LocalModel>,
    /// The one to ask when another does not answer (`fallback_model`).
    fallback: OnceLock<String>,
    hub: Arc<Hub>,
    /// The system prompt and tools that every session's request begins with.
    shared_prefix: Box<dyn Fn() -> ModelRequest + Send + Sync>,
}

/// Polls of a starting model.
const POLL: Duration = Duration::from_millis(250);

impl Models {
    pub fn new(
        hub: Arc<Hub>,
        local: Option<LocalModel>,
        shared_prefix: Box<dyn Fn() -> ModelRequest + Send + Sync>,
    ) -> Arc<Self> {
        let status = none_status(NO_MODEL);
        Arc::new(Self {
            choice: RwLock::new(Choice::None(NO_MODEL.to_owned())),
            status: RwLock::new(status),
            known: RwLock::default(),
            local,
            fallback: OnceLock::new(),
            hub,
            shared_prefix,
        })
    }

    /// Chooses the first of `endpoints`; without any, the embedded model where it is there.
    ///
    /// # Errors
    /// When a client for the first endpoint cannot be made.
    pub fn choose(&self, endpoints: &[(Endpoint, String)]) -> Result<(), ProviderError> {
        let ids = ids(endpoints);
        let mut known = Vec::new();
        for ((endpoint, from), id) in endpoints.iter().zip(ids) {
            match Client::new(endpoint.clone()) {
                Ok(client) => known.push(Known { candidate: candidate(id, endpoint, from), client: Arc::new(client) }),
                Err(error) if known.is_empty() => return Err(error),
                Err(error) => tracing::warn!(id, %error, "this model cannot be used"),
            }
        }
        let (choice, status) = match (known.first(), &self.local) {
            (Some(first), _) => (Choice::Remote(first.client.clone()), remote_status(first.client.endpoint())),
            (None, Some(local)) => (Choice::Local, local.status()),
            (None, None) => (Choice::None(NO_MODEL.to_owned()), none_status(NO_MODEL)),
        };
        let more = known.len() != read(&self.known).len();
        *write(&self.known) = known;
        *write(&self.choice) = choice;
        let changed = self.set(status);
        if more && !changed {
            // The same one answers, and there are others by now.
            self.hub.notice(Notice::ModelChanged(self.status()));
        }
        Ok(())
    }

    pub fn status(&self) -> ModelStatus {
        read(&self.status).clone()
    }

    /// The model that would answer a session with this choice.
    pub fn status_of(&self, chosen: &Chosen) -> ModelStatus {
        match self.target(chosen) {
            Ok(Target::Default) => self.status(),
            Ok(Target::Known(known)) => remote_status(known.client.endpoint()),
            Ok(Target::Local) => self.local.as_ref().map_or_else(|| self.status(), LocalModel::status),
            Err(gone) => {
                let model = chosen.model.clone().unwrap_or_default();
                ModelStatus { label: model.clone(), model, ..none_status(&gone.to_string()) }
            }
        }
    }

    /// The exact body that `request` would be sent as.
    pub fn body(&self, chosen: &Chosen, request: &ModelRequest) -> Value {
        match self.remote(chosen) {
            Some(client) => thinking(client, chosen).body(request),
            None => {
                let profile = Profile::new(ProfileKind::Local, "");
                crate::provider::body(&profile, &self.status_of(chosen).model, request)
            }
        }
    }

    /// All that could be chosen.
    pub fn candidates(&self) -> Vec<Candidate> {
        let known = read(&self.known).iter().map(|known| known.candidate.clone()).collect::<Vec<_>>();
        known.into_iter().chain(self.local.as_ref().map(LocalModel::candidate)).collect()
    }

    /// The id of the model that answers where nothing was chosen.
    pub fn default_id(&self) -> Option<String> {
        match &*read(&self.choice) {
            Choice::None(_) => None,
            Choice::Remote(_) => read(&self.known).first().map(|known| known.candidate.id.clone()),
            Choice::Local => self.local.as_ref().map(|local| local.candidate().id),
        }
    }

    /// What a choice comes to, by the id or by the part of it before the address.
    fn target(&self, chosen: &Chosen) -> Result<Target, ModelError> {
        let Some(wanted) = &chosen.model else { return Ok(Target::Default) };
        let known = read(&self.known);
        let plain = |known: &&Known| known.candidate.id.split('@').next() == Some(wanted);
        let found = known.iter().find(|known| known.candidate.id == *wanted).or_else(|| known.iter().find(plain));
        if let Some(found) = found {
            return Ok(Target::Known(found.clone()));
        }
        let embedded = self.local.as_ref().is_some_and(|local| local.candidate().id == *wanted);
        if embedded { Ok(Target::Local) } else { Err(ModelError::Gone(wanted.clone())) }
    }

    /// Whether a session may choose this now.
    ///
    /// # Errors
    /// [`ModelError::Gone`].
    pub fn check(&self, chosen: &Chosen) -> Result<(), ModelError> {
        self.target(chosen).map(|_| ())
    }

    /// Whether the model of a choice can be told to think, or not to.
    pub fn can_switch_thinking(&self, chosen: &Chosen) -> bool {
        self.remote(chosen).is_some_and(|client| client.endpoint().profile.has_switch())
    }

    /// Who is asked for this choice, unless that is the embedded model or nobody.
    fn remote(&self, chosen: &Chosen) -> Option<Arc<Client>> {
        match (self.target(chosen).ok()?, &*read(&self.choice)) {
            (Target::Known(known), _) => Some(known.client),
            (Target::Default, Choice::Remote(client)) => Some(client.clone()),
            (Target::Default, Choice::None(_) | Choice::Local) | (Target::Local, _) => None,
        }
    }

    /// The client to ask for a session with this choice, started if need be.
    pub async fn client(self: &Arc<Self>, chosen: &Chosen, watch: &mut impl Watch) -> Result<Arc<Client>, ModelError> {
        let local = match self.target(chosen)? {
            Target::Known(known) => return Ok(thinking(known.client, chosen)),
            Target::Local => self.local.as_ref(),
            Target::Default => match &*read(&self.choice) {
                Choice::None(reason) => return Err(ModelError::NoModel(reason.clone())),
                Choice::Remote(client) => return Ok(thinking(client.clone(), chosen)),
                Choice::Local => self.local.as_ref(),
            },
        };
        let Some(local) = local else { return Err(ModelError::NoModel(NO_MODEL.to_owned())) };
        self.start(local, watch).await
    }

    async fn start(self: &Arc<Self>, local: &LocalModel, watch: &mut impl Watch) -> Result<Arc<Client>, ModelError> {
        loop {
            let started = match local.ensure_started().await {
                Ok(started) => started,
                Err(reason) => return Err(self.not_started(local, reason)),
            };
            loop {
                match started.state().await {
                    Loading::Done if started.claim_prefix() => {
                        self.prefix_changed().await;
                        return Ok(started.client);
                    }
                    Loading::Done => return Ok(started.client),
                    Loading::Under(progress) => {
                        self.set_local(ModelStatus { state: ModelState::Starting, progress, ..local.status() });
                        watch.told("the small model is starting", progress).await;
                        tokio::time::sleep(POLL).await;
                    }
                    Loading::Failed(reason) => return Err(self.not_started(local, reason)),
                    // Another one is started in its place; how often is limited there.
                    Loading::Silent(reason) => {
                        tracing::warn!(reason, "the embedded model is silent");
                        local.discard(&started).await;
                        break;
                    }
                }
            }
        }
    }

    fn not_started(&self, local: &LocalModel, reason: String) -> ModelError {
        self.set_local(ModelStatus { detail: Some(reason.clone()), state: local.absent_state(), ..local.status() });
        ModelError::NoModel(reason)
    }

    /// Begins to start the embedded model, if it is the chosen one, so that it is warm when the first question comes.
    pub fn wake(self: &Arc<Self>) {
        if !matches!(&*read(&self.choice), Choice::Local) {
            return;
        }
        let models = self.clone();
        tokio::spawn(async move {
            if let Err(error) = models.client(&Chosen::default(), &mut Silent).await {
                tracing::warn!(%error, "the embedded model did not start");
            }
        });
    }

    /// The files behind the system prompt changed: the embedded model, if it runs, reads the new one.
    pub async fn prefix_changed(self: &Arc<Self>) {
        let Some(local) = &self.local else { return };
        if let Some(started) = local.running().await {
            started.read_prefix(&(self.shared_prefix)()).await;
            let models = self.clone();
            tokio::spawn(async move { models.follow_prefix().await });
        }
    }

    /// Shows how the reading of the shared prompt is coming on, until it is done.
    async fn follow_prefix(&self) {
        let Some(local) = &self.local else { return };
        let Some(started) = local.running().await else { return };
        while let Some(progress) = started.reading().await {
            self.set_local(ModelStatus { state: ModelState::Reading, progress: Some(progress), ..local.status() });
            tokio::time::sleep(POLL).await;
        }
        self.set_local(ModelStatus { state: ModelState::Ready, progress: None, ..local.status() });
    }

    /// Stops the embedded model.
    pub async fn stop(&self) {
        if let Some(local) = &self.local {
            local.stop().await;
        }
    }

    /// The embedded model's state is everybody's business only while it answers by default.
    fn set_local(&self, status: ModelStatus) {
        if matches!(&*read(&self.choice), Choice::Local) {
            self.set(status);
        }
    }

    /// Whether it was another one before.
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

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// The client as the session wants it.
fn thinking(client: Arc<Client>, chosen: &Chosen) -> Arc<Client> {
    match chosen.thinking {
        None => client,
        Some(on) => Arc::new(client.with_thinking(if on { Thinking::On } else { Thinking::Off })),
    }
}

/// `provider/model`; the address is added where two would be the same, so that an id does not depend on their order.
fn ids(endpoints: &[(Endpoint, String)]) -> Vec<String> {
    let plain = |endpoint: &Endpoint| format!("{}/{}", endpoint.profile.kind.word(), endpoint.model);
    let all: Vec<String> = endpoints.iter().map(|(endpoint, _)| plain(endpoint)).collect();
    let address = |endpoint: &Endpoint| {
        let host = endpoint.base_url.host_str().unwrap_or_default().to_owned();
        endpoint.base_url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    };
    let told = endpoints.iter().zip(&all).map(|((endpoint, _), id)| {
        let twice = all.iter().filter(|other| *other == id).count() > 1;
        if twice { format!("{id}@{}", address(endpoint)) } else { id.clone() }
    });
    told.collect()
}

fn candidate(id: String, endpoint: &Endpoint, from: &str) -> Candidate {
    Candidate {
        id,
        context_window: endpoint.context_window,
        thinking: endpoint.profile.has_switch(),
        vision: endpoint.profile.vision,
        provider: endpoint.profile.kind.name().to_lowercase(),
        model: endpoint.model.clone(),
        label: endpoint.label.clone(),
        from: from.to_owned(),
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
