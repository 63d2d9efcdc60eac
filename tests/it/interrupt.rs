//! Stopping a work at any moment: it ends exactly once, the text so far is kept, and the next message works.

use serde_json::json;

use crate::http::Frame;
use crate::script::{call, calls, says, script, steps};
use crate::world::{Server, World, eventually};

/// Stops the session's work and returns the remaining frames.
async fn stop(server: &Server<'_>, stream: crate::http::Incoming) -> Vec<Frame> {
    assert_eq!(server.post("/api/sessions/s/interrupt", json!({})).await.ok(), json!({"interrupted": true}));
    let rest = stream.rest().await;
    let ends: Vec<_> = rest.iter().filter(|frame| frame.is("done") || frame.is("error")).collect();
    assert_eq!(ends.len(), 1, "{rest:#?}");
    assert_eq!(ends[0].data["stop_reason"], "interrupted");
    assert_eq!(
        (&ends[0].data["detail"], &ends[0].data["stopped_by"]),
        (&json!("stopped by the person"), &json!("person"))
    );
    rest
}

async fn goes_on(server: &Server<'_>) {
    server.settled("s").await;
    let frames = server.chat("s", "go on").await;
    assert_eq!(frames.iter().filter(|frame| frame.is("done")).count(), 1, "{frames:#?}");
    assert_eq!(server.post("/api/sessions/s/interrupt", json!({})).await.ok(), json!({"interrupted": false}));
}

#[tokio::test]
async fn interrupt_before_first_token() {
    let world = World::new(script([steps([json!({"gate": "never"}), json!({"text": "x"})]), says(["Next."])])).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "hi").await;
    eventually("the model is asked", async || world.asked().len() == 1).await;
    stop(&server, stream).await;
    goes_on(&server).await;
    let messages = world.session("s")["messages"].take();
    assert_eq!(messages[1]["stop_reason"], "interrupted");
    assert_eq!(messages[1]["content"], "");
}

#[tokio::test]
async fn interrupt_within_text() {
    let held = steps([json!({"text": "Half "}), json!({"text": "a th"}), json!({"gate": "never"})]);
    let world = World::new(script([held, says(["Next."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    stream.until("token").await;
    let rest = stop(&server, stream).await;
    let done = rest.iter().find(|frame| frame.is("done")).unwrap();
    assert_eq!(done.data["content"], "Half a th");
    goes_on(&server).await;
    assert_eq!(world.session("s")["messages"][1]["content"], "Half a th");
    let next = world.asked().pop().unwrap()["messages"].to_string();
    assert!(next.contains("Half a th"), "the model knows what was said: {next}");
}

#[tokio::test]
async fn interrupt_during_tool_kills_its_processes() {
    let long = a_long_time(4711);
    let slow = call("c1", "terminal", json!({"command": format!("echo begun; sleep {long} & sleep {long}")}));
    let quick = call("c2", "terminal", json!({"command": "echo never > ran.txt"}));
    let world = World::new(script([calls([slow, quick]), says(["Next."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("tool_start").await;
    eventually("the tool runs", async || is_running(&long)).await;
    let rest = stop(&server, stream).await;
    let ends: Vec<_> = rest.iter().filter(|frame| frame.is("tool_end")).map(|f| f.data["status"].clone()).collect();
    assert_eq!(ends, ["cancelled", "cancelled"]);
    eventually("its processes end", async || !is_running(&long)).await;
    assert!(!world.path("scratch/ran.txt").exists());
    goes_on(&server).await;
}

#[tokio::test]
async fn interrupt_during_retry_wait() {
    let later = json!({"steps": [{"status": 503}, {"headers": {"retry-after": "50"}}]});
    let world = World::new(script([later, says(["Next."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    let status = stream.until("status").await.pop().unwrap();
    assert_eq!(status.data["kind"], "retrying");
    assert!(status.data["retry_in_ms"].as_u64().unwrap() > 40_000, "{status:?}");
    stop(&server, stream).await;
    goes_on(&server).await;
}

#[tokio::test]
async fn repeated_interrupt_ends_once() {
    let world = World::new(script([steps([json!({"text": "a"}), json!({"gate": "never"})]), says(["Next."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    let both = futures_util::future::join(
        server.post("/api/sessions/s/interrupt", json!({})),
        server.post("/api/sessions/s/interrupt", json!({})),
    );
    let (one, two) = both.await;
    assert!(one.ok()["interrupted"] == true || two.ok()["interrupted"] == true);
    let ends = stream.rest().await.iter().filter(|frame| frame.is("done") || frame.is("error")).count();
    assert_eq!(ends, 1);
    goes_on(&server).await;
}

#[tokio::test]
async fn interrupt_at_any_frame_ends_once_with_all_results() {
    let replies = (0..60).flat_map(|_| {
        let tools = steps([
            json!({"thinking": "Hm."}),
            json!({"text": "I look."}),
            call("a", "read_file", json!({"path": "workspace/SOUL.md"})),
            call("b", "search_knowledge_base", json!({"query": "soul"})),
            call("c", "terminal", json!({"command": "echo one; sleep 0.05; echo two"})),
            call("d", "python_repl", json!({"code": "print(1)"})),
            json!({"finish": "tool_calls"}),
        ]);
        [tools, says(["So ", "it ", "is."])]
    });
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    for moment in 1..=20 {
        let mut stream = server.open_chat("s", &format!("message {moment}")).await;
        let mut frames = Vec::new();
        while frames.len() < moment
            && let Some(frame) = stream.next().await
        {
            frames.push(frame);
        }
        server.post("/api/sessions/s/interrupt", json!({})).await.ok();
        frames.extend(stream.rest().await);
        let ends = frames.iter().filter(|frame| frame.is("done") || frame.is("error")).count();
        assert_eq!(ends, 1, "stopped after {moment} frames: {frames:#?}");
        let ids = |event: &str| -> Vec<_> {
            frames.iter().filter(|frame| frame.is(event)).map(|frame| frame.data["id"].clone()).collect()
        };
        assert_eq!(ids("tool_start"), ids("tool_end"), "stopped after {moment} frames");
        server.settled("s").await;
    }
    let session = world.session("s");
    assert_eq!(session["works"].as_array().unwrap().len(), 20);
    assert!(!session.to_string().contains("\"running\""));
    server.chat("s", "the last one").await;
}

/// Returns a number of seconds that no other run of these tests sleeps for.
pub fn a_long_time(seconds: u32) -> String {
    format!("{seconds}.{}", std::process::id())
}

/// Returns whether any process was started with this argument.
pub fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}
