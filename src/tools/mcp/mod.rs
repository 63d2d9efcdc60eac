//! MCP servers: programs and services whose tools the model can use (docs/mcp.md).
//!
//! `mcp.json` names the servers of a home. Nothing starts before a person has confirmed its entry, and the model reads no
//! definition of a tool that a person has not trusted. What was last listed is kept, so the tools are offered before their
//! server runs; it starts with its first call.

mod address;
mod askers;
mod confirmation;
mod connection;
mod elicitation;
mod era;
mod events;
mod link;
mod listening;
mod listing;
mod masking;
mod message;
mod oauth;
mod offers;
mod package;
mod param_headers;
mod paths;
mod pins;
mod relisting;
mod remote;
mod resource_tool;
mod result;
mod server;
mod signing_in;
mod starting;
mod tasks;
mod tool;
mod uses;
mod view;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use self::relisting::Staleness;
use self::result::ResultFiles;
use self::server::Server;
use self::tasks::TaskGuard;
use self::tool::{CallStage, McpTool, UNKNOWN, explained};
use super::{LiveOutput, LiveQuestions, Tool, ToolSet};
use crate::domain::mcp::{McpEntry, McpLoad, offered_name, server_prefix};
use crate::domain::visible::visible;
use crate::domain::{FileStamp, ToolAnswer};
use crate::store::sha256;

pub use self::confirmation::CurrentEntry;
pub use self::oauth::{SignInAddress, SignInAnswer, SignInFailed, SignInState, SignIns};
pub use self::offers::{OfferError, PromptArgument, PromptView, ResourceView};
pub use self::package::{NewPackage, new_package};
pub use self::pins::PinState;
pub use self::server::Shared as McpParts;
pub use self::view::{McpFence, ServerStatus, ServerView, ToolView};

/// The servers of a home. Cheap to clone.
#[derive(Clone)]
pub struct McpServers {
    shared: Arc<McpParts>,
    loaded: Arc<Mutex<Loaded>>,
    /// Held while `mcp.json` is read, so that of two reads the later one counts.
    reading: Arc<tokio::sync::Mutex<()>>,
    /// Held while a package is installed.
    installing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Loaded {
    /// The stamp of `mcp.json` when it was read; absent if it has not been.
    stamp: Option<Option<FileStamp>>,
    /// Why the file cannot be used.
    problem: Option<String>,
    servers: Vec<Arc<Server>>,
    /// Entries that cannot be used, with the reason.
    broken: BTreeMap<String, String>,
    /// The tools as they were last made.
    made: Option<MadeTools>,
}

#[derive(Clone)]
struct MadeTools {
    generation: u64,
    /// Names of the servers that need a sign-in first.
    closed: Vec<String>,
    tools: OfferedTools,
}

/// How long an exchange waits for a list that a server has announced. It is looked up in the background all the same.
const ANNOUNCED: Duration = Duration::from_secs(1);

/// The tools of the servers for one exchange.
#[derive(Clone, Default)]
pub struct OfferedTools {
    /// Those whose definitions are always in requests.
    pub always: ToolSet,
    /// Those whose definitions are in requests if all together are short.
    pub auto: ToolSet,
    pub deferred: ToolSet,
}

impl McpServers {
    pub fn new(parts: McpParts) -> Self {
        Self { shared: Arc::new(parts), loaded: Arc::default(), reading: Arc::default(), installing: Arc::default() }
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads `mcp.json` again if it has changed. Servers with the same entry go on.
    pub async fn refresh(&self) {
        self.read_in_turn(Reading::IfChanged).await;
    }

    /// Reads everything again, because a person has changed it.
    pub async fn reload(&self) {
        self.read_in_turn(Reading::Always).await;
    }

    async fn read_in_turn(&self, reading: Reading) {
        let (this, turn) = (self.clone(), self.reading.clone().lock_owned().await);
        let read = spawn_blocking(move || {
            let _turn = turn;
            this.read_again(reading)
        });
        retire_all(read.await.unwrap_or_default()).await;
    }

    /// Returns the servers that are not used any more. Blocks.
    fn read_again(&self, reading: Reading) -> Vec<Arc<Server>> {
        let stamp = self.shared.home.mcp_stamp();
        if reading == Reading::IfChanged && self.loaded().stamp == Some(stamp) {
            return Vec::new();
        }
        let file = self.shared.home.mcp_file();
        let before = self.servers();
        let mut next = Loaded { stamp: Some(file.stamp), ..Loaded::default() };
        let entries = match file.entries {
            Ok(entries) => entries,
            Err(why) => {
                next.problem = Some(why);
                Vec::new()
            }
        };
        for (name, entry) in entries {
            match McpEntry::parse(&name, &entry) {
                Ok(entry) => {
                    let current = CurrentEntry::of(&self.shared.home, &entry);
                    let known = before.iter().find(|known| known.name() == name);
                    next.servers.push(match known.filter(|known| known.goes_on_with(&entry, &current)) {
                        Some(known) => known.clone(),
                        None => Arc::new(Server::new(self.shared.clone(), entry, current)),
                    });
                }
                Err(why) => {
                    next.broken.insert(name, why.to_string());
                }
            }
        }
        let gone = before.into_iter().filter(|old| !next.servers.iter().any(|new| Arc::ptr_eq(old, new))).collect();
        *self.loaded() = next;
        self.shared.offer_again();
        gone
    }

    fn servers(&self) -> Vec<Arc<Server>> {
        self.loaded().servers.clone()
    }

    fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.servers().into_iter().find(|server| server.name() == name)
    }

