//! Several people on one server: accounts, sign-ins, and what ends them.

use std::os::unix::fs::PermissionsExt;

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::http::{Answer, Incoming, open};
use crate::script::{always, says, script};
use crate::socket_client::Socket;
use crate::world::{CONFIG, Server, World, eventually};

pub const SECRET: &str = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
pub const PASSWORD: &str = "correct horse battery";

/// A person who has signed in.
pub struct Person {
    pub id: String,
    pub token: String,
    /// `name=value`
    pub cookie: String,
}

pub async fn world(settings: &str) -> World {
    world_with(script([always(says(["Fine."]))]), settings).await
}

pub async fn world_with(script: Script, settings: &str) -> World {
    let world = World::new(script).await.with_env("MINICLAW_JWT_SECRET", SECRET);
    world.with_file("config.yml", &format!("auth_mode: multi\n{settings}\n{CONFIG}"))
}

/// Returns the code that the server printed at its last start.
pub async fn setup_code(world: &World) -> String {
    let mut code = String::new();
    eventually("the server prints its setup code", async || {
        let log = world.log();
        let printed = log.lines().rev().find_map(|line| line.split_once("setup code: "));
        code = printed.map(|(_, code)| code.trim().to_owned()).unwrap_or_default();
        !code.is_empty()
    })
    .await;
    code
}

pub async fn register(server: &Server<'_>, name: &str, more: Value) -> Answer {
    let mut body = json!({"username": name, "password": PASSWORD});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/api/auth/register", body).await
}

pub async fn login(server: &Server<'_>, name: &str, password: &str) -> Answer {
    server.post("/api/auth/login", json!({"username": name, "password": password})).await
}

pub async fn signed_in(server: &Server<'_>, name: &str) -> Person {
    let answer = login(server, name, PASSWORD).await;
    let data = answer.ok()["data"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let set = answer.head.header("set-cookie").expect("a cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Max-Age=604800"), "{set}");
    let cookie = set.split(';').next().unwrap().to_owned();
    Person { id: text(&data["user"]["id"]), token: text(&data["token"]), cookie }
}

/// Makes the first account, which is the admin's.
pub async fn admin(server: &Server<'_>) -> Person {
    let code = setup_code(server.world).await;
    let made = register(server, "Ada", json!({"setup_code": code})).await.ok();
    assert_eq!(made["data"]["role"], "admin");
    signed_in(server, "ada").await
}

/// Makes an account by an invitation.
pub async fn joined(server: &Server<'_>, admin: &Person, name: &str) -> Person {
    let code = ask(server, admin, ("POST", "/api/admin/invitations"), json!({})).await.ok()["data"]["code"].clone();
    assert_eq!(register(server, name, json!({"invitation": code})).await.ok()["data"]["role"], "user");
    signed_in(server, name).await
}

/// Sends a request with a person's bearer token.
pub async fn ask(server: &Server<'_>, person: &Person, (method, path): (&str, &str), body: Value) -> Answer {
    let bearer = format!("Bearer {}", person.token);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let body = if method == "GET" { Vec::new() } else { body.to_string().into_bytes() };
    server.send(method, path, &headers, &body).await
}

pub async fn get(server: &Server<'_>, person: &Person, path: &str) -> Answer {
    ask(server, person, ("GET", path), Value::Null).await
}

pub async fn status_of(server: &Server<'_>, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    server.send("GET", "/api/sessions", &[("Authorization", &bearer)], b"").await.status()
}

pub async fn follow(server: &Server<'_>, person: &Person) -> Incoming {
    let mut stream = server.follow_with("/api/events", &[("Cookie", &person.cookie)]).await;
    stream.until("hello").await;
    stream
}

