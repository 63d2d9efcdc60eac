//! Messages sent with `when: next` while a work is under way: they wait, can be edited and removed, and run in order.

use serde_json::{Value, json};

use crate::approvals::{asking, run};
use crate::http::Incoming;
use crate::script::{says, script, steps};
use crate::world::{Server, World, eventually};

const MESSAGES: &str = "/api/sessions/s/messages";

async fn next(server: &Server<'_>, message: &str, key: &str) -> Value {
    server.post(MESSAGES, json!({"message": message, "when": "next", "idempotency_key": key})).await.ok()
}

/// Returns the texts of the queue.
async fn queued(server: &Server<'_>) -> Vec<String> {
    let history = server.get("/api/sessions/s/history").await.ok();
    let queue = history["queue"].as_array().cloned().unwrap_or_default();
    queue.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn questions(history: &Value) -> Vec<&str> {
    let messages = history["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "user").map(|m| m["content"].as_str().unwrap()).collect()
}

/// Creates a world whose first answer stops at the gate `g`, and starts that answer.
async fn held() -> World {
    let first = steps([
        json!({"text": "Half"}),
        json!({"gate": "g"}),
        json!({"text": " and half."}),
        json!({"finish": "stop"}),
    ]);
    World::new(script([first, says(["Two."]), says(["Three."])])).await
}

async fn begun(server: &Server<'_>) -> Incoming {
    let mut stream = server.open_chat("s", "one").await;
    stream.until("token").await;
    stream
}

#[tokio::test]
async fn queued_messages_run_in_order_after_the_work() {
    let world = held().await;
    let server = world.serve().await;
    let stream = begun(&server).await;
    let mut events = server.follow("/api/sessions/s/events").await;
    let (two, three) = (next(&server, "two", "k2").await, next(&server, "three", "k3").await);
    assert_eq!((&two["state"], &three["state"]), (&json!("queued"), &json!("queued")));
    assert_eq!(next(&server, "two", "k2").await["work_id"], two["work_id"], "the key is known");
    assert_eq!(queued(&server).await, ["two", "three"]);
    assert_eq!(world.asked().len(), 1, "nothing was interrupted");
    world.provider.open_gate("g");
    let first = stream.rest().await;
    let done = first.iter().find(|frame| frame.is("done")).unwrap();
    assert_eq!((&done.data["stop_reason"], &done.data["content"]), (&json!("done"), &json!("Half and half.")));
    eventually("all have run", async || world.asked().len() == 3).await;
    let history = server.settled("s").await;
    assert_eq!(questions(&history), ["one", "two", "three"]);
    assert_eq!(queued(&server).await, Vec::<String>::new());
    assert_eq!(history["messages"][2]["work_id"], two["work_id"], "the work has the id that was promised");
    let mut names = Vec::new();
    while names.iter().filter(|name| *name == "done").count() < 3 {
        names.push(events.next().await.unwrap().event);
    }
    let of_queue: Vec<&str> =
        names.iter().map(String::as_str).filter(|n| ["queued", "user_message"].contains(n)).collect();
    assert_eq!(of_queue, ["queued", "queued", "user_message", "user_message"]);
}

#[tokio::test]
async fn queued_message_can_be_edited_removed_and_sent_at_once() {
    let world = held().await;
    let server = world.serve().await;
    let stream = begun(&server).await;
    for (message, key) in [("two", "k2"), ("three", "k3"), ("four", "k4")] {
        next(&server, message, key).await;
    }
    let at = |key: &str| format!("/api/sessions/s/queue/{key}");
    let edited = server.put(&at("k3"), json!({"message": " drei "})).await.ok();
    assert_eq!(edited["queue"][1]["content"], "drei");
    assert_eq!(server.put(&at("k3"), json!({"message": " "})).await.refused(), (400, "empty".to_owned()));
    server.delete(&at("k2")).await.ok();
    assert_eq!(server.delete(&at("k2")).await.refused(), (404, "not_found".to_owned()));
    assert_eq!(queued(&server).await, ["drei", "four"]);
    server.post(&format!("{}/send", at("k4")), json!({})).await.ok();
    let first = stream.rest().await;
    assert_eq!(first.iter().find(|frame| frame.is("done")).unwrap().data["stop_reason"], "interrupted");
    eventually("both have run", async || world.asked().len() == 3).await;
    assert_eq!(questions(&server.settled("s").await), ["one", "four", "drei"]);
}

#[tokio::test]
async fn stopped_work_holds_the_queue_until_a_person_sends() {
    let world = held().await;
    let server = world.serve().await;
    let stream = begun(&server).await;
    next(&server, "two", "k2").await;
    server.post("/api/sessions/s/interrupt", json!({})).await.ok();
    stream.rest().await;
    server.settled("s").await;
    assert_eq!((queued(&server).await, world.asked().len()), (vec!["two".to_owned()], 1));
    assert_eq!(next(&server, "three", "k3").await["state"], "queued");
    eventually("both have run", async || world.asked().len() == 3).await;
    assert_eq!(questions(&server.settled("s").await), ["one", "two", "three"]);
}

#[tokio::test]
async fn queue_survives_kill_and_waits_for_a_person() {
    let world = held().await;
    {
        let server = world.serve().await;
        let _stream = begun(&server).await;
        next(&server, "two", "k2").await;
        // Dropping the server kills it.
        drop(server);
    }
    let server = world.serve().await;
    let history = server.settled("s").await;
    assert_eq!(queued(&server).await, ["two"]);
    assert_eq!(history["messages"][1]["stop_reason"], "interrupted");
    assert_eq!(world.asked().len(), 1, "nothing runs unasked after a crash");
    assert_eq!(next(&server, "two", "k2").await["state"], "queued", "the key is known after a restart");
    server.post("/api/sessions/s/queue/k2/send", json!({})).await.ok();
    eventually("it runs", async || world.asked().len() == 2).await;
    assert_eq!(questions(&server.settled("s").await), ["one", "two"]);
}

#[tokio::test]
async fn message_during_approval_denies_it_with_that_text() {
    let world = asking([run("touch ran.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(1).await.remove(0);
    let denied = next(&server, "Use pnpm instead", "k").await;
    assert_eq!((&denied["state"], &denied["work_id"]), (&json!("denied"), &asked["work_id"]));
    let frames = stream.rest().await;
    let result = frames.iter().find(|frame| frame.is("approval_result")).expect("a result");
    assert_eq!((&result.data["decision"], &result.data["reason"]), (&json!("denied"), &json!("Use pnpm instead")));
    assert_eq!(frames.iter().find(|frame| frame.is("done")).unwrap().data["stop_reason"], "done", "the run goes on");
    let history = server.settled("s").await;
    assert_eq!(questions(&history), ["go"], "it is no message of its own");
    assert!(world.asked()[1]["messages"].to_string().contains("Use pnpm instead"));
    assert!(!world.path("scratch/ran.txt").exists());
    assert_eq!(next(&server, "Use pnpm instead", "k").await["state"], "denied", "a repeated request changes nothing");
}

#[tokio::test]
async fn idle_session_runs_it_at_once_and_the_default_interrupts() {
    let world = held().await;
    let server = world.serve().await;
    assert_eq!(next(&server, "one", "k1").await["state"], "started");
    eventually("it runs", async || world.asked().len() == 1).await;
    let now = server.post(MESSAGES, json!({"message": "two"})).await.ok();
    assert_eq!(now["state"], "started");
    let history = server.settled("s").await;
    assert_eq!(history["messages"][1]["stop_reason"], "interrupted");
    assert_eq!(server.post(MESSAGES, json!({"message": "x", "when": "later"})).await.status(), 422);
}

#[tokio::test]
async fn chat_stream_follows_queued_message_or_ends_with_it() {
    let world = held().await;
    let server = world.serve().await;
    let stream = begun(&server).await;
    let body = |message: &str| json!({"message": message, "session_id": "s", "when": "next", "stream": false});
    let waiting = server.post("/api/chat", body("two"));
    let removed = server.post("/api/chat", body("three"));
    let meanwhile = async {
        eventually("both wait", async || queued(&server).await.len() == 2).await;
        let history = server.get("/api/sessions/s/history").await.ok();
        let three = history["queue"].as_array().unwrap().iter().find(|queued| queued["content"] == "three").unwrap();
        server.delete(&format!("/api/sessions/s/queue/{}", three["id"].as_str().unwrap())).await.ok();
        world.provider.open_gate("g");
        stream.rest().await;
    };
    let (waiting, removed, ()) = futures_util::future::join3(waiting, removed, meanwhile).await;
    assert_eq!(waiting.ok()["content"], "Two.");
    assert_eq!(removed.refused(), (409, "unqueued".to_owned()));
}

#[tokio::test]
async fn full_queue_refuses_more() {
    let world = held().await;
    let server = world.serve().await;
    let _stream = begun(&server).await;
    for number in 0..20 {
        next(&server, "more", &format!("k{number}")).await;
    }
    let more = server.post(MESSAGES, json!({"message": "one too many", "when": "next"})).await;
    assert_eq!(more.refused(), (409, "queue_full".to_owned()));
}
