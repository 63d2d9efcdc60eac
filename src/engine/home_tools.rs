//! The tools of a home, and those that replace them in a session that is bound to a project.

use std::path::Path;
use std::sync::Arc;

use super::command_access::CommandAccess;
use super::runtime::Runtime;
use super::tool_sources::{BoundTools, ProjectTools};
use crate::domain::{FolderOwner, ProjectId, Root, SecretName};
use crate::extraction::Extractor;
use crate::library::Library;
use crate::library::projects::ProjectLibraries;
use crate::library::recall::Conversations;
use crate::store::Home;
use crate::tools::project::{Bash, Jobs, ProjectFiles, project_file_tools};
use crate::tools::{
    Calculator, Captures, CommandEnvironment, FetchConfig, FetchUrl, FileAccess, FileTool, PythonRepl, ReadFile,
    RecallTool, SearchTool, Terminal, Tool, ToolSet, Weather, WeatherAddresses, WebSearch, WorkingFolder,
};

/// What the tools of a home work on.
#[derive(Clone)]
pub struct ToolParts {
    pub runtime: Arc<Runtime>,
    pub home: Home,
    pub files: FileAccess,
    pub captures: Captures,
    pub memory: Arc<Library>,
    pub knowledge: Arc<Library>,
    pub conversations: Conversations,
    pub jobs: Arc<Jobs>,
    pub projects: ProjectLibraries,
    pub commands: Arc<CommandAccess>,
    pub extractor: Extractor,
}

/// Returns the tools of a home. Those of a project are made when a session first needs them.
pub fn home_tools(parts: ToolParts) -> ProjectTools {
    let allow_hosts = parts.runtime.config().fetch_allow_hosts.clone();
    let fetch: Arc<dyn Tool> = Arc::new(FetchUrl::new(fetch_config((&parts.runtime, &parts.extractor), allow_hosts)));
    let search: Arc<dyn Tool> = Arc::new(SearchTool::knowledge(parts.knowledge.clone()));
    let scratch = ProjectId::scratch();
    let commands = command_tools(&parts, &scratch);
    let mut tools = Vec::new();
    if let Some(Commands { environment, python }) = &commands {
        tools.push(Arc::new(Terminal::new(environment.clone())) as Arc<dyn Tool>);
        tools.extend(python.clone());
    }
    tools.push(fetch.clone());
    tools.push(Arc::new(ReadFile::new(parts.home.clone())));
    tools.push(search.clone());
    tools.push(Arc::new(RecallTool::new(parts.memory.clone(), parts.conversations.clone())));
    for tool in [FileTool::create, FileTool::edit, FileTool::delete] {
        tools.push(Arc::new(tool(parts.files.clone())));
    }
    let shared = [fetch, search];
    // Both have the same interpreters.
    let in_scratch = with_secrets(&parts, &scratch, (commands, &shared));
    let unbound = set(tools);
    let made = ProjectTools::new(unbound, move |id| {
        let is_there = parts.home.has_root(&Root::Project(id.clone()));
        is_there.then(|| with_secrets(&parts, id, (command_tools(&parts, id), &shared)))
    });
    made.with(scratch, in_scratch)
}

/// The tools that run commands in one folder.
#[derive(Clone)]
struct Commands {
    environment: CommandEnvironment,
    python: Option<Arc<dyn Tool>>,
}

/// Returns what runs commands in the folder of a project; `None` where no command may run.
fn command_tools(parts: &ToolParts, id: &ProjectId) -> Option<Commands> {
    let ToolParts { runtime, home, captures, .. } = parts;
    let sandbox = parts.commands.sandbox.clone()?;
    let root = Root::Project(id.clone());
    home.require_writable(&root).ok()?;
    let (path, owner) = (home.working_path(&root)?, home.folder_owner(&root)?);
    // Commands may read what `read_file` may, knowledge/ only with permission, and nothing else of the home.
    let folder = |root: &Root| home.path().join(root.to_string());
    let below = match owner {
        // Its path names the account of its owner.
        FolderOwner::Sharer { .. } => Path::new("workspaces").join(path.file_name().unwrap_or_default()),
        FolderOwner::Commands | FolderOwner::Kept(_) => path.strip_prefix(home.path()).unwrap_or(&path).to_owned(),
    };
    let environment = CommandEnvironment {
        sandbox,
        folder: WorkingFolder { name: format!("{}/", below.display()), path: path.clone(), owner },
        readable: Root::HOME.iter().filter(|root| !root.is_outside_text()).map(folder).collect(),
        knowledge: folder(&Root::Knowledge),
        captures: Some(captures.in_project(root)),
    };
    let python = runtime.python.clone();
    let python = python.map(|python| Arc::new(PythonRepl::new(environment.clone(), python)) as Arc<dyn Tool>);
    Some(Commands { environment, python })
}

fn project_tools(
    parts: &ToolParts,
    (id, secrets): (&ProjectId, &[SecretName]),
    (commands, shared): (Option<Commands>, &[Arc<dyn Tool>]),
) -> ToolSet {
    let files = ProjectFiles::new(parts.files.clone(), Root::Project(id.clone()));
    let mut tools = project_file_tools(&files, parts.commands.of_helpers(&parts.runtime), &parts.projects);
    if let Some(Commands { environment, python }) = commands {
        tools.push(Arc::new(Bash::new(files, environment, (parts.jobs.clone(), secrets))));
        tools.extend(python);
    }
    if parts.home.require_writable(&Root::Project(id.clone())).is_err() {
        // What they change would be refused.
        tools.retain(|tool| tool.spec().effect.is_read_only());
    }
    tools.extend(shared.iter().cloned());
    set(tools)
}

/// Returns the tools of a project; while it has secrets, its commands can ask for them.
fn with_secrets(
    parts: &ToolParts,
    id: &ProjectId,
    (commands, shared): (Option<Commands>, &[Arc<dyn Tool>]),
) -> BoundTools {
    let plain = BoundTools::new(project_tools(parts, (id, &[]), (commands.clone(), shared)));
    if commands.is_none() {
        return plain;
    }
    let (home, of, parts, id) = (parts.home.clone(), id.clone(), parts.clone(), id.clone());
    let shared = shared.to_vec();
    let names = move || home.project_secrets(&of).into_iter().map(|secret| secret.name).collect();
    plain.with_secrets(names, move |names| project_tools(&parts, (&id, names), (commands.clone(), &shared)))
}

/// Returns the tools of every session that the model finds with `find_tools`.
pub fn deferred_tools(runtime: &Runtime, extractor: &Extractor) -> ToolSet {
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Calculator::default())];
    let engine = runtime.config().search_engine.clone();
    tools.push(Arc::new(WebSearch::new(engine, fetch_config((runtime, extractor), Vec::new()))));
    if let Ok(addresses) = WeatherAddresses::open_meteo() {
        tools.push(Arc::new(Weather::new(addresses, fetch_config((runtime, extractor), Vec::new()))));
    }
    set(tools)
}

fn fetch_config((runtime, extractor): (&Runtime, &Extractor), allow_hosts: Vec<String>) -> FetchConfig {
    let fetch = FetchConfig::new(allow_hosts, extractor.clone());
    FetchConfig { own_port: Some(runtime.own_port), ..fetch }
}

fn set(tools: Vec<Arc<dyn Tool>>) -> ToolSet {
    ToolSet::new(tools).expect("our own schemas have only keywords that are checked")
}
