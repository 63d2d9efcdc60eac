//! `miniclaw serve`: puts the floors together and runs until it is told to stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{EX_CONFIG, home_dir, init, load_config};
use crate::api::{Access, App, PageSecret, SandboxInfo};
use crate::clock;
use crate::config::Config;
use crate::domain::EmbedError;
use crate::egress::{Guard, Proxy, system_lookup};
use crate::engine::approvals::Approvals;
use crate::engine::documents::{Documents, Listeners};
use crate::engine::embedder::Embedders;
use crate::engine::hub::Hub;
use crate::engine::local_model::{LocalModel, LocalModelFiles};
use crate::engine::models::{EMBEDDED, Models};
use crate::engine::skills::Skills;
use crate::engine::watch::{self, FileAuthors};
use crate::engine::{Engine, Notice, Runs, Services};
use crate::extraction::Extractor;
use crate::heap;
use crate::library::{self, Keep, Library};
use crate::prompt::history::Sight;
use crate::prompt::request::{NextRequest, RequestLimits, RequestSources};
use crate::provider::find_local;
use crate::sandbox::{Interpreter, Level, Sandbox, SandboxConfig, keep_memory_private, open_as_many_files_as_allowed};
use crate::store::{Home, ROOTS, SessionLog, is_unused};
use crate::tokens::Counter;
use crate::tools::{
    Editor, FetchConfig, FetchUrl, FileTool, KNOWLEDGE, PythonRepl, ReadFile, Registry, SearchTool, Terminal, Tool,
    Workshop,
};

#[derive(Args)]
pub struct ServeArguments {
    /// The folder with workspace/, skills/, memory/, knowledge/ and sessions/.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// The address to listen on. Beyond this machine only together with MINICLAW_TOKEN.
    #[arg(long)]
    host: Option<String>,
    /// 0 picks a free one; the first line on standard output names it.
    #[arg(long)]
    port: Option<u16>,
    /// Ask everybody for a credential, also on this machine: MINICLAW_TOKEN, or a new one when that is not set. A link that
    /// signs one browser in is printed.
    #[arg(long)]
    token: bool,
    /// What commands of the agent may do: strict, standard, or off (all you may do). Wins over config.yml.
    #[arg(long, value_parser = level)]
    sandbox: Option<Level>,
}

const DEFAULT_PORT: u16 = 8002;
/// How long a stop may take before it is forced.
const STOP_GRACE: Duration = Duration::from_secs(9);

pub fn level(text: &str) -> Result<Level, String> {
    let known = [Level::Strict, Level::Standard, Level::Off];
    known.into_iter().find(|level| level.name() == text).ok_or_else(|| "it is strict, standard or off".to_owned())
}

