//! Signing in: the token, the one-time link, the cookie, and the rate limit for guesses.

use serde_json::json;

use crate::http::Answer;
use crate::script::{says, script};
use crate::world::{Server, World, files};

pub const TOKEN: &str = "a-long-random-word-0123456789";

async fn locked() -> World {
    World::new(script([says(["Yes."])])).await.with_env("MINICLAW_TOKEN", TOKEN)
}

/// Returns the `name=value` pair of a `Set-Cookie` header.
pub fn cookie(answer: &Answer) -> String {
    let set = answer.head.header("set-cookie").expect("a cookie");
    assert!(set.contains("; Max-Age=2592000;"), "{set}");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Path=/"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

async fn status(server: &Server<'_>, headers: &[(&str, &str)]) -> Answer {
    server.send("GET", "/api/status", headers, b"").await
}

/// Returns the code of the link that the server printed.
fn code(world: &World) -> String {
    let log = world.log();
    let line = log.lines().rfind(|line| line.starts_with("open http://")).expect("a link");
    let (address, rest) = line.split_once("/#code=").expect("the code stands behind the #");
    assert!(!address.contains('?'), "{line}");
    rest.split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn login_cookie_is_not_the_token_and_survives_restart() {
    let world = locked().await;
    let server = world.serve().await;
    for wrong in [json!({"token": "wrong"}), json!({"token": ""}), json!({"code": TOKEN}), json!({"code": ""})] {
        assert_eq!(server.post("/api/login", wrong).await.refused().0, 401);
    }
    for unclear in [json!({}), json!({"token": TOKEN, "code": "x"}), json!({"token": null})] {
        assert_eq!(server.post("/api/login", unclear).await.refused().0, 400);
    }
    let signed_in = server.post("/api/login", json!({"token": TOKEN})).await;
    let pair = cookie(&signed_in);
    assert!(!pair.contains(TOKEN) && !signed_in.text().contains(TOKEN), "{pair}");
    assert_eq!(status(&server, &[("Cookie", &pair)]).await.status(), 200);
    assert_eq!(status(&server, &[("Cookie", &format!("other=1; {pair}; more=2"))]).await.status(), 200);
    let name = pair.split('=').next().unwrap();
    for wrong in [format!("{name}=wrong"), format!("{name}={TOKEN}"), format!("{pair}0"), format!("x{pair}")] {
        assert_eq!(status(&server, &[("Cookie", &wrong)]).await.status(), 401, "{wrong}");
    }
    let port = server.address.port().to_string();
    assert!(name.ends_with(&port), "{name}: cookies of one host are sent to all its ports");
    drop(server);
    let server = world.serve_with(&["--port", &port]).await;
    assert_eq!(status(&server, &[("Cookie", &pair)]).await.status(), 200, "the same token, started again");
    drop(server);
    let world = world.with_env("MINICLAW_TOKEN", "another-random-word-9876543210");
    let server = world.serve_with(&["--port", &port]).await;
    assert_eq!(status(&server, &[("Cookie", &pair)]).await.status(), 401, "a new token ends old cookies");
}

#[tokio::test]
async fn logout_voids_only_its_own_cookie() {
    let world = locked().await;
    let server = world.serve().await;
    let json = ("Content-Type", "application/json");
    let [mine, other] = [
        cookie(&server.post("/api/login", json!({"token": TOKEN})).await),
        cookie(&server.post("/api/login", json!({"token": TOKEN})).await),
    ];
    assert_eq!(server.send("POST", "/api/logout", &[json], b"{}").await.status(), 401, "nobody is signed in");
    let elsewhere = [json, ("Cookie", mine.as_str()), ("Origin", "http://elsewhere.example")];
    assert_eq!(server.send("POST", "/api/logout", &elsewhere, b"{}").await.status(), 403);
    assert_eq!(status(&server, &[("Cookie", &mine)]).await.status(), 200, "another site signs nobody out");

    let mut tab = server.follow_with("/api/events", &[("Cookie", &mine)]).await;
    let mut elsewhere = server.follow_with("/api/events", &[("Cookie", &other)]).await;
    for stream in [&mut tab, &mut elsewhere] {
        stream.until("hello").await;
    }
    let answer = server.send("POST", "/api/logout", &[json, ("Cookie", &mine)], b"{}").await;
    assert_eq!(answer.status(), 204);
    assert!(tab.rest().await.iter().all(|event| !event.is("file_changed")), "its stream ends");
    world.write("memory/MEMORY.md", "changed");
    elsewhere.until("file_changed").await;
    let set = answer.head.header("set-cookie").expect("the browser is told to forget the cookie");
    assert!(set.starts_with(&format!("{}=; Max-Age=0;", mine.split('=').next().unwrap())), "{set}");
    assert_eq!(status(&server, &[("Cookie", &mine)]).await.status(), 401);
    assert_eq!(status(&server, &[("Cookie", &other)]).await.status(), 200);
    let again = cookie(&server.post("/api/login", json!({"token": TOKEN})).await);
    assert_eq!(status(&server, &[("Cookie", &again)]).await.status(), 200);
}

#[tokio::test]
async fn browser_that_signed_out_stays_so_after_a_restart() {
    let world = locked().await;
    let server = world.serve().await;
    let port = server.address.port().to_string();
    let [out, other] = [
        cookie(&server.post("/api/login", json!({"token": TOKEN})).await),
        cookie(&server.post("/api/login", json!({"token": TOKEN})).await),
    ];
    let sign_out = async || {
        server.send("POST", "/api/logout", &[("Content-Type", "application/json"), ("Cookie", &out)], b"{}").await
    };
    std::fs::create_dir(world.path("sign-outs.json")).unwrap();
    assert_eq!(sign_out().await.status(), 500, "it cannot be remembered");
    assert_eq!(status(&server, &[("Cookie", &out)]).await.status(), 200, "so the browser can try again");
    std::fs::remove_dir(world.path("sign-outs.json")).unwrap();
    assert_eq!(sign_out().await.status(), 204);
    assert!(!world.read("sign-outs.json").contains(out.split_once('=').unwrap().1), "the cookie itself is not stored");
    drop(server);
    let server = world.serve_with(&["--port", &port]).await;
    for path in ["/api/status", "/api/sessions", "/api/settings", "/api/providers", "/metrics"] {
        let asked = async |cookie: &str| server.send("GET", path, &[("Cookie", cookie)], b"").await.status();
        assert_eq!(asked(&out).await, 401, "{path}");
        assert_ne!(asked(&other).await, 401, "{path}");
    }
}

#[tokio::test]
async fn cookie_is_valid_only_at_its_port() {
    let world = locked().await;
    let server = world.serve().await;
    let pair = cookie(&server.post("/api/login", json!({"token": TOKEN})).await);
    let (name, value) = pair.split_once('=').unwrap();
    let port = server.address.port().to_string();
    drop(server);
    let server = world.serve().await;
    let other = name.replace(&port, &server.address.port().to_string());
    for wrong in [pair.clone(), format!("{other}={value}")] {
        assert_eq!(status(&server, &[("Cookie", &wrong)]).await.status(), 401, "{wrong}");
    }
}

#[tokio::test]
async fn weak_token_ends_the_start_with_advice() {
    let world = World::new(script([])).await.with_env("MINICLAW_TOKEN", "fifteen-letters");
    let home = world.home();
    for arguments in [
        vec!["serve", "--home", home.to_str().unwrap(), "--port", "0"],
        vec!["doctor", "--home", home.to_str().unwrap()],
    ] {
        let output = world.run(&arguments).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{arguments:?}: {said}");
        assert!(said.contains("MINICLAW_TOKEN") && said.contains("at least 16") && said.contains("openssl"), "{said}");
        assert!(!said.contains("fifteen-letters"), "{said}");
    }
}

#[tokio::test]
async fn one_time_link_works_once() {
    let world = World::new(script([])).await;
    let server = world.serve_with(&["--port", "0", "--token"]).await;
    let home = world.home();
    crate::world::eventually("the link is printed", async || world.log().contains("/#code=")).await;
    let code = code(&world);
    assert_eq!(server.get("/api/status").await.refused(), (401, "signed_out".to_owned()), "also on this machine");
    assert_eq!(status(&server, &[("Authorization", &format!("Bearer {code}"))]).await.status(), 401);
    assert_eq!(server.get(&format!("/api/status?code={code}")).await.status(), 401);
    assert_eq!(server.post("/api/login", json!({"token": code})).await.status(), 401);

    let pair = cookie(&server.post("/api/login", json!({"code": code})).await);
    assert!(!pair.contains(&code));
    assert_eq!(status(&server, &[("Cookie", &pair)]).await.status(), 200);
    let again = server.post("/api/login", json!({"code": code})).await;
    assert_eq!(again.refused(), (401, "wrong_token".to_owned()));
    assert!(again.text().contains("already used"));
    drop(server);
    for path in files(&home) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(&code) && !text.contains(pair.split('=').nth(1).unwrap()), "{}", path.display());
    }
    let link = world.log().lines().filter(|line| line.contains(&code)).count();
    assert_eq!(link, 1, "the link is printed once and logged nowhere");
}

