//! What people notice when a server of a cluster is lost or stopped: how long it takes until another one goes on.

use std::fs;
use std::io::{self, Error};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::MockProvider;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::cluster::{PATIENCE, Place, opened};
use super::{Bench, model, titled_session};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::Samples;
use crate::kit::postgres::Postgres;
use crate::kit::report::Report;

/// Runs of a server that is stopped.
const RUNS: usize = 100;
/// Exchanges of each with the model, of about a second.
const EXCHANGES: usize = 20;

/// How the owner of a home is lost.
#[derive(Clone, Copy)]
enum Loss {
    Killed,
    Frozen,
    /// Nothing passes between it and the database, and its clients still reach it.
    CutOff,
}

pub(super) async fn measure(
    bench: &Bench,
    (postgres, place): (&Postgres, &Place),
    report: &mut Report,
) -> io::Result<()> {
    for (loss, name, target) in [
        (Loss::Killed, "kill -9", 5_000.0),
        (Loss::Frozen, "freeze", 14_000.0),
        (Loss::CutOff, "cut from the database", 14_000.0),
    ] {
        let (mut times, n) = (Samples::default(), bench.times(10).max(2));
        for _ in 0..n {
            times.push_ms(takeover((postgres, place), loss).await?);
        }
        let note = format!("n = {n}; p50 {:.0}", times.p50());
        report.figure(format!("{name} until the run goes on, p95"), times.p95(), "ms").at_most(target).note(note);
    }
    stop(place, report).await
}

/// From the loss of the owner until another server asks the model to go on.
async fn takeover((postgres, place): (&Postgres, &Place), loss: Loss) -> io::Result<Duration> {
    let tokens = json!({"count": 100_000, "per_second": 50, "text": "word{n} "});
    let endless: MockProvider =
        model(json!([{"repeat": true, "steps": [{"tokens": tokens}, {"finish": "stop"}]}])).await?;
    let (mut one, other) = (place.home("first", &endless.base_url)?, place.home("second", &endless.base_url)?);
    let (relay, address) = postgres.relayed().await?;
    one.url = address;
    let (owner, other) = (one.start()?, other.start()?);
    let mut connection = owner.connect().await?;
    opened(&mut connection).await?;
    opened(&mut other.connect().await?).await?;
    let id = titled_session(&mut connection).await?;
    let path = format!("/api/sessions/{id}/messages");
    connection.post(&path, &json!({"message": "Go on for ever."})).await?.json()?;
    asked_more_than(&endless, 0).await?;
    // By then, the run is in the middle of its answer.
    sleep(Duration::from_millis(500)).await;
    let before = endless.requests().len();
    let lost = Instant::now();
    let owner = match loss {
        Loss::Killed => {
            owner.kill()?;
            None
        }
        Loss::Frozen => {
            owner.freeze();
            Some(owner)
        }
        Loss::CutOff => {
            relay.cut();
            Some(owner)
        }
    };
    asked_more_than(&endless, before).await?;
    let took = lost.elapsed();
    if let Some(owner) = owner {
        owner.kill()?;
    }
    // The next round must not find this run: it would go on again.
    let mut connection = other.connect().await?;
    opened(&mut connection).await?;
    connection.post(&format!("/api/sessions/{id}/interrupt"), &json!({})).await?;
    Ok(took)
}

