//! Attacks on the OpenAI API: who may use it, with which credential, and what bodies cannot do.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::http::Answer;
use crate::openai_client::{Program, messages, new_token};
use crate::people::{admin, ask, joined, world as people_world};
use crate::script::{always, says, script};
use crate::world::{CONFIG, Server, World, files};

const CHAT: &str = "/v1/chat/completions";

fn hi() -> Value {
    json!({"model": "miniclaw", "messages": messages(&["hi"])})
}

async fn send(server: &Server<'_>, headers: &[(&str, &str)], body: &Value) -> Answer {
    let headers = [&[("Content-Type", "application/json")], headers].concat();
    server.send("POST", CHAT, &headers, body.to_string().as_bytes()).await
}

#[track_caller]
fn error(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    (answer.status(), body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn nobody_spends_without_a_token() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let token = new_token(&world).await;
    let bearer = format!("Bearer {token}");
    let closed = (401, "invalid_api_key".to_owned());
    assert_eq!(error(&send(&server, &[], &hi()).await), closed, "even on the own machine");
    for wrong in ["Bearer ", "Bearer wrong", "Basic abc", &token, &format!("{bearer}x"), "bearer"] {
        assert_eq!(error(&send(&server, &[("Authorization", wrong)], &hi()).await), closed, "{wrong}");
    }
    let twice = [("Authorization", bearer.as_str()), ("Authorization", bearer.as_str())];
    assert_eq!(error(&send(&server, &twice, &hi()).await), closed);
    for (path, method) in
        [("/v1/models", "GET"), ("/v1/responses", "POST"), ("/v1/embeddings", "POST"), ("/v1/x", "GET")]
    {
        let answer = server.send(method, path, &[("Content-Type", "application/json")], b"{}").await;
        assert_eq!(error(&answer), closed, "{path}");
    }
    // A page: of another site, and of a browser that may use everything else here.
    let origin = [("Authorization", bearer.as_str()), ("Origin", "http://evil.example")];
    assert_eq!(error(&send(&server, &origin, &hi()).await).0, 403);
    let secret = server.secret().await;
    assert_eq!(error(&send(&server, &[("X-Miniclaw-Secret", &secret)], &hi()).await), closed);
    let site = [("Authorization", bearer.as_str()), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(error(&send(&server, &site, &hi()).await).0, 403);
    let answer = send(&server, &[("Authorization", &bearer)], &hi()).await;
    assert_eq!((answer.status(), answer.head.header("access-control-allow-origin")), (200, None));
    // What the token cannot do.
    for path in ["/api/sessions", "/api/status", "/api/files?root=memory", "/getSessionOperations?session_id=s"] {
        let answer = server.send("GET", path, &[("Authorization", &bearer)], b"").await;
        assert_eq!(answer.refused(), (403, "ask_token".to_owned()), "{path}");
    }
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test]
async fn token_is_kept_as_a_hash_and_can_be_revoked() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let token = new_token(&world).await;
    let bearer = format!("Bearer {token}");
    assert_eq!(send(&server, &[("Authorization", &bearer)], &hi()).await.status(), 200);
    let path = world.path("api-tokens.json");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let home = world.home();
    let home = home.to_str().unwrap();
    let listed = world.run(&["token", "--home", home, "list"]).await;
    let listed = String::from_utf8(listed.stdout).unwrap();
    let id = listed.split_whitespace().next().unwrap().to_owned();
    assert!(listed.contains("ask") && listed.contains("test"), "{listed}");
    assert!(world.run(&["token", "--home", home, "revoke", &id]).await.status.success());
    assert_eq!(send(&server, &[("Authorization", &bearer)], &hi()).await.status(), 401, "at once");
    assert!(!world.run(&["token", "--home", home, "revoke", &id]).await.status.success());
    for file in files(&world.home()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(&token[4..]), "{}", file.display());
    }
    assert!(world.provider.requests().iter().all(|body| !body.to_string().contains(&token[4..])));
}

#[tokio::test]
async fn guessed_tokens_are_slowed_down() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut statuses = Vec::new();
    for n in 0..40 {
        let answer = send(&server, &[("Authorization", &format!("Bearer mck_{n}"))], &hi()).await;
        statuses.push(answer.status());
        if answer.status() == 429 {
            assert!(answer.head.header("retry-after").is_some());
            assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
            break;
        }
    }
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
}

#[tokio::test]
async fn open_api_needs_no_token_on_this_machine_only() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    world.write("config.yml", format!("{CONFIG}api: {{open: true}}\n"));
    let server = world.serve().await;
    assert_eq!(send(&server, &[], &hi()).await.status(), 200);
    assert_eq!(send(&server, &[("Authorization", "Bearer anything")], &hi()).await.status(), 200);
    assert_eq!(send(&server, &[("Origin", "http://evil.example")], &hi()).await.status(), 403);
    drop(server);
    const TOKEN: &str = "a-long-random-word-0123456789";
    let world = world.with_env("MINICLAW_TOKEN", TOKEN);
    let server = world.serve().await;
    assert_eq!(send(&server, &[], &hi()).await.status(), 401, "a server that needs a token is not open");
    let cookie = server.post("/api/login", json!({"token": TOKEN})).await;
    let cookie = cookie.head.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(server.send("GET", "/api/sessions", &[("Cookie", &cookie)], b"").await.status(), 200);
    assert_eq!(send(&server, &[("Cookie", &cookie)], &hi()).await.status(), 401, "no cookie counts here");
    assert_eq!(send(&server, &[("Authorization", &format!("Bearer {TOKEN}"))], &hi()).await.status(), 200);
}

