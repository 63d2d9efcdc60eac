//! The composition root: assembles the layers into a server and runs it until it is stopped.

mod home_place;
mod owners;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::{Access, App, Listening, MAX_UNAUTHENTICATED_SOCKETS, PageSecret, SandboxInfo, Tls, TlsUnusable};
use crate::clock;
use crate::config::settings::SettingSource;
use crate::config::{Config, DatabaseConfig, TlsPaths};
use crate::domain::HomeId;
use crate::engine::people::{People, PeopleUnusable, fingerprint};
use crate::engine::{Runtime, TenantRegistry, starter};
use crate::sandbox::{Level, Sandbox};
use crate::store::{ApiTokens, AuthoritiesUnusable, DatabaseError, ServerContact, complete_move, is_unused, real_path};

use home_place::{HomePlace, OpenedPlace};

/// Maximum duration of a shutdown before it is forced.
const STOP_GRACE: Duration = Duration::from_secs(9);
/// The same in a cluster, where the works under way come to the end of an exchange first.
const DRAIN_GRACE: Duration = Duration::from_secs(28);
/// How long open WebSockets are waited for, whose clients may not read.
const SOCKETS_GRACE: Duration = Duration::from_secs(3);

/// The port if neither a flag nor config.yml names one.
const DEFAULT_PORT: u16 = 8002;

/// What a person who starts a server can say. What is absent is taken from config.yml.
pub struct ServerOptions {
    /// The home. It is filled with the starter files if it is unused.
    pub folder: PathBuf,
    pub host: Option<String>,
    /// 0 picks a free port.
    pub port: Option<u16>,
    pub sign_in: SignIn,
    pub sandbox: Option<Level>,
    /// The certificate and key named on the command line.
    pub tls: TlsPaths,
}

/// Who needs a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// Everybody, if a token is configured.
    IfConfigured,
    /// Everybody, with a new token if none is configured. A link that signs one browser in is printed.
    Required,
}

/// What a server that listens says of itself.
#[derive(Debug)]
pub struct Started {
    /// Its address, for instance `http://127.0.0.1:8002`.
    pub url: String,
    /// A link that signs one browser in, if everybody needs a credential and it was asked for.
    pub sign_in_link: Option<String>,
    /// What whoever makes the first account needs, until there is one.
    pub setup_code: Option<String>,
}

/// Why a server does not start, because it would be unsafe.
#[derive(Debug, thiserror::Error)]
pub enum StartRefused {
    #[error(
        "{0} can be reached by other machines, and this server would obey all of them. Set MINICLAW_TOKEN (in the \
         environment or in .env) to a long random word and start again, or add --token, or use --host 127.0.0.1."
    )]
    NoToken(IpAddr),
    #[error(
        "{0} can be reached by other machines, and passwords would be sent to this server without encryption. Start it \
         with --tls-cert and --tls-key, or put a proxy with TLS in front of it and name its address in trusted_proxies in \
         config.yml, or use --host 127.0.0.1. Where the network is trusted, insecure_http: true in config.yml allows it."
    )]
    NoTls(IpAddr),
    #[error("--token is for a server of one person; with auth_mode: multi everybody signs in with an account")]
    TokenForSeveral,
    #[error(transparent)]
    Tls(#[from] TlsUnusable),
    #[error(transparent)]
    People(#[from] PeopleUnusable),
    #[error(
        "{0} can be reached by other machines, and without the sandbox whoever gets in there has all your rights. Leave \
         out --sandbox off, or use --host 127.0.0.1."
    )]
    NoSandbox(IpAddr),
    #[error("the home cannot be kept in the database ({code}): {0}", code = .0.code())]
    Database(Box<DatabaseError>),
    #[error(
        "this server speaks HTTPS only, and store.address tells the others to speak HTTP with it: let the address begin with \
         https://, or remove --tls-cert and tls_cert"
    )]
    PlainAddress,
    #[error("the certificates of the other servers of the cluster cannot be checked: {0}")]
    Authorities(#[from] AuthoritiesUnusable),
}

