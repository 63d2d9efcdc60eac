//! What is limited for single people: the usage that an admin allows them, how many names of others they may try, and the memory
//! that their sign-ins take.

use serde_json::{Value, json};

use crate::hostile::held;
use crate::people::{PASSWORD, Person, admin, ask, get, joined, login, refused, signed_in, world};
use crate::world::{Server, eventually};

/// Sends a message, and returns the event that ends its stream.
pub async fn said(server: &Server<'_>, person: &Person, session: &str) -> Value {
    let bearer = format!("Bearer {}", person.token);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let body = json!({"message": "hi", "session_id": session}).to_string();
    let request = server.request("POST", "/api/chat", &headers, body.as_bytes());
    let frames = crate::http::open(server.address, &request).await.rest().await;
    let end = frames.iter().find(|frame| frame.is("done") || frame.is("error")).unwrap().data.clone();
    let path = format!("/api/sessions/{session}/history");
    eventually("the work settles", async || get(server, person, &path).await.ok()["running"].is_null()).await;
    end
}

async fn limit(server: &Server<'_>, admin: &Person, person: &Person, limits: Value) -> Value {
    let path = format!("/api/admin/people/{}", person.id);
    ask(server, admin, ("PATCH", &path), json!({"limits": limits})).await.ok()["data"].clone()
}

async fn limits(server: &Server<'_>, person: &Person) -> Value {
    get(server, person, "/api/stats/tokens").await.ok()["data"]["limits"].clone()
}

#[tokio::test]
async fn limit_of_an_admin_counts_for_one_person() {
    let world = world("limits: {day: {tokens: 2000000}}").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    assert_eq!(said(&server, &bob, "a").await["stop_reason"], "done");
    let asked = world.asked().len();

    // It counts at once, in a home that is open, and only for him.
    let stored = limit(&server, &ada, &bob, json!({"day": {"tokens": 100}})).await;
    assert_eq!(stored["limits"], json!({"day": {"tokens": 100}}));
    let end = said(&server, &bob, "b").await;
    assert_eq!((&end["code"], &end["about"]["key"]), (&json!("usage_limit"), &json!("admin.day.tokens")), "{end}");
    let sentence = end["error"].as_str().unwrap();
    assert!(sentence.contains("An admin has set a limit") && !sentence.contains("config.yml"), "{sentence}");
    assert_eq!(world.asked().len(), asked, "nothing was sent");
    assert_eq!(said(&server, &ada, "a").await["stop_reason"], "done");
    let his = limits(&server, &bob).await;
    assert_eq!((&his[0]["tokens"], &his[0]["set_by"]), (&json!(100), &json!("admin")), "{his}");
    assert_eq!(limits(&server, &ada).await[0]["set_by"], "server");
    let profile = get(&server, &bob, "/api/auth/profile").await.ok();
    assert_eq!(profile["data"]["limits"], json!({"day": {"tokens": 100}}), "he sees it");

    drop(server);
    let server = world.serve().await;
    assert_eq!(said(&server, &bob, "c").await["code"], "usage_limit", "it outlives a restart");
    // Limits that an admin lifts count no more, also those of everybody; with null, those of everybody count again.
    limit(&server, &ada, &bob, json!({})).await;
    assert_eq!(said(&server, &bob, "d").await["stop_reason"], "done");
    assert_eq!(limits(&server, &bob).await, json!([]));
    let stored = limit(&server, &ada, &bob, Value::Null).await;
    assert!(stored.get("limits").is_none(), "{stored}");
    assert_eq!(limits(&server, &bob).await[0]["set_by"], "server");
    let path = format!("/api/admin/people/{}", bob.id);
    limit(&server, &ada, &bob, json!({"month": {"cost": 2.5, "currency": "EUR"}})).await;
    let kept = ask(&server, &ada, ("PATCH", &path), json!({"role": "user"})).await.ok()["data"].clone();
    assert_eq!(kept["limits"]["month"]["cost"], 2.5, "a change of something else keeps it");
}

#[tokio::test]
async fn only_admins_set_limits_and_only_sound_ones() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let path = format!("/api/admin/people/{}", bob.id);
    let his_own = ask(&server, &bob, ("PATCH", &path), json!({"limits": {}})).await;
    assert_eq!(his_own.status(), 403);
    let by_profile = ask(&server, &bob, ("PATCH", "/api/auth/profile"), json!({"limits": null})).await;
    assert!(by_profile.status() == 400 || by_profile.ok()["data"].get("limits").is_none());
    for bad in [
        json!({"day": {"cost": -1}}),
        json!({"day": {"cost": 1, "currency": "euro"}}),
        json!({"day": {"tokens": -1}}),
        json!({"day": {"tokens": 1.5}}),
        json!({"week": {"tokens": 1}}),
        json!({"day": {"token": 1}}),
        json!("none"),
        json!([]),
        json!({"day": []}),
    ] {
        let answer = ask(&server, &ada, ("PATCH", &path), json!({"limits": bad})).await;
        assert!((400..=422).contains(&answer.status()), "{bad}: {}", answer.text());
    }
    assert!(!world.read("accounts.json").contains("limits"));
    limit(&server, &ada, &bob, json!({"day": {"tokens": 5}})).await;
    let log = get(&server, &ada, "/api/admin/audit?event=account_changed").await.ok()["data"]["items"].clone();
    assert_eq!(log[0]["detail"], json!({"limits": {"day": {"tokens": 5}}}), "{log}");
}

#[tokio::test]
async fn profile_tells_few_names_of_others() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let renamed =
        async |name: &str| ask(&server, &bob, ("PATCH", "/api/auth/profile"), json!({"username": name})).await;
    assert_eq!(refused(&renamed("ada").await), (409, "username_taken".to_owned()));
    let guesses = futures_util::future::join_all((0..30).map(|_| renamed("ada"))).await;
    let limited: Vec<_> = guesses.iter().filter(|answer| answer.status() == 429).map(refused).collect();
    assert!(limited.len() >= 10, "{}", limited.len());
    assert_eq!(limited[0].1, "too_many_tries");
    assert_eq!(login(&server, "bob", PASSWORD).await.status(), 200, "this keeps nobody from signing in");
    let hers = ask(&server, &ada, ("PATCH", "/api/auth/profile"), json!({"username": "Ada L"})).await;
    assert_eq!(refused(&hers), (400, "bad_username".to_owned()), "others are not held up");
}

#[tokio::test]
async fn memory_of_a_sign_in_is_returned() {
    let world = world("").await;
    let server = world.serve().await;
    admin(&server).await;
    let before = held(&server);
    for _ in 0..12 {
        signed_in(&server, "ada").await;
    }
    let grown = held(&server).saturating_sub(before);
    assert!(grown < 19 << 20, "less than what the hash of one needs: {grown}");
}
