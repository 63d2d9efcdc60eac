//! The settings of config.yml, changed from the page: checked, confirmed, applied at once, written with comments kept.

use serde_json::{Value, json};

use crate::http::Answer;
use crate::script::{always, call, calls, says, script};
use crate::world::{ASKING, CONFIG, PLAIN, Server, World, eventually};

const PATH: &str = "/api/settings";

async fn world() -> World {
    World::new(script([always(says(["Yes."]))])).await
}

async fn patch(server: &Server<'_>, body: Value) -> Answer {
    server.as_page("PATCH", PATH, body).await
}

async fn set(server: &Server<'_>, key: &str, value: Value) -> Answer {
    patch(server, json!({"set": {key: value}})).await
}

fn setting<'a>(settings: &'a Value, key: &str) -> &'a Value {
    let list = settings["settings"].as_array().expect("a list");
    list.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("no {key}"))
}

#[tokio::test]
async fn settings_are_listed_with_their_values_and_sources() {
    let world =
        world().await.with_file("config.yml", "find_local_models: false\nsandbox: strict\nmax_minutes: 7 # few\n");
    let world = world.with_env("MINICLAW_VISION_MODELS", "a, b");
    let server = world.serve().await;
    let settings = server.get(PATH).await.ok();
    assert_eq!((&settings["config_file"], &settings["warnings"]), (&json!("config.yml"), &json!([])));
    assert_eq!(settings["home"], world.home().to_str().unwrap());
    assert_eq!(
        setting(&settings, "max_minutes"),
        &json!({"key": "max_minutes", "value": 7, "default": 30, "source": "config.yml", "kind": "number", "minimum": 1.0,
            "maximum": 1440.0, "whole": true, "choices": null, "restart_needed": false, "loosens": null})
    );
    let sandbox = setting(&settings, "sandbox");
    assert_eq!((&sandbox["value"], &sandbox["restart_needed"]), (&json!("strict"), &json!(true)));
    assert_eq!(sandbox["loosens"], json!(["standard"]));
    let vision = setting(&settings, "vision_models");
    assert_eq!((&vision["value"], &vision["source"]), (&json!(["a", "b"]), &json!("environment")));
    assert_eq!(setting(&settings, "port")["source"], "command line");
    assert_eq!(setting(&settings, "max_iterations")["source"], "default");
    let refused = set(&server, "vision_models", json!(["c"])).await.refused();
    assert_eq!(refused, (409, "environment_wins".to_owned()));
}

