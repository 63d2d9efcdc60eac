//! The Responses API: items, streams that resume, conversations, and what is kept.

use serde_json::{Value, json};

use crate::http::{Frame, open};
use crate::openai_client::{Program, session_of};
use crate::script::{call, calls, says, script, steps};
use crate::world::{Server, World, eventually};

async fn respond(program: &Program<'_, '_>, body: Value) -> Value {
    program.post("/v1/responses", with_model(body)).await.ok()
}

fn with_model(mut body: Value) -> Value {
    if body.get("model").is_none() {
        body["model"] = "miniclaw".into();
    }
    body
}

fn text_of(response: &Value) -> String {
    let messages = response["output"].as_array().unwrap().iter().filter(|item| item["type"] == "message");
    messages.map(|item| item["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// Opens a stream of events: of a new response, or of one that there is.
async fn opened(program: &Program<'_, '_>, (method, path): (&str, &str), body: &[u8]) -> crate::http::Incoming {
    let request = program.server.request(method, path, &program.headers(&[]), body);
    let incoming = open(program.server.address, &request).await;
    assert_eq!(incoming.head.status, 200);
    incoming
}

async fn events_of(program: &Program<'_, '_>, mut body: Value) -> Vec<Frame> {
    body["stream"] = true.into();
    opened(program, ("POST", "/v1/responses"), with_model(body).to_string().as_bytes()).await.rest().await
}

fn deltas(events: &[Frame]) -> String {
    let texts = events.iter().filter(|event| event.is("response.output_text.delta"));
    texts.map(|event| event.data["delta"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn response_has_the_items_of_the_work() {
    let read = steps([
        json!({"thinking": "Hm."}),
        json!({"text": "I look."}),
        call("c1", "read_file", json!({"path": "memory/MEMORY.md"})),
        json!({"usage": {"prompt_tokens": 4, "completion_tokens": 2}}),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([read, says(["Do", "ne."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let response = respond(&program, json!({"input": "hi", "instructions": "Be brief.", "top_k": 4})).await;
    let kinds: Vec<_> = response["output"].as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
    assert_eq!(kinds, ["reasoning", "message", "miniclaw:tool_call", "message"]);
    assert_eq!((&response["status"], &response["object"]), (&json!("completed"), &json!("response")));
    assert_eq!(text_of(&response), "I look.Done.");
    assert!(response["usage"]["input_tokens"].as_u64().unwrap() >= 4, "{response}");
    let prompt = world.asked()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(prompt.ends_with("<!-- Client -->\nBe brief."), "{prompt}");
    let id = response["id"].as_str().unwrap();
    let read = program.get(&format!("/v1/responses/{id}")).await.ok();
    assert_eq!((&read["output"], &read["status"]), (&response["output"], &response["status"]));
    let items = program.get(&format!("/v1/responses/{id}/input_items")).await.ok();
    assert_eq!(items["data"][0]["content"][0]["text"], "hi");
}

#[tokio::test]
async fn responses_follow_each_other_in_one_session() {
    let world = World::new(script((1..=5).map(|n| says([&*format!("answer {n}")])))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let first = respond(&program, json!({"input": "one"})).await;
    let second = respond(&program, json!({"input": "two", "previous_response_id": first["id"]})).await;
    // Another message after the first one is a branch.
    let other = respond(&program, json!({"input": "zwei", "previous_response_id": first["id"]})).await;
    assert_eq!((text_of(&second), text_of(&other)), ("answer 2".to_owned(), "answer 3".to_owned()));
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("answer 1") && !sent.contains("answer 2"), "{sent}");
    let listed = server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len();
    assert_eq!(listed, 1);
    let in_conversation = async |text: &str| {
        program.post("/v1/responses", with_model(json!({"input": text, "conversation": "conv 1"}))).await
    };
    let (a, b) = (in_conversation("a").await, in_conversation("b").await);
    assert_eq!(session_of(&a), session_of(&b));
    let missing = json!({"input": "x", "model": "miniclaw", "previous_response_id": "resp_nothing"});
    let refused = program.post("/v1/responses", missing).await;
    assert_eq!((refused.status(), &refused.json()["error"]["param"]), (404, &json!("previous_response_id")));
}

#[tokio::test]
async fn stream_of_a_response_resumes_after_any_event() {
    let world = World::new(script([steps([
        json!({"thinking": "Hm."}),
        json!({"text": "One "}),
        json!({"text": "twö "}),
        json!({"text": "three."}),
        json!({"finish": "stop"}),
    ])]))
    .await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let events = events_of(&program, json!({"input": "count"})).await;
    let names: Vec<_> = events.iter().map(|event| event.event.as_str()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("response.created", "response.completed"));
    assert_eq!(deltas(&events), "One twö three.");
    let numbers: Vec<_> = events.iter().map(|event| event.data["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let last = events.last().unwrap().data["response"].clone();
    let id = last["id"].as_str().unwrap().to_owned();
    let listed = server.get("/api/sessions").await.ok();
    server.settled(listed["sessions"][0]["id"].as_str().unwrap()).await;
    let bearer = program.bearer.clone();
    drop(server);
    let server = world.serve().await;
    let program = Program { server: &server, bearer };
    for (cut, number) in numbers.iter().enumerate() {
        let path = format!("/v1/responses/{id}?stream=true&starting_after={number}");
        let rest = opened(&program, ("GET", &path), b"").await.rest().await;
        assert_eq!(deltas(&events[..=cut]) + &deltas(&rest), "One twö three.", "after {number}");
        assert!(rest.iter().all(|event| event.data["sequence_number"].as_u64().unwrap() > *number));
        if let Some(end) = rest.last() {
            assert_eq!(end.data["response"]["output"], last["output"]);
        }
    }
}

#[tokio::test]
async fn background_response_outlives_its_request() {
    let held =
        steps([json!({"text": "Half"}), json!({"gate": "go"}), json!({"text": " done"}), json!({"finish": "stop"})]);
    let endless = steps([json!({"text": "On"}), json!({"gate": "never"})]);
    let world = World::new(script([held, endless])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let begun = respond(&program, json!({"input": "work", "background": true})).await;
    assert_eq!((&begun["status"], &begun["background"]), (&json!("in_progress"), &json!(true)));
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    let mut stream = opened(&program, ("GET", &format!("{path}?stream=true")), b"").await;
    stream.until("response.output_text.delta").await;
    drop(stream);
    world.provider.open_gate("go");
    let mut read = Value::Null;
    eventually("it completes", async || {
        read = program.get(&path).await.ok();
        read["status"] == "completed"
    })
    .await;
    assert_eq!(text_of(&read), "Half done");

    let begun = respond(&program, json!({"input": "more", "background": true})).await;
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    eventually("the model is asked", async || world.asked().len() == 2).await;
    let cancelled = program.post(&format!("{path}/cancel"), json!({})).await.ok();
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert_eq!(program.get(&path).await.ok()["status"], "cancelled");
}

#[tokio::test]
async fn calls_of_the_program_are_items_and_parts() {
    let looks = calls([call("c1", "look", json!({"at": "it"}))]);
    let world = World::new(script([looks, says(["A cat."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let tool = json!({"type": "function", "name": "look", "parameters": {"type": "object"}});
    let events = events_of(&program, json!({"input": "What is it?", "tools": [tool], "tool_choice": "required"})).await;
    let first = events.last().unwrap().data["response"].clone();
    let made = first["output"][0].clone();
    assert_eq!(
        (&made["type"], &made["name"], &made["arguments"]),
        (&json!("function_call"), &json!("look"), &json!(r#"{"at":"it"}"#))
    );
    let output = json!({"type": "function_call_output", "call_id": made["call_id"], "output": "a cat"});
    let body = json!({"input": [output], "previous_response_id": first["id"], "tools": [tool]});
    let second = respond(&program, body).await;
    assert_eq!(text_of(&second), "A cat.");
    assert_ne!(first["id"], second["id"]);
    let read = |id: &Value| format!("/v1/responses/{}", id.as_str().unwrap());
    for known in [&first, &second] {
        assert_eq!(program.get(&read(&known["id"])).await.ok()["output"], known["output"]);
    }
}

#[tokio::test]
async fn response_that_is_not_stored_leaves_no_session() {
    let world = World::new(script([says(["Gone."]), says(["Kept."]), says(["Raw."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let sessions =
        async |server: &Server<'_>| server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len();
    // What is indexed stays: nothing of this conversation was ever in it.
    world.write("storage/retrieval/conversations/meta.json", "kept");
    let gone = respond(&program, json!({"input": "hi", "store": false})).await;
    assert_eq!((text_of(&gone).as_str(), &gone["store"]), ("Gone.", &json!(false)));
    eventually("the session is deleted", async || sessions(&server).await == 0).await;
    let id = gone["id"].as_str().unwrap();
    eventually("nothing is left", async || program.get(&format!("/v1/responses/{id}")).await.status() == 404).await;
    let deleted = || std::fs::read_dir(world.path("sessions/archive/deleted")).into_iter().flatten().flatten();
    let is_session = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".json");
    eventually("it is purged", async || !deleted().any(is_session)).await;
    assert_eq!(world.read("storage/retrieval/conversations/meta.json"), "kept");
    // A program that names its conversation goes on in it.
    respond(&program, json!({"input": "hi", "store": false, "prompt_cache_key": "c"})).await;
    respond(&program, json!({"input": "hi", "model": "raw/mock"})).await;
    assert_eq!(sessions(&server).await, 1);
    let kept = server.get("/api/sessions").await.ok()["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(server.settled(&kept).await["messages"][1]["content"], "Kept.");
}

#[tokio::test]
async fn response_is_deleted_with_its_session() {
    let world = World::new(script([says(["One."]), says(["Two."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let first = respond(&program, json!({"input": "one"})).await;
    let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
    let second = respond(&program, json!({"input": "two", "previous_response_id": first["id"]})).await;
    let delete = async |path: &str| server.send("DELETE", path, &program.headers(&[]), b"").await;
    assert_eq!(delete(&path).await.status(), 409, "another response follows");
    let other = format!("/v1/responses/{}", second["id"].as_str().unwrap());
    assert_eq!(delete(&other).await.status(), 409);
    assert_eq!(text_of(&second), "Two.");
    let alone = Program::new(&server).await;
    assert_eq!(server.send("DELETE", &path, &alone.headers(&[]), b"").await.status(), 404, "of another token");
}