/// Returns status and reason of a refusal in the document's form.
pub fn refused(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(body["code"], answer.status(), "{body}");
    (answer.status(), body["reason"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn two_people_sign_in_and_see_only_their_own() {
    let world = world("").await;
    let server = world.serve().await;
    let mode = server.get("/api/auth/mode").await.ok();
    assert_eq!(
        mode,
        json!({"code": 0, "data": {"auth_mode": "multi", "registration": "invite", "has_accounts": false}})
    );
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    for (person, title) in [(&ada, "Hers"), (&bob, "His")] {
        ask(&server, person, ("POST", "/api/sessions"), json!({"title": title})).await.ok();
    }
    for (person, mine, other) in [(&ada, "Hers", "His"), (&bob, "His", "Hers")] {
        let listed = get(&server, person, "/api/sessions").await.text();
        assert!(listed.contains(mine) && !listed.contains(other), "{listed}");
        let profile = get(&server, person, "/api/auth/profile").await.ok()["data"].clone();
        assert_eq!(profile["id"], person.id.as_str());
        assert!(profile["last_login_at"].as_str().unwrap().ends_with('Z') && profile.get("password_hash").is_none());
        let home = world.path(&format!("people/{}", person.id));
        assert!(home.join("workspace").is_dir() && !home.join(".env.example").exists());
        let by_cookie = server.send("GET", "/api/sessions", &[("Cookie", &person.cookie)], b"").await;
        assert!(by_cookie.text().contains(mine));
    }
    assert_eq!(server.get("/api/sessions").await.status(), 401);
    let modes =
        ["accounts.json", "people"].map(|path| world.path(path).metadata().unwrap().permissions().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o700]);
    for secret in [PASSWORD, ada.token.as_str(), SECRET] {
        assert!(!world.read("accounts.json").contains(secret) && !world.log().contains(secret));
    }

    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/auth/mode").await.ok()["data"]["has_accounts"], true);
    assert!(get(&server, &ada, "/api/sessions").await.text().contains("Hers"), "the sign-in outlives a restart");
    assert!(login(&server, "BOB", PASSWORD).await.status() == 200);
}

#[tokio::test]
async fn first_account_needs_the_printed_code() {
    let world = world("registration: open").await;
    let server = world.serve().await;
    for more in [json!({}), json!({"setup_code": "x"}), json!({"setup_code": ""}), json!({"invitation": "x"})] {
        assert_eq!(refused(&register(&server, "Eve", more).await), (403, "setup_code_needed".to_owned()));
    }
    admin(&server).await;
    let code = setup_code(&world).await;
    let second = register(&server, "Eve", json!({"setup_code": code})).await.ok();
    assert_eq!(second["data"]["role"], "user", "the code makes one admin");
}

#[tokio::test]
async fn invitation_makes_one_account_and_twins_are_refused() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    assert_eq!(refused(&register(&server, "Bob", json!({})).await), (403, "invitation_needed".to_owned()));
    let password = ask(&server, &ada, ("PATCH", "/api/auth/profile"), json!({"password": "another-one-9"})).await;
    assert_eq!(refused(&password), (400, "not_in_profile".to_owned()));
    let made = ask(&server, &ada, ("POST", "/api/admin/invitations"), json!({"expires_in_days": 1})).await.ok();
    let code = &made["data"]["code"];
    for twin in ["ada", "ADA", "Ａｄａ"] {
        let answer = register(&server, twin, json!({"invitation": code})).await;
        assert_eq!(refused(&answer), (409, "username_taken".to_owned()), "{twin}");
    }
    for bad in ["", "Аda", "a b", "a\u{200b}b", "../x"] {
        let answer = register(&server, bad, json!({"invitation": code})).await;
        assert_eq!(refused(&answer), (400, "bad_username".to_owned()), "{bad}");
    }
    let weak = json!({"invitation": code, "password": "short"});
    assert_eq!(refused(&register(&server, "Bob", weak).await), (400, "weak_password".to_owned()));
    register(&server, "Bob", json!({"invitation": code, "email": "bob@example.org"})).await.ok();
    assert_eq!(
        refused(&register(&server, "Eve", json!({"invitation": code})).await),
        (403, "bad_invitation".to_owned())
    );
    let listed = get(&server, &ada, "/api/admin/invitations").await.ok();
    assert_eq!(listed["data"]["items"][0]["used_by"], "Bob");
    assert!(!world.read("accounts.json").contains(code.as_str().unwrap()));
    let taken = ask(&server, &ada, ("PATCH", "/api/auth/profile"), json!({"email": "BOB@example.org"})).await;
    assert_eq!(refused(&taken), (409, "email_taken".to_owned()));
    let changed = json!({"email": "ada@example.org", "avatar": "🐧"});
    let changed = ask(&server, &ada, ("PATCH", "/api/auth/profile"), changed).await.ok()["data"].clone();
    assert_eq!((&changed["email"], &changed["avatar"]), (&json!("ada@example.org"), &json!("🐧")));
    for unsafe_one in ["javascript:alert(1)", "data:text/html,x"] {
        let answer = ask(&server, &ada, ("PATCH", "/api/auth/profile"), json!({"avatar": unsafe_one})).await;
        assert_eq!(refused(&answer), (400, "bad_avatar".to_owned()), "{unsafe_one}");
    }
    let cleared = ask(&server, &ada, ("PATCH", "/api/auth/profile"), json!({"email": null})).await.ok()["data"].clone();
    assert_eq!((&cleared["email"], &cleared["avatar"]), (&Value::Null, &json!("🐧")));
}

#[tokio::test]
async fn logout_ends_one_sign_in_and_everywhere_all() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let (first, second, third) =
        (signed_in(&server, "ada").await, signed_in(&server, "ada").await, signed_in(&server, "ada").await);
    let stream = follow(&server, &first).await;
    ask(&server, &first, ("POST", "/api/auth/logout"), json!({})).await.ok();
    stream.rest().await;
    assert_eq!((status_of(&server, &first.token).await, status_of(&server, &second.token).await), (401, 200));
    // The page of earlier versions signs out here.
    assert_eq!(ask(&server, &third, ("POST", "/api/logout"), json!({})).await.status(), 204);
    assert_eq!(status_of(&server, &third.token).await, 401);
    let port = server.address.port().to_string();
    drop(server);
    let server = world.serve_with(&["--port", &port]).await;
    assert_eq!(status_of(&server, &first.token).await, 401, "it is over after a restart too");
    let stream = follow(&server, &second).await;
    ask(&server, &ada, ("POST", "/api/auth/logout-everywhere"), json!({})).await.ok();
    stream.rest().await;
    assert_eq!((status_of(&server, &ada.token).await, status_of(&server, &second.token).await), (401, 401));
    assert_eq!(status_of(&server, &signed_in(&server, "ada").await.token).await, 200);
}

