//! MCP servers that ask the person for input during a call. The server is `tests/fixtures/mcp/asking.py`.

use serde_json::{Value, json};

use crate::mcp::{confirmed, results, trust};
use crate::mcp_remote::Remote;
use crate::script::{call, calls, says, script};
use crate::world::{Server, World, eventually};

pub const PROGRAM: &str = include_str!("../fixtures/mcp/asking.py");

/// A home whose model calls one tool of the server and then answers.
pub async fn calling(tool: &str) -> World {
    let replies = [calls([call("a", &format!("mcp__pets__{tool}"), json!({}))]), says(["Yes."])];
    World::new(script(replies)).await
}

pub async fn with_server<'w>(world: &'w World, era: &str, tool: &str) -> Server<'w> {
    let server = world.serve().await;
    let entry = json!({"command": "/usr/bin/python3", "args": ["-c", PROGRAM, era], "env": {"PET": "cat-91c4-canary-value", "NUMBER": "7391046285"},
                       "miniclaw": {"load": "always"}});
    confirmed(&server, "pets", entry).await;
    trust(&server, "pets", &[tool]).await;
    server
}

/// Returns the calls that the server has got, or has carried out.
pub fn noted(world: &World, file: &str) -> usize {
    std::fs::read_to_string(world.path(&format!("storage/mcp/pets/{file}"))).map_or(0, |text| text.lines().count())
}

pub async fn fill(server: &Server<'_>, asked: &Value, content: Value) -> crate::http::Answer {
    let body = json!({"decision": "approve", "hash": asked["hash"], "content": content});
    server.answer(asked["id"].as_str().unwrap(), body).await
}

pub async fn one_question(server: &Server<'_>) -> Value {
    server.waiting(1).await.remove(0)
}

#[tokio::test]
async fn form_is_shown_checked_and_sent_to_the_server_only() {
    for era in ["modern", "legacy"] {
        let world = calling("book").await;
        let server = with_server(&world, era, "book").await;
        let stream = server.open_chat("s", "go").await;
        let asked = one_question(&server).await;
        let form = &asked["shown"]["elicitation"];
        assert_eq!((&form["server"], &form["mode"]), (&json!("pets"), &json!("form")), "{asked}");
        assert_eq!(
            (&form["message"], &asked["because"]["code"]),
            (&json!("Who travels\\u200b with the pet?"), &json!("elicitation"))
        );
        assert_eq!(
            form["fields"][0],
            json!({"name": "name", "label": "Your name", "description": "As on the ticket",
            "required": true, "type": "text", "min_length": 2, "max_length": 40})
        );
        let refused = fill(&server, &asked, json!({"name": "A", "seats": 1})).await;
        assert_eq!(refused.status(), 400);
        let body: Value = serde_json::from_str(&refused.text()).unwrap();
        assert_eq!(
            (&body["code"], &body["about"]["field"], &body["about"]["problem"]),
            (&json!("bad_fields"), &json!("name"), &json!("too_short")),
            "{body}"
        );
        for (decision, code) in [("approve", "form_needed"), ("always", "form_never_always")] {
            let refused = server
                .answer(asked["id"].as_str().unwrap(), json!({"decision": decision, "hash": asked["hash"]}))
                .await;
            assert_eq!((refused.status(), refused.text().contains(code)), (409, true), "{}", refused.text());
        }
        assert_eq!(
            fill(&server, &json!({"id": asked["id"], "hash": "00"}), json!({"name": "Ada", "seats": 1})).await.status(),
            409
        );
        let content = json!({"name": "Ada Canary", "seats": 2, "extras": ["food"], "insured": false});
        fill(&server, &asked, content.clone()).await.ok();
        assert_eq!(fill(&server, &asked, content.clone()).await.status(), 409, "an answer counts once");
        stream.rest().await;
        server.settled("s").await;
        let answered: Value = serde_json::from_str(&results(&world)[0]).unwrap();
        assert_eq!(answered["a"], json!({"action": "accept", "content": content}), "{era}");
        assert_eq!(noted(&world, "done"), 1);
        let kept = &world.session("s")["messages"][1]["tool_calls"][0];
        assert_eq!(kept["elicitations"][0]["content"]["name"], "Ada Canary", "{kept}");
        assert_eq!(world.session("s")["taint"][0]["from"], "outside");
    }
}

