//! Commands whose changes are captured: what that costs in a large folder, for a build, and how long applying and undoing take.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use miniclaw::sandbox::{Level, Overlay, Sandbox};
use miniclaw::store::Capture;
use serde_json::{Value, json};

use super::sandbox::{APART, job, run, sandbox};
use super::{Bench, model, titled_session};
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::server::{Server, configure_more, starter_home};

/// Number of files of the large folder, and of folders that they are in.
const FILES: usize = 50_000;
const FOLDERS: usize = 500;
/// Number of files that the build writes.
const BUILT: usize = 5_000;
/// Number of files that are applied and undone.
const CHANGED: usize = 1_000;
/// Commands run without a question.
const UNASKED: &str = "approvals: {effects: {execute: unattended}}\n";

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Changes of commands");
    let sandbox = sandbox(Level::Standard);
    match sandbox.capture_obstacle() {
        Some(why) => println!("  not measured: {why}"),
        None => {
            in_large_folder(bench, &sandbox, report).await?;
            promotion(bench, &sandbox, report).await?;
            let by_programs = Build {
                name: "a build that writes 5,000 files, each with a program of its own, recorded, p50",
                script: compiles(BUILT),
                times: bench.times(10).div_ceil(2),
                most: Some(1.3),
            };
            build(bench, by_programs, (&sandbox, report)).await?;
            let by_one = Build {
                name: "5,000 files written by one program, recorded, p50",
                script: writes(BUILT),
                times: bench.times(10),
                most: None,
            };
            build(bench, by_one, (&sandbox, report)).await?;
            undo(bench, report).await?;
        }
    }
    report.show();
    Ok(())
}

async fn in_large_folder(bench: &Bench, sandbox: &Sandbox, report: &mut Report) -> io::Result<()> {
    let folder = bench.folder("large");
    for number in 0..FILES {
        let parent = folder.join(format!("f{}", number % FOLDERS));
        std::fs::create_dir_all(&parent)?;
        std::fs::write(parent.join(format!("{number}.txt")), "text\n")?;
    }
    sandbox.prepare(&folder).map_err(io::Error::other)?;
    let (mut plain, mut captured) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(100) {
        // The kernel removes the namespaces of the command before meanwhile.
        tokio::time::sleep(APART).await;
        plain.push_ms(run(sandbox, job(&folder)).await?);
        tokio::time::sleep(APART).await;
        captured.push_ms(captured_run(sandbox, &folder, "true").await?.whole);
    }
    let note = format!("± {:.2}; n = {}, the whole call {:.2} ms", captured.spread(), captured.len(), captured.p50());
    let beyond = captured.p50() - plain.p50();
    report
        .figure("`true` among 50,000 files: capture beyond level standard, p50", beyond, "ms")
        .at_most(5.0)
        .note(note);
    Ok(())
}

async fn promotion(bench: &Bench, sandbox: &Sandbox, report: &mut Report) -> io::Result<()> {
    let mut times = Samples::default();
    for number in 0..bench.times(20) {
        let folder = bench.folder(&format!("promoted{number}"));
        std::fs::create_dir_all(&folder)?;
        times.push_ms(captured_run(sandbox, &folder, &writes(CHANGED)).await?.promotion);
    }
    let note = format!("± {:.1}; n = {}", times.spread(), times.len());
    report.figure("applying 1,000 new files, p50", times.p50(), "ms").at_most(50.0).note(note);
    Ok(())
}

/// A command that writes [`BUILT`] files in its working folder.
struct Build {
    name: &'static str,
    script: String,
    times: usize,
    /// The highest ratio that is on target.
    most: Option<f64>,
}

