//! Provider faults that affect more than the provider client: the conversation, the loop, the transcript.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::script::{always, call, calls, says, script, steps};
use crate::world::World;

fn end(frames: &[Frame]) -> &Frame {
    let ends: Vec<&Frame> = frames.iter().filter(|frame| frame.is("done") || frame.is("error")).collect();
    assert_eq!(ends.len(), 1, "{frames:#?}");
    ends[0]
}

/// Returns the errors for a prompt that is too long, as different servers word them.
fn too_long() -> [Value; 3] {
    let body = |status: u16, error: Value| steps([json!({"status": status}), json!({"bytes": error.to_string()})]);
    [
        body(400, json!({"error": {"message": "This model's maximum context length is 16384 tokens.", "code": null}})),
        body(413, json!({"error": {"message": "the request exceeds the available context size"}})),
        body(400, json!({"error": {"type": "exceed_context_size_error", "n_ctx": 16384, "message": "too long"}})),
    ]
}

#[tokio::test]
async fn too_long_prompt_is_shortened_and_sent_again() {
    for refusal in too_long() {
        let messages: Vec<Value> = (0..20)
            .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("{n} {}", "word ".repeat(1200))}))
            .collect();
        let world = World::new(script([refusal, says(["Yes."])]))
            .await
            .with_file("sessions/s.json", &json!({"title": "t", "messages": messages}).to_string());
        let server = world.serve().await;
        let frames = server.chat("s", "the question").await;
        assert_eq!(end(&frames).data["content"], "Yes.");
        let told = frames.iter().filter(|frame| frame.is("status"));
        assert!(
            told.into_iter().any(|s| s.data["message"].as_str().unwrap().contains("context window")),
            "{frames:#?}"
        );
        let asked = world.asked();
        assert_eq!(asked.len(), 2);
        let length = |body: &Value| body["messages"].as_array().unwrap().len();
        assert!(length(&asked[1]) < length(&asked[0]), "{} and {}", length(&asked[0]), length(&asked[1]));
        assert_eq!(asked[1]["messages"].as_array().unwrap().last().unwrap()["content"], "the question");
        server.settled("s").await;
        assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 22, "nothing is taken from the file");
    }
}

#[tokio::test]
async fn unshortenable_prompt_is_sent_once() {
    let [refusal, ..] = too_long();
    let world = World::new(script([refusal, says(["Next."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    let error = end(&frames);
    assert_eq!((error.event.as_str(), &error.data["code"]), ("error", &json!("context_overflow")));
    assert!(error.data["error"].as_str().unwrap().contains("Compact it"), "{error:?}");
    assert_eq!(error.data["about"], json!({"limit": "16384"}));
    assert_eq!(world.asked().len(), 1);
    server.settled("s").await;
    let failure = json!([{"work_id": error.data["work_id"], "code": "context_overflow", "retryable": false,
                          "about": {"limit": "16384"}}]);
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["failures"], failure);
    assert_eq!(end(&server.chat("s", "again").await).data["content"], "Next.");
}

#[tokio::test]
async fn too_long_prompt_is_sent_at_most_twice() {
    let [refusal, ..] = too_long();
    let messages: Vec<Value> = (0..20)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("{n} {}", "word ".repeat(1200))}))
        .collect();
    let world = World::new(script([always(refusal)]))
        .await
        .with_file("sessions/s.json", &json!({"title": "t", "messages": messages}).to_string());
    let server = world.serve().await;
    assert_eq!(end(&server.chat("s", "hi").await).data["code"], "context_overflow");
    let asked = world.asked();
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0], asked[1], "the same prompt was sent again");
}

