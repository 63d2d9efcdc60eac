//! A small HTTP proxy on the loopback interface for holders of a grant: tunnels (`CONNECT`) and plain `http://`, to
//! addresses that the guard allows. It resolves names itself and dials the addresses it has checked, so a name that
//! changes its address in between leads nowhere else.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::{Host, Url};

use super::grants::{AttemptOutcome, EgressGrants, GrantState};
use super::guard::{DialTarget, Guard, Lookup, dialable};
use super::request::{self, Request};
use crate::domain::proxy_request::host_of;
use crate::domain::{EgressGrant, EgressProxy};

/// Timeout for a client to send its request, for a name to resolve, and for a server to accept the connection.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum connections from which no request has come yet.
const MAX_WAITING: usize = 1024;

/// Issues grants. Listens as long as the runtime on which it was started.
#[derive(Clone)]
pub struct Proxy {
    port: u16,
    grants: EgressGrants,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.port)
    }
}

struct ProxyServer {
    guard: Guard,
    lookup: Lookup,
    grants: EgressGrants,
    latest: LatestConnections,
}

/// The latest connections. One that has sent no request when many others have come after it is closed, so that nobody who
/// opens connections and is silent keeps others out.
#[derive(Default)]
struct LatestConnections(Mutex<VecDeque<CancellationToken>>);

impl LatestConnections {
    /// Adds a connection. The token is cancelled when it must have sent its request.
    fn add(&self) -> CancellationToken {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() >= MAX_WAITING
            && let Some(oldest) = latest.pop_front()
        {
            oldest.cancel();
        }
        let added = CancellationToken::new();
        latest.push_back(added.clone());
        added
    }
}

impl Proxy {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub async fn start(guard: Guard, lookup: Lookup) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let grants = EgressGrants::default();
        let server =
            Arc::new(ProxyServer { guard, lookup, grants: grants.clone(), latest: LatestConnections::default() });
        tokio::spawn(receive(listener, server));
        Ok(Self { port, grants })
    }
}

impl EgressProxy for Proxy {
    fn issue(&self, person: Option<u32>) -> Box<dyn EgressGrant> {
        self.grants.issue(self.port, person)
    }
}

async fn receive(listener: TcpListener, server: Arc<ProxyServer>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let server = server.clone();
                tokio::spawn(async move {
                    if let Err(error) = server.serve(client).await {
                        tracing::debug!(%error, "a connection of a command ended");
                    }
                });
            }
            // Out of descriptors: other connections must end first.
            Err(error) => {
                tracing::warn!(%error, "a command's connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl ProxyServer {
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let overdue = self.latest.add();
        let read = tokio::select! {
            biased;
            read = timeout(IO_TIMEOUT, request::read(&mut client)) => read,
            () = overdue.cancelled() => return Ok(()),
        };
        let request = match read {
            Ok(Ok(Some(request))) => request,
            Ok(Ok(None)) | Err(_) => return Ok(()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                return refuse(&mut client, "400 Bad Request", "this is no request to a proxy").await;
            }
            Ok(Err(error)) => return Err(error),
        };
        let Some(holder) = request.credentials().and_then(|given| self.grants.holder(&given)) else {
            return refuse(&mut client, "407 Proxy Authentication Required", "no pass, or one that is void").await;
        };
        let Some(url) = request.head.destination() else {
            return refuse(&mut client, "400 Bad Request", "this names no host and port").await;
        };
        let name = host_of(&url);
        holder.begin(&name);
        let Some(grant) = holder.grant() else {
            holder.end(&name, AttemptOutcome::EgressRefusal);
            let why = format!("{name}: the call that was allowed the network has ended");
            return refuse(&mut client, "403 Forbidden", &why).await;
        };
        let Ok(_connection) = holder.connections.try_acquire() else {
            holder.end(&name, AttemptOutcome::EgressRefusal);
            return refuse(&mut client, "503 Service Unavailable", "too many connections at once").await;
        };
        tokio::select! {
            done = self.connect(client, (request, url), &holder) => done,
            () = grant.cancelled() => Ok(()),
        }
    }

    async fn connect(
        &self,
        mut client: TcpStream,
        (request, url): (Request, Url),
        holder: &GrantState,
    ) -> io::Result<()> {
        let name = host_of(&url);
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let dialled = if !holder.may_reach(&host, url.port_or_known_default().unwrap_or(443)) {
            Err("this program may reach other hosts only".to_owned())
        } else if request.head.is_tunnel() || url.scheme() == "http" {
            self.dial(&url).await
        } else {
            Err("a proxy is asked for https:// by CONNECT".to_owned())
        };
        holder.end(&name, if dialled.is_ok() { AttemptOutcome::Connected } else { AttemptOutcome::EgressRefusal });
        let mut server = match dialled {
            Ok(server) => server,
            Err(why) => return refuse(&mut client, "403 Forbidden", &format!("{name}: {why}")).await,
        };
        if request.head.is_tunnel() {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        } else {
            server.write_all(&request.for_server(&url)).await?;
        }
        server.write_all(&request.rest).await?;
        copy_bidirectional(&mut client, &mut server).await.map(|_| ())
    }

    /// Connects to an address that was checked, or returns why it cannot.
    async fn dial(&self, url: &Url) -> Result<TcpStream, String> {
        let reach = self.guard.check(url).map_err(|why| why.to_string())?;
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses = self.addresses(url, reach).await?;
        let mut why = "the name has no address".to_owned();
        for address in addresses {
            match timeout(IO_TIMEOUT, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(server)) => return Ok(server),
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => "it did not answer in time".clone_into(&mut why),
            }
        }
        Err(why)
    }

    async fn addresses(&self, url: &Url, reach: DialTarget) -> Result<Vec<IpAddr>, String> {
        let found = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let resolved = timeout(IO_TIMEOUT, (self.lookup)(name.to_owned())).await;
                let found = resolved.map_err(|_| "no name server answered in time".to_owned())?;
                found.map_err(|error| error.to_string())?
            }
            None => Vec::new(),
        };
        dialable(url.host_str().unwrap_or_default(), found, reach).map_err(|why| why.to_string())
    }
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let why = format!("miniclaw's proxy: {why}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nProxy-Authenticate: Basic realm=\"miniclaw\"\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{why}",
        why.len()
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}
