//! MCP servers: programs and services whose tools the model can use (docs/mcp.md).
//!
//! `mcp.json` names the servers of a home. Nothing starts before a person has confirmed its entry, and the model reads no
//! definition of a tool that a person has not trusted. What was last listed is kept, so the tools are offered before their
//! server runs; it starts with its first call.

mod connection;
mod era;
mod link;
mod listing;
mod message;
mod paths;
mod pins;
mod remote;
mod result;
mod server;
mod starting;
mod tool;
mod view;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use self::server::Server;
use self::tool::McpTool;
use super::{LiveOutput, Tool, ToolSet};
use crate::domain::mcp::{McpEntry, McpLoad, offered_name, server_prefix};
use crate::domain::visible::visible;
use crate::domain::{FileStamp, ToolAnswer};
use crate::store::sha256;

pub use self::pins::PinState;
pub use self::server::Shared as McpParts;
pub use self::view::{ServerStatus, ServerView, ToolView};

/// The servers of a home. Cheap to clone.
#[derive(Clone)]
pub struct McpServers {
    shared: Arc<McpParts>,
    loaded: Arc<Mutex<Loaded>>,
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
    /// The tools as they were last made, with the generation that they are of.
    made: Option<(u64, OfferedTools)>,
}

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
        Self { shared: Arc::new(parts), loaded: Arc::default() }
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads `mcp.json` again if it has changed. Servers with the same entry go on.
    pub async fn refresh(&self) {
        let this = self.clone();
        let replaced = spawn_blocking(move || this.read_again(Reading::IfChanged)).await.unwrap_or_default();
        retire_all(replaced).await;
    }

    /// Reads everything again, because a person has changed it.
    pub async fn reload(&self) {
        let this = self.clone();
        let replaced = spawn_blocking(move || this.read_again(Reading::Always)).await.unwrap_or_default();
        retire_all(replaced).await;
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
                    let fresh = Server::new(self.shared.clone(), entry);
                    let same = before
                        .iter()
                        .find(|known| known.entry == fresh.entry && known.is_confirmed == fresh.is_confirmed);
                    next.servers.push(match same {
                        Some(known) => {
                            known.look_at_pins();
                            known.clone()
                        }
                        None => Arc::new(fresh),
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

    /// Returns the tools for the next exchange. Asks servers that run for their tools if these may have changed.
    pub async fn tools(&self) -> OfferedTools {
        self.refresh().await;
        for server in self.servers() {
            if server.listed().is_none() && server.may_begin() {
                // Nobody knows its tools yet, because it was confirmed while this server did not run, or could not be
                // started. They come with a later exchange.
                self.connect_later(server);
            } else if server.is_stale().await {
                server.relist().await;
            }
        }
        let generation = self.shared.generation.load(Ordering::Relaxed);
        if let Some((of, made)) = &self.loaded().made
            && *of == generation
        {
            return made.clone();
        }
        let servers = self.servers();
        // The schemas are compiled.
        let made = spawn_blocking(move || OfferedTools::of(&servers)).await.unwrap_or_default();
        self.loaded().made = Some((generation, made.clone()));
        made
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

    /// Returns the hash and the text of what a person confirms of a server.
    pub async fn entry(&self, name: &str) -> Option<(String, String)> {
        self.refresh().await;
        self.server(name).map(|server| (server.fingerprint.clone(), server.entry.confirmed.clone()))
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
        let result = server.call(&link, (tool, arguments), stop).await.map_err(|error| error.to_string())?;
        Ok(result::answer(server.home(), (name, tool), &result).await)
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
        let of_load = |wanted: McpLoad| {
            let servers = servers.iter().filter(|server| server.is_confirmed && server.entry.load == wanted);
            ToolSet::all(servers.map(tools_of))
        };
        Self { always: of_load(McpLoad::Always), auto: of_load(McpLoad::Auto), deferred: of_load(McpLoad::Deferred) }
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
