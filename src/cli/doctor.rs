//! `miniclaw doctor`: what is configured, what is missing, what to do.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{doctor_mcp, doctor_server, load_config};
use crate::config::{Config, ConfiguredEndpoint, EmbeddingSource, LocalModel, Rerank, known_variables};
use crate::domain::Root;
use crate::prompt::system::prompt_files;
use crate::provider::find_local;
use crate::sandbox::{self, COMMAND_MEMORY, Exit, Job, Network, Sandbox, SandboxConfig};

/// Prints what is configured and what is missing. The exit code is 1 if the server could not start, or could lose something.
pub fn doctor(home: &Path) -> anyhow::Result<ExitCode> {
    say!("home       {}", home.display());
    let (config, environment) = load_config(home)?;
    let files = config.database.as_ref().map_or_else(|| home.to_owned(), |database| database.own_home(home));
    say_missing(&files, config.database.is_some());
    for (name, from) in known_variables(&environment) {
        say!("variable   {name} is set ({from})");
    }
    for ConfiguredEndpoint { endpoint, from, .. } in &config.endpoints {
        say!("model      {} at {} ({from})", endpoint.label, endpoint.base_url);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = if config.find_local { runtime.block_on(find_local()) } else { Vec::new() };
    for endpoint in &found {
        say!("model      {} at {} (found on this machine)", endpoint.label, endpoint.base_url);
    }
    let embedded = &config.embedded;
    let there = |path: &Path| if path.is_file() { "there" } else { "missing: make model" };
    say!("embedded   program {} ({})", embedded.program.display(), there(&embedded.program));
    say!("           weights {} ({})", embedded.weights.display(), there(&embedded.weights));
    let has_embedded = embedded.program.is_file() && embedded.weights.is_file();
    if config.endpoints.is_empty() && found.is_empty() && !has_embedded {
        say!("           {}", crate::engine::models::NO_MODEL);
    }
    say!("vectors    {}", vectors(&config.embedding));
    say!("rerank     {}", rerank(&config));
    let sandbox = Sandbox::new(SandboxConfig::new(config.sandbox));
    say!("sandbox    {}: {}", config.sandbox.name(), sandbox.status());
    say!("           {}", runtime.block_on(tried(&sandbox))?);
    if let Some(warning) = sandbox.warning_for(&files.join("scratch")) {
        say!("           {warning}");
    }
    for server in runtime.block_on(doctor_mcp::servers(&files, config.sandbox)) {
        say!("mcp        {server}");
    }
    if config.people.is_multi() {
        match sandbox.person_obstacle(config.people.uids) {
            None => say!("people     each person's commands run as a user of their own, of {}", config.people.uids),
            Some(obstacle) => say!("people     commands are left out: {obstacle}"),
        }
    }
    let findings = runtime.block_on(doctor_server::checked(home, &config));
    findings.lines.iter().for_each(|line| say!("{line}"));
    for warning in &config.warnings {
        say!("warning    {warning}");
    }
    Ok(if findings.is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says which files of the home's prompt are missing.
fn say_missing(files: &Path, is_in_database: bool) {
    let is_there = files.join("workspace").is_dir();
    match (is_in_database, is_there) {
        (true, true) => say!("           it is in the database, and its copy is in {}", files.display()),
        (true, false) => {
            say!("           it is in the database, and the server makes its copy in {}", files.display());
            return;
        }
        (false, true) => {}
        (false, false) => say!("           not a home yet: miniclaw init {}", files.display()),
    }
    // The server writes the list of skills itself.
    let written = prompt_files().iter().map(|file| &file.place).filter(|place| *place.root() != Root::Snapshot);
    for place in written.filter(|place| !files.join(place.as_str()).is_file()) {
        say!("           {place} is missing; it is left out of the prompt");
    }
}

/// Runs a command that does nothing, in a folder created for it, and describes the result.
async fn tried(sandbox: &Sandbox) -> anyhow::Result<String> {
    let cwd = sandbox::empty_folder()?;
    let job = Job {
        argv: vec!["true".to_owned()],
        cwd: cwd.path().to_owned(),
        readable: Vec::new(),
        env: Vec::new(),
        wall: Duration::from_secs(10),
        output_cap: 1_000,
        memory: COMMAND_MEMORY,
        network: Network::None,
        capture: None,
        owner: crate::domain::FolderOwner::Commands,
    };
    Ok(match sandbox.run(job, CancellationToken::new()).await {
        Ok(done) if done.exit == Exit::Code(0) => format!("a trial command ran, in {} ms", done.took.as_millis()),
        Ok(done) => format!("a trial command failed: {:?} {}", done.exit, done.stderr.text()),
        Err(error) => error.to_string(),
    })
}

/// Describes where vectors for search come from.
fn vectors(source: &EmbeddingSource) -> String {
    match source {
        EmbeddingSource::None => "none: search goes by words".to_owned(),
        EmbeddingSource::Service(endpoint) => format!("{} at {}", endpoint.label, endpoint.base_url),
        EmbeddingSource::Local(model, models) => local(*model, models),
        EmbeddingSource::LocalIfThere(models) => match LocalModel::first_in(models) {
            Some(model) if model != LocalModel::default() => {
                format!(
                    "{}; {} finds more: {}",
                    local(model, models),
                    LocalModel::default().name(),
                    LocalModel::default().command()
                )
            }
            _ => local(LocalModel::default(), models),
        },
    }
}

/// Describes where the vectors for late interaction come from.
fn rerank(config: &Config) -> String {
    match &config.rerank {
        Rerank::None => "none".to_owned(),
        Rerank::E5Small(models) => local(LocalModel::E5Small, models),
        Rerank::Auto => match config.embedding.local() {
            Some((LocalModel::E5Small, _)) => format!("with {}", LocalModel::E5Small.name()),
            _ => format!("none: it needs {}", LocalModel::E5Small.name()),
        },
    }
}

fn local(model: LocalModel, models: &Path) -> String {
    match model.missing(models) {
        Some(file) => format!("{} (missing: {})", file.display(), model.command()),
        None => format!("{} (there)", models.join(model.name()).display()),
    }
}

/// Returns exit code 0 if the embedded model is the only possible one and is incomplete, else 1.
pub fn needs_model(home: &Path) -> anyhow::Result<ExitCode> {
    let (config, _) = load_config(home)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = config.find_local && !runtime.block_on(find_local()).is_empty();
    let complete = config.embedded.program.is_file() && config.embedded.weights.is_file();
    let needed = config.endpoints.is_empty() && !found && !complete;
    Ok(if needed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