#[tokio::test]
async fn server_with_token_may_bind_publicly() {
    let world = World::new(script([])).await;
    let server = world.serve_with(&["--port", "0", "--host", "0.0.0.0", "--token"]).await;
    assert_eq!(server.get("/api/status").await.status(), 401);
    assert_eq!(server.get("/health").await.status(), 200);
}

#[tokio::test]
async fn token_is_in_no_response_log_or_file() {
    let world = locked().await;
    let mut server = world.serve().await;
    server.token = Some(TOKEN.to_owned());
    server.chat("s", "hi").await;
    server.settled("s").await;
    let document = server.get("/api/openapi.json").await.ok();
    let mut looked = 0;
    for (path, route) in document["paths"].as_object().unwrap() {
        if route.get("get").is_some() && !path.ends_with("/events") {
            let path = path.replace("{id}", "s");
            let answer = server.get(&format!("{path}?path=memory/MEMORY.md&root=memory&query=x")).await;
            assert!(!answer.text().contains(TOKEN), "{path}");
            assert!(!format!("{:?}", answer.head).contains(TOKEN), "{path}");
            looked += 1;
        }
    }
    server.token = None;
    let page = server.get("/").await.text();
    let assets = page.split('"').filter(|text| text.starts_with("/assets/")).map(str::to_owned);
    for path in assets.chain(["/".to_owned(), "/index.html".to_owned(), "/health".to_owned()]) {
        assert!(!server.get(&path).await.text().contains(TOKEN), "{path}");
        looked += 1;
    }
    assert!(looked > 15, "only {looked} answers were looked at");
    server.post("/api/login", json!({"token": TOKEN})).await;
    server.post("/api/login", json!({"token": format!("{TOKEN}x")})).await;
    drop(server);
    assert!(!world.log().contains(TOKEN));
    for path in files(&world.home()) {
        assert!(!String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(TOKEN), "{}", path.display());
    }
}

