//! The tools of an exchange, assembled from sources. Whoever needs them asks here: a run, the prompt that the page shows,
//! the status, and the prefix that the embedded model reads in advance.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::future::BoxFuture;

use crate::domain::{ProjectId, SecretName, Session, SessionId, ToolSpec};
use crate::tools::ToolSet;

/// What the tools of an exchange are chosen for.
#[derive(Clone, Copy)]
pub struct ExchangeScope<'a> {
    /// `None` for a request that belongs to no session yet.
    pub session: Option<&'a Session>,
}

impl<'a> ExchangeScope<'a> {
    pub fn of(session: &'a Session) -> Self {
        Self { session: Some(session) }
    }

    /// Returns the scope of the first request of a new session.
    pub fn new_session() -> Self {
        Self { session: None }
    }
}

/// Where tools come from.
#[derive(Clone)]
pub enum ToolSource {
    /// Tools by the project that the session is bound to.
    ByProject(ProjectTools),
    /// Tools that are chosen for each exchange. They keep no state for a session.
    Chosen(ChooseTools),
    /// The same for tools that the model is not offered: it finds them with `find_tools`.
    Deferred(ChooseTools),
}

/// The tools of a home, and those that replace them in a session that is bound to a project. Cheap to clone; the tools of a
/// project are shared.
#[derive(Clone)]
pub struct ProjectTools {
    unbound: ToolSet,
    bound: Arc<RwLock<BTreeMap<ProjectId, BoundTools>>>,
    make: MakeTools,
}

/// The tools of one project. Cheap to clone.
#[derive(Clone)]
pub struct BoundTools {
    /// Those of a project without secrets.
    plain: ToolSet,
    secrets: Option<Arc<SecretTools>>,
}

/// The tools of a project with secrets, which say the names of these.
struct SecretTools {
    /// Returns the names as of now.
    names: Box<dyn Fn() -> Vec<SecretName> + Send + Sync>,
    make: MakeSecretTools,
    /// The last ones that were made.
    made: Mutex<(Vec<SecretName>, ToolSet)>,
}

/// Returns the tools of a project with secrets of these names.
type MakeSecretTools = Box<dyn Fn(&[SecretName]) -> ToolSet + Send + Sync>;

impl BoundTools {
    pub fn new(plain: ToolSet) -> Self {
        Self { plain, secrets: None }
    }

    /// Adds what makes the tools while the project has secrets. `names` is asked before each exchange.
    pub fn with_secrets(
        self,
        names: impl Fn() -> Vec<SecretName> + Send + Sync + 'static,
        make: impl Fn(&[SecretName]) -> ToolSet + Send + Sync + 'static,
    ) -> Self {
        let tools = SecretTools { names: Box::new(names), make: Box::new(make), made: Mutex::default() };
        Self { secrets: Some(Arc::new(tools)), ..self }
    }

    fn now(&self) -> ToolSet {
        let Some(secrets) = &self.secrets else { return self.plain.clone() };
        let names = (secrets.names)();
        if names.is_empty() {
            return self.plain.clone();
        }
        let mut made = secrets.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.0 != names {
            *made = (names.clone(), (secrets.make)(&names));
        }
        made.1.clone()
    }
}

/// Returns the tools of a project; `None` if the home does not have it.
type MakeTools = Arc<dyn Fn(&ProjectId) -> Option<BoundTools> + Send + Sync>;

impl ProjectTools {
    pub fn new(unbound: ToolSet, make: impl Fn(&ProjectId) -> Option<BoundTools> + Send + Sync + 'static) -> Self {
        Self { unbound, bound: Arc::default(), make: Arc::new(make) }
    }

    /// Adds the tools of a project.
    pub fn with(self, id: ProjectId, tools: BoundTools) -> Self {
        self.bound.write().unwrap_or_else(PoisonError::into_inner).insert(id, tools);
        self
    }

    /// Returns the tools of a session. A session whose project is gone has those of the home.
    fn of(&self, session: Option<&Session>) -> ToolSet {
        let bound = session.and_then(|session| self.of_project(session.project_id.as_ref()?));
        bound.unwrap_or_else(|| self.unbound.clone())
    }

