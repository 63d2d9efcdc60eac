//! `miniclaw people`: the accounts of a server that is stopped, for the person who runs it.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{home_dir, load_config};
use crate::clock;
use crate::domain::AccountRole;
use crate::domain::visible::visible;
use crate::engine::people::offline::{self, FirstAccount, OfflineError};

#[derive(Args)]
pub struct PeopleArguments {
    #[command(subcommand)]
    command: PeopleCommand,
    /// The home of the server.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(Subcommand)]
enum PeopleCommand {
    /// List the accounts.
    List,
    /// Make the home of a single person that of the first account, an admin. Asks for the password, or reads it from
    /// standard input. Sets `auth_mode: multi`, and makes the key of sign-ins if there is none.
    Adopt {
        /// The user name of the account.
        #[arg(long)]
        username: String,
        /// The email address of the account.
        #[arg(long)]
        email: Option<String>,
    },
    /// Undo `adopt`: make the home of the only account that of a single person again.
    Release,
    /// Give an account a temporary password, which is printed. Ends its sign-ins and deletes its access tokens.
    ResetPassword { username: String },
    /// Disable an account. Ends its sign-ins and deletes its access tokens.
    Disable { username: String },
    /// Enable an account again.
    Enable { username: String },
}

/// Returns the folder with the accounts.
///
/// # Errors
/// Returns an error if the homes are in a database and the command would change only a copy that does not count.
fn copy_of_server(folder: PathBuf, command: &PeopleCommand) -> anyhow::Result<PathBuf> {
    let Some(database) = load_config(&folder)?.0.database else { return Ok(folder) };
    if matches!(command, PeopleCommand::Adopt { .. } | PeopleCommand::Release) {
        bail!(
            "the home is in a database: stop the servers, write it to a folder with `miniclaw export`, run this command there, and store \
             the folder in an empty database with `miniclaw import`"
        );
    }
    if database.cluster.is_some() {
        bail!(
            "the accounts are in the database of a cluster, and the copy here may be an old one; use the page of an admin, or start one \
             server without `address` and `cluster_secret` in config.yml, stop it, and run this command"
        );
    }
    Ok(database.own_home(&folder))
}

/// Runs the command.
pub fn run(arguments: PeopleArguments) -> anyhow::Result<ExitCode> {
    let folder = home_dir(arguments.home);
    if offline::complete(&folder)? && matches!(arguments.command, PeopleCommand::Adopt { .. } | PeopleCommand::Release)
    {
        // What the person asked for may not fit any more.
        return Err(OfflineError::Completed.into());
    }
    let folder = copy_of_server(folder, &arguments.command)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    match arguments.command {
        PeopleCommand::List => list(&folder)?,
        PeopleCommand::Adopt { username, email } => {
            let password = new_password()?;
            let first = FirstAccount { username: &username, email: email.as_deref(), password: &password };
            let adopted = runtime.block_on(offline::adopt(&folder, first))?;
            say!("the home is now that of {} (people/{})", adopted.account.username, adopted.account.id);
            say!("config.yml has auth_mode: multi; the next start of the server asks everybody to sign in");
            if adopted.made_secret {
                say!(".env has a new key that signs the sign-ins; keep it secret");
            }
        }
        PeopleCommand::Release => {
            let aside = runtime.block_on(offline::release(&folder))?;
            say!("the home is that of a single person again");
            say!("{aside}/ has the account and the server's own files; delete it when you do not need it any more");
        }
        PeopleCommand::ResetPassword { username } => {
            let password = runtime.block_on(offline::reset_password(&folder, &username))?;
            say!("{password}");
            eprintln!("this is the temporary password; change it after signing in");
        }
        PeopleCommand::Disable { username } => runtime.block_on(offline::set_active(&folder, &username, false))?,
        PeopleCommand::Enable { username } => runtime.block_on(offline::set_active(&folder, &username, true))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(folder: &std::path::Path) -> anyhow::Result<()> {
    for account in offline::accounts(folder)? {
        let role = if account.role == AccountRole::Admin { "admin" } else { "user" };
        let state = if account.is_active { "active" } else { "disabled" };
        let last = account.last_login_at.map_or_else(|| "never".to_owned(), clock::rfc3339);
        say!("{:<20} {role:<5} {state:<8} {last:<20} {}", visible(&account.username), account.id);
    }
    Ok(())
}

/// Reads a new password: from a terminal twice and without showing it, otherwise the first line of standard input.
fn new_password() -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        return line();
    }
    let [first, second] = [hidden("Password: ")?, hidden("Again: ")?];
    if first != second {
        bail!("the passwords differ; nothing was changed");
    }
    Ok(first)
}

fn hidden(prompt: &str) -> anyhow::Result<String> {
    eprint!("{prompt}");
    std::io::stderr().flush()?;
    let terminal = std::io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let read = line();
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    eprintln!();
    read
}

fn line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("the password could not be read")?;
    if line.is_empty() {
        bail!("there is no password on standard input");
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