#[tokio::test]
async fn token_with_the_scope_read_changes_nothing() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let made = ask(&server, &ada, ("POST", "/api/auth/tokens"), json!({"name": "reader", "scope": "read"})).await.ok();
    assert_eq!(made["data"]["scope"], "read");
    let token = made["data"]["token"].as_str().unwrap().to_owned();
    let reader = Person { id: ada.id.clone(), cookie: String::new(), token };
    assert_eq!(get(&server, &reader, "/api/sessions").await.status(), 200);
    for (method, path) in [
        ("POST", "/api/sessions"),
        ("POST", "/api/chat"),
        ("DELETE", "/api/sessions/s"),
        ("PUT", "/api/sessions/s/pin"),
        ("POST", "/api/conversations"),
    ] {
        let refusal = ask(&server, &reader, (method, path), json!({"message": "hi", "title": "x"})).await;
        let code = if path.ends_with("conversations") { "reason" } else { "code" };
        assert_eq!((refusal.status(), &refusal.json()[code]), (403, &json!("read_only_token")), "{method} {path}");
    }
    let headers = [("Authorization", format!("Bearer {}", reader.token))];
    let mut socket = Socket::open_with(&server, "?session_id=s", &headers).await.expect("it may read");
    for kind in ["USER_MESSAGE", "INTERRUPT", "CLEAR_SESSION"] {
        assert_eq!(socket.asked(kind, json!({"content": "hi"})).await["data"]["code"], "read_only_token", "{kind}");
    }
    assert_eq!(get(&server, &ada, "/api/sessions").await.ok()["sessions"], json!([]));
}

