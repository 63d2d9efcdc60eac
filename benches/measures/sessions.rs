//! Long sessions and many sessions, over HTTP.

use std::io;
use std::time::Instant;

use serde_json::json;

use super::journal::LENGTHS;
use super::turn::{OF_SERVER, Times, ask};
use super::{Bench, fast_model};
use crate::kit::http::Connection;
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::seed;
use crate::kit::server::{Server, starter_home};

const MANY: usize = 1_000;
const VERY_MANY: usize = 10_000;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    long_sessions(bench, report).await?;
    many_sessions(bench, report).await
}

/// Pages of a long list of conversations, also right after one of them has changed.
pub async fn pages(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Pages of 20 of 10,000 conversations");
    let model = fast_model(1).await?;
    let home = bench.folder("pages");
    starter_home(&home, &model.base_url)?;
    for number in 0..VERY_MANY {
        seed::write(&home, &format!("s{number:05}"), &seed::session("4 messages", 4))?;
    }
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let path = "/api/conversations?limit=20";
    let (first, _) = get(&mut connection, path).await?;
    let (mut warm, mut changed) = (Samples::default(), Samples::default());
    let n = bench.times(200);
    for number in 0..n {
        warm.push(get(&mut connection, &format!("{path}&cursor=s{:05}", number * 40)).await?.0);
    }
    for number in 0..n {
        seed::write(&home, &format!("s{number:05}"), &seed::session("another title", 4))?;
        changed.push(get(&mut connection, path).await?.0);
    }
    report.figure("the first page, files read", first, "ms");
    let note = format!("n = {}, p95 {:.1}; all over the list", warm.len(), warm.p95());
    report.figure("a page, p50", warm.p50(), "ms").at_most(5.0).note(note);
    let note = format!("n = {}, p95 {:.1}", changed.len(), changed.p95());
    report.figure("a page after a file was written by another program, p50", changed.p50(), "ms").note(note);
    report.show();
    Ok(())
}

async fn long_sessions(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Turns by the length of the session (50 tokens, a model that answers at once, context of 128,000)");
    let model = fast_model(50).await?;
    let home = bench.folder("long");
    starter_home(&home, &model.base_url)?;
    for length in LENGTHS {
        seed::write(&home, &format!("length-{length}"), &seed::session(&format!("{length} messages"), length))?;
    }
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let n = bench.times(30);
    let mut reading = Vec::new();
    for length in LENGTHS {
        let path = format!("/api/sessions/length-{length}/history");
        let (cold, bytes) = get(&mut connection, &path).await?;
        let mut warm = Samples::default();
        for _ in 0..n {
            warm.push(get(&mut connection, &path).await?.0);
        }
        reading.push((length, cold, warm, bytes));
        let accepted = accepting(&mut connection, length, n).await?;
        let note = format!("n = {n}, p95 {:.1}; journal opened, fact synced", accepted.p95());
        report.figure(format!("{length} messages: question accepted (202), p50"), accepted.p50(), "ms").note(note);
        let body = json!({"message": "hi", "session_id": format!("length-{length}")}).to_string();
        let mut times = Times::default();
        let cpu = server.cpu()?;
        for _ in 0..n {
            times.add(&ask(&mut connection, "/api/chat", &body, OF_SERVER).await?);
        }
        let cpu = ms(server.cpu()? - cpu) / n as f64;
        let note = format!("n = {n}, p95 {:.1}", times.first.p95());
        report.figure(format!("{length} messages: first token, p50"), times.first.p50(), "ms").note(note);
        let note = format!("p95 {:.1}", times.said.p95());
        report.figure(format!("{length} messages: last word, p50"), times.said.p50(), "ms").note(note);
        let note = format!("p95 {:.1}; processor time of the server {cpu:.1} ms a turn", times.ended.p95());
        report.figure(format!("{length} messages: file written, p50"), times.ended.p50(), "ms").note(note);
    }
    report.show();
    report.section("Opening a session (GET history)");
    for (length, cold, warm, bytes) in reading {
        let note = format!("{:.0} KB; from disk, the first time, {cold:.1}", bytes as f64 / 1e3);
        report.figure(format!("{length} messages, p50"), warm.p50(), "ms").note(note);
    }
    let (resident, own) = server.memory()?;
    let note = format!("of it {own:.1} not file pages");
    report.figure("resident after all this", resident, "MB").note(note);
    report.show();
    Ok(())
}

async fn many_sessions(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Listing 1,000 sessions");
    let model = fast_model(1).await?;
    let home = bench.folder("many");
    starter_home(&home, &model.base_url)?;
    for number in 0..MANY {
        seed::write(&home, &format!("s{number:04}"), &seed::session("20 messages", 20))?;
    }
    let (server, started) = Server::time_to_health(&home).await?;
    let mut connection = server.connect().await?;
    let (first, bytes) = get(&mut connection, "/api/sessions").await?;
    let mut warm = Samples::default();
    for _ in 0..bench.times(100) {
        warm.push(get(&mut connection, "/api/sessions").await?.0);
    }
    report.figure("start to first 200 of /health", ms(started), "ms").at_most(100.0).note("n = 1");
    report.figure("the first list, files read", first, "ms").note(format!("{:.0} KB of answer", bytes as f64 / 1e3));
    report.figure("later lists, p50", warm.p50(), "ms").note(format!("n = {}, p95 {:.1}", warm.len(), warm.p95()));
    report.figure("resident after that", server.memory()?.0, "MB");
    report.show();
    Ok(())
}

/// Measures how long it takes to accept a question, that is, to store it durably and start its run.
async fn accepting(connection: &mut Connection, length: usize, n: usize) -> io::Result<Samples> {
    let path = format!("/api/sessions/length-{length}");
    let mut times = Samples::default();
    for _ in 0..n {
        let began = Instant::now();
        let said = connection.post(&format!("{path}/messages"), &json!({"message": "hi"})).await?;
        times.push_ms(began.elapsed());
        let after = said.json()?["after"].as_str().unwrap_or_default().to_owned();
        connection.get(&format!("{path}/events?after={after}&until=settled")).await?;
    }
    Ok(times)
}

/// Returns the milliseconds and bytes of one response.
async fn get(connection: &mut Connection, path: &str) -> io::Result<(f64, usize)> {
    let began = Instant::now();
    let answer = connection.get(path).await?;
    let took = ms(began.elapsed());
    answer.json()?;
    Ok((took, answer.body.len()))
}
