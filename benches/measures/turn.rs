//! What the server adds to a turn: the same answer straight from the scripted provider, and through the server.

use std::io;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Bench, fast_model, titled_session};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, starter_home};

const TOKENS: usize = 50;

/// When things happened, from the sending of the request on.
#[derive(Default)]
pub struct Timing {
    pub first: Duration,
    /// The last word was said: `done`, or `[DONE]`.
    pub said: Duration,
    /// The stream has ended; the server has written the session's file.
    pub ended: Duration,
    pub tokens: usize,
}

/// Asks and waits for the end. `token` and `done` tell the events apart.
pub async fn ask(connection: &mut Connection, path: &str, body: &str, marks: Marks) -> io::Result<Timing> {
    let mut timing = Timing::default();
    let began = Instant::now();
    let seen = |event: &[u8], now: Instant| {
        if find(event, marks.token).is_some() {
            timing.tokens += 1;
            if timing.tokens == 1 {
                timing.first = now - began;
            }
        } else if find(event, marks.done).is_some() {
            timing.said = now - began;
        }
    };
    connection.stream(path, body, seen).await?;
    timing.ended = began.elapsed();
    if timing.said.is_zero() { Err(io::Error::other("the answer did not end well")) } else { Ok(timing) }
}

#[derive(Clone, Copy)]
pub struct Marks {
    token: &'static [u8],
    done: &'static [u8],
}

pub const OF_SERVER: Marks = Marks { token: b"event: token", done: b"event: done" };
pub const OF_MODEL: Marks = Marks { token: b"\"delta\":{\"content\":", done: b"data: [DONE]" };

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("One turn, against a model that answers at once");
    let model = fast_model(TOKENS).await?;
    let home = bench.folder("turn");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut through = server.connect().await?;
    let mut direct = Connection::open(model_address(&model.base_url)?).await?;
    let (mut raw, mut ours) = (Times::default(), Times::default());
    let mut id = String::new();
    let n = bench.times(300);
    for turn in 0..n + 5 {
        if turn % 10 == 0 {
            id = titled_session(&mut through).await?;
        }
        let body = json!({"message": "hi", "session_id": id}).to_string();
        let timing = ask(&mut through, "/api/chat", &body, OF_SERVER).await?;
        // The model's part is measured with the very request the server has just made.
        let request = model.requests().last().map(ToString::to_string).unwrap_or_default();
        let base = ask(&mut direct, "/v1/chat/completions", &request, OF_MODEL).await?;
        if timing.tokens != TOKENS || base.tokens != TOKENS {
            return Err(io::Error::other(format!("{} and {} tokens of {TOKENS}", timing.tokens, base.tokens)));
        }
        if turn >= 5 {
            ours.add(&timing);
            raw.add(&base);
        }
    }
    let beyond = ours.first.beyond(raw.first.p50());
    let note = format!("n = {n}; the model's own is {:.2} ms; ± {:.2}", raw.first.p50(), beyond.spread());
    report.figure("time to first token beyond the model's own, p50", beyond.p50(), "ms").at_most(3.0).note(note);
    report.figure("the same, p95", beyond.p95(), "ms").at_most(10.0);
    let said = ours.said.beyond(raw.said.p50());
    let note = format!("{TOKENS} tokens; the model's own is {:.2} ms", raw.said.p50());
    report.figure("time to the last word beyond the model's own, p50", said.p50(), "ms").note(note);
    report.figure("the same, p95", said.p95(), "ms");
    let ended = ours.ended.beyond(raw.ended.p50());
    report.figure("until the session's file is written, p50", ended.p50(), "ms").note("the stream ends after that");
    report.show();
    Ok(())
}

pub fn model_address(base: &url::Url) -> io::Result<std::net::SocketAddr> {
    base.socket_addrs(|| None)?.first().copied().ok_or_else(|| io::Error::other("the model has no address"))
}

#[derive(Default)]
pub struct Times {
    pub first: Samples,
    pub said: Samples,
    pub ended: Samples,
}

impl Times {
    pub fn add(&mut self, timing: &Timing) {
        self.first.push_ms(timing.first);
        self.said.push_ms(timing.said);
        self.ended.push_ms(timing.ended);
    }
}
