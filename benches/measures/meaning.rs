//! Search with the default embedding model: the cost of a question and of indexing, and memory use.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use miniclaw::config::LocalModel;
use miniclaw::config::{self, Environment};

use super::knowledge::quiet;
use super::search::{CHUNKS, resting, without_memory};
use super::{Bench, fast_model};
use crate::kit::asking::{Asked, Embedded, settled};
use crate::kit::numbers::ms;
use crate::kit::report::Report;
use crate::kit::server::{Server, configure_more, starter_home};
use crate::kit::texts::fill;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Search in memory, with the default embedding model");
    let models = models()?;
    match LocalModel::default().missing(&models) {
        None => with_model(bench, report, &models).await?,
        Some(file) => {
            println!("  {} is missing: `make embedder` gets it. Nothing of this section is measured.", file.display());
            let command = LocalModel::default().command();
            report.figure("everything here", f64::NAN, "").note(format!("the weights are missing: `{command}`"));
        }
    }
    report.show();
    Ok(())
}

/// Returns the folder from which the server loads models.
fn models() -> io::Result<PathBuf> {
    let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).map_err(io::Error::other)?;
    Ok(config::models_dir(&environment))
}

async fn with_model(bench: &Bench, report: &mut Report, models: &Path) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("meaning");
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, "embedding: {provider: local}\n")?;
    fill(&home.join("memory"), bench.times(CHUNKS))?;
    let server = Server::start_with_models(&home, models)?;
    let mut connection = server.connect().await?;
    let began = Instant::now();
    let chunks = settled(&mut connection, "memory", Embedded::Yes).await?;
    let (deadline, cpu) = (ms(began.elapsed()) / 1e3, server.cpu()?.as_secs_f64());
    quiet(&server).await?;
    let asked = Asked::ask(&mut connection, "memory", bench.times(300)).await?;
    let note = format!("{deadline:.1} s until the last vector was there; with starting and loading the model");
    report.figure(format!("{chunks} chunks indexed and embedded, processor time"), cpu, "s").at_most(60.0).note(note);
    report
        .figure("the vector of a question, p50", asked.embedding.p50(), "ms")
        .note(format!("n = {}", asked.whole.len()));
    report.figure("the same, p95", asked.embedding.p95(), "ms").at_most(15.0);
    report.figure("the whole answer, p50", asked.whole.p50(), "ms").note(asked.parts());
    report.figure("the same, p95", asked.whole.p95(), "ms").at_most(30.0);
    let (after, before) = (resting(&server).await?, without_memory(bench).await?);
    let note = format!("{after:.1} MB after these questions, {before:.1} of a server with nothing in memory/");
    report.figure("resident for retrieval with the model", after - before, "MB").at_most(150.0).note(note);
    Ok(())
}
