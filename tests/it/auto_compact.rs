//! Automatic compaction: after a response that nearly fills the context window, visibly and undoably.

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::world::{CONFIG, Server, World, eventually};

/// Creates a world whose model takes 9,000 tokens, with a session `s` that fills most of them. Its summaries take these
/// steps.
async fn nearly_full(setting: &str, summary: &[Value]) -> World {
    let summary = json!({"match": "Summarise", "repeat": true, "steps": summary});
    let answer = json!({"repeat": true, "steps": [{"text": "Yes."}, {"finish": "stop"}]});
    let world = World::new(Script::from_value(&json!({"replies": [summary, answer]})).unwrap()).await;
    let address = world.provider.base_url.as_str();
    let model = format!("{{id: small, api_url: '{address}', api_key: x, model: small, context_window: 9000}}");
    world.write("config.yml", format!("{CONFIG}{setting}\nmodels:\n  - {model}\n"));
    let exchange = |n: usize| {
        let question = json!({"role": "user", "content": format!("Question {n}"), "id": format!("q{n}")});
        [question, json!({"role": "assistant", "content": "word ".repeat(100), "id": format!("a{n}")})]
    };
    let messages: Vec<Value> = (0..60).flat_map(exchange).collect();
    let session = json!({"title": "Long", "messages": messages, "chosen": {"model": "other/small"}});
    world.write("sessions/s.json", session.to_string());
    world
}

fn short() -> Vec<Value> {
    vec![json!({"text": "They counted."}), json!({"finish": "stop"})]
}

async fn size(server: &Server<'_>) -> Value {
    server.get("/api/tokens/session/s").await.ok()
}

async fn is_compacted(server: &Server<'_>) -> bool {
    server.get("/api/sessions/s/history").await.ok()["compressed_context"].is_string()
}

fn summaries(world: &World) -> usize {
    world.provider.requests().iter().filter(|body| body.to_string().contains("Summarise the conversation")).count()
}

#[tokio::test]
async fn full_conversation_is_compacted_after_response_and_restorable() {
    let world = nearly_full("auto_compact: on", &short()).await;
    let server = world.serve().await;
    let before = size(&server).await;
    assert_eq!((&before["auto_compact"], &before["nearly_full"]), (&json!("on"), &json!(true)));
    let mut events = server.follow("/api/sessions/s/events").await;
    server.chat("s", "And now?").await;
    let frame = events.until("compressed").await.pop().unwrap();
    assert_eq!((&frame.data["automatic"], &frame.data["archived_count"]), (&json!(true), &json!(61)));
    eventually("it is compacted", async || is_compacted(&server).await).await;
    assert_eq!(size(&server).await["nearly_full"], false);
    let archive = frame.data["archive"].as_str().unwrap();
    let restored = server.post(&format!("/api/sessions/s/compacted/{archive}/restore"), json!({})).await.ok();
    assert_eq!(restored["restored_count"], 61);
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"].as_array().unwrap().len(), 122);
}

#[tokio::test]
async fn message_during_automatic_compaction_waits_for_it() {
    let slow = [json!({"gate": "g"}), json!({"text": "They counted."}), json!({"finish": "stop"})];
    let world = nearly_full("auto_compact: on", &slow).await;
    let server = world.serve().await;
    server.chat("s", "And now?").await;
    eventually("the summary is asked for", async || summaries(&world) == 1).await;
    let next = server.post("/api/sessions/s/messages", json!({"message": "second", "when": "next"})).await.ok();
    assert_eq!(next["state"], "queued");
    let now = server.post("/api/sessions/s/messages", json!({"message": "first"}));
    let (now, ()) = tokio::join!(now, async {
        eventually("it is queued", async || size(&server).await["total_tokens"].is_u64()).await;
        world.provider.open_gate("g");
    });
    assert_eq!(now.ok()["state"], "started");
    eventually("both are answered", async || {
        let history = server.get("/api/sessions/s/history").await.ok();
        let asked = |text: &str| history["messages"].as_array().unwrap().iter().any(|m| m["content"] == text);
        history["running"].is_null() && asked("first") && asked("second")
    })
    .await;
    assert!(is_compacted(&server).await);
}

#[tokio::test]
async fn by_default_it_is_only_proposed_and_a_conversation_can_choose() {
    let world = nearly_full("", &short()).await;
    let server = world.serve().await;
    let first = size(&server).await;
    assert_eq!((&first["auto_compact"], &first["nearly_full"]), (&json!("ask"), &json!(true)));
    server.chat("s", "one").await;
    server.settled("s").await;
    assert_eq!(summaries(&world), 0);
    let chosen = json!({"model": "other/small", "auto_compact": "on"});
    server.put("/api/sessions/s/model", chosen.clone()).await.ok();
    assert_eq!(size(&server).await["auto_compact"], "on");
    server.chat("s", "two").await;
    eventually("it is compacted", async || is_compacted(&server).await).await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["chosen"], chosen);
}

#[tokio::test]
async fn conversation_can_refuse_what_the_configuration_allows() {
    let world = nearly_full("auto_compact: on", &short()).await;
    let server = world.serve().await;
    server.put("/api/sessions/s/model", json!({"model": "other/small", "auto_compact": "off"})).await.ok();
    server.chat("s", "one").await;
    server.settled("s").await;
    server.chat("s", "two").await;
    assert_eq!((summaries(&world), is_compacted(&server).await), (0, false));
    let wrong = server.put("/api/sessions/s/model", json!({"auto_compact": "always"})).await;
    assert_eq!(wrong.status(), 422);
}

#[tokio::test]
async fn failed_summary_changes_nothing_and_conversation_goes_on() {
    let world = nearly_full("auto_compact: on", &[json!({"status": 401})]).await;
    let server = world.serve().await;
    server.chat("s", "one").await;
    eventually("the summary is asked for", async || summaries(&world) > 0).await;
    server.chat("s", "two").await;
    let history = server.settled("s").await;
    assert_eq!(history["compressed_context"], Value::Null);
    assert_eq!(history["messages"].as_array().unwrap().len(), 124);
}
