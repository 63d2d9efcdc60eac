//! One recorded run in every view. Values that differ between runs are replaced; everything else is compared with the
//! files in `snapshots/`. `INSTA_UPDATE=always cargo test golden` regenerates them.

use serde_json::{Value, json};

use crate::chat::{redacted, shapes};
use crate::script::{call, says, script, steps};
use crate::world::World;

#[tokio::test]
async fn every_view_of_a_run_matches_golden_file() {
    let first = steps([
        json!({"thinking": "Two files, "}),
        json!({"thinking": "side by side."}),
        json!({"text": "我来看一下。"}),
        call("call_a", "read_file", json!({"path": "knowledge/a.md"})),
        call("call_b", "read_file", json!({"path": "knowledge/b.md", "offset": 1, "limit": 1})),
        json!({"usage": {"prompt_tokens": 120, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 64}}}),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([first, says(["企鹅", "不会飞。"]), says(["Yes."])]))
        .await
        .with_file("knowledge/a.md", "企鹅不会飞。\n")
        .with_file("knowledge/b.md", "one\ntwo\nthree\n")
        .with_file("memory/MEMORY.md", "The person likes birds.\n");
    let server = world.serve().await;
    let frames = server.chat("s", "企鹅会飞吗？").await;
    server.settled("s").await;
    insta::assert_json_snapshot!("frames", shapes(&frames));
    insta::assert_json_snapshot!("session_file", redacted(world.session("s")));
    let history = server.get("/api/sessions/s/history").await.ok();
    insta::assert_json_snapshot!("history", redacted(history.clone()));
    let messages = server.get("/api/sessions/s/messages").await.ok();
    insta::assert_json_snapshot!("messages", redacted(messages));
    server.chat("s", "Sure?").await;
    let bodies: Vec<Value> = world.asked().into_iter().map(without_tools).collect();
    insta::assert_json_snapshot!("requests", bodies);

    // The same after a restart: no part of a view exists only in memory.
    server.settled("s").await;
    let shown = server.get("/api/sessions/s/history").await.ok();
    drop(server);
    let server = world.serve().await;
    let mut again = server.get("/api/sessions/s/history").await.ok();
    again["last_event_id"] = shown["last_event_id"].clone();
    assert_eq!(again, shown);
    assert_eq!(shown["messages"].as_array().unwrap()[..3], history["messages"].as_array().unwrap()[..]);
}

/// Removes the tools; other tests check which tools exist and how they are described.
fn without_tools(mut body: Value) -> Value {
    assert!(body["tools"].as_array().is_some_and(|tools| tools.len() >= 4));
    body["tools"] = json!("<tools>");
    body
}