pub fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    heap::share_pools();
    keep_memory_private()?;
    open_as_many_files_as_allowed();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("MINICLAW_LOG").unwrap_or_else(|_| "warn,miniclaw=info".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let folder = home_dir(arguments.home.clone());
    if is_unused(&folder) {
        init::fill(&folder)?;
    }
    let (mut config, _) = load_config(&folder)?;
    config.sandbox = arguments.sandbox.unwrap_or(config.sandbox);
    if arguments.token && config.token.is_none() {
        config.token = Some(clock::new_secret().into());
    }
    let host = arguments.host.clone().or_else(|| config.host.clone()).unwrap_or_else(|| "127.0.0.1".to_owned());
    let ip: IpAddr =
        if host == "localhost" { [127, 0, 0, 1].into() } else { host.parse().context("--host is no IP address")? };
    if !ip.is_loopback() && config.token.is_none() {
        eprintln!(
            "miniclaw: {ip} can be reached by other machines, and this server would obey all of them. Set MINICLAW_TOKEN \
             (in the environment or in .env) to a long random word and start again, or add --token, or use --host \
             127.0.0.1."
        );
        return Ok(ExitCode::from(EX_CONFIG));
    }
    if !ip.is_loopback() && config.sandbox == Level::Off {
        eprintln!(
            "miniclaw: {ip} can be reached by other machines, and without the sandbox whoever gets in there has all your \
             rights. Leave out --sandbox off, or use --host 127.0.0.1."
        );
        return Ok(ExitCode::from(EX_CONFIG));
    }
    let port = arguments.port.or(config.port).unwrap_or(DEFAULT_PORT);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = arguments.token.then(clock::new_secret);
    let served = runtime.block_on(run(folder, config, Bind { address: SocketAddr::new(ip, port), code }));
    // What still blocks (a stuck disk) must not hold the exit up.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Where to listen, and the code of the one-time link if one is wanted.
struct Bind {
    address: SocketAddr,
    code: Option<String>,
}

async fn run(folder: PathBuf, config: Config, Bind { address, code }: Bind) -> anyhow::Result<ExitCode> {
    let started_at = clock::now();
    let stop = stop_signal()?;
    let home = Home::open(&folder)?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr()?;

    let hub = Arc::new(Hub::new());
    let tokens = Arc::new(Counter::new());
    // Nothing on this machine or its network is allowed to commands, whatever fetch_url may reach.
    let way_out = Proxy::start(Guard::new(&[]), system_lookup()).await?;
    let sandbox = Sandbox::new(SandboxConfig::new(config.sandbox)).with_way_out(Arc::new(way_out));
    let embedders = Embedders::new(config.embedding.clone(), tokio::runtime::Handle::current());
    let embedders = Arc::new(embedders.with_rerank(config.rerank.clone()));
    let extractor = Extractor::new(sandbox.clone());
    let shelves = Shelves { config: &config, home: &home, embedders: &embedders, extractor: &extractor };
    let (memory, knowledge) = (library(&shelves, "memory"), library(&shelves, "knowledge"));
    for library in [&memory, &knowledge] {
        let (hub, folder) = (hub.clone(), library.folder());
        library.on_progress(move |progress| hub.notice(Notice::IndexChanged { folder, progress }));
    }
    let authors = Arc::new(FileAuthors::default());
    let editor = Documents::editor(&home, &authors, [&memory, &knowledge]);
    let skills: Arc<Skills> = Arc::default();
    let materials = Materials {
        config: &config,
        home: &home,
        sandbox: &sandbox,
        extractor: &extractor,
        tokens: &tokens,
        own_port: bound.port(),
    };
    let registry = materials.registry(&editor, [&memory, &knowledge]);
    let models = materials.models(&hub, &registry);
    let listeners = Listeners {
        authors: authors.clone(),
        libraries: [memory.clone(), knowledge.clone()],
        skills: skills.clone(),
        hub: hub.clone(),
        models: models.clone(),
    };
    let documents = Documents::new(home.clone(), listeners);
    let log = SessionLog::Folder(home.clone());
    let opened = log.claim().await?;
    let services = Arc::new(Services {
        home: home.clone(),
        log,
        claim: opened.claim,
        hub,
        models: models.clone(),
        registry: registry.clone(),
        memory: memory.clone(),
        knowledge,
        tokens,
        limits: config.limits,
        policy: Arc::new(config.policy.clone()),
        editor,
        authors: authors.clone(),
        runs: Runs::default(),
        approvals: Approvals::default(),
        skills: skills.clone(),
        documents,
    });
    let engine = Engine::new(services);
    if let Err(error) = home.begin_trusting(&init::skills()) {
        tracing::error!(%error, "which skills are trusted could not be kept; those that are not known are asked about");
    }
    if let Err(error) = skills.scan(&home) {
        tracing::error!(%error, "the skills could not be read; the server runs without them");
    }
    let repaired = engine.recover(opened.unsettled).await?;
    if repaired > 0 {
        tracing::warn!(sessions = repaired, "closed what a crash had left open");
    }
    let access = Access::new(bound, &config.host_names, config.token.clone());
    let access = code.iter().fold(access, |access, code| access.with_code(code));
    let app = App {
        engine: engine.clone(),
        skills: skills.clone(),
        secret: PageSecret::new(),
        access: Arc::new(access),
        problems: Arc::new(problems(&config, &home, &sandbox)),
        sandbox: Arc::new(sandbox_info(&sandbox)),
        started_at,
        stopping: CancellationToken::new(),
    };
    println!("listening on http://{bound}");
    if let Some(code) = code {
        let here = if bound.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bound.ip() };
        // Behind the #: that part of an address is sent to nobody, and so stands in no log and no Referer.
        println!("open http://{}/#code={code} (works once, for ten minutes)", SocketAddr::new(here, bound.port()));
    }
    choose_model(&models, config);
    watch::start(&engine, skills, authors);
    index_memory(memory, home.clone());
    tokio::task::spawn_blocking(move || {
        if let Err(error) = home.records().sweep() {
            tracing::warn!(%error, "old requests could not be let go");
        }
    });
    serve_until(app, listener, stop).await
}