    fn of_project(&self, id: &ProjectId) -> Option<ToolSet> {
        if let Some(tools) = self.bound.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Some(tools.now());
        }
        let made = (self.make)(id)?;
        let mut bound = self.bound.write().unwrap_or_else(PoisonError::into_inner);
        // Another exchange may have been faster. All of them have the same interpreters.
        Some(bound.entry(id.clone()).or_insert(made).now())
    }

    /// Forgets the tools of a project, with the interpreters that run in it.
    fn forget(&self, id: &ProjectId) {
        self.bound.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Returns the tools of the home, and those of the projects that have needed theirs.
    fn made(&self) -> Vec<ToolSet> {
        let bound = self.bound.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.unbound).chain(bound.values().map(|tools| &tools.plain)).cloned().collect()
    }

    fn session_closed(&self, session: &SessionId) {
        self.made().iter().for_each(|tools| tools.session_closed(session));
    }

    fn home_closed(&self) {
        self.made().iter().for_each(ToolSet::home_closed);
    }
}

/// Returns the tools of a source for the next exchange.
pub type ChooseTools = Arc<dyn for<'a> Fn(ExchangeScope<'a>) -> BoxFuture<'a, ToolSet> + Send + Sync>;

/// Returns the switches as they are now.
pub type ReadSwitches = Arc<dyn Fn() -> IsOn + Send + Sync>;
/// Returns whether the tool with this name is on.
pub type IsOn = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// The sources of one tenant, in the order in which their tools are offered.
pub struct ToolSources {
    sources: RwLock<Arc<[ToolSource]>>,
    switches: ReadSwitches,
}

impl ToolSources {
    /// Creates the sources with the tools of a home, all of which are on.
    pub fn new(tools: ProjectTools) -> Self {
        Self { sources: RwLock::new([ToolSource::ByProject(tools)].into()), switches: Arc::new(|| Box::new(|_| true)) }
    }

    /// Returns these sources with a switch for each tool. The switches are read before each exchange.
    pub fn switched_by(self, switches: ReadSwitches) -> Self {
        Self { switches, ..self }
    }

    /// Adds a source, whose tools are offered from the next exchange on. A tool that has the name of a tool of an earlier
    /// source is not offered.
    pub fn add(&self, source: ToolSource) {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        *sources = sources.iter().cloned().chain([source]).collect();
    }

    /// Returns the tools for the next exchange in this scope; none during a work without tools.
    pub async fn tools(&self, scope: ExchangeScope<'_>) -> ToolSet {
        let (mut all, mut deferred) = (ToolSet::default(), ToolSet::default());
        if scope.session.and_then(Session::running).is_some_and(|work| work.without_tools) {
            return all;
        }
        for source in self.sources().iter() {
            match source {
                ToolSource::ByProject(tools) => all = all.with(tools.of(scope.session)),
                ToolSource::Chosen(choose) => all = all.with(choose(scope).await),
                ToolSource::Deferred(choose) => deferred = deferred.with(choose(scope).await),
            }
        }
        let is_on = (self.switches)();
        let ours = all.only(&*is_on).defer(deferred.only(&*is_on));
        let Some(client) = scope.session.and_then(Session::client) else { return ours };
        ours.clone().with_client(client).unwrap_or_else(|error| {
            tracing::warn!(%error, "the tools of a client are not offered");
            ours
        })
    }

    /// Returns every tool of a home, by name, with whether it is on: those of its projects, and those that are deferred. What only a
    /// search shows is not among them.
    pub async fn known(&self) -> Vec<(ToolSpec, bool)> {
        let (mut all, mut deferred) = (ToolSet::default(), ToolSet::default());
        for source in self.sources().iter() {
            match source {
                ToolSource::ByProject(tools) => all = tools.made().into_iter().fold(all, ToolSet::with),
                ToolSource::Chosen(choose) => all = all.with(choose(ExchangeScope::new_session()).await),
                ToolSource::Deferred(choose) => deferred = deferred.with(choose(ExchangeScope::new_session()).await),
            }
        }
        let (specs, is_on) = (all.with(deferred.without_foreign()).specs(), (self.switches)());
        specs.iter().map(|spec| (spec.clone(), is_on(&spec.name))).collect()
    }

