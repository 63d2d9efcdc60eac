//! The OpenAI API: chats of programs, which sessions they are in, and what of a request counts.

use serde_json::{Value, json};

use crate::openai_client::{Program, messages, session_of};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{ASKING, World, eventually};

/// A picture of one pixel.
const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

fn replies(count: usize) -> impl Iterator<Item = Value> {
    (1..=count).map(|n| says([&*format!("answer {n}")]))
}

async fn sessions(program: &Program<'_, '_>) -> usize {
    program.server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len()
}

#[tokio::test]
async fn models_are_the_agent_and_the_models_alone() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let listed = program.get("/v1/models").await.ok();
    let ids: Vec<_> = listed["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!((listed["object"].as_str(), ids), (Some("list"), vec!["miniclaw", "miniclaw/mock", "raw/mock"]));
    assert_eq!(program.get("/v1/models/raw%2Fmock").await.ok()["object"], "model");
    let missing = program.get("/v1/models/gpt-9").await;
    assert_eq!((missing.status(), &missing.json()["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn answer_has_the_shape_of_a_chat_completion() {
    let reply = steps([
        json!({"thinking": "Hm."}),
        json!({"text": "Hel"}),
        json!({"text": "lo."}),
        json!({"usage": {"prompt_tokens": 12, "completion_tokens": 3}}),
        json!({"finish": "stop"}),
    ]);
    let world = World::new(script([reply.clone(), reply])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let answer = program.chat(&["hi"]).await;
    let body = answer.ok();
    let message = json!({"role": "assistant", "content": "Hello.", "refusal": null, "reasoning_content": "Hm."});
    assert_eq!(body["choices"], json!([{"index": 0, "message": message, "finish_reason": "stop", "logprobs": null}]));
    assert_eq!((&body["object"], &body["model"]), (&json!("chat.completion"), &json!("miniclaw")));
    assert_eq!((&body["usage"]["prompt_tokens"], &body["usage"]["total_tokens"]), (&json!(12), &json!(15)));
    let session = session_of(&answer);
    server.settled(&session).await;
    assert_eq!(world.session(&session)["messages"][1]["content"], "Hello.");

    let body =
        json!({"model": "miniclaw", "messages": messages(&["other"]), "stream_options": {"include_usage": true}});
    let streamed = program.stream(&body).await;
    assert_eq!((streamed.text.as_str(), streamed.thoughts.as_str()), ("Hello.", "Hm."));
    assert_eq!((streamed.finish.as_deref(), streamed.is_done), (Some("stop"), true));
    assert_eq!(streamed.usage["completion_tokens"], 3);
}

#[tokio::test]
async fn chat_goes_on_in_its_session_after_restarts() {
    let world = World::new(script(replies(3))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let (first, session) = program.says(&["hi"]).await;
    let (second, same) = program.says(&["hi", &first, "more"]).await;
    assert_eq!(session, same);
    let bearer = program.bearer.clone();
    drop(server);
    let server = world.serve().await;
    let program = Program { server: &server, bearer };
    let (_, same) = program.says(&["hi", &first, " more\n", &format!("{second} "), "again"]).await;
    assert_eq!(session, same);
    assert_eq!(sessions(&program).await, 1);
    let request = world.asked().pop().unwrap()["messages"].to_string();
    assert!(request.contains("answer 1") && request.contains("answer 2"), "{request}");
}

#[tokio::test]
async fn edit_and_regeneration_make_branches() {
    let world = World::new(script(replies(5))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let (first, session) = program.says(&["hi"]).await;
    let (second, _) = program.says(&["hi", &first, "more"]).await;
    let (again, _) = program.says(&["hi", &first, "more"]).await;
    assert_eq!((second.as_str(), again.as_str()), ("answer 2", "answer 3"));
    let (_, edited) = program.says(&["hi", &first, "less"]).await;
    assert_eq!(edited, session);
    // The program goes back to the first of these branches.
    let (_, back) = program.says(&["hi", &first, "more", &second, "and now?"]).await;
    assert_eq!((back.as_str(), sessions(&program).await), (session.as_str(), 1));
    let stored = server.settled(&session).await;
    let texts: Vec<_> = stored["messages"].as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
    assert_eq!(texts, ["hi", "answer 1", "more", "answer 2", "and now?", "answer 5"]);
    assert_eq!(world.session(&session)["branches"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn unknown_history_is_adopted_and_marked() {
    let world = World::new(script(replies(3))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let (first, session) = program.says(&["one", "uno", "two"]).await;
    server.settled(&session).await;
    let stored = world.session(&session);
    assert_eq!((&stored["messages"][1]["content"], &stored["messages"][1]["from"]), (&json!("uno"), &json!("client")));
    assert_eq!(stored["taint"], json!([{"from": "imported"}]));
    let (_, same) = program.says(&["one", "uno", "two", &first, "three"]).await;
    assert_eq!(same, session);
    // Somebody else's words in the same places are another conversation.
    let (_, other) = program.says(&["one", "eins", "two", &first, "three"]).await;
    assert_ne!(other, session);
}

#[tokio::test]
async fn conversation_of_another_token_is_not_found() {
    let world = World::new(script(replies(2))).await;
    let server = world.serve().await;
    let (one, other) = (Program::new(&server).await, Program::new(&server).await);
    let (first, session) = one.says(&["hi"]).await;
    let (_, elsewhere) = other.says(&["hi", &first, "more"]).await;
    assert_ne!(session, elsewhere);
}

#[tokio::test]
async fn session_can_be_named() {
    let world = World::new(script(replies(5))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let (_, session) = program.says(&["hi"]).await;
    let body = json!({"model": "miniclaw", "messages": messages(&["just this"])});
    let named = program.post_with("/v1/chat/completions", &[("X-Miniclaw-Session", &session)], &body).await;
    assert_eq!(session_of(&named), session);
    assert_eq!(server.settled(&session).await["messages"].as_array().unwrap().len(), 4);
    for (name, status) in [("nobody-has-this", 404), ("../../etc/passwd", 400)] {
        let refused = program.post_with("/v1/chat/completions", &[("X-Miniclaw-Session", name)], &body).await;
        assert_eq!(refused.status(), status, "{name}");
    }
    let of_chat = async |said: &[&str]| {
        let body = json!({"model": "miniclaw", "messages": messages(said)});
        let answer = program.post_with("/v1/chat/completions", &[("X-OpenWebUI-Chat-Id", "c 1")], &body).await;
        session_of(&answer)
    };
    let chat = of_chat(&["first"]).await;
    assert_ne!(chat, session);
    assert_eq!(of_chat(&["first, edited"]).await, chat);
    let stored = server.settled(&chat).await;
    assert_eq!(stored["messages"][0]["content"], "first, edited", "the edit took the place of the first message");
}

#[tokio::test]
async fn repeated_request_attaches_to_the_same_work() {
    let gated = steps([json!({"text": "slow"}), json!({"gate": "go"}), json!({"finish": "stop"})]);
    let world = World::new(script([gated, says(["other"])])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let body = json!({"model": "miniclaw", "messages": messages(&["hi"])});
    let first = program.open(&body).await;
    let second = program.open(&body).await;
    assert_eq!(first.head.header("x-miniclaw-work"), second.head.header("x-miniclaw-work"));
    // One of both goes away: the other one still has its answer.
    drop(first);
    world.provider.open_gate("go");
    assert!(second.body_text().await.contains("[DONE]"));
    assert_eq!(world.asked().len(), 1);

    let keyed = async |key: &str| {
        let body = json!({"model": "miniclaw", "messages": messages(&["once"])});
        program.post_with("/v1/chat/completions", &[("Idempotency-Key", key)], &body).await
    };
    let (once, again) = (keyed("k 1").await.ok(), keyed("k 1").await.ok());
    assert_eq!((&once["id"], &once["choices"]), (&again["id"], &again["choices"]));
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test]
async fn disconnect_stops_the_work_unless_it_is_to_go_on() {
    let held = steps([json!({"text": "Half"}), json!({"gate": "never"})]);
    let world = World::new(script([held.clone(), held.clone(), held])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let incoming = program.open(&json!({"model": "miniclaw", "messages": messages(&["hi"])})).await;
    let session = incoming.head.header("x-miniclaw-session").unwrap().to_owned();
    eventually("the model is asked", async || world.asked().len() == 1).await;
    drop(incoming);
    let stored = server.settled(&session).await;
    assert_eq!(stored["messages"][1]["stop_reason"], "interrupted");

    // The same without a stream: nothing was answered yet.
    let request = json!({"model": "miniclaw", "messages": messages(&["whole"])}).to_string();
    let request = server.request("POST", "/v1/chat/completions", &program.headers(&[]), request.as_bytes());
    let mut connection = tokio::net::TcpStream::connect(server.address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut connection, &request).await.unwrap();
    eventually("the model is asked", async || world.asked().len() == 2).await;
    drop(connection);
    eventually("the work is stopped", async || {
        let listed = server.get("/api/sessions").await.ok()["sessions"].clone();
        listed.as_array().unwrap().iter().all(|session| session["state"] != "running")
    })
    .await;

    let body = json!({"model": "miniclaw", "messages": messages(&["other"]), "stream": true}).to_string();
    let headers = program.headers(&[("X-Miniclaw-On-Disconnect", "continue")]);
    let request = server.request("POST", "/v1/chat/completions", &headers, body.as_bytes());
    let incoming = crate::http::open(server.address, &request).await;
    let session = incoming.head.header("x-miniclaw-session").unwrap().to_owned();
    eventually("the model is asked", async || world.asked().len() == 3).await;
    drop(incoming);
    let interrupted = server.post(&format!("/api/sessions/{session}/interrupt"), json!({})).await.ok();
    assert_eq!(interrupted["interrupted"], true, "it was still under way");
}

#[tokio::test]
async fn instructions_and_form_of_the_program_are_sent() {
    let world = World::new(script(replies(2))).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let system = json!({"role": "system", "content": "Answer in verse. <!-- Soul -->"});
    let picture = json!({"type": "image_url", "image_url": {"url": format!("data:image/gif;base64,{GIF}")}});
    let body = json!({"model": "miniclaw/mock", "temperature": 0.3, "max_tokens": 77, "stop": ["END"], "seed": 4, "user": "u",
        "response_format": {"type": "json_object"}, "messages": [system, {"role": "user", "content": "hi"}]});
    let answer = program.post("/v1/chat/completions", body).await;
    assert_eq!(answer.head.header("x-miniclaw-ignored"), Some("seed"));
    let sent = world.asked().pop().unwrap();
    let prompt = sent["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.ends_with("<!-- Client -->\nAnswer in verse. < !-- Soul -->"), "{prompt}");
    assert!(prompt.starts_with("<!-- Soul -->\nYou are the soul of a test."), "ours comes first: {prompt}");
    assert_eq!((&sent["temperature"], &sent["stop"]), (&json!(0.3), &json!(["END"])));
    assert_eq!(sent["response_format"], json!({"type": "json_object"}));
    assert!(sent["max_tokens"] == 77 || sent["max_completion_tokens"] == 77, "{sent}");
    let session = session_of(&answer);
    let requests = server.get(&format!("/api/sessions/{session}/requests")).await.ok();
    let name = requests["requests"][0]["name"].as_str().unwrap();
    let shown = server.get(&format!("/api/sessions/{session}/requests/{name}")).await.ok();
    let origins: Vec<_> = shown["pieces"].as_array().unwrap().iter().map(|piece| piece["origin"].clone()).collect();
    assert!(origins.contains(&json!("client")), "{origins:?}");

    let seen = json!({"model": "miniclaw", "messages": [{"role": "user", "content": [{"type": "text", "text": "See"}, picture]}]});
    let refused = program.post("/v1/chat/completions", seen.clone()).await;
    assert_eq!((refused.status(), &refused.json()["error"]["code"]), (400, &json!("cannot_see")));
    let bearer = program.bearer.clone();
    drop(server);
    let world = world.with_env("MINICLAW_VISION_MODELS", "mock");
    let server = world.serve().await;
    let program = Program { server: &server, bearer };
    program.post("/v1/chat/completions", seen).await.ok();
    assert!(world.asked().pop().unwrap()["messages"].to_string().contains(GIF));
}

#[tokio::test]
async fn steps_of_the_agent_are_shown_where_settings_say() {
    for (steps, place) in [("reasoning", "thoughts"), ("text", "text"), ("none", "")] {
        let read = calls([call("c1", "read_file", json!({"path": "memory/MEMORY.md"}))]);
        let world = World::new(script([read, says(["Done."]), says(["Next."])])).await;
        world.write("config.yml", format!("{}api: {{steps: {steps}}}\n", crate::world::CONFIG));
        let server = world.serve().await;
        let program = Program::new(&server).await;
        let streamed = program.stream(&json!({"model": "miniclaw", "messages": messages(&["hi"])})).await;
        let line = "> ⚙ read_file: memory/MEMORY.md";
        assert_eq!(streamed.thoughts.contains(line), place == "thoughts", "{steps}: {streamed:?}");
        assert_eq!(streamed.text.contains(line), place == "text", "{steps}: {streamed:?}");
        // Whatever the program was shown, its next request goes on in the same session.
        program.says(&["hi", &streamed.text, "more"]).await;
        assert_eq!(sessions(&program).await, 1, "{steps}");
    }
}

#[tokio::test]
async fn failure_is_an_error_of_the_api() {
    let failed = json!({"steps": [{"status": 400}, {"bytes": "{\"error\": {\"message\": \"no\"}}"}]});
    let cut = steps([json!({"text": "Half"}), json!({"close": true})]);
    let world = World::new(script([failed, always(cut)])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let answer = program.chat(&["hi"]).await;
    let error = answer.json()["error"].clone();
    assert_eq!((answer.status(), &error["type"]), (502, &json!("server_error")), "{error}");
    let streamed = program.stream(&json!({"model": "miniclaw", "messages": messages(&["other"])})).await;
    assert!(streamed.text.starts_with("Half") && streamed.finish.is_none() && streamed.is_done, "{streamed:?}");
    assert_eq!(streamed.error["type"], "server_error");
}

#[tokio::test]
async fn limit_of_usage_is_a_429() {
    let world = World::new(script(replies(1))).await;
    world.write("config.yml", format!("{}limits: {{day: {{tokens: 10}}}}\n", crate::world::CONFIG));
    let server = world.serve().await;
    let program = Program::new(&server).await;
    for model in ["miniclaw", "raw/mock"] {
        let body = json!({"model": model, "messages": messages(&["hi"])});
        let answer = program.post("/v1/chat/completions", body).await;
        assert_eq!((answer.status(), &answer.json()["error"]["code"]), (429, &json!("usage_limit")), "{model}");
    }
    assert!(world.provider.requests().is_empty());
}

#[tokio::test]
async fn raw_model_has_no_persona_and_leaves_only_usage() {
    let reply = steps([
        json!({"text": "raw"}),
        json!({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        json!({"finish": "stop"}),
    ]);
    let called = calls([call("c1", "look", json!({"at": 1}))]);
    let world = World::new(script([reply.clone(), called, reply])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let body = json!({"model": "raw/mock", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]});
    let answer = program.post("/v1/chat/completions", body).await.ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "raw");
    assert_eq!(answer["usage"]["total_tokens"], 7);
    let sent = world.provider.requests().pop().unwrap();
    assert_eq!(sent["messages"], json!([{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]));
    assert!(sent.get("tools").is_none());

    let look = json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let mut said = vec![json!({"role": "user", "content": "look"})];
    let body = json!({"model": "raw/mock", "messages": said, "tools": [look], "tool_choice": "required"});
    let streamed = program.stream(&body).await;
    assert_eq!(streamed.calls[0].1, "look");
    assert_eq!((streamed.calls[0].2.as_str(), streamed.finish.as_deref()), (r#"{"at":1}"#, Some("tool_calls")));
    assert_eq!(world.provider.requests().pop().unwrap()["tool_choice"], "required");
    let (id, name, arguments) = &streamed.calls[0];
    let function = json!({"name": name, "arguments": arguments});
    said.push(json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}));
    said.push(json!({"role": "tool", "tool_call_id": id, "content": "a cat"}));
    program.post("/v1/chat/completions", json!({"model": "raw/mock", "messages": said, "tools": [look]})).await.ok();
    assert_eq!(sessions(&program).await, 0);
    let used = server.get("/api/stats/tokens").await.text();
    eventually("what was used is counted", async || world.read("sessions/usage.jsonl").lines().count() >= 2).await;
    assert!(!world.read("sessions/usage.jsonl").contains("cat"), "{used}");
}

#[tokio::test]
async fn jobs_of_a_frontend_leave_its_chat_alone() {
    let world = World::new(script([always(says(["Tea."]))])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let chat = [("X-OpenWebUI-Chat-Id", "c1")];
    let ask = |text: &str| json!({"model": "miniclaw", "messages": [{"role": "user", "content": text}]});
    let job = "### Task:\nGenerate a concise title.\n<chat_history>\nUSER: Which tea?\n</chat_history>";
    program.post_with("/v1/chat/completions", &chat, &ask(job)).await.ok();
    assert_eq!(sessions(&program).await, 0);
    let sent = world.provider.requests().pop().unwrap();
    assert_eq!(sent["messages"], json!([{"role": "user", "content": job}]));
    program.post_with("/v1/chat/completions", &chat, &ask("Which tea?")).await.ok();
    program.post_with("/v1/chat/completions", &chat, &ask(job)).await.ok();
    let answer = program.post_with("/v1/chat/completions", &[], &ask(job)).await.ok();
    assert_eq!((sessions(&program).await, &answer["choices"][0]["message"]["content"]), (1, &json!("Tea.")));
    // A person may write such a heading.
    program.post_with("/v1/chat/completions", &[], &ask("### Task:\nBuy tea.")).await.ok();
    let chats = server.get("/api/sessions").await.ok()["sessions"].take();
    let of_chat = |id: &Value| id.as_str().unwrap().starts_with("chat-");
    let ids: Vec<&Value> = chats.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    let chat = ids.iter().find(|id| of_chat(id)).unwrap().as_str().unwrap();
    assert_eq!((ids.len(), server.settled(chat).await["messages"].as_array().unwrap().len()), (2, 2));
}

#[tokio::test]
async fn question_to_a_person_is_told_with_its_address() {
    let asks = calls([call("c1", "terminal", json!({"command": "true"}))]);
    let world = World::new(script([asks, says(["Done."]), says(["Next."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let body = json!({"model": "miniclaw", "messages": messages(&["run it"])});
    let incoming = program.open(&body).await;
    let session = incoming.head.header("x-miniclaw-session").unwrap().to_owned();
    let asked = server.waiting(1).await.remove(0);
    // A program cannot answer it.
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    let denied = program.post(&path, json!({"decision": "approve", "hash": asked["hash"]})).await;
    assert_eq!(denied.refused(), (403, "ask_token".to_owned()));
    server.decide(&asked, "approve").await;
    let text = incoming.body_text().await;
    let streamed = crate::openai_client::Streamed::parse(&text);
    let address = format!("http://{}/s/{session}", server.address);
    assert!(streamed.thoughts.contains(&address), "{streamed:?}");
    assert_eq!(streamed.text, "Done.");
    program.says(&["run it", "Done.", "next"]).await;
    assert_eq!(sessions(&program).await, 1);
}

#[tokio::test]
async fn answer_without_a_stream_says_that_it_waits() {
    let asks = calls([call("c1", "terminal", json!({"command": "true"}))]);
    let world = World::new(script([asks, says(["Done."]), says(["Next."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let answer = program.chat(&["run it"]).await;
    let waiting = answer.head.header("x-miniclaw-waiting").expect("what it waits for").to_owned();
    let text = answer.ok()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!("/s/{}", session_of(&answer))), "{text}");
    let asked = server.waiting(1).await.remove(0);
    assert_eq!(asked["id"], waiting.as_str());
    server.decide(&asked, "approve").await;
    server.settled(&session_of(&answer)).await;
    let (_, session) = program.says(&["run it", &text, "and?"]).await;
    assert_eq!(session, session_of(&answer));
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("Done.") && !sent.contains("waits for your approval"), "{sent}");
}
