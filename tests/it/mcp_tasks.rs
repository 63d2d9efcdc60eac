//! Calls that an MCP server carries out as tasks. The server is `tests/fixtures/mcp/asking.py`.

use serde_json::json;

use crate::mcp::{confirmed, results};
use crate::mcp_elicitation::{calling, fill, noted, one_question, with_server};
use crate::mcp_remote::Remote;
use crate::world::eventually;

#[tokio::test]
async fn task_asks_a_person_and_its_result_is_that_of_the_call() {
    let world = calling("task").await;
    let server = with_server(&world, "modern", "task").await;
    let mut stream = server.open_chat("s", "go").await;
    let frames = stream.until("tool_output").await;
    assert!(frames.last().unwrap().data.to_string().contains("works on it as a task"), "{frames:?}");
    let asked = one_question(&server).await;
    assert_eq!(asked["shown"]["elicitation"]["fields"][0]["name"], "name", "{asked}");
    // The question and the task outlive both programs; the call is not made again.
    drop(stream);
    drop(server);
    let server = world.serve().await;
    let asked = one_question(&server).await;
    fill(&server, &asked, json!({"name": "Ada", "seats": 1})).await.ok();
    server.settled("s").await;
    assert!(results(&world)[0].contains(r#""name": "Ada""#), "{:?}", results(&world));
    assert_eq!((noted(&world, "calls"), noted(&world, "done"), noted(&world, "cancelled")), (1, 1, 0));
    assert_eq!(world.session("s")["taint"][0]["from"], "outside");
}

#[tokio::test]
async fn stop_cancels_the_task() {
    for (tool, is_asked) in [("task_slow", false), ("task", true)] {
        let world = calling(tool).await;
        let server = with_server(&world, "modern", tool).await;
        let mut stream = server.open_chat("s", "go").await;
        if is_asked {
            one_question(&server).await;
        } else {
            let frames = stream.until("tool_output").await;
            assert!(frames.last().unwrap().data.to_string().contains("half with [secret PET]"), "{frames:?}");
        }
        server.post("/api/sessions/s/interrupt", json!({})).await.ok();
        stream.rest().await;
        server.settled("s").await;
        eventually("the cancellation", async || noted(&world, "cancelled") == 1).await;
        assert_eq!(world.session("s")["messages"][1]["tool_calls"][0]["status"], "cancelled", "{tool}");
    }
}

#[tokio::test]
async fn failed_and_nameless_tasks_are_errors() {
    for (tool, why) in [("task_broken", "It broke with [secret PET]"), ("task_nameless", "without a usable name")] {
        let world = calling(tool).await;
        let server = with_server(&world, "modern", tool).await;
        server.chat("s", "go").await;
        server.settled("s").await;
        assert!(results(&world)[0].contains(why), "{:?}", results(&world));
        assert!(!world.session("s").to_string().contains("cat-91c4"), "{tool}");
    }
}

#[tokio::test]
async fn task_that_cannot_be_answered_is_cancelled() {
    let world = calling("task_sampling").await;
    let server = with_server(&world, "modern", "task_sampling").await;
    server.chat("s", "go").await;
    server.settled("s").await;
    let read = results(&world).remove(0);
    assert!(read.contains("The task was given up") && read.contains("is unknown"), "{read}");
    assert!(!read.contains("declined"), "{read}");
    eventually("the cancellation", async || noted(&world, "cancelled") == 1).await;
    // Nobody is asked during a person's own call.
    let body = json!({"tool": "task", "arguments": {}});
    let answer = server.as_page("POST", "/api/mcp/pets/call", body).await;
    assert!(answer.status() >= 400 && answer.text().contains("is unknown"), "{}", answer.text());
    eventually("the cancellation", async || noted(&world, "cancelled") == 2).await;
}

#[tokio::test]
async fn client_that_goes_away_cancels_the_task_of_its_call() {
    let world = calling("task_slow").await;
    let server = with_server(&world, "modern", "task_slow").await;
    let body = json!({"tool": "task_slow", "arguments": {}});
    tokio::select! {
        answer = server.as_page("POST", "/api/mcp/pets/call", body) => panic!("{}", answer.text()),
        () = eventually("a look", async || noted(&world, "looks") > 0) => {}
    }
    eventually("the cancellation", async || noted(&world, "cancelled") == 1).await;
}

#[tokio::test]
async fn task_that_a_kill_cut_off_has_an_unknown_outcome() {
    let world = calling("task_slow").await;
    let server = with_server(&world, "modern", "task_slow").await;
    let mut stream = server.open_chat("s", "go").await;
    stream.until("tool_output").await;
    drop(stream);
    drop(server);
    let server = world.serve().await;
    eventually("the result", async || world.session("s")["messages"][1]["tool_calls"][0]["status"] == "interrupted")
        .await;
    server.settled("s").await;
    assert_eq!(noted(&world, "calls"), 1, "it is not made again");
}

#[tokio::test]
async fn task_of_a_remote_server_is_followed() {
    let remote = Remote::start();
    let world = calling("none").await;
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/task")).await;
    let body = json!({"tool": "café", "arguments": {"text": "tea"}});
    let answer = server.as_page("POST", "/api/mcp/far/call", body).await.ok();
    assert_eq!(answer["text"], "task t-1 by t-1");
}