    /// Forgets the tools of a project, which was deleted.
    pub fn project_deleted(&self, id: &ProjectId) {
        for source in self.sources().iter() {
            match source {
                ToolSource::ByProject(tools) => tools.forget(id),
                ToolSource::Chosen(_) | ToolSource::Deferred(_) => {}
            }
        }
    }

    /// Notifies the tools that keep something for a session that it is closed.
    pub fn session_closed(&self, session: &SessionId) {
        for source in self.sources().iter() {
            match source {
                ToolSource::ByProject(tools) => tools.session_closed(session),
                ToolSource::Chosen(_) | ToolSource::Deferred(_) => {}
            }
        }
    }

    /// Notifies the tools that the home is closed, so that no process of theirs goes on.
    pub fn home_closed(&self) {
        for source in self.sources().iter() {
            match source {
                ToolSource::ByProject(tools) => tools.home_closed(),
                ToolSource::Chosen(_) | ToolSource::Deferred(_) => {}
            }
        }
    }

    fn sources(&self) -> Arc<[ToolSource]> {
        self.sources.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::config::{Config, Environment};
    use crate::domain::{AccountId, Effect, Event, HomeId, Role, Shown, ToolAnswer, UserPrompt};
    use crate::engine::{Homes, PublishedItem, Runtime, TenantRegistry};
    use crate::provider::scripted::{self, Script};
    use crate::tools::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext};
    use serde_json::{Value, json};

    /// A tool without arguments that says its name.
    struct Named(ToolSpec);

