//! `POST /api/chat`: the frames, their order and fields, and the files on disk afterwards.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::script::{TITLE, always, call, calls, says, script, steps};
use crate::world::{World, eventually};

/// Returns the frames' data without the values that differ between runs.
pub fn shapes(frames: &[Frame]) -> Vec<Value> {
    frames
        .iter()
        .map(|frame| {
            assert_eq!(frame.data["type"], frame.event.as_str(), "the type is the event's name");
            redacted(frame.data.clone())
        })
        .collect()
}

/// Replaces ids and times by placeholders.
pub fn redacted(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let is_time = matches!(name.as_str(), "created_at" | "updated_at" | "finished_at" | "started_at");
                let is_id = matches!(name.as_str(), "work_id" | "message_id" | "last_event_id");
                *field = match name.as_str() {
                    "duration_ms" => json!("…ms"),
                    // Also counts text chunks, of which a slow machine produces more.
                    "seq" => json!("<seq>"),
                    // The body contains the time and the tools.
                    "sha256" => json!("<sha256>"),
                    _ if is_time => json!("…"),
                    _ if is_id => json!(format!("<{name}>")),
                    "id" if field.as_str().is_some_and(|id| id.contains('-')) => json!("<id>"),
                    _ => redacted(field.take()),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = redacted(item.take())),
        _ => {}
    }
    value
}

pub fn usage() -> Value {
    json!({"type": "usage", "input_tokens": 1, "output_tokens": 1, "cached_tokens": 0, "context_window": 32768,
           "left_out": 0})
}

pub fn user_message(content: &str) -> Value {
    json!({"type": "user_message", "work_id": "<work_id>", "message_id": "<message_id>", "content": content,
           "model": "mock"})
}

pub fn done(content: &str) -> Value {
    json!({"type": "done", "content": content, "session_id": "s", "work_id": "<work_id>", "stop_reason": "done"})
}

fn token(content: &str) -> Value {
    json!({"type": "token", "content": content})
}

fn title() -> Value {
    json!({"type": "title", "session_id": "s", "title": TITLE})
}

