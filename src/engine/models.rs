//! Which model answers: a configured provider, one found on this machine, or the embedded one, started on first use.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

use super::hub::Hub;
use super::local_model::{Loading, LocalModel};
use super::model_status::{Candidate, ModelState, ModelStatus};
use super::notice::Notice;
use crate::provider::{Client, Endpoint, ModelRequest, Profile, ProfileKind, ProviderError};

/// Why there is no model to ask.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{0}")]
    NoModel(String),
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ModelError {
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::NoModel(_) => "no_model",
            ModelError::Provider(error) => error.code(),
        }
    }

    pub fn retryable(&self) -> bool {
        match self {
            ModelError::NoModel(_) => true,
            ModelError::Provider(error) => error.retryable(),
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

enum Choice {
    None(String),
    Remote(Arc<Client>),
    Local,
}

/// What to say where there is nothing to ask.
pub const NO_MODEL: &str = "No model is connected. Put DEEPSEEK_API_KEY, or OPENAI_API_KEY with OPENAI_BASE_URL, into .env \
and start again, run Ollama on this machine, or get the small embedded model with `make model`.";

pub struct Models {
    choice: RwLock<Choice>,
    status: RwLock<ModelStatus>,
    candidates: RwLock<Vec<Candidate>>,
    local: Option<LocalModel>,
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
            candidates: RwLock::default(),
            local,
            hub,
            shared_prefix,
        })
    }

    /// Chooses the first of `endpoints`; without any, the embedded model where it is there.
    ///
    /// # Errors
    /// When a client for the first endpoint cannot be made.
    pub fn choose(&self, endpoints: &[(Endpoint, String)]) -> Result<(), ProviderError> {
        let mut candidates: Vec<Candidate> =
            endpoints.iter().map(|(endpoint, from)| candidate(endpoint, from)).collect();
        if let Some(local) = &self.local {
            candidates.push(local.candidate());
        }
        *write(&self.candidates) = candidates;
        let (choice, status) = match (endpoints.first(), &self.local) {
            (Some((endpoint, _)), _) => {
                let client = Client::new(endpoint.clone())?;
                (Choice::Remote(Arc::new(client)), remote_status(endpoint))
            }
            (None, Some(local)) => (Choice::Local, local.status()),
            (None, None) => (Choice::None(NO_MODEL.to_owned()), none_status(NO_MODEL)),
        };
        *write(&self.choice) = choice;
        self.set(status);
        Ok(())
    }

    pub fn status(&self) -> ModelStatus {
        read(&self.status).clone()
    }

    /// The exact body that `request` would be sent as.
    pub fn body(&self, request: &ModelRequest) -> Value {
        match &*read(&self.choice) {
            Choice::Remote(client) => client.body(request),
            Choice::None(_) | Choice::Local => {
                let profile = Profile::new(ProfileKind::Local, "");
                let status = self.status();
                crate::provider::body(&profile, &status.model, request)
            }
        }
    }

    pub fn candidates(&self) -> Vec<Candidate> {
        read(&self.candidates).clone()
    }

    /// The client to ask, started if need be.
    pub async fn client(self: &Arc<Self>, watch: &mut impl Watch) -> Result<Arc<Client>, ModelError> {
        let local = match &*read(&self.choice) {
            Choice::None(reason) => return Err(ModelError::NoModel(reason.clone())),
            Choice::Remote(client) => return Ok(client.clone()),
            Choice::Local => self.local.as_ref(),
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
                        self.set(ModelStatus { state: ModelState::Starting, progress, ..local.status() });
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
        self.set(ModelStatus { detail: Some(reason.clone()), state: local.absent_state(), ..local.status() });
        ModelError::NoModel(reason)
    }

    /// Begins to start the embedded model, if it is the chosen one, so that it is warm when the first question comes.
    pub fn wake(self: &Arc<Self>) {
        if !matches!(&*read(&self.choice), Choice::Local) {
            return;
        }
        let models = self.clone();
        tokio::spawn(async move {
            if let Err(error) = models.client(&mut Silent).await {
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
            self.set(ModelStatus { state: ModelState::Reading, progress: Some(progress), ..local.status() });
            tokio::time::sleep(POLL).await;
        }
        self.set(ModelStatus { state: ModelState::Ready, progress: None, ..local.status() });
    }

    /// Stops the embedded model.
    pub async fn stop(&self) {
        if let Some(local) = &self.local {
            local.stop().await;
        }
    }

    fn set(&self, status: ModelStatus) {
        let mut current = write(&self.status);
        if *current != status {
            current.clone_from(&status);
            drop(current);
            self.hub.notice(Notice::ModelChanged(status));
        }
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

fn candidate(endpoint: &Endpoint, from: &str) -> Candidate {
    Candidate {
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
    }
}
