//! Search in a large knowledge/ by words and vectors, without the time to embed the question.

use std::io;
use std::time::Instant;

use super::{Bench, fast_model};
use crate::kit::asking::{Asked, Embedded, settled};
use crate::kit::embeddings;
use crate::kit::numbers::ms;
use crate::kit::report::Report;
use crate::kit::server::{Server, configure_more, starter_home};
use crate::kit::texts::fill;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Search in knowledge, by words and vectors of 512 numbers");
    for (chunks, target) in [(10_000, 5.0), (100_000, 20.0)] {
        size(bench, report, (bench.times(chunks), target)).await?;
    }
    report.show();
    Ok(())
}

async fn size(bench: &Bench, report: &mut Report, (chunks, target): (usize, f64)) -> io::Result<()> {
    let model = fast_model(1).await?;
    let service = embeddings::start().await?;
    let home = bench.folder(&format!("knowledge-{chunks}"));
    starter_home(&home, &model.base_url)?;
    let embedding = format!("embedding: {{provider: openai, api_url: '{service}', api_key: none, model: made}}\n");
    configure_more(&home, &model.base_url, &embedding)?;
    std::fs::remove_dir_all(home.join("knowledge"))?;
    fill(&home.join("knowledge"), chunks)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let began = Instant::now();
    let chunks = settled(&mut connection, "knowledge", Embedded::Yes).await?;
    let (built, used) = (ms(began.elapsed()) / 1e3, server.cpu()?.as_secs_f64());
    // Pending work of the file watcher and the disk is not part of a question.
    quiet(&server).await?;
    let asked = Asked::ask(&mut connection, "knowledge", bench.times(300)).await?;
    let name = format!("{chunks} chunks: a question beyond its vector, p50");
    report.figure(name, asked.beyond.p50(), "ms").note(asked.parts());
    report.figure("the same, p95", asked.beyond.p95(), "ms").at_most(target);
    let note = format!("processor time {used:.1} s; the vectors come from a service that takes no time to make them");
    report.figure(format!("{chunks} chunks: indexed for the first time"), built, "s").note(note);
    let (all, own) = server.memory()?;
    let note = format!("of it {own:.1} MB not file pages");
    report.figure(format!("{chunks} chunks: resident"), all, "MB").note(note);
    Ok(())
}

/// Waits until the server is idle: less than 20 ms of processor time in 400 ms.
pub async fn quiet(server: &Server) -> io::Result<()> {
    for _ in 0..100 {
        let before = server.cpu()?;
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        if server.cpu()? - before < std::time::Duration::from_millis(20) {
            break;
        }
    }
    Ok(())
}
