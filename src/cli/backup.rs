//! `miniclaw backup` and `miniclaw restore`: a home in one file, and back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use super::cluster_copy::refuse_copy;
use super::{home_dir, load_config};
use crate::clock;
use crate::domain::entry_path::escaped;
use crate::store::{
    BackupOptions, BackupReport, LinkUse, RestoreOptions, SecretsUse, back_up, back_up_database, config_text, restore,
};

/// Maximum number of files that are listed.
const LISTED: usize = 20;

#[derive(Args)]
pub struct BackupArguments {
    /// The file to write, usually NAME.tar.zst. It must not exist.
    file: PathBuf,
    /// The home.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// Back up only the home of the account with this user name, on a server of several people.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Put `.env` into the backup, with the keys of providers, MINICLAW_TOKEN and MINICLAW_JWT_SECRET.
    #[arg(long)]
    with_secrets: bool,
}

#[derive(Args)]
pub struct RestoreArguments {
    /// The backup.
    file: PathBuf,
    /// The folder that becomes the home: empty, or not there yet. With --person, the home of the server.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// Restore only the home of the account with this user name, to a server of several people that is stopped.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Also make links that lead out of the home. Only for a backup that you trust.
    #[arg(long)]
    allow_links: bool,
}

/// Writes a backup. The exit code is 0 if it is complete and on the disk.
pub fn run(arguments: &BackupArguments) -> anyhow::Result<ExitCode> {
    let home = home_dir(arguments.home.clone());
    let secrets = if arguments.with_secrets { SecretsUse::Included } else { SecretsUse::LeftOut };
    let options = BackupOptions { home: &home, person: arguments.person.as_deref(), secrets };
    let report = match load_config(&home)?.0.database {
        None => {
            refuse_copy(&home)?;
            back_up(&options, &arguments.file)?
        }
        Some(database) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(back_up_database(&database.address, &options, &arguments.file))?
        }
    };
    tell(&report, arguments, &home);
    Ok(ExitCode::SUCCESS)
}

fn tell(report: &BackupReport, arguments: &BackupArguments, home: &Path) {
    let file = arguments.file.display();
    say!("{file} has {} files, folders and links of {}, with {} bytes", report.entries, home.display(), report.bytes);
    if let Some(paused) = report.paused {
        say!("the running server waited for {} ms with what it writes", paused.as_millis());
    }
    if arguments.person.is_none() && !arguments.with_secrets {
        say!(
            ".env is not in it: keep your keys, MINICLAW_TOKEN and MINICLAW_JWT_SECRET elsewhere, or add --with-secrets"
        );
    }
    say!(
        "it has all conversations, config.yml, session-key.json and the sealed secrets: whoever has it has the home. Encrypt it"
    );
    let left_out = report.left_out.iter().map(|left| format!("{}: {}", escaped(&left.path), left.why));
    list("not in it", left_out.collect());
    let outside = report.outside_links.iter().map(|(path, target)| format!("{} → {}", escaped(path), escaped(target)));
    list("links that lead out of the home, which a restore makes only with --allow-links", outside.collect());
}

fn list(what: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    say!("{what}: {}", lines.len());
    lines.iter().take(LISTED).for_each(|line| say!("  {line}"));
    if lines.len() > LISTED {
        say!("  and {} more", lines.len() - LISTED);
    }
}

/// Restores a backup. The exit code is 0 if everything is restored; otherwise nothing is.
pub fn restore_backup(arguments: &RestoreArguments) -> anyhow::Result<ExitCode> {
    let home = home_dir(arguments.home.clone());
    if arguments.person.is_some() && load_config(&home)?.0.database.is_some() {
        bail!(
            "the homes are in a database: stop the servers, write them to a folder with `miniclaw export`, restore the person there, and \
             store the folder in an empty database with `miniclaw import`"
        );
    }
    let links = if arguments.allow_links { LinkUse::All } else { LinkUse::OnlyInside };
    let options = RestoreOptions { home: &home, person: arguments.person.as_deref(), links };
    let report = restore(&arguments.file, &options)?;
    let made = clock::rfc3339(report.made_at);
    match &arguments.person {
        Some(name) => say!("the home of {name} is as it was at {made}: {} files, folders and links", report.entries),
        None => {
            say!("{} is the home as it was at {made}: {} files, folders and links", home.display(), report.entries);
            if !report.has_secrets {
                say!(
                    "the backup has no .env: write your keys, MINICLAW_TOKEN and MINICLAW_JWT_SECRET into it before the start"
                );
            }
            if names_database(&home) {
                say!(
                    "its config.yml names the database where the home was: remove that to start from these files, or store them in an \
                     empty database with `miniclaw import`"
                );
            }
            say!("miniclaw verify --home {} checks what is in it", home.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a config.yml, which variables may be missing for, names a database.
fn names_database(folder: &Path) -> bool {
    let text = config_text(folder, "config.yml").ok().flatten().unwrap_or_default();
    text.lines().any(|line| line.starts_with("store:") || line.starts_with("db_type:"))
}
