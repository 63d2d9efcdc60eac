//! Continuing an answer that ended before it was complete: in place, without a new message.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script, steps};
use crate::world::{Server, World, eventually};

const CONTINUE: &str = "/api/sessions/s/continue";

async fn continued(server: &Server<'_>) -> Value {
    let receipt = server.post(CONTINUE, json!({})).await.ok();
    let history = server.settled("s").await;
    assert_eq!(history["messages"].as_array().unwrap().last().unwrap()["work_id"], receipt["work_id"]);
    history
}

fn texts(messages: &Value) -> Vec<(&str, &str)> {
    let text = |message: &Value, field: &str| message[field].as_str().map(str::to_owned).unwrap_or_default();
    let messages = messages.as_array().unwrap();
    assert!(messages.iter().all(|message| !text(message, "role").is_empty()));
    messages.iter().map(|m| (m["role"].as_str().unwrap(), m["content"].as_str().unwrap_or_default())).collect()
}

#[tokio::test]
async fn cut_answer_goes_on_in_the_same_message() {
    let cut = steps([json!({"text": "Once upon a ti"}), json!({"finish": "length"})]);
    let world = World::new(script([cut, says(["me there was."]), says(["Next."])])).await;
    let server = world.serve().await;
    server.chat("s", "a story").await;
    assert_eq!(server.settled("s").await["messages"][1]["stop_reason"], "length");
    let mut events = server.follow("/api/sessions/s/events").await;
    let history = continued(&server).await;
    assert_eq!(texts(&history["messages"]), [("user", "a story"), ("assistant", "Once upon a time there was.")]);
    assert_eq!(history["messages"][1]["stop_reason"], Value::Null);
    assert_eq!(events.next().await.unwrap().event, "work_continued");
    let asked = world.asked();
    let sent = asked[1]["messages"].as_array().unwrap();
    assert_eq!(sent[sent.len() - 2]["content"], "Once upon a ti");
    let instruction = sent[sent.len() - 1].clone();
    assert_eq!(instruction["role"], "user");
    assert!(instruction["content"].as_str().unwrap().contains("Continue it exactly where it stopped"));
    server.chat("s", "go on").await;
    let third = world.asked()[2]["messages"].to_string();
    assert!(!third.contains("exactly where it stopped"), "the instruction is part of one request only: {third}");
    let requests = server.get("/api/sessions/s/requests").await.ok();
    assert_eq!(requests["requests"].as_array().unwrap().len(), 3, "each request can be looked at");
}

#[tokio::test]
async fn failed_answer_is_requested_again_without_a_second_question() {
    let refused = json!({"steps": [{"status": 401}]});
    let world = World::new(script([refused, says(["Now."])])).await;
    let server = world.serve().await;
    server.chat("s", "why?").await;
    let history = server.settled("s").await;
    assert!(history["messages"][1]["error"].is_string());
    let work = history["messages"][0]["work_id"].clone();
    let history = continued(&server).await;
    assert_eq!(texts(&history["messages"]), [("user", "why?"), ("assistant", "Now.")]);
    assert_eq!((&history["messages"][1]["work_id"], &history["failures"]), (&work, &Value::Null));
    let sent = world.asked()[1]["messages"].clone();
    assert_eq!(
        sent.as_array().unwrap().last().unwrap()["content"],
        "why?",
        "nothing was said, so nothing is continued"
    );
    assert!(history.get("branches").is_none());
}

#[tokio::test]
async fn stopped_work_with_calls_continues_after_their_results() {
    let slow = call("c", "terminal", json!({"command": "echo begun; sleep 4713"}));
    let world = World::new(script([calls([slow]), says(["So."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "go").await;
    stream.until("tool_start").await;
    server.post("/api/sessions/s/interrupt", json!({})).await.ok();
    stream.rest().await;
    server.settled("s").await;
    let history = continued(&server).await;
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "cancelled");
    assert_eq!(texts(&history["messages"]).last(), Some(&("assistant", "So.")));
    let sent = world.asked()[1]["messages"].clone();
    assert_eq!(sent.as_array().unwrap().last().unwrap()["role"], "tool");
}

#[tokio::test]
async fn round_limit_is_granted_again() {
    let look = || calls([call("c", "read_file", json!({"path": "workspace/SOUL.md"}))]);
    let world = World::new(script([look(), look(), says(["Done."])])).await;
    world.write("config.yml", "max_iterations: 1\n");
    let server = world.serve().await;
    server.chat("s", "go").await;
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().last().unwrap()["stop_reason"], "limit");
    let history = continued(&server).await;
    assert_eq!(history["messages"].as_array().unwrap().last().unwrap()["stop_reason"], "limit", "one more round");
    assert_eq!(world.asked().len(), 2);
    let history = continued(&server).await;
    assert_eq!(texts(&history["messages"]).last(), Some(&("assistant", "Done.")));
}

#[tokio::test]
async fn complete_or_running_answer_cannot_be_continued() {
    let held = steps([json!({"text": "a"}), json!({"gate": "g"}), json!({"finish": "stop"})]);
    let world = World::new(script([says(["Yes."]), held])).await;
    let server = world.serve().await;
    assert_eq!(server.post(CONTINUE, json!({})).await.refused().0, 404, "there is no such session");
    server.chat("s", "hi").await;
    server.settled("s").await;
    assert_eq!(server.post(CONTINUE, json!({})).await.refused(), (409, "nothing_to_continue".to_owned()));
    let stream = server.open_chat("s", "more").await;
    eventually("it runs", async || world.asked().len() == 2).await;
    assert_eq!(server.post(CONTINUE, json!({})).await.refused(), (409, "busy".to_owned()));
    world.provider.open_gate("g");
    stream.rest().await;
}

#[tokio::test]
async fn kill_while_continuing_keeps_the_text() {
    let cut = steps([json!({"text": "Half "}), json!({"finish": "length"})]);
    let more = steps([json!({"text": "a thought"}), json!({"gate": "never"})]);
    let world = World::new(script([cut, more])).await;
    {
        let server = world.serve().await;
        server.chat("s", "hi").await;
        server.settled("s").await;
        let mut events = server.follow("/api/sessions/s/events").await;
        server.post(CONTINUE, json!({})).await.ok();
        events.until("token").await;
        // Dropping the server kills it.
        drop(server);
    }
    let server = world.serve().await;
    let history = server.settled("s").await;
    let answer = &history["messages"][1];
    assert!(answer["content"].as_str().unwrap().starts_with("Half "), "{answer}");
    assert_eq!(answer["stop_reason"], "interrupted");
}
