//! Signing in to a remote MCP server with OAuth. The server and its authorization server are `authorization_server`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::authorization_server::{Answers, Callback, Services};
use crate::mcp::{confirmed, one, results, trust};
use crate::script::{call, calls, says, script};
use crate::world::{Server, World, files};

async fn listed(server: &Server<'_>, name: &str) -> Value {
    one(&server.get("/api/mcp").await.ok(), name)
}

/// Begins a sign-in as the page does, and returns the address that the person opens.
async fn begin(server: &Server<'_>, name: &str) -> Value {
    server.as_page("POST", &format!("/api/mcp/{name}/login"), json!({})).await.ok()
}

async fn finish(server: &Server<'_>, callback: &Callback) -> crate::http::Answer {
    server.as_page("POST", "/api/mcp-sign-in", callback.body()).await
}

/// Signs in as a person does, and returns the server as it is then.
async fn sign_in(server: &Server<'_>, services: &Services, name: &str) -> Value {
    let address = begin(server, name).await;
    let callback = services.approve(&address);
    assert_eq!(finish(server, &callback).await.ok()["name"], name);
    listed(server, name).await
}

async fn call_tool(server: &Server<'_>, tool: &str) -> (bool, String) {
    let body = json!({"tool": tool, "arguments": {"text": "tea"}});
    let answer = server.as_page("POST", "/api/mcp/far/call", body).await;
    match answer.status() {
        200 => (answer.ok()["ok"] == true, answer.ok()["text"].as_str().unwrap().to_owned()),
        _ => (false, answer.text()),
    }
}

#[tokio::test]
async fn person_signs_in_and_tools_are_used() {
    let services = Services::start(Answers::default()).await;
    let replies = [
        says(["Nothing yet."]),
        calls([call("a", "mcp__far__echo", json!({"text": "tea"})), call("b", "mcp__far__leak", json!({"text": "x"}))]),
        says(["Yes."]),
    ];
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    let shown = confirmed(&server, "far", services.entry()).await;
    assert_eq!((&shown["status"], &shown["sign_in"]), (&json!("needs_sign_in"), &json!("needed")), "{shown}");
    server.chat("s", "go").await;
    assert!(!world.asked()[0]["tools"].to_string().contains("mcp__"), "it offers no tools and breaks nothing");

    let address = begin(&server, "far").await;
    let url = url::Url::parse(address["authorization_url"].as_str().unwrap()).unwrap();
    let query: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!((query["code_challenge_method"].as_str(), query["resource"].as_str()), ("S256", services.resource()));
    assert_eq!(query["redirect_uri"], format!("http://{}/oauth/callback", server.address));
    assert_eq!((query["scope"].as_str(), query["state"].len()), ("tea:read", 64));
    assert_eq!(address["issuer"], services.issuer());
    assert_eq!(listed(&server, "far").await["signing_in"], true);
    let callback = services.approve(&address);
    assert_eq!(server.post("/api/mcp-sign-in", callback.body()).await.status(), 403, "only the page ends it");
    assert_eq!(finish(&server, &callback).await.ok()["name"], "far");
    let again = finish(&server, &callback).await;
    assert_eq!(again.refused(), (409, "no_mcp_sign_in".to_owned()), "a state counts once");
    let shown = listed(&server, "far").await;
    assert_eq!((&shown["status"], &shown["sign_in"]), (&json!("running"), &json!("signed_in")), "{shown}");

    trust(&server, "far", &["echo", "leak"]).await;
    server.chat("s", "go on").await;
    server.settled("s").await;
    assert_eq!(results(&world), ["you said tea", "Your token is Bearer [secret TOKEN]"]);
    let page = server.get("/oauth/callback?code=x&state=y").await;
    assert_eq!((page.status(), page.text().contains("miniclaw-secret")), (200, true), "the page of the own browser");
    server.terminate().await;
    // Nothing that could be used is anywhere but at the authorization server.
    let secrets = services.secrets();
    assert!(secrets.len() >= 3, "a code, an access token and a refresh token");
    for secret in secrets {
        assert!(!world.log().contains(&secret), "in the log");
        assert!(world.provider.requests().iter().all(|body| !body.to_string().contains(&secret)), "in a prompt");
        for path in files(&world.home()) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(&secret), "in {}", path.display());
        }
    }
    let kept = world.path("storage/mcp-sign-ins/far");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(kept).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn sign_in_survives_restarts_and_is_refreshed_once() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    {
        let server = world.serve().await;
        confirmed(&server, "far", services.entry()).await;
        sign_in(&server, &services, "far").await;
        server.terminate().await;
    }
    services.expire_access_tokens();
    let server = world.serve().await;
    let (one_call, other) = tokio::join!(call_tool(&server, "echo"), call_tool(&server, "echo"));
    assert_eq!((one_call, other), ((true, "you said tea".to_owned()), (true, "you said tea".to_owned())));
    assert_eq!(services.refreshes(), 1, "two calls share a refresh");
    services.expire_access_tokens();
    let calls = (0..8).map(|_| call_tool(&server, "echo"));
    let done = futures_util::future::join_all(calls).await;
    assert!(done.iter().all(|(ok, _)| *ok), "{done:?}");
    assert_eq!((services.refreshes(), services.reused_refresh_tokens()), (2, 0));
    server.terminate().await;
    let server = world.serve().await;
    assert!(call_tool(&server, "echo").await.0);
    assert_eq!(services.refreshes(), 2, "the rotated token was kept");
    assert_eq!(services.registrations(), 1);
}