    /// Returns whether a server lists a tool that the model has under this name, or would have if it were trusted.
    pub async fn has_tool(&self, offered_as: &str) -> bool {
        self.refresh().await;
        let lists = |server: &Arc<Server>| {
            let listed = server.listed();
            let mut names =
                listed.iter().flat_map(|listed| listed.tools.iter().map(|tool| tool.definition.name.as_str()));
            names.any(|name| offered_name(server.name(), name, sha256) == offered_as)
        };
        server_prefix(offered_as).is_some() && self.servers().iter().any(lists)
    }

    async fn found(&self, name: &str) -> Result<Arc<Server>, String> {
        self.refresh().await;
        self.server(name).ok_or_else(|| format!("there is no server {}", visible(name)))
    }

    /// Returns the tools for the next exchange. Servers that run are asked in the background for their tools if these may
    /// have changed; only a change that a server has announced is waited for, up to [`ANNOUNCED`].
    pub async fn tools(&self) -> OfferedTools {
        self.refresh().await;
        let mut announced = Vec::new();
        for server in self.servers() {
            if server.listed().is_none() && server.may_begin() {
                // Nobody knows its tools yet, because it was confirmed while this server did not run, or could not be
                // started. They come with a later exchange.
                self.connect_later(server);
                continue;
            }
            match server.staleness().await {
                Some(Staleness::Announced) => announced.push(server.relist()),
                Some(Staleness::Old) => drop(server.relist()),
                None => {}
            }
        }
        let _ = tokio::time::timeout(ANNOUNCED, futures_util::future::join_all(announced)).await;
        let servers = self.servers();
        let closed = servers.iter().filter(|server| server.needs_sign_in()).map(|server| server.name().to_owned());
        let (generation, closed) = (self.shared.generation.load(Ordering::Relaxed), closed.collect::<Vec<_>>());
        if let Some(made) = &self.loaded().made
            && (made.generation, &made.closed) == (generation, &closed)
        {
            return made.tools.clone();
        }
        // The schemas are compiled.
        let tools = spawn_blocking(move || OfferedTools::of(&servers)).await.unwrap_or_default();
        self.loaded().made = Some(MadeTools { generation, closed, tools: tools.clone() });
        tools
    }

    fn connect_later(&self, server: Arc<Server>) {
        tokio::spawn(async move {
            if let Err(why) = server.connect().await {
                tracing::warn!(server = server.name(), why, "an MCP server cannot be used");
            }
        });
    }

    /// Returns what a person sees of all servers.
    pub async fn view(&self) -> (Vec<ServerView>, Option<String>) {
        self.refresh().await;
        let loaded = self.loaded();
        let mut views: Vec<ServerView> = loaded
            .servers
            .iter()
            .map(|server| {
                server.observe();
                ServerView::of(server)
            })
            .collect();
        views.extend(loaded.broken.iter().map(|(name, why)| ServerView::broken(name, why)));
        (views, loaded.problem.clone())
    }

    /// Returns what is confirmed of a server, and its entry as it is now.
    pub async fn current(&self, name: &str) -> Option<CurrentEntry> {
        self.refresh().await;
        Some(self.server(name)?.current())
    }

    /// Returns the canonical text of a tool's definition with its hash, as the server lists it now.
    pub async fn definition(&self, server: &str, tool: &str) -> Option<(String, String)> {
        let definition = self.found(server).await.ok()?.tool(tool)?.definition;
        Some((definition.sha256, definition.text))
    }

