//! `miniclaw skills`: lists and trusts versions of the skills' files.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::cluster_copy::refuse_in_cluster;
use super::home_dir;
use crate::domain::Place;
use crate::domain::visible::visible;
use crate::engine::starter;
use crate::store::{Home, OwnedHome, SkillFiles, StoreError, TrustedBy, UnlistedReason, is_too_deep};

#[derive(Args)]
pub struct SkillsArguments {
    #[command(subcommand)]
    wish: SkillsCommand,
    /// The home.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(Subcommand)]
enum SkillsCommand {
    /// List the files of the skills: trusted, changed since they were trusted, or new.
    List,
    /// Trust files in their current version.
    Trust {
        /// Paths as `list` prints them, such as skills/get_weather/SKILL.md.
        #[arg(required_unless_present = "all")]
        paths: Vec<String>,
        /// Trust all files of all skills.
        #[arg(long, conflicts_with = "paths")]
        all: bool,
    },
}

/// Runs the command. The exit code of `list` is 1 if a file is not trusted or was refused.
pub fn skills(arguments: &SkillsArguments) -> anyhow::Result<ExitCode> {
    let folder = home_dir(arguments.home.clone());
    refuse_in_cluster(&folder, "trust skills on the page")?;
    let home = match Home::open(&folder) {
        Err(error @ StoreError::Locked { .. }) => return Err(error).context("a server runs there: use its page"),
        opened => opened?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let (store, _) = OwnedHome::claim(home).await?;
        store.tree.initialize_trust(store.claim, starter::skills()).await?;
        match &arguments.wish {
            SkillsCommand::List => list(&store.home),
            SkillsCommand::Trust { paths, all } => {
                let paths = match all {
                    true => store.home.untrusted()?.into_iter().map(|file| file.path.to_string()).collect(),
                    false => paths.clone(),
                };
                trust(&store, &paths).await
            }
        }
    })
}

fn list(home: &Home) -> anyhow::Result<ExitCode> {
    let found = home.skill_files()?;
    let SkillFiles { files, untrusted, unlisted } = &*found;
    for file in files {
        let state = match untrusted.iter().find(|untrusted| untrusted.path == file.path) {
            None => "trusted",
            Some(found) if found.changed => "changed",
            Some(_) => "new",
        };
        say!("{state:<8} {}", file.path);
    }
    for unlisted in unlisted {
        say!("refused  {} ({})", visible(&unlisted.path()), unlisted.why.sentence());
    }
    Ok(if untrusted.is_empty() && unlisted.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn trust(store: &OwnedHome, paths: &[String]) -> anyhow::Result<ExitCode> {
    for path in paths {
        let path = Place::parse(path).with_context(|| path.clone())?;
        if !path.is_pinned() {
            bail!(
                "{path}: only files of skills, and AGENTS.md and CLAUDE.md of projects, are trusted version by version"
            );
        }
        if is_too_deep(&path) {
            bail!("{path}: {}", UnlistedReason::TooDeep.sentence());
        }
        store.tree.trust_file(store.claim, path.clone(), TrustedBy::CommandLine).await?;
        say!("trusted  {path}");
    }
    Ok(ExitCode::SUCCESS)
}
