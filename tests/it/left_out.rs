//! The size of the next request, and what it leaves out: the meter, the X-ray and the request that is sent agree.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::{CONFIG, Server, World};

const WINDOW: u64 = 9000;

/// Returns a world with a model of 9,000 tokens.
async fn world() -> World {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let address = world.provider.base_url.as_str();
    let models = format!(
        "models:\n  - {{id: small, api_url: '{address}', api_key: x, model: small, context_window: {WINDOW}}}\n"
    );
    world.write("config.yml", format!("{CONFIG}{models}"));
    world
}

fn write(world: &World, id: &str, messages: &[Value], summary: Option<&str>) {
    let session = json!({"title": "Long", "created_at": 1, "updated_at": 1, "messages": messages,
                         "chosen": {"model": "other/small"}, "compressed_context": summary});
    world.write(&format!("sessions/{id}.json"), session.to_string());
}

async fn tokens(server: &Server<'_>, session: &str, message: &str) -> Value {
    server.post("/api/tokens/request", json!({"session_id": session, "message": message})).await.ok()
}

/// Returns the last request that was sent.
async fn sent(server: &Server<'_>, session: &str) -> Value {
    let list = server.get(&format!("/api/sessions/{session}/requests")).await.ok();
    let name = list["requests"].as_array().unwrap().last().unwrap()["name"].clone();
    server.get(&format!("/api/sessions/{session}/requests/{}", name.as_str().unwrap())).await.ok()
}

fn exchanges(count: usize) -> Vec<Value> {
    let exchange = |n: usize| {
        let question = json!({"role": "user", "content": format!("Question {n}"), "id": format!("q{n}")});
        [question, json!({"role": "assistant", "content": "word ".repeat(100), "id": format!("a{n}")})]
    };
    (0..count).flat_map(exchange).collect()
}

#[tokio::test]
async fn left_out_messages_are_reported_and_answer_is_marked() {
    let world = world().await;
    write(&world, "s", &exchanges(150), None);
    let server = world.serve().await;
    let size = tokens(&server, "s", "And now?").await;
    let left_out = size["left_out"].as_u64().unwrap();
    assert!(left_out > 100 && left_out.is_multiple_of(2), "{size}");
    assert_eq!(size["first_sent"], format!("q{}", left_out / 2));
    let (total, limit) = (size["total_tokens"].as_u64().unwrap(), size["limit_tokens"].as_u64().unwrap());
    assert_eq!((&size["context_window"], limit), (&json!(WINDOW), WINDOW - WINDOW / 4));
    assert!(total <= limit && total + 120 > limit, "the next exchange would not have fit: {size}");

    let frames = server.chat("s", "And now?").await;
    let usage = frames.iter().find(|frame| frame.data["type"] == "usage").unwrap();
    assert_eq!(usage.data["left_out"], left_out);
    let history = server.settled("s").await;
    assert_eq!(history["works"][0]["left_out"], left_out);
    assert_eq!(world.session("s")["works"][0]["left_out"], left_out);
    assert_eq!(sent(&server, "s").await["left_out"], left_out);
}

#[tokio::test]
async fn draft_and_its_files_count_towards_limit() {
    let world = world().await;
    write(&world, "s", &exchanges(3), None);
    let server = world.serve().await;
    let empty = tokens(&server, "s", "").await;
    assert_eq!((&empty["left_out"], &empty["first_sent"]), (&json!(0), &Value::Null));
    assert_eq!(server.get("/api/tokens/session/s").await.ok(), empty);
    let draft = json!({"session_id": "s", "message": "hi", "attachment_tokens": 6700});
    let full = server.post("/api/tokens/request", draft).await.ok();
    assert_eq!(full["attachment_tokens"], 6700);
    assert_eq!((&full["left_out"], &full["first_sent"]), (&json!(6), &json!("m6")), "only the draft fits: {full}");
    let new = server.post("/api/tokens/request", json!({"message": "hi"})).await.ok();
    assert_eq!((&new["message_tokens"], &new["left_out"]), (&json!(5), &json!(0)));
    let none = server.post("/api/tokens/request", json!({"session_id": "none", "message": "hi"})).await;
    assert_eq!(none.refused().0, 404);
}