#[tokio::test]
async fn model_reads_only_the_result_of_the_call() {
    let world = calling("sign_in").await;
    let server = with_server(&world, "modern", "sign_in").await;
    let stream = server.open_chat("s", "go").await;
    let asked = one_question(&server).await;
    let shown = &asked["shown"]["elicitation"];
    assert_eq!((&shown["mode"], &shown["host"]), (&json!("url"), &json!("clinic.example:8443")), "{shown}");
    assert_eq!(shown["url"], "https://clinic.example:8443/sign-in?id=7");
    let refused = fill(&server, &asked, json!({"x": 1})).await;
    assert_eq!(refused.status(), 400, "an address has no fields");
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(results(&world), [r#"{"a": {"action": "accept"}}"#]);
    let sent = world.asked().pop().unwrap().to_string();
    assert!(!sent.contains("clinic.example") && !sent.contains("opaque"), "{sent}");
}

#[tokio::test]
async fn decline_and_cancel_reach_the_server() {
    for era in ["modern", "legacy"] {
        for (decision, action) in [("deny", "decline"), ("dismiss", "cancel")] {
            let world = calling("book").await;
            let server = with_server(&world, era, "book").await;
            let stream = server.open_chat("s", "go").await;
            let asked = one_question(&server).await;
            server.decide(&asked, decision).await;
            stream.rest().await;
            server.settled("s").await;
            assert_eq!(results(&world), [format!(r#"{{"a": {{"action": "{action}"}}}}"#)], "{era}");
        }
    }
}

#[tokio::test]
async fn question_survives_kill_and_the_call_goes_on_once() {
    let world = calling("book").await;
    let server = with_server(&world, "modern", "book").await;
    let stream = server.open_chat("s", "go").await;
    let before = one_question(&server).await;
    drop(stream);
    // Dropping the server kills it.
    drop(server);
    for _ in 0..2 {
        let server = world.serve().await;
        let after = one_question(&server).await;
        for field in ["id", "hash", "call_id", "shown"] {
            assert_eq!(after[field], before[field], "{field}");
        }
        assert_eq!(noted(&world, "calls"), 1, "the call is not made again before the answer");
    }
    let server = world.serve().await;
    let asked = one_question(&server).await;
    fill(&server, &asked, json!({"name": "Ada", "seats": 1})).await.ok();
    server.settled("s").await;
    assert_eq!((noted(&world, "calls"), noted(&world, "done")), (2, 1));
    assert!(results(&world)[0].contains("Ada"), "{:?}", results(&world));
    assert_eq!(world.session("s")["works"][0]["outcome"]["stop_reason"], "done");
}

#[tokio::test]
async fn address_is_opened_before_the_call_is_repeated() {
    let world = calling("portal").await;
    let server = with_server(&world, "legacy", "portal").await;
    let stream = server.open_chat("s", "go").await;
    let asked = one_question(&server).await;
    let shown = &asked["shown"]["elicitation"];
    assert_eq!((&shown["mode"], &shown["host"]), (&json!("url"), &json!("portal.example")), "{shown}");
    // It survives a kill, because no connection waits for it.
    drop(stream);
    drop(server);
    let server = world.serve().await;
    let asked = one_question(&server).await;
    assert_eq!((noted(&world, "calls"), noted(&world, "done")), (1, 0));
    server.decide(&asked, "approve").await;
    server.settled("s").await;
    assert_eq!((noted(&world, "calls"), noted(&world, "done")), (2, 1));
    assert_eq!(results(&world), ["opened"]);
}

#[tokio::test]
async fn address_is_asked_about_once_and_only_with_consent() {
    for (decision, why, made) in [("approve", "had asked for that before", 2), ("deny", "did not open its address", 1)]
    {
        let world = calling("portal").await;
        let server = with_server(&world, "legacy", "portal").await;
        std::fs::write(world.path("storage/mcp/pets/never"), "").unwrap();
        let stream = server.open_chat("s", "go").await;
        let asked = one_question(&server).await;
        server.decide(&asked, decision).await;
        stream.rest().await;
        server.settled("s").await;
        assert!(results(&world)[0].contains(why), "{:?}", results(&world));
        assert_eq!((noted(&world, "calls"), noted(&world, "done")), (made, 0), "{decision}");
    }
}

#[tokio::test]
async fn question_stays_when_the_server_is_stopped() {
    let world = calling("book").await;
    let server = with_server(&world, "modern", "book").await;
    let stream = server.open_chat("s", "go").await;
    one_question(&server).await;
    server.terminate().await;
    drop(stream);
    let server = world.serve().await;
    let asked = one_question(&server).await;
    server.decide(&asked, "deny").await;
    server.settled("s").await;
    assert_eq!(results(&world), [r#"{"a": {"action": "decline"}}"#]);
}

#[tokio::test]
async fn live_question_ends_with_its_server() {
    let world = calling("book").await;
    let server = with_server(&world, "legacy", "book").await;
    let stream = server.open_chat("s", "go").await;
    let asked = one_question(&server).await;
    server.as_page("POST", "/api/mcp/pets/reconnect", json!({})).await.ok();
    stream.rest().await;
    server.settled("s").await;
    assert!(server.waiting(0).await.is_empty());
    assert_eq!(fill(&server, &asked, json!({"name": "Ada", "seats": 1})).await.status(), 409);
    assert!(results(&world)[0].contains("is unknown"), "{:?}", results(&world));
    assert_eq!(noted(&world, "done"), 0);
}

#[tokio::test]
async fn live_question_is_closed_after_a_kill() {
    let world = calling("book").await;
    let server = with_server(&world, "legacy", "book").await;
    let stream = server.open_chat("s", "go").await;
    one_question(&server).await;
    drop(stream);
    drop(server);
    let server = world.serve().await;
    // Other requests than those of the work may come later.
    let is_read = |request: &Value| request["messages"].to_string().contains("is unknown");
    eventually("the model reads it", async || world.asked().iter().any(is_read)).await;
    server.settled("s").await;
    assert!(server.waiting(0).await.is_empty());
    assert_eq!(world.session("s")["messages"][1]["tool_calls"][0]["status"], "interrupted");
}

#[tokio::test]
async fn stop_withdraws_the_question() {
    for era in ["modern", "legacy"] {
        let world = calling("book").await;
        let server = with_server(&world, era, "book").await;
        let stream = server.open_chat("s", "go").await;
        let asked = one_question(&server).await;
        server.post("/api/sessions/s/interrupt", json!({})).await.ok();
        stream.rest().await;
        server.settled("s").await;
        assert_eq!(fill(&server, &asked, json!({"name": "Ada", "seats": 1})).await.status(), 409, "{era}");
        // A server that waits is told that nobody answers, and ends its call by itself.
        assert_eq!(noted(&world, "calls"), 1, "{era}");
        assert_eq!(world.session("s")["messages"][1]["tool_calls"][0]["status"], "cancelled", "{era}");
    }
}

#[tokio::test]
async fn hostile_requests_are_declined_with_the_reason() {
    for era in ["modern", "legacy"] {
        for (tool, why) in [
            ("secret", "“apiKey” seems to be for a secret"),
            ("nested", "“pet” is neither"),
            ("many", "more than 30 fields"),
            ("huge", "more than 200"),
            ("script", "begins with javascript:"),
        ] {
            let world = calling(tool).await;
            let server = with_server(&world, era, tool).await;
            server.chat("s", "go").await;
            server.settled("s").await;
            let read = results(&world).remove(0);
            assert!(read.contains(why) && read.contains("declined"), "{era} {tool}: {read}");
            assert!(server.waiting(0).await.is_empty());
            assert!(!world.session("s").to_string().contains("document.cookie"));
        }
    }
}

#[tokio::test]
async fn server_that_asks_without_end_is_stopped() {
    for era in ["modern", "legacy"] {
        let world = calling("flood").await;
        let server = with_server(&world, era, "flood").await;
        let stream = server.open_chat("s", "go").await;
        let mut before = String::new();
        for _ in 0..10 {
            let mut asked = one_question(&server).await;
            crate::world::eventually("another question", async || {
                asked = one_question(&server).await;
                asked["id"] != json!(before)
            })
            .await;
            before = asked["id"].as_str().unwrap().to_owned();
            fill(&server, &asked, json!({"more": true})).await.ok();
        }
        stream.rest().await;
        server.settled("s").await;
        assert!(results(&world)[0].contains("more than 10 times"), "{era}: {:?}", results(&world));
    }
}

#[tokio::test]
async fn only_what_is_declared_is_answered_and_no_secret_is_kept() {
    for (tool, why) in [("sampling", "sampling/createMessage"), ("leak", "cannot be kept")] {
        let world = calling(tool).await;
        let server = with_server(&world, "modern", tool).await;
        server.chat("s", "go").await;
        server.settled("s").await;
        assert!(results(&world)[0].contains(why), "{:?}", results(&world));
        assert!(!world.session("s").to_string().contains("cat-91c4"), "a literal value of the entry is hidden");
    }
}

#[tokio::test]
async fn several_requests_are_asked_one_after_the_other() {
    let world = calling("two").await;
    let server = with_server(&world, "modern", "two").await;
    let stream = server.open_chat("s", "go").await;
    let first = one_question(&server).await;
    fill(&server, &first, json!({"name": "Ada", "seats": 1})).await.ok();
    let mut second = Value::Null;
    crate::world::eventually("the second question", async || {
        second = server.waiting(1).await.remove(0);
        second["id"] != first["id"]
    })
    .await;
    assert_eq!(second["shown"]["elicitation"]["mode"], "url");
    drop(stream);
    drop(server);
    let server = world.serve().await;
    let again = one_question(&server).await;
    assert_eq!(again["id"], second["id"]);
    server.decide(&again, "approve").await;
    server.settled("s").await;
    let answered: Value = serde_json::from_str(&results(&world)[0]).unwrap();
    assert_eq!((&answered["a"]["content"]["name"], &answered["b"]["action"]), (&json!("Ada"), &json!("accept")));
    assert_eq!((noted(&world, "calls"), noted(&world, "done")), (2, 1), "the call is repeated once, with both answers");
}

#[tokio::test]
async fn answer_reaches_only_the_server_that_asked() {
    let world = calling("book").await;
    let server = with_server(&world, "modern", "book").await;
    let stream = server.open_chat("s", "go").await;
    let asked = one_question(&server).await;
    let id = asked["id"].as_str().unwrap();
    let body = json!({"decision": "approve", "hash": asked["hash"], "content": {"name": "Ada", "seats": 1}});
    assert_eq!(server.post(&format!("/api/approvals/{id}"), body).await.status(), 403, "only the page answers");
    // The entry is replaced by another program while the form waits.
    let other = json!({"command": "/usr/bin/python3", "args": ["-c", PROGRAM, "modern", "other"], "env": {"PET": "dog"},
                       "miniclaw": {"load": "always"}});
    confirmed(&server, "pets", other).await;
    fill(&server, &asked, json!({"name": "Ada", "seats": 1})).await.ok();
    stream.rest().await;
    server.settled("s").await;
    assert_eq!((noted(&world, "calls"), noted(&world, "done")), (1, 0), "{:?}", results(&world));
    assert!(!results(&world)[0].contains("Ada"));
}

#[tokio::test]
async fn questions_of_calls_side_by_side_survive_a_kill() {
    let remote = Remote::start();
    let both = ["a", "b"].map(|id| call(id, "mcp__far__book", json!({})));
    let world = World::new(script([calls(both), says(["Yes."])])).await;
    let server = world.serve().await;
    let mut entry = remote.at("/asking");
    entry["miniclaw"] = json!({"load": "always"});
    confirmed(&server, "far", entry).await;
    trust(&server, "far", &["book"]).await;
    let stream = server.open_chat("s", "go").await;
    server.waiting(2).await;
    drop(stream);
    // Dropping the server kills it.
    drop(server);
    let server = world.serve().await;
    for (number, name) in [(2, "Ada"), (1, "Grace")] {
        let asked = server.waiting(number).await.remove(0);
        fill(&server, &asked, json!({"name": name})).await.ok();
    }
    server.settled("s").await;
    let results = results(&world);
    assert!(results[0].contains("Ada") && results[1].contains("Grace"), "{results:?}");
}
