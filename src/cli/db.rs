//! `miniclaw db`: makes and updates the tables of the database that config.yml names, and says whether it can be used.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{home_dir, load_config};
use crate::config::DatabaseConfig;
use crate::store::{self, CacheUse, Database, DatabaseError, SchemaState, StoreError, latest_version, real_path};

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
    /// Make the tables, or bring those of an older version up to date. Servers of the version before go on (docs/cluster.md).
    Migrate,
    /// Say whether the database can be used, and why not. Changes nothing.
    Status,
}

/// Runs the command. The exit code is 0 if the database can be used, else 1.
pub fn run(arguments: DbArguments) -> anyhow::Result<ExitCode> {
    let config = database(&home_dir(arguments.home))?;
    let done = runtime()?.block_on(async {
        match arguments.command {
            DbCommand::Migrate => migrate(&config).await,
            DbCommand::Status => status(&config).await,
        }
    });
    done.map_or_else(|error| refused(&error), |()| Ok(ExitCode::SUCCESS))
}

/// Stores a home in the database. The exit code is 0 if all of it is stored, else 1.
pub fn import(dir: &Path, home: &Path) -> anyhow::Result<ExitCode> {
    let config = database(home)?;
    let own = config.own_home(home);
    let usage = if real_path(dir) == real_path(&own) { CacheUse::Adopt } else { CacheUse::Import };
    let done = runtime()?.block_on(store::import(&config.homes(), dir, usage));
    finished(done, || say!("{} is stored in {}", dir.display(), config.address))
}

/// Writes the home in the database to a folder. The exit code is 0 if all of it is written, else 1.
pub fn export(dir: &Path, home: &Path) -> anyhow::Result<ExitCode> {
    let config = database(home)?;
    let done = runtime()?.block_on(store::export(&config.address, dir));
    finished(done, || {
        say!("{} is written to {}", config.address, dir.display());
        if dir.join("accounts.json").is_file() {
            say!(
                "several people have accounts there: write auth_mode: multi and MINICLAW_JWT_SECRET to it before it is started"
            );
        }
    })
}

fn finished(done: Result<(), StoreError>, say_so: impl FnOnce()) -> anyhow::Result<ExitCode> {
    match done {
        Ok(()) => {
            say_so();
            Ok(ExitCode::SUCCESS)
        }
        Err(StoreError::Database(error)) => refused(&error),
        Err(error) => Err(error.into()),
    }
}

fn refused(error: &DatabaseError) -> anyhow::Result<ExitCode> {
    eprintln!("miniclaw: {}: {error}", error.code());
    Ok(ExitCode::FAILURE)
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
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
    say_schema(database.schema().await?);
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
    say_schema(state);
    state.require_migrated()?;
    database.require_complete_homes().await
}

fn say_schema(state: SchemaState) {
    let (found, known) = (state.version(), latest_version());
    match state.is_newer() {
        false => say!("schema     version {found} of {known}"),
        true => say!(
            "schema     version {found}, which a newer miniclaw made; this one knows version {known} and works with it"
        ),
    }
}
