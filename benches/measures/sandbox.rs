//! The overhead of the sandbox when a command starts.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use miniclaw::sandbox::{COMMAND_MEMORY, Exit, Job, Level, Network, Sandbox, SandboxConfig, SandboxStatus};
use tokio_util::sync::CancellationToken;

use super::Bench;
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::binary;

/// Pause between commands, as long as the fastest models take.
pub const APART: Duration = Duration::from_millis(50);

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Sandbox");
    let cwd = bench.folder("sandbox");
    std::fs::create_dir_all(&cwd)?;
    let (mut plain, mut standard, mut strict) = (Samples::default(), Samples::default(), Samples::default());
    let mut recorded = Samples::default();
    let (inside, namespaces) = (sandbox(Level::Standard), sandbox(Level::Strict));
    let has_bubblewrap = namespaces.status() != SandboxStatus::NoBubblewrap;
    // Alternating, so that other load on the machine affects all of them equally.
    for _ in 0..bench.times(300) {
        plain.push_ms(spawned(&cwd).await?);
        standard.push_ms(ran(&inside, &cwd).await?);
        if has_bubblewrap {
            strict.push_ms(ran(&namespaces, &cwd).await?);
        }
    }
    // The kernel takes some milliseconds to remove a network namespace, and the next one waits for that. Commands of a model are
    // further apart.
    let (mut near, mut apart) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(100) {
        recorded.push_ms(run(&inside, Job { network: Network::Recorded, ..job(&cwd) }).await?);
        near.push_ms(run(&inside, Job { network: Network::Recorded, ..job(&cwd) }).await?);
        tokio::time::sleep(APART).await;
        apart.push_ms(ran(&inside, &cwd).await?);
        tokio::time::sleep(APART).await;
    }
    report.figure("start and end of `true`, plain, p50", plain.p50(), "ms").note(format!("n = {}", plain.len()));
    let note = format!("± {:.2}; the whole call {:.2} ms", standard.spread(), standard.p50());
    report.figure("beyond that in level standard, p50", standard.p50() - plain.p50(), "ms").at_most(2.0).note(note);
    report.figure("the same, p95 of the whole call", standard.p95(), "ms");
    let beyond = recorded.p50() - apart.p50();
    let note = format!(
        "{} ms after the command before; right after another such command {:.1}",
        APART.as_millis(),
        near.p50() - apart.p50()
    );
    report.figure("beyond that with the hosts recorded that it asks for, p50", beyond, "ms").at_most(3.0).note(note);
    if has_bubblewrap {
        report.figure("beyond that in level strict, p50", strict.p50() - plain.p50(), "ms");
    }
    report.show();
    Ok(())
}

pub fn sandbox(level: Level) -> Sandbox {
    Sandbox::new(SandboxConfig { supervisor_exe: binary(), level })
}

async fn spawned(cwd: &Path) -> io::Result<Duration> {
    let began = Instant::now();
    let mut command = tokio::process::Command::new("/usr/bin/true");
    command.env_clear().current_dir(cwd).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()?.wait_with_output().await?;
    Ok(began.elapsed())
}

async fn ran(sandbox: &Sandbox, cwd: &Path) -> io::Result<Duration> {
    run(sandbox, job(cwd)).await
}

pub fn job(cwd: &Path) -> Job {
    Job {
        argv: vec!["/usr/bin/true".to_owned()],
        cwd: cwd.to_owned(),
        readable: Vec::new(),
        env: Vec::new(),
        wall: Duration::from_secs(10),
        output_cap: 1_000,
        memory: COMMAND_MEMORY,
        network: Network::None,
        capture: None,
        owner: miniclaw::domain::FolderOwner::Commands,
    }
}

pub async fn run(sandbox: &Sandbox, job: Job) -> io::Result<Duration> {
    let done = sandbox.run(job, CancellationToken::new()).await.map_err(io::Error::other)?;
    if done.exit == Exit::Code(0) { Ok(done.took) } else { Err(io::Error::other(format!("{done:?}"))) }
}
