//! The embedded model's process: started on first use, restarted after it died, stopped with the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use secrecy::SecretString;
use tokio::sync::Mutex;
use url::Url;

use super::model_status::{ModelCandidate, ModelState, ModelStatus};
use crate::clock;
use crate::provider::local::LocalServer;
use crate::provider::{Client, Endpoint, ModelRequest, Profile, ProfileKind};
use crate::sandbox::{Sandbox, Service, ServiceProcess};

/// The files of the embedded model, and how it is run.
#[derive(Clone, Debug)]
pub struct LocalModelFiles {
    /// The program `miniclaw-llm`.
    pub program: PathBuf,
    /// The weights file (GGUF).
    pub weights: PathBuf,
    /// Folder for the model's prompt cache, kept between starts.
    pub cache: PathBuf,
    /// Number of threads; 0 lets the program decide.
    pub threads: u32,
    /// Context window in tokens.
    pub context_window: u32,
}

pub struct LocalModel {
    files: LocalModelFiles,
    sandbox: Sandbox,
    process: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<ModelProcess>,
    /// Recent start times, to stop restarting a model that dies at once each time.
    starts: Vec<Instant>,
    generation: u64,
}

struct ModelProcess {
    service: ServiceProcess,
    server: LocalServer,
    client: Arc<Client>,
    prefix_sent: Arc<AtomicBool>,
    generation: u64,
}

/// A handle on the running model.
pub struct ModelHandle {
    pub client: Arc<Client>,
    server: LocalServer,
    /// Set by the first caller that sends the shared prompt.
    prefix_sent: Arc<AtomicBool>,
    /// Number of this start of the model.
    generation: u64,
}

/// The state of a started model.
pub enum LoadState {
    Done,
    /// The weights are being loaded; progress from 0 to 1, if known.
    InProgress(Option<f32>),
    /// Loading failed for good, for this reason.
    Failed(String),
    /// The model does not respond: it has died, or is about to.
    NoProgress(String),
}

/// Timeout for the line with the address. It is printed before the weights are loaded, so it comes quickly.
const FIRST_LINE: Duration = Duration::from_secs(20);
/// Maximum number of starts within [`START_WINDOW`]; a model that is started more often cannot run on this machine.
const MAX_STARTS: usize = 3;
const START_WINDOW: Duration = Duration::from_secs(60);

impl LocalModel {
    pub fn new(files: LocalModelFiles, sandbox: Sandbox) -> Self {
        Self { files, sandbox, process: Mutex::default() }
    }

    /// Returns the running model, starting it if necessary.
    ///
    /// # Errors
    /// Returns a sentence for a person: what is missing, or why it does not start.
    pub async fn ensure_started(&self) -> Result<ModelHandle, String> {
        let mut state = self.process.lock().await;
        if let Some(running) = &mut state.running {
            if running.service.is_running() {
                return Ok(running.handle());
            }
            tracing::warn!("the embedded model ended by itself; starting it again");
            state.running = None;
        }
        self.check_files()?;
        state.starts.retain(|at| at.elapsed() < START_WINDOW);
        if state.starts.len() >= MAX_STARTS {
            return Err(
                "The embedded model ended right after its start several times; the log says why. It needs about \
                        2 GB of free memory."
                    .to_owned(),
            );
        }
        state.starts.push(Instant::now());
        state.generation += 1;
        let running = self.launch(state.generation).await?;
        let handle = running.handle();
        state.running = Some(running);
        Ok(handle)
    }

    /// Returns the running model, if there is one.
    pub async fn running(&self) -> Option<ModelHandle> {
        let mut state = self.process.lock().await;
        let running = state.running.as_mut()?;
        running.service.is_running().then(|| running.handle())
    }

    pub async fn stop(&self) {
        self.process.lock().await.running = None;
    }

    /// Ends the model behind a handle that does not respond, unless another one has already replaced it.
    pub async fn discard(&self, silent: &ModelHandle) {
        let mut state = self.process.lock().await;
        if state.running.as_ref().is_some_and(|running| running.generation == silent.generation) {
            state.running = None;
        }
    }