    struct Call(String);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn prepare<'a>(&'a self, _: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
            Box::pin(async { Ok(Box::new(Call(self.0.name.clone())) as Box<dyn PreparedCall>) })
        }
    }

    impl PreparedCall for Call {
        fn effect(&self) -> Effect {
            Effect::Read
        }

        fn shown(&self) -> Shown {
            Shown::default()
        }

        fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
            Box::pin(async { Ok(ToolAnswer::done("done", format!("{} answers", self.0))) })
        }
    }

    fn set(names: &[&str]) -> ToolSet {
        let named = |name: &&str| {
            let spec = ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: json!({"type": "object"}),
                effect: Effect::Read,
            };
            Arc::new(Named(spec)) as Arc<dyn Tool>
        };
        ToolSet::new(names.iter().map(named).collect()).unwrap()
    }

    fn names(tools: &ToolSet) -> Vec<String> {
        tools.specs().iter().map(|spec| spec.name.clone()).collect()
    }

    #[tokio::test]
    async fn earlier_source_keeps_its_names() {
        let sources = ToolSources::new(ProjectTools::new(set(&["one", "two"]), |_| None));
        let foreign = set(&["two", "three"]);
        sources.add(ToolSource::Chosen(Arc::new(move |scope| {
            let tools = if scope.session.is_some() { foreign.clone() } else { ToolSet::default() };
            Box::pin(async move { tools })
        })));
        assert_eq!(names(&sources.tools(ExchangeScope::new_session()).await), ["one", "two"]);
        let session = Session::new("", 0.0);
        assert_eq!(names(&sources.tools(ExchangeScope::of(&session)).await), ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn deferred_tools_are_found_and_not_offered() {
        let sources = ToolSources::new(ProjectTools::new(set(&["one"]), |_| None));
        let more = |tools: ToolSet| -> ChooseTools {
            Arc::new(move |_| {
                let tools = tools.clone();
                Box::pin(async move { tools })
            })
        };
        sources.add(ToolSource::Deferred(more(ToolSet::default())));
        assert_eq!(names(&sources.tools(ExchangeScope::new_session()).await), ["one"]);
        sources.add(ToolSource::Deferred(more(set(&["two"]))));
        sources.add(ToolSource::Chosen(more(set(&["three"]))));
        let tools = sources.tools(ExchangeScope::new_session()).await;
        assert_eq!(names(&tools), ["one", "three", "find_tools", "use_tool"]);
        assert!(tools.inner_call("use_tool", r#"{"name":"two","arguments":{}}"#).is_some());
    }

    #[tokio::test]
    async fn tool_that_is_off_is_known_and_cannot_be_called() {
        let tools = ProjectTools::new(set(&["one", "two"]), |_| None);
        let sources =
            ToolSources::new(tools).switched_by(Arc::new(|| Box::new(|name| !["two", "three"].contains(&name))));
        let deferred = set(&["three", "four"]);
        sources.add(ToolSource::Deferred(Arc::new(move |_| {
            let deferred = deferred.clone();
            Box::pin(async move { deferred })
        })));
        let tools = sources.tools(ExchangeScope::new_session()).await;
        assert_eq!(names(&tools), ["one", "find_tools", "use_tool"]);
        let uses = |name: &str| tools.inner_call("use_tool", &json!({"name": name, "arguments": {}}).to_string());
        assert!(uses("four").is_some() && uses("two").is_none() && uses("three").is_none());
        let known = sources.known().await;
        let known: Vec<(&str, bool)> = known.iter().map(|(spec, is_on)| (spec.name.as_str(), *is_on)).collect();
        assert_eq!(known, [("one", true), ("two", false), ("three", false), ("four", true)]);
    }

    #[tokio::test]
    async fn tools_change_between_exchanges_of_one_run() {
        let script = "replies:\n- steps: [{tool_call: {id: a, name: first_only}}, {finish: tool_calls}]\n\
                      - steps: [{tool_call: {id: b, name: first_only}}, {finish: tool_calls}]\n\
                      - steps: [{text: done}, {finish: stop}]\n- repeat: true\n  steps: [{text: title}, {finish: stop}]\n";
        let provider = scripted::start(Script::parse(script).unwrap()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = "embedding: {provider: none}\nfind_local_models: false\n";
        std::fs::write(folder.path().join("config.yml"), config).unwrap();
        let variables = [
            ("OPENAI_API_KEY".to_owned(), "sk-x".to_owned()),
            ("OPENAI_BASE_URL".to_owned(), provider.base_url.to_string()),
            ("OPENAI_MODEL".to_owned(), "scripted".to_owned()),
        ];
        let environment = Environment::load(folder.path(), variables.into_iter()).unwrap();
        let config = Config::load(folder.path(), &environment).unwrap();
        let runtime = Runtime::start(config, folder.path(), 0).await.unwrap();
        runtime.find_models();
        let server = crate::store::Home::open(folder.path()).unwrap();
        let homes = Homes::Each { people: server.people_folder().unwrap(), kept: None, server };
        let registry = TenantRegistry::new(runtime, homes);
        let engine = registry.open(&HomeId::Person(AccountId::parse("ann").unwrap())).await.unwrap();

        let exchanges = AtomicUsize::new(0);
        let (first, second) = (set(&["first_only"]), set(&["second_only"]));
        engine.tenant().tool_sources.add(ToolSource::Chosen(Arc::new(move |_| {
            let is_first = exchanges.fetch_add(1, Ordering::Relaxed) == 0;
            let tools = if is_first { first.clone() } else { second.clone() };
            Box::pin(async move { tools })
        })));
        let id = SessionId::parse(&engine.create("", None).await.unwrap().id).unwrap();
        let mut events = engine.tenant().hub.follow(&id, None).live;
        engine
            .say(&id, crate::engine::NewMessage { prompt: UserPrompt::from("go".to_owned()), ..Default::default() })
            .await
            .unwrap();
        let is_end = |item: &PublishedItem| matches!(item, PublishedItem::Event(Event::WorkFinished { .. }));
        while !is_end(&events.recv().await.unwrap().what) {}

        let offered = |request: &Value| {
            let tools = request["tools"].as_array().unwrap();
            tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).next_back().unwrap().to_owned()
        };
        let requests = provider.requests();
        assert_eq!(requests[..3].iter().map(offered).collect::<Vec<_>>(), ["first_only", "second_only", "second_only"]);
        let session = engine.view(&id).await.unwrap().session;
        let answers = session.messages.iter().filter(|message| message.role == Role::Assistant);
        let outputs: Vec<String> =
            answers.flat_map(|message| &message.tool_calls).map(|call| call.output.clone()).collect();
        assert_eq!(outputs[0], "first_only answers");
        assert!(outputs[1].contains("there is no tool named \"first_only\""), "{}", outputs[1]);
        registry.shut_down().await;
    }
}
