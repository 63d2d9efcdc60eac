//! A tenant: one person's home and everything that works on it. Nothing of one tenant is reachable from another.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::approvals::Approvals;
use super::client_asks::WaitedFor;
use super::client_turns::ClientWorks;
use super::command_access::{CommandAccess, HomeOwner};
use super::documents::{Documents, Listeners};
use super::file_authors::FileAuthors;
use super::home_tools::{ToolParts, deferred_tools, home_tools};
use super::hub::Hub;
use super::mcp::{self, McpSource};
use super::models::Models;
use super::next_request::shared_prefix;
use super::page_ends::PageEnds;
use super::projects::MAX_UPLOADS_PER_HOME;
use super::runtime::Runtime;
use super::sharing::{KnownRoles, Sharing};
use super::skills::Skills;
use super::tool_sources::{ExchangeScope, ToolSource, ToolSources};
use super::watch;
use super::{Engine, EngineError, Notice, Runs, blocking, starter};
use crate::agent::idle_time::IdleTime;
use crate::agent::{AdminLimits, Budget};
use crate::config::Config;
use crate::domain::{EmbedError, HomeId, ProjectId, Root, Session, TranscriptKind, WorkId};
use crate::engine::embedder::Embedders;
use crate::extraction::Extractor;
use crate::library::projects::ProjectLibraries;
use crate::library::recall::Conversations;
use crate::library::{self, IndexStorage, Library, LibrarySource, LoadEmbedder};
use crate::provider::Audience;
use crate::sandbox::Level;
use crate::store::{Claim, Home, OwnedHome, SessionLog, Tree};
use crate::tools::mcp::McpServers;
use crate::tools::project::Jobs;
use crate::tools::{Captures, ToolSet};

pub struct Tenant {
    pub runtime: Arc<Runtime>,
    pub home: Home,
    pub(super) owner: HomeOwner,
    pub log: SessionLog,
    pub tree: Tree,
    /// Proves that this server owns the home.
    pub claim: Claim,
    pub hub: Arc<Hub>,
    pub models: Arc<Models>,
    /// Where the tools of each exchange come from.
    pub tool_sources: Arc<ToolSources>,
    pub mcp: McpServers,
    /// What runs commands.
    pub commands: Arc<CommandAccess>,
    /// What reads documents: that of several people in processes of their own.
    pub extractor: Extractor,
    /// The commands that run in the background of sessions.
    pub jobs: Arc<Jobs>,
    /// The index of memory/.
    pub memory: Arc<Library>,
    /// The index of knowledge/.
    pub knowledge: Arc<Library>,
    /// The indexes of the conversations.
    pub conversations: Conversations,
    /// The indexes and notes of projects.
    pub project_libraries: ProjectLibraries,
    pub documents: Documents,
    /// What commands would change, while a person is asked about it.
    pub captures: Captures,
    /// Who wrote which version of a file.
    pub authors: Arc<FileAuthors>,
    pub runs: Runs,
    pub approvals: Approvals,
    /// The works that programs began over the OpenAI API.
    pub client_works: ClientWorks,
    /// The works that programs are expected to ask for again.
    pub waited_for: WaitedFor,
    /// Held while the session of a program's message is looked for and its work begins.
    pub(super) client_turns: tokio::sync::Mutex<()>,
    /// What the home has used of the limits.
    pub budget: Arc<Budget>,
    /// Where the pages of the list of conversations ended.
    pub page_ends: PageEnds,
    pub skills: Arc<Skills>,
    /// Held while git runs in one of the home's projects.
    pub(super) git: tokio::sync::Mutex<()>,
    /// Cancelled when the home is closed: stops git, which runs to its end otherwise, even if nobody waits for it.
    pub(super) closing: CancellationToken,
    /// One for each upload that may arrive at once.
    pub(super) upload_slots: Arc<Semaphore>,
    /// Set if several people use the server, with the id of this tenant.
    pub(super) sharing: OnceLock<(Arc<Sharing>, HomeId)>,
    /// What the person could do in projects of others when that was last looked at.
    pub(super) shared_roles: KnownRoles,
    /// Warnings about this home and how commands run in it.
    pub problems: Vec<String>,
}

/// The home that a tenant works on.
pub struct TenantHome {
    pub home: Home,
    pub owner: HomeOwner,
    pub limits: Arc<AdminLimits>,
}