#[tokio::test]
async fn repeating_model_is_stopped() {
    for text in ["again ", "{n} and so on and so on, without an end. "] {
        let count = if text == "again " { 100_000 } else { 400_000 };
        let endless = steps([json!({"tokens": {"count": count, "text": text}}), json!({"finish": "stop"})]);
        let world = World::new(script([endless, says(["Next."])])).await;
        let server = world.serve().await;
        let frames = server.chat("s", "hi").await;
        let stopped = end(&frames);
        let told = if text == "again " { ("done", "limit") } else { (stopped.event.as_str(), "limit") };
        assert_eq!((stopped.event.as_str(), stopped.data["stop_reason"].as_str().unwrap_or_default()), told);
        let said = frames.iter().filter(|frame| frame.is("token")).count();
        assert!(said < if text == "again " { 250 } else { 60_000 }, "{said}");
        server.settled("s").await;
        assert_eq!(end(&server.chat("s", "go on").await).data["content"], "Next.");
    }
}

#[tokio::test]
async fn refusal_and_length_limit_are_shown() {
    for (finish, word) in [("content_filter", "refusal"), ("length", "length")] {
        let reply = steps([json!({"text": "I will"}), json!({"finish": finish})]);
        let world = World::new(script([reply, says(["Next."])])).await;
        let server = world.serve().await;
        let frames = server.chat("s", "hi").await;
        let told = end(&frames);
        assert_eq!((told.event.as_str(), &told.data["stop_reason"]), ("done", &json!(word)));
        assert_eq!(told.data["content"], "I will");
        server.settled("s").await;
        assert_eq!(world.session("s")["messages"][1]["stop_reason"], word);
        assert_eq!(end(&server.chat("s", "go on").await).data["content"], "Next.");
    }
}

#[tokio::test]
async fn empty_answer_is_retried_and_reported() {
    let blank = || steps([json!({"text": " \n"}), json!({"finish": "stop"})]);
    let world = World::new(script([blank(), blank(), says(["Next."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    let told = end(&frames);
    assert_eq!((told.event.as_str(), &told.data["code"]), ("error", &json!("empty")));
    assert!(frames.iter().any(|frame| frame.is("status")), "the second try is said: {frames:#?}");
    assert_eq!(world.asked().len(), 2);
    server.settled("s").await;
    assert_eq!(end(&server.chat("s", "go on").await).data["content"], "Next.");
}

#[tokio::test]
async fn odd_call_ids_each_get_their_result() {
    let look = |id: Value, name: &str| {
        let arguments = json!({"path": format!("workspace/{name}.md")}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}})
    };
    let at_once = |list: [Value; 3]| {
        let chunks = list.into_iter().enumerate().map(|(index, mut call)| {
            call["index"] = json!(index);
            let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            json!({"bytes": format!("data: {chunk}\n\n")})
        });
        steps(chunks.chain([json!({"finish": "tool_calls"})]))
    };
    let world = World::new(script([
        at_once([look(json!("x"), "a"), look(json!("x"), "b"), look(json!(null), "c")]),
        at_once([look(json!("x"), "b"), look(json!(""), "c"), look(json!("x"), "a")]),
        calls([call("x", "read_file", json!({"path": "workspace/d.md"}))]),
        says(["Yes."]),
    ]))
    .await;
    for name in ["a", "b", "c", "d"] {
        world.write(&format!("workspace/{name}.md"), format!("I am {name}.\n"));
    }
    let server = world.serve().await;
    assert_eq!(end(&server.chat("s", "look").await).data["content"], "Yes.");
    server.settled("s").await;
    // When the test ends, the ids in every request are checked; here, each call must have the result for its arguments.
    let messages = world.session("s")["messages"].take();
    let made =
        messages.as_array().unwrap().iter().flat_map(|m| m["tool_calls"].as_array().cloned().unwrap_or_default());
    let results: Vec<(String, String)> = made
        .map(|call| {
            let path = call["input"]["path"].as_str().or(call["arguments"].as_str()).map(str::to_owned);
            (path.unwrap_or_else(|| call.to_string()), call["output"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    assert_eq!(results.len(), 7);
    for ((asked, output), name) in results.iter().zip(["a", "b", "c", "b", "c", "a", "d"]) {
        assert!(asked.contains(&format!("workspace/{name}.md")), "{asked}");
        assert!(output.contains(&format!("I am {name}.")), "{asked}: {output}");
    }
}
