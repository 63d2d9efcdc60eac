//! Access control of requests: a table of requests that other sites, rebound names and other machines could send.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::{open, raw};
use crate::script::{says, script};
use crate::world::{World, files};

const JSON: &str = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/// Name of the request, its bytes, and the expected status. `<H>` and `<P>` stand for the server's own address and port.
const TABLE: &[(&str, &str, u16)] = &[
    ("our own address", "GET /api/status HTTP/1.1\r\nHost: <H>\r\n\r\n", 200),
    ("localhost", "GET /api/status HTTP/1.1\r\nHost: localhost:<P>\r\n\r\n", 200),
    ("localhost in capitals", "GET /api/status HTTP/1.1\r\nHost: LOCALHOST:<P>\r\n\r\n", 200),
    ("IPv6 loopback", "GET /api/status HTTP/1.1\r\nHost: [::1]:<P>\r\n\r\n", 200),
    ("no Host", "GET /api/status HTTP/1.1\r\n\r\n", 403),
    ("no Host in HTTP/1.0", "GET /api/status HTTP/1.0\r\n\r\n", 403),
    ("an empty Host", "GET /api/status HTTP/1.1\r\nHost:\r\n\r\n", 403),
    ("a rebound name", "GET /api/status HTTP/1.1\r\nHost: evil.example:<P>\r\n\r\n", 403),
    ("a rebound name without a port", "GET /api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    ("a name that resolves to us", "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1.nip.io:<P>\r\n\r\n", 403),
    ("localhost with a dot", "GET /api/status HTTP/1.1\r\nHost: localhost.:<P>\r\n\r\n", 403),
    ("another name for loopback", "GET /api/status HTTP/1.1\r\nHost: 127.0.0.2:<P>\r\n\r\n", 403),
    ("the unspecified address", "GET /api/status HTTP/1.1\r\nHost: 0.0.0.0:<P>\r\n\r\n", 403),
    ("our name without the port", "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403),
    ("another port", "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 403),
    ("a user before the name", "GET /api/status HTTP/1.1\r\nHost: evil@<H>\r\n\r\n", 403),
    ("two Hosts, both ours", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nHost: <H>\r\n\r\n", 403),
    ("two Hosts", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nHost: evil.example\r\n\r\n", 403),
    ("absolute form, ours", "GET http://<H>/api/status HTTP/1.1\r\nHost: <H>\r\n\r\n", 200),
    ("absolute form, theirs", "GET http://evil.example/api/status HTTP/1.1\r\nHost: <H>\r\n\r\n", 403),
    ("absolute form with their Host", "GET http://<H>/api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    ("a forwarded name is ignored", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nX-Forwarded-Host: evil\r\n\r\n", 200),
    ("a forwarded name helps nobody", "GET /api/status HTTP/1.1\r\nHost: evil\r\nX-Forwarded-Host: <H>\r\n\r\n", 403),
    (
        "a header of a cluster helps nobody",
        "GET /api/status HTTP/1.1\r\nHost: evil\r\nX-Miniclaw-Forwarded: 1 1764327600000 127.0.0.1 http 1 00\r\n\r\n",
        403,
    ),
    (
        "a header of a cluster is ignored",
        "GET /api/status HTTP/1.1\r\nHost: <H>\r\nX-Miniclaw-Forwarded: 1 1764327600000 192.0.2.1 https 1 00\r\n\r\n",
        200,
    ),
    ("our Origin", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: http://<H>\r\n\r\n", 200),
    ("Origin null", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: null\r\n\r\n", 403),
    ("an empty Origin", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin:\r\n\r\n", 403),
    ("a foreign Origin", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil.example\r\n\r\n", 403),
    ("an Origin on another port", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: http://127.0.0.1:1\r\n\r\n", 403),
    ("an Origin of another scheme", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: https://<H>\r\n\r\n", 403),
    (
        "an Origin that begins like ours",
        "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: http://<H>.evil\r\n\r\n",
        403,
    ),
    ("two Origins", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nOrigin: http://<H>\r\nOrigin: http://evil\r\n\r\n", 403),
    ("from the same page", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: same-origin\r\n\r\n", 200),
    ("typed by a person", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: none\r\n\r\n", 200),
    ("from another site", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
    ("from another port", "GET /api/status HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: same-site\r\n\r\n", 403),
    (
        "an image from another site",
        "GET / HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n",
        403,
    ),
    (
        "a link to the page",
        "GET / HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n",
        200,
    ),
    (
        "a link into the API",
        "GET /api/status HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n",
        403,
    ),
    ("a stream from another site", "GET /api/events HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\n\r\n", 403),
    (
        "an upgrade from another site",
        "GET /api/events HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        403,
    ),
    ("HEAD", "HEAD /api/status HTTP/1.1\r\nHost: <H>\r\n\r\n", 200),
    ("HEAD to a rebound name", "HEAD /api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    (
        "a preflight",
        "OPTIONS /api/sessions HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\nAccess-Control-Request-Method: POST\r\n\r\n",
        403,
    ),
    ("OPTIONS of ours", "OPTIONS /api/sessions HTTP/1.1\r\nHost: <H>\r\n\r\n", 405),
    (
        "a form as text",
        "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    (
        "a form",
        "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    (
        "a form with a file",
        "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    ("no body where one is needed", "POST /api/projects HTTP/1.1\r\nHost: <H>\r\nContent-Length: 0\r\n\r\n", 400),
    ("no body", "POST /api/sessions/none/interrupt HTTP/1.1\r\nHost: <H>\r\n\r\n", 404),
    (
        "no body from another site",
        "POST /api/sessions/kept/interrupt HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\n\r\n",
        403,
    ),
    (
        "no body from a frame without an origin",
        "POST /api/sessions/kept/interrupt HTTP/1.1\r\nHost: <H>\r\nOrigin: null\r\n\r\n",
        403,
    ),
    ("a beacon", "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nContent-Length: 2\r\n\r\n{}", 415),
    (
        "text that says it is JSON",
        "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nContent-Type: text/plain; application/json\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    (
        "a PUT as text",
        "PUT /api/config/rag-mode HTTP/1.1\r\nHost: <H>\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n\r\n{\"enabled\":true}",
        415,
    ),
    ("JSON from another site", "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\n<J>", 403),
    ("JSON from a frame without an origin", "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nOrigin: null\r\n<J>", 403),
    (
        "JSON to a rebound name",
        "POST /api/sessions HTTP/1.1\r\nHost: evil.example:<P>\r\nOrigin: http://evil.example:<P>\r\n<J>",
        403,
    ),
    ("JSON marked as cross-site", "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\n<J>", 403),
    (
        "a form navigation",
        "POST /api/sessions HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n<J>",
        403,
    ),
    ("DELETE from another site", "DELETE /api/sessions/kept HTTP/1.1\r\nHost: <H>\r\nOrigin: http://evil\r\n\r\n", 403),
    (
        "DELETE marked as cross-site",
        "DELETE /api/sessions/kept HTTP/1.1\r\nHost: <H>\r\nSec-Fetch-Site: cross-site\r\n\r\n",
        403,
    ),
    (
        "a method in a header",
        "GET /api/sessions/kept HTTP/1.1\r\nHost: <H>\r\nX-HTTP-Method-Override: DELETE\r\n\r\n",
        405,
    ),
    ("TRACE", "TRACE /api/status HTTP/1.1\r\nHost: <H>\r\n\r\n", 405),
];

#[tokio::test]
async fn guard_table_holds_and_nothing_changes() {
    let world = World::new(script([])).await.with_file("sessions/kept.json", r#"{"messages": []}"#);
    let server = world.serve().await;
    let before = content(&world);
    for (what, request, status) in TABLE {
        let request = request.replace("<J>", JSON).replace("<H>", &server.address.to_string());
        let request = request.replace("<P>", &server.address.port().to_string());
        let incoming = open(server.address, request.as_bytes()).await;
        assert_eq!(incoming.head.status, *status, "{what}: {request}");
        assert_eq!(incoming.head.header("access-control-allow-origin"), None, "{what}");
        assert_eq!(incoming.head.header("x-content-type-options"), Some("nosniff"), "{what}");
    }
    assert_eq!(content(&world), before);
}

#[tokio::test]
async fn guard_table_detects_an_open_server() {
    // The same requests to a server without a guard: the scripted provider.
    let world = World::new(script([])).await;
    let url = world.provider.base_url.clone();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], url.port().unwrap()));
    let rebound = "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(address, rebound.as_bytes()).await.status(), 200);
}

#[tokio::test]
async fn every_response_has_csp_and_nosniff() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let paths = [
        "/",
        "/index.html",
        "/any/path/of/the/ui",
        "/assets/none.js",
        "/health",
        "/api/status",
        "/api/sessions",
        "/api/docs",
        "/api/docs.js",
        "/api/docs.css",
        "/api/openapi.json",
        "/api/nothing",
        "/api/events",
        "/api/files?path=../x",
        "/api/sessions/none/history",
        "/%ff",
    ];
    for path in paths {
        let incoming = open(server.address, &server.request("GET", path, &[], b"")).await;
        let policy = incoming.head.header("content-security-policy").unwrap_or_else(|| panic!("{path}: no policy"));
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(incoming.head.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(incoming.head.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert!(incoming.head.header("cache-control").is_some(), "{path}");
    }
    let nonce = async || {
        let answer = server.get("/").await;
        let policy = answer.head.header("content-security-policy").unwrap().to_owned();
        policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned()
    };
    assert_ne!(nonce().await, nonce().await);
}

#[tokio::test]
async fn refused_requests_change_nothing_on_disk() {
    let world = World::new(script([says(["Yes."])]))
        .await
        .with_file("memory/MEMORY.md", "# Memory\n")
        .with_file("knowledge/a.md", "alpha\n")
        .with_file("sessions/v1.json", r#"[{"role": "user", "content": "hi"}]"#);
    let server = world.serve().await;
    server.chat("s", "hi").await;
    server.settled("s").await;
    let before = content(&world);
    let mut asked = 0;
    for (path, route) in server.get("/api/openapi.json").await.ok()["paths"].as_object().unwrap() {
        if route.get("get").is_none() {
            continue;
        }
        for id in ["s", "v1", "unknown"] {
            let query = "path=memory/MEMORY.md&root=memory&session_id=s&after=x&until=settled";
            let path = format!("{}?{query}", path.replace("{id}", id));
            for method in ["GET", "HEAD"] {
                let mut incoming = open(server.address, &server.request(method, &path, &[], b"")).await;
                assert!(incoming.head.status < 500, "{method} {path}");
                if incoming.head.header("content-type") == Some("text/event-stream") && method == "GET" {
                    incoming.next().await;
                }
                asked += 1;
            }
        }
    }
    assert!(asked >= 60, "only {asked} requests were made");
    for path in ["/", "/api/docs", "/api/openapi.json", "/api/login"] {
        server.get(path).await;
    }
    assert_eq!(content(&world), before);
}

fn content(world: &World) -> BTreeMap<String, Vec<u8>> {
    files(&world.home())
        .into_iter()
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a file that stays")))
        .collect()
}

#[tokio::test]
async fn public_bind_without_token_is_refused() {
    let world = World::new(script([])).await;
    let home = world.home();
    for host in ["0.0.0.0", "::"] {
        let output = world.run(&["serve", "--home", home.to_str().unwrap(), "--host", host, "--port", "0"]).await;
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("MINICLAW_TOKEN") && said.contains("--host 127.0.0.1"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[tokio::test]
async fn unlisted_paths_need_the_token() {
    const TOKEN: &str = "a-long-random-word-0123456789";
    let world = World::new(script([])).await.with_env("MINICLAW_TOKEN", TOKEN);
    let mut server = world.serve_with(&["--port", "0", "--host", "0.0.0.0"]).await;
    let routes = server.get("/api/openapi.json").await;
    assert_eq!(routes.status(), 401, "also the description of the API");
    for open in [
        "/health",
        "/ready",
        "/",
        "/s/20260101-abc/m/m1",
        "/f/memory/MEMORY.md",
        "/playground",
        "/oauth/callback",
        "/oauth/client.json",
    ] {
        assert_eq!(server.get(open).await.status(), 200, "{open}");
    }
    for closed in [
        "/ws",
        "/mcp",
        "/getSessionOperations?session_id=s",
        "/any/page",
        "/api",
        "/s",
        "/S/x",
        "//",
        "/health/x",
        "/ready/x",
        "/assets",
    ] {
        let answer = server.get(closed).await;
        assert_eq!(answer.refused(), (401, "signed_out".to_owned()), "{closed} is not listed as public");
    }
    for openai in ["/v1", "/v1/models", "/v1/nothing"] {
        let answer = server.get(openai).await;
        assert_eq!((answer.status(), &answer.json()["error"]["code"]), (401, &json!("invalid_api_key")), "{openai}");
    }
    assert_eq!(server.get("/api/auth/mode").await.ok()["data"]["auth_mode"], "single");
    for public in ["/api/auth/login", "/api/auth/register", "/api/auth/proxy"] {
        let credentials = json!({"username": "ann", "password": "long enough"});
        assert_eq!(server.post(public, credentials).await.json()["reason"], "single_mode", "{public}");
        assert_eq!(server.get(public).await.status(), 401, "GET {public}");
    }
    assert_eq!(server.post("/api/auth/mode", json!({})).await.status(), 401);
    for path in ["/", "/health", "/ready", "/s/x", "/assets/x.js"] {
        assert_eq!(server.post(path, json!({})).await.refused().0, 401, "POST {path}");
    }
    assert_eq!(server.post("/v1/chat/completions", json!({})).await.status(), 401);
    server.token = Some("wrong".to_owned());
    assert_eq!(server.get("/api/status").await.refused(), (401, "signed_out".to_owned()));
    server.token = Some(TOKEN.to_owned());
    let document = server.get("/api/openapi.json").await.ok();
    server.token = None;

    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let public = [
            "/health",
            "/ready",
            "/api/login",
            "/api/auth/mode",
            "/api/auth/login",
            "/api/auth/register",
            "/api/auth/proxy",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/oauth/client.json",
        ];
        for method in methods.as_object().unwrap().keys().filter(|_| !public.contains(&path.as_str())) {
            let (method, path) = (method.to_uppercase(), path.replace("{id}", "s"));
            let is_files = method == "POST" && path.starts_with("/api/projects/") && path.ends_with("/files");
            let takes_form = path == "/api/projects/upload" || is_files;
            let kind = if takes_form { "multipart/form-data" } else { "application/json" };
            let headers = [("Content-Type", kind)];
            let answer = server.send(&method, &format!("{path}?token={TOKEN}"), &headers, b"{}").await;
            // Errors of the document's paths have its form.
            let enveloped =
                ["/api/admin", "/api/auth", "/api/conversations", "/api/projects", "/api/stats", "/api/tools"];
            let has_envelope = enveloped.iter().any(|known| path.starts_with(known));
            let body = answer.json();
            let (code, word) = match (path.starts_with("/v1/"), has_envelope) {
                (true, _) => (&body["error"]["code"], "invalid_api_key"),
                (false, true) => (&body["reason"], "signed_out"),
                (false, false) => (&body["code"], "signed_out"),
            };
            assert_eq!((answer.status(), code), (401, &json!(word)), "{method} {path}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} routes were checked");

    drop(server);
    assert!(!world.log().contains(TOKEN));
    for path in files(&world.home()) {
        assert!(!String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(TOKEN), "{}", path.display());
    }
}

#[tokio::test]
async fn sign_in_needs_a_configured_token() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    assert_eq!(server.post("/api/login", json!({"token": ""})).await.refused(), (401, "wrong_token".to_owned()));
    assert_eq!(server.get("/api/status").await.ok()["problems"], Value::Array(Vec::new()));
}
