//! `miniclaw token`: the tokens with which programs use the OpenAI API and the MCP server of a single-person server, also while
//! it runs.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand, ValueEnum};

use super::cluster_copy::require_home_here;
use super::home_dir;
use crate::clock;
use crate::domain::visible::visible;
use crate::store::{ApiTokenScope, ApiTokens};

#[derive(Args)]
pub struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
    /// The home.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token and print it. It is shown only now.
    Add {
        /// What the token can do. ask: use the OpenAI API below /v1 and the MCP server at /mcp. read: only read over
        /// /mcp. tools: what ask can, and call the tools over /mcp that `mcp_server` in config.yml names. metrics: read /metrics.
        #[arg(long, value_enum)]
        scope: Scope,
        /// What it is for.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// List the tokens.
    List,
    /// Remove a token. Requests with it are refused from now on.
    Revoke {
        /// Its id, as `list` prints it.
        id: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Scope {
    Ask,
    Read,
    Tools,
    Metrics,
}

impl From<Scope> for ApiTokenScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Ask => Self::Ask,
            Scope::Read => Self::Read,
            Scope::Tools => Self::Tools,
            Scope::Metrics => Self::Metrics,
        }
    }
}

/// Runs the command.
pub fn run(arguments: TokenArguments) -> anyhow::Result<ExitCode> {
    let folder = home_dir(arguments.home);
    require_home_here(&folder)?;
    let tokens = ApiTokens::new(&folder);
    match arguments.command {
        TokenCommand::Add { scope, name } => {
            let token = tokens.add(&name, scope.into())?;
            if let Err(error) = writeln!(std::io::stdout(), "{token}") {
                // Nobody has it.
                if let Some((id, _)) = tokens.find(&token) {
                    tokens.revoke(&id)?;
                }
                bail!("the token could not be printed, so it was revoked: {error}");
            }
            eprintln!("keep this token secret; it is not shown again");
        }
        TokenCommand::List => {
            for token in tokens.list()? {
                say!(
                    "{:<10} {:<7} {} {}",
                    token.id,
                    token.scope,
                    clock::rfc3339(token.created_at),
                    visible(&token.name)
                );
            }
        }
        TokenCommand::Revoke { id } => tokens.revoke(&id)?,
    }
    Ok(ExitCode::SUCCESS)
}