impl ServerOptions {
    /// Returns the address to listen on.
    ///
    /// # Errors
    /// Returns an error if the host is no IP address, and [`StartRefused`] if other machines could reach the server and
    /// nothing would keep them out, or in.
    fn address(&self, config: &Config) -> anyhow::Result<SocketAddr> {
        let host = self.host.as_deref().or(config.host.as_deref()).unwrap_or("127.0.0.1");
        let ip: IpAddr = match host {
            "localhost" => Ipv4Addr::LOCALHOST.into(),
            host => host.parse().context("--host is no IP address")?,
        };
        let people = &config.people;
        if people.is_multi() && self.sign_in == SignIn::Required {
            return Err(StartRefused::TokenForSeveral.into());
        }
        if !ip.is_loopback() {
            let is_protected = people.insecure_http || !people.trusted_proxies.is_empty() || config.tls.is_set();
            if people.is_multi() && !is_protected {
                return Err(StartRefused::NoTls(ip).into());
            }
            if !people.is_multi() && config.token.is_none() {
                return Err(StartRefused::NoToken(ip).into());
            }
            if config.sandbox == Level::Off {
                return Err(StartRefused::NoSandbox(ip).into());
            }
        }
        Ok(SocketAddr::new(ip, self.port.or(config.port).unwrap_or(DEFAULT_PORT)))
    }

    /// Returns the configuration of the home with what these options change.
    fn configure(&self, mut config: Config) -> Config {
        config.sandbox = self.sandbox.unwrap_or(config.sandbox);
        let of_home = config.tls.beneath(&self.folder);
        config.tls = TlsPaths {
            certificate: self.tls.certificate.clone().or(of_home.certificate),
            key: self.tls.key.clone().or(of_home.key),
        };
        let said = [
            ("sandbox", self.sandbox.map(|level| level.name().into())),
            ("host", self.host.clone().map(Into::into)),
            ("port", self.port.map(Into::into)),
        ];
        let said = said.into_iter().filter_map(|(key, value)| Some((key, (value?, SettingSource::CommandLine))));
        config.overrides.extend(said);
        if self.sign_in == SignIn::Required && config.token.is_none() {
            config.token = Some(clock::new_secret().into());
        }
        config
    }
}

