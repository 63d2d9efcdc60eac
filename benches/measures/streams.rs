//! Many concurrent answers, each at reading speed: the delay of their tokens.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::MockProvider;
use serde_json::{Value, json};
use tokio::time::{sleep, sleep_until};

use super::turn::model_address;
use super::{Bench, model, titled_session};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::server::{Server, starter_home};

const STREAMS: usize = 200;
const PER_SECOND: u32 = 50;
const SECONDS: u32 = 12;
/// Number of steps over which the starts of the streams are spread within one token's interval, like independent users.
const PHASES: usize = 20;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("200 streams at once, 50 tokens a second each");
    let seconds = if bench.quick { 2 } else { SECONDS };
    let baseline = straight(STREAMS, seconds).await?;
    let home = bench.folder("streams");
    let model = phased_model(seconds).await?;
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let mut questions = Vec::new();
    for stream in 0..STREAMS {
        let id = titled_session(&mut connection).await?;
        questions.push(Question::in_session(&id, stream));
    }
    let streams = Streams::of_server(server.address, questions);
    let before = server.cpu()?;
    let began = Instant::now();
    let lateness = streams.follow(&model, seconds).await?;
    let (cpu, deadline) = (server.cpu()? - before, began.elapsed());
    let (at_end, threads) = (server.memory()?.0, server.threads()?);
    let through = &lateness;
    let note = format!(
        "{} tokens; straight from the model {:.1} (p50 {:.1}), the same client",
        through.len(),
        baseline.p99(),
        baseline.p50()
    );
    report.figure("a token's delay beyond its schedule, p99", through.p99(), "ms").at_most(20.0).note(note);
    report.figure("the same, p50", through.p50(), "ms");
    report.figure("the same beyond the model's own, p99", through.p99() - baseline.p99(), "ms");
    let share = cpu.as_secs_f64() / deadline.as_secs_f64() * 100.0;
    let each = ms(cpu) * 1e3 / through.len() as f64;
    let note = format!("{each:.0} µs a token; client and model run on the same cores");
    report.figure("processor time of the server, of one core", share, "%").note(note);
    report.figure("resident right after", at_end, "MB").note(format!("200 sessions in memory; {threads} threads"));
    report.show();
    Ok(())
}

/// Measures as many streams without a server in between.
pub async fn straight(streams: usize, seconds: u32) -> io::Result<Samples> {
    let model = phased_model(seconds).await?;
    let ask = |stream| json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": phase(stream)}]});
    let questions = (0..streams).map(|stream| Question { body: ask(stream).to_string(), token: None }).collect();
    let address = model_address(&model.base_url)?;
    let mark = b"\"delta\":{\"content\":";
    Streams { address, path: "/v1/chat/completions", mark, questions }.follow(&model, seconds).await
}

/// Returns the question of a stream, which selects the gate at which the answer waits.
fn phase(stream: usize) -> String {
    format!("[phase {}]", stream % PHASES)
}

/// Starts a model whose answers say one word, wait at their phase's gate, and then keep to their schedule.
pub async fn phased_model(seconds: u32) -> io::Result<MockProvider> {
    let reply = |phase: usize| {
        let tokens = json!({"count": seconds * PER_SECOND, "per_second": PER_SECOND, "text": "word{n} "});
        let steps =
            json!([{"text": "So, "}, {"gate": format!("gate-{phase}")}, {"tokens": tokens}, {"finish": "stop"}]);
        json!({"match": format!("[phase {phase}]"), "repeat": true, "steps": steps})
    };
    model(Value::Array((0..PHASES).map(reply).collect())).await
}

/// What one stream asks.
pub struct Question {
    pub body: String,
    /// The token of a person who has signed in.
    pub token: Option<String>,
}

impl Question {
    /// Asks in this session; the stream's number selects its phase.
    pub fn in_session(id: &str, stream: usize) -> Self {
        Self { body: json!({"message": phase(stream), "session_id": id}).to_string(), token: None }
    }
}

pub struct Streams {
    address: SocketAddr,
    path: &'static str,
    /// What an event with a token contains.
    mark: &'static [u8],
    questions: Vec<Question>,
}

impl Streams {
    /// Returns streams of a server.
    pub fn of_server(address: SocketAddr, questions: Vec<Question>) -> Self {
        Self { address, path: "/api/chat", mark: b"event: token", questions }
    }

    /// Opens all streams, opens the gates, and returns each token's delay beyond its schedule in ms.
    pub async fn follow(self, model: &MockProvider, seconds: u32) -> io::Result<Samples> {
        let mut tasks = Vec::new();
        for Question { body, token } in self.questions {
            let mut connection = Connection::open(self.address).await?;
            if let Some(token) = token {
                connection = connection.signed_in(&token);
            }
            let (path, mark) = (self.path, self.mark);
            tasks.push(tokio::spawn(async move {
                let mut seen = Vec::new();
                let collect = |event: &[u8], now| {
                    if find(event, mark).is_some() {
                        seen.push(now);
                    }
                };
                connection.stream(path, &body, collect).await.map(|()| seen)
            }));
        }
        // By then every stream has received the first word and waits at its gate.
        sleep(Duration::from_secs(3)).await;
        let step = Duration::from_secs(1) / PER_SECOND / PHASES as u32;
        let began = Instant::now() + Duration::from_millis(50);
        let mut opened = Vec::new();
        for phase in 0..PHASES {
            sleep_until((began + step * phase as u32).into()).await;
            opened.push(Instant::now());
            model.open_gate(&format!("gate-{phase}"));
        }
        let mut lateness = Samples::default();
        for (stream, task) in tasks.into_iter().enumerate() {
            let seen = task.await.map_err(io::Error::other)??;
            let wanted = (seconds * PER_SECOND) as usize + 1;
            if seen.len() != wanted {
                return Err(io::Error::other(format!("a stream of {} tokens instead of {wanted}", seen.len())));
            }
            for (number, at) in seen[1..].iter().enumerate() {
                let due = opened[stream % PHASES] + Duration::from_secs(1) / PER_SECOND * number as u32;
                lateness.push(ms(at.saturating_duration_since(due)));
            }
        }
        Ok(lateness)
    }
}