async fn serve_until(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<ExitCode> {
    let (stopping, engine) = (app.stopping.clone(), app.engine.clone());
    let server = tokio::spawn(crate::api::serve(app, listener));
    stop.await;
    tracing::info!("stopping");
    let goodbye = async {
        // Runs end first, so that their followers learn how.
        engine.shut_down().await;
        stopping.cancel();
        server.await
    };
    if !matches!(tokio::time::timeout(STOP_GRACE, goodbye).await, Ok(Ok(()))) {
        tracing::warn!("something did not stop in time");
    }
    Ok(ExitCode::SUCCESS)
}

/// What libraries are made from.
pub struct Shelves<'a> {
    pub config: &'a Config,
    pub home: &'a Home,
    pub embedders: &'a Arc<Embedders>,
    pub extractor: &'a Extractor,
}

/// memory/ is small and changes often, so its index is made anew at each start; that of knowledge/ is kept.
pub fn library(of: &Shelves, folder: &'static str) -> Arc<Library> {
    let Shelves { config, home, embedders, extractor } = *of;
    let keep = if folder == "memory" { Keep::InMemory } else { Keep::OnDisk };
    let (embedders, tokens) = (embedders.clone(), embedders.clone());
    let none = || EmbedError::Missing("no weights, and no service is configured".to_owned());
    let settings = library::Settings {
        folder,
        keep,
        limits: config.retrieval.limits,
        ranking: config.retrieval.ranking,
        embedder: Arc::new(move || embedders.get()?.ok_or_else(none)),
        tokens: Arc::new(move || tokens.tokens()),
        extractor: extractor.clone(),
    };
    Arc::new(Library::new(home.clone(), settings))
}

/// So that the first question finds memory indexed and, in RAG mode, the embedding model loaded.
fn index_memory(memory: Arc<Library>, home: Home) {
    tokio::task::spawn_blocking(move || {
        if home.settings().rag_mode {
            memory.warm();
        } else if let Err(error) = memory.follow() {
            tracing::warn!(%error, "memory could not be indexed");
        }
    });
}

/// What the parts of the server are made from.
struct Materials<'a> {
    config: &'a Config,
    home: &'a Home,
    sandbox: &'a Sandbox,
    extractor: &'a Extractor,
    tokens: &'a Arc<Counter>,
    own_port: u16,
}

