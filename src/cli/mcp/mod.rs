//! `miniclaw mcp`: without a subcommand, the agent as an MCP server; with one, the MCP servers that the agent uses.

mod servers;
mod signing_in;
mod stdio;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use url::Url;

#[derive(Args)]
pub struct McpArguments {
    #[command(subcommand)]
    command: Option<servers::McpServersCommand>,
    /// The home: that of the running server, or of one that runs as long as this command.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
    /// The address of a running server instead of a home. MINICLAW_TOKEN is a token that reaches /mcp. Not with a subcommand.
    #[arg(long, value_name = "URL", conflicts_with = "home")]
    server: Option<Url>,
}

/// Runs the command.
pub fn run(McpArguments { command, home, server }: McpArguments) -> anyhow::Result<ExitCode> {
    match (command, server) {
        (None, server) => stdio::run(home, server),
        (Some(command), None) => servers::run(command, home),
        (Some(_), Some(_)) => anyhow::bail!("--server cannot be used with a subcommand; give --home"),
    }
}