#[tokio::test]
async fn authorization_server_that_is_busy_ends_no_sign_in() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    sign_in(&server, &services, "far").await;
    services.expire_access_tokens();
    services.set_busy(true);
    let (ok, why) = call_tool(&server, "echo").await;
    assert!(!ok && why.contains("temporarily_unavailable"), "{why}");
    services.set_busy(false);
    assert!(call_tool(&server, "echo").await.0);
    assert_eq!(services.refreshes(), 1);
}

#[tokio::test]
async fn ended_sign_in_asks_the_person_again() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([says(["Yes."]), says(["No."])])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    sign_in(&server, &services, "far").await;
    trust(&server, "far", &["echo"]).await;
    server.chat("s", "go").await;
    assert!(world.asked()[0]["tools"].to_string().contains("mcp__far__echo"));
    services.revoke_all();
    let (ok, why) = call_tool(&server, "echo").await;
    assert!(!ok && why.contains("requires a sign-in") && why.contains("miniclaw mcp login far"), "{why}");
    assert_eq!(listed(&server, "far").await["sign_in"], "expired");
    server.chat("s", "go on").await;
    assert!(!world.asked().pop().unwrap()["tools"].to_string().contains("mcp__"));
    assert_eq!(sign_in(&server, &services, "far").await["status"], "running");
    assert!(call_tool(&server, "echo").await.0);
    // Signing out removes the tokens.
    let out = one(&server.as_page("DELETE", "/api/mcp/far/login", json!({})).await.ok(), "far");
    assert_eq!((&out["status"], &out["sign_in"]), (&json!("needs_sign_in"), &json!("needed")), "{out}");
    assert!(!call_tool(&server, "echo").await.0);
    server.as_page("DELETE", "/api/mcp/far", json!({})).await.ok();
    assert!(!world.path("storage/mcp-sign-ins/far").exists() && !world.path("storage/mcp-lists/far.json").exists());
}

#[tokio::test]
async fn missing_scopes_are_asked_for_with_those_granted() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    sign_in(&server, &services, "far").await;
    let (ok, why) = call_tool(&server, "write").await;
    assert!(!ok && why.contains("more permissions (tea:write)"), "{why}");
    let shown = listed(&server, "far").await;
    assert_eq!((&shown["status"], &shown["sign_in"]), (&json!("running"), &json!("more_scopes")), "{shown}");
    assert!(call_tool(&server, "echo").await.0, "the other tools go on");
    assert_eq!(begin(&server, "far").await["scopes"], json!(["tea:read", "tea:write"]));
    sign_in(&server, &services, "far").await;
    assert_eq!(call_tool(&server, "write").await, (true, "you said tea".to_owned()));
    assert_eq!(listed(&server, "far").await["sign_in"], "signed_in");
}

