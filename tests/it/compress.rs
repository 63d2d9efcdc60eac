//! Compression: the older half moves to the archive, a summary stands for it, and no message is lost.

use serde_json::{Value, json};

use crate::script::{SUMMARY, always, says, script};
use crate::world::{World, files};

fn conversation(messages: usize) -> Value {
    let messages: Vec<_> = (0..messages)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("text {n}")}))
        .collect();
    json!({"title": "t", "created_at": 1.0, "updated_at": 2.0, "messages": messages})
}

fn archives(world: &World) -> Vec<String> {
    let found = files(&world.path("sessions/archive"));
    found.iter().map(|path| path.strip_prefix(world.path("sessions/archive")).unwrap().display().to_string()).collect()
}

#[tokio::test]
async fn summary_of_first_half_leads_next_request() {
    let original = conversation(10);
    let world = World::new(script([always(says(["Yes."]))])).await.with_file("sessions/s.json", &original.to_string());
    let server = world.serve().await;
    let done = server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!(done, json!({"archived_count": 5, "remaining_count": 5, "summary": SUMMARY}));
    let file = world.session("s");
    assert_eq!(file["messages"].as_array().unwrap()[..], original["messages"].as_array().unwrap()[5..]);
    assert_eq!(file["compressed_context"], SUMMARY);
    let [archive] = archives(&world).try_into().unwrap();
    assert!(archive.starts_with("s_") && archive.ends_with(".json"), "{archive}");
    let archived: Value = serde_json::from_str(&world.read(&format!("sessions/archive/{archive}"))).unwrap();
    assert_eq!(archived.as_array().unwrap()[..], original["messages"].as_array().unwrap()[..5]);

    let asked = world.provider.requests().pop().unwrap();
    assert_eq!(asked["temperature"], 0.3);
    let material = asked["messages"].to_string();
    assert!(material.contains("text 0") && material.contains("text 4") && !material.contains("text 5"), "{material}");

    server.chat("s", "next").await;
    let sent = world.asked()[0]["messages"].take();
    // The half ends between a question and its answer: the answer is appended to the summary.
    assert_eq!(sent[1]["content"], format!("[以下是之前对话的摘要]\n{SUMMARY}\n\ntext 5"));
    assert_eq!(sent[1]["role"], "assistant");

    server.settled("s").await;
    let again = server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!((&again["archived_count"], &again["remaining_count"]), (&json!(4), &json!(3)));
    assert_eq!(world.session("s")["compressed_context"], format!("{SUMMARY}\n---\n{SUMMARY}"));
    assert_eq!(archives(&world).len(), 2);
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["compressed_context"], format!("{SUMMARY}\n---\n{SUMMARY}"));
}

#[tokio::test]
async fn at_least_four_messages_are_compacted() {
    let world = World::new(script([]))
        .await
        .with_file("sessions/three.json", &conversation(3).to_string())
        .with_file("sessions/four.json", &conversation(4).to_string())
        .with_file("sessions/six.json", &conversation(6).to_string());
    let server = world.serve().await;
    let short = server.post("/api/sessions/three/compress", json!({})).await.refused();
    assert_eq!(short, (400, "too_short".to_owned()));
    assert_eq!(world.read("sessions/three.json"), conversation(3).to_string());
    for (session, remaining) in [("four", 0), ("six", 2)] {
        let done = server.post(&format!("/api/sessions/{session}/compress"), json!({})).await.ok();
        assert_eq!((&done["archived_count"], &done["remaining_count"]), (&json!(4), &json!(remaining)));
    }
}

#[tokio::test]
async fn summary_has_at_most_500_characters() {
    let long = json!({"match": "Summarise", "steps": [{"text": "企鹅".repeat(400)}, {"finish": "stop"}]});
    let replies = miniclaw::provider::scripted::Script::from_value(&json!({"replies": [long]})).unwrap();
    let world = World::new(replies).await.with_file("sessions/s.json", &conversation(8).to_string());
    let server = world.serve().await;
    let done = server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!(done["summary"].as_str().unwrap().chars().count(), 500);
}

#[tokio::test]
async fn failed_summary_changes_nothing() {
    let refused = json!({"match": "Summarise", "repeat": true, "steps": [{"status": 401}]});
    let replies = miniclaw::provider::scripted::Script::from_value(&json!({"replies": [refused]})).unwrap();
    let world = World::new(replies).await.with_file("sessions/s.json", &conversation(8).to_string());
    let server = world.serve().await;
    assert_eq!(server.post("/api/sessions/s/compress", json!({})).await.refused().0, 502);
    assert_eq!(world.read("sessions/s.json"), conversation(8).to_string());
    assert_eq!(archives(&world), Vec::<String>::new());
}

#[tokio::test]
async fn message_during_summary_is_refused() {
    let slow = json!({"match": "Summarise", "steps": [{"gate": "g"}, {"text": "Short."}, {"finish": "stop"}]});
    let said = json!({"repeat": true, "steps": [{"text": "Yes."}, {"finish": "stop"}]});
    let replies = miniclaw::provider::scripted::Script::from_value(&json!({"replies": [slow, said]})).unwrap();
    let world = World::new(replies).await.with_file("sessions/s.json", &conversation(8).to_string());
    let server = world.serve().await;
    let compressing = server.post("/api/sessions/s/compress", json!({}));
    let meanwhile = async {
        crate::world::eventually("the summary is asked for", async || !world.provider.requests().is_empty()).await;
        let busy = (409, "busy".to_owned());
        assert_eq!(server.post("/api/sessions/s/messages", json!({"message": "hi"})).await.refused(), busy);
        assert_eq!(server.post("/api/sessions/s/compress", json!({})).await.refused(), busy);
        world.provider.open_gate("g");
    };
    let (done, ()) = tokio::join!(compressing, meanwhile);
    assert_eq!(done.ok()["archived_count"], 4);
    server.chat("s", "hi").await;
}

#[tokio::test]
async fn compression_within_work_yields_valid_request() {
    let call =
        |id: &str| json!({"tool": "terminal", "input": "ls", "output": "a", "id": id, "arguments": {"command": "ls"}});
    let answer = json!({"role": "assistant", "content": "", "tool_calls": [call("x"), call("y")]});
    let user = json!({"role": "user", "content": "do"});
    let file = json!({"messages": [user, answer, answer, answer, answer, answer, user, answer]});
    let world = World::new(script([says(["Yes."])])).await.with_file("sessions/s.json", &file.to_string());
    let server = world.serve().await;
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    server.chat("s", "on").await;
}