impl Tenant {
    /// Assembles everything that works on a home, repairs what a crash left open, and starts watching the files.
    ///
    /// # Errors
    /// Returns an error if another server has taken over the home, or its sessions cannot be read.
    pub async fn open(
        runtime: Arc<Runtime>,
        TenantHome { home, owner, limits }: TenantHome,
    ) -> Result<Arc<Engine>, EngineError> {
        let hub = Arc::new(Hub::new());
        let config = runtime.config();
        home.set_kept_limit(config.kept_limit);
        let commands = {
            let (runtime, home) = (runtime.clone(), home.clone());
            Arc::new(blocking(move || Ok(CommandAccess::of(&runtime, &home, owner))).await?)
        };
        let extractor = match owner {
            HomeOwner::OnePerson => runtime.extractor.clone(),
            HomeOwner::Server | HomeOwner::Person { .. } => runtime.extractor.apart(commands.of_helpers(&runtime)),
        };
        if config.people.is_multi() {
            home.close_links();
        }
        let libraries = Libraries {
            config: &config,
            home: &home,
            embedders: &runtime.embedders,
            idle_time: &runtime.idle_time,
            extractor: &extractor,
        };
        let (memory, knowledge) = (libraries.of_root(Root::Memory), libraries.of_root(Root::Knowledge));
        let conversations = libraries.of_conversations();
        for library in [&memory, &knowledge] {
            let (hub, folder) = (hub.clone(), Arc::<str>::from(library.folder()));
            library.on_progress(move |progress| hub.notice(Notice::IndexChanged { folder: folder.clone(), progress }));
        }
        let authors = Arc::new(FileAuthors::default());
        let (store, unsettled) = OwnedHome::claim(home.clone()).await?;
        let skills: Arc<Skills> = Arc::default();
        let listeners = Listeners {
            authors: authors.clone(),
            libraries: vec![memory.clone(), knowledge.clone()],
            skills: skills.clone(),
            hub: hub.clone(),
            models: OnceLock::new(),
        };
        let documents = Documents::new(store.clone(), listeners);
        let scratch = Root::Project(ProjectId::scratch());
        let captures = Captures::new(documents.access(), scratch);
        let jobs = jobs(hub.clone());
        let projects = project_libraries((&runtime, &extractor), &home);
        let parts = ToolParts {
            runtime: runtime.clone(),
            home: home.clone(),
            files: documents.access(),
            captures: captures.clone(),
            memory: memory.clone(),
            knowledge: knowledge.clone(),
            conversations: conversations.clone(),
            jobs: jobs.clone(),
            projects: projects.clone(),
            commands: commands.clone(),
            extractor: extractor.clone(),
        };
        let (server, of_person) = (runtime.clone(), home.clone());
        let tool_sources = ToolSources::new(home_tools(parts)).switched_by(Arc::new(move || {
            let (config, choices) = (server.config(), of_person.tool_choices());
            Box::new(move |name| config.tools.is_on_for(name, choices.get(name).copied()))
        }));
        let deferred = deferred_tools(&runtime, &extractor);
        tool_sources.add(ToolSource::Deferred(Arc::new(move |_| {
            let deferred = deferred.clone();
            Box::pin(async move { deferred })
        })));
        let mcp = mcp::servers(&runtime, documents.access(), (&commands, owner));
        let known_models = Arc::new(OnceLock::new());
        let (tokens, later) = (runtime.tokens.clone(), known_models.clone());
        McpSource { servers: mcp.clone(), tokens, models: later }.add_to(&tool_sources);
        let tool_sources = Arc::new(tool_sources);
        let prefix = shared_prefix(&runtime, &home, &tool_sources);
        let audience = match owner {
            HomeOwner::OnePerson | HomeOwner::Server => Audience::Admin,
            HomeOwner::Person { .. } => Audience::Member,
        };
        let models = Models::new(runtime.models.clone(), hub.clone(), (prefix, audience));
        documents.followed_by(&models);
        let _ = known_models.set(models.clone());
        let of_home = home.clone();
        let shared_roles = KnownRoles::new(blocking(move || Ok(of_home.shared_roles())).await?);
        let OwnedHome { log, tree, claim, .. } = store;
        let tenant = Arc::new(Self {
            problems: problems(&runtime, &home, &commands),
            budget: Arc::new(Budget::new(home.clone(), limits)),
            runtime,
            home,
            owner,
            log,
            tree,
            claim,
            hub,
            models,
            tool_sources,
            mcp,
            commands,
            extractor,
            jobs,
            memory,
            knowledge,
            conversations,
            project_libraries: projects,
            documents,
            captures,
            authors,
            runs: Runs::default(),
            approvals: Approvals::default(),
            client_works: ClientWorks::default(),
            waited_for: WaitedFor::default(),
            client_turns: tokio::sync::Mutex::default(),
            page_ends: PageEnds::default(),
            git: tokio::sync::Mutex::default(),
            closing: CancellationToken::new(),
            upload_slots: Arc::new(Semaphore::new(MAX_UPLOADS_PER_HOME)),
            skills,
            sharing: OnceLock::new(),
            shared_roles,
        });
        tenant.read_skills().await?;
        if let Err(error) = tenant.use_own_providers().await {
            tracing::error!(%error, "the person's own providers could not be read; the server runs without them");
        }
        let engine = Engine::new(tenant.clone());
        let repaired = engine.recover(unsettled).await?;
        if repaired > 0 {
            tracing::warn!(sessions = repaired, "closed what a crash had left open");
        }
        watch::start(&engine);
        tenant.release_idle_indexes();
        tenant.index_memory();
        Ok(engine)
    }

