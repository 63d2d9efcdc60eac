//! The composition root: assembles the layers into a server and runs it until it is stopped.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::{Access, App, PageSecret, SandboxInfo};
use crate::clock;
use crate::config::Config;
use crate::engine::{Homes, Runtime, TenantId, TenantRegistry};
use crate::sandbox::Sandbox;
use crate::store::Home;

/// Maximum duration of a shutdown before it is forced.
const STOP_GRACE: Duration = Duration::from_secs(9);

/// Where to listen, and the code for signing in.
pub struct Listen {
    pub address: SocketAddr,
    /// Code of the one-time link, if one is wanted.
    pub code: Option<String>,
}

/// Serves the home in `folder` until `stop` resolves.
///
/// # Errors
/// Returns an error if the home is in use or cannot be read, or the server cannot listen on the address.
pub async fn run(
    folder: &Path,
    config: Config,
    Listen { address, code }: Listen,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let started_at = clock::now();
    let home = Home::open(folder)?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr()?;
    let access = Access::new(bound, &config.host_names, config.token.clone());
    let access = code.iter().fold(access, |access, code| access.with_code(code));

    let runtime = Runtime::start(config, home.path(), bound.port()).await?;
    let sandbox = sandbox_info(&runtime.sandbox);
    let tenants = TenantRegistry::new(runtime.clone(), Homes::Single(home));
    tenants.open(&TenantId::owner()).await?;
    tenants.sweep_regularly();
    let app = App {
        tenants: tenants.clone(),
        secret: PageSecret::new(),
        access: Arc::new(access),
        sandbox: Arc::new(sandbox),
        started_at,
        stopping: CancellationToken::new(),
    };
    println!("listening on http://{bound}");
    if let Some(code) = code {
        let here = if bound.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bound.ip() };
        // The code follows the `#`: that part of an address is never sent, so it appears in no log and no Referer.
        println!("open http://{}/#code={code} (works once, for ten minutes)", SocketAddr::new(here, bound.port()));
    }
    runtime.find_models();
    serve_until(app, listener, stop).await;
    Ok(())
}

async fn serve_until(app: App, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) {
    let (stopping, tenants) = (app.stopping.clone(), app.tenants.clone());
    let server = tokio::spawn(crate::api::serve(app, listener));
    stop.await;
    tracing::info!("stopping");
    let goodbye = async {
        // Runs end first, so that the clients following them receive the outcome.
        tenants.shut_down().await;
        stopping.cancel();
        server.await
    };
    if !matches!(tokio::time::timeout(STOP_GRACE, goodbye).await, Ok(Ok(()))) {
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
