//! Search in memory/ by words: a question, a question after an edit, and memory use.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{Bench, fast_model};
use crate::kit::asking::{Asked, Embedded, search, settled};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, configure_more, starter_home};
use crate::kit::texts::{Language, Rng, fill, rare_word};

pub const CHUNKS: usize = 1_000;
const WORDS_ONLY: &str = "embedding: {provider: none}\n";

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Search in memory, by words");
    questions(bench, report).await?;
    for (name, language) in [("English", Language::English), ("Chinese", Language::Chinese)] {
        edits(bench, report, (name, language)).await?;
    }
    report.show();
    Ok(())
}

async fn questions(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("search");
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, WORDS_ONLY)?;
    fill(&home.join("memory"), CHUNKS)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    connection.get("/health").await?.json()?;
    let mut alone = Samples::default();
    for _ in 0..bench.times(300) {
        let began = Instant::now();
        connection.get("/health").await?.json()?;
        alone.push_ms(began.elapsed());
    }
    let chunks = settled(&mut connection, "memory", Embedded::No).await?;
    let asked = Asked::ask(&mut connection, "memory", bench.times(500)).await?;
    let name = format!("look for changed files and answer by words, {chunks} chunks, p50");
    report.figure(name, asked.inside.p50(), "ms").note(asked.parts());
    report.figure("the same, p95", asked.inside.p95(), "ms").at_most(1.0);
    let note = format!("p95 {:.2}; /health alone takes {:.2}", asked.whole.p95(), alone.p50());
    report.figure("the same as a client sees it, over HTTP, p50", asked.whole.p50(), "ms").note(note);
    let (after, before) = (resting(&server).await?, without_memory(bench).await?);
    let note = format!("{after:.1} MB after these questions, {before:.1} of a server with nothing in memory/");
    report.figure("resident for retrieval without a model", after - before, "MB").at_most(15.0).note(note);
    Ok(())
}

/// Measures the resident memory in MB of a server with an empty memory/.
pub async fn without_memory(bench: &Bench) -> io::Result<f64> {
    let model = fast_model(1).await?;
    let home = bench.folder("nothing");
    fs::create_dir_all(home.join("memory"))?;
    configure_more(&home, &model.base_url, WORDS_ONLY)?;
    let server = Server::start(&home)?;
    server.connect().await?.get("/health").await?.json()?;
    for entry in fs::read_dir(home.join("memory"))? {
        fs::remove_file(entry?.path())?;
    }
    drop(server);
    let server = Server::start(&home)?;
    server.connect().await?.get("/health").await?.json()?;
    let resident = resting(&server).await?;
    drop(server);
    fs::remove_dir_all(&home)?;
    Ok(resident)
}

/// Measures the resident memory in MB of an idle server.
pub async fn resting(server: &Server) -> io::Result<f64> {
    sleep(Duration::from_millis(1_500)).await;
    Ok(server.memory()?.0)
}

/// Measures how long it takes until a search finds a line that was just changed in a memory of 100 KB.
async fn edits(bench: &Bench, report: &mut Report, (name, language): (&str, Language)) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder(&format!("edits-{name}"));
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, WORDS_ONLY)?;
    let path = home.join("memory/MEMORY.md");
    let mut lines = memory(language);
    fs::write(&path, lines.join("\n"))?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let chunks = settled(&mut connection, "memory", Embedded::No).await?;
    let (mut times, mut refresh) = (Samples::default(), Samples::default());
    let mut rng = Rng::new(2);
    for number in 0..bench.times(200) {
        let fact = fact(language, number);
        let line = (rng.next() % lines.len() as u64) as usize;
        lines[line] = format!("- {}", fact.1);
        let (took, searched) = edit_and_ask(&mut connection, (&path, &lines), &fact).await?;
        times.push_ms(took);
        refresh.push(searched);
        // The file watcher of the server reads the file too; wait for it before the next edit.
        sleep(Duration::from_millis(30)).await;
    }
    let kilobytes = fs::metadata(&path)?.len() / 1000;
    let note = format!(
        "n = {}, {kilobytes} KB, {chunks} chunks; {:.1} of it reading and indexing the file, p50",
        times.len(),
        refresh.p50()
    );
    let figure = format!("a line of MEMORY.md edited, until its answer is right, {name}, p50");
    report.figure(figure, times.p50(), "ms").note(note);
    report.figure("the same, p95", times.p95(), "ms").at_most(30.0);
    Ok(())
}

async fn edit_and_ask(
    connection: &mut crate::kit::http::Connection,
    (path, lines): (&Path, &[String]),
    (question, fact): &(String, String),
) -> io::Result<(Duration, f64)> {
    fs::write(path, lines.join("\n"))?;
    let (answer, took) = search(connection, "memory", question).await?;
    let right = answer["hits"][0]["text"].as_str().is_some_and(|text| text.contains(fact.as_str()));
    if !right {
        return Err(io::Error::other(format!("{question:?} was answered with {}", answer["hits"][0])));
    }
    Ok((took, answer["took_us"]["refresh"].as_f64().unwrap_or_default() / 1e3))
}

/// Returns the lines of a list under headings, 100 KB in total.
fn memory(language: Language) -> Vec<String> {
    let mut rng = Rng::new(3);
    let mut lines = vec!["# Memory".to_owned()];
    let mut bytes = 0;
    while bytes < 100_000 {
        let line = match lines.len() % 12 {
            1 => format!("\n## {}\n", rng.sentence(language)),
            _ => format!("- {}", rng.sentence(language)),
        };
        bytes += line.len() + 1;
        lines.push(line);
    }
    lines
}

/// Returns a question and its answer, with a name that no other fact has.
fn fact(language: Language, number: usize) -> (String, String) {
    match language {
        Language::English => {
            let name = rare_word(number);
            (format!("On which shelf does {name} keep the atlas?"), format!("{name} keeps it by the window."))
        }
        Language::Chinese => {
            // Characters that the other lines do not contain.
            let name: String = (0..3).filter_map(|at| char::from_u32(0x6000 + (3 * number + at) as u32)).collect();
            (format!("{name}的地图册放在哪个书架上？"), format!("{name}的放在窗边。"))
        }
    }
}
