//! `/ws` against bad clients: foreign pages, missing and ended credentials, malformed frames, floods and deleted sessions.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::people::{self, Person, admin, ask, joined};
use crate::script::{always, says, script};
use crate::socket_client::Socket;
use crate::world::World;

const TOKEN: &str = "a-long-random-token-for-the-tests";

async fn world() -> World {
    World::new(script([always(says(["Yes."]))])).await
}

fn with(name: &'static str, value: impl Into<String>) -> Vec<(&'static str, String)> {
    vec![(name, value.into())]
}

#[tokio::test]
async fn other_sites_cannot_open_a_socket() {
    let world = world().await;
    let server = world.serve().await;
    let own = format!("http://{}", server.address);
    assert!(Socket::open_with(&server, "", &with("Origin", own)).await.is_ok());
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", ""] {
        let refused = Socket::open_with(&server, "", &with("Origin", origin)).await.err();
        assert_eq!(refused, Some((403, "bad_origin".to_owned())), "{origin}");
    }
    let refused = Socket::open_with(&server, "", &with("Host", "evil.example")).await.err();
    assert_eq!(refused, Some((403, "bad_host".to_owned())));
    let refused = Socket::open_with(&server, "", &with("Sec-Fetch-Site", "cross-site")).await.err();
    assert_eq!(refused, Some((403, "cross_site".to_owned())));
    assert_eq!(server.get("/ws").await.refused(), (426, "not_websocket".to_owned()));
    let refused = Socket::open_with(&server, "?session_id=../x", &[]).await.err();
    assert_eq!(refused.map(|(status, _)| status), Some(400));
}