#[tokio::test]
async fn plain_answer_is_tokens_usage_done_and_title() {
    let world = World::new(script([says(["Hel", "lo"])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.head.header("x-session-id"), Some("s"));
    let mut frames = stream.until("done").await;
    frames.extend(stream.rest().await);
    let expected = [user_message("hi"), token("Hel"), token("lo"), usage(), done("Hello"), title()];
    assert_eq!(shapes(&frames), expected);
    let ids: Vec<_> = frames.iter().map(|frame| frame.id.clone().expect("every frame has an id")).collect();
    let numbers: Vec<u64> = ids.iter().map(|id| id.rsplit_once('.').unwrap().1.parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{ids:?}");
}

#[tokio::test]
async fn only_long_tool_input_is_streamed() {
    let long = format!("true {}", "x".repeat(1024));
    let asked = [call("a", "terminal", json!({"command": "true"})), call("b", "terminal", json!({"command": long}))];
    let world = World::new(script([calls(asked), says(["Done."])])).await;
    let server = world.serve().await;
    let frames = server.open_chat("s", "go").await.until("done").await;
    let told: Vec<_> = frames.iter().filter(|frame| frame.is("status")).collect();
    let words: Vec<_> = told.iter().map(|frame| (&frame.data["kind"], &frame.data["message"])).collect();
    assert_eq!(words, [(&json!("writing_input"), &json!("Writing the input of terminal: 1.0 KB"))]);
    let writing = &told[0].data["writing"];
    assert_eq!(writing["tool"], "terminal");
    assert!(writing["bytes"].as_u64().unwrap() >= 1024, "{writing}");
    let at = |event: &str| frames.iter().position(|frame| frame.is(event)).unwrap();
    assert!(at("status") < at("tool_start"), "{frames:?}");
}

#[tokio::test]
async fn text_after_tool_call_is_its_own_message() {
    let first = steps([
        json!({"thinking": "Let me look."}),
        json!({"text": "I look."}),
        call("c1", "read_file", json!({"path": "knowledge/a.md", "limit": 5})),
        json!({"finish": "tool_calls"}),
    ]);
    let second = calls([call("c2", "search_knowledge_base", json!({"query": "alpha"}))]);
    let world = World::new(script([first, second, says(["Found."])])).await.with_file("knowledge/a.md", "alpha beta\n");
    let server = world.serve().await;
    let frames = server.chat("s", "look").await;
    let names: Vec<&str> = frames.iter().map(|frame| frame.event.as_str()).collect();
    let expected = [
        "user_message",
        "thinking",
        "token",
        "usage",
        "tool_start",
        "tool_end",
        "usage",
        "tool_start",
        "tool_end",
        "new_response",
        "token",
        "usage",
        "done",
        "title",
    ];
    assert_eq!(names, expected);
    let shapes = shapes(&frames);
    assert_eq!(shapes[1], json!({"type": "thinking", "content": "Let me look."}));
    let arguments = json!({"path": "knowledge/a.md", "limit": 5});
    assert_eq!(
        shapes[4],
        json!({"type": "tool_start", "tool": "read_file", "input": arguments.to_string(), "id": "c1",
               "arguments": arguments, "index": 0, "dialogue": 0})
    );
    assert_eq!(shapes[5]["output"].as_str().map(|output| output.contains("alpha beta")), Some(true), "{}", shapes[5]);
    let mut keys: Vec<&String> = shapes[5].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["duration_ms", "id", "operation_code", "output", "result", "status", "taint", "tool", "type"]);
    assert_eq!(shapes[5]["taint"], json!([{"from": "document", "name": "knowledge/a.md"}]));
    assert_eq!((&shapes[5]["status"], &shapes[8]["tool"]), (&json!("done"), &json!("search_knowledge_base")));
    assert_eq!(shapes[7]["dialogue"], 1);
    assert_eq!(shapes[9], json!({"type": "new_response"}));
    assert_eq!(shapes[12], done("I look.\n\nFound."));

    server.settled("s").await;
    let messages = world.session("s")["messages"].take();
    let roles: Vec<_> = messages.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "assistant"]);
    assert_eq!(messages[1]["content"], "I look.");
    assert_eq!(messages[1]["thinking"], "Let me look.");
    // All arguments are kept, not only the first.
    assert_eq!(messages[1]["tool_calls"][0]["arguments"], arguments);
    assert_eq!(messages[1]["tool_calls"][0]["input"], arguments.to_string());
    assert_eq!(messages[1]["tool_calls"][1]["tool"], "search_knowledge_base");
    assert_eq!(messages[2]["content"], "Found.");
}

#[tokio::test]
async fn rag_mode_shows_hits_and_does_not_store_them() {
    let world = World::new(script([says(["Pingu."]), says(["Yes."])]))
        .await
        .with_file("memory/MEMORY.md", "# Pets\n\nThe penguin is called Pingu.\n");
    let server = world.serve().await;
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    let frames = server.chat("s", "What is the penguin called?").await;
    let names: Vec<&str> = frames.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(names, ["user_message", "retrieval", "token", "usage", "done", "title"]);
    let found = &frames[1].data;
    assert_eq!(found["query"], "What is the penguin called?");
    assert_eq!(found["results"][0]["source"], "memory/MEMORY.md");
    assert!(found["results"][0]["text"].as_str().unwrap().contains("Pingu"), "{found}");
    assert!(found["results"][0]["score"].is_number());

    let request = &world.asked()[0];
    let system = request["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("[记忆检索结果]") && !system.contains("Pingu"), "{system}");
    let text = request["messages"].to_string();
    assert_eq!(text.matches("called Pingu").count(), 1, "{text}");
    server.settled("s").await;
    assert!(!world.read("sessions/s.json").contains("记忆检索结果"));
    server.put("/api/config/rag-mode", json!({"enabled": false})).await.ok();
    server.chat("s", "Sure?").await;
    let messages = world.asked()[1]["messages"].clone();
    let after_system: Value = messages.as_array().unwrap()[1..].iter().cloned().collect();
    assert!(!after_system.to_string().contains("记忆检索结果"), "{after_system}");
}

#[tokio::test]
async fn answer_without_stream_is_one_object() {
    let world =
        World::new(script([calls([call("c", "read_file", json!({"path": "workspace/SOUL.md"}))]), says(["So."])]))
            .await;
    let server = world.serve().await;
    let answer = server.post("/api/chat", json!({"message": "who are you?", "stream": false})).await;
    let session = answer.head.header("x-session-id").expect("the new session's id").to_owned();
    let body = answer.ok();
    assert_eq!((&body["content"], &body["stop_reason"]), (&json!("So."), &json!("done")));
    assert_eq!(body["session_id"], session.as_str());
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "assistant"]);
}

