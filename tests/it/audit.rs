//! The audit log: what is recorded, what never is, who reads it, and what happens when it cannot be written.

use serde_json::{Value, json};

use crate::people::{PASSWORD, Person, admin, ask, get, joined, register, world};
use crate::world::{Server, World, eventually};

async fn entries(server: &Server<'_>, admin: &Person, query: &str) -> Vec<Value> {
    let data = get(server, admin, &format!("/api/admin/audit{query}")).await.ok()["data"].clone();
    data["items"].as_array().unwrap().clone()
}

/// Returns event, outcome and reason of each entry, oldest first.
fn told(entries: &[Value]) -> Vec<String> {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or("-").to_owned();
    let line = |entry| ["event", "outcome", "reason"].map(|field| text(entry, field)).join(" ");
    entries.iter().rev().map(line).collect()
}

async fn login(server: &Server<'_>, name: &str, password: &str) -> u16 {
    server.post("/api/auth/login", json!({"username": name, "password": password})).await.status()
}

#[tokio::test]
async fn acts_are_recorded_without_names_of_strangers_or_secrets() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    assert_eq!(login(&server, "my secret passphrase", "typed in the wrong field").await, 401);
    assert_eq!(login(&server, "bob", "not the password").await, 401);
    let token =
        ask(&server, &bob, ("POST", "/api/auth/tokens"), json!({"name": "my backup"})).await.ok()["data"].clone();
    let path = format!("/api/auth/tokens/{}", token["id"].as_str().unwrap());
    ask(&server, &bob, ("DELETE", &path), json!({})).await.ok();
    let of_bob = format!("/api/admin/people/{}", bob.id);
    ask(&server, &ada, ("PATCH", &of_bob), json!({"is_active": false})).await.ok();
    assert_eq!(login(&server, "bob", PASSWORD).await, 403);
    let of_ada = format!("/api/admin/people/{}", ada.id);
    assert_eq!(ask(&server, &ada, ("PATCH", &of_ada), json!({"role": "user"})).await.status(), 409);
    let reset = ask(&server, &ada, ("POST", &format!("{of_bob}/password")), json!({})).await.ok()["data"].clone();
    ask(&server, &ada, ("PATCH", &of_bob), json!({"is_active": true})).await.ok();
    assert_eq!(ask(&server, &bob, ("POST", "/api/auth/logout"), json!({})).await.status(), 401);
    assert_eq!(register(&server, "Eve the stranger", json!({})).await.status(), 403);

    let all = entries(&server, &ada, "").await;
    assert_eq!(
        told(&all),
        [
            "registered done -",
            "sign_in done -",
            "invitation_made done -",
            "registered done -",
            "sign_in done -",
            "sign_in refused wrong_password",
            "sign_in refused wrong_password",
            "token_made done -",
            "token_deleted done -",
            "account_changed done -",
            "sign_in refused disabled",
            "account_changed refused last_admin",
            "password_reset done -",
            "account_changed done -",
            "registered refused invitation_needed",
        ]
    );
    let of = |event: &str, outcome: &str| {
        let fits = |entry: &&Value| entry["event"] == event && entry["outcome"] == outcome;
        all.iter().rev().filter(fits).cloned().collect::<Vec<_>>()
    };
    let failed = of("sign_in", "refused");
    assert!(failed[0].get("account").is_none() && failed[0].get("account_name").is_none(), "{}", failed[0]);
    assert_eq!((&failed[1]["account"], &failed[1]["account_name"]), (&json!(bob.id), &json!("Bob")));
    assert!(failed[1].get("actor").is_none() && failed[1]["address"] == "127.0.0.1", "{}", failed[1]);
    let disabled = &of("account_changed", "done")[0];
    assert_eq!((&disabled["actor"], &disabled["account"]), (&json!(ada.id), &json!(bob.id)));
    assert_eq!(disabled["detail"], json!({"is_active": false}));
    let stored = world.read("audit.jsonl");
    for secret in [
        "passphrase",
        "wrong field",
        "not the password",
        "stranger",
        "my backup",
        PASSWORD,
        token["token"].as_str().unwrap(),
        reset["password"].as_str().unwrap(),
        &ada.token,
    ] {
        assert!(!stored.contains(secret), "{secret}");
    }

    let refused = entries(&server, &ada, "?outcome=refused&event=sign_in").await;
    assert_eq!(refused.len(), 3);
    let about_bob = entries(&server, &ada, &format!("?account={}&limit=100", bob.id)).await;
    assert!(about_bob.len() >= 8 && about_bob.iter().all(|entry| entry.to_string().contains(&bob.id)));
    let mut paged = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = get(&server, &ada, &format!("/api/admin/audit?limit=4&cursor={cursor}")).await.ok()["data"].clone();
        paged.extend(page["items"].as_array().unwrap().clone());
        if page["has_more"] == false {
            break;
        }
        cursor = page["next_cursor"].as_str().unwrap().to_owned();
    }
    assert_eq!(paged, all);
    for bad in ["?limit=0", "?limit=101", "?limit=x", "?cursor=none", "?outcome=x"] {
        assert_eq!(get(&server, &ada, &format!("/api/admin/audit{bad}")).await.status(), 400, "{bad}");
    }
}

