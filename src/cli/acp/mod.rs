//! `miniclaw acp`: the Agent Client Protocol on standard input and output, for editors (docs/acp.md). It is a client of the
//! running server, or of one that it starts for the time. Nothing but the protocol goes to standard output.
//!
//! Its answers to questions count as the person's: the editor shows them to the person who started it.

mod agent;
mod commands;
mod connection;
mod folder;
mod modes;
mod options;
mod permission;
mod prompt;
mod servers;
mod sessions;
mod turn;
mod updates;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use url::Url;

use self::agent::Agent;
use self::connection::Connection;
use super::ask::host::Host;
use super::lines::{read_lines, write_lines};
use super::serve::stop_signal;
use super::{home_dir, log_to_stderr};

#[derive(Args)]
pub struct AcpArguments {
    /// The home: that of the running server, or of one that runs as long as this command.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// The address of a running server instead of a home. MINICLAW_TOKEN is its token. Questions are then answered on its page.
    #[arg(long, value_name = "URL", conflicts_with = "home")]
    server: Option<Url>,
}

/// Runs the command.
pub fn run(arguments: &AcpArguments) -> anyhow::Result<ExitCode> {
    log_to_stderr("error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let home = home_dir(arguments.home.clone());
        let host = match &arguments.server {
            Some(url) => Host::at(url)?,
            None => Host::of_home(&home).await?,
        };
        let stopped = stop_signal()?;
        let (out, written) = write_lines();
        let connection = Connection::new(out);
        let home = std::path::absolute(&home)?;
        let agent = Arc::new(Agent::new(host.client.clone(), connection, home));
        tokio::select! {
            () = agent.run(read_lines()) => {}
            () = stopped => {}
        }
        drop(agent);
        written.await;
        host.stop().await;
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}