    async fn launch(&self, generation: u64) -> Result<ModelProcess, String> {
        let files = &self.files;
        let secret = clock::new_secret();
        let mut arguments = vec!["--model".to_owned(), text(&files.weights), "--port".to_owned(), "0".to_owned()];
        arguments.extend(["--ctx".to_owned(), files.context_window.to_string()]);
        arguments.extend(["--cache-dir".to_owned(), text(&files.cache)]);
        if files.threads > 0 {
            arguments.extend(["--threads".to_owned(), files.threads.to_string()]);
        }
        let service = Service {
            name: "miniclaw-llm".to_owned(),
            program: files.program.clone(),
            arguments,
            env: vec![("MINICLAW_LLM_SECRET".to_owned(), secret.clone())],
            cwd: files.cache.parent().map_or_else(|| PathBuf::from("/"), Path::to_path_buf),
        };
        let mut service = self.sandbox.service(service).map_err(|error| error.to_string())?;
        let line = service.first_line(FIRST_LINE).await.ok_or("The embedded model did not start; the log says why.")?;
        let address = line.strip_prefix("listening on ").and_then(|address| Url::parse(address).ok());
        let base = address.ok_or_else(|| format!("The embedded model said {line:?} instead of its address."))?;
        let secret = SecretString::from(secret);
        let server = LocalServer::new(base.clone(), secret.clone())?;
        let endpoint = Endpoint {
            profile: Profile::new(ProfileKind::Local, &self.model()),
            base_url: base.join("v1").map_err(|error| error.to_string())?,
            api_key: Some(secret),
            model: self.model(),
            label: self.label(),
            context_window: files.context_window,
            price: None,
            reach: None,
        };
        let client = Arc::new(Client::new(endpoint).map_err(|error| error.to_string())?);
        Ok(ModelProcess { service, server, client, prefix_sent: Arc::default(), generation })
    }

    fn check_files(&self) -> Result<(), String> {
        if !self.files.program.is_file() {
            let program = self.files.program.display();
            return Err(format!("The built-in model's program was not found ({program}). Build it with `make model`."));
        }
        if !self.files.weights.is_file() {
            let weights = self.files.weights.display();
            return Err(format!("The built-in model's file was not found ({weights}). Download it with `make model`."));
        }
        Ok(())
    }

    pub fn candidate(&self) -> ModelCandidate {
        let (model, label) = (self.model(), self.label());
        ModelCandidate {
            id: format!("local/{model}"),
            name: model.clone(),
            provider: "local".to_owned(),
            model,
            label,
            from: "embedded".to_owned(),
            context_window: self.files.context_window,
            // The server accepts the switch, but these models do not think.
            thinking: false,
            vision: false,
        }
    }

    /// Returns the status that follows from the files alone: ready to start, or missing.
    pub fn status(&self) -> ModelStatus {
        let missing = self.check_files().err();
        ModelStatus {
            provider: "local".to_owned(),
            model: self.model(),
            label: self.label(),
            state: if missing.is_some() { ModelState::Missing } else { ModelState::Ready },
            progress: None,
            detail: missing,
            small: true,
            context_window: self.files.context_window,
            vision: false,
        }
    }

    /// Returns the state after a failed start: the files are missing, or the model does not run.
    pub fn absent_state(&self) -> ModelState {
        if self.check_files().is_err() { ModelState::Missing } else { ModelState::Failed }
    }

    fn model(&self) -> String {
        self.files.weights.file_stem().map_or_else(|| "local".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    fn label(&self) -> String {
        format!("{} (small demo model)", self.model())
    }
}

impl ModelProcess {
    fn handle(&self) -> ModelHandle {
        ModelHandle {
            client: self.client.clone(),
            server: self.server.clone(),
            prefix_sent: self.prefix_sent.clone(),
            generation: self.generation,
        }
    }
}

impl ModelHandle {
    /// Returns `true` once for each start of the model: to the caller that has to send the shared prompt.
    pub fn claim_prefix(&self) -> bool {
        !self.prefix_sent.swap(true, Ordering::Relaxed)
    }

    /// Asks the model for its state.
    pub async fn state(&self) -> LoadState {
        let health = match self.server.health().await {
            Ok(health) => health,
            Err(error) => return LoadState::NoProgress(format!("The built-in model isn't responding: {error}")),
        };
        match health.status.as_str() {
            "ready" => LoadState::Done,
            "failed" => {
                LoadState::Failed(format!("The built-in model failed to load: {}", health.detail.unwrap_or_default()))
            }
            _ => LoadState::InProgress(health.progress),
        }
    }

    /// Returns how much of the shared prompt has been processed, 0 to 1, while it is being processed.
    pub async fn reading(&self) -> Option<f32> {
        let health = self.server.health().await.ok()?;
        (health.prefix.state == "reading").then(|| health.prefix.progress.unwrap_or(0.0))
    }

    /// Has the model process the prompt that all requests begin with. A failure only means that the first answer takes
    /// longer.
    pub async fn read_prefix(&self, shared: &ModelRequest) {
        if let Err(error) = self.server.set_prefix(&self.client, shared).await {
            tracing::warn!(%error, "the embedded model did not take the shared prompt");
        }
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
