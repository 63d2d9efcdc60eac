//! Several providers at once: added, changed and removed from the page, with their true state.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use miniclaw::provider::scripted;
use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::{CONFIG, Server, World};

const TYPED: &str = "sk-canary-typed-5f6e7d";

async fn world() -> World {
    World::new(script([always(says(["Yes."]))])).await
}

async fn providers(server: &Server<'_>) -> Value {
    server.get("/api/providers").await.ok()
}

fn provider<'a>(list: &'a Value, id: &str) -> &'a Value {
    let all = list["providers"].as_array().expect("a list");
    all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {list:#}"))
}

/// Starts a server that only lists models, and records the keys that it is sent.
async fn lister(names: &'static [&'static str]) -> (String, Arc<Mutex<Vec<String>>>) {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = keys.clone();
    let models = move |headers: HeaderMap| {
        let key = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        seen.lock().unwrap().push(key);
        async move { json!({"data": names.iter().map(|name| json!({"id": name})).collect::<Vec<_>>()}).to_string() }
    };
    (served(Router::new().route("/v1/models", get(models))).await, keys)
}

async fn served(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn several_providers_are_used_side_by_side() {
    let world = world().await.with_file("config.yml", &format!("# mine\n{CONFIG}# end\n"));
    let second = scripted::start(script([always(says(["Second."]))])).await.unwrap();
    let server = world.serve().await;
    let list = providers(&server).await;
    let first = provider(&list, "other");
    assert_eq!(
        (&first["source"], &first["editable"], &first["state"]),
        (&json!("environment"), &json!(false), &json!("unchecked"))
    );
    assert_eq!(first["key"], json!({"set": true, "source": "environment", "variable": "OPENAI_API_KEY"}));
    assert_eq!(first["read_only_reason"], "in_environment");

    let new = json!({"base_url": second.base_url.as_str(), "api_key": TYPED, "name": "Zweiter: # \"x\""});
    let answer = server.as_page("POST", "/api/providers", new.clone()).await;
    assert_eq!(answer.status(), 201);
    let added = answer.ok();
    assert_eq!((&added["id"], &added["state"], &added["editable"]), (&json!("other-2"), &json!("ready"), &json!(true)));
    assert_eq!(added["name"], "Zweiter: # \"x\"");
    assert_eq!(added["key"], json!({"set": true, "source": ".env", "variable": "MINICLAW_KEY_OTHER_2"}));
    let model = &added["models"][0];
    assert_eq!((&model["id"], &model["enabled"]), (&json!("other/scripted"), &json!(true)));
    assert_eq!(model["context_window"], json!({"tokens": null, "source": "default"}));
    assert_eq!((&model["price"], &model["vision"], &model["thinking"]), (&Value::Null, &Value::Null, &Value::Null));
    let file = world.read("config.yml");
    assert!(file.starts_with(&format!("# mine\n{CONFIG}# end\nproviders:\n")), "{file}");
    assert!(!file.contains(TYPED) && world.read(".env").contains(TYPED));
    assert_eq!(server.as_page("POST", "/api/providers", new).await.refused(), (409, "provider_exists".to_owned()));

    // Both can be chosen, at once and after a restart.
    server.chat("s", "hi").await;
    server.settled("s").await;
    server.put("/api/sessions/s/model", json!({"model": "other/scripted"})).await.ok();
    server.chat("s", "again").await;
    server.settled("s").await;
    assert_eq!(second.requests().last().unwrap()["model"], "scripted");
    assert_eq!(provider(&providers(&server).await, "other")["state"], "ready", "a real request counts");
    for path in ["/api/providers", "/api/models", "/api/settings", "/api/status"] {
        assert!(!server.get(path).await.ok().to_string().contains(TYPED), "{path}");
    }
    drop(server);
    let server = world.serve().await;
    assert!(server.get("/api/models").await.ok().to_string().contains("other/scripted"));
    // What was chosen and removed is said to be gone.
    server.as_page("DELETE", "/api/providers/other-2", Value::Null).await.ok();
    assert!(!world.read(".env").contains(TYPED), "the key goes with its provider");
    assert_eq!(world.read("config.yml"), format!("# mine\n{CONFIG}# end\n"));
    let frames = server.chat("s", "more").await;
    assert_eq!(frames.iter().find(|frame| frame.is("error")).expect("it fails").data["code"], "unknown_model");
    assert!(!world.log().contains(TYPED));
}

#[tokio::test]
async fn parameters_apply_to_the_next_request() {
    let world = world().await;
    let second = scripted::start(script([always(says(["Second."]))])).await.unwrap();
    let server = world.serve().await;
    server.as_page("POST", "/api/providers", json!({"base_url": second.base_url.as_str()})).await.ok();
    let path = "/api/models/other%2Fscripted";
    let set = json!({"favorite": true, "parameters": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "context_window": 9000}});
    let list = server.as_page("PATCH", path, set).await.ok();
    let model = &provider(&list, "other-2")["models"][0];
    assert_eq!(
        model["parameters"],
        json!({"temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "context_window": 9000, "thinking": null})
    );
    assert_eq!(
        (&model["favorite"], &model["context_window"]),
        (&json!(true), &json!({"tokens": 9000, "source": "config.yml"}))
    );
    let list = server.as_page("PUT", "/api/models/default", json!({"model": "other/scripted"})).await.ok();
    assert_eq!(list["default_model"], "other/scripted");
    server.chat("s", "hi").await;
    server.settled("s").await;
    let asked = second.requests().into_iter().find(|body| body.get("tools").is_some()).expect("a request");
    assert_eq!((&asked["temperature"], &asked["top_p"], &asked["max_tokens"]), (&json!(0.5), &json!(0.9), &json!(77)));
    // Null brings the model's own value back; a disabled model cannot be chosen.
    server.as_page("PATCH", path, json!({"parameters": {"temperature": null}})).await.ok();
    let list = server.as_page("PATCH", path, json!({"enabled": false})).await.ok();
    let model = &provider(&list, "other-2")["models"][0];
    assert_eq!((&model["enabled"], &model["parameters"]["temperature"]), (&json!(false), &Value::Null));
    assert!(!server.get("/api/models").await.ok()["available"].to_string().contains("scripted"));
    let again = model["id"].as_str().unwrap().replace('/', "%2F");
    server.as_page("PATCH", &format!("/api/models/{again}"), json!({"enabled": true})).await.ok();
    assert!(server.get("/api/models").await.ok()["available"].to_string().contains("scripted"));
    for (body, code) in [
        (json!({"parameters": {"temperature": 3}}), "bad_parameter"),
        (json!({"parameters": {"api_key": "x"}}), "bad_parameter"),
        (json!({"parameters": {"max_tokens": 0}}), "bad_parameter"),
    ] {
        assert_eq!(server.as_page("PATCH", path, body).await.refused(), (400, code.to_owned()));
    }
    let other = server.as_page("PATCH", "/api/models/other%2Fmock", json!({"enabled": false})).await.refused();
    assert_eq!(other, (409, "not_editable".to_owned()), "it belongs to the environment");
    server.as_page("PATCH", "/api/models/other%2Fmock", json!({"favorite": true})).await.ok();
}

#[tokio::test]
async fn fallback_and_default_are_chosen_by_id_and_removed() {
    let world = world().await;
    let server = world.serve().await;
    let unknown = server.as_page("PUT", "/api/models/default", json!({"model": "other/none"})).await.refused();
    assert_eq!(unknown, (404, "unknown_model".to_owned()));
    let list = server.as_page("PUT", "/api/models/fallback", json!({"model": "other/mock"})).await.ok();
    assert_eq!(list["fallback_model"], "other/mock");
    let list = server.as_page("PUT", "/api/models/fallback", json!({"model": null})).await.ok();
    assert_eq!((&list["fallback_model"], world.read("config.yml").as_str()), (&Value::Null, CONFIG));
}

#[tokio::test]
async fn state_is_that_of_the_last_request() {
    let world = world().await;
    let refuse =
        || async { (StatusCode::UNAUTHORIZED, json!({"error": {"message": "no"}}).to_string()).into_response() };
    let (ok, _) = lister(&["m"]).await;
    let refusing = served(Router::new().route("/v1/models", get(refuse))).await;
    world.write(
        "config.yml",
        format!(
            "{CONFIG}providers:\n  - {{id: up, base_url: '{ok}'}}\n  - {{id: down, base_url: 'http://127.0.0.1:1/v1'}}\n  - {{id: refusing, base_url: '{refusing}'}}\n"
        ),
    );
    let server = world.serve().await;
    for (id, state, code) in
        [("up", "ready", None), ("down", "unreachable", Some("unreachable")), ("refusing", "refused", Some("auth"))]
    {
        assert_eq!(provider(&providers(&server).await, id)["state"], "unchecked");
        let checked = server.as_page("POST", &format!("/api/providers/{id}/check"), Value::Null).await.ok();
        assert_eq!(checked["state"], state, "{id}");
        assert_eq!(checked["detail"]["code"].as_str(), code, "{id}");
        assert!(checked["state_since"].as_str().is_some_and(|since| since.ends_with('Z')), "{checked}");
    }
    let up = provider(&providers(&server).await, "up").clone();
    assert_eq!(
        (&up["models"][0]["name"], &up["models"][0]["enabled"]),
        (&json!("m"), &json!(false)),
        "named, not enabled"
    );
    let gone = server.as_page("POST", "/api/providers/none/check", Value::Null).await.refused();
    assert_eq!(gone, (404, "unknown_provider".to_owned()));
}

#[tokio::test]
async fn key_is_replaced_and_never_goes_to_another_address() {
    let world = world().await;
    let (first, first_keys) = lister(&["m"]).await;
    let (second, second_keys) = lister(&["m"]).await;
    let server = world.serve().await;
    let added = server.as_page("POST", "/api/providers", json!({"base_url": first, "api_key": "sk-one"})).await.ok();
    let path = format!("/api/providers/{}", added["id"].as_str().unwrap());
    server.as_page("PATCH", &path, json!({"api_key": "sk-two"})).await.ok();
    assert_eq!(*first_keys.lock().unwrap(), ["Bearer sk-one", "Bearer sk-two"]);
    let env = world.read(".env");
    assert!(env.contains("sk-two") && !env.contains("sk-one"), "{env}");
    let refused = server.as_page("PATCH", &path, json!({"base_url": second})).await.refused();
    assert_eq!(refused, (409, "key_needed".to_owned()));
    assert!(second_keys.lock().unwrap().is_empty());
    server.as_page("PATCH", &path, json!({"base_url": second, "api_key": "sk-three"})).await.ok();
    assert_eq!(*second_keys.lock().unwrap(), ["Bearer sk-three"]);
    let changed = server.as_page("PATCH", &path, json!({"api_key": null, "name": "Mine"})).await.ok();
    assert_eq!((&changed["key"]["set"], &changed["name"]), (&json!(false), &json!("Mine")));
    assert!(!world.read(".env").contains("sk-"));

    // A redirect is not followed, so the key stays where it belongs.
    let redirect = move || async move { Redirect::temporary(&format!("{second}/models")) };
    let redirecting = served(Router::new().route("/v1/models", get(redirect))).await;
    let before = second_keys.lock().unwrap().len();
    let refused =
        server.as_page("POST", "/api/providers", json!({"base_url": redirecting, "api_key": "sk-four"})).await;
    assert_eq!((refused.refused().0, second_keys.lock().unwrap().len()), (502, before));
    assert!(!world.read(".env").contains("sk-four"));
}

#[tokio::test]
async fn hostile_provider_changes_nothing() {
    let world = world().await;
    let server = world.serve().await;
    let (address, _) = lister(&["m"]).await;
    let without = server.post("/api/providers", json!({"base_url": address})).await.refused();
    assert_eq!(without, (403, "no_secret".to_owned()));
    for (body, expected) in [
        (json!({"base_url": "file:///etc/passwd"}), (400, "bad_address")),
        (json!({"base_url": "http://${OPENAI_API_KEY}.evil.example/v1"}), (400, "bad_address")),
        (json!({"base_url": format!("{address}/${{OPENAI_API_KEY}}")}), (400, "bad_address")),
        (json!({"base_url": address, "api_key": "x'\nA=1"}), (400, "bad_key")),
        (json!({"base_url": address, "name": "a\nport: 1"}), (400, "bad_name")),
        (json!({"base_url": address, "name": "x".repeat(101)}), (400, "bad_name")),
        (json!({"base_url": address, "api_key": ["sk-canary"]}), (400, "bad_json")),
        (json!({"base_url": address, "name": "x".repeat(100_000)}), (413, "bad_json")),
        (json!({"base_url": "http://127.0.0.1:1/v1", "api_key": TYPED}), (502, "unreachable")),
    ] {
        let refused = server.as_page("POST", "/api/providers", body.clone()).await;
        assert!(!refused.text().contains("canary"));
        let refused = refused.refused();
        assert_eq!((refused.0, refused.1.as_str()), expected, "{}", body["base_url"]);
    }
    for path in ["/api/providers/other", "/api/providers/none"] {
        assert!(server.as_page("DELETE", path, Value::Null).await.refused().0 >= 404, "{path}");
    }
    assert_eq!(world.read("config.yml"), CONFIG);
    assert!(!world.path(".env").exists());
    // A name is a text, whatever it looks like.
    let named = json!({"base_url": address, "name": "${OPENAI_API_KEY}"});
    assert_eq!(server.as_page("POST", "/api/providers", named).await.ok()["name"], "${OPENAI_API_KEY}");
}

#[tokio::test]
async fn invalid_file_is_not_rewritten() {
    let world = world().await;
    let server = world.serve().await;
    let broken = format!("{CONFIG}max_iterations: [\n");
    world.write("config.yml", &broken);
    let (address, _) = lister(&["m"]).await;
    let refused =
        server.as_page("POST", "/api/providers", json!({"base_url": address, "api_key": TYPED})).await.refused();
    assert_eq!(refused, (409, "config_invalid".to_owned()));
    assert_eq!(world.read("config.yml"), broken);
    assert!(!world.read(".env").contains(TYPED), "the key is not left behind");
}

#[tokio::test]
async fn kill_at_any_moment_leaves_no_provider_without_its_key() {
    let world = world().await;
    let (address, _) = lister(&["m"]).await;
    for wait in 0..12 {
        let server = world.serve().await;
        let secret = server.secret().await;
        let headers = [("Content-Type", "application/json"), ("X-Miniclaw-Secret", secret.as_str())];
        let body = json!({"base_url": address, "api_key": format!("sk-{wait}")}).to_string();
        let adding = server.send("POST", "/api/providers", &headers, body.as_bytes());
        // Dropping the server kills it, like a power cut.
        let answered = tokio::time::timeout(std::time::Duration::from_millis(wait), adding).await;
        drop(server);
        let server = world.serve().await;
        let list = providers(&server).await;
        let found = list["providers"].as_array().unwrap().iter().find(|one| one["source"] == "config.yml");
        assert!(answered.is_err() || found.is_some(), "what was answered is kept");
        if let Some(found) = found {
            assert_eq!(found["key"]["set"], true, "{found}");
            let path = format!("/api/providers/{}", found["id"].as_str().unwrap());
            server.as_page("DELETE", &path, Value::Null).await.ok();
            assert!(!world.read(".env").contains("sk-"), "keys that a crash left go too");
        }
    }
}

#[tokio::test]
async fn concurrent_changes_never_send_a_key_to_another_address() {
    let world = world().await;
    let (first, first_keys) = lister(&["m"]).await;
    let (second, second_keys) = lister(&["m"]).await;
    let server = world.serve().await;
    server.as_page("POST", "/api/providers", json!({"base_url": first, "api_key": "sk-first"})).await.ok();
    let path = "/api/providers/other-2";
    let (one, two) = tokio::join!(
        server.as_page("PATCH", path, json!({"api_key": "sk-first-new"})),
        server.as_page("PATCH", path, json!({"base_url": second, "api_key": "sk-second"})),
    );
    assert!(two.status() == 200 && (one.status() == 200 || one.refused() == (409, "provider_changed".to_owned())));
    server.as_page("POST", &format!("{path}/check"), Value::Null).await.ok();
    assert!(first_keys.lock().unwrap().iter().all(|key| key.contains("first")));
    assert!(second_keys.lock().unwrap().iter().all(|key| key.contains("second")), "{second_keys:?}");
}

#[tokio::test]
async fn search_for_local_servers_obeys_the_configuration() {
    let world = world().await;
    let server = world.serve().await;
    assert_eq!(server.post("/api/providers/find", json!({})).await.refused(), (403, "no_secret".to_owned()));
    let found = server.as_page("POST", "/api/providers/find", json!({})).await.ok();
    assert!(found["providers"].as_array().unwrap().iter().all(|one| one["source"] != "found"), "{found}");
}
