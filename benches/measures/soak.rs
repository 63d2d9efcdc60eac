//! Soak test: a thousand open streams and fifty agents at work, for minutes. Checks for lost events, memory growth and
//! the latency of `/health`. Runs only if it is named: `make soak MINUTES=10`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use super::{Bench, model};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::seed;
use crate::kit::server::{Server, starter_home};

const AGENTS: usize = 50;
const STREAMS: usize = 1_000;
/// Number of the streams that follow all sessions at once, as a tab does; the others follow one session each.
const TABS: usize = 20;
const TOKENS: usize = 200;
const PER_SECOND: u32 = 10;
/// Number of answers after which an agent compacts the older half of its conversation, as a person would; the compacted
/// part is on disk, not in memory. Each agent starts with a conversation as long as its point in this cycle requires, so
/// that conversations are as long at the end as at the start: between this many exchanges and twice as many.
const COMPRESSED_EVERY: usize = 10;
/// Maximum memory growth in the second half, in MB; half of the time is enough for a leak to show.
const GROWN: f64 = 3.0;
const HEALTH_EVERY: Duration = Duration::from_millis(100);
const MEMORY_EVERY: Duration = Duration::from_secs(1);

pub async fn measure(bench: &Bench, minutes: f64, report: &mut Report) -> io::Result<()> {
    report.section("1,000 open streams and 50 agents at work");
    let time = Duration::from_secs_f64(minutes * 60.0);
    // A round takes at least as long as its tokens.
    let rounds = (time.as_secs() as usize * PER_SECOND as usize).div_ceil(TOKENS) + 2;
    let home = bench.folder("soak");
    let model = model(replies(rounds)).await?;
    starter_home(&home, &model.base_url)?;
    let sessions: Vec<String> = (0..AGENTS).map(|agent| format!("agent-{agent}")).collect();
    let soul = fs::read_to_string(home.join("workspace/SOUL.md"))?;
    for (agent, id) in sessions.iter().enumerate() {
        seed::write(&home, id, &talked(agent, &soul))?;
    }
    let server = Server::start(&home)?;
    let at_start = server.memory()?.0;
    let soak = Arc::new(Soak::default());
    let mut streams = JoinSet::new();
    for stream in 0..STREAMS {
        let path = match stream.checked_sub(TABS) {
            None => "/api/events".to_owned(),
            Some(of) => format!("/api/sessions/{}/events", sessions[of % AGENTS]),
        };
        streams.spawn(follow(server.connect().await?, path, soak.clone()));
    }
    while soak.open.load(Ordering::Relaxed) < STREAMS as u64 {
        if let Some(ended) = streams.try_join_next() {
            ended.map_err(Error::other)??;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let opened = server.memory()?.0;
    let before = (server.cpu()?, Instant::now());
    let mut agents = JoinSet::new();
    for (agent, id) in sessions.into_iter().enumerate() {
        agents.spawn(work(server.connect().await?, Agent { agent, id, until: before.1 + time }));
    }
    let health = tokio::spawn(ask_health(server.connect().await?, soak.clone()));
    let mut memory = Samples::default();
    let (mut halfway, mut ticks) = ((f64::NAN, f64::NAN), interval(MEMORY_EVERY));
    while !agents.is_empty() {
        tokio::select! {
            Some(ended) = agents.join_next() => {
                let said = ended.map_err(Error::other)??;
                soak.rounds.fetch_add(said, Ordering::Relaxed);
            }
            _ = ticks.tick() => {
                memory.push(server.memory()?.0);
                if halfway.0.is_nan() && before.1.elapsed() > time / 2 {
                    halfway = server.memory()?;
                }
            }
        }
    }
    let share = (server.cpu()? - before.0).as_secs_f64() / before.1.elapsed().as_secs_f64() * 100.0;
    let at_end = server.memory()?;
    soak.over.store(true, Ordering::Relaxed);
    let health = health.await.map_err(Error::other)??;
    // Every stream must receive every round of the sessions it follows.
    let rounds = soak.rounds.load(Ordering::Relaxed);
    let per_session = (STREAMS - TABS) as u64 / AGENTS as u64;
    let wanted = rounds * (per_session + TABS as u64);
    let patience = Instant::now() + Duration::from_secs(60);
    while soak.whole.load(Ordering::Relaxed) < wanted && Instant::now() < patience {
        sleep(Duration::from_millis(50)).await;
    }
    let mut broken = 0;
    while let Some(ended) = streams.try_join_next() {
        broken += 1;
        eprintln!("a stream ended: {:?}", ended.map_err(Error::other)?.err());
    }
    let lost = wanted.saturating_sub(soak.whole.load(Ordering::Relaxed));
    let events = soak.events.load(Ordering::Relaxed);
    let note = format!("{rounds} answers of {TOKENS} tokens and a tool call, {events} events delivered");
    report.figure("answers that a stream did not see whole and in order", lost as f64, "").at_most(0.0).note(note);
    report.figure("streams that ended", broken as f64, "").at_most(0.0);
    let note = format!("n = {}, p50 {:.1}, longest {:.0}", health.len(), health.p50(), health.percentile(1.0));
    report.figure("/health meanwhile, p99", health.p99(), "ms").at_most(50.0).note(note);
    report.figure("resident at the start", at_start, "MB");
    report.figure("resident with all streams open", opened, "MB");
    report.figure("resident halfway", halfway.0, "MB").note(format!("of {minutes} minutes"));
    report.figure("resident at most", memory.percentile(1.0), "MB");
    report.figure("resident at the end", at_end.0, "MB");
    report.figure("grown in the second half, without file pages", at_end.1 - halfway.1, "MB").at_most(GROWN);
    report.figure("processor time of the server, of one core", share, "%");
    report.show();
    Ok(())
}

/// Counters shared by all streams.
#[derive(Default)]
struct Soak {
    open: AtomicU64,
    events: AtomicU64,
    /// Complete answers received, summed over all streams.
    whole: AtomicU64,
    rounds: AtomicU64,
    over: AtomicBool,
}

/// Returns the replies of the model: a tool call first for every question, then words at their rate.
fn replies(rounds: usize) -> Value {
    let look = json!([
        {"tool_call": {"id": "c", "name": "read_file", "arguments": {"path": "workspace/SOUL.md"}}},
        {"finish": "tool_calls"}
    ]);
    let question = |agent, round| json!({"match": question(agent, round), "steps": look});
    let calls = (0..rounds).flat_map(|round| (0..AGENTS).map(move |agent| (agent, round)));
    let mut replies: Vec<Value> = calls.map(|(agent, round)| question(agent, round)).collect();
    let summary = json!([{"text": "They counted."}, {"finish": "stop"}]);
    replies.push(json!({"match": "Summarise the conversation above", "repeat": true, "steps": summary}));
    let words = json!({"count": TOKENS, "per_second": PER_SECOND, "text": "{n} "});
    replies.push(json!({"repeat": true, "steps": [{"tokens": words}, {"finish": "stop"}]}));
    Value::Array(replies)
}

/// Returns the conversation with which an agent starts, as long as the agent's point in the compaction cycle requires.
fn talked(agent: usize, soul: &str) -> Value {
    let words: String = (0..TOKENS).map(|n| format!("{n} ")).collect();
    let call = json!({"tool": "read_file", "input": "workspace/SOUL.md", "output": soul, "id": "c",
        "arguments": {"path": "workspace/SOUL.md"}, "status": "done"});
    let exchange = |n: usize| {
        [
            json!({"role": "user", "content": format!("[agent {agent}, earlier {n}]"), "id": format!("m{n}")}),
            json!({"role": "assistant", "content": words, "tool_calls": [call]}),
        ]
    };
    let messages: Vec<Value> = (0..COMPRESSED_EVERY + agent % COMPRESSED_EVERY).flat_map(exchange).collect();
    seed::titled(&format!("Agent {agent}"), messages)
}

fn question(agent: usize, round: usize) -> String {
    format!("[agent {agent}, round {round}]")
}

struct Agent {
    agent: usize,
    id: String,
    until: Instant,
}

/// Asks one question after another until the time is over; returns how many.
async fn work(mut connection: Connection, Agent { agent, id, until }: Agent) -> io::Result<u64> {
    // Staggered, because independent people would not start at the same moment.
    sleep(Duration::from_millis(37) * agent as u32).await;
    let mut rounds = 0;
    while Instant::now() < until {
        let message = question(agent, rounds);
        let asked = json!({"message": message, "session_id": id, "stream": false});
        let answer = connection.post("/api/chat", &asked).await?.json()?;
        if answer["stop_reason"] != "done" {
            return Err(Error::other(format!("an answer that is none: {answer}")));
        }
        rounds += 1;
        if (agent + rounds).is_multiple_of(COMPRESSED_EVERY) {
            let done = connection.post(&format!("/api/sessions/{id}/compress"), &json!({})).await?;
            if done.status != 200 {
                return Err(Error::other(format!("a compression that is none: {}", done.json()?)));
            }
        }
    }
    Ok(rounds as u64)
}

async fn ask_health(mut connection: Connection, soak: Arc<Soak>) -> io::Result<Samples> {
    let (mut samples, mut ticks) = (Samples::default(), interval(HEALTH_EVERY));
    while !soak.over.load(Ordering::Relaxed) {
        ticks.tick().await;
        let began = Instant::now();
        connection.get("/health").await?.json()?;
        samples.push(ms(began.elapsed()));
    }
    Ok(samples)
}

/// Follows a stream until it ends, which is an error.
async fn follow(mut connection: Connection, path: String, soak: Arc<Soak>) -> io::Result<()> {
    let mut expected = HashMap::<String, usize>::new();
    let (mut last, mut fault) = (0, None);
    let opened = || {
        soak.open.fetch_add(1, Ordering::Relaxed);
    };
    let seen = |event: &[u8]| {
        soak.events.fetch_add(1, Ordering::Relaxed);
        if let Err(error) =
            check(event, &mut last, &mut expected).map(|whole| soak.whole.fetch_add(whole, Ordering::Relaxed))
        {
            fault.get_or_insert(error);
        }
    };
    connection.follow(&path, opened, seen).await?;
    Err(Error::other(fault.unwrap_or_else(|| "the server closed it".to_owned())))
}

/// Checks that ids increase and that the tokens of every answer count up from 0. Returns 1 at the end of a complete
/// answer, else 0.
fn check(event: &[u8], last: &mut u64, expected: &mut HashMap<String, usize>) -> Result<u64, String> {
    let text = std::str::from_utf8(event).map_err(|error| error.to_string())?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    if let Some(id) = field("id: ") {
        let number = id.rsplit('.').next().and_then(|number| number.parse().ok()).ok_or("an id without a number")?;
        if number <= *last {
            return Err(format!("{number} after {last}"));
        }
        *last = number;
    }
    let of_answer = find(event, b"\"token\"").is_some() || find(event, b"\"done\"").is_some();
    let Some(data) = field("data: ").filter(|_| of_answer) else { return Ok(0) };
    let data: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let (session, frame) = match data["session_id"].as_str().filter(|_| data["frame"].is_object()) {
        Some(session) => (session, &data["frame"]),
        None => ("", &data),
    };
    let next = expected.entry(session.to_owned()).or_default();
    match frame["type"].as_str() {
        Some("token") => {
            for number in frame["content"].as_str().unwrap_or_default().split_whitespace() {
                if number.parse() != Ok(*next) {
                    return Err(format!("{number} instead of {next}"));
                }
                *next += 1;
            }
            Ok(0)
        }
        Some("done") => match std::mem::take(next) {
            TOKENS => Ok(1),
            count => Err(format!("an answer of {count} tokens")),
        },
        _ => Ok(0),
    }
}