    /// Stops a server, starts it again and lists its tools.
    ///
    /// # Errors
    /// Returns a sentence if there is no such server, nobody has confirmed it, or it cannot be used.
    pub async fn reconnect(&self, name: &str) -> Result<(), String> {
        let server = self.found(name).await?;
        server.stop().await;
        server.connect().await.map(drop)
    }

    /// Calls a tool for a person, whether it is trusted or not.
    ///
    /// # Errors
    /// Returns a sentence if the server cannot be used or does not answer.
    pub async fn call(&self, (name, tool): (&str, &str), arguments: &Value) -> Result<ToolAnswer, String> {
        let server = self.found(name).await?;
        let link = server.connect().await?;
        let stop = (&CancellationToken::new(), &LiveOutput::default());
        let params = json!({"name": tool, "arguments": arguments});
        let nobody = LiveQuestions::default();
        let called = server.call(&link, params, stop, &nobody).await.map_err(|error| error.to_string())?;
        let mut result = called.result;
        if let Some(task) = tasks::created(&result) {
            let mut task = TaskGuard::new(link.clone(), task?);
            let followed = server.follow(&mut task, &Map::new(), stop).await;
            result = followed.map_err(|error| explained(&error, CallStage::Task))?;
            if elicitation::is_required(&result) {
                return Err(format!("its task asks for input, which it gets only in a conversation. {UNKNOWN}"));
            }
        }
        let files = ResultFiles { home: server.home(), pictures: None };
        Ok(result::answer(files, (name, tool), &result).await)
    }

    /// Lists the resources of a server, with its templates.
    ///
    /// # Errors
    /// Returns a sentence if the server cannot be used.
    pub async fn resources(&self, name: &str) -> Result<Vec<ResourceView>, String> {
        let server = self.found(name).await?;
        let link = server.connect().await?;
        offers::resources(&server, &link).await
    }

    /// Reads a resource of a server as text.
    ///
    /// # Errors
    /// Returns a sentence if it cannot be read, is no text, or is too long for a message.
    pub async fn read_resource(&self, name: &str, uri: &str) -> Result<String, String> {
        let server = self.found(name).await?;
        let link = server.connect().await?;
        offers::read(&server, &link, uri).await
    }

    /// Lists the prompts of a server.
    ///
    /// # Errors
    /// Returns a sentence if the server cannot be used.
    pub async fn prompts(&self, name: &str) -> Result<Vec<PromptView>, String> {
        let server = self.found(name).await?;
        let link = server.connect().await?;
        offers::prompts(&server, &link).await
    }

    /// Returns the text of a prompt in the version that a person has seen: its name with the hash of its definition.
    ///
    /// # Errors
    /// Returns [`OfferError::Changed`] if it is another version now.
    pub async fn prompt_text(
        &self,
        name: &str,
        seen: (&str, &str),
        arguments: &Map<String, Value>,
    ) -> Result<String, OfferError> {
        let server = self.found(name).await?;
        let link = server.connect().await?;
        offers::prompt_text(&server, &link, seen, arguments).await
    }

    /// Stops all servers for good, and waits until no process is left.
    pub async fn stop_all(&self) {
        retire_all(self.servers()).await;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Reading {
    IfChanged,
    Always,
}

async fn retire_all(servers: Vec<Arc<Server>>) {
    futures_util::future::join_all(servers.iter().map(|server| server.retire())).await;
}

impl OfferedTools {
    /// Returns the tools that may be offered. Blocks.
    fn of(servers: &[Arc<Server>]) -> Self {
        let is_offered = |server: &&Arc<Server>| server.is_confirmed() && !server.needs_sign_in();
        let servers: Vec<Arc<Server>> = servers.iter().filter(is_offered).cloned().collect();
        let of_load = |wanted: McpLoad| {
            ToolSet::all(servers.iter().filter(|server| server.current().rules.load == wanted).map(tools_of))
        };
        let deferred = of_load(McpLoad::Deferred).with(resource_tool::resource_tools(&servers));
        Self { always: of_load(McpLoad::Always), auto: of_load(McpLoad::Auto), deferred }
    }
}

fn tools_of(server: &Arc<Server>) -> ToolSet {
    let listed = server.listed().map(|listed| listed.tools);
    let tools = listed.iter().flat_map(|tools| tools.iter()).filter_map(|pinned| {
        let tool = Arc::new(McpTool::new(server.clone(), pinned)?) as Arc<dyn Tool>;
        // Its schema was checked with its pin, so this does not fail.
        ToolSet::new(vec![tool]).inspect_err(|error| tracing::warn!(%error, "a tool of an MCP server is left out")).ok()
    });
    ToolSet::all(tools)
}