    /// Closes all search indexes in a task, which takes a while (see [`Library::close`]): another server may wait for the home.
    pub fn close_libraries(&self) -> JoinHandle<()> {
        let mut libraries = self.project_libraries.take_all();
        libraries.extend(self.own_libraries());
        // All of them stop at once.
        libraries.iter().for_each(|library| library.stop_background());
        tokio::task::spawn_blocking(move || libraries.iter().for_each(|library| library.close()))
    }

    /// Returns the search indexes that are not of projects.
    fn own_libraries(&self) -> [Arc<Library>; 4] {
        let Conversations { messages, tool_results, .. } = &self.conversations;
        [&self.memory, &self.knowledge, messages, tool_results].map(Arc::clone)
    }

    /// Whether works that are under way when this server closes the home go on with another one.
    pub fn goes_on_elsewhere(&self) -> bool {
        self.home.moved().is_some()
    }

    /// Returns the work of a session that was taken over and goes on here, if nobody is waited for.
    pub fn work_taken_over(&self, session: &Session) -> Option<WorkId> {
        let goes_on = self.goes_on_elsewhere() && !session.is_newer() && session.waiting().is_none();
        session.running().filter(|_| goes_on).map(|work| work.work_id.clone())
    }

    /// Returns why a request is refused once the home is closed.
    pub fn closed(&self) -> EngineError {
        if self.goes_on_elsewhere() { EngineError::HomeMoving } else { EngineError::ShuttingDown }
    }

    /// Whether another server of the cluster may have the home.
    pub fn is_lost(&self) -> bool {
        self.home.moved().is_some_and(|moved| moved.is_cancelled())
    }

    /// Returns the tools for the next exchange in this scope.
    pub async fn tools(&self, scope: ExchangeScope<'_>) -> ToolSet {
        self.tool_sources.tools(scope).await
    }

    async fn read_skills(&self) -> Result<(), EngineError> {
        if let Err(error) = self.tree.initialize_trust(self.claim, starter::skills()).await {
            tracing::error!(%error, "which skills are trusted could not be kept; those that are not known are asked about");
        }
        let (home, skills) = (self.home.clone(), self.skills.clone());
        blocking(move || {
            if let Err(error) = skills.scan(&home) {
                tracing::error!(%error, "the skills could not be read; the server runs without them");
            }
            Ok(())
        })
        .await
    }

    /// Drops the indexes of projects that nobody uses, and releases what the others need only for changes, for as long as the tenant
    /// is in memory.
    fn release_idle_indexes(self: &Arc<Self>) {
        let tenant = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(IDLE_INTERVAL);
            loop {
                interval.tick().await;
                let Some(tenant) = tenant.upgrade() else { return };
                let released = tokio::task::spawn_blocking(move || {
                    let now = std::time::Instant::now();
                    tenant.project_libraries.drop_idle(now);
                    let libraries = tenant.project_libraries.all().into_iter().chain(tenant.own_libraries());
                    libraries.for_each(|library| library.release_idle_writer(now));
                });
                let _ = released.await;
            }
        });
    }

    /// Indexes memory in the background, so that the first question finds it indexed and, in RAG mode, the embedding
    /// model loaded. Reads the usage and removes old sent requests afterwards.
    fn index_memory(&self) {
        let (memory, home) = (self.memory.clone(), self.home.clone());
        tokio::task::spawn_blocking(move || {
            if home.settings().rag_mode {
                memory.warm();
            } else if let Err(error) = memory.refresh() {
                tracing::warn!(%error, "memory could not be indexed");
            }
            if let Err(error) = home.with_counted_works(|_| ()) {
                tracing::warn!(%error, "the usage could not be read");
            }
            if let Err(error) = home.records().sweep() {
                tracing::warn!(%error, "old requests could not be let go");
            }
        });
    }
}