#[tokio::test]
async fn memory_of_unsent_question_is_estimated_by_its_cap() {
    let world =
        world().await.with_file("config.json", r#"{"rag_mode": true}"#).with_file("memory/a.md", "# Tea\nGreen tea.\n");
    write(&world, "s", &exchanges(1), None);
    let server = world.serve().await;
    let draft = tokens(&server, "s", "Which tea?").await;
    let cap = draft["retrieved_tokens"].as_u64().unwrap();
    let prompt = server.get("/api/prompt?session_id=s").await.ok();
    assert_eq!((&prompt["retrieved_tokens"], cap), (&json!(cap), 3 * (256 + 30)));
    server.chat("s", "Which tea?").await;
    let detail = sent(&server, "s").await;
    let pieces = detail["pieces"].as_array().unwrap();
    let found = pieces.iter().find(|piece| piece["origin"] == "retrieval").unwrap()["tokens"].as_u64().unwrap();
    assert!(found > 0 && found < cap, "{found}");
    assert_eq!(detail["total_tokens"].as_u64().unwrap() - found, draft["total_tokens"].as_u64().unwrap() - cap);
}

fn text() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof!["[a-zA-Z ,.]{0,40}", "[一-十]{0,30}", Just("🐧\n\n```rust\nfn main() {}\n```\n".to_owned())];
    (piece, 1..60usize).prop_map(|(piece, times)| format!("x{}", piece.repeat(times)))
}

fn message() -> impl Strategy<Value = Value> {
    let call = json!({"tool": "read_file", "id": "c", "arguments": {"path": "memory/a.md"}, "output": "alpha\n"});
    prop_oneof![
        3 => text().prop_map(|content| json!({"role": "user", "content": content})),
        3 => text().prop_map(|content| json!({"role": "assistant", "content": content})),
        1 => text().prop_map(move |content| json!({"role": "assistant", "content": content, "tool_calls": [call]})),
    ]
}

#[tokio::test]
async fn meter_xray_and_sent_request_agree_to_the_token() {
    let world = world().await;
    let mut runner = TestRunner::deterministic();
    let conversation = (vec(message(), 0..120), proptest::option::of(text()), text());
    let cases: Vec<_> = (0..16).map(|_| conversation.new_tree(&mut runner).unwrap().current()).collect();
    for (n, (messages, summary, _)) in cases.iter().enumerate() {
        let named = |(m, message): (usize, &Value)| {
            let mut message = message.clone();
            message["id"] = json!(format!("m{m}"));
            message
        };
        let messages: Vec<_> = messages.iter().enumerate().map(named).collect();
        write(&world, &format!("s{n}"), &messages, summary.as_deref());
    }
    let server = world.serve().await;
    let (mut shortened, mut pinned) = (0, 0);
    for (n, (.., question)) in cases.iter().enumerate() {
        let id = format!("s{n}");
        let history = server.get(&format!("/api/sessions/{id}/history")).await.ok();
        for message in history["messages"].as_array().unwrap().iter().step_by(9) {
            // Some have no text, or are too long.
            server
                .put(&format!("/api/sessions/{id}/messages/{}/pin", message["id"].as_str().unwrap()), Value::Null)
                .await;
        }
        let meter = server.get(&format!("/api/tokens/session/{id}")).await.ok();
        let prompt = server.get(&format!("/api/prompt?session_id={id}")).await.ok();
        for (of_meter, of_prompt) in
            [("total_tokens", "total_tokens"), ("message_tokens", "message_tokens"), ("left_out", "left_out")]
        {
            assert_eq!(meter[of_meter], prompt[of_prompt], "{id}");
        }
        let draft = tokens(&server, &id, question).await;
        server.chat(&id, question).await;
        server.settled(&id).await;
        let sent = sent(&server, &id).await;
        assert_eq!((&sent["total_tokens"], &sent["left_out"]), (&draft["total_tokens"], &draft["left_out"]), "{id}");
        assert!(draft["total_tokens"].as_u64() <= draft["limit_tokens"].as_u64(), "{id}: {draft}");
        shortened += usize::from(draft["left_out"].as_u64() > Some(0));
        pinned += usize::from(sent.to_string().contains("以下是用户固定的消息"));
    }
    assert!(pinned > 0, "no request contained a pinned message");
    assert!(shortened > 0 && shortened < cases.len(), "{shortened} of {} conversations were shortened", cases.len());
}
