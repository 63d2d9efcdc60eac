//! The MCP servers of a home: what a person does with them, and their tools for each exchange.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::command_access::{CommandAccess, HomeOwner};
use super::models::Models;
use super::runtime::Runtime;
use super::tool_sources::{ChooseTools, ExchangeScope, ToolSource, ToolSources};
use super::{EngineError, Tenant};
use crate::config::{Environment, process_variables};
use crate::domain::ToolAnswer;
use crate::domain::mcp::{BadMcpEntry, McpEntry};
use crate::store::{Home, TrustedBy};
use crate::tokens::Counter;
use crate::tools::ToolSet;
use crate::tools::mcp::{McpParts, McpServers, OfferedTools, ServerView};

/// Most tokens that the definitions of all servers may take in requests, and most percent of the context window (in tenths).
const MAX_TOKENS: usize = 2_000;
const MAX_PER_MILLE: usize = 15;
/// What the names of variables begin with that no server gets: they configure this server.
const OWN_VARIABLES: &str = "MINICLAW_";

/// Why something was not done with a server.
#[derive(Debug, thiserror::Error)]
pub enum McpRefused {
    #[error("there is no MCP server {0}")]
    Unknown(String),
    #[error("{name}: {why}")]
    BadEntry { name: String, why: BadMcpEntry },
    /// What a person has seen is not what there is now.
    #[error("it has changed since it was shown; look at it again")]
    Changed,
    /// The server could not be started or did not answer: a sentence, which may quote the server.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Returns the servers of a home.
pub fn servers(runtime: &Arc<Runtime>, home: &Home, (commands, owner): (&CommandAccess, HomeOwner)) -> McpServers {
    let is_one_person = owner == HomeOwner::OnePerson;
    let folder = home.path().to_owned();
    // Those of the server's process are the server's, unless one person uses it.
    let variable = move |name: &str| {
        if name.starts_with(OWN_VARIABLES) {
            return None;
        }
        let process: Vec<_> = if is_one_person { process_variables().collect() } else { Vec::new() };
        Environment::load(&folder, process.into_iter()).ok()?.variable(name)
    };
    McpServers::new(McpParts {
        home: home.clone(),
        sandbox: commands.sandbox.clone().filter(|_| owner != HomeOwner::Server),
        variable: Box::new(variable),
        allow_hosts: if is_one_person { runtime.config().fetch_allow_hosts.clone() } else { Vec::new() },
        may_reach_loopback: is_one_person,
        own_port: runtime.own_port,
        generation: Default::default(),
    })
}

/// The servers as a source of tools.
pub struct McpSource {
    pub servers: McpServers,
    pub tokens: Arc<Counter>,
    /// Set once the models of the home are known.
    pub models: Arc<OnceLock<Arc<Models>>>,
}

impl McpSource {
    /// Adds the tools of the servers to those of a home.
    pub fn add_to(self, sources: &ToolSources) {
        let this = Arc::new(self);
        let of = |choose: fn(&McpSource, ExchangeScope<'_>, OfferedTools) -> ToolSet| -> ChooseTools {
            let this = this.clone();
            Arc::new(move |scope| {
                let this = this.clone();
                Box::pin(async move {
                    let tools = this.servers.tools().await;
                    choose(&this, scope, tools)
                })
            })
        };
        sources.add(ToolSource::Chosen(of(|this, scope, tools| match this.is_short(scope, &tools) {
            true => tools.always.with(tools.auto),
            false => tools.always,
        })));
        sources.add(ToolSource::Deferred(of(|this, scope, tools| match this.is_short(scope, &tools) {
            true => tools.deferred,
            false => tools.auto.with(tools.deferred),
        })));
    }

