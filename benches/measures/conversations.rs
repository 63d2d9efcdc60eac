//! Search in past conversations by words: a question over 10,000 messages, with reading what it found.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Bench, fast_model};
use crate::kit::asking::{Asked, search};
use crate::kit::http::Connection;
use crate::kit::numbers::ms;
use crate::kit::report::Report;
use crate::kit::seed::{titled, write};
use crate::kit::server::{Server, configure_more, starter_home};
use crate::kit::texts::{Language, Rng};

const SESSIONS: usize = 1_000;
const MESSAGES: usize = 10;
/// Sentences of a message.
const SENTENCES: usize = 3;
/// Timeout for building the index.
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Search in conversations, by words");
    let model = fast_model(1).await?;
    let home = bench.folder("conversations");
    starter_home(&home, &model.base_url)?;
    configure_more(&home, &model.base_url, "embedding: {provider: none}\n")?;
    let (sessions, mut rng) = (bench.times(SESSIONS), Rng::new(5));
    for number in 0..sessions {
        let messages = (0..MESSAGES).map(|at| message(at, &mut rng)).collect();
        write(&home, &format!("s{number}"), &titled(&format!("Conversation {number}"), messages))?;
    }
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let began = Instant::now();
    let chunks = indexed(&mut connection).await?;
    let built = ms(began.elapsed()) / 1e3;
    let asked = Asked::ask(&mut connection, "conversations", bench.times(500)).await?;
    let name = format!("{} messages in {sessions} conversations: a question, p50", sessions * MESSAGES);
    let note = format!("over HTTP, with reading what was found again; {chunks} chunks; {}", asked.parts());
    report.figure(name, asked.whole.p50(), "ms").note(note);
    report.figure("the same, p95", asked.whole.p95(), "ms").at_most(20.0);
    report.figure("indexed for the first time", built, "s");
    let (all, own) = server.memory()?;
    report.figure("resident after these questions", all, "MB").note(format!("of it {own:.1} MB not file pages"));
    report.show();
    Ok(())
}

fn message(at: usize, rng: &mut Rng) -> Value {
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    let text: Vec<String> = (0..SENTENCES).map(|_| rng.sentence(Language::English)).collect();
    json!({"role": role, "content": text.join(" "), "id": format!("m{at}"), "created_at": 1.7e9 + at as f64})
}

/// Searches once and waits until all conversations are indexed. Returns the number of chunks.
async fn indexed(connection: &mut Connection) -> io::Result<u64> {
    search(connection, "conversations", "anything").await?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let status = connection.get("/api/retrieval/status").await?.json()?["conversations"].take();
        if status["state"] == "ready" && status["chunks"] != 0 {
            return Ok(status["chunks"].as_u64().unwrap_or_default());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(io::Error::other(format!("the conversations are not indexed after {} s", PATIENCE.as_secs())))
}
