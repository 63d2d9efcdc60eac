//! How a server is started: its program in the sandbox, or a connection to its service.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::SecretString;

use super::connection::Connection;
use super::era::{self, Era};
use super::link::Link;
use super::paths::Paths;
use super::remote::{self, RemoteAddress};
use super::server::Server;
use crate::domain::mcp::{McpNetwork, McpTransport, expand};
use crate::domain::{FolderOwner, Mask, SecretName};
use crate::egress::{Guard, system_lookup};
use crate::sandbox::{Companion, Job, Network};
use crate::tools::fetch_url::StreamClient;

/// How long a program that nobody uses goes on.
const IDLE: Duration = Duration::from_secs(600);
/// How long the sandbox has to start a program.
const START: Duration = Duration::from_secs(20);
/// Maximum bytes of address space of a program. Node.js reserves far more than it uses.
const MEMORY: u64 = 64 << 30;

impl Server {
    /// Starts the program, or connects to the service, and finds out its era.
    ///
    /// # Errors
    /// Returns a sentence if that fails.
    pub(super) async fn started(&self) -> Result<Link, String> {
        let remembered = self.era();
        let link = match &self.entry.transport {
            McpTransport::Stdio { command, args, env } => {
                let argv: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
                era::connect(|era| Box::pin(self.program(era, argv.clone(), env)), remembered).await?
            }
            McpTransport::Http { url, headers } => remote::connect(self.address(url, headers)?, remembered).await?,
        };
        Ok(link)
    }

    async fn program(&self, era: Era, argv: Vec<String>, env: &[(String, String)]) -> Result<Connection, String> {
        let sandbox = self.shared.sandbox.as_ref().ok_or("no program runs in this home")?;
        let env = self.expanded(env)?;
        let (shared, entry) = (self.shared.clone(), self.entry.clone());
        let paths = tokio::task::spawn_blocking(move || Paths::of(&shared.home, &entry));
        let Paths { cwd, mut readable, writable } =
            paths.await.map_err(|_| "the server is shutting down".to_owned())??;
        let program = Path::new(&argv[0]);
        if program.is_absolute() {
            readable.push(program.to_owned());
        }
        let (network, hosts) = match &self.entry.network {
            McpNetwork::None => (Network::None, None),
            McpNetwork::Hosts(hosts) => (Network::Proxied, Some(hosts.clone())),
            McpNetwork::Public => (Network::Proxied, None),
        };
        let job = Job {
            argv,
            cwd,
            readable,
            env,
            wall: START,
            output_cap: 0,
            memory: MEMORY,
            network,
            capture: None,
            owner: FolderOwner::Commands,
        };
        let started = sandbox.companion(Companion { job, writable, hosts }).await.map_err(|error| error.to_string())?;
        Ok(Connection::start(era, started, IDLE))
    }

    fn address(&self, url: &str, headers: &[(String, String)]) -> Result<RemoteAddress, String> {
        let url = remote::check_address(url)?;
        let mut hosts = self.shared.allow_hosts.clone();
        if remote::is_loopback(&url) {
            if !self.shared.may_reach_loopback {
                return Err("servers on the machine of this server cannot be reached".to_owned());
            }
            let port = url.port_or_known_default().unwrap_or(80);
            hosts.push(format!("{}:{port}", url.host_str().unwrap_or_default()));
        }
        let guard = Guard::new(&hosts).but_not(Some(self.shared.own_port));
        guard.check(&url).map_err(|why| why.to_string())?;
        let client = Arc::new(StreamClient::new(guard, system_lookup())?);
        let headers = self.expanded(headers)?;
        let headers = headers.into_iter().map(|(name, value)| (name, SecretString::from(value))).collect();
        Ok(RemoteAddress { client, url, headers })
    }

    /// Replaces variables by their values. What the server says is shown without these from then on.
    fn expanded(&self, templates: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
        let used = Mutex::new(Vec::new());
        let variable = |name: &str| {
            let value = (self.shared.variable)(name)?;
            if let Ok(name) = SecretName::parse(name) {
                used.lock().unwrap_or_else(PoisonError::into_inner).push((name, value.clone()));
            }
            Some(value)
        };
        let fields = templates.iter().map(|(name, template)| Ok((name.clone(), expand(template, variable)?)));
        let fields: Result<Vec<_>, String> = fields.collect();
        let fields = fields.map_err(|name| format!("the variable {name} has no value; set it in .env"))?;
        let used = used.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.hide_from_now_on(Mask::new(used.iter().map(|(name, value)| (name, value.as_str()))));
        Ok(fields)
    }
}
