//! `miniclaw db`: makes and updates the tables of the database that config.yml names, and says whether it can be used.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{home_dir, load_config};
use crate::config::DatabaseConfig;
use crate::store::{Database, DatabaseError, SchemaState, latest_version};

#[derive(Args)]
pub struct DbArguments {
    #[command(subcommand)]
    command: DbCommand,
    /// The folder with config.yml.
    #[arg(long, env = "MINICLAW_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(Subcommand)]
enum DbCommand {
    /// Make the tables, or bring those of an older version up to date. Stop all servers of the database first.
    Migrate,
    /// Say whether the database can be used, and why not. Changes nothing.
    Status,
}

/// Runs the command. The exit code is 0 if the database can be used, else 1.
pub fn run(arguments: DbArguments) -> anyhow::Result<ExitCode> {
    let config = database(&home_dir(arguments.home))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        match arguments.command {
            DbCommand::Migrate => migrate(&config).await,
            DbCommand::Status => status(&config).await,
        }
    });
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("miniclaw: {}: {error}", error.code());
            Ok(ExitCode::FAILURE)
        }
    }
}

fn database(home: &Path) -> anyhow::Result<DatabaseConfig> {
    let (config, _) = load_config(home)?;
    config.database.with_context(|| {
        format!(
            "config.yml in {} names no database, so everything is kept in files. `store: {{postgres: ADDRESS}}` names one",
            home.display()
        )
    })
}

async fn migrate(config: &DatabaseConfig) -> Result<(), DatabaseError> {
    let mut database = Database::connect(&config.address).await?;
    let applied = database.migrate(config.loss).await?;
    for migration in &applied {
        say!("applied    {} {}", migration.version, migration.name);
    }
    say!("schema     version {}", latest_version());
    Ok(())
}

async fn status(config: &DatabaseConfig) -> Result<(), DatabaseError> {
    say!("database   {}", config.address);
    let database = Database::connect(&config.address).await?;
    let info = database.inspect(config.loss).await?;
    say!("server     PostgreSQL {}", info.version);
    if let Some(setting) = &info.not_durable {
        say!("warning    {setting}: a crash of the database can lose what was said to be stored (accept_loss)");
    }
    let state = database.schema().await?;
    let version = match state {
        SchemaState::Empty => 0,
        SchemaState::Version(version) => version,
    };
    say!("schema     version {version} of {}", latest_version());
    state.require_latest()
}
