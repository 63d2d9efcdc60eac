//! `miniclaw mock-llm --script FILE`: a provider that answers from a script.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::provider::scripted::{self, Script};

#[derive(Args)]
pub struct MockArguments {
    /// The script, in YAML or JSON.
    #[arg(long)]
    script: PathBuf,
    /// The port to listen on; 0 picks a free one. The first line on standard output names it.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub fn mock(arguments: &MockArguments) -> anyhow::Result<ExitCode> {
    let path = arguments.script.display().to_string();
    let text = crate::store::script_text(&arguments.script).with_context(|| format!("reading {path}"))?;
    let script = Script::parse(&text).with_context(|| path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", arguments.port)).await?;
        say!("listening on http://{}", listener.local_addr()?);
        let stopped = super::serve::stop_signal()?;
        tokio::select! {
            served = scripted::serve(script, listener) => served?,
            () = stopped => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}
