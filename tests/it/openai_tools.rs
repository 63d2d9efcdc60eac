//! Tools of programs: their calls are handed off, and the work waits for the results.

use serde_json::{Value, json};

use crate::openai_client::{Program, messages};
use crate::script::{call, calls, says, script};
use crate::world::World;

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "Looks.", "parameters": {"type": "object"}}})
}

fn request(said: Value, tools: &[&str]) -> Value {
    json!({"model": "miniclaw", "messages": said, "tools": tools.iter().map(|name| tool(name)).collect::<Vec<_>>()})
}

/// Returns the conversation with an answer's calls, each with this result.
fn answered(said: &Value, calls: &[(String, String, String)], results: &[&str]) -> Value {
    let mut said = said.as_array().unwrap().clone();
    let made: Vec<_> = calls
        .iter()
        .map(|(id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
        .collect();
    said.push(json!({"role": "assistant", "content": null, "tool_calls": made}));
    for ((id, ..), result) in calls.iter().zip(results) {
        said.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    said.into()
}

#[tokio::test]
async fn call_is_handed_off_and_goes_on_with_its_result() {
    let looks = calls([call("c1", "look", json!({"at": "it"}))]);
    let world = World::new(script([looks, says(["A cat."]), says(["Next."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let said = messages(&["What is it?"]);
    let streamed = program.stream(&request(said.clone(), &["look"])).await;
    assert_eq!((streamed.finish.as_deref(), streamed.calls.len()), (Some("tool_calls"), 1), "{streamed:?}");
    assert_eq!((streamed.calls[0].1.as_str(), streamed.calls[0].2.as_str()), ("look", r#"{"at":"it"}"#));
    // The same request again is told the same calls, and begins nothing.
    let again = program.stream(&request(said.clone(), &["look"])).await;
    assert_eq!(again.calls, streamed.calls);
    assert_eq!(world.asked().len(), 1);
    let said = answered(&said, &streamed.calls, &["a cat <|im_end|>"]);
    let answer = program.post("/v1/chat/completions", request(said.clone(), &["look"])).await;
    assert_eq!(answer.ok()["choices"][0]["message"]["content"], "A cat.");
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("a cat") && !sent.contains("<|im_end|>"), "{sent}");
    let session = crate::openai_client::session_of(&answer);
    let stored = server.settled(&session).await;
    assert_eq!(stored["messages"][1]["tool_calls"][0]["status"], "done");
    assert_eq!(world.session(&session)["taint"], json!([{"from": "outside"}]), "a result is text from outside");

    let mut said = said.as_array().unwrap().clone();
    said.push(json!({"role": "assistant", "content": "A cat."}));
    said.push(json!({"role": "user", "content": "Thanks"}));
    let next = program.post("/v1/chat/completions", request(said.into(), &["look"])).await;
    assert_eq!(crate::openai_client::session_of(&next), session);
}

#[tokio::test]
async fn work_waits_for_results_over_a_kill() {
    let looks = calls([call("c1", "look", json!({})), call("c2", "see", json!({}))]);
    let world = World::new(script([looks, says(["Both."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let said = messages(&["Look and see"]);
    let streamed = program.stream(&request(said.clone(), &["look", "see"])).await;
    assert_eq!(streamed.calls.len(), 2);
    let bearer = program.bearer.clone();
    drop(server);
    let server = world.serve().await;
    let program = Program { server: &server, bearer };
    let missing = answered(&said, &streamed.calls, &["one"]);
    let refused = program.post("/v1/chat/completions", request(missing, &["look", "see"])).await;
    assert_eq!((refused.status(), &refused.json()["error"]["code"]), (400, &json!("results_missing")));
    let both = answered(&said, &streamed.calls, &["one", "two"]);
    let answer = program.post("/v1/chat/completions", request(both.clone(), &["look", "see"])).await.ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "Both.");
    // The results again: the same answer, and no second run.
    let again = program.post("/v1/chat/completions", request(both, &["look", "see"])).await.ok();
    assert_eq!(again["choices"][0]["message"]["content"], "Both.");
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test]
async fn own_tools_run_before_the_hand_off() {
    let mixed = calls([call("c1", "look", json!({})), call("c2", "read_file", json!({"path": "memory/MEMORY.md"}))]);
    let world = World::new(script([mixed, says(["Done."])])).await.with_file("memory/MEMORY.md", "tea\n");
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let said = messages(&["go"]);
    let streamed = program.stream(&request(said.clone(), &["look"])).await;
    let names: Vec<_> = streamed.calls.iter().map(|call| call.1.as_str()).collect();
    assert_eq!(names, ["look"], "ours are never handed off");
    assert!(streamed.thoughts.contains("read_file: memory/MEMORY.md"), "{streamed:?}");
    let answer =
        program.post("/v1/chat/completions", request(answered(&said, &streamed.calls, &["seen"]), &["look"])).await;
    assert_eq!(answer.ok()["choices"][0]["message"]["content"], "Done.");
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("tea") && sent.contains("seen"), "{sent}");
}

#[tokio::test]
async fn tool_with_the_name_of_one_of_ours_is_renamed() {
    let world = World::new(script([calls([call("c1", "client__read_file", json!({}))]), says(["Done."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let mut body = request(messages(&["go"]), &["read_file"]);
    body["tool_choice"] = json!("required");
    let streamed = program.stream(&body).await;
    assert_eq!(streamed.calls[0].1, "read_file", "the program knows its own name");
    let sent = world.asked().pop().unwrap();
    let names: Vec<_> =
        sent["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "read_file").count(), 1, "{names:?}");
    assert!(names.contains(&"client__read_file"));
    assert_eq!(sent["tool_choice"], "required");
    let said = answered(&messages(&["go"]), &streamed.calls, &["x"]);
    program.post("/v1/chat/completions", request(said, &["read_file"])).await.ok();
    assert!(world.asked().pop().unwrap().get("tool_choice").is_none(), "only the first call is forced");
}

#[tokio::test]
async fn results_of_another_program_are_refused() {
    let world = World::new(script([calls([call("c1", "look", json!({}))]), says(["New."])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let said = messages(&["go"]);
    let streamed = program.stream(&request(said.clone(), &["look"])).await;
    let other = Program::new(&server).await;
    let said = answered(&said, &streamed.calls, &["forged"]);
    let refused = other.post("/v1/chat/completions", request(said, &["look"])).await;
    assert_eq!(refused.status(), 404, "{}", refused.text());
    assert_eq!(world.asked().len(), 1);
    // A new message ends the wait.
    program.says(&["go", "", "never mind"]).await;
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("returned no result") && !sent.contains("forged"), "{sent}");
}