impl Materials<'_> {
    fn registry(&self, editor: &Editor, [memory, knowledge]: [&Arc<Library>; 2]) -> Arc<Registry> {
        // Commands may look at what read_file may, at documents only when they ask, and at nothing else of the home.
        let folder = |root: &str| self.home.path().join(root);
        let workshop = Workshop {
            sandbox: self.sandbox.clone(),
            scratch: self.home.scratch(),
            readable: ROOTS.into_iter().filter(|root| *root != KNOWLEDGE).map(folder).collect(),
            knowledge: folder(KNOWLEDGE),
        };
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        if !self.sandbox.exposes(self.home.path()) {
            tools.push(Arc::new(Terminal::new(workshop.clone())));
            match Interpreter::python(&std::env::var_os("PATH").unwrap_or_default()) {
                Some(python) => tools.push(Arc::new(PythonRepl::new(workshop, python))),
                None => tracing::warn!("no python3 was found, so there is no python_repl"),
            }
        }
        let fetch = FetchConfig::new(self.config.fetch_allow_hosts.clone(), self.extractor.clone());
        tools.push(Arc::new(FetchUrl::new(FetchConfig { own_port: Some(self.own_port), ..fetch })));
        tools.push(Arc::new(ReadFile::new(self.home.clone())));
        tools.push(Arc::new(SearchTool::knowledge(knowledge.clone())));
        tools.push(Arc::new(SearchTool::memory(memory.clone())));
        for tool in [FileTool::create, FileTool::edit, FileTool::delete] {
            tools.push(Arc::new(tool(editor.clone())));
        }
        Arc::new(Registry::new(tools))
    }

    fn models(&self, hub: &Arc<Hub>, registry: &Arc<Registry>) -> Arc<Models> {
        let embedded = &self.config.embedded;
        let files = LocalModelFiles {
            program: embedded.program.clone(),
            weights: embedded.weights.clone(),
            cache: self.home.path().join("storage/model"),
            threads: embedded.threads,
            context_window: embedded.context_window,
        };
        let local = files.program.is_file().then(|| LocalModel::new(files, self.sandbox.clone()));
        let (home, registry, tokens) = (self.home.clone(), registry.clone(), self.tokens.clone());
        let context_window = embedded.context_window;
        let shared_prefix = move || {
            let retrieved = home.settings().rag_mode;
            let limits =
                RequestLimits { context_window, sight: Sight::Blind, tools: registry.specs(), tokens: &tokens };
            let sources = RequestSources { home: &home, session: None, hits: retrieved.then_some(&[]) };
            NextRequest::assemble(sources, &limits).request
        };
        Models::new(hub.clone(), local, Box::new(shared_prefix))
    }
}

/// Chooses among what is configured, and looks meanwhile what else there is on this machine.
fn choose_model(models: &Arc<Models>, config: Config) {
    let models = models.clone();
    if let Some(model) = config.fallback {
        models.fall_back_to(model);
    }
    let choose = move |endpoints: &[_], models: &Models| {
        if let Err(error) = models.choose(endpoints) {
            tracing::error!(%error, "the configured model cannot be used");
        }
    };
    if config.wanted.as_deref() == Some(EMBEDDED) {
        return choose(&[], &models);
    }
    choose(&config.endpoints, &models);
    if !config.find_local {
        return;
    }
    tokio::spawn(async move {
        let found = find_local().await.into_iter().map(|mut endpoint| {
            config.seeing.mark(&mut endpoint);
            (endpoint, "found on this machine".to_owned())
        });
        let mut all = config.endpoints;
        all.extend(found);
        if let Some(wanted) = config.wanted {
            match all.iter().position(|(endpoint, _)| endpoint.model == wanted) {
                Some(place) => all[..=place].rotate_right(1),
                None => tracing::warn!(wanted, "default_model is none of the models there are; using the first"),
            }
        }
        choose(&all, &models);
    });
}

fn sandbox_info(sandbox: &Sandbox) -> SandboxInfo {
    let holds = sandbox.holds();
    SandboxInfo {
        level: sandbox.level().name().to_owned(),
        note: holds.to_string(),
        code: holds.code().to_owned(),
        about: holds.about(),
    }
}

fn problems(config: &Config, home: &Home, sandbox: &Sandbox) -> Vec<String> {
    let mut problems = config.warnings.clone();
    problems.extend(home.troubles());
    if sandbox.exposes(home.path()) {
        problems.push(
            "The home lies below a folder of the system that every command may read, with its .env and sessions: \
             terminal and python_repl are left out. Move the home, for example to your own folder."
                .to_owned(),
        );
    }
    if config.sandbox == Level::Off {
        problems.push("The sandbox is off: tools run with all your rights.".to_owned());
    }
    if let Some(weakness) = sandbox.weakness(&home.scratch()) {
        tracing::warn!("{weakness}");
        problems.push(weakness);
    }
    problems
}

/// Resolves at the first SIGTERM or Ctrl-C; the second one ends the process at once.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(130);
        });
    })
}