#[tokio::test]
async fn forged_answers_end_no_sign_in() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    let forged = Callback { state: "0".repeat(64), code: "x".to_owned(), iss: Some(services.issuer().to_owned()) };
    assert_eq!(finish(&server, &forged).await.refused(), (409, "no_mcp_sign_in".to_owned()));
    for (iss, why) in [
        (Some("https://evil.example".to_owned()), "another authorization server"),
        (Some(format!("{}/", services.issuer())), "another authorization server"),
        (None, "does not say from which"),
    ] {
        let callback = services.approve(&begin(&server, "far").await);
        let mixed = finish(&server, &Callback { iss, ..callback.clone() }).await;
        assert!(mixed.status() == 502 && mixed.text().contains(why), "{}", mixed.text());
        assert_eq!(finish(&server, &callback).await.status(), 409, "it has ended, and was not tried");
    }
    assert_eq!(services.exchanges(), 0, "no code was sent anywhere");
    let older = services.approve(&begin(&server, "far").await);
    let newer = services.approve(&begin(&server, "far").await);
    assert_eq!(finish(&server, &older).await.status(), 409, "a newer one has replaced it");
    let wrong = finish(&server, &Callback { code: "wrong".to_owned(), ..newer }).await;
    assert!(wrong.text().contains("invalid_grant") && !wrong.text().contains("wrong"), "{}", wrong.text());
    assert_eq!(listed(&server, "far").await["status"], "needs_sign_in");
    for (path, method) in [("/api/mcp/far/login", "POST"), ("/api/mcp/far/login", "DELETE")] {
        let refused = server.send(method, path, &[("Content-Type", "application/json")], b"{}").await;
        assert_eq!(refused.status(), 403, "{method} {path}");
    }
}

#[tokio::test]
async fn hostile_metadata_lead_nowhere() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let own = server.address.port();
    let answers = Answers::default;
    let at = |path: &str| Some(format!("http://169.254.169.254{path}"));
    for (what, answers, why) in [
        (
            "private metadata",
            Answers { resource_metadata: at("/latest"), ..answers() },
            "http is for this machine only",
        ),
        (
            "own port",
            Answers { resource_metadata: Some(format!("http://127.0.0.1:{own}/x")), ..answers() },
            "not fetched",
        ),
        ("file", Answers { resource_metadata: Some("file:///etc/passwd".into()), ..answers() }, "no transport"),
        (
            "other resource",
            Answers { resource: Some("https://evil.example/mcp".into()), ..answers() },
            "another server",
        ),
        ("private issuer", Answers { issuer: at("/"), ..answers() }, "http is for this machine only"),
        (
            "private issuer over https",
            Answers { issuer: Some("https://10.0.0.1".into()), ..answers() },
            "private network",
        ),
        (
            "metadata of another",
            Answers { named_issuer: Some("https://evil.example".into()), ..answers() },
            "are those of",
        ),
        (
            "own token endpoint",
            Answers { token_endpoint: Some(format!("http://127.0.0.1:{own}/t")), ..answers() },
            "not fetched",
        ),
        ("script", Answers { authorization_endpoint: Some("javascript:alert(1)".into()), ..answers() }, "no transport"),
        ("shell", Answers { authorization_endpoint: Some("https://x.test/;$(id)".into()), ..answers() }, ""),
        ("no PKCE", Answers { has_no_pkce: true, ..answers() }, "PKCE"),
        ("huge", Answers { is_huge: true, ..answers() }, "larger than 256 KB"),
        ("redirect", Answers { redirects: true, ..answers() }, "leads elsewhere"),
        ("no registration", Answers { registers_nobody: true, ..answers() }, "oauth.client_id"),
    ] {
        let services = Services::start(answers).await;
        confirmed(&server, "far", services.entry()).await;
        let begun = server.as_page("POST", "/api/mcp/far/login", json!({})).await;
        if why.is_empty() {
            // Only encoded: nobody gives it to a shell.
            assert!(begun.ok()["authorization_url"].as_str().unwrap().starts_with("https://x.test/;$(id)?"), "{what}");
            continue;
        }
        assert!(begun.status() == 502 && begun.text().contains(why), "{what}: {}", begun.text());
    }
}

