//! `miniclaw serve`: reads the flags and runs the server until it is stopped.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::{EX_CONFIG, home_dir, load_config};
use crate::clock;
use crate::engine::starter;
use crate::heap;
use crate::sandbox::{Level, keep_memory_private, open_as_many_files_as_allowed};
use crate::server::{self, Listen};
use crate::store::is_unused;

#[derive(Args)]
pub struct ServeArguments {
    /// The home: the folder with workspace/, skills/, memory/, knowledge/ and sessions/.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// The address to listen on. An address beyond this machine requires MINICLAW_TOKEN or --token.
    #[arg(long)]
    host: Option<String>,
    /// The port to listen on; 0 picks a free one. The first line on standard output names it.
    #[arg(long)]
    port: Option<u16>,
    /// Require a credential from everybody, also on this machine: MINICLAW_TOKEN, or a new one if that is not set.
    /// Prints a link that signs one browser in.
    #[arg(long)]
    token: bool,
    /// What commands of the agent may do: strict, standard, or off (everything you may do). Overrides config.yml.
    #[arg(long, value_parser = level)]
    sandbox: Option<Level>,
}

const DEFAULT_PORT: u16 = 8002;

pub fn level(text: &str) -> Result<Level, String> {
    let known = [Level::Strict, Level::Standard, Level::Off];
    known.into_iter().find(|level| level.name() == text).ok_or_else(|| "it is strict, standard or off".to_owned())
}

pub fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    heap::limit_arenas();
    keep_memory_private()?;
    open_as_many_files_as_allowed();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("MINICLAW_LOG").unwrap_or_else(|_| "warn,miniclaw=info".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let folder = home_dir(arguments.home.clone());
    if is_unused(&folder) {
        starter::fill(&folder)?;
    }
    let (mut config, _) = load_config(&folder)?;
    config.sandbox = arguments.sandbox.unwrap_or(config.sandbox);
    if arguments.token && config.token.is_none() {
        config.token = Some(clock::new_secret().into());
    }
    let host = arguments.host.clone().or_else(|| config.host.clone()).unwrap_or_else(|| "127.0.0.1".to_owned());
    let ip: IpAddr =
        if host == "localhost" { [127, 0, 0, 1].into() } else { host.parse().context("--host is no IP address")? };
    if !ip.is_loopback() && config.token.is_none() {
        eprintln!(
            "miniclaw: {ip} can be reached by other machines, and this server would obey all of them. Set MINICLAW_TOKEN \
             (in the environment or in .env) to a long random word and start again, or add --token, or use --host \
             127.0.0.1."
        );
        return Ok(ExitCode::from(EX_CONFIG));
    }
    if !ip.is_loopback() && config.sandbox == Level::Off {
        eprintln!(
            "miniclaw: {ip} can be reached by other machines, and without the sandbox whoever gets in there has all your \
             rights. Leave out --sandbox off, or use --host 127.0.0.1."
        );
        return Ok(ExitCode::from(EX_CONFIG));
    }
    let port = arguments.port.or(config.port).unwrap_or(DEFAULT_PORT);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = arguments.token.then(clock::new_secret);
    let listen = Listen { address: SocketAddr::new(ip, port), code };
    let served = runtime.block_on(async { server::run(&folder, config, listen, stop_signal()?).await });
    // A task that still blocks (on a stuck disk) must not delay the exit.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served.map(|()| ExitCode::SUCCESS)
}

/// Returns a future that resolves at the first SIGTERM or Ctrl-C; the second one ends the process at once.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(130);
        });
    })
}