#[tokio::test]
async fn first_exchange_makes_title_unless_person_set_one() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    assert_eq!(server.chat("s", "one").await.last().unwrap().event, "title");
    assert_eq!(server.chat("s", "two").await.last().unwrap().event, "done");
    let made = server.post("/api/sessions", json!({"title": "My own"})).await.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.chat(&made, "three").await.last().unwrap().event, "done");
    assert_eq!(server.get(&format!("/api/sessions/{made}/history")).await.ok()["title"], "My own");
    let asked = server.post("/api/sessions/s/generate-title", json!({})).await.ok();
    assert_eq!(asked, json!({"session_id": "s", "title": TITLE}));
}

#[tokio::test]
async fn title_has_at_most_six_words_or_ten_chinese_characters() {
    let said = |title: &str| json!({"match": "Give this", "steps": [{"text": title}, {"finish": "stop"}]});
    let long = "\"A very long title about many different penguins.\"";
    let replies = [said(long), said("《关于南极洲企鹅的生活习性与迁徙》"), always(says(["Yes."]))];
    let whole = miniclaw::provider::scripted::Script::from_value(&json!({"replies": replies})).unwrap();
    let world = World::new(whole).await;
    let server = world.serve().await;
    let title = async |session: &str| server.chat(session, "hi").await.last().unwrap().data["title"].clone();
    assert_eq!(title("a").await, "A very long title about many");
    let chinese = title("b").await.as_str().unwrap().to_owned();
    assert_eq!(chinese.chars().count(), 10, "{chinese}");
}

