//! Benchmarks the release binary over real HTTP against the local scripted provider: `make bench`.
//!
//! Every measurement is bounded in count and time, and all traffic stays on the loopback interface. Arguments:
//! `--write` writes docs/benchmarks.md, `--only NAME` runs one measurement, `--quick` runs a tenth of the repetitions. On
//! a busy machine, start it with `chrt -r 1`: otherwise CPU contention adds to every figure.

mod kit;
mod measures;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;

use kit::report::Report;
use measures::{
    Bench, captures, cluster, conversations, doors, journal, knowledge, mcp, meaning, memory, people, project, prompt,
    sandbox, search, sessions, soak, start, streams, turn, ui, verify,
};

const NAMES: [&str; 20] = [
    "start",
    "memory",
    "prompt",
    "turn",
    "doors",
    "mcp",
    "streams",
    "people",
    "journal",
    "sandbox",
    "captures",
    "sessions",
    "pages",
    "search",
    "conversations",
    "knowledge",
    "meaning",
    "project",
    "verify",
    "ui",
];

/// Name of the soak test. It takes minutes, so it runs only if it is named; `--minutes N` sets its duration.
const SOAK: &str = "soak";
/// Name of the measurements with a database. They need PostgreSQL, so they run only if they are named: `make cluster-bench`.
const CLUSTER: &str = "cluster";
const SOAK_MINUTES: f64 = 10.0;

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let only = arguments.iter().position(|argument| argument == "--only").and_then(|at| arguments.get(at + 1));
    let minutes = arguments.iter().position(|argument| argument == "--minutes").and_then(|at| arguments.get(at + 1));
    let minutes = minutes.and_then(|minutes| minutes.parse().ok()).unwrap_or(SOAK_MINUTES);
    if let Some(name) = only.filter(|name| ![SOAK, CLUSTER].contains(&name.as_str()) && !NAMES.contains(&name.as_str()))
    {
        eprintln!("there is no measurement {name:?}; there are {}", [&NAMES[..], &[SOAK, CLUSTER]].concat().join(", "));
        return Ok(ExitCode::FAILURE);
    }
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let bench = Bench::new(has("--quick"))?;
    let mut report = Report::default();
    let load_before = load();
    println!("{} · load {load_before}", machine());
    runtime.block_on(async {
        for name in NAMES.into_iter().filter(|name| wanted(name)) {
            match name {
                "start" => start::measure(&bench, &mut report).await?,
                "memory" => memory::measure(&bench, &mut report).await?,
                "prompt" => prompt::measure(&bench, &mut report).await?,
                "turn" => turn::measure(&bench, &mut report).await?,
                "doors" => doors::measure(&bench, &mut report).await?,
                "mcp" => mcp::measure(&bench, &mut report).await?,
                "streams" => streams::measure(&bench, &mut report).await?,
                "people" => people::measure(&bench, &mut report).await?,
                "journal" => journal::measure(&bench, &mut report).await?,
                "sandbox" => sandbox::measure(&bench, &mut report).await?,
                "captures" => captures::measure(&bench, &mut report).await?,
                "sessions" => sessions::measure(&bench, &mut report).await?,
                "pages" => sessions::pages(&bench, &mut report).await?,
                "search" => search::measure(&bench, &mut report).await?,
                "conversations" => conversations::measure(&bench, &mut report).await?,
                "knowledge" => knowledge::measure(&bench, &mut report).await?,
                "meaning" => meaning::measure(&bench, &mut report).await?,
                "project" => project::measure(&bench, &mut report).await?,
                "verify" => verify::measure(&bench, &mut report).await?,
                _ => ui::measure(&bench, &mut report).await?,
            }
        }
        if only.is_some_and(|only| only == SOAK) {
            soak::measure(&bench, minutes, &mut report).await?;
        }
        if only.is_some_and(|only| only == CLUSTER) {
            cluster::measure(&bench, &mut report).await?;
        }
        io::Result::Ok(())
    })?;
    let load_after = load();
    println!("\n{} missed · load {load_after}", report.missed());
    if has("--write") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
        report.write(&path, &head(&load_before, &load_after))?;
        println!("wrote docs/benchmarks.md");
    }
    Ok(ExitCode::SUCCESS)
}

fn head(before: &str, after: &str) -> String {
    format!(
        "# Benchmarks\n\n\
         Written by `make bench` on {date}, version {version}, on a {machine}. Load averages over 1, 5 and 15 minutes: \
         {before} when it began, {after} when it ended; {priority}.\n\n\
         The release binary is measured as a process, over HTTP on the loopback interface, with a starter home and the \
         scripted provider (`miniclaw mock-llm`) as its model. Client, model and server share the machine's cores. What \
         the model and the client take by themselves is measured with the same client and taken off where a line says \
         “beyond”. ± is half the distance of the quartiles: how far a median moves with the machine's other work. \
         The page is driven in Debian's chromium, ahead \
         of other programs where that is allowed; there 500 messages are a conversation's, and the main thread's share is \
         processor time. A line without a target is there to be watched.\n",
        date = jiff::Zoned::now().date(),
        version = env!("CARGO_PKG_VERSION"),
        machine = machine(),
        priority = priority(),
    )
}

/// Returns the number of cores and the processor model, without the host name.
fn machine() -> String {
    let cores = available_parallelism().map_or(0, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    format!("{cores}-core Linux VM, {}", model.unwrap_or("unknown processor"))
}

/// Returns whether other programs could preempt the measured ones.
fn priority() -> &'static str {
    // SAFETY: queries the scheduler of this process; no memory is involved.
    match unsafe { libc::sched_getscheduler(0) } {
        libc::SCHED_FIFO | libc::SCHED_RR => "everything measured ran with real-time priority, ahead of that load",
        _ => "everything measured shared the processor with that load",
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