#[tokio::test]
async fn only_admins_read_the_audit_log() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    assert_eq!(get(&server, &bob, "/api/admin/audit").await.status(), 403);
    assert_eq!(server.get("/api/admin/audit").await.status(), 401);
    assert_eq!(ask(&server, &bob, ("POST", "/api/admin/invitations"), json!({})).await.status(), 403);
    let tried = entries(&server, &ada, "?outcome=refused").await;
    assert_eq!(told(&tried), ["invitation_made refused not_allowed"]);
    assert_eq!(tried[0]["actor"], bob.id.as_str());
    for path in ["/api/files?path=audit.jsonl", "/api/files?path=../../audit.jsonl"] {
        assert_ne!(get(&server, &ada, path).await.status(), 200, "{path}");
    }
    let single = World::new(crate::script::script([])).await;
    let server = single.serve().await;
    assert_eq!(server.get("/api/admin/audit").await.status(), 403);
    server.post("/api/sessions", json!({"title": "x"})).await.ok();
    assert!(!single.path("audit.jsonl").exists(), "a server for one person has no log");
}

#[tokio::test]
async fn admin_does_nothing_that_cannot_be_recorded() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    drop(server);
    // Nothing can be appended to a folder, also by root.
    std::fs::rename(world.path("audit.jsonl"), world.path("audit.old")).unwrap();
    std::fs::create_dir(world.path("audit.jsonl")).unwrap();
    let server = world.serve().await;
    let of_bob = format!("/api/admin/people/{}", bob.id);
    for (method, path, body) in [
        ("PATCH", of_bob.as_str(), json!({"is_active": false})),
        ("POST", "/api/admin/invitations", json!({})),
        ("PATCH", "/api/settings", json!({"set": {"max_minutes": 5}})),
    ] {
        let refused = ask(&server, &ada, (method, path), body).await;
        assert_eq!(refused.status(), 503, "{path}");
        assert!(refused.text().contains("audit_unavailable"), "{}", refused.text());
    }
    assert!(!world.read("config.yml").contains("max_minutes"));
    assert_eq!(login(&server, "bob", PASSWORD).await, 200, "nobody is kept out, and nothing was changed");
    assert_eq!(login(&server, "bob", "wrong password").await, 401);
    eventually("it is logged", async || world.log().contains("was not recorded in the audit log")).await;
    drop(server);
    std::fs::remove_dir(world.path("audit.jsonl")).unwrap();
    let server = world.serve().await;
    ask(&server, &ada, ("PATCH", &of_bob), json!({"is_active": false})).await.ok();
    assert_eq!(told(&entries(&server, &ada, "").await), ["account_changed done -"]);
}

#[tokio::test]
async fn flood_of_guesses_does_not_push_out_acts_of_admins() {
    let world = world("trusted_proxies: [127.0.0.1]").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    for number in 0..200 {
        let address = format!("10.0.{}.{}", number / 100, number % 100);
        let body = json!({"username": format!("guess {number}"), "password": "guess"}).to_string();
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", address.as_str())];
        assert_eq!(server.send("POST", "/api/auth/login", &headers, body.as_bytes()).await.status(), 401);
    }
    ask(&server, &ada, ("POST", "/api/admin/invitations"), json!({})).await.ok();
    let lines = world.read("audit.jsonl").lines().count();
    assert!(lines < 140, "{lines}");
    let newest = entries(&server, &ada, "?limit=1").await;
    assert_eq!(told(&newest), ["invitation_made done -"]);
    let guess = &entries(&server, &ada, "?event=sign_in&limit=1").await[0];
    assert!(guess["address"].as_str().unwrap().starts_with("10.0."), "{guess}");
}
