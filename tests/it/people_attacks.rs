//! Attacks on the sign-in of a server for several people: guessed passwords, and tokens that were forged, have expired, come from
//! another time, or whose account has changed. Most tokens here are made with the server's own secret, because a token that is
//! refused only for its signature would prove nothing about its claims.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::people::{
    PASSWORD, Person, SECRET, admin, ask, follow, get, joined, login, refused, register, signed_in, status_of, world,
};
use crate::postgres_home::wipe;
use crate::script::{says, script};
use crate::world::{CONFIG, Server, World, eventually};

const DAY: i64 = 24 * 3600;

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// Returns a token that is signed as the server signs its own, with these header and claims.
fn signed(header: &Value, claims: &Value, secret: &str) -> String {
    let message = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(message.as_bytes());
    format!("{message}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

/// Returns a token of an account, valid for a day from now on, with these claims changed.
pub fn minted(account: &str, changed: &Value) -> String {
    let mut claims = json!({"sub": account, "ver": 1, "iat": now(), "exp": now() + DAY, "jti": "0".repeat(64)});
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
    }
    signed(&json!({"typ": "JWT", "alg": "HS256"}), &claims, SECRET)
}

/// Returns an account as `accounts.json` keeps it, which nobody can sign in to with a password.
pub fn account(id: &str, name: &str, role: &str) -> Value {
    json!({"id": id, "username": name, "role": role, "is_active": true, "created_at": 1.0,
        "password_hash": "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$aGFzaA", "token_version": 1})
}

/// The token of an account as it is stored: `ver` has to be that of the account.
fn version(world: &World, name: &str) -> Value {
    let book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
    let accounts = book["accounts"].as_array().unwrap();
    accounts.iter().find(|account| account["username"] == name).unwrap()["token_version"].clone()
}

#[tokio::test]
async fn two_hundred_wrong_passwords_find_nothing() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let guesses: Vec<String> = (0..200).map(|at| format!("{PASSWORD}{at}")).collect();
    let (mut wrong, mut later) = (0, 0);
    for batch in guesses.chunks(20) {
        for answer in futures_util::future::join_all(batch.iter().map(|guess| login(&server, "ada", guess))).await {
            match refused(&answer) {
                (401, reason) if reason == "wrong_password" => wrong += 1,
                (429, reason) if reason == "too_many_tries" => later += 1,
                other => panic!("{other:?}"),
            }
            assert!(answer.head.header("set-cookie").is_none());
        }
    }
    assert!((10..=25).contains(&wrong) && wrong + later == 200, "{wrong} passwords were checked, {later} were not");
    assert_eq!(status_of(&server, &ada.token).await, 200, "who is signed in notices nothing");
    let audit = get(&server, &ada, "/api/admin/audit").await.text();
    assert!(audit.contains("wrong_password") && !audit.contains(&guesses[0]), "{audit}");
}

#[tokio::test]
async fn token_of_another_time_or_version_is_refused() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let ver = version(&world, "Ada");
    let token = |changed: Value| {
        let mut claims = json!({"ver": ver});
        claims.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        minted(&ada.id, &claims)
    };
    // A clock that was set by less than a minute does no harm, in either direction.
    for good in [json!({}), json!({"iat": now() + 30}), json!({"iat": now() - 2 * DAY, "exp": now() - 30})] {
        assert_eq!(status_of(&server, &token(good.clone())).await, 200, "{good}");
    }
    for bad in [
        json!({"exp": now() - 90}),
        json!({"iat": now() + 90}),
        json!({"iat": now() + DAY, "exp": now() + 2 * DAY}),
        json!({"exp": null}),
        json!({"exp": (now() + DAY).to_string()}),
        json!({"iat": "now"}),
        json!({"sub": "owner"}),
        json!({"sub": ""}),
        json!({"sub": format!("../{}", ada.id)}),
        json!({"sub": [ada.id]}),
        json!({"ver": ver.as_u64().unwrap() + 1}),
        json!({"ver": -1}),
        json!({"jti": 7}),
    ] {
        assert_eq!(status_of(&server, &token(bad.clone())).await, 401, "{bad}");
    }
    let claims = json!({"sub": ada.id, "ver": ver, "iat": now(), "exp": now() + DAY, "jti": "x"});
    for algorithm in ["none", "NONE", "HS384", "HS512", "RS256", "hs256"] {
        let forged = signed(&json!({"alg": algorithm, "typ": "JWT"}), &claims, SECRET);
        assert_eq!(status_of(&server, &forged).await, 401, "{algorithm}");
        let unsigned = format!("{}.", &forged[..forged.rfind('.').unwrap()]);
        assert_eq!(status_of(&server, &unsigned).await, 401, "{algorithm} without a signature");
    }
    let other = signed(&json!({"alg": "HS256"}), &claims, "00112233445566778899aabbccddeeff");
    assert_eq!(status_of(&server, &other).await, 401, "another secret");
    assert_eq!(status_of(&server, &signed(&json!({"alg": "HS256"}), &claims, SECRET)).await, 200, "the test can sign");
}

