//! Serves one chat model over the OpenAI chat API on loopback. See README.md of this crate.

mod arguments;
mod chatml;
mod cpu;
mod cues;
mod engine;
mod error;
mod examples;
mod fit;
mod guard;
mod http;
mod lm;
mod queue;
mod recipe;
mod reply;
mod request;
mod router;
mod sampling;
mod saved;
mod slots;
mod status;
mod text;
mod turns;

use anyhow::{Context, bail};
use clap::Parser;
use engine::{Options, Shared};
use queue::Queue;
use status::Status;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

const SECRET_VARIABLE: &str = "MINICLAW_LLM_SECRET";
/// How long the engine may take to stop its current request.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves one GGUF chat model over the OpenAI chat API on 127.0.0.1. Clients must send the secret from
/// MINICLAW_LLM_SECRET as bearer token. Exits when standard input is closed.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The model, a GGUF file with the ChatML format (Qwen2.5)
    #[arg(long)]
    model: PathBuf,
    /// The port; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Threads to compute with [default: 1 on one or two cores, else half of them]
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=256))]
    threads: Option<i32>,
    /// Maximum tokens of a prompt and its answer together
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1024..=131_072))]
    ctx: u32,
    /// Where to keep the evaluated system prompt, so that a restart need not evaluate it again
    #[arg(long)]
    cache_dir: Option<PathBuf>,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let secret = std::env::var(SECRET_VARIABLE).unwrap_or_default();
    if secret.is_empty() {
        bail!("{SECRET_VARIABLE} is not set; clients must send it as bearer token");
    }
    if let Err(why) = cpu::fits() {
        bail!(why);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await.context("no port to listen on")?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "listening on http://{address}").context("nobody reads standard output")?;

    let name = args.model.file_stem().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
    let shared =
        Arc::new(Shared { status: Status::new(name), queue: Queue::default(), model: OnceLock::new(), ctx: args.ctx });
    let options = Options {
        model: args.model,
        threads: args.threads.unwrap_or_else(cpu::default_threads),
        ctx: args.ctx,
        cache: args.cache_dir,
    };
    let engine = {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new().name("engine".into()).spawn(move || engine::run(&options, &shared))?
    };
    let app = http::routes(http::App::new(Arc::clone(&shared), &secret));
    tokio::select! {
        served = async { axum::serve(listener, app).await } => served?,
        why = shutdown_signal() => eprintln!("stopping: {}", why?),
    }
    shared.queue.close();
    let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
    while !engine.is_finished() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // the engine may still be inside llama.cpp; the process exit releases everything it holds
    std::process::exit(0)
}

/// Waits for SIGTERM, SIGINT or the end of standard input, and returns which of them occurred.
async fn shutdown_signal() -> anyhow::Result<&'static str> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        let mut byte = [0u8; 64];
        while matches!(std::io::stdin().lock().read(&mut byte), Ok(1..)) {}
        let _ = ended.send(());
    });
    tokio::select! {
        _ = term.recv() => Ok("SIGTERM"),
        _ = int.recv() => Ok("SIGINT"),
        _ = end => Ok("standard input ended"),
    }
}