/// Compares a call of the running server, with everything that it records, with the same command in the sandbox alone.
async fn build(bench: &Bench, build: Build, (sandbox, report): (&Sandbox, &mut Report)) -> io::Result<()> {
    let Build { name, script, times, most } = build;
    let model = model(replies((0..times).map(|at| format!("mkdir b{at}; cd b{at}; {script}")))).await?;
    let home = bench.folder(&format!("build of {}", script.len()));
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, UNASKED)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let id = titled_session(&mut connection).await?;
    let (mut plain, mut captured) = (Samples::default(), Samples::default());
    for number in 0..times {
        let folder = bench.folder(&format!("built{number} of {}", script.len()));
        std::fs::create_dir_all(&folder)?;
        sandbox.prepare(&folder).map_err(io::Error::other)?;
        let mut plainly = job(&folder);
        (plainly.argv, plainly.wall) = (shell(&script), Duration::from_secs(60));
        plain.push_ms(run(sandbox, plainly).await?);
        let began = Instant::now();
        let ask = json!({"message": "build", "session_id": id}).to_string();
        connection.stream("/api/chat", &ask, |_, _| {}).await?;
        captured.push_ms(began.elapsed());
        let built = std::fs::read_dir(home.join(format!("scratch/b{number}")))?.count();
        if built != BUILT {
            return Err(io::Error::other(format!("{built} files were built")));
        }
    }
    let note = format!(
        "n = {}; {:.0} ± {:.0} ms instead of {:.0} ± {:.0}, the request included",
        captured.len(),
        captured.p50(),
        captured.spread(),
        plain.p50(),
        plain.spread()
    );
    let figure = report.figure(name, captured.p50() / plain.p50(), "×").note(note);
    if let Some(most) = most {
        figure.at_most(most);
    }
    Ok(())
}

async fn undo(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = model(replies([format!("mkdir u; cd u; {}", writes(CHANGED))])).await?;
    let home = bench.folder("undone");
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, UNASKED)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let id = titled_session(&mut connection).await?;
    connection.stream("/api/chat", &json!({"message": "go", "session_id": id}).to_string(), |_, _| {}).await?;
    let (mut undone, mut redone) = (Samples::default(), Samples::default());
    for number in 0..2 * bench.times(10) {
        let began = Instant::now();
        let answer = connection.post(&format!("/api/sessions/{id}/operations/c0/undo"), &json!({})).await?;
        let took = ms(began.elapsed());
        let is_there = home.join("scratch/u/1").exists();
        if answer.status != 200 || is_there != (number % 2 == 1) {
            return Err(io::Error::other(format!("undo {number}: status {}", answer.status)));
        }
        if number % 2 == 0 { undone.push(took) } else { redone.push(took) }
    }
    let note = format!("± {:.0}; n = {}; done again {:.0} ms", undone.spread(), undone.len(), redone.p50());
    report.figure("undo of 1,000 files, p50", undone.p50(), "ms").at_most(200.0).note(note);
    Ok(())
}

/// Returns a command that writes this number of small files.
fn writes(files: usize) -> String {
    format!("i=0; while [ $i -lt {files} ]; do echo \"text of $i\" > $i; i=$((i+1)); done")
}

/// Returns a command that makes this number of small files as a compiler does: with a program for each.
fn compiles(files: usize) -> String {
    format!("i=0; while [ $i -lt {files} ]; do /bin/echo \"text of $i\" > $i; i=$((i+1)); done")
}

/// The shell that the server's tools use.
fn shell(script: &str) -> Vec<String> {
    ["/bin/bash", "-c", script].map(str::to_owned).into()
}

/// Returns replies that run each of these commands and then end.
fn replies(commands: impl IntoIterator<Item = String>) -> Value {
    let replies = commands.into_iter().enumerate().flat_map(|(at, command)| {
        let call =
            json!({"tool_call": {"id": format!("c{at}"), "name": "terminal", "arguments": {"command": command}}});
        [json!({"steps": [call, {"finish": "tool_calls"}]}), json!({"steps": [{"text": "Done."}, {"finish": "stop"}]})]
    });
    replies.collect::<Vec<Value>>().into()
}

struct CapturedTimes {
    whole: Duration,
    promotion: Duration,
}

/// Runs a script in an overlay, and applies what it changed.
async fn captured_run(sandbox: &Sandbox, folder: &Path, script: &str) -> io::Result<CapturedTimes> {
    let began = Instant::now();
    sandbox.prepare(folder).map_err(io::Error::other)?;
    let capture = Capture::create(&folder.with_extension("capture"), folder).map_err(io::Error::other)?;
    let overlay = Overlay { upper: capture.upper(), work: capture.work(), temporary: capture.temporary() };
    let mut captured = job(folder);
    if script != "true" {
        captured.argv = shell(script);
    }
    captured.capture = Some(overlay);
    run(sandbox, captured).await?;
    let changes = capture.changes().map_err(io::Error::other)?;
    let promoting = Instant::now();
    // As the server does: nothing is promoted if nothing has changed.
    if !changes.entries.is_empty() {
        capture.promote(&changes).map_err(io::Error::other)?;
    }
    let promotion = promoting.elapsed();
    capture.remove().map_err(io::Error::other)?;
    Ok(CapturedTimes { whole: began.elapsed(), promotion })
}
