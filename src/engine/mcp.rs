//! The MCP servers of a home: what a person does with them, and their tools for each exchange.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::command_access::{CommandAccess, HomeOwner};
use super::models::Models;
use super::runtime::Runtime;
use super::tool_sources::{ChooseTools, ExchangeScope, ToolSource, ToolSources};
use super::{EngineError, Tenant, blocking};
use crate::config::{Environment, process_variables};
use crate::domain::ToolAnswer;
use crate::domain::mcp::{BadMcpEntry, McpEntry, McpRules, check_name};
use crate::store::{ReplacedEntry, StoreError, TrustedBy};
use crate::tokens::Counter;
use crate::tools::mcp::{
    McpParts, McpServers, NewPackage, OfferedTools, ServerView, SignInAddress, SignInAnswer, SignInFailed, new_package,
};
use crate::tools::{FileAccess, ToolSet};

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
    /// No sign-in has begun that this is the end of.
    #[error("no sign-in waits for this answer: it took longer than 10 minutes, or has ended already; sign in again")]
    NoSignIn,
    /// The server could not be started or did not answer: a sentence, which may quote the server.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What happens to the files of a server's program when the server is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpFiles {
    Remove,
    Keep,
}

/// Returns the servers of a home.
pub fn servers(
    runtime: &Arc<Runtime>,
    files: FileAccess,
    (commands, owner): (&CommandAccess, HomeOwner),
) -> McpServers {
    let FileAccess { home, keep_pictures, .. } = files;
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
        home,
        keep_pictures,
        sandbox: commands.sandbox.clone().filter(|_| owner != HomeOwner::Server),
        variable: Box::new(variable),
        allow_hosts: if is_one_person { runtime.config().fetch_allow_hosts.clone() } else { Vec::new() },
        may_reach_loopback: is_one_person,
        own_port: runtime.own_port,
        generation: Default::default(),
        sign_ins: Default::default(),
    })
}

/// The servers as a source of tools.
pub struct McpSource {
    pub servers: McpServers,
    pub tokens: Arc<Counter>,
    /// Set once the models of the home are known.
    pub models: Arc<OnceLock<Arc<Models>>>,
}

