//! The runtime: what the process has once, for any number of tenants.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::catalogue::ModelCatalogue;
use super::embedder::Embedders;
use super::local_model::{LocalModel, LocalModelFiles};
use super::models::EMBEDDED;
use crate::config::{Config, ConfiguredEndpoint};
use crate::egress::{Guard, Proxy, system_lookup};
use crate::extraction::Extractor;
use crate::provider::{ProviderError, find_local};
use crate::sandbox::{Interpreter, Sandbox, SandboxConfig};
use crate::tokens::Counter;

pub struct Runtime {
    pub config: Config,
    pub sandbox: Sandbox,
    /// The Python for `python_repl`; `None` if this machine has none.
    pub python: Option<Interpreter>,
    pub extractor: Extractor,
    pub embedders: Arc<Embedders>,
    pub tokens: Arc<Counter>,
    pub models: Arc<ModelCatalogue>,
    /// The port this server listens on. No tool may connect to it.
    pub own_port: u16,
    /// The home of the server, whose config.yml and `.env` configure it.
    pub home: PathBuf,
    /// Held while the configuration of providers is changed.
    pub(super) connecting: tokio::sync::Mutex<()>,
}

impl Runtime {
    /// Starts the runtime. `home` is the home of the server, in which the embedded model keeps its cache.
    ///
    /// # Errors
    /// Returns an error if the egress proxy cannot listen.
    pub async fn start(config: Config, home: &Path, own_port: u16) -> io::Result<Arc<Self>> {
        // Commands must not reach this machine or its network, whatever `fetch_url` may reach.
        let egress_proxy = Proxy::start(Guard::new(&[]), system_lookup()).await?;
        let sandbox = Sandbox::new(SandboxConfig::new(config.sandbox)).with_egress_proxy(Arc::new(egress_proxy));
        let embedders = Embedders::new(config.embedding.clone(), tokio::runtime::Handle::current());
        let python = Interpreter::python(&std::env::var_os("PATH").unwrap_or_default());
        if python.is_none() {
            tracing::warn!("no python3 was found, so there is no python_repl");
        }
        Ok(Arc::new(Self {
            python,
            extractor: Extractor::new(sandbox.clone()),
            embedders: Arc::new(embedders.with_rerank(config.rerank.clone())),
            tokens: Arc::new(Counter::new()),
            models: Arc::new(ModelCatalogue::new(embedded_model(&config, home, &sandbox))),
            sandbox,
            config,
            own_port,
            home: home.to_owned(),
            connecting: tokio::sync::Mutex::default(),
        }))
    }

    /// Fills the catalogue with the configured models, and searches for model servers on this machine in the
    /// background.
    pub fn find_models(self: &Arc<Self>) {
        let config = &self.config;
        if let Some(model) = &config.fallback {
            self.models.set_fallback(model.clone());
        }
        if config.wanted.as_deref() == Some(EMBEDDED) {
            return;
        }
        log_unusable(self.models.set_configured(config.endpoints.clone(), config.wanted.clone()));
        if config.find_local {
            let runtime = self.clone();
            tokio::spawn(async move { runtime.add_found_models().await });
        }
    }

    async fn add_found_models(&self) {
        let config = &self.config;
        let found = find_local().await.into_iter().map(|mut endpoint| {
            config.seeing.mark(&mut endpoint);
            ConfiguredEndpoint { endpoint, from: "found on this machine".to_owned() }
        });
        log_unusable(self.models.set_found(found.collect()));
        if let Some(wanted) = &config.wanted
            && !self.models.candidates().iter().any(|candidate| candidate.model == *wanted)
        {
            tracing::warn!(wanted, "default_model is none of the models there are; using the first");
        }
    }
}

fn log_unusable(set: Result<(), ProviderError>) {
    if let Err(error) = set {
        tracing::error!(%error, "the configured model cannot be used");
    }
}

fn embedded_model(config: &Config, home: &Path, sandbox: &Sandbox) -> Option<LocalModel> {
    let embedded = &config.embedded;
    let files = LocalModelFiles {
        program: embedded.program.clone(),
        weights: embedded.weights.clone(),
        cache: home.join("storage/model"),
        threads: embedded.threads,
        context_window: embedded.context_window,
    };
    files.program.is_file().then(|| LocalModel::new(files, sandbox.clone()))
}
