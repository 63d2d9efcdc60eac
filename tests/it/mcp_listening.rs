//! Servers that announce changes of their tools, and ask over the stream on which they do. The server is
//! `tests/fixtures/mcp/announcing.py`.

use serde_json::{Value, json};

use crate::mcp::{confirmed, one, results, trust};
use crate::mcp_remote::Remote;
use crate::script::{always, call, calls, says, script};
use crate::world::{Server, World, eventually};

const PROGRAM: &str = include_str!("../fixtures/mcp/announcing.py");

async fn called(server: &Server<'_>, name: &str, tool: &str) -> String {
    let body = json!({"tool": tool, "arguments": {}});
    let answer = server.as_page("POST", &format!("/api/mcp/{name}/call"), body).await.ok();
    answer["text"].as_str().unwrap().to_owned()
}

async fn names(server: &Server<'_>, name: &str) -> Vec<Value> {
    let listed = one(&server.get("/api/mcp").await.ok(), name);
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect()
}

#[tokio::test]
async fn announced_tools_are_there_in_the_next_exchange() {
    let remote = Remote::start_program("announcing.py");
    let program = json!({"command": "/usr/bin/python3", "args": ["-c", PROGRAM, "stdio"]});
    for (era, entry) in [
        ("modern", remote.at("/modern")),
        ("modern", remote.at("/closing")),
        ("legacy", remote.at("/legacy")),
        ("modern", program),
    ] {
        let world = World::new(script([always(says(["Yes."]))])).await;
        let server = world.serve().await;
        let listed = confirmed(&server, "far", entry.clone()).await;
        assert_eq!(listed["era"], era, "{listed}");
        if entry == remote.at("/closing") {
            // The end of the first stream lets the list be looked at, too.
            eventually("the second stream", async || called(&server, "far", "listens").await == "2").await;
            server.chat("s", "go").await;
        }
        assert_eq!(called(&server, "far", "grow").await, "grown");
        assert!(!names(&server, "far").await.contains(&json!("grown")));
        eventually("the tool", async || {
            server.chat("s", "go").await;
            names(&server, "far").await.contains(&json!("grown"))
        })
        .await;
    }
}

#[tokio::test]
async fn server_that_takes_no_subscription_is_asked_once() {
    let remote = Remote::start_program("announcing.py");
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/refusing")).await;
    eventually("the subscription", async || called(&server, "far", "listens").await == "1").await;
    // One that only fails is asked again.
    confirmed(&server, "other", remote.at("/failing")).await;
    eventually("more tries", async || called(&server, "other", "listens").await == "3").await;
    // Each call would begin again to listen.
    for _ in 0..5 {
        assert_eq!(called(&server, "far", "listens").await, "1");
    }
}

#[tokio::test]
async fn question_over_the_stream_of_a_server_is_answered() {
    let remote = Remote::start_program("announcing.py");
    let replies = [calls([call("a", "mcp__far__asks", json!({}))]), says(["Yes."])];
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/legacy")).await;
    trust(&server, "far", &["asks"]).await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(1).await.remove(0);
    let form = &asked["shown"]["elicitation"];
    assert_eq!((&form["server"], &form["message"]), (&json!("far"), &json!("Who travels?")), "{asked}");
    let body = json!({"decision": "approve", "hash": asked["hash"], "content": {"name": "Ada"}});
    server.answer(asked["id"].as_str().unwrap(), body).await.ok();
    stream.rest().await;
    server.settled("s").await;
    let answered: Value = serde_json::from_str(&results(&world)[0]).unwrap();
    assert_eq!(answered, json!({"action": "accept", "content": {"name": "Ada"}}));
}
