//! The runtime: what the process has once, for any number of tenants.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::catalogue::ModelCatalogue;
use super::embedder::Embedders;
use super::local_model::{LocalModel, LocalModelFiles};
use super::metrics::Metrics;
use super::models::EMBEDDED;
use super::projects::MAX_UPLOADS;
use super::server_settings::ConfigFile;
use super::traces::Traces;
use crate::agent::idle_time::IdleTime;
use crate::config::people::PeopleConfig;
use crate::config::settings::SettingSource;
use crate::config::{Config, ConfiguredEndpoint};
use crate::egress::{Guard, Proxy, system_lookup};
use crate::extraction::Extractor;
use crate::provider::{ProviderError, find_local};
use crate::sandbox::{Interpreter, Sandbox, SandboxConfig};
use crate::tokens::Counter;

pub struct Runtime {
    /// Replaced as a whole when the configuration changes; see [`Runtime::config`].
    config: RwLock<Arc<Config>>,
    /// Host names besides localhost that the server answers to, as they are now.
    pub host_names: Arc<RwLock<Vec<String>>>,
    /// What is known of config.yml as it is on disk.
    pub(super) config_file: RwLock<ConfigFile>,
    pub sandbox: Sandbox,
    /// The Python for `python_repl`; `None` if this machine has none.
    pub python: Option<Interpreter>,
    pub extractor: Extractor,
    pub embedders: Arc<Embedders>,
    pub idle_time: Arc<IdleTime>,
    pub tokens: Arc<Counter>,
    pub models: Arc<ModelCatalogue>,
    /// `None` unless `metrics` in config.yml is on.
    pub metrics: Option<Arc<Metrics>>,
    /// `None` unless `traces` in config.yml names a collector.
    pub traces: Option<Arc<Traces>>,
    /// The port this server listens on. No tool may connect to it.
    pub own_port: u16,
    /// The home of the server, whose config.yml and `.env` configure it.
    pub home: PathBuf,
    /// One for each upload that may arrive at once: each keeps a thread that writes.
    pub(super) upload_slots: Arc<Semaphore>,
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
            idle_time: Arc::default(),
            tokens: Arc::new(Counter::new()),
            models: Arc::new(ModelCatalogue::new(embedded_model(&config, home, &sandbox))),
            sandbox,
            metrics: config.metrics.then(Arc::default),
            traces: config.traces.as_ref().map(Traces::start).transpose()?.map(Arc::new),
            host_names: Arc::new(RwLock::new(config.host_names.clone())),
            config: RwLock::new(Arc::new(config)),
            config_file: RwLock::default(),
            own_port,
            home: home.to_owned(),
            upload_slots: Arc::new(Semaphore::new(MAX_UPLOADS)),
            connecting: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns the configuration as it is now. Whoever does one thing in several steps keeps it.
    pub fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fills the catalogue with the configured models, and searches for model servers on this machine in the
    /// background.
    pub fn find_models(self: &Arc<Self>) {
        let config = self.config();
        self.set_models(&config);
        self.search(&config);
    }

    /// Uses another configuration from now on. What it says about the sandbox, the address, the index and the embeddings
    /// takes effect after a restart.
    pub(super) fn apply(self: &Arc<Self>, mut config: Config) {
        let old = self.config();
        config.sandbox = old.sandbox;
        config.token.clone_from(&old.token);
        config.tls.clone_from(&old.tls);
        config.metrics = old.metrics;
        config.traces.clone_from(&old.traces);
        // Who may make an account changes at once; who uses the server, and how they sign in, after a restart.
        let PeopleConfig { registration, own_providers, own_provider_hosts, .. } = config.people;
        config.people = PeopleConfig { registration, own_providers, own_provider_hosts, ..old.people.clone() };
        let said = old.overrides.iter().filter(|(_, (_, source))| *source == SettingSource::CommandLine);
        config.overrides.extend(said.map(|(key, value)| (*key, value.clone())));
        self.host_names.write().unwrap_or_else(PoisonError::into_inner).clone_from(&config.host_names);
        let config = Arc::new(config);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config.clone();
        self.set_models(&config);
        if config.find_local != old.find_local || config.seeing != old.seeing || config.prices != old.prices {
            self.search(&config);
        }
    }

    fn set_models(&self, config: &Config) {
        self.models.set_fallback(config.fallback.clone());
        log_unusable(self.models.set_configured(config.endpoints.clone(), config.wanted.clone()));
    }

    fn search(self: &Arc<Self>, config: &Config) {
        if config.find_local {
            let runtime = self.clone();
            tokio::spawn(async move { runtime.add_found_models().await });
        } else {
            log_unusable(self.models.set_found(Vec::new()));
            self.warn_of_missing_default(config);
        }
    }

    /// Searches for model servers on this machine, unless the configuration says not to.
    pub(super) async fn add_found_models(&self) {
        let found = find_local().await;
        let config = self.config();
        if !config.find_local {
            return;
        }
        let found = found.into_iter().map(|mut endpoint| {
            config.seeing.mark(&mut endpoint);
            config.prices.mark(&mut endpoint);
            ConfiguredEndpoint { id: None, endpoint, from: "found on this machine".to_owned() }
        });
        log_unusable(self.models.set_found(found.collect()));
        self.warn_of_missing_default(&config);
    }

    fn warn_of_missing_default(&self, config: &Config) {
        if let Some(wanted) = &config.wanted
            && wanted != EMBEDDED
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