#[tokio::test]
async fn new_password_ends_sign_ins_and_tokens() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let made = ask(&server, &ada, ("POST", "/api/auth/tokens"), json!({"name": "script", "expires_in_days": 30})).await;
    let program = made.ok()["data"]["token"].as_str().unwrap().to_owned();
    let program = Person { id: ada.id.clone(), cookie: String::new(), token: program };
    assert_eq!(status_of(&server, &program.token).await, 200);
    let listed = get(&server, &ada, "/api/auth/tokens").await;
    assert_eq!(listed.ok()["data"]["items"][0]["name"], "script");
    assert!(!listed.text().contains(&program.token) && !world.read("accounts.json").contains(&program.token));
    for (method, path) in [
        ("GET", "/api/auth/tokens"),
        ("POST", "/api/auth/logout-everywhere"),
        ("GET", "/api/admin/people"),
        ("GET", "/api/settings"),
        ("GET", "/api/providers"),
    ] {
        assert_eq!(ask(&server, &program, (method, path), json!({})).await.status(), 403, "a token may not {path}");
    }
    for unknown in [json!({"name": "x", "days": 3}), json!({"name": "x", "scope": "write"})] {
        let refusal = ask(&server, &ada, ("POST", "/api/auth/tokens"), unknown.clone()).await;
        assert_eq!(refused(&refusal), (400, "bad_json".to_owned()), "{unknown}");
    }
    let name = ada.cookie.split('=').next().unwrap();
    let as_cookie = format!("{name}={}", program.token);
    assert_eq!(server.send("GET", "/api/sessions", &[("Cookie", &as_cookie)], b"").await.status(), 401);

    let change = |current: &str| json!({"current_password": current, "new_password": "another horse battery"});
    let wrong = ask(&server, &ada, ("POST", "/api/auth/password"), change("wrong")).await;
    assert_eq!(refused(&wrong), (401, "wrong_password".to_owned()));
    let stream = follow(&server, &ada).await;
    let changed = ask(&server, &ada, ("POST", "/api/auth/password"), change(PASSWORD)).await.ok();
    stream.rest().await;
    for old in [&ada.token, &program.token] {
        assert_eq!(status_of(&server, old).await, 401);
    }
    assert_eq!(status_of(&server, changed["data"]["token"].as_str().unwrap()).await, 200);
    assert_eq!(login(&server, "ada", PASSWORD).await.status(), 401);
    assert_eq!(login(&server, "ada", "another horse battery").await.status(), 200);
}

#[tokio::test]
async fn disabled_person_is_refused_at_once() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let stream = follow(&server, &bob).await;
    let path = format!("/api/admin/people/{}", bob.id);
    assert_eq!(ask(&server, &bob, ("PATCH", &path), json!({"role": "admin"})).await.status(), 403);
    let changed = ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
    assert_eq!(changed["data"]["is_active"], false);
    stream.rest().await;
    assert_eq!(get(&server, &bob, "/api/sessions").await.refused(), (403, "disabled".to_owned()));
    assert_eq!(refused(&login(&server, "bob", PASSWORD).await), (403, "disabled".to_owned()));
    assert_eq!(login(&server, "bob", "wrong").await.status(), 401);
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": true})).await.ok();
    assert_eq!(get(&server, &bob, "/api/sessions").await.status(), 401, "who had a token before has none now");
    assert_eq!(login(&server, "bob", PASSWORD).await.status(), 200);

    let reset = ask(&server, &ada, ("POST", &format!("{path}/password")), json!({})).await.ok();
    assert_eq!(get(&server, &bob, "/api/sessions").await.status(), 401);
    assert_eq!(login(&server, "bob", reset["data"]["password"].as_str().unwrap()).await.status(), 200);

    let own = format!("/api/admin/people/{}", ada.id);
    for change in [json!({"is_active": false}), json!({"role": "user"})] {
        let answer = ask(&server, &ada, ("PATCH", &own), change).await;
        assert_eq!(refused(&answer), (409, "last_admin".to_owned()));
    }
    let people = get(&server, &ada, "/api/admin/people").await.ok();
    assert_eq!(people["data"]["items"].as_array().unwrap().len(), 2);
    assert!(!people.to_string().contains("argon2"), "no hashes");
    for missing in ["/api/admin/people/nobody", "/api/admin/people/..%2fx"] {
        assert_eq!(ask(&server, &ada, ("PATCH", missing), json!({})).await.status(), 404, "{missing}");
    }
}