/// Fills the home if it is unused, and serves it until `stop` resolves. Calls `started` when it listens.
///
/// # Errors
/// Returns an error if the configuration cannot be used or would be unsafe, if the home is in use or cannot be read, or if
/// the server cannot listen on the address.
pub async fn run(
    options: ServerOptions,
    started: impl FnOnce(Started),
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let started_at = clock::now();
    if complete_move(&options.folder)? {
        tracing::warn!("completed the move of a home that something had stopped");
    }
    let database = database(&options)?;
    let folder =
        database.as_ref().map_or_else(|| options.folder.clone(), |database| database.own_home(&options.folder));
    if database.is_none() && is_unused(&folder) {
        starter::fill(&folder)?;
    }
    let config = options.configure(Config::of_process(&options.folder)?);
    let address = options.address(&config)?;
    let tls = tls(&config, &options.folder)?;
    let place = HomePlace::of(database, folder)?;
    // With config.yml and `.env`; the home itself, unless a cache is somewhere else.
    let own_folder = real_path(&options.folder);
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let listening = Listening::start(listener, tls);
    let code = (options.sign_in == SignIn::Required).then(clock::new_secret);
    let is_multi = config.people.is_multi();
    let sign_ins = config.people.jwt_secret.as_ref().filter(|_| is_multi).map(fingerprint);
    let is_api_open = config.api.open;
    let token = config.token.clone().filter(|_| !is_multi);
    let (proxies, proxy_sign_in) = (config.people.trusted_proxies.clone(), config.people.proxy_sign_in.clone());
    let runtime = Runtime::start(config, &own_folder, bound.port()).await?;
    // Last: a start that fails before takes the home from no other server.
    let mut stop = Box::pin(stop);
    let place = tokio::select! {
        place = place.open(sign_ins) => place?,
        // A copy of a large home takes its time.
        () = &mut stop => return Ok(()),
    };
    let access = Access::new(bound, runtime.host_names.clone(), token).behind(&proxies).over_tls(scheme == "https");
    let access = access.signing_in_by(proxy_sign_in.as_ref());
    let access = access.with_api(ApiTokens::new(&own_folder), is_api_open);
    let access = if place.cluster().is_some() { access.in_cluster() } else { access };
    let access = code.iter().fold(access, |access, code| access.with_code(code));
    let sandbox = sandbox_info(&runtime.sandbox);
    let tenants = TenantRegistry::new(runtime.clone(), place.homes(is_multi)?);
    let people = match (&place, is_multi) {
        // Homes are claimed when they are asked for.
        (OpenedPlace::Cluster(_), false) => None,
        (OpenedPlace::Cluster(membership), true) => Some(membership.people(&tenants).await?),
        (OpenedPlace::Home(_) | OpenedPlace::Database(..), false) => {
            tenants.open(&HomeId::Server).await.map(|_| None)?
        }
        (OpenedPlace::Home(_) | OpenedPlace::Database(..), true) => {
            let owner = tenants.open(&HomeId::Server).await?;
            Some(People::open(tenants.clone(), owner).await.map_err(StartRefused::People)?)
        }
    };
    tenants.sweep_regularly();
    let setup_code = people.as_ref().and_then(|people| people.setup_code().map(str::to_owned));
    let (stopping, sockets) = (listening.stopping(), TaskTracker::new());
    let app = App {
        tenants: tenants.clone(),
        forwarder: place.forwarder(&tenants, &stopping, &sockets),
        people,
        secret: place.cluster_secret().map_or_else(PageSecret::new, PageSecret::of_cluster),
        access: Arc::new(access),
        unauthenticated_sockets: Arc::new(Semaphore::new(MAX_UNAUTHENTICATED_SOCKETS)),
        sockets,
        mcp_listeners: Default::default(),
        sandbox: Arc::new(sandbox),
        started_at,
        draining: CancellationToken::new(),
        stopping,
    };
    let here = if bound.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bound.ip() };
    let here = format!("{scheme}://{}", SocketAddr::new(here, bound.port()));
    place.note_server(ServerContact { url: here.clone(), secret: (!is_multi).then(|| app.secret.for_commands()) })?;
    tenants.follow_cluster();
    // The code follows the `#`: that part of an address is never sent, so it appears in no log and no Referer.
    let sign_in_link = code.map(|code| format!("{here}/#code={code}"));
    started(Started { url: format!("{scheme}://{bound}"), sign_in_link, setup_code });
    place.watch_address();
    // The files may have changed since they were read at the start.
    runtime.watch_config();
    runtime.follow_config().await?;
    runtime.config().warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    runtime.find_models();
    let taken_over = place.taken_over();
    let lost = taken_over.clone();
    let stop = async move {
        tokio::select! {
            () = stop => {}
            () = lost.cancelled() => tracing::error!("another server has taken the home over"),
        }
    };
    let draining = place.clone();
    let stop = async move {
        stop.await;
        draining.begin_draining();
    };
    let grace = if place.cluster().is_some() { DRAIN_GRACE } else { STOP_GRACE };
    serve_until(app, listening, (stop, grace)).await;
    place.leave().await;
    if let Some(traces) = &runtime.traces {
        traces.stop().await;
    }
    match taken_over.is_cancelled() {
        true => Err(StartRefused::Database(Box::new(DatabaseError::Fenced)).into()),
        false => Ok(()),
    }
}

/// Returns the database of the home, if it has one. A start that would be refused takes the home from no other server.
fn database(options: &ServerOptions) -> anyhow::Result<Option<DatabaseConfig>> {
    let mut config = Config::of_process(&options.folder)?;
    let Some(mut database) = config.database.take() else { return Ok(None) };
    let config = options.configure(config);
    options.address(&config)?;
    database.cluster = database.cluster.map(|cluster| cluster.beneath(&options.folder));
    if database.cluster.as_ref().is_some_and(|cluster| !cluster.is_over_tls()) && config.tls.is_set() {
        return Err(StartRefused::PlainAddress.into());
    }
    Ok(Some(database))
}

/// Reads the certificate of the server, if it has one.
fn tls(config: &Config, home: &Path) -> anyhow::Result<Option<Arc<Tls>>> {
    if !config.tls.is_set() {
        return Ok(None);
    }
    let home = std::path::absolute(home)?;
    Ok(Some(Arc::new(Tls::open(&config.tls, &home).map_err(StartRefused::Tls)?)))
}

