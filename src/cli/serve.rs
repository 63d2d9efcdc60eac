//! `miniclaw serve`: reads the flags and runs the server until it is stopped.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::{home_dir, log_to_stderr};
use crate::config::TlsPaths;
use crate::heap;
use crate::sandbox::{Level, keep_memory_private, open_as_many_files_as_allowed};
use crate::server::{self, ServerOptions, SignIn, Started};

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
    /// Serve HTTPS with the certificate in this file, in PEM format with the whole chain. Read again when it is replaced.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM format.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

pub fn level(text: &str) -> Result<Level, String> {
    let known = [Level::Strict, Level::Standard, Level::Off];
    known.into_iter().find(|level| level.name() == text).ok_or_else(|| "it is strict, standard or off".to_owned())
}

pub fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    heap::configure();
    keep_memory_private()?;
    open_as_many_files_as_allowed();
    log_to_stderr("warn,miniclaw=info");
    let options = ServerOptions {
        folder: home_dir(arguments.home.clone()),
        host: arguments.host.clone(),
        port: arguments.port,
        sign_in: if arguments.token { SignIn::Required } else { SignIn::IfConfigured },
        sandbox: arguments.sandbox,
        tls: TlsPaths { certificate: arguments.tls_cert.clone(), key: arguments.tls_key.clone() },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async { server::run(options, print_address, stop_signal()?).await });
    // A task that still blocks (on a stuck disk) must not delay the exit.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served.map(|()| ExitCode::SUCCESS)
}

fn print_address(Started { url, sign_in_link, setup_code }: Started) {
    say!("listening on {url}");
    if let Some(link) = sign_in_link {
        say!("open {link} (works once, for ten minutes)");
    }
    if let Some(code) = setup_code {
        say!("there is no account yet; whoever makes the first one is the admin, and needs this setup code: {code}");
    }
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
