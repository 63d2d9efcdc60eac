//! `miniclaw verify` on a home with many sessions that the server has written.

use std::io;
use std::time::Instant;

use serde_json::json;

use super::{Bench, fast_model};
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::seed;
use crate::kit::server::{Server, program, starter_home};

const SESSIONS: usize = 1_000;
/// Number of messages of a session before the question that makes the server write it.
const MESSAGES: usize = 20;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Verify");
    let model = fast_model(50).await?;
    let home = bench.folder("verify");
    starter_home(&home, &model.base_url)?;
    let count = bench.times(SESSIONS);
    for number in 0..count {
        seed::write(&home, &format!("s{number:04}"), &seed::session("20 messages", MESSAGES))?;
    }
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    for number in 0..count {
        let ask = json!({"message": "hi", "session_id": format!("s{number:04}")}).to_string();
        connection.stream("/api/chat", &ask, |_, _| {}).await?;
    }
    drop(server);
    let mut times = Samples::default();
    for _ in 0..bench.times(10) {
        let began = Instant::now();
        let output = program().args(["verify", "--json", "--home"]).arg(&home).output()?;
        times.push(ms(began.elapsed()));
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
    }
    let note =
        format!("n = {}, p95 {:.0}; {MESSAGES} messages, one question and its request each", times.len(), times.p95());
    report.figure(format!("verify of {count} sessions, p50"), times.p50(), "ms").at_most(2_000.0).note(note);
    report.show();
    Ok(())
}
