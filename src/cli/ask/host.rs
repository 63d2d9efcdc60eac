//! The server that answers: the one that runs on the home, or one that is started for the time of the answer.

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
        if is_unused(home) {
            return Err(anyhow!("there is no home at {}; `miniclaw init DIR` makes one", home.display()));
        }
        if let Some(contact) = running_server(home)? {
            // A server of several people has no secret for everybody.
            let token = token_of_person().filter(|_| contact.secret.is_none());
            return Ok(Self { client: Client::new(&contact, token.as_deref())?.into(), own: None });
        }
        keep_memory_private()?;
        open_as_many_files_as_allowed();
        let own = OwnServer::start(home).await?;
        let contact = running_server(home)?.context("the server that was started has gone")?;
        let token = token_of_person().filter(|_| contact.secret.is_none());
        Ok(Self { client: Client::new(&contact, token.as_deref())?.into(), own: Some(own) })
    }

    /// Ends the server that was started.
    pub async fn stop(self) {
        if let Some(OwnServer { stop, task }) = self.own {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
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