/// Returns the tools without those of servers that are off in the conversation.
fn switched(scope: ExchangeScope<'_>, tools: OfferedTools) -> OfferedTools {
    let Some(session) = scope.session.filter(|session| !session.chosen.mcp_off.is_empty()) else { return tools };
    let prefixes: Vec<String> = session.chosen.mcp_off.iter().map(|name| format!("mcp__{name}__")).collect();
    let is_on = |tool: &str| !prefixes.iter().any(|prefix| tool.starts_with(prefix));
    let OfferedTools { always, auto, deferred } = tools;
    OfferedTools { always: always.only(is_on), auto: auto.only(is_on), deferred: deferred.only(is_on) }
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
                    choose(&this, scope, switched(scope, tools))
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

    /// Installs a package as an MCP server, whose new entry a person has to confirm. Returns the name of the server.
    ///
    /// # Errors
    /// Returns [`McpRefused::BadEntry`] if it is no package in one version, and [`McpRefused::Failed`] if it cannot be installed.
    pub async fn install_mcp_package(
        &self,
        package: &str,
        (server, arguments): (Option<String>, Option<Vec<String>>),
    ) -> Result<String, McpRefused> {
        let bad = |why| McpRefused::BadEntry { name: package.to_owned(), why };
        let (package, server) = new_package(package, server).map_err(bad)?;
        let new = NewPackage { server: server.clone(), package, arguments };
        let entry = self.mcp.install(new).await.map_err(McpRefused::Failed)?;
        self.set_mcp_servers(vec![(server.clone(), entry)]).await?;
        Ok(server)
    }

    /// Sets the rules of an MCP server. A person who sets them has seen them, so an entry that was confirmed stays so.
    ///
    /// # Errors
    /// Returns [`McpRefused::Unknown`] if there is no such server, [`McpRefused::Changed`] if the file was changed meanwhile, and
    /// [`McpRefused::BadEntry`] if its entry is too long then.
    pub async fn set_mcp_rules(&self, name: &str, rules: McpRules, by: TrustedBy) -> Result<(), McpRefused> {
        let unknown = || McpRefused::Unknown(name.to_owned());
        let (home, wanted) = (self.home.clone(), name.to_owned());
        let found = blocking(move || Ok(home.mcp_entry(&wanted))).await?.ok_or_else(unknown)?;
        let current = self.mcp.current(name).await.ok_or_else(unknown)?;
        let changed = rules.applied_to(&found);
        let bad = |why| McpRefused::BadEntry { name: name.to_owned(), why };
        let [read, parsed] = [&found, &changed].map(|entry| McpEntry::parse(name, entry));
        let (read, parsed) = (read.map_err(bad)?, parsed.map_err(bad)?);
        if read.confirmed != current.confirmed {
            return Err(McpRefused::Changed);
        }
        // First, so that the new version is confirmed as soon as it is in the file.
        if current.confirmation.is_confirmed {
            let trusted = (name.to_owned(), parsed.confirmed);
            self.tree.trust_mcp_entry(self.claim, trusted, by).await.map_err(EngineError::from)?;
        }
        let entry = ReplacedEntry { server: name.to_owned(), seen: found, next: changed };
        self.tree.replace_mcp_entry(self.claim, entry).await.map_err(|error| match error {
            StoreError::Conflict { .. } => McpRefused::Changed,
            error => EngineError::from(error).into(),
        })?;
        self.mcp_changed().await;
        Ok(())
    }

    /// Removes an MCP server, with what was trusted of it, its sign-in and, unless the person keeps them, the files of its
    /// program.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub async fn remove_mcp_server(&self, name: &str, files: McpFiles) -> Result<(), McpRefused> {
        if check_name(name).is_err() {
            return Err(McpRefused::Unknown(name.to_owned()));
        }
        self.tree.remove_mcp_entry(self.claim, name.to_owned()).await.map_err(EngineError::from)?;
        // Its program has ended after this.
        self.mcp_changed().await;
        self.mcp.forget_sign_in(name);
        let (home, name) = (self.home.clone(), name.to_owned());
        blocking(move || match files {
            McpFiles::Remove => home.remove_mcp_files(&name),
            McpFiles::Keep => home.forget_mcp_sign_in(&name),
        })
        .await?;
        Ok(())
    }

    /// Begins a sign-in to an MCP server: returns the address that the person opens. `callback` is where the browser comes back
    /// to.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if the server does not say how to sign in.
    pub async fn begin_mcp_sign_in(&self, name: &str, callback: &str) -> Result<SignInAddress, McpRefused> {
        self.mcp.begin_sign_in(name, callback).await.map_err(McpRefused::Failed)
    }

    /// Ends a sign-in with what the browser has brought back, and returns the name of the server.
    ///
    /// # Errors
    /// Returns [`McpRefused::NoSignIn`] if none has begun, and [`McpRefused::Failed`] if there are no tokens.
    pub async fn finish_mcp_sign_in(&self, answer: SignInAnswer) -> Result<String, McpRefused> {
        let name = self.mcp.finish_sign_in(answer).await.map_err(|failed| match failed {
            SignInFailed::Unknown => McpRefused::NoSignIn,
            SignInFailed::Failed(why) => McpRefused::Failed(why),
        })?;
        self.models.prefix_changed().await;
        Ok(name)
    }

    /// Signs out of an MCP server.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if there is no such server, or its file cannot be changed.
    pub async fn end_mcp_sign_in(&self, name: &str) -> Result<(), McpRefused> {
        self.mcp.sign_out(name).await.map_err(McpRefused::Failed)?;
        self.models.prefix_changed().await;
        Ok(())
    }

    /// Confirms the entry of a server in the version that a person has seen, by its hash, and starts it.
    ///
    /// # Errors
    /// Returns [`McpRefused::Changed`] if it is another version now. That the server does not start is no error.
    pub async fn trust_mcp_server(&self, name: &str, seen: &str, by: TrustedBy) -> Result<(), McpRefused> {
        let current = self.mcp.current(name).await.ok_or_else(|| McpRefused::Unknown(name.to_owned()))?;
        if current.confirmation.fingerprint != seen {
            return Err(McpRefused::Changed);
        }
        let trusted = (name.to_owned(), current.confirmed);
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
