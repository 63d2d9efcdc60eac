//! `kill -9` at any moment: acknowledged data is kept, every file is complete, every work ends exactly once.

use std::collections::HashSet;

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::interrupt::{a_long_time, is_running};
use crate::script::{call, calls, says, script, steps};
use crate::world::{Server, World, eventually};

/// Deterministic pseudo-random numbers (linear congruential generator).
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Data that clients received before the server died, and that must be there afterwards.
#[derive(Default)]
pub struct AcknowledgedState {
    pub messages: Vec<String>,
    /// Work, call id and output of every call whose end was reported.
    pub ended: Vec<(String, String, String)>,
    /// Work and text of every `done`.
    pub done: Vec<(String, String)>,
}

/// Returns a script of `count` works with two answers each, the first with tool calls.
pub fn works(count: u64) -> Script {
    let works = (0..count).flat_map(|_| {
        let tools = steps([
            json!({"thinking": "Let me see. "}),
            json!({"tokens": {"count": 12, "per_second": 3000.0}}),
            // The same ids every time, as from a careless provider.
            call("c1", "read_file", json!({"path": "workspace/SOUL.md", "limit": 3})),
            call("c2", "search_knowledge_base", json!({"query": "企鹅"})),
            call("c3", "terminal", json!({"command": "echo from the terminal"})),
            json!({"finish": "tool_calls"}),
        ]);
        let text = steps([json!({"tokens": {"count": 12, "per_second": 3000.0}}), json!({"finish": "stop"})]);
        [tools, text]
    });
    script(works)
}

#[tokio::test]
async fn kill_loses_nothing_acknowledged() {
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(32);
    let world = World::new(works(2 * kills)).await.with_file("knowledge/a.md", "企鹅不会飞。\n");
    let mut rng = Rng(20_261_121);
    let mut acknowledged = AcknowledgedState::default();
    for round in 0..kills {
        let server = world.serve().await;
        check(&world, &acknowledged);
        let message = format!("message {round}.");
        let said = server.post("/api/sessions/s/messages", json!({"message": message})).await.ok();
        acknowledged.messages.push(message);
        watch(&server, &said, rng.below(50), &mut acknowledged).await;
        // Dropping the server kills it.
        drop(server);
    }
    let server = world.serve().await;
    check(&world, &acknowledged);
    assert!(
        acknowledged.ended.len() >= 10 && acknowledged.done.len() >= 3,
        "the kills came too early to mean anything"
    );
    server.chat("s", "the last one").await;
    server.settled("s").await;
}

/// Reads up to `frames` frames of a started work and records what they report.
pub async fn watch(server: &Server<'_>, said: &Value, frames: u64, acknowledged: &mut AcknowledgedState) {
    let work = said["work_id"].as_str().unwrap().to_owned();
    let after = said["after"].as_str().unwrap();
    let mut stream = server.follow(&format!("/api/sessions/s/events?until=settled&after={after}")).await;
    for _ in 0..frames {
        let Some(frame) = stream.next().await else { return };
        let text = |name: &str| frame.data[name].as_str().unwrap_or_default().to_owned();
        match frame.event.as_str() {
            "tool_end" => acknowledged.ended.push((work.clone(), text("id"), text("output"))),
            "done" => acknowledged.done.push((work.clone(), text("content"))),
            _ => {}
        }
    }
}

pub fn check(world: &World, acknowledged: &AcknowledgedState) {
    if acknowledged.messages.is_empty() {
        return;
    }
    assert!(!world.path("sessions/s.journal").exists(), "the start settles what a crash left");
    let session = world.session("s");
    let messages = session["messages"].as_array().unwrap();
    let asked: Vec<_> = messages.iter().filter(|m| m["role"] == "user").map(|m| m["content"].clone()).collect();
    assert_eq!(asked, acknowledged.messages, "every acknowledged message, once, in order");
    let works = session["works"].as_array().unwrap();
    assert_eq!(works.len(), acknowledged.messages.len());
    for work in works {
        assert!(work["finished_at"].is_number() && work["outcome"]["stop_reason"].is_string(), "no end: {work}");
    }
    let calls = |message: &Value| message["tool_calls"].as_array().cloned().unwrap_or_default();
    for message in messages {
        let ids: HashSet<_> = calls(message).iter().map(|call| call["id"].to_string()).collect();
        assert_eq!(ids.len(), calls(message).len(), "{message}");
        for call in calls(message) {
            assert_ne!(call["status"], "running");
            assert!(!call["output"].as_str().unwrap().is_empty(), "{call}");
        }
    }
    for (work, id, output) in &acknowledged.ended {
        let mut of_work = messages.iter().filter(|m| m["work_id"] == work.as_str()).flat_map(calls);
        assert!(of_work.any(|call| call["id"] == id.as_str() && call["output"] == output.as_str()), "{work} {id}");
    }
    for (work, content) in &acknowledged.done {
        let texts = messages.iter().filter(|m| m["work_id"] == work.as_str() && m["role"] == "assistant");
        let texts: Vec<&str> = texts.map(|m| m["content"].as_str().unwrap()).filter(|text| !text.is_empty()).collect();
        assert_eq!(&texts.join("\n\n"), content);
        let end = works.iter().find(|w| w["work_id"] == work.as_str()).unwrap();
        assert_eq!(end["outcome"]["stop_reason"], "done");
    }
}

#[tokio::test]
async fn kill_during_tool_reports_unknown_outcome() {
    let long = a_long_time(4722);
    let slow = call("c1", "terminal", json!({"command": format!("echo begun; sleep {long}")}));
    let world = World::new(script([calls([slow]), says(["Next."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "wait").await;
    stream.until("tool_start").await;
    eventually("the tool runs", async || is_running(&long)).await;
    drop(server);
    eventually("the tool ends with its server", async || !is_running(&long)).await;
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["running"], Value::Null);
    let call = &history["messages"][1]["tool_calls"][0];
    assert_eq!(call["status"], "interrupted");
    assert!(call["output"].as_str().unwrap().contains("outcome is unknown"), "{call}");
    assert_eq!(history["messages"][1]["stop_reason"], "interrupted");
    assert_eq!(history["messages"][1]["stopped_by"], "server");
    server.chat("s", "and now?").await;
    assert_eq!(world.asked().len(), 2, "the tool was not run again by itself");
}

#[tokio::test]
async fn text_older_than_a_second_survives_kill() {
    let text: Vec<Value> = (0..60).map(|n| json!({"text": format!("{n} {}\n", "x".repeat(100))})).collect();
    let reply = steps(text.into_iter().chain([json!({"gate": "never"})]));
    let world = World::new(script([reply])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    let mut seen = String::new();
    while !seen.contains("\n59 ") {
        let frame = stream.next().await.unwrap();
        if frame.is("token") {
            seen.push_str(frame.data["content"].as_str().unwrap());
        }
    }
    drop(server);
    let _server = world.serve().await;
    let kept = world.session("s")["messages"][1]["content"].as_str().unwrap().to_owned();
    // Text is journaled every 4 KiB.
    assert!(seen.starts_with(&kept) && kept.len() >= 4096, "{} of {} bytes", kept.len(), seen.len());
}
