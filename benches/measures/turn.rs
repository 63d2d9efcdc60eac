//! The overhead of the server in a turn: the same answer directly from the scripted provider, and through the server.

use std::io;
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::MockProvider;
use serde_json::json;

use super::{Bench, model, titled_session};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, starter_home};

const TOKENS: usize = 50;
const ONE_WORD: &str = "Say one word.";

/// Times of the events, measured from sending the request.
#[derive(Default)]
pub struct Timing {
    pub first: Duration,
    /// The answer is complete: `done`, or `[DONE]`.
    pub said: Duration,
    /// The stream has ended; the server has written the session file.
    pub ended: Duration,
    pub tokens: usize,
}

/// Sends the request and waits for the end of the stream. `marks` identify the events.
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
    let model = one_or_many().await?;
    let home = bench.folder("turn");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut through = server.connect().await?;
    let mut direct = Connection::open(model_address(&model.base_url)?).await?;
    let n = bench.times(300);
    let mut pairs = [Pair::default(), Pair::default()];
    let mut id = String::new();
    for turn in 0..n + 5 {
        if turn % 10 == 0 {
            id = titled_session(&mut through).await?;
        }
        for (question, pair) in [ONE_WORD, "hi"].into_iter().zip(&mut pairs) {
            let body = json!({"message": question, "session_id": id}).to_string();
            let ours = ask(&mut through, "/api/chat", &body, OF_SERVER).await?;
            // The model alone is measured with a request that the server has sent; reading it copies all requests,
            // so only once.
            if turn == 0 {
                pair.request = model.requests().last().map(ToString::to_string).unwrap_or_default();
            }
            let base = ask(&mut direct, "/v1/chat/completions", &pair.request, OF_MODEL).await?;
            if ours.tokens != base.tokens {
                return Err(io::Error::other(format!("{} tokens of {}", ours.tokens, base.tokens)));
            }
            if turn >= 5 {
                pair.ours.add(&ours);
                pair.base.add(&base);
            }
        }
    }
    let [one, many] = pairs;
    let first = one.ours.first.beyond(one.base.first.p50());
    let note = format!("n = {n}; the model's own is {:.2} ms; ± {:.2}", one.base.first.p50(), first.spread());
    report.figure("time to first token beyond the model's own, p50", first.p50(), "ms").at_most(3.0).note(note);
    report.figure("the same, p95", first.p95(), "ms").at_most(10.0);
    let said = many.ours.said.beyond(many.base.said.p50());
    let note = format!("{TOKENS} tokens; the model's own is {:.2} ms", many.base.said.p50());
    report.figure("time to the last word beyond the model's own, p50", said.p50(), "ms").note(note);
    report.figure("the same, p95", said.p95(), "ms");
    let ended = many.ours.ended.beyond(many.base.ended.p50());
    report.figure("until the session's file is written, p50", ended.p50(), "ms").note("the stream ends after that");
    report.show();
    Ok(())
}

/// Starts a model that answers [`ONE_WORD`] with one token and everything else with [`TOKENS`]. Many tokens at full speed
/// leave the model in one piece, which hides when the first was ready.
async fn one_or_many() -> io::Result<MockProvider> {
    let steps = |count: usize| json!([{"tokens": {"count": count, "text": "word{n} "}}, {"finish": "stop"}]);
    let one = json!({"match": ONE_WORD, "repeat": true, "steps": steps(1)});
    model(json!([one, {"repeat": true, "steps": steps(TOKENS)}])).await
}

#[derive(Default)]
struct Pair {
    request: String,
    ours: Times,
    base: Times,
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