#[tokio::test]
async fn twenty_guesses_delay_even_correct_token() {
    let world = locked().await;
    let server = world.serve().await;
    let pair = cookie(&server.post("/api/login", json!({"token": TOKEN})).await);
    let origin = format!("http://{}", server.address);
    for guess in 0..20 {
        // In every way: with and without an Origin, and together with other credentials.
        let bearer = format!("Bearer guess-{guess}");
        let answer = match guess % 4 {
            0 => server.post("/api/login", json!({"token": format!("guess-{guess}")})).await,
            1 => server.post("/api/login", json!({"code": format!("guess-{guess}")})).await,
            2 => status(&server, &[("Authorization", &bearer), ("Origin", &origin)]).await,
            _ => status(&server, &[("Authorization", &bearer), ("Cookie", "miniclaw_session=x.y")]).await,
        };
        assert_eq!(answer.status(), 401, "guess {guess}");
    }
    let right = format!("Bearer {TOKEN}");
    for answer in [
        server.post("/api/login", json!({"token": "guess"})).await,
        server.post("/api/login", json!({"token": TOKEN})).await,
        status(&server, &[("Authorization", &right)]).await,
        status(&server, &[("Authorization", &right), ("X-Forwarded-For", "203.0.113.9")]).await,
    ] {
        let wait: u64 = answer.head.header("retry-after").expect("how long to wait").parse().unwrap();
        assert!((1..=16).contains(&wait));
        assert_eq!(answer.refused(), (429, "too_many_tries".to_owned()));
    }
    // Guesses do not delay signed-in clients, and old cookies do not count as guesses.
    assert_eq!(status(&server, &[("Cookie", &pair)]).await.status(), 200);
    assert_eq!(server.get("/health").await.status(), 200);
}

#[tokio::test]
async fn missing_or_expired_credential_is_not_a_guess() {
    let world = locked().await;
    let server = world.serve().await;
    for _ in 0..30 {
        assert_eq!(server.get("/api/status").await.status(), 401);
        assert_eq!(status(&server, &[("Cookie", "miniclaw_session=old.cookie")]).await.status(), 401);
    }
    assert_eq!(status(&server, &[("Authorization", &format!("Bearer {TOKEN}"))]).await.status(), 200);
}

#[tokio::test]
async fn two_tokens_in_one_request_are_refused() {
    let world = locked().await;
    let server = world.serve().await;
    let right = format!("Bearer {TOKEN}");
    let two = [("Authorization", "Bearer guess"), ("Authorization", right.as_str())];
    assert_eq!(status(&server, &two).await.status(), 401);
    let other_scheme = format!("Basic {TOKEN}");
    assert_eq!(status(&server, &[("Authorization", &other_scheme)]).await.status(), 401);
}