#[tokio::test]
async fn failed_work_ends_with_one_error() {
    let refused = json!({"steps": [{"status": 401}]});
    let world = World::new(script([refused, says(["Better."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    let names: Vec<&str> = frames.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(names, ["user_message", "error"]);
    let error = &frames[1].data;
    let mut keys: Vec<&String> = error.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["about", "code", "error", "retryable", "session_id", "type", "work_id"]);
    assert!(error["error"].as_str().unwrap().contains("API key"), "says what to look at: {error}");
    assert_eq!(world.asked().len(), 1, "a wrong key is not tried again");
    server.settled("s").await;
    let last = world.session("s")["messages"][1].take();
    assert_eq!((&last["stop_reason"], &last["error"]), (&json!("error"), &error["error"]));
    assert!(server.chat("s", "again").await.iter().any(|frame| frame.is("done")));
}

#[tokio::test]
async fn text_before_connection_loss_is_kept() {
    let broken = steps([json!({"text": "Half an ans"}), json!({"close": true})]);
    let world = World::new(script([broken, says(["Whole."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    let terminal: Vec<_> = frames.iter().filter(|frame| frame.is("done") || frame.is("error")).collect();
    assert_eq!((terminal.len(), terminal[0].event.as_str()), (1, "error"));
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"][1]["content"], "Half an ans");
    server.chat("s", "go on").await;
}

#[tokio::test]
async fn new_message_interrupts_run_and_goes_next() {
    let held = steps([json!({"text": "Half"}), json!({"gate": "never"}), json!({"finish": "stop"})]);
    let world = World::new(script([held, says(["Next."])])).await;
    let server = world.serve().await;
    let mut first = server.open_chat("s", "hi").await;
    first.until("token").await;
    let second = server.chat("s", "rather this").await;
    let end = second.iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!((&end.data["content"], &end.data["stop_reason"]), (&json!("Next."), &json!("done")));
    let first = first.rest().await;
    let end = first.iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!((&end.data["content"], &end.data["stop_reason"]), (&json!("Half"), &json!("interrupted")));
    let messages = server.settled("s").await["messages"].take();
    let said: Vec<_> = messages.as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["hi", "Half", "rather this", "Next."]);
    assert!(world.asked()[1]["messages"].to_string().contains("Half"), "what was said is kept");
}

#[tokio::test]
async fn busy_session_is_not_compressed() {
    let world =
        World::new(script([steps([json!({"text": "a"}), json!({"gate": "g"}), json!({"finish": "stop"})])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    let busy = (409, "busy".to_owned());
    assert_eq!(server.post("/api/sessions/s/compress", json!({})).await.refused(), busy);
    let list = server.get("/api/sessions").await.ok();
    assert_eq!(list["sessions"][0]["state"], "running");
    assert_eq!(server.get("/api/status").await.ok()["running"], json!(["s"]));
    world.provider.open_gate("g");
    stream.until("done").await;
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn concurrent_messages_persist_and_latest_wins() {
    let held = steps([json!({"gate": "g"}), json!({"text": "a"}), json!({"finish": "stop"})]);
    let world = World::new(script([always(held)])).await;
    let server = world.serve().await;
    let all = (0..50).map(|n| server.post("/api/sessions/s/messages", json!({"message": format!("m{n}")})));
    let said = futures_util::future::join_all(all).await;
    assert!(
        said.iter().all(|answer| answer.status() == 202),
        "{:?}",
        said.iter().map(|a| a.status()).collect::<Vec<_>>()
    );
    world.provider.open_gate("g");
    let messages = server.settled("s").await["messages"].take();
    let of =
        |role: &str| messages.as_array().unwrap().iter().filter(|m| m["role"] == role).cloned().collect::<Vec<_>>();
    let mut asked: Vec<String> = of("user").iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect();
    asked.sort_by_key(|text| text[1..].parse::<u32>().unwrap());
    assert_eq!(asked, (0..50).map(|n| format!("m{n}")).collect::<Vec<_>>(), "each once");
    let interrupted = of("assistant").iter().filter(|m| m["stop_reason"] == "interrupted").count();
    assert_eq!((interrupted, of("assistant").last().unwrap()["content"].clone()), (49, json!("a")));
}

#[tokio::test]
async fn idempotency_key_deduplicates_message() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let body = json!({"message": "hi", "idempotency_key": "k1"});
    let first = server.post("/api/sessions/s/messages", body.clone()).await;
    assert_eq!(first.status(), 202);
    assert_eq!(server.post("/api/sessions/s/messages", body.clone()).await.ok(), first.json());
    server.settled("s").await;
    assert_eq!(server.post("/api/sessions/s/messages", body).await.ok(), first.json());
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 2);
    server.post("/api/sessions/s/messages", json!({"message": "hi", "idempotency_key": "k2"})).await.ok();
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn message_and_answer_are_durable_before_they_count() {
    let world = World::new(script([steps([
        json!({"gate": "g"}),
        json!({"text": "An"}),
        json!({"text": "swer"}),
        json!({"finish": "stop"}),
    ])]))
    .await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "a question to keep").await;
    eventually("the model is asked", async || world.asked().len() == 1).await;
    assert!(world.read("sessions/s.journal").contains("a question to keep"));
    world.provider.open_gate("g");
    stream.until("done").await;
    // Without a clean shutdown: everything before `done` is on disk.
    drop(server);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][1]["content"], "Answer", "{history}");
    assert_eq!(history["messages"][1].get("stop_reason"), None);
}

#[tokio::test]
async fn empty_or_oversized_message_is_refused() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let refused = async |body: Value| server.post("/api/chat", body).await.refused();
    assert_eq!(refused(json!({"message": "  \n"})).await, (400, "empty_message".to_owned()));
    assert_eq!(refused(json!({"message": "x".repeat((1 << 20) + 1)})).await, (413, "too_large".to_owned()));
    assert_eq!(refused(json!({"message": "hi", "session_id": "../s"})).await, (400, "bad_session_id".to_owned()));
    assert_eq!(refused(json!({"message": 3})).await.0, 422);
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"], json!([]));
    assert_eq!(world.provider.requests().len(), 0);
}