async fn serve_until(
    app: App,
    mut listening: Listening,
    (stop, grace): (impl Future<Output = ()> + Send + 'static, Duration),
) {
    let (draining, stopping) = (app.draining.clone(), app.stopping.clone());
    let (tenants, sockets) = (app.tenants.clone(), app.sockets.clone());
    listening.open(app);
    stop.await;
    tracing::info!("stopping");
    draining.cancel();
    let goodbye = async {
        // Runs end first, so that the clients following them receive the outcome.
        tenants.shut_down().await;
        stopping.cancel();
        listening.closed().await;
        // A connection that became a WebSocket is not one of them any more.
        sockets.close();
        let _ = tokio::time::timeout(SOCKETS_GRACE, sockets.wait()).await;
    };
    if !matches!(tokio::time::timeout(grace, goodbye).await, Ok(())) {
        tracing::warn!("something did not stop in time");
    }
}

fn sandbox_info(sandbox: &Sandbox) -> SandboxInfo {
    let status = sandbox.status();
    SandboxInfo {
        level: sandbox.level().name().to_owned(),
        note: status.to_string(),
        code: status.code().to_owned(),
        params: status.params(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    fn options(host: &str) -> ServerOptions {
        let folder = PathBuf::from("/nowhere");
        ServerOptions {
            folder,
            host: Some(host.to_owned()),
            port: Some(0),
            sign_in: SignIn::IfConfigured,
            sandbox: None,
            tls: TlsPaths::default(),
        }
    }

    /// Tries these options in a home without any configuration.
    fn tried(options: &ServerOptions) -> anyhow::Result<SocketAddr> {
        let environment = Environment::load(&options.folder, std::iter::empty())?;
        options.address(&options.configure(Config::load(&options.folder, &environment)?))
    }

    fn refusal(options: &ServerOptions) -> Option<StartRefused> {
        tried(options).err().map(|error| error.downcast().unwrap())
    }

    #[test]
    fn public_address_needs_token_and_sandbox() {
        for host in ["0.0.0.0", "::", "192.0.2.1"] {
            let open = options(host);
            assert!(matches!(refusal(&open), Some(StartRefused::NoToken(_))), "{host}");
            let closed = ServerOptions { sign_in: SignIn::Required, ..open };
            assert!(refusal(&closed).is_none(), "{host}");
            let unconfined = ServerOptions { sandbox: Some(Level::Off), ..closed };
            assert!(matches!(refusal(&unconfined), Some(StartRefused::NoSandbox(_))), "{host}");
        }
    }

    #[test]
    fn passwords_of_several_people_need_tls_or_consent() {
        let secret = "0123456789abcdef0123456789abcdef";
        let address = |settings: &str, options: &ServerOptions| {
            let variables = [("MINICLAW_JWT_SECRET".to_owned(), secret.to_owned())].into_iter();
            let environment = Environment::load(&options.folder, variables).unwrap();
            let text = format!("auth_mode: multi\n{settings}\n");
            options.address(&options.configure(Config::parse(Some(&text), &environment).unwrap()))
        };
        let refused = |settings, options| address(settings, options).unwrap_err().downcast::<StartRefused>().unwrap();
        let public = options("0.0.0.0");
        assert!(matches!(refused("", &public), StartRefused::NoTls(_)));
        for settings in ["insecure_http: true", "trusted_proxies: [10.0.0.1]", "tls_cert: a.pem\ntls_key: b.pem"] {
            assert!(address(settings, &public).is_ok(), "{settings}");
        }
        assert!(address("", &options("127.0.0.1")).is_ok());
        let with_token = ServerOptions { sign_in: SignIn::Required, ..options("127.0.0.1") };
        assert!(matches!(refused("", &with_token), StartRefused::TokenForSeveral));
    }

    #[test]
    fn this_machine_needs_neither() {
        for host in ["127.0.0.1", "::1", "localhost"] {
            assert!(refusal(&ServerOptions { sandbox: Some(Level::Off), ..options(host) }).is_none(), "{host}");
        }
        let error = tried(&options("nohost")).unwrap_err();
        assert!(!error.is::<StartRefused>(), "{error}");
    }
}