async fn asked_more_than(model: &MockProvider, times: usize) -> io::Result<()> {
    let began = Instant::now();
    while model.requests().len() <= times {
        if began.elapsed() > PATIENCE {
            return Err(Error::other("nobody goes on with the run"));
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Stops a server with many runs, and follows each of them over the server that goes on.
async fn stop(place: &Place, report: &mut Report) -> io::Result<()> {
    let model = model(exchanges()).await?;
    let (one, other) = (place.home("first", &model.base_url)?, place.home("second", &model.base_url)?);
    let (owner, other) = (one.start()?, other.start()?);
    let mut connection = owner.connect().await?;
    opened(&mut connection).await?;
    opened(&mut other.connect().await?).await?;
    let read = one.path.join("knowledge/read");
    fs::create_dir_all(&read)?;
    for exchange in 0..EXCHANGES {
        fs::write(read.join(format!("{exchange}.md")), format!("Note {exchange}.\n"))?;
    }
    let mut followed = Vec::new();
    for run in 0..RUNS {
        let id = titled_session(&mut connection).await?;
        let message = json!({"message": format!("[run {run}]")});
        connection.post(&format!("/api/sessions/{id}/messages"), &message).await?.json()?;
        followed.push(tokio::spawn(follow(other.address, id)));
    }
    sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    spawn_blocking(|| owner.terminate()).await.map_err(Error::other)??;
    let took = began.elapsed();
    let (mut silences, mut failed) = (Samples::default(), 0);
    for run in followed {
        let Run { silence, is_done } = run.await.map_err(Error::other)??;
        silences.push_ms(silence);
        failed += usize::from(!is_done);
    }
    let note = format!(
        "of {RUNS} runs, each with an answer of a second at a time; the server ended after {:.1} s",
        took.as_secs_f64()
    );
    report.figure("works that fail when a server is stopped", failed as f64, "").at_most(0.0).note(note);
    let note = format!("p50 {:.0}", silences.p50());
    report.figure("longest silence of a run meanwhile", silences.percentile(1.0), "ms").at_most(3_000.0).note(note);
    Ok(())
}

/// Answers of a second that each call a tool, and a last one.
fn exchanges() -> Value {
    let text = json!({"tokens": {"count": 20, "per_second": 20, "text": "word{n} "}});
    let mut replies = Vec::new();
    for (run, exchange) in (0..RUNS).flat_map(|run| (1..EXCHANGES).map(move |exchange| (run, exchange))) {
        let path = format!("knowledge/read/{exchange}.md");
        let call = json!({"tool_call": {"id": format!("c{run}-{exchange}"), "name": "read_file", "arguments": {"path": path}}});
        replies.push(json!({"match": format!("[run {run}]"), "steps": [text, call, {"finish": "tool_calls"}]}));
    }
    replies.push(json!({"repeat": true, "steps": [text, {"finish": "stop"}]}));
    Value::Array(replies)
}

struct Run {
    /// The longest time between two of its tokens.
    silence: Duration,
    is_done: bool,
}

/// Follows a session until its work ends, as the page does: also when the stream is refused or cut off.
async fn follow(server: SocketAddr, session: String) -> io::Result<Run> {
    let (mut silence, mut last, mut after) = (Duration::ZERO, None::<Instant>, String::new());
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let mut connection = Connection::open(server).await?;
        let path = format!("/api/sessions/{session}/events?until=settled&after={after}");
        let mut has_gap = false;
        let seen = |event: &[u8]| {
            let event = String::from_utf8_lossy(event);
            has_gap |= event.contains("event: gap");
            if let Some(id) = event.lines().find_map(|line| line.strip_prefix("id:")) {
                after = id.trim().to_owned();
            }
            if find(event.as_bytes(), b"event: token").is_some() {
                silence = silence.max(last.map_or(Duration::ZERO, |last| last.elapsed()));
                last = Some(Instant::now());
            }
        };
        // Refused while the home moves, and cut off when it does.
        let _ = connection.follow(&path, || {}, seen).await;
        let history = Connection::open(server).await?.get(&format!("/api/sessions/{session}/history")).await?;
        if history.status == 200 {
            let history = history.json()?;
            if history["running"].is_null() {
                let is_done = is_complete(&history);
                return Ok(Run { silence, is_done });
            }
            if has_gap {
                after = history["last_event_id"].as_str().unwrap_or_default().to_owned();
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err(Error::other("the run does not end"))
}

/// Whether no work failed, and every call was made and not cut off.
fn is_complete(history: &Value) -> bool {
    let calls =
        history["messages"].as_array().into_iter().flatten().filter_map(|message| message["tool_calls"].as_array());
    let done = calls.flatten().filter(|call| call["status"] == "done").count();
    history["failures"].as_array().is_none_or(Vec::is_empty) && done == EXCHANGES - 1
}