#[tokio::test]
async fn replayed_token_of_a_changed_account_is_refused() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let path = format!("/api/admin/people/{}", bob.id);
    let stream = follow(&server, &bob).await;
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
    assert!(stream.rest().await.iter().all(|frame| !frame.is("frame")), "an open stream ends");
    let again = server.send("GET", "/api/events", &[("Cookie", &bob.cookie)], b"").await;
    assert_eq!(again.status(), 403, "and is not opened again");
    let fresh = minted(&bob.id, &json!({"ver": version(&world, "Bob")}));
    assert_eq!(status_of(&server, &fresh).await, 403, "a new token of a disabled account");
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": true})).await.ok();
    assert_eq!(status_of(&server, &bob.token).await, 401, "replayed after it was enabled again");
    let bob = signed_in(&server, "bob").await;
    ask(&server, &bob, ("POST", "/api/auth/logout"), json!({})).await.ok();
    let (as_header, as_cookie) = (format!("Bearer {}", bob.token), bob.cookie.clone());
    for headers in [[("Authorization", as_header.as_str())], [("Cookie", as_cookie.as_str())]] {
        for path in ["/api/sessions", "/api/events", "/api/auth/profile", "/api/projects"] {
            assert_eq!(server.send("GET", path, &headers, b"").await.status(), 401, "{path} after signing out");
        }
    }
    drop(server);
    let server = world.serve().await;
    assert_eq!(status_of(&server, &bob.token).await, 401, "signed out before the restart");
    drop(server);
    let world = world.with_env("MINICLAW_JWT_SECRET", "00112233445566778899aabbccddeeff");
    let server = world.serve().await;
    assert_eq!(status_of(&server, &ada.token).await, 401, "the secret was changed");
    assert_eq!(status_of(&server, &signed_in(&server, "ada").await.token).await, 200);
}

#[tokio::test]
async fn names_that_look_alike_are_one_account() {
    let world = world("registration: open").await;
    let server = world.serve().await;
    admin(&server).await;
    register(&server, "José", json!({})).await.ok();
    for twin in ["JOSÉ", "jose\u{301}", "José", "ＪＯＳÉ", "JOSE\u{301}"] {
        let answer = register(&server, twin, json!({})).await;
        assert_eq!(refused(&answer), (409, "username_taken".to_owned()), "{twin}");
        assert_eq!(login(&server, twin, PASSWORD).await.status(), 200, "{twin}");
    }
    let book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
    assert_eq!(book["accounts"].as_array().unwrap().len(), 2);
    // An account that a person has added to the file cannot be the twin of another.
    drop(server);
    let mut book = book;
    book["accounts"].as_array_mut().unwrap().push(account("twin", "jose\u{301}", "admin"));
    world.write("accounts.json", book.to_string());
    let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--port", "0"]).await;
    assert_eq!(output.status.code(), Some(78), "{output:?}");
}

#[tokio::test]
async fn database_that_is_not_there_is_refused_at_the_start() {
    for (settings, words) in [
        ("db_type: mysql\n", "mysql"),
        ("db_type: oracle\n", "oracle"),
        ("db_type: postgres\ndb_host: localhost\ndb_port: 1\ndb_user: claw\ndb_name: claw\n", "database_unreachable"),
        ("auth_mode: many\n", "auth_mode"),
    ] {
        let world = World::new(script([])).await.with_env("MINICLAW_JWT_SECRET", SECRET);
        wipe(&world);
        let base = if settings.contains("auth_mode") { "" } else { "auth_mode: multi\n" };
        world.write("config.yml", format!("{base}{settings}{CONFIG}"));
        let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--port", "0"]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{settings}: {output:?}");
        assert!(!world.path("accounts.json").exists() && !world.path("people").exists(), "{settings}");
    }
    let world = World::new(script([])).await;
    // As in the document, whose sample file has all of these.
    world.write("config.yml", format!("db_host: 127.0.0.1\ndb_port: 9\ndb_name: claw\n{CONFIG}"));
    assert_eq!(world.serve().await.get("/health").await.status(), 200, "without db_type, files are meant");
}

