//! Sign-in by the header of a trusted proxy: who may name a person, and what a sign-in of that kind is worth.

use serde_json::{Value, json};

use crate::http::{Answer, Frame};
use crate::people::{PASSWORD, Person, admin, ask, follow, get, joined, login, refused, register, signed_in, world};
use crate::world::{Server, World};

const BY_PROXY: &str = "trusted_proxies: [127.0.0.1]\nproxy_sign_in: {header: Remote-User}";
const CREATING: &str =
    "trusted_proxies: [127.0.0.1]\nproxy_sign_in: {header: Remote-User, create: true, logout_url: /sso/logout}";

/// Sends a request as the proxy does: with the header, and the page's headers.
async fn through(server: &Server<'_>, (method, path): (&str, &str), headers: &[(&str, &str)]) -> Answer {
    let mut all = vec![("Content-Type", "application/json")];
    all.extend(headers);
    server.send(method, path, &all, if method == "GET" { b"" } else { b"{}" }).await
}

async fn sign_in(server: &Server<'_>, name: &str) -> Answer {
    through(server, ("POST", "/api/auth/proxy"), &[("Remote-User", name)]).await
}

fn cookie(answer: &Answer) -> String {
    let set = answer.head.header("set-cookie").expect("a cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Max-Age=604800"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

/// Asks for the list of conversations with a cookie and a user name of the proxy.
async fn listed(server: &Server<'_>, cookie: &str, name: Option<&str>) -> Answer {
    let mut headers = vec![("Cookie", cookie)];
    headers.extend(name.map(|name| ("Remote-User", name)));
    through(server, ("GET", "/api/sessions"), &headers).await
}

/// Starts a server whose admin signs in with a password, and on which Ann has an account.
async fn with_ann(settings: &str) -> World {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    joined(&server, &ada, "Ann").await;
    drop(server);
    let config = world.read("config.yml").replace("auth_mode: multi\n", &format!("auth_mode: multi\n{settings}\n"));
    world.write("config.yml", config);
    world
}

#[tokio::test]
async fn proxy_signs_in_whom_it_names() {
    let world = with_ann(BY_PROXY).await;
    let server = world.serve().await;
    let mode = async |headers: &[(&str, &str)]| {
        through(&server, ("GET", "/api/auth/mode"), headers).await.ok()["data"]["proxy_sign_in"].clone()
    };
    assert_eq!(mode(&[]).await, Value::Null);
    assert_eq!(mode(&[("Remote-User", "ann")]).await, json!({"logout_url": null}));

    let signed = sign_in(&server, "ＡＮＮ").await;
    assert_eq!(signed.ok()["data"]["username"], "Ann");
    assert!(signed.ok()["data"].get("token").is_none(), "programs use access tokens");
    let hers = cookie(&signed);
    assert_eq!(listed(&server, &hers, Some("aNN")).await.status(), 200);
    assert_eq!(listed(&server, &hers, None).await.status(), 401, "nothing without the proxy's word");
    assert_eq!(through(&server, ("GET", "/api/sessions"), &[("Remote-User", "ann")]).await.status(), 401, "no cookie");
    let bearer = format!("Bearer {}", hers.split_once('=').unwrap().1);
    let direct = server.send("GET", "/api/sessions", &[("Authorization", &bearer)], b"").await;
    assert_eq!(direct.status(), 401, "the cookie's token is worth as much as the cookie");

    // A password still works beside it, for requests on which the proxy names nobody.
    let ada = signed_in(&server, "ada").await;
    assert_eq!(get(&server, &ada, "/api/sessions").await.status(), 200);
    let entries = get(&server, &ada, "/api/admin/audit?event=sign_in").await.ok()["data"]["items"].clone();
    let by_proxy: Vec<&Value> = entries.as_array().unwrap().iter().filter(|e| e["detail"]["by"] == "proxy").collect();
    assert_eq!(by_proxy.len(), 1, "{entries}");
    assert_eq!((&by_proxy[0]["outcome"], &by_proxy[0]["account_name"]), (&json!("done"), &json!("Ann")));
}

#[tokio::test]
async fn header_wins_over_the_cookie_of_another() {
    let world = with_ann(BY_PROXY).await;
    let server = world.serve().await;
    let ada = signed_in(&server, "ada").await;
    for (name, cookie) in [("ann", &ada.cookie), ("nobody", &ada.cookie)] {
        assert_eq!(listed(&server, cookie, Some(name)).await.refused(), (401, "signed_out".to_owned()), "{name}");
    }
    let bearer = format!("Bearer {}", ada.token);
    let headers = [("Authorization", bearer.as_str()), ("Remote-User", "ann")];
    assert_eq!(through(&server, ("GET", "/api/admin/people"), &headers).await.status(), 401, "nor a token of another");
    assert_eq!(listed(&server, &ada.cookie, Some("ada")).await.status(), 200);

    // Of two cookies, only that of the person whom the proxy names counts.
    let ann = cookie(&sign_in(&server, "ann").await);
    let both = format!("{}; {ann}", ada.cookie);
    let profile = through(&server, ("GET", "/api/auth/profile"), &[("Cookie", &both), ("Remote-User", "ann")]).await;
    assert_eq!(profile.ok()["data"]["username"], "Ann");
    // The page has a secret only for whom the proxy names, and streams are refused like everything else.
    let page = through(&server, ("GET", "/"), &[("Cookie", &ada.cookie), ("Remote-User", "ann")]).await.text();
    assert!(!page.contains("miniclaw-secret"));
    let stream = through(&server, ("GET", "/api/events"), &[("Cookie", &ada.cookie), ("Remote-User", "ann")]).await;
    assert_eq!(stream.status(), 401);
}

#[tokio::test]
async fn header_that_names_nobody_is_refused() {
    let world = with_ann(BY_PROXY).await;
    let server = world.serve().await;
    let ann = cookie(&sign_in(&server, "ann").await);
    let post = ("POST", "/api/auth/proxy");
    let bad = (400, "bad_proxy_user".to_owned());
    for name in ["", " ", "ann, bob", "ann@example.org", "a b", "Аnn", "a\u{200b}nn", "../ann", &"a".repeat(41)] {
        assert_eq!(refused(&sign_in(&server, name).await), bad, "{name:?}");
        assert_eq!(listed(&server, &ann, Some(name)).await.refused(), bad, "{name:?}");
    }
    let twice = [("Remote-User", "ann"), ("remote-user", "ann")];
    assert_eq!(refused(&through(&server, post, &twice).await), bad);
    // A header with `_` is another one, whatever a program in between may make of it.
    let none = (401, "no_proxy_user".to_owned());
    for other in ["Remote_User", "Remote.User", "X-Remote-User", "X-Forwarded-User"] {
        assert_eq!(refused(&through(&server, post, &[(other, "ann")]).await), none, "{other}");
    }
    let both = [("Remote_User", "ada"), ("Remote-User", "ann")];
    assert_eq!(through(&server, post, &both).await.ok()["data"]["username"], "Ann");
    // Other sites cannot sign a browser in.
    let elsewhere = [("Remote-User", "ann"), ("Origin", "http://elsewhere.example")];
    assert_eq!(through(&server, post, &elsewhere).await.status(), 403);
    let form = [("Remote-User", "ann"), ("Content-Type", "application/x-www-form-urlencoded")];
    assert!(server.send("POST", "/api/auth/proxy", &form, b"").await.status() >= 400);
}

#[tokio::test]
async fn header_of_anybody_else_is_ignored() {
    let settings = "trusted_proxies: [192.0.2.7]\nproxy_sign_in: {header: Remote-User, create: true}";
    let world = with_ann(settings).await;
    let server = world.serve().await;
    let forged: [&[(&str, &str)]; 4] = [
        &[("Remote-User", "ada")],
        &[("Remote-User", "ada"), ("X-Forwarded-For", "192.0.2.7")],
        &[("Remote-User", "ada"), ("X-Real-IP", "192.0.2.7"), ("Forwarded", "for=192.0.2.7")],
        &[("Remote-User", "ada, ann"), ("Remote-User", "")],
    ];
    for headers in forged {
        let answer = through(&server, ("POST", "/api/auth/proxy"), headers).await;
        assert_eq!(refused(&answer), (401, "no_proxy_user".to_owned()), "{headers:?}");
        assert!(answer.head.header("set-cookie").is_none());
        let mode = through(&server, ("GET", "/api/auth/mode"), headers).await.ok();
        assert!(mode["data"].get("proxy_sign_in").is_none(), "{mode}");
    }
    // It neither helps nor harms those who sign in with a password.
    let ada = signed_in(&server, "ada").await;
    assert_eq!(listed(&server, &ada.cookie, Some("ann")).await.status(), 200);
}

#[tokio::test]
async fn accounts_are_made_only_if_wanted_and_never_an_admin() {
    let world = with_ann(BY_PROXY).await;
    let server = world.serve().await;
    assert_eq!(refused(&sign_in(&server, "zoe").await), (403, "no_account".to_owned()));
    drop(server);
    world.write("config.yml", world.read("config.yml").replace(BY_PROXY, CREATING));
    let server = world.serve().await;
    let mode = through(&server, ("GET", "/api/auth/mode"), &[("Remote-User", "zoe")]).await.ok();
    assert_eq!(mode["data"]["proxy_sign_in"], json!({"logout_url": "/sso/logout"}));
    let made = sign_in(&server, "Zoe").await.ok()["data"].clone();
    assert_eq!((&made["username"], &made["role"]), (&json!("Zoe"), &json!("user")));
    assert_eq!(sign_in(&server, "ZOE").await.ok()["data"]["id"], made["id"], "the second time it is the same");
    let ada = signed_in(&server, "ada").await;
    let created = get(&server, &ada, "/api/admin/audit?event=sign_in").await.ok()["data"]["items"].clone();
    let details: Vec<&Value> = created.as_array().unwrap().iter().map(|entry| &entry["detail"]["created"]).collect();
    assert_eq!(details.iter().filter(|created| ***created == json!(true)).count(), 1, "{details:?}");
    for guess in ["", "zoe", PASSWORD] {
        assert_eq!(login(&server, "zoe", guess).await.status(), 401);
    }
}

#[tokio::test]
async fn first_account_is_not_made_by_the_proxy() {
    let world = world(CREATING).await;
    let server = world.serve().await;
    assert_eq!(refused(&sign_in(&server, "eve").await), (403, "setup_code_needed".to_owned()));
    assert_eq!(through(&server, ("GET", "/api/auth/mode"), &[]).await.ok()["data"]["has_accounts"], false);
    admin(&server).await;
    assert_eq!(sign_in(&server, "eve").await.ok()["data"]["role"], "user");
}

#[tokio::test]
async fn disabled_person_of_the_proxy_is_refused_at_once() {
    let world = with_ann(CREATING).await;
    let server = world.serve().await;
    let signed = sign_in(&server, "ann").await;
    let (id, cookie) = (signed.ok()["data"]["id"].as_str().unwrap().to_owned(), cookie(&signed));
    let ada = signed_in(&server, "ada").await;
    let headers = [("Cookie", cookie.as_str()), ("Remote-User", "ann")];
    let mut stream = server.follow_with("/api/events", &headers).await;
    stream.until("hello").await;
    let path = format!("/api/admin/people/{id}");
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
    let rest: Vec<Frame> = stream.rest().await;
    assert!(rest.iter().all(|frame| !frame.is("hello")), "the stream has ended");
    assert_eq!(listed(&server, &cookie, Some("ann")).await.refused(), (403, "disabled".to_owned()));
    assert_eq!(refused(&sign_in(&server, "ann").await), (403, "disabled".to_owned()));
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": true})).await.ok();
    assert_eq!(listed(&server, &cookie, Some("ann")).await.status(), 401, "the former sign-in is over");
    assert_eq!(sign_in(&server, "ann").await.status(), 200);
}

#[tokio::test]
async fn name_of_the_proxy_cannot_be_taken() {
    let world = with_ann(BY_PROXY).await;
    let server = world.serve().await;
    let ada = signed_in(&server, "ada").await;
    let code = ask(&server, &ada, ("POST", "/api/admin/invitations"), json!({})).await.ok()["data"]["code"].clone();
    let taken = (409, "name_of_proxy".to_owned());
    assert_eq!(refused(&register(&server, "boss", json!({"invitation": code})).await), taken);
    let body = json!({"username": "Zoe", "password": PASSWORD, "invitation": code}).to_string();
    let joining = async |name: &str| {
        let headers = [("Content-Type", "application/json"), ("Remote-User", name)];
        server.send("POST", "/api/auth/register", &headers, body.as_bytes()).await
    };
    assert_eq!(refused(&joining("ann").await), taken, "the proxy names somebody else");
    assert_eq!(joining("zoe").await.ok()["data"]["role"], "user");
    let ann: Person = signed_in(&server, "ann").await;
    let renamed =
        async |name: &str| ask(&server, &ann, ("PATCH", "/api/auth/profile"), json!({"username": name})).await;
    assert_eq!(refused(&renamed("boss").await), taken);
    assert_eq!(renamed("ANN").await.ok()["data"]["username"], "ANN", "only its capitals change");
    follow(&server, &ann).await;
}

#[tokio::test]
async fn local_program_needs_the_secret_of_the_proxy() {
    let secret = "secret_header: X-Proxy-Secret, secret: '${PROXY_SECRET}'";
    let settings = format!("trusted_proxies: [127.0.0.1]\nproxy_sign_in: {{header: Remote-User, {secret}}}");
    let world = with_ann(&settings).await.with_env("PROXY_SECRET", "a-long-secret-of-the-proxy");
    let server = world.serve().await;
    let post = ("POST", "/api/auth/proxy");
    let bad = (400, "bad_proxy_user".to_owned());
    for wrong in [&[] as &[(&str, &str)], &[("X-Proxy-Secret", "guess")], &[("X-Proxy-Secret", "")]] {
        let mut headers = vec![("Remote-User", "ann")];
        headers.extend(wrong);
        let answer = through(&server, post, &headers).await;
        assert_eq!(refused(&answer), bad, "{wrong:?}");
        assert!(!answer.text().contains("a-long-secret"));
    }
    let right = [("Remote-User", "ann"), ("X-Proxy-Secret", "a-long-secret-of-the-proxy")];
    assert_eq!(through(&server, post, &right).await.ok()["data"]["username"], "Ann");
    assert!(!world.log().contains("a-long-secret"));
}

#[tokio::test]
async fn proxy_sign_in_that_trusts_everybody_does_not_start() {
    for (settings, reason) in [
        ("proxy_sign_in: {header: Remote-User}", "trusted_proxies"),
        ("trusted_proxies: [127.0.0.1]\nproxy_sign_in: {header: Cookie}", "only the proxy"),
        ("trusted_proxies: [127.0.0.1]\nregistration: open\nproxy_sign_in: {header: Remote-User}", "registration"),
    ] {
        let world = world(settings).await;
        let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--port", "0"]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains("proxy_sign_in") && said.contains(reason), "{said}");
    }
}
