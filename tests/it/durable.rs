//! Further cases that a session file must survive: a newer format, and a repeated request after a restart.

use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::World;

#[tokio::test]
async fn session_of_newer_format_is_read_only() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let file = json!({"title": "from the future", "created_at": 1.0, "updated_at": 2.0, "format": 3, "moods": ["calm"],
                      "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"},
                                   {"role": "user", "content": "more"}, {"role": "assistant", "content": "some"}]});
    world.write("sessions/new.json", file.to_string());
    let server = world.serve().await;
    let history = server.get("/api/sessions/new/history").await.ok();
    assert_eq!(history["messages"].as_array().unwrap().len(), 4);
    let message = json!({"message": "go on"});
    let refused = [
        server.post("/api/sessions/new/messages", message).await,
        server.put("/api/sessions/new", json!({"title": "mine"})).await,
        server.post("/api/sessions/new/compress", json!({})).await,
    ];
    for answer in refused {
        assert_eq!(answer.refused(), (409, "newer_format".to_owned()));
    }
    assert_eq!(world.read("sessions/new.json"), file.to_string());
    assert_eq!(world.asked().len(), 0);
}

#[tokio::test]
async fn journal_of_newer_version_is_kept() {
    let world = World::new(script([says(["Yes."])])).await;
    let body = r#"{"seq":1,"at":1.5,"event":{"type":"dreamed","of":"sheep"}"#;
    let line = format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()));
    world.write("sessions/new.json", r#"{"title": "t", "messages": []}"#);
    world.write("sessions/new.journal", &line);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/new/history").await.refused(), (409, "newer_format".to_owned()));
    assert_eq!(world.read("sessions/new.journal"), line);
    // Other sessions work as usual.
    server.chat("other", "hi").await;
}

#[tokio::test]
async fn message_resent_after_restart_is_stored_once() {
    let world = World::new(script([says(["Yes."]), says(["A title"]), always(says(["Again."]))])).await;
    let send = json!({"message": "only once", "idempotency_key": "k-1"});
    let server = world.serve().await;
    let first = server.post("/api/sessions/s/messages", send.clone()).await.ok();
    let twice = server.post("/api/sessions/s/messages", send.clone()).await.ok();
    assert_eq!(first, twice);
    server.settled("s").await;
    drop(server);
    let server = world.serve().await;
    let third = server.post("/api/sessions/s/messages", send).await.ok();
    assert_eq!(third["work_id"], first["work_id"]);
    // A client that follows the work learns that it is over.
    let after = third["after"].as_str().unwrap();
    let rest = server.follow(&format!("/api/sessions/s/events?until=settled&after={after}")).await.rest().await;
    assert_eq!(rest.len(), 0, "{rest:?}");
    let users = |file: &Value| file["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "user").count();
    assert_eq!(users(&world.session("s")), 1);
    let odd = json!({"message": "x", "idempotency_key": "../../etc"});
    assert_eq!(server.post("/api/sessions/s/messages", odd).await.refused(), (400, "bad_key".to_owned()));
}
