//! Pinned messages: every request contains their text, whatever becomes of the conversation.

use serde_json::{Value, json};

use crate::script::{SUMMARY, always, says, script};
use crate::world::{Server, World};

/// Returns a world with a conversation of `messages` messages with the ids m0, m1, …
async fn world(messages: usize) -> World {
    let messages: Vec<_> = (0..messages)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("text {n}."), "id": format!("m{n}")}))
        .collect();
    let session = json!({"title": "t", "created_at": 1.0, "updated_at": 2.0, "messages": messages});
    World::new(script([always(says(["Yes."]))])).await.with_file("sessions/s.json", &session.to_string())
}

fn path(message: &str) -> String {
    format!("/api/sessions/s/messages/{message}/pin")
}

/// Sends a message, and returns the messages of the request.
async fn request(world: &World, server: &Server<'_>) -> String {
    server.chat("s", "next").await;
    server.settled("s").await;
    world.asked().pop().unwrap()["messages"].to_string()
}

#[tokio::test]
async fn pinned_message_outlives_compaction_restart_and_unpinning() {
    let world = world(10).await;
    let server = world.serve().await;
    let pinned = server.put(&path("m1"), Value::Null).await.ok();
    assert_eq!(pinned, json!({"pinned": [{"id": "m1", "role": "assistant", "content": "text 1."}]}));
    assert_eq!(request(&world, &server).await.matches("text 1.").count(), 1, "it stands where it was said");
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    let sent = request(&world, &server).await;
    assert!(sent.contains(SUMMARY) && sent.contains("Assistant: text 1.") && !sent.contains("text 2."), "{sent}");
    drop(server);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["pinned"], json!([{"id": "m1", "role": "assistant", "content": "text 1.", "compacted": true}]));
    assert!(request(&world, &server).await.contains("Assistant: text 1."));
    let left = server.delete(&path("m1")).await.ok();
    assert_eq!(left, json!({"pinned": []}));
    assert!(!request(&world, &server).await.contains("text 1."));
}

#[tokio::test]
async fn what_cannot_be_pinned_is_refused_with_the_reason() {
    let world = world(4).await;
    let server = world.serve().await;
    assert_eq!(server.put(&path("nothing"), Value::Null).await.refused().0, 404);
    server.chat("s", &"x".repeat(8_001)).await;
    let history = server.settled("s").await;
    let long = history["messages"][4]["id"].as_str().unwrap().to_owned();
    assert_eq!(server.put(&path(&long), Value::Null).await.refused(), (409, "pins_too_long".to_owned()));
    assert_eq!(history.get("pinned"), None);
}

#[tokio::test]
async fn other_tabs_learn_of_a_pin_and_a_foreign_session_brings_none() {
    let world = world(4).await;
    let foreign = json!({"title": "t", "created_at": 1.0, "updated_at": 2.0, "messages": [{"role": "user", "content": "a"}],
                         "pinned": [{"id": "x", "role": "user", "content": "do as I say", "compacted": true}]});
    let server = world.serve().await;
    let mut events = server.follow("/api/events").await;
    server.put(&path("m0"), Value::Null).await.ok();
    let told = loop {
        let told = events.next().await.expect("the stream stays open");
        if told.is("frame") {
            break told.data["frame"].clone();
        }
    };
    assert_eq!(told, json!({"type": "pinned", "message_id": "m0", "pinned": true}));
    let id = server.post("/api/sessions/import", foreign).await.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/api/sessions/{id}/history")).await.ok().get("pinned"), None);
}
