//! Providers that people connect for themselves on a server of several people: their keys are theirs, and their addresses
//! lead nowhere that the server alone could reach.

use std::os::unix::fs::PermissionsExt;

use miniclaw::provider::scripted;
use serde_json::{Value, json};

use crate::http::Answer;
use crate::people::{Person, admin, ask, get, joined, signed_in, world};
use crate::script::{always, says, script};
use crate::world::Server;

const KEY: &str = "sk-canary-own-7d21";
const PATH: &str = "/api/own-providers";

/// Sends a request as a person's page does, with the page's secret.
async fn page(server: &Server<'_>, person: &Person, (method, path): (&str, &str), body: Value) -> Answer {
    let html = server.send("GET", "/", &[("Cookie", &person.cookie)], b"").await.text();
    let (_, rest) = html.split_once("name=\"miniclaw-secret\" content=\"").expect("the page has its secret");
    let headers = [
        ("Cookie", person.cookie.as_str()),
        ("X-Miniclaw-Secret", rest.split('"').next().unwrap()),
        ("Content-Type", "application/json"),
    ];
    server.send(method, path, &headers, body.to_string().as_bytes()).await
}

#[tokio::test]
async fn own_provider_is_used_by_its_person_alone() {
    let own = scripted::start(script([always(says(["From my own."]))])).await.unwrap();
    let host = format!("127.0.0.1:{}", own.base_url.port().unwrap());
    let world = world(&format!("own_provider_hosts: ['{host}']")).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let new = json!({"base_url": own.base_url.as_str(), "api_key": KEY, "name": "Mine"});
    assert_eq!(ask(&server, &bob, ("POST", PATH), new.clone()).await.refused(), (403, "no_secret".to_owned()));
    let added = page(&server, &bob, ("POST", PATH), new.clone()).await;
    assert_eq!(added.status(), 201, "{}", added.text());
    let added = added.json();
    let one = &added["providers"][0];
    assert_eq!((&one["name"], &one["key"], &one["state"]), (&json!("Mine"), &json!("set"), &json!("ready")));
    let model = one["models"][0]["id"].as_str().unwrap().to_owned();
    assert!(model.starts_with("own/"), "{model}");
    assert_eq!(page(&server, &bob, ("POST", PATH), new).await.refused(), (409, "provider_exists".to_owned()));

    // It is in the list of models of its person, and of nobody else.
    assert!(get(&server, &bob, "/api/models").await.text().contains(&model));
    assert!(!get(&server, &ada, "/api/models").await.text().contains("own/"));
    assert!(!server.get("/api/models").await.text().contains("own/"), "nor for who has not signed in");
    let chosen = json!({"model": model});
    assert_eq!(
        page(&server, &ada, ("PUT", "/api/own-providers/default"), chosen.clone()).await.refused(),
        (404, "unknown_model".to_owned())
    );
    page(&server, &bob, ("PUT", "/api/own-providers/default"), chosen).await.ok();
    assert_eq!(get(&server, &bob, "/api/models").await.ok()["default_id"], json!(model));
    for (person, session) in [(&bob, "his"), (&ada, "hers")] {
        let text =
            ask(&server, person, ("POST", "/api/chat"), json!({"session_id": session, "message": "hi"})).await.text();
        assert_eq!(text.contains("From my own."), session == "his", "{text}");
    }
    assert!(!own.requests().is_empty());
    assert!(world.asked().iter().all(|request| !request.to_string().contains(KEY)));

    // The key is readable nowhere, and works after a restart.
    let file = world.path(&format!("people/{}/providers.json", bob.id));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(KEY) && text.contains("\"Mine\""), "{text}");
    for path in [PATH, "/api/models", "/api/status", "/api/sessions/his/requests"] {
        assert!(!get(&server, &bob, path).await.text().contains(KEY), "{path}");
    }
    drop(server);
    let server = world.serve().await;
    assert_eq!(get(&server, &bob, "/api/models").await.ok()["default_id"], json!(model));
    let before = own.requests().len();
    ask(&server, &bob, ("POST", "/api/chat"), json!({"session_id": "more", "message": "hi"})).await;
    assert!(own.requests().len() > before);
    let id = one["id"].as_str().unwrap();
    // The name of the cookie has the port in it.
    let bob = signed_in(&server, "bob").await;
    page(&server, &bob, ("DELETE", &format!("{PATH}/{id}")), Value::Null).await.ok();
    let gone = ask(&server, &bob, ("POST", "/api/chat"), json!({"session_id": "last", "message": "hi"})).await.text();
    assert!(gone.contains("Fine."), "the server's model answers again: {gone}");
    assert!(!world.log().contains(KEY));
}

#[tokio::test]
async fn own_provider_reaches_no_private_address() {
    let inside = scripted::start(script([always(says(["Secret."]))])).await.unwrap();
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let port = inside.base_url.port().unwrap();
    let own_port = server.address.port();
    for (address, code) in [
        (format!("http://127.0.0.1:{port}/v1"), "address_not_encrypted"),
        (format!("https://127.0.0.1:{port}/v1"), "unreachable"),
        (format!("https://[::ffff:127.0.0.1]:{port}/v1"), "unreachable"),
        (format!("https://localhost:{own_port}/v1"), "unreachable"),
        ("https://169.254.169.254/latest/meta-data".to_owned(), "unreachable"),
        ("https://2130706433/v1".to_owned(), "unreachable"),
        ("https://10.0.0.1:8443/v1".to_owned(), "unreachable"),
        ("ftp://example.org/".to_owned(), "bad_address"),
        ("https://user:pass@example.org/".to_owned(), "bad_address"),
    ] {
        let answer = page(&server, &ada, ("POST", PATH), json!({"base_url": address, "api_key": KEY})).await;
        assert_eq!(answer.refused().1, code, "{address}: {}", answer.text());
        assert!(!answer.text().contains(KEY));
    }
    assert!(inside.requests().is_empty());
    assert_eq!(get(&server, &ada, PATH).await.ok()["providers"], json!([]));
    // A file that was changed by hand is no way around the check either.
    let entry = json!({"id": "x", "name": "X", "base_url": inside.base_url.as_str(), "models": ["scripted"]});
    let text = json!({"providers": [entry], "default_model": "own/other/scripted"}).to_string();
    drop(server);
    std::fs::write(world.path(&format!("people/{}/providers.json", ada.id)), text).unwrap();
    let server = world.serve().await;
    let text = ask(&server, &ada, ("POST", "/api/chat"), json!({"session_id": "s", "message": "hi"})).await.text();
    assert!(text.contains("Fine.") && !text.contains("Secret."), "{text}");
    assert!(inside.requests().is_empty());
}

#[tokio::test]
async fn own_providers_are_absent_where_not_allowed() {
    let world = world("own_providers: false").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    assert_eq!(get(&server, &ada, PATH).await.refused(), (403, "own_providers_off".to_owned()));
    let new = json!({"base_url": "https://example.org/v1"});
    assert_eq!(page(&server, &ada, ("POST", PATH), new).await.refused(), (403, "own_providers_off".to_owned()));
    drop(server);
    let single = crate::world::World::new(script([always(says(["Yes."]))])).await;
    let server = single.serve().await;
    assert_eq!(server.get(PATH).await.refused(), (403, "single_mode".to_owned()));
}