#[tokio::test]
async fn guesses_are_limited_and_unknown_names_are_not_told() {
    let world = world("").await;
    let server = world.serve().await;
    admin(&server).await;
    let (wrong, unknown) = (login(&server, "ada", "wrong").await, login(&server, "nobody", "wrong").await);
    assert_eq!(refused(&wrong), (401, "wrong_password".to_owned()));
    assert_eq!(wrong.body, unknown.body);
    let guesses = futures_util::future::join_all((0..30).map(|_| login(&server, "ADA", "wrong"))).await;
    let limited = guesses.iter().filter(|answer| answer.status() == 429).count();
    assert!(limited >= 10, "{limited}");
    let names: Vec<String> = (0..30).map(|number| format!("name{number}")).collect();
    let guesses = futures_util::future::join_all(names.iter().map(|name| login(&server, name, "wrong"))).await;
    assert!(guesses.iter().any(|answer| answer.status() == 429), "other names do not help");
    let answer = login(&server, "ada", PASSWORD).await;
    assert_eq!(refused(&answer), (429, "too_many_tries".to_owned()), "the right password is not told either");
    let wait: u64 = answer.head.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

#[tokio::test]
async fn forged_and_foreign_tokens_are_refused() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let parts: Vec<&str> = ada.token.split('.').collect();
    let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let claims: Value = serde_json::from_slice(&BASE64.decode(parts[1]).unwrap()).unwrap();
    let mut later = claims.clone();
    later["exp"] = json!(claims["exp"].as_u64().unwrap() + 1000);
    let later = BASE64.encode(later.to_string());
    for forged in [
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{later}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        String::new(),
        "mct_".to_owned(),
    ] {
        assert_eq!(status_of(&server, &forged).await, 401, "{forged}");
    }
    let both = format!("Bearer {}", ada.token);
    let twice = [("Authorization", both.as_str()), ("Authorization", both.as_str())];
    assert_eq!(server.send("GET", "/api/sessions", &twice, b"").await.status(), 401);
    assert_eq!(server.get(&format!("/api/sessions?token={}", ada.token)).await.status(), 401);
    drop(server);
    let world = world.with_env("MINICLAW_JWT_SECRET", "00112233445566778899aabbccddeeff");
    let server = world.serve().await;
    assert_eq!(status_of(&server, &ada.token).await, 401, "signed with another secret");
}

#[tokio::test]
async fn page_of_one_person_cannot_answer_for_another() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let secret = async |cookie: &str| {
        let page = server.send("GET", "/", &[("Cookie", cookie)], b"").await.text();
        page.split_once("name=\"miniclaw-secret\" content=\"").map(|(_, rest)| rest[..64].to_owned())
    };
    let (hers, his) = (secret(&ada.cookie).await.unwrap(), secret(&bob.cookie).await.unwrap());
    assert_ne!(hers, his);
    assert_eq!(secret("other=1").await, None);
    let change = async |cookie: &str, secret: &str| {
        let headers = [("Cookie", cookie), ("X-Miniclaw-Secret", secret), ("Content-Type", "application/json")];
        let body = json!({"set": {"max_iterations": 7}}).to_string();
        server.send("PATCH", "/api/settings", &headers, body.as_bytes()).await
    };
    assert_eq!(change(&ada.cookie, &his).await.refused(), (403, "no_secret".to_owned()));
    assert_eq!(change(&bob.cookie, &his).await.refused(), (403, "not_allowed".to_owned()), "settings are the admin's");
    assert_eq!(change(&ada.cookie, &hers).await.status(), 200);
    assert!(world.read("config.yml").contains("max_iterations: 7"), "the server's file, not the admin's");
}