    /// Returns whether the definitions of all tools take little of the context window.
    fn is_short(&self, scope: ExchangeScope<'_>, tools: &OfferedTools) -> bool {
        if tools.auto.is_empty() {
            return true;
        }
        let specs = [tools.always.specs(), tools.auto.specs()];
        let count = |text: &str| self.tokens.count_cached(text);
        let of_spec = |spec: &crate::domain::ToolSpec| count(&spec.description) + count(&spec.parameters.to_string());
        let total: usize = specs.iter().flat_map(|specs| specs.iter()).map(of_spec).sum();
        let chosen = scope.session.map(|session| session.chosen.clone()).unwrap_or_default();
        let window = self.models.get().map_or(0, |models| models.status_of(&chosen).context_window as usize);
        let most = match window {
            0 => MAX_TOKENS,
            window => MAX_TOKENS.min(window * MAX_PER_MILLE / 1_000),
        };
        total <= most
    }
}

impl Tenant {
    /// Returns what a person sees of all MCP servers, and why `mcp.json` cannot be used if it cannot.
    pub async fn mcp_servers(&self) -> (Vec<ServerView>, Option<String>) {
        self.mcp.view().await
    }

    /// Adds the entries of MCP servers, or replaces them. None of them starts before a person has confirmed it.
    ///
    /// # Errors
    /// Returns [`McpRefused::BadEntry`] if one of them cannot be used; then none is added.
    pub async fn set_mcp_servers(&self, entries: Vec<(String, Value)>) -> Result<(), McpRefused> {
        for (name, entry) in &entries {
            McpEntry::parse(name, entry).map_err(|why| McpRefused::BadEntry { name: name.clone(), why })?;
        }
        self.tree.set_mcp_entries(self.claim, entries).await.map_err(EngineError::from)?;
        self.mcp_changed().await;
        Ok(())
    }

    /// Removes an MCP server, with what was trusted of it.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub async fn remove_mcp_server(&self, name: &str) -> Result<(), McpRefused> {
        self.tree.remove_mcp_entry(self.claim, name.to_owned()).await.map_err(EngineError::from)?;
        self.mcp_changed().await;
        Ok(())
    }

    /// Confirms the entry of a server in the version that a person has seen, by its hash, and starts it.
    ///
    /// # Errors
    /// Returns [`McpRefused::Changed`] if it is another version now. That the server does not start is no error.
    pub async fn trust_mcp_server(&self, name: &str, seen: &str, by: TrustedBy) -> Result<(), McpRefused> {
        let (sha256, text) = self.mcp.entry(name).await.ok_or_else(|| McpRefused::Unknown(name.to_owned()))?;
        if sha256 != seen {
            return Err(McpRefused::Changed);
        }
        let trusted = (name.to_owned(), text);
        self.tree.trust_mcp_entry(self.claim, trusted, by).await.map_err(EngineError::from)?;
        self.mcp.reload().await;
        // A person sees in the list why it does not start.
        let _ = self.mcp.reconnect(name).await;
        self.models.prefix_changed().await;
        Ok(())
    }

    /// Trusts tools of a server in the versions that a person has seen: names with hashes.
    ///
    /// # Errors
    /// Returns [`McpRefused::Changed`] if one is another version now; then none is trusted.
    pub async fn trust_mcp_tools(
        &self,
        server: &str,
        seen: Vec<(String, String)>,
        by: TrustedBy,
    ) -> Result<(), McpRefused> {
        let mut texts = Vec::new();
        for (tool, sha256) in seen {
            let (now, text) = self.mcp.definition(server, &tool).await.ok_or(McpRefused::Unknown(tool.clone()))?;
            if now != sha256 {
                return Err(McpRefused::Changed);
            }
            texts.push((tool, text));
        }
        let trusted = (server.to_owned(), texts);
        self.tree.trust_mcp_tools(self.claim, trusted, by).await.map_err(EngineError::from)?;
        self.mcp_changed().await;
        Ok(())
    }

    /// Stops a server and starts it again.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if it cannot be used.
    pub async fn reconnect_mcp_server(&self, name: &str) -> Result<(), McpRefused> {
        self.mcp.reconnect(name).await.map_err(McpRefused::Failed)
    }

    /// Calls a tool of a server for a person.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if the server cannot be used or does not answer.
    pub async fn call_mcp_tool(&self, called: (&str, &str), arguments: &Value) -> Result<ToolAnswer, McpRefused> {
        self.mcp.call(called, arguments).await.map_err(McpRefused::Failed)
    }

    async fn mcp_changed(&self) {
        self.mcp.reload().await;
        self.models.prefix_changed().await;
    }
}
