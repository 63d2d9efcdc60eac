//! `miniclaw skills`: which versions of the skills' files are trusted.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::{home_dir, init};
use crate::domain::HomePath;
use crate::domain::visible::visible;
use crate::store::{Home, PINNED, SkillFiles, StoreError, TrustedBy, WhyUnlisted, is_too_deep};

#[derive(Args)]
pub struct SkillsArguments {
    #[command(subcommand)]
    wish: Wish,
    /// The home.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Wish {
    /// List the files of the skills: trusted, changed since they were trusted, or new.
    List,
    /// Trust files as they are now.
    Trust {
        /// As `list` names them, like skills/get_weather/SKILL.md.
        #[arg(required_unless_present = "all")]
        paths: Vec<String>,
        /// All files of all skills.
        #[arg(long, conflicts_with = "paths")]
        all: bool,
    },
}

/// The exit code of `list` is 1 when something is not trusted.
pub fn skills(arguments: &SkillsArguments) -> anyhow::Result<ExitCode> {
    let home = match Home::open(&home_dir(arguments.home.clone())) {
        Err(error @ StoreError::Locked { .. }) => return Err(error).context("a server runs there: use its page"),
        opened => opened?,
    };
    home.begin_trusting(&init::skills())?;
    match &arguments.wish {
        Wish::List => list(&home),
        Wish::Trust { paths, all } => {
            let paths = match all {
                true => home.untrusted()?.into_iter().map(|file| file.path.to_string()).collect(),
                false => paths.clone(),
            };
            trust(&home, &paths)
        }
    }
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
        println!("{state:<8} {}", file.path);
    }
    for unlisted in unlisted {
        println!("refused  {} ({})", visible(&unlisted.path), unlisted.why.sentence());
    }
    Ok(if untrusted.is_empty() && unlisted.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn trust(home: &Home, paths: &[String]) -> anyhow::Result<ExitCode> {
    for path in paths {
        let path = HomePath::parse(path).with_context(|| path.clone())?;
        if path.root() != PINNED {
            bail!("{path}: only files in {PINNED}/ are trusted version by version");
        }
        if is_too_deep(&path) {
            bail!("{path}: {}", WhyUnlisted::TooDeep.sentence());
        }
        home.trust_file(&path, TrustedBy::CommandLine)?;
        println!("trusted  {path}");
    }
    Ok(ExitCode::SUCCESS)
}
