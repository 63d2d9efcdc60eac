//! The command line: serve, ask, mcp, acp, init, doctor, verify, backup, restore, skills, people, token, db, import, export, eval, openapi, mock-llm.

/// Prints a line as `println!` does, which panics if nobody reads any more: `miniclaw doctor | head -1`.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::cli::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

mod acp;
mod ask;
mod backup;
mod cluster_copy;
mod db;
mod doctor;
mod doctor_mcp;
mod doctor_server;
mod eval;
mod init;
mod kit;
mod kit_conversations;
mod kit_documents;
mod kit_floor;
mod kit_judgements;
mod kit_scores;
mod lines;
mod mcp;
mod mock;
mod people;
mod serve;
mod skills;
mod token;
mod verify;

use std::io::{ErrorKind, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, ConfigError, Environment, process_variables};
use crate::server::StartRefused;

/// A file-driven, fully transparent local AI agent with a web IDE inside.
#[derive(Parser)]
#[command(name = "miniclaw", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::ServeArguments,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server (the default).
    Serve(serve::ServeArguments),
    /// Ask one question and print the answer: for scripts.
    Ask(ask::AskArguments),
    /// Serve the Model Context Protocol on standard input and output, for programs that start their MCP servers; or list, add,
    /// confirm and remove the MCP servers that the agent uses, and call their tools.
    Mcp(mcp::McpArguments),
    /// Serve the Agent Client Protocol on standard input and output: for editors.
    Acp(acp::AcpArguments),
    /// Create a starter home.
    Init {
        /// The folder; created if it does not exist. Existing files are kept.
        dir: PathBuf,
    },
    /// Show what is configured and what is missing.
    Doctor {
        /// The home to check.
        #[arg(long, env = "MINICLAW_HOME")]
        home: Option<PathBuf>,
        /// Print nothing; exit with 0 if only the embedded model could answer and its parts are missing.
        #[arg(long)]
        needs_model: bool,
    },
    /// Check that sessions, change records and requests are what this home wrote, and list what was edited outside.
    Verify(verify::VerifyArguments),
    /// Write a home to one file, as it is at one moment. A server may run on it.
    Backup(backup::BackupArguments),
    /// Make an empty folder the home that a backup has, checked by its hashes.
    Restore(backup::RestoreArguments),
    /// List which versions of skills are trusted, and trust others.
    Skills(skills::SkillsArguments),
    /// List and change the accounts of a server that is stopped, and make a home that of the first account.
    People(people::PeopleArguments),
    /// Make, list and revoke the tokens with which programs use the OpenAI API and the MCP server.
    Token(token::TokenArguments),
    /// Make and update the tables of the database that config.yml names, and say whether it can be used.
    Db(db::DbArguments),
    /// Store a home in the empty database that config.yml names. No server may run on it.
    Import {
        /// The home to store. None of its files is changed.
        dir: PathBuf,
        /// The folder with config.yml.
        #[arg(long, env = "MINICLAW_HOME")]
        home: Option<PathBuf>,
    },
    /// Write the home in the database that config.yml names to an empty folder.
    Export {
        /// The folder; created if it does not exist.
        dir: PathBuf,
        /// The folder with config.yml.
        #[arg(long, env = "MINICLAW_HOME")]
        home: Option<PathBuf>,
    },
    /// Run the home's retrieval tests, or measure the data sets of an evaluation kit.
    Eval(eval::EvalArguments),
    /// Print the OpenAPI document of this version.
    Openapi,
    /// Serve scripted answers over the OpenAI chat API, for tests and demonstrations.
    MockLlm(mock::MockArguments),
}

/// `EX_CONFIG` of sysexits.h: the configuration is wrong.
pub const EX_CONFIG: u8 = 78;

/// Runs the program; the exit code is 0, 1 (failure), 2 (bad arguments) or 78 (bad configuration).
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command.unwrap_or(Command::Serve(arguments.serve)) {
        Command::Serve(serve) => serve::serve(&serve),
        Command::Ask(arguments) => ask::run(&arguments),
        Command::Mcp(arguments) => mcp::run(arguments),
        Command::Acp(arguments) => acp::run(&arguments),
        Command::Init { dir } => init::init(&dir),
        Command::Doctor { home, needs_model: true } => doctor::needs_model(&home_dir(home)),
        Command::Doctor { home, needs_model: false } => doctor::doctor(&home_dir(home)),
        Command::Verify(verify) => verify::run(&verify),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => backup::restore_backup(&arguments),
        Command::Skills(wish) => skills::skills(&wish),
        Command::People(arguments) => people::run(arguments),
        Command::Token(arguments) => token::run(arguments),
        Command::Db(arguments) => db::run(arguments),
        Command::Import { dir, home } => db::import(&dir, &home_dir(home)),
        Command::Export { dir, home } => db::export(&dir, &home_dir(home)),
        Command::Eval(eval) => eval::eval(&eval),
        Command::Openapi => openapi(),
        Command::MockLlm(mock) => mock::mock(&mock),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("miniclaw: {error:#}");
            let bad_config = error.is::<ConfigError>() || error.is::<StartRefused>();
            if bad_config { ExitCode::from(EX_CONFIG) } else { ExitCode::FAILURE }
        }
    }
}

fn openapi() -> anyhow::Result<ExitCode> {
    say!("{}", crate::api::document().to_pretty_json()?);
    Ok(ExitCode::SUCCESS)
}

/// Writes the log to standard error. `MINICLAW_LOG` says what is in it, or else `default`.
fn log_to_stderr(default: &str) {
    let filter = EnvFilter::try_from_env("MINICLAW_LOG").unwrap_or_else(|_| default.into());
    // It would log whole frames, which may contain a token.
    let quiet = "tungstenite=warn".parse().expect("a directive");
    let log = tracing_subscriber::fmt().with_env_filter(filter.add_directive(quiet));
    log.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init();
}

/// Writes to standard output. What nobody reads any more is not written; any other error ends the program.
fn print(text: std::fmt::Arguments<'_>) {
    match std::io::stdout().write_fmt(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("miniclaw: cannot write to standard output: {error}");
            std::process::exit(1);
        }
        _ => {}
    }
}

/// Returns the home to use: the given one, else the current folder if it is a home, else `~/miniclaw`.
fn home_dir(told: Option<PathBuf>) -> PathBuf {
    if let Some(home) = told {
        return home;
    }
    if Path::new("workspace").is_dir() {
        return PathBuf::from(".");
    }
    std::env::home_dir().map_or_else(|| PathBuf::from("miniclaw"), |home| home.join("miniclaw"))
}

fn load_config(home: &Path) -> Result<(Config, Environment), ConfigError> {
    let environment = Environment::load(home, process_variables())?;
    let config = Config::load(home, &environment)?;
    Ok((config, environment))
}
