//! A provider connected from the page: tested first, saved to a file that only its owner can read, used at once.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::{Server, World};

const TYPED: &str = "sk-canary-typed-1b2c3d";

async fn world() -> World {
    World::new(script([always(says(["Yes."]))])).await
}

/// Starts a server without any provider configuration.
async fn bare(world: &World) -> Server<'_> {
    let unset = |command: &mut std::process::Command| {
        for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"] {
            command.env_remove(name);
        }
    };
    world.serve_prepared(&["--port", "0"], unset).await
}

#[tokio::test]
async fn connected_provider_is_used_without_restart() {
    let world = world().await.with_file(".env", "# mine\nOTHER=1\n");
    let server = bare(&world).await;
    assert_eq!(server.get("/api/status").await.ok()["model"]["state"], "none");
    let address = world.provider.base_url.to_string();
    let tried = json!({"base_url": address, "api_key": TYPED});
    let models = server.as_page("POST", "/api/providers/check", tried).await.ok();
    assert_eq!(models, json!({"models": ["scripted"]}));
    assert_eq!(world.read(".env"), "# mine\nOTHER=1\n", "a try keeps nothing");

    let chosen = json!({"base_url": address, "api_key": TYPED, "default_model": "scripted"});
    let added = server.as_page("POST", "/api/providers", chosen).await.ok();
    assert_eq!((&added["models"][0]["name"], &added["models"][0]["default"]), (&json!("scripted"), &json!(true)));
    assert_eq!(server.get("/api/status").await.ok()["model"]["state"], "ready");
    server.chat("s", "hi").await;
    assert_eq!(world.asked()[0]["model"], "scripted");
    let text = world.read(".env");
    assert!(text.starts_with("# mine\nOTHER=1\n") && text.contains(&format!("='{TYPED}'")), "{text}");
    let mode = std::fs::metadata(world.path(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for path in ["/api/status", "/api/models", "/api/prompt", "/api/sessions/s/requests"] {
        assert!(!server.get(path).await.ok().to_string().contains(TYPED), "{path}");
    }
    drop(server);
    let server = bare(&world).await;
    assert_eq!(server.get("/api/status").await.ok()["model"]["model"], "scripted");
    assert!(!world.log().contains(TYPED));
}

#[tokio::test]
async fn invalid_provider_is_refused_and_changes_nothing() {
    let world = world().await;
    let server = bare(&world).await;
    let address = world.provider.base_url.to_string();
    let without = server.post("/api/providers/check", json!({"base_url": address})).await.refused();
    assert_eq!(without, (403, "no_secret".to_owned()));
    let without = server.post("/api/providers", json!({"base_url": address, "default_model": "m"})).await.refused();
    assert_eq!(without, (403, "no_secret".to_owned()));
    for (body, expected) in [
        (json!({"base_url": "file:///etc/passwd", "default_model": "m"}), (400, "bad_address")),
        (json!({"base_url": "https://me:canary@host/v1", "default_model": "m"}), (400, "bad_address")),
        (json!({"base_url": address, "api_key": "two words", "default_model": "m"}), (400, "bad_key")),
        (json!({"base_url": address, "api_key": "x'\nA=1", "default_model": "m"}), (400, "bad_key")),
        (json!({"base_url": address, "default_model": " "}), (400, "bad_model")),
        (json!({"base_url": address, "api_key": 7, "default_model": "m"}), (400, "bad_json")),
        (json!({"base_url": "http://127.0.0.1:1/v1", "default_model": "m"}), (502, "unreachable")),
    ] {
        let refused = server.as_page("POST", "/api/providers", body.clone()).await.refused();
        assert_eq!((refused.0, refused.1.as_str()), expected, "{body}");
    }
    assert!(!world.path(".env").exists());
}

#[tokio::test]
async fn form_of_requests_is_chosen_and_changed() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = bare(&world).await;
    let address = world.provider.base_url.to_string();
    let with = |api: Value| json!({"base_url": address, "api_key": TYPED, "api": api});
    let checked = server.as_page("POST", "/api/providers/check", with(json!("anthropic"))).await.ok();
    assert_eq!(checked, json!({"models": ["scripted"]}));
    let refused = server.as_page("POST", "/api/providers", with(json!("soap"))).await.refused();
    assert_eq!(refused, (400, "bad_json".to_owned()));
    let mut chosen = with(json!("anthropic"));
    chosen["default_model"] = json!("scripted");
    let added = server.as_page("POST", "/api/providers", chosen).await.ok();
    assert_eq!(added["api"], "anthropic");
    assert!(world.read("config.yml").contains("api: anthropic"), "{}", world.read("config.yml"));

    let path = format!("/api/providers/{}", added["id"].as_str().unwrap());
    let is_asked = async |field: &str| {
        server.chat("s", "hi").await;
        server.settled("s").await;
        let asked = world.asked();
        assert!(!asked.last().unwrap()[field].is_null(), "{field}: {:?}", asked.last());
    };
    is_asked("system").await;
    let changed = server.as_page("PATCH", &path, json!({"api": "responses"})).await.ok();
    assert_eq!(changed["api"], "responses");
    is_asked("input").await;
    let kept = server.as_page("PATCH", &path, json!({"name": "Mine"})).await.ok();
    assert_eq!((&kept["api"], &kept["name"]), (&json!("responses"), &json!("Mine")));
    let told = server.as_page("PATCH", &path, json!({"api": null})).await.ok();
    assert_eq!(told["api"], Value::Null);
    assert!(!world.read("config.yml").contains("api:"), "{}", world.read("config.yml"));
    is_asked("messages").await;
    drop(server);
    let server = bare(&world).await;
    assert!(server.get("/api/providers").await.ok().to_string().contains("\"api\":null"));
}
