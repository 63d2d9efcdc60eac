//! The server that answers: the one that runs on the home, or one that is started for the time of the answer.

use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::Url;

use super::client::Client;
use crate::sandbox::{keep_memory_private, open_as_many_files_as_allowed};
use crate::server::{self, ServerOptions, SignIn};
use crate::store::{ServerContact, is_unused, running_server};

pub struct Host {
    pub client: Arc<Client>,
    own: Option<OwnServer>,
}

/// A server in this process.
struct OwnServer {
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Host {
    /// Returns the server at an address.
    pub fn at(url: &Url) -> anyhow::Result<Self> {
        let contact = ServerContact { url: url.to_string(), secret: None };
        Ok(Self { client: Client::new(&contact, token_of_person().as_deref())?.into(), own: None })
    }

    /// Returns the server that runs on a home, or starts one.
    pub async fn of_home(home: &Path) -> anyhow::Result<Self> {
        if let Some(contact) = running_server(home)? {
            return Ok(Self { client: client_of(&contact)?.into(), own: None });
        }
        if is_unused(home) {
            return Err(anyhow!("there is no home at {}; `miniclaw init DIR` makes one", home.display()));
        }
        keep_memory_private()?;
        open_as_many_files_as_allowed();
        let own = OwnServer::start(home).await?;
        let contact = running_server(home)?.context("the server that was started has gone")?;
        Ok(Self { client: client_of(&contact)?.into(), own: Some(own) })
    }

    /// Ends the server that was started.
    pub async fn stop(self) {
        if let Some(OwnServer { stop, task }) = self.own {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

/// Returns the client of the server that a home names. A server of several people has no secret for everybody, so it is sent the
/// token of the person, but only on this machine: whoever can write the home could name a server of theirs.
///
/// # Errors
/// Returns an error if the token would be sent to another machine.
fn client_of(contact: &ServerContact) -> anyhow::Result<Client> {
    let token = token_of_person().filter(|_| contact.secret.is_none());
    if token.is_some() && !is_of_this_machine(&contact.url) {
        let url = &contact.url;
        return Err(anyhow!(
            "sessions/.lock names the server {url}, which is no address of this machine, so MINICLAW_TOKEN is not sent to it. \
             If it is the server that you mean, use --server {url}"
        ));
    }
    Client::new(contact, token.as_deref())
}

/// Returns whether an address has no host name and belongs to this machine: only then a socket can have it.
fn is_of_this_machine(url: &str) -> bool {
    let address = match Url::parse(url).ok().and_then(|url| url.host().map(|host| host.to_owned())) {
        Some(url::Host::Ipv4(address)) => IpAddr::from(address),
        Some(url::Host::Ipv6(address)) => IpAddr::from(address),
        Some(url::Host::Domain(_)) | None => return false,
    };
    !address.is_unspecified() && UdpSocket::bind((address, 0)).is_ok()
}

fn token_of_person() -> Option<String> {
    std::env::var("MINICLAW_TOKEN").ok().filter(|token| !token.is_empty())
}

impl OwnServer {
    async fn start(home: &Path) -> anyhow::Result<Self> {
        let options = ServerOptions {
            folder: home.to_owned(),
            host: Some("127.0.0.1".to_owned()),
            port: Some(0),
            sign_in: SignIn::IfConfigured,
            sandbox: None,
            tls: Default::default(),
        };
        let (stop, stopped) = oneshot::channel();
        let (listens, listening) = oneshot::channel();
        let mut task = tokio::spawn(server::run(options, |_| listens.send(()).unwrap_or(()), async {
            let _ = stopped.await;
        }));
        tokio::select! {
            Ok(()) = listening => Ok(Self { stop, task }),
            ended = &mut task => Err(ended?.err().unwrap_or_else(|| anyhow!("the server ended before it listened"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_get_the_token() {
        for here in ["http://127.0.0.1:8002", "https://[::1]:8002", "http://127.0.0.7:1/"] {
            assert!(is_of_this_machine(here), "{here}");
        }
        // The second is reserved for documentation, and no machine has it.
        let other = [
            "http://evil.example:8002",
            "http://192.0.2.7:8002",
            "http://0.0.0.0:1",
            "http://localhost.evil:1",
            "",
            "x",
        ];
        for other in other {
            assert!(!is_of_this_machine(other), "{other}");
        }
    }
}
