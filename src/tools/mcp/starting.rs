//! How a server is started: its program in the sandbox, or a connection to its service.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::address;
use super::connection::Connection;
use super::era::{self, Era};
use super::link::Link;
use super::oauth::Authorization;
use super::paths::Paths;
use super::remote::{self, RemoteAddress};
use super::server::Server;
use crate::domain::mcp::{McpNetwork, McpTransport, expand};
use crate::domain::{FolderOwner, Mask, SecretName};
use crate::egress::{Guard, system_lookup};
use crate::sandbox::{Companion, Job, Level, Network, Sandbox};
use crate::tools::fetch_url::StreamClient;

/// How long a program that nobody uses goes on.
const IDLE: Duration = Duration::from_secs(600);
/// How long the sandbox has to start a program.
const START: Duration = Duration::from_secs(20);
/// Maximum bytes of address space of a program. Node.js reserves far more than it uses.
pub(super) const MEMORY: u64 = 64 << 30;

impl Server {
    /// Returns the sandbox level of its program, if that has no network and writes only in its own folder.
    pub fn fenced_level(&self) -> Option<Level> {
        let is_closed =
            self.entry.network == McpNetwork::None && self.entry.write.is_empty() && !self.entry.is_remote();
        self.shared.sandbox.as_ref().filter(|_| is_closed).map(Sandbox::level)
    }

    /// Returns the sandbox level of its program; `None` for a remote server.
    pub fn level(&self) -> Option<Level> {
        self.shared.sandbox.as_ref().filter(|_| !self.entry.is_remote()).map(Sandbox::level)
    }

    /// Returns whether what it is told can leave this machine. Without a sandbox every process has network, and its server can
    /// be anywhere.
    pub fn has_network(&self) -> bool {
        self.entry.is_remote() || self.level() == Some(Level::Off) || self.entry.network != McpNetwork::None
    }

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
            McpTransport::Http { url, headers, .. } => remote::connect(self.address(url, headers)?, remembered).await?,
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
        let url = address::check_address(url)?;
        let own_host = self.own_host(&url)?;
        let client = Arc::new(self.reaching(own_host.into_iter().collect()));
        client.check(&url).map_err(|why| why.to_string())?;
        let headers = self.expanded(headers)?;
        let headers = headers.into_iter().map(|(name, value)| (name, SecretString::from(value))).collect();
        Ok(RemoteAddress { client, authorization: self.authorization(&url)?, url, headers })
    }

    /// Returns the host and the port of a server on this machine, and `None` for one elsewhere.
    fn own_host(&self, url: &Url) -> Result<Option<String>, String> {
        match address::is_loopback(url) {
            false => Ok(None),
            true if !self.shared.may_reach_loopback => {
                Err("servers on the machine of this server cannot be reached".to_owned())
            }
            true => {
                let port = url.port_or_known_default().unwrap_or(80);
                Ok(Some(format!("{}:{port}", url.host_str().unwrap_or_default())))
            }
        }
    }

    /// Returns how a person signs in; `None` if the entry has a token itself. The authorization server of a server on this
    /// machine may be on this machine too, at any port but miniclaw's; nothing that a server elsewhere says leads to this
    /// machine.
    pub(super) fn authorization(&self, url: &Url) -> Result<Option<Authorization>, String> {
        let Some(sign_in) = self.sign_in() else { return Ok(None) };
        let mut hosts = Vec::new();
        if self.own_host(url)?.is_some() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        let http = Arc::new(self.reaching(hosts));
        Ok(Some(Authorization { sign_in: sign_in.clone(), http }))
    }

    fn reaching(&self, mut hosts: Vec<String>) -> StreamClient {
        hosts.extend(self.shared.allow_hosts.iter().cloned());
        StreamClient::new(Guard::new(&hosts).but_not(Some(self.shared.own_port)), system_lookup())
    }

    /// Returns the value of a template with variables, as [`Self::expanded`] does.
    pub(super) fn expanded_text(&self, template: &str) -> Result<String, String> {
        let value = |name: &str| (self.shared.variable)(name);
        expand(template, value).map_err(|name| format!("the variable {name} has no value; set it in .env"))
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
        let mut used = used.into_inner().unwrap_or_else(PoisonError::into_inner);
        used.extend(
            templates
                .iter()
                .filter(|(_, value)| may_be_key(value))
                .filter_map(|(name, value)| {
                    let name: String =
                        name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
                    let name = SecretName::parse(&name).ok()?;
                    // Of `Bearer KEY`, the key is hidden alone too.
                    let key = value.split_once(' ').map(|(_, key)| (name.clone(), key.to_owned()));
                    Some(key.into_iter().chain([(name, value.clone())]))
                })
                .flatten(),
        );
        self.hide_from_now_on(Mask::new(used.iter().map(|(name, value)| (name, value.as_str()))));
        Ok(fields)
    }
}

/// Returns whether a value that stands in an entry may be a key, and not a word, a path or an address.
fn may_be_key(value: &str) -> bool {
    let is_word =
        value.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'-' | b'_' | b'.' | b','));
    !is_word && !value.starts_with('/') && !value.contains("://") && !value.contains("${")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_values_that_may_be_keys_are_hidden() {
        for key in ["sk-live-4eC39HqLyjWDarjtT1zdp7dc", "Bearer 6f2a9c", "hunter2hunter2"] {
            assert!(may_be_key(key), "{key}");
        }
        for plain in ["production", "/srv/data1", "https://example.com/1", "${KEY}", "debug, info"] {
            assert!(!may_be_key(plain), "{plain}");
        }
    }
}
