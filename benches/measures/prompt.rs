//! The size of a request, and the cost of assembling its prompt.

use std::io;
use std::time::Instant;

use miniclaw::prompt::system::{MemoryMode, PART_LIMIT, assemble};
use miniclaw::store::Home;
use serde_json::{Value, json};

use super::{Bench, fast_model, titled_session};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, starter_home};

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Prompt");
    request_for_hi(bench, report).await?;
    for (name, letter) in [("English", "words of a guide, "), ("Chinese", "这是一份指南。")] {
        assembly(bench, report, name, letter)?;
    }
    report.show();
    Ok(())
}

async fn request_for_hi(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("hi");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let id = titled_session(&mut connection).await?;
    let ask = json!({"message": "hi", "session_id": id}).to_string();
    connection.stream("/api/chat", &ask, |_, _| {}).await?;
    let requests = model.requests();
    let body = requests.first().ok_or_else(|| io::Error::other("the model was not asked"))?;
    let (system, rest): (Vec<&Value>, Vec<&Value>) =
        body["messages"].as_array().into_iter().flatten().partition(|message| message["role"] == "system");
    let bytes = |values: &[&Value]| values.iter().map(|value| value.to_string().len()).sum::<usize>();
    let (system, rest, tools) = (bytes(&system), bytes(&rest), body["tools"].to_string().len());
    let note = format!(
        "system {system}, {} tools {tools}, other messages {rest}, fields {}",
        body["tools"].as_array().map_or(0, Vec::len),
        body.to_string().len() - system - rest - tools
    );
    let all = body.to_string().len() as f64 / 1024.0;
    report.figure("request body for “hi”, starter home", all, "KiB").at_most(6.0).note(note);
    Ok(())
}

/// Measures reading and joining six files that are each longer than their limit.
fn assembly(bench: &Bench, report: &mut Report, name: &str, letter: &str) -> io::Result<()> {
    let folder = bench.folder(&format!("prompt-{name}"));
    std::fs::create_dir_all(&folder)?;
    let home = Home::open(&folder).map_err(io::Error::other)?;
    let text = letter.repeat(PART_LIMIT * 5 / 4 / letter.chars().count());
    let parts = [
        "SKILLS_SNAPSHOT.md",
        "workspace/SOUL.md",
        "workspace/IDENTITY.md",
        "workspace/USER.md",
        "workspace/AGENTS.md",
    ];
    for path in parts.into_iter().chain(["memory/MEMORY.md"]) {
        std::fs::write(folder.join(path), &text)?;
    }
    let mut times = Samples::default();
    let mut bytes = 0;
    for _ in 0..bench.times(500) {
        let began = Instant::now();
        let prompt = assemble(&home, MemoryMode::Whole);
        times.push_ms(began.elapsed());
        if prompt.parts.iter().filter(|part| part.truncated).count() != 6 {
            return Err(io::Error::other("not all six parts are at their cap"));
        }
        bytes = prompt.text.len();
    }
    let note = format!("n = {}, {} KB of {name}, files read each time", times.len(), bytes / 1000);
    report.figure(format!("assembly, six parts at their cap, {name}, p50"), times.p50(), "ms").at_most(2.0).note(note);
    report.figure("the same, p95", times.p95(), "ms").at_most(2.0);
    Ok(())
}