/// How often indexes that nobody uses are looked for.
const IDLE_INTERVAL: Duration = Duration::from_secs(60);

/// Returns the registry of the indexes of projects. They use the configuration and models of the moment.
fn project_libraries((runtime, extractor): (&Arc<Runtime>, &Extractor), home: &Home) -> ProjectLibraries {
    let (parts, extractor, of_library) = (runtime.clone(), extractor.clone(), home.clone());
    let make = move |root| {
        let config = parts.config();
        let libraries = Libraries {
            config: &config,
            home: &of_library,
            embedders: &parts.embedders,
            idle_time: &parts.idle_time,
            extractor: &extractor,
        };
        libraries.of_root(root)
    };
    ProjectLibraries::new(home.clone(), Arc::new(make))
}

/// Creates the libraries of a home.
pub struct Libraries<'a> {
    pub config: &'a Config,
    pub home: &'a Home,
    pub embedders: &'a Arc<Embedders>,
    pub idle_time: &'a Arc<IdleTime>,
    pub extractor: &'a Extractor,
}

impl Libraries<'_> {
    /// Creates the library of a root. The index of memory/ is rebuilt at each start, because memory/ is small and
    /// changes often; that of knowledge/ is stored.
    pub fn of_root(&self, root: Root) -> Arc<Library> {
        let keep = if root == Root::Memory { IndexStorage::InMemory } else { IndexStorage::OnDisk };
        self.of(LibrarySource::Folder(root), keep)
    }

    /// Creates those of the conversations, whose indexes are stored.
    pub fn of_conversations(&self) -> Conversations {
        let of = |kind| self.of(LibrarySource::Conversations(kind), IndexStorage::OnDisk);
        let both = (of(TranscriptKind::Messages), of(TranscriptKind::ToolResults));
        Conversations::new(both, self.withholds_conversations())
    }

    fn withholds_conversations(&self) -> bool {
        self.embedders.source().is_remote() && !self.config.embeds_conversations
    }

    fn of(&self, source: LibrarySource, keep: IndexStorage) -> Arc<Library> {
        let (embedders, tokens) = (self.embedders.clone(), self.embedders.clone());
        let idle_time = self.idle_time.clone();
        let none = || EmbedError::Missing("no weights, and no service is configured".to_owned());
        let is_withheld = matches!(source, LibrarySource::Conversations(_)) && self.withholds_conversations();
        let embedder: LoadEmbedder = match is_withheld {
            true => Arc::new(|| Err(EmbedError::Withheld)),
            false => Arc::new(move || embedders.get()?.ok_or_else(none)),
        };
        // Only this folder becomes so large, and its index follows from files that the database has, too.
        let is_knowledge = matches!(&source, LibrarySource::Folder(Root::Knowledge));
        let settings = library::LibrarySettings {
            database_from: is_knowledge.then_some(self.config.retrieval.database_from),
            source,
            keep,
            limits: self.config.retrieval.limits,
            ranking: self.config.retrieval.ranking,
            embedder,
            tokens: Arc::new(move || tokens.tokens()),
            wait_for_idle_time: Arc::new(move || idle_time.wait()),
            extractor: self.extractor.clone(),
        };
        Arc::new(Library::new(self.home.clone(), settings))
    }
}

/// Returns a registry of background commands that tells tabs when one starts or ends.
fn jobs(hub: Arc<Hub>) -> Arc<Jobs> {
    Arc::new(Jobs::new(Arc::new(move |session, running| {
        hub.notice(Notice::JobsChanged { session_id: session.to_string(), running });
    })))
}

/// Returns warnings about this home and how commands run in it.
fn problems(runtime: &Runtime, home: &Home, commands: &CommandAccess) -> Vec<String> {
    let mut problems = home.startup_warnings();
    if commands.person.is_some() {
        problems.extend(commands.problem());
        return problems;
    }
    if runtime.sandbox.is_readable_by_every_job(home.path()) {
        problems.push(
            "The home lies below a folder of the system that every command may read, with its .env and sessions: \
             terminal and python_repl are left out. Move the home, for example to your own folder."
                .to_owned(),
        );
    }
    if runtime.config().sandbox == Level::Off {
        problems.push("The sandbox is off: tools run with all your rights.".to_owned());
    }
    if let Some(warning) = runtime.sandbox.warning_for(&home.scratch()) {
        tracing::warn!("{warning}");
        problems.push(warning);
    }
    problems
}
