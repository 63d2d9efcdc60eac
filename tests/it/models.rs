//! Each session chooses the model that answers; the choice is kept in the session file.

use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::{CONFIG, World};

const PATH: &str = "/api/sessions/s/model";

/// Configures two models besides that of the environment: one of the same server, and one whose thinking can be switched.
fn configured(world: &World) {
    let address = world.provider.base_url.as_str();
    let models = format!(
        "models:\n  - {{id: second, name: The second, api_url: '{address}', api_key: x, model: other-mock, context_window: 9000}}\n  \
         - {{id: deepseek-chat, api_url: 'https://api.deepseek.com', api_key: x}}\n"
    );
    world.write("config.yml", format!("{CONFIG}{models}"));
}

async fn world() -> World {
    let world = World::new(script([always(says(["Yes."]))])).await;
    configured(&world);
    world
}

#[tokio::test]
async fn models_are_listed_with_selectable_ids() {
    let world = world().await;
    let server = world.serve().await;
    let models = server.get("/api/models").await.ok();
    let listed: Vec<_> = models["available"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| {
            (model["id"].as_str().unwrap(), model["from"].as_str().unwrap(), model["thinking"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(
        listed[..3],
        [
            ("other/mock", "environment", false),
            ("other/other-mock", "config.yml", false),
            ("deepseek/deepseek-chat", "config.yml", true),
        ]
    );
    assert_eq!(models["default_id"], "other/mock");
    assert_eq!(
        (&models["available"][1]["label"], &models["available"][1]["context_window"]),
        (&json!("The second"), &json!(9000))
    );
}

#[tokio::test]
async fn chosen_model_applies_from_next_message() {
    let world = world().await;
    let server = world.serve().await;
    server.chat("s", "one").await;
    server.settled("s").await;
    server.put(PATH, json!({"model": "other/other-mock"})).await.ok();
    let frames = server.chat("s", "two").await;
    assert_eq!(frames[0].data["model"], "other-mock");
    server.chat("elsewhere", "three").await;
    let asked: Vec<Value> = world.asked().iter().map(|body| body["model"].clone()).collect();
    assert_eq!(asked, ["mock", "other-mock", "mock"]);
    let history = server.settled("s").await;
    assert_eq!(history["chosen"], json!({"model": "other/other-mock"}));
    let models: Vec<_> = history["works"].as_array().unwrap().iter().map(|work| &work["model"]).collect();
    assert_eq!(models, ["mock", "other-mock"]);
    assert_eq!(world.session("s")["chosen"], json!({"model": "other/other-mock"}));
    assert_eq!(server.get("/api/tokens/session/s").await.ok()["context_window"], 9000);
    // Summaries and titles use the session's model too.
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!(world.provider.requests().pop().unwrap()["model"], "other-mock");
    server.put(PATH, json!({})).await.ok();
    assert_eq!(world.session("s").get("chosen"), None);
}

#[tokio::test]
async fn thinking_is_switchable_only_when_supported() {
    let world = world().await.with_file("sessions/s.json", r#"{"title": "t", "messages": []}"#);
    let server = world.serve().await;
    let next = async || server.get("/api/prompt?session_id=s").await.ok()["request"].clone();
    let refused = server.put(PATH, json!({"thinking": true})).await.refused();
    assert_eq!(refused, (400, "no_thinking_switch".to_owned()));
    assert_eq!(next().await.get("thinking"), None);
    for (thinking, sent) in [(json!(true), "enabled"), (json!(false), "disabled")] {
        server.put(PATH, json!({"model": "deepseek/deepseek-chat", "thinking": thinking})).await.ok();
        let request = next().await;
        assert_eq!((&request["model"], &request["thinking"]), (&json!("deepseek-chat"), &json!({"type": sent})));
    }
    server.put(PATH, json!({"model": "deepseek/deepseek-chat"})).await.ok();
    assert_eq!(next().await.get("thinking"), None);
}

#[tokio::test]
async fn missing_model_is_reported_and_replaced() {
    let world = world().await;
    let server = world.serve().await;
    let unknown = (400, "unknown_model".to_owned());
    server.chat("s", "one").await;
    server.settled("s").await;
    assert_eq!(server.put(PATH, json!({"model": "other/none"})).await.refused(), unknown);
    server.put(PATH, json!({"model": "other/other-mock"})).await.ok();
    drop(server);
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let frames = server.chat("s", "two").await;
    let error = &frames.iter().find(|frame| frame.is("error")).expect("it fails").data;
    assert_eq!((&error["code"], &error["retryable"]), (&json!("unknown_model"), &json!(true)));
    let words = error["error"].as_str().unwrap();
    assert!(words.contains("other/other-mock") && words.contains("Choose another"), "{words}");
    assert_eq!(world.asked().len(), 1);
    assert_eq!(server.get("/api/tokens/session/s").await.ok()["context_window"], 0);
    server.get("/api/prompt?session_id=s").await.ok();
    server.put(PATH, json!({"model": "other/mock"})).await.ok();
    assert_eq!(server.chat("s", "three").await.last().unwrap().event, "done");
    assert_eq!(world.asked().pop().unwrap()["model"], "mock");
}

#[tokio::test]
async fn model_choice_during_run_applies_next() {
    let slow = json!({"match": "one", "steps": [{"gate": "g"}, {"text": "Yes."}, {"finish": "stop"}]});
    let world = World::new(script([slow, always(says(["Yes."]))])).await;
    configured(&world);
    let server = world.serve().await;
    let mut running = server.open_chat("s", "one").await;
    running.until("user_message").await;
    let mut events = server.follow("/api/sessions/s/events").await;
    server.put(PATH, json!({"model": "other/other-mock"})).await.ok();
    let told = events.until("chosen").await.pop().unwrap();
    assert_eq!(told.data["chosen"], json!({"model": "other/other-mock"}));
    world.provider.open_gate("g");
    running.rest().await;
    server.chat("s", "two").await;
    let asked: Vec<Value> = world.asked().iter().map(|body| body["model"].clone()).collect();
    assert_eq!(asked, ["mock", "other-mock"]);
}