#[tokio::test]
async fn stranger_does_not_hold_up_a_known_browser() {
    let world = world("trusted_proxies: [127.0.0.1]").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let login_with = async |from: &str, cookie: &str, (name, password): (&str, &str)| {
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", from), ("Cookie", cookie)];
        let body = json!({"username": name, "password": password}).to_string();
        server.send("POST", "/api/auth/login", &headers, body.as_bytes()).await
    };
    let device_of = |answer: &crate::http::Answer| {
        let lines = answer.head.headers.iter().filter(|(name, _)| name == "set-cookie");
        let line = lines.map(|(_, line)| line.clone()).find(|line| line.contains("-device=")).unwrap();
        assert!(
            line.contains("HttpOnly") && line.contains("SameSite=Strict") && line.contains("Path=/api/auth"),
            "{line}"
        );
        line.split(';').next().unwrap().to_owned()
    };
    let hers = device_of(&login_with("192.0.2.1", "", ("ada", PASSWORD)).await);
    let his = device_of(&login_with("192.0.2.2", "", ("bob", PASSWORD)).await);
    // A stranger who has many addresses guesses, until everybody has to wait.
    let guess = async |at: usize| login_with(&format!("198.51.100.{at}"), "", ("ada", "wrong")).await.status();
    let mut guesses = Vec::new();
    for at in 0..14 {
        guesses.push(guess(at).await);
    }
    assert_eq!(guesses.last(), Some(&429), "{guesses:?}");
    let last = if hers.ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{last}", &hers[..hers.len() - 1]);
    // At once, because the wait is short.
    let right = ("ada", PASSWORD);
    let (unknown, others, forged) = tokio::join!(
        login_with("192.0.2.9", "", right),
        login_with("192.0.2.9", &his, right),
        login_with("192.0.2.9", &forged, right),
    );
    assert_eq!(unknown.status(), 429, "a browser that nobody knows waits");
    assert_eq!((others.status(), forged.status()), (429, 429), "so does that of somebody else, and a forged one");
    assert_eq!(login_with("192.0.2.1", &hers, ("ada", PASSWORD)).await.status(), 200, "hers does not");
    assert_eq!(
        server.send("GET", "/api/sessions", &[("Cookie", &hers)], b"").await.status(),
        401,
        "it signs nobody in"
    );
    // Guesses in a known browser are limited, too.
    let mut own = Vec::new();
    for at in 0..14 {
        own.push(login_with(&format!("203.0.113.{at}"), &his, ("bob", "wrong")).await.status());
    }
    assert_eq!(own.last(), Some(&429), "{own:?}");
    assert_eq!(login_with("192.0.2.3", "", ("bob", PASSWORD)).await.status(), 200, "and hold up no other browser");
    // With the sign-ins, what the browsers know ends.
    ask(&server, &bob, ("POST", "/api/auth/logout-everywhere"), json!({})).await.ok();
    assert_eq!(login_with("192.0.2.2", &his, ("bob", PASSWORD)).await.status(), 200, "it counts as unknown, and may");
}

async fn home_of(server: &Server<'_>, person: &Person) -> String {
    let made = ask(server, person, ("POST", "/api/sessions"), json!({"title": "t"})).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn member_is_not_told_the_address_of_a_provider() {
    let world = world("").await.with_env("OPENAI_BASE_URL", "http://127.0.0.1:9/secret-gateway/v1");
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let session = home_of(&server, &bob).await;
    let said = json!({"message": "hello", "session_id": session});
    let told = ask(&server, &bob, ("POST", "/api/chat"), said).await.text();
    assert!(told.contains("unreachable") && told.contains("an admin of this server"), "{told}");
    let history = get(&server, &bob, &format!("/api/sessions/{session}/history")).await.text();
    let messages = get(&server, &bob, &format!("/api/conversations/{session}/messages")).await.text();
    let status = get(&server, &bob, "/api/status").await.text();
    let models = get(&server, &bob, "/api/models").await.text();
    for text in [told, history, messages, status, models] {
        assert!(!text.contains("secret-gateway") && !text.contains("127.0.0.1:9"), "{text}");
    }
    let providers = get(&server, &ada, "/api/providers").await.text();
    assert!(providers.contains("secret-gateway"), "an admin sees it: {providers}");
    eventually("it is in the log, too", async || world.log().contains("secret-gateway")).await;
}

#[tokio::test]
async fn single_person_is_told_the_address_of_a_provider() {
    let world = World::new(script([says(["Never."])])).await.with_env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let server = world.serve().await;
    let told = format!("{:?}", server.chat("s", "hello").await);
    assert!(told.contains("127.0.0.1:9"), "{told}");
}

#[tokio::test]
async fn home_of_the_server_is_closed_to_strangers() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world("").await;
    let mode = |world: &World| std::fs::metadata(world.home()).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(world.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = world.serve().await;
    assert_eq!(mode(&world), 0o750, "the group keeps its rights");
    let ada = admin(&server).await;
    get(&server, &ada, "/api/sessions").await.ok();
    let single = World::new(script([])).await;
    std::fs::set_permissions(single.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let _server = single.serve().await;
    assert_eq!(mode(&single), 0o755, "the home of one person stays as it is");
}
