//! Models behind Anthropic's Messages API and OpenAI's Responses API: asked, shown and continued as any other.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script, steps};
use crate::world::{CONFIG, KEY, Server, World};

/// Configures the scripted provider as one with this API, and a second model of it.
fn configure(world: &World, api: &str, model: &str) {
    let address = world.provider.base_url.as_str();
    let entry = |id: &str, model: &str| {
        format!("  - {{id: {id}, api_url: '{address}', api: {api}, api_key: '${{OPENAI_API_KEY}}', model: {model}}}\n")
    };
    let models = entry("first", model) + &entry("second", "another");
    world.write("config.yml", format!("{CONFIG}default_model: first\nmodels:\n{models}"));
}

/// A work with a call, a question about it, and one after the model was changed.
async fn conversed(api: &str, model: &str) -> World {
    // Anthropic's API tells the counts of the input first.
    let world = World::new(script([
        steps([
            json!({"usage": {"prompt_tokens": 90, "completion_tokens": 5, "cached_tokens": 60}}),
            json!({"thinking": "Hm."}),
            json!({"signature": "seal-one"}),
            call("functions.read:0", "read_file", json!({"path": "knowledge/a.md"})),
            json!({"finish": "tool_calls"}),
        ]),
        steps([
            json!({"thinking": "Hm."}),
            json!({"signature": "seal-two"}),
            json!({"text": "Read."}),
            json!({"finish": "stop"}),
        ]),
        says(["Again."]),
        says(["As another."]),
    ]))
    .await
    .with_file("knowledge/a.md", "alpha\n");
    configure(&world, api, model);
    let server = world.serve().await;
    let frames = server.chat("s", "first").await;
    let said: Vec<_> = frames.iter().filter(|frame| frame.is("thinking")).map(|frame| &frame.data["content"]).collect();
    assert_eq!(said, ["Hm.", "Hm."]);
    let history = server.settled("s").await;
    assert!(!history.to_string().contains("seal-"), "the page needs no sealed thoughts");
    // They are in the session's record, and survive a restart.
    drop(server);
    assert!(world.session("s").to_string().contains("seal-two"));
    let server = world.serve().await;
    server.chat("s", "second").await;
    let other = other_model(&server).await;
    server.put("/api/sessions/s/model", json!({"model": other})).await.ok();
    server.chat("s", "third").await;
    server.settled("s").await;
    is_kept_as_sent(&server, &world).await;
    let tokens = server.get("/api/stats/tokens?period=daily").await.ok().to_string();
    assert!(tokens.contains("\"cached_tokens\":60"), "cached tokens are counted: {tokens}");
    drop(server);
    world
}

async fn other_model(server: &Server<'_>) -> Value {
    let models = server.get("/api/models").await.ok();
    let all = models["available"].as_array().unwrap();
    all.iter().find(|model| model["id"].as_str().unwrap().contains("another")).unwrap()["id"].clone()
}

/// The records are exactly what was sent, and each request continues the one before, but for the change of the model.
async fn is_kept_as_sent(server: &Server<'_>, world: &World) {
    let list = server.get("/api/sessions/s/requests").await.ok();
    let mut bodies = Vec::new();
    for (at, request) in list["requests"].as_array().unwrap().iter().enumerate() {
        let name = request["name"].as_str().unwrap();
        let detail = server.get(&format!("/api/sessions/s/requests/{name}")).await.ok();
        bodies.push(detail["body"].clone());
        let origins: Vec<_> =
            detail["pieces"].as_array().unwrap().iter().map(|piece| piece["origin"].clone()).collect();
        assert!(origins.contains(&json!("file")) && origins.contains(&json!("question")), "{origins:?}");
        if (1..3).contains(&at) {
            assert_eq!(detail["difference"]["parted"], Value::Null, "{detail}");
        }
    }
    assert_eq!(bodies, world.asked());
}

fn seals(body: &Value) -> Vec<&'static str> {
    let text = body.to_string();
    ["seal-one", "seal-two"].into_iter().filter(|seal| text.contains(seal)).collect()
}

#[tokio::test]
async fn signed_thoughts_return_to_their_model_only() {
    let world = conversed("anthropic", "claude-sonnet-4-5").await;
    let asked = world.asked();
    assert_eq!(
        asked.iter().map(seals).collect::<Vec<_>>(),
        [vec![], vec!["seal-one"], vec!["seal-one", "seal-two"], vec![]]
    );
    let first = &asked[0];
    assert_eq!((&first["model"], &first["max_tokens"]), (&json!("claude-sonnet-4-5"), &json!(32_000)));
    assert!(first["system"][0]["text"].as_str().unwrap().contains("You are the soul of a test."));
    assert_eq!(first["system"][0]["cache_control"]["type"], "ephemeral");
    let exchange = asked[1]["messages"].as_array().unwrap();
    assert_eq!(exchange[1]["content"][0], json!({"type": "thinking", "thinking": "Hm.", "signature": "seal-one"}));
    assert_eq!(exchange[1]["content"][1]["id"], "functions_read_0");
    assert_eq!(exchange[2]["content"][0]["type"], "tool_result");
    assert!(!world.log().contains(KEY));
}

#[tokio::test]
async fn encrypted_reasoning_returns_to_its_model_only() {
    let world = conversed("responses", "gpt-5.4").await;
    let asked = world.asked();
    assert_eq!(
        asked.iter().map(seals).collect::<Vec<_>>(),
        [vec![], vec!["seal-one"], vec!["seal-one", "seal-two"], vec![]]
    );
    assert_eq!((&asked[0]["store"], &asked[0]["include"][0]), (&json!(false), &json!("reasoning.encrypted_content")));
    assert!(asked[0]["instructions"].as_str().unwrap().contains("You are the soul of a test."));
    let kinds: Vec<_> = asked[1]["input"].as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
    assert_eq!(kinds, [Value::Null, json!("reasoning"), json!("function_call"), json!("function_call_output")]);
}

#[tokio::test]
async fn interrupted_messages_stream_keeps_the_text() {
    let world = World::new(script([
        steps([json!({"thinking": "Hm."}), json!({"text": "Half"}), json!({"close": true})]),
        calls([call("c", "read_file", json!({"path": "knowledge/none.md"}))]),
        says(["Whole."]),
    ]))
    .await;
    configure(&world, "anthropic", "claude-sonnet-4-5");
    let server = world.serve().await;
    let frames = server.chat("s", "first").await;
    assert!(frames.iter().any(|frame| frame.data["code"] == "interrupted"), "{frames:?}");
    server.chat("s", "second").await;
    let history = server.settled("s").await;
    assert_eq!(history["messages"][1]["content"], "Half");
    let asked = world.asked();
    assert_eq!(asked[1]["messages"][1]["content"], json!([{"type": "text", "text": "Half"}]));
    assert_eq!(asked.len(), 3);
}