#[tokio::test]
async fn socket_without_a_credential_needs_hello_first() {
    let world = world().await.with_env("MINICLAW_TOKEN", TOKEN);
    let mut server = world.serve_with(&["--port", "0", "--host", "0.0.0.0"]).await;
    let refused = Socket::open_with(&server, "", &with("Authorization", "Bearer wrong")).await.err();
    assert_eq!(refused, Some((401, "signed_out".to_owned())));
    for first in [
        json!({"type": "USER_MESSAGE", "data": {"content": "hi"}}),
        json!({"type": "HELLO"}),
        json!({"type": "HELLO", "data": {"token": "wrong"}}),
        json!({"type": "HELLO", "data": {"token": "a\r\nX: y"}}),
        json!([]),
    ] {
        let mut socket = Socket::open_with(&server, "", &[]).await.expect("it may say who it is");
        socket.send(first.clone()).await;
        let refused = socket.next().await;
        assert_eq!((&refused["type"], &refused["data"]["code"]), (&json!("ERROR"), &json!("signed_out")), "{first}");
        assert_eq!(socket.closed().await, 1008, "{first}");
    }
    assert!(world.provider.requests().is_empty(), "nothing was sent to the model");
    let mut socket = Socket::open_with(&server, "?session_id=s", &[]).await.unwrap();
    socket.send(json!({"type": "HELLO", "data": {"token": TOKEN}})).await;
    assert_eq!(socket.next().await["type"], "HISTORY");
    socket.send(json!({"type": "USER_MESSAGE", "data": {"content": "hi"}})).await;
    assert_eq!(socket.until("RESULT").await.pop().unwrap()["data"]["content"], "Yes.");
    server.token = Some(TOKEN.to_owned());
    let mut socket = Socket::open(&server, "?session_id=s").await;
    assert_eq!(socket.next().await["data"]["messages"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn bad_frames_are_refused_and_the_socket_stays() {
    let world = world().await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.next().await;
    let deep = format!("{{\"type\":\"INTERRUPT\",\"data\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = json!({"type": "USER_MESSAGE", "data": {"content": "x".repeat(1 << 20)}}).to_string();
    for (text, code) in [
        ("", "bad_frame"),
        ("{", "bad_frame"),
        ("null", "bad_frame"),
        ("{\"type\":1}", "bad_frame"),
        (deep.as_str(), "bad_frame"),
        (huge.as_str(), "too_large"),
        ("{\"type\":\"user_message\"}", "unknown_type"),
        ("{\"type\":\"USER_MESSAGE\"}", "empty_message"),
        ("{\"type\":\"USER_MESSAGE\",\"data\":{\"content\":\"x\",\"key\":\"a/b\"}}", "bad_key"),
        ("{\"type\":\"APPROVAL_RESPONSE\",\"data\":{}}", "bad_data"),
    ] {
        socket.send_raw(Message::text(text)).await;
        let refused = socket.next().await;
        let start: String = text.chars().take(40).collect();
        assert_eq!(
            (refused["type"].as_str(), refused["data"]["code"].as_str()),
            (Some("ERROR"), Some(code)),
            "{start}"
        );
        assert!(refused["data"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    socket.send_raw(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(socket.next().await["data"]["code"], "bad_frame");
    for n in 0..300 {
        socket.send(json!({"type": "NOPE", "id": n})).await;
    }
    for n in 0..300 {
        assert_eq!(socket.next().await["data"]["reply_to"], n, "in order");
    }
    socket.send(json!({"type": "USER_MESSAGE", "data": {"content": "hi"}})).await;
    assert_eq!(socket.until("RESULT").await.pop().unwrap()["data"]["content"], "Yes.");
    let mut far_too_large = Socket::open(&server, "?session_id=s").await;
    far_too_large.next().await;
    far_too_large.send_in_vain(Message::text("x".repeat(3 << 20))).await;
    // The server does not read the rest, so what it says may be lost.
    assert!(matches!(far_too_large.closed().await, 1009 | 0));
}

#[tokio::test]
async fn deletion_and_shutdown_close_the_socket() {
    let world = world().await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(json!({"type": "USER_MESSAGE", "data": {"content": "hi"}})).await;
    socket.until("RESULT").await;
    server.settled("s").await;
    let mut other = Socket::open(&server, "?session_id=t").await;
    other.next().await;
    server.delete("/api/sessions/s").await.ok();
    let told = socket.until("ERROR").await.pop().unwrap();
    assert_eq!(told["data"]["code"], "not_found");
    assert_eq!(socket.closed().await, 1000);
    server.signal(libc::SIGTERM);
    assert_eq!(other.closed().await, 1001);
}

#[tokio::test]
async fn message_storm_keeps_every_message_in_order() {
    let world = world().await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    for n in 0..30 {
        socket.send(json!({"type": "USER_MESSAGE", "data": {"content": format!("m{n:02}")}, "id": n})).await;
    }
    let mut ends = 0;
    while ends < 30 {
        let frame = socket.next().await;
        assert!(frame["data"]["code"].is_null(), "{frame}");
        ends += usize::from(frame["type"] == "RESULT");
    }
    let history = server.settled("s").await;
    let asked: Vec<&str> = history["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["role"] == "user")
        .map(|m| m["content"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (0..30).map(|n| format!("m{n:02}")).collect();
    assert_eq!(asked, expected);
}

/// `/ws` shows and does for each person what the other connections do, and ends with the account.
#[tokio::test]
async fn socket_belongs_to_one_person_and_ends_with_the_account() {
    let world = people::world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "bob").await;
    let refused = Socket::open_with(&server, "", &[("Authorization", "Bearer nobody".to_owned())]).await.err();
    assert_eq!(refused, Some((401, "signed_out".to_owned())));
    let bearer = |person: &Person| [("Authorization", format!("Bearer {}", person.token))];
    ask(&server, &ada, ("POST", "/api/sessions/s/messages"), json!({"message": "only mine"})).await.ok();
    let mut hers = Socket::open_with(&server, "?session_id=s", &bearer(&ada)).await.expect("she is signed in");
    assert!(hers.next().await["data"]["messages"].to_string().contains("only mine"));
    let mut his = Socket::open_with(&server, "?session_id=s", &[]).await.expect("he may say who he is");
    his.send(json!({"type": "HELLO", "data": {"token": bob.token}})).await;
    assert_eq!(his.next().await["data"]["messages"], json!([]), "another session of the same name");
    let as_page = his.asked("HELLO", json!({"secret": "0".repeat(64), "token": ada.token})).await;
    assert_eq!(as_page["data"]["may_answer"], false);
    assert!(!his.asked("INTERRUPT", json!({})).await.to_string().contains("only mine"));
    let path = format!("/api/admin/people/{}", bob.id);
    ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
    assert_eq!(his.closed().await, 1001);
}