#[tokio::test]
async fn changed_setting_applies_at_once_and_keeps_comments() {
    let world =
        world().await.with_file("config.yml", &format!("# mine\n{PLAIN}max_iterations: 5   # not more\n\n# the end\n"));
    let server = world.serve().await;
    let settings = patch(&server, json!({"set": {"max_iterations": 1, "approvals.effects.write": "deny"}})).await.ok();
    assert_eq!(setting(&settings, "max_iterations")["value"], 1);
    assert_eq!(setting(&settings, "approvals.effects.write")["source"], "config.yml");
    let expected = format!(
        "# mine\n{PLAIN}max_iterations: 1   # not more\n\n# the end\napprovals:\n  effects:\n    write: deny\n"
    );
    assert_eq!(world.read("config.yml"), expected);
    // The name in Host is one of a server that was not restarted.
    let port = server.address.port();
    let named = format!("GET /health HTTP/1.1\r\nHost: Desk.lan:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(crate::http::raw(server.address, named.as_bytes()).await.refused(), (403, "bad_host".to_owned()));
    let refused = set(&server, "host_names", json!(["desk.lan"])).await.refused();
    assert_eq!(refused, (409, "confirm_loosening".to_owned()));
    patch(&server, json!({"set": {"host_names": ["desk.lan"]}, "confirm_loosening": true})).await.ok();
    assert_eq!(crate::http::raw(server.address, named.as_bytes()).await.status(), 200);
    // Null brings the default back.
    let settings = set(&server, "max_iterations", Value::Null).await.ok();
    assert_eq!(setting(&settings, "max_iterations")["source"], "default");
    assert!(!world.read("config.yml").contains("max_iterations"));
}

#[tokio::test]
async fn changed_policy_decides_the_next_call() {
    let create = calls([call("a", "create_file", json!({"path": "workspace/a.md", "content": "x"}))]);
    let world = World::new(script([create, always(says(["Done."]))])).await.with_file("config.yml", ASKING);
    let server = world.serve().await;
    set(&server, "approvals.effects.write", json!("deny")).await.ok();
    server.chat("s", "go").await;
    server.settled("s").await;
    assert!(!world.path("workspace/a.md").exists(), "denied without a question");
    assert_eq!(server.get("/api/approvals").await.ok()["approvals"], json!([]));
}

#[tokio::test]
async fn invalid_change_is_refused_and_writes_nothing() {
    let world = world().await;
    let server = world.serve().await;
    let body = json!({"set": {"max_iterations": 3}});
    let send = |headers: Vec<(&'static str, String)>, body: String| {
        let server = &server;
        async move {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            server.send("PATCH", PATH, &headers, body.as_bytes()).await.refused()
        }
    };
    let json_type = || ("Content-Type", "application/json".to_owned());
    assert_eq!(send(vec![json_type()], body.to_string()).await, (403, "no_secret".to_owned()));
    let secret = ("X-Miniclaw-Secret", server.secret().await);
    let foreign = vec![json_type(), secret.clone(), ("Origin", "http://evil.example".to_owned())];
    assert_eq!(send(foreign, body.to_string()).await.0, 403);
    let huge = json!({"set": {"default_model": "x".repeat(8 << 20)}}).to_string();
    assert_eq!(send(vec![json_type(), secret], huge).await.0, 413);
    for (set, expected) in [
        (json!({"max_iterations": 0}), (400, "bad_setting")),
        (json!({"max_iterations": 3, "max_minutes": "x"}), (400, "bad_setting")),
        (json!({"default_model": "a\nport: 1"}), (400, "bad_setting")),
        (json!({"models": []}), (400, "unknown_setting")),
        (json!({"embedding.api_key": "x"}), (400, "unknown_setting")),
        (json!({"sandbox": "off"}), (400, "sandbox_off")),
        (json!({"retrieval.chunk_tokens": 32, "retrieval.chunk_overlap": 2000}), (400, "bad_setting")),
        (json!({"host": "0.0.0.0"}), (409, "needs_token")),
        (json!({"port": 80}), (409, "environment_wins")),
    ] {
        let refused = patch(&server, json!({"set": set, "confirm_loosening": true})).await.refused();
        assert_eq!((refused.0, refused.1.as_str()), expected, "{set}");
    }
    assert_eq!(world.read("config.yml"), CONFIG);
}

#[tokio::test]
async fn hostile_text_stays_one_value() {
    let world = world().await;
    let server = world.serve().await;
    for text in ["a: b # c", "'\"{}[],&*!|>%@`", "${OPENAI_API_KEY}", "- x", "null", "企鹅 😀"] {
        let settings = set(&server, "fallback_model", json!(text)).await.ok();
        assert_eq!(setting(&settings, "fallback_model")["value"], text);
        assert!(world.read("config.yml").starts_with(CONFIG));
    }
    set(&server, "fallback_model", Value::Null).await.ok();
    assert_eq!(world.read("config.yml"), CONFIG);
}

#[tokio::test]
async fn file_changed_by_hand_is_followed_and_an_invalid_one_is_not() {
    let world = world().await;
    let server = world.serve().await;
    world.write("config.yml", format!("{CONFIG}fallback_model: local # new\n"));
    let settings = server.get(PATH).await.ok();
    assert_eq!(setting(&settings, "fallback_model")["value"], "local");
    let broken = format!("{CONFIG}max_iterations: [1\n");
    world.write("config.yml", &broken);
    let warnings = server.get(PATH).await.ok()["warnings"].to_string();
    assert!(warnings.contains("config.yml"), "{warnings}");
    let refused = set(&server, "max_minutes", json!(3)).await.refused();
    assert_eq!(refused, (409, "config_invalid".to_owned()));
    assert_eq!(world.read("config.yml"), broken);
    let events = server.chat("s", "hi").await;
    assert!(events.iter().any(|event| event.event == "done"), "the last valid one stays in force");
    world.write("config.yml", CONFIG);
    assert_eq!(server.get(PATH).await.ok()["warnings"], json!([]));
}

#[tokio::test]
async fn file_changed_by_hand_applies_without_being_asked() {
    let world = world().await;
    let server = world.serve().await;
    let address = world.provider.base_url.as_str();
    world.write("config.yml", format!("{CONFIG}models:\n  - {{id: other, api_url: '{address}'}}\n"));
    eventually("the new model is listed", async || {
        server.get("/api/models").await.ok()["available"].to_string().contains("other/other")
    })
    .await;
}

#[tokio::test]
async fn concurrent_changes_are_all_kept() {
    let world = world().await;
    let server = world.serve().await;
    let changes = [("max_iterations", json!(7)), ("max_minutes", json!(8)), ("auto_compact", json!("off"))];
    let [(a, x), (b, y), (c, z)] = &changes;
    let (one, two, three) =
        tokio::join!(set(&server, a, x.clone()), set(&server, b, y.clone()), set(&server, c, z.clone()));
    [one, two, three].iter().for_each(|answer| drop(answer.ok()));
    let settings = server.get(PATH).await.ok();
    for (key, value) in &changes {
        assert_eq!(&setting(&settings, key)["value"], value);
    }
}

#[tokio::test]
async fn linked_config_is_read_and_not_written() {
    let world = world().await.with_file("elsewhere.yml", "find_local_models: false\nmax_iterations: 5\n");
    let _ = std::fs::remove_file(world.path("config.yml"));
    std::os::unix::fs::symlink(world.path("elsewhere.yml"), world.path("config.yml")).unwrap();
    let server = world.serve().await;
    assert_eq!(setting(&server.get(PATH).await.ok(), "max_iterations")["value"], 5);
    assert_eq!(set(&server, "max_iterations", json!(7)).await.refused(), (409, "config_is_link".to_owned()));
    assert_eq!(world.read("elsewhere.yml"), "find_local_models: false\nmax_iterations: 5\n");
}