#[tokio::test]
async fn person_reaches_no_response_of_another() {
    let world = people_world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let mut tokens = Vec::new();
    for (person, scope) in [(&ada, "ask"), (&bob, "ask"), (&bob, "read"), (&bob, "full")] {
        let made =
            ask(&server, person, ("POST", "/api/auth/tokens"), json!({"name": scope, "scope": scope})).await.ok();
        tokens.push(format!("Bearer {}", made["data"]["token"].as_str().unwrap()));
    }
    let [hers, his, reads, full] = &tokens[..] else { panic!("four tokens") };
    let program = |bearer: &String| Program { server: &server, bearer: bearer.clone() };
    let body = json!({"model": "miniclaw", "input": "hi"});
    let answer = program(hers).post("/v1/responses", body.clone()).await;
    let session = crate::openai_client::session_of(&answer);
    let path = format!("/v1/responses/{}", answer.ok()["id"].as_str().unwrap());
    assert_eq!(program(hers).get(&path).await.status(), 200);
    for other in [his, full] {
        for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/cancel"))] {
            let refused = server.send(method, &path, &program(other).headers(&[]), b"").await;
            assert_eq!(refused.status(), 404, "{method} {path}");
        }
        let named = program(other).post_with(CHAT, &[("X-Miniclaw-Session", &session)], &hi()).await;
        assert_eq!(named.status(), 404);
        let mut after = body.clone();
        after["previous_response_id"] = path.strip_prefix("/v1/responses/").unwrap().into();
        assert_eq!(program(other).post("/v1/responses", after).await.status(), 404);
    }
    assert_eq!(error(&program(reads).post(CHAT, hi()).await), (403, "read_only_token".to_owned()));
    assert_eq!(program(reads).get("/v1/models").await.status(), 403);
    assert_eq!(send(&server, &[("Cookie", &bob.cookie)], &hi()).await.status(), 401, "no cookie counts here");
    let elsewhere = program(his).get("/api/sessions").await;
    assert_eq!(elsewhere.refused(), (403, "ask_token".to_owned()));
    assert_eq!(program(full).post(CHAT, hi()).await.status(), 200);
}

#[tokio::test]
async fn hostile_bodies_are_refused_with_their_field() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let with = |field: &str, value: Value| {
        let mut body = hi();
        body[field] = value;
        body
    };
    for (body, param) in [
        (json!({"messages": messages(&["hi"])}), "model"),
        (json!({"model": "miniclaw"}), "messages"),
        (with("model", json!(7)), "model"),
        (with("messages", json!("hi")), "messages"),
        (with("messages", json!([])), "messages"),
        (with("messages", json!([{"role": "assistant", "content": "x"}])), "messages"),
        (with("n", json!(2)), "n"),
        (with("logprobs", json!(true)), "logprobs"),
        (with("audio", json!({})), "audio"),
        (with("temperature", json!("hot")), "temperature"),
        (with("stream", json!("yes")), "stream"),
        (with("tools", json!([{"type": "function", "function": {"name": "../x"}}])), "tools[0].name"),
        (with("tool_choice", json!("required")), "tool_choice"),
        (with("metadata", json!([])), "metadata"),
    ] {
        let answer = program.post(CHAT, body.clone()).await;
        assert_eq!(answer.status(), 400, "{body}");
        assert_eq!(answer.json()["error"]["param"], param, "{}", answer.text());
    }
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep = format!(r#"{{"model": "miniclaw", "messages": {deep}}}"#);
    let huge = format!(r#"{{"model": "{}"}}"#, "x".repeat(25 << 20));
    for (body, status) in
        [("", 400), ("{", 400), ("[]", 400), ("null", 400), (deep.as_str(), 400), (huge.as_str(), 413)]
    {
        let answer = server.send("POST", CHAT, &program.headers(&[]), body.as_bytes()).await;
        assert_eq!(answer.status(), status, "{}", &body[..body.len().min(40)]);
        assert!(answer.json()["error"]["message"].is_string());
    }
    let form = [("Authorization", program.bearer.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(error(&server.send("POST", CHAT, &form, b"{}").await).0, 415);
    assert_eq!(error(&program.get(CHAT).await), (405, "wrong_method".to_owned()));
    assert_eq!(program.get("/v1/nothing").await.status(), 404);
    assert!(world.asked().is_empty());
}

#[tokio::test]
async fn headers_cannot_break_out_of_their_line() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let program = Program::new(&server).await;
    let mut body = hi();
    body["bad\r\nSet-Cookie: x"] = json!(1);
    body["ключ"] = json!(1);
    body["plain"] = json!(1);
    let answer = program.post(CHAT, body).await;
    assert_eq!(answer.head.header("x-miniclaw-ignored"), Some("plain"));
    assert_eq!(answer.head.header("set-cookie"), None);
    let long = "x".repeat(5_000);
    for (name, value) in [("Idempotency-Key", long.as_str()), ("X-OpenWebUI-Chat-Id", long.as_str())] {
        assert_eq!(program.post_with(CHAT, &[(name, value)], &hi()).await.status(), 200, "{name}");
    }
}
