//! A question outlives the server: with `kill -9`, SIGTERM or a crash at any fact, no call is lost or executed twice.

use serde_json::{Value, json};

use crate::approvals::{asking, run};
use crate::script::{call, calls, says, script, steps};
use crate::world::{ASKING, PLAIN, Server, World, eventually};

/// Waits until the session's work has ended.
async fn ended(server: &Server<'_>) -> Value {
    server.settled("s").await
}

#[tokio::test]
async fn approval_survives_kill_and_runs_once() {
    let world = asking([run("echo once >> ran.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let before = server.waiting(1).await.remove(0);
    drop(stream);
    // Dropping the server kills it.
    drop(server);
    for _ in 0..2 {
        let server = world.serve().await;
        let after = server.waiting(1).await.remove(0);
        for field in ["id", "hash", "call_id", "arguments", "shown", "session_id", "work_id"] {
            assert_eq!(after[field], before[field], "{field}");
        }
        assert!(after["asked_at"].as_f64() > before["asked_at"].as_f64(), "a fresh time");
        assert_eq!(server.get("/api/sessions").await.ok()["sessions"][0]["state"], "approval");
        let history = server.get("/api/sessions/s/history").await.ok();
        assert_eq!(history["running"]["work_id"], before["work_id"]);
        assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "approval");
        assert!(!world.path("scratch/ran.txt").exists());
        assert_eq!(world.asked().len(), 1, "the model is not asked before the person");
    }
    let server = world.serve().await;
    let stream = server.follow("/api/sessions/s/events?until=settled").await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "approve").await;
    let frames = stream.rest().await;
    assert!(frames.iter().any(|frame| frame.is("done") && frame.data["content"] == "Done."), "{frames:#?}");
    ended(&server).await;
    assert_eq!(world.read("scratch/ran.txt"), "once\n");
    let session = world.session("s");
    assert_eq!(session["works"].as_array().unwrap().len(), 1);
    assert_eq!(session["works"][0]["outcome"]["stop_reason"], "done");
    assert_eq!(session["messages"][2]["content"], "Done.");
}

#[tokio::test]
async fn stop_keeps_waiting_question_deniable() {
    let world = asking([run("touch ran.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    server.waiting(1).await;
    let (status, took) = server.terminate().await;
    assert!(status.success() && took.as_secs() < 9, "{status:?} {took:?}");
    let rest = stream.rest().await;
    assert!(!rest.iter().any(|frame| frame.is("done") || frame.is("approval_result")), "{rest:#?}");
    let server = world.serve().await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "deny").await;
    ended(&server).await;
    assert!(!world.path("scratch/ran.txt").exists());
    assert_eq!(world.session("s")["messages"][2]["content"], "Done.");
    assert!(world.asked()[1]["messages"].to_string().contains("denied by the user"));
}

#[tokio::test]
async fn stop_ends_running_call_and_keeps_waiting_one() {
    let long = crate::interrupt::a_long_time(4733);
    let made = [
        call("t", "terminal", json!({"command": format!("echo begun; sleep {long}")})),
        call("p", "python_repl", json!({"code": "open('ran.txt', 'a').write('x')"})),
        call("r", "read_file", json!({"path": "workspace/SOUL.md"})),
    ];
    let world = asking(made).await;
    world.write("config.yml", format!("{PLAIN}approvals: {{tools: {{terminal: allow}}}}\n"));
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "go").await;
    stream.until("tool_start").await;
    server.waiting(1).await;
    eventually("the tool runs", async || crate::interrupt::is_running(&long)).await;
    let (status, _) = server.terminate().await;
    assert!(status.success());
    drop(stream);
    assert!(!crate::interrupt::is_running(&long));
    let server = world.serve().await;
    let asked = server.waiting(1).await.remove(0);
    assert_eq!(asked["call_id"], "p");
    server.decide(&asked, "approve").await;
    ended(&server).await;
    assert_eq!(world.read("scratch/ran.txt"), "x");
    let session = world.session("s");
    let kept = session["messages"][1]["tool_calls"].as_array().unwrap();
    let told: Vec<_> =
        kept.iter().map(|call| (call["id"].as_str().unwrap(), call["status"].as_str().unwrap())).collect();
    assert_eq!(told, [("t", "cancelled"), ("p", "done"), ("r", "done")]);
}

#[tokio::test]
async fn deleted_waiting_session_asks_nobody() {
    let world = asking([run("touch ran.txt")]).await;
    let server = world.serve().await;
    drop(server.open_chat("s", "go").await);
    server.waiting(1).await;
    server.delete("/api/sessions/s").await.ok();
    drop(server);
    let server = world.serve().await;
    server.waiting(0).await;
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn approval_counts_after_model_is_gone() {
    let world = asking([run("echo once >> ran.txt")]).await;
    let server = world.serve().await;
    drop(server.open_chat("s", "go").await);
    server.waiting(1).await;
    drop(server);
    // The key and the address are removed, so that the run can do only what was approved.
    let world = world.with_env("OPENAI_API_KEY", "").with_env("OPENAI_BASE_URL", "");
    let server = world.serve().await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "approve").await;
    ended(&server).await;
    assert_eq!(world.read("scratch/ran.txt"), "once\n");
    let session = world.session("s");
    assert_eq!(session["works"][0]["outcome"]["code"], "no_model");
    assert_eq!(session["messages"][1]["tool_calls"][0]["status"], "done");
}

#[tokio::test]
async fn calls_behind_waiting_call_are_kept() {
    let made = [
        call("r1", "read_file", json!({"path": "workspace/SOUL.md"})),
        call("a", "terminal", json!({"command": "echo a >> ran.txt"})),
        call("r2", "read_file", json!({"path": "workspace/SOUL.md", "limit": 1})),
        call("b", "terminal", json!({"command": "echo b >> ran.txt"})),
        call("x", "nonsense", json!({})),
    ];
    let made = steps([json!({"text": "I begin. "})].into_iter().chain(made).chain([json!({"finish": "tool_calls"})]));
    let world = World::new(script([made, says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let first = server.waiting(2).await.remove(0);
    server.decide(&first, "approve").await;
    eventually("the first has run", async || world.path("scratch/ran.txt").exists()).await;
    eventually("the one behind it has run", async || {
        let call = server.get("/api/sessions/s/history").await.ok()["messages"][1]["tool_calls"][2].take();
        call["status"] == "done"
    })
    .await;
    drop((stream, server));
    let server = world.serve().await;
    let second = server.waiting(1).await.remove(0);
    assert_eq!(second["call_id"], "b");
    server.decide(&second, "approve").await;
    ended(&server).await;
    assert_eq!(world.read("scratch/ran.txt"), "a\nb\n");
    let session = world.session("s");
    let kept = session["messages"][1]["tool_calls"].as_array().unwrap();
    let told: Vec<_> =
        kept.iter().map(|call| (call["id"].as_str().unwrap(), call["status"].as_str().unwrap())).collect();
    assert_eq!(told, [("r1", "done"), ("a", "done"), ("r2", "done"), ("b", "done"), ("x", "error")]);
    assert_eq!(session["messages"][1]["content"], "I begin. ");
    assert_eq!(session["messages"][2]["content"], "Done.");
}

#[tokio::test]
async fn approved_command_runs_at_most_once_after_any_kill() {
    // Each round makes one call; the server is killed after `frames` frames.
    for frames in 0..5 {
        let world = asking([run("echo run >> ran.txt")]).await;
        let server = world.serve().await;
        drop(server.open_chat("s", "go").await);
        let asked = server.waiting(1).await.remove(0);
        let mut stream = server.follow("/api/sessions/s/events").await;
        server.decide(&asked, "approve").await;
        for _ in 0..frames {
            stream.next().await;
        }
        drop((stream, server));
        let server = world.serve().await;
        assert_eq!(server.waiting(0).await.len(), 0, "what was answered is not asked again");
        ended(&server).await;
        let ran = std::fs::read_to_string(world.path("scratch/ran.txt")).unwrap_or_default();
        assert!(ran.is_empty() || ran == "run\n", "{frames}: {ran:?}");
        let call = world.session("s")["messages"][1]["tool_calls"][0].take();
        let known = match call["status"].as_str().unwrap() {
            "done" => ran == "run\n",
            "interrupted" => true,
            other => panic!("{frames}: {other}"),
        };
        assert!(known, "{frames}: {call} {ran:?}");
        server.chat("s", "and now?").await;
    }
}

#[tokio::test]
async fn changed_target_is_shown_again() {
    let world = asking([run("touch ran.txt")]).await;
    let server = world.serve().await;
    drop(server.open_chat("s", "go").await);
    let before = server.waiting(1).await.remove(0);
    drop(server);
    let server = world.serve_with(&["--port", "0", "--sandbox", "off"]).await;
    let after = server.waiting(1).await.remove(0);
    assert_eq!((&after["id"], &after["shown"]["level"]), (&before["id"], &json!("off")));
    let old = json!({"decision": "approve", "hash": before["hash"]});
    let answer = server.answer(before["id"].as_str().unwrap(), old).await;
    assert_eq!(answer.refused(), (409, "hash_differs".to_owned()));
    server.decide(&after, "deny").await;
    ended(&server).await;
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn message_after_restart_cancels_question() {
    let world = asking([run("touch ran.txt")]).await;
    let server = world.serve().await;
    drop(server.open_chat("s", "go").await);
    server.waiting(1).await;
    drop(server);
    let server = world.serve().await;
    server.waiting(1).await;
    let frames = server.chat("s", "something else").await;
    assert!(frames.iter().any(|frame| frame.is("done")));
    ended(&server).await;
    let session = world.session("s");
    assert_eq!(session["messages"][1]["tool_calls"][0]["status"], "cancelled");
    assert_eq!(session["works"][0]["outcome"]["stop_reason"], "interrupted");
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn several_sessions_wait_independently() {
    let again = |id: &str| calls([call(id, "terminal", json!({"command": "true"}))]);
    let world = World::new(script([again("a"), again("b"), says(["Done."]), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    drop(server.open_chat("one", "go").await);
    server.waiting(1).await;
    drop(server.open_chat("two", "go").await);
    let sessions = |asked: &[Value]| asked.iter().map(|a| a["session_id"].clone()).collect::<Vec<_>>();
    assert_eq!(sessions(&server.waiting(2).await), ["one", "two"], "oldest first");
    drop(server);
    let server = world.serve().await;
    for asked in server.waiting(2).await {
        server.decide(&asked, "approve").await;
    }
    server.settled("one").await;
    server.settled("two").await;
}