#[tokio::test]
async fn names_of_models_and_tools_need_no_sign_in() {
    let world = world("").await;
    let mut server = world.serve().await;
    admin(&server).await;
    let models = server.get("/api/models").await.ok();
    assert_eq!(models.as_object().unwrap().keys().collect::<Vec<_>>(), ["available"]);
    assert_eq!(models["available"][0].as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "name", "label"]);
    let tools = server.get("/api/tools").await.ok()["data"]["tools"].clone();
    assert!(tools.as_array().unwrap().contains(&json!({"name": "read_file"})), "{tools}");
    for path in ["/api/models", "/api/tools"] {
        assert_eq!(server.post(path, json!({})).await.status(), 401, "{path}");
        assert_eq!(server.get(&format!("{path}/x")).await.status(), 401, "{path}");
    }
    server.token = Some("wrong".to_owned());
    for path in ["/api/models", "/api/tools"] {
        assert_eq!(server.get(path).await.status(), 401, "{path} with a credential that is not valid");
    }
}

#[tokio::test]
async fn commands_of_people_are_left_out_without_a_sandbox() {
    let world = world("").await;
    let server = world.serve_with(&["--port", "0", "--sandbox", "off"]).await;
    let ada = admin(&server).await;
    let status = get(&server, &ada, "/api/status").await.ok();
    let tools: Vec<&str> =
        status["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(
        tools.contains(&"read_file") && !tools.contains(&"terminal") && !tools.contains(&"python_repl"),
        "{tools:?}"
    );
    assert!(status["problems"].to_string().contains("terminal, bash, python_repl"), "{}", status["problems"]);
    assert_eq!((&status["commands"]["available"], &status["commands"]["code"]), (&json!(false), &json!("off")));
    let listed = get(&server, &ada, "/api/tools").await.text();
    assert!(!listed.contains("\"bash\"") && !listed.contains("\"terminal\""));
    let bob = joined(&server, &ada, "Bob").await;
    let status = get(&server, &bob, "/api/status").await.ok();
    assert_eq!(status["home"], format!("people/{}", bob.id), "not where the server keeps its homes");
}

#[tokio::test]
async fn server_without_usable_accounts_or_secret_does_not_start() {
    let world = world("").await;
    let home = world.home();
    let arguments = ["serve", "--home", home.to_str().unwrap(), "--port", "0"];
    let server = world.serve().await;
    admin(&server).await;
    drop(server);
    let intact = world.read("accounts.json");
    world.write("accounts.json", &intact[..intact.len() / 2]);
    let damaged = world.read("accounts.json");
    for _ in 0..2 {
        let output = world.run(&arguments).await;
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("accounts.json is damaged") && said.contains("storage/quarantine"), "{said}");
    }
    assert_eq!(world.read("accounts.json"), damaged);
    std::fs::remove_file(world.path("accounts.json")).unwrap();
    std::fs::create_dir_all(world.path("people/somebody")).unwrap();
    let output = world.run(&arguments).await;
    assert!(String::from_utf8_lossy(&output.stderr).contains("accounts.json is missing"), "{output:?}");
    world.write("accounts.json", &intact);
    for secret in ["", "short", "nano-claw-default-secret-change-in-production"] {
        let mut command = world.command(&arguments);
        let output = command.env("MINICLAW_JWT_SECRET", secret).output().unwrap();
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("openssl rand -hex 32"), "{output:?}");
    }
    let server = world.serve().await;
    signed_in(&server, "ada").await;
}

#[tokio::test]
async fn single_server_has_one_person_and_no_accounts() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let profile = server.get("/api/auth/profile").await.ok()["data"].clone();
    assert_eq!((&profile["username"], &profile["role"]), (&json!("default"), &json!("admin")));
    for (method, path) in [
        ("POST", "/api/auth/register"),
        ("POST", "/api/auth/login"),
        ("POST", "/api/auth/logout-everywhere"),
        ("GET", "/api/auth/tokens"),
        ("GET", "/api/admin/people"),
    ] {
        let request = server.request(method, path, &[("Content-Type", "application/json")], b"{}");
        let request = if method == "GET" { server.request(method, path, &[], b"") } else { request };
        assert_eq!(open(server.address, &request).await.head.status, 403, "{path}");
    }
    assert!(!world.path("people").exists() && !world.path("accounts.json").exists());
}