#[tokio::test]
async fn tokens_go_to_no_other_address() {
    let services = Services::start(Answers::default()).await;
    let other = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    sign_in(&server, &services, "far").await;
    assert!(services.bearers() > 0);
    let moved = confirmed(&server, "far", other.entry()).await;
    assert_eq!((&moved["status"], other.bearers()), (&json!("needs_sign_in"), 0), "{moved}");
    // A file that was copied to another server does not open.
    std::fs::copy(world.path("storage/mcp-sign-ins/far"), world.path("storage/mcp-sign-ins/twin")).unwrap();
    let twin = confirmed(&server, "twin", services.entry()).await;
    assert_eq!(twin["status"], "needs_sign_in");
    // A sign-in that has begun for an address ends for this address only.
    let callback = other.approve(&begin(&server, "far").await);
    let back = confirmed(&server, "far", services.entry()).await;
    assert_eq!(finish(&server, &callback).await.status(), 409);
    assert_eq!((&back["status"], other.bearers()), (&json!("running"), 0), "the first sign-in is still kept: {back}");
    let before = services.bearers();
    assert!(call_tool(&server, "echo").await.0 && services.bearers() > before);
    assert!(services.knows_all_bearers(), "no token of the other one came here");
}

#[tokio::test]
async fn configured_clients_come_before_registration() {
    let world = World::new(script([])).await.with_env("TEA_SECRET", "client-secret-canary");
    let server = world.serve().await;
    let services = Services::start(Answers { takes_client_metadata: true, ..Answers::default() }).await;
    let with = |oauth: Value| {
        let mut entry = services.entry();
        entry["oauth"] = oauth;
        entry
    };
    let document = "https://claw.example/oauth/client.json";
    let fixed =
        json!({"client_id": "mine", "client_secret": "${TEA_SECRET}", "issuer": services.issuer(), "scopes": ["a"]});
    for (oauth, id, scope) in [(json!({"client_id": document}), document, "tea:read"), (fixed, "mine", "a")] {
        confirmed(&server, "far", with(oauth)).await;
        let address = begin(&server, "far").await;
        let url = url::Url::parse(address["authorization_url"].as_str().unwrap()).unwrap();
        let query: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!((query["client_id"].as_str(), query["scope"].as_str()), (id, scope));
        assert_eq!(finish(&server, &services.approve(&address)).await.status(), 200);
    }
    assert_eq!((services.registrations(), services.client_secrets()), (0, vec!["client-secret-canary".to_owned()]));
    let elsewhere = json!({"client_id": "mine", "client_secret": "${TEA_SECRET}", "issuer": "https://other.example"});
    confirmed(&server, "far", with(elsewhere)).await;
    let refused = server.as_page("POST", "/api/mcp/far/login", json!({})).await;
    assert!(refused.text().contains("does not allow"), "the secret goes to its issuer only: {}", refused.text());
    let own = server.get("/oauth/client.json").await.ok();
    assert_eq!(own["client_id"], format!("http://{}/oauth/client.json", server.address));
    assert_eq!(own["redirect_uris"], json!([format!("http://{}/oauth/callback", server.address)]));
    // A server without support for such documents gets a registration.
    let plain = Services::start(Answers::default()).await;
    let mut entry = plain.entry();
    entry["oauth"] = json!({"client_id": document});
    confirmed(&server, "plain", entry).await;
    begin(&server, "plain").await;
    assert_eq!(plain.registrations(), 1);
}

#[tokio::test]
async fn command_line_signs_in_and_out() {
    let services = Services::start(Answers::default()).await;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", services.entry()).await;
    let home = world.home().display().to_string();
    let mut login = world.command(&["mcp", "--home", &home, "login", "far"]);
    let mut login = login.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
    let mut printed = BufReader::new(login.stdout.take().unwrap());
    let printing = tokio::task::spawn_blocking(move || {
        let mut address = String::new();
        printed.read_line(&mut address).unwrap();
        (address, printed)
    });
    let (address, mut printed) = printing.await.unwrap();
    assert!(address.starts_with(services.issuer()), "{address}");
    finish(&server, &services.approve_url(address.trim())).await.ok();
    let (text, status) = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        printed.read_to_string(&mut text).unwrap();
        (text, login.wait().unwrap())
    })
    .await
    .unwrap();
    assert!(status.success() && text.contains("far (running)"), "{text}");
    assert!(world.run(&["mcp", "--home", &home, "logout", "far"]).await.status.success());
    assert_eq!(listed(&server, "far").await["sign_in"], "needed");
}
