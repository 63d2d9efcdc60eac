//! Compression as a proposal: viewed, edited, accepted or rejected, and undone.

use miniclaw::domain::{Event, Fact, Message, SessionId};
use miniclaw::store::{Durability, Home, SessionLog};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::script::{SUMMARY, always, says, script};
use crate::world::{Server, World, eventually, files};

const PATH: &str = "/api/sessions/s/compress";

fn conversation(messages: usize) -> Value {
    let messages: Vec<_> = (0..messages)
        .map(|n| {
            let (role, text) = match n {
                0 => ("user", "Where is src/main.rs, and what is ABC-1234?".to_owned()),
                _ if n % 2 == 0 => ("user", format!("text {n}")),
                _ => ("assistant", format!("text {n}")),
            };
            json!({"role": role, "content": text, "id": format!("m{n}")})
        })
        .collect();
    json!({"title": "t", "created_at": 1.0, "updated_at": 2.0, "messages": messages})
}

async fn world(messages: usize) -> World {
    World::new(script([always(says(["Yes."]))])).await.with_file("sessions/s.json", &conversation(messages).to_string())
}

async fn accepted(server: &Server<'_>, summary: &str) -> Value {
    let hash = server.get(PATH).await.ok()["hash"].clone();
    server.post(PATH, json!({"hash": hash, "summary": summary})).await.ok()
}

fn restore(archive: &Value) -> String {
    format!("/api/sessions/s/compacted/{}/restore", archive.as_str().expect("a name"))
}

#[tokio::test]
async fn edited_proposal_applies_and_preview_changes_nothing() {
    let world = world(10).await;
    let server = world.serve().await;
    let plan = server.get(PATH).await.ok();
    assert_eq!(plan["messages"].as_array().unwrap()[..], conversation(10)["messages"].as_array().unwrap()[..5]);
    assert_eq!(plan["remaining_count"], 5);
    let named: Vec<_> = plan["mentions"].as_array().unwrap().iter().map(|mention| &mention["text"]).collect();
    assert_eq!(named, ["src/main.rs", "ABC-1234", "Where is src/main.rs, and what is ABC-1234?"]);
    let tokens = |answer: &Value, name: &str| answer[name].as_u64().unwrap();
    assert!(tokens(&plan, "tokens_without") < tokens(&plan, "tokens_before"));
    assert_eq!(world.provider.requests().len(), 0, "a plan asks no model");

    let proposed = server.post(&format!("{PATH}/preview"), json!({"hash": plan["hash"]})).await.ok();
    assert_eq!((&proposed["summary"], &proposed["hash"]), (&json!(SUMMARY), &plan["hash"]));
    assert_eq!(tokens(&proposed, "tokens_before"), tokens(&plan, "tokens_before"));
    let after = tokens(&proposed, "tokens_after");
    assert!(after > tokens(&plan, "tokens_without") && after < tokens(&plan, "tokens_before"));
    assert_eq!(world.read("sessions/s.json"), conversation(10).to_string());
    assert_eq!(files(&world.path("sessions/archive")).len(), 0);

    let mine = "My own words about src/main.rs.\n---\nAnd more.";
    let done = server.post(PATH, json!({"hash": plan["hash"], "summary": mine})).await.ok();
    assert_eq!(
        (&done["archived_count"], &done["remaining_count"], &done["summary"]),
        (&json!(5), &json!(5), &json!(mine))
    );
    assert_eq!(world.session("s")["compressed_context"], mine);
    assert_eq!(world.provider.requests().len(), 1, "accepting asks no model");
    let counted = server.get("/api/tokens/session/s").await.ok();
    assert!(counted["total_tokens"].as_u64().unwrap() < tokens(&plan, "tokens_before"));
}

#[tokio::test]
async fn summary_applies_only_to_its_conversation() {
    let world = world(8).await;
    let server = world.serve().await;
    let hash = server.get(PATH).await.ok()["hash"].clone();
    server.chat("s", "one more thing").await;
    let history = server.settled("s").await;
    let changed = (409, "changed_since".to_owned());
    assert_eq!(server.post(PATH, json!({"hash": hash, "summary": "x"})).await.refused(), changed);
    assert_eq!(server.post(&format!("{PATH}/preview"), json!({"hash": hash})).await.refused(), changed);
    assert_eq!(server.settled("s").await["messages"], history["messages"]);
    assert_eq!(files(&world.path("sessions/archive")).len(), 0);
    for (body, code) in [
        (json!({"summary": "x"}), "bad_json"),
        (json!({"hash": "x"}), "bad_json"),
        (json!({"hash": "x", "summary": " \n"}), "empty_summary"),
        (json!({"hash": "x", "summary": "x".repeat(8001)}), "too_long"),
        (json!([1]), "bad_json"),
    ] {
        assert_eq!(server.post(PATH, body).await.refused(), (400, code.to_owned()));
    }
}

#[tokio::test]
async fn session_edited_during_proposal_is_refused() {
    let world = world(8).await;
    let server = world.serve().await;
    let hash = server.get(PATH).await.ok()["hash"].clone();
    let mut file = conversation(8);
    file["messages"][6]["content"] = json!("edited by hand");
    world.write("sessions/s.json", file.to_string());
    let refused = server.post(PATH, json!({"hash": hash, "summary": "x"})).await.refused();
    assert_eq!(refused, (409, "changed_since".to_owned()));
    assert_eq!(world.read("sessions/s.json"), file.to_string());
}

#[tokio::test]
async fn disconnect_cancels_summary() {
    let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", provider.local_addr().unwrap());
    let world = world(8).await.with_env("OPENAI_BASE_URL", &address);
    let server = world.serve().await;
    let hash = server.get(PATH).await.ok()["hash"].clone();
    let body = json!({"hash": hash}).to_string();
    let request =
        server.request("POST", &format!("{PATH}/preview"), &[("Content-Type", "application/json")], body.as_bytes());
    let mut asking = TcpStream::connect(server.address).await.unwrap();
    asking.write_all(&request).await.unwrap();
    let (mut asked, _) = provider.accept().await.unwrap();
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("Summarise the conversation above") {
        assert_ne!(asked.read_buf(&mut heard).await.unwrap(), 0);
    }
    // Meanwhile the person may rename the session, which changes no message.
    server.put("/api/sessions/s", json!({"title": "another"})).await.ok();
    drop(asking);
    let hung_up = async { while asked.read_buf(&mut heard).await.is_ok_and(|read| read > 0) {} };
    tokio::time::timeout(crate::http::PATIENCE, hung_up).await.expect("the model is let go");
    assert_eq!(world.session("s")["messages"], conversation(8)["messages"]);
    assert_eq!(files(&world.path("sessions/archive")).len(), 0);
    let done = server.post(PATH, json!({"hash": hash, "summary": "Written by hand."})).await.ok();
    assert_eq!(done["archived_count"], 4);
}

#[tokio::test]
async fn compacted_messages_are_restored_in_place_after_restart() {
    let world = world(8).await;
    let server = world.serve().await;
    let one = accepted(&server, "The first part.").await["archive"].clone();
    server.chat("s", "and then").await;
    server.settled("s").await;
    let two = accepted(&server, "The second part.").await["archive"].clone();
    let listed = server.get("/api/sessions/s/compacted").await.ok()["compacted"].clone();
    assert_eq!((&listed[0]["name"], &listed[0]["summary"]), (&one, &json!("The first part.")));
    assert!(listed[0]["stays"].as_str().unwrap().contains(two.as_str().unwrap()), "{listed}");
    assert_eq!((&listed[1]["restored"], &listed[1]["stays"]), (&json!(false), &Value::Null));
    drop(server);

    let server = world.serve().await;
    assert_eq!(server.post(&restore(&one), json!({})).await.refused(), (409, "stays_archived".to_owned()));
    let back = server.post(&restore(&two), json!({})).await.ok();
    assert_eq!((&back["restored_count"], &back["archive"]), (&json!(4), &two));
    assert_eq!(world.session("s")["compressed_context"], "The first part.");
    server.post(&restore(&one), json!({})).await.ok();
    let file = world.session("s");
    let texts: Vec<_> = file["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(texts[1..], ["text 1", "text 2", "text 3", "text 4", "text 5", "text 6", "text 7", "and then", "Yes."]);
    assert_eq!(file["messages"].as_array().unwrap()[..8], conversation(8)["messages"].as_array().unwrap()[..]);
    assert_eq!(file["compressed_context"], Value::Null);
    assert_eq!(server.post(&restore(&one), json!({})).await.refused(), (409, "stays_archived".to_owned()));
    assert_eq!(server.get("/api/sessions/s/compacted").await.ok()["compacted"][0]["restored"], true);

    server.chat("s", "next").await;
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("text 1") && !sent.contains("第一") && !sent.contains("The first part."), "{sent}");
}

#[tokio::test]
async fn unrestorable_messages_stay_and_say_why() {
    let world = world(8).await;
    let server = world.serve().await;
    let name = accepted(&server, "It.").await["archive"].clone();
    let path = format!("sessions/archive/{}", name.as_str().unwrap());
    let whole = world.read(&path);
    let before = world.read("sessions/s.json");
    let refused = async |code: u16, word: &str| {
        let answer = server.post(&restore(&name), json!({})).await;
        assert_eq!(answer.status(), code, "{}", answer.text());
        assert!(answer.json()["message"].as_str().unwrap().contains(word), "{}", answer.text());
        assert_eq!(world.read("sessions/s.json"), before);
    };
    world.write(&path, "[]\n");
    refused(409, "has 0 messages").await;
    world.write(&path, r#"[{"role": "king"}, 1, 2, 3]"#);
    refused(409, "no message").await;
    std::fs::remove_file(world.path(&path)).unwrap();
    refused(404, "archive").await;
    world.write(&path, &whole);
    let other = server.post("/api/sessions/s/compacted/s_1.json/restore", json!({})).await.refused();
    assert_eq!(other, (404, "not_found".to_owned()));

    server.post("/api/sessions/s/rewind", json!({"message_id": "m4"})).await.ok();
    let answer = server.post(&restore(&name), json!({})).await.ok();
    assert_eq!(answer["restored_count"], 4, "with nothing after it there is nothing it could be before wrongly");
}

#[tokio::test]
async fn crash_while_restoring_keeps_each_message_once() {
    let world = world(8).await;
    let server = world.serve().await;
    let archive = accepted(&server, "It.").await["archive"].as_str().unwrap().to_owned();
    drop(server);
    // The state after a crash between the journal and the snapshot.
    let compressed = world.read("sessions/s.json");
    let seq = world.session("s")["seq"].as_u64().unwrap() + 1;
    let messages: Vec<std::sync::Arc<Message>> =
        serde_json::from_str(&world.read(&format!("sessions/archive/{archive}"))).unwrap();
    let fact = Fact { seq, at: 5.0, event: Event::Restored { archive, messages, foreign: false } };
    let home = Home::open(&world.home()).unwrap();
    let log = SessionLog::Folder(home);
    let claim = log.claim().await.unwrap().claim;
    let mut writer = log.writer(claim, &SessionId::parse("s").unwrap());
    writer.append(&[fact], Durability::Synced).await.unwrap();
    drop((writer, log));
    let line = world.read("sessions/s.journal");
    for snapshot in [compressed.clone(), Value::Null.to_string()] {
        if snapshot != "null" {
            world.write("sessions/s.json", &snapshot);
        }
        // The second time the snapshot is newer than the journal: a crash before the journal was removed.
        world.write("sessions/s.journal", &line);
        let server = world.serve().await;
        let history = server.settled("s").await;
        assert_eq!(history["messages"], conversation(8)["messages"]);
        assert_eq!(history["compressed_context"], Value::Null);
        drop(server);
    }
    // A journal that is truncated in the middle of the line: nothing has been restored, and everything still can be.
    world.write("sessions/s.json", &compressed);
    world.write("sessions/s.journal", &line[..line.len() / 2]);
    let server = world.serve().await;
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 4);
    let listed = server.get("/api/sessions/s/compacted").await.ok();
    server.post(&restore(&listed["compacted"][0]["name"]), json!({})).await.ok();
    assert_eq!(server.settled("s").await["messages"], conversation(8)["messages"]);
}

#[tokio::test]
async fn other_tabs_are_told_of_restored_messages() {
    let world = world(8).await;
    let server = world.serve().await;
    let mut events = server.follow("/api/sessions/s/events").await;
    let archive = accepted(&server, "It.").await["archive"].clone();
    server.post(&restore(&archive), json!({})).await.ok();
    let frames = events.until("restored").await;
    let last = frames.last().unwrap();
    assert_eq!((&last.data["restored_count"], &last.data["archive"]), (&json!(4), &archive));
    assert!(frames.iter().any(|frame| frame.is("compressed")));
}

#[tokio::test]
async fn exported_session_can_still_be_restored() {
    let world = world(8).await;
    let server = world.serve().await;
    accepted(&server, "It.").await;
    let exported = server.get("/api/sessions/s/export?format=json").await.ok();
    let id = server.post("/api/sessions/import", exported).await.ok()["id"].as_str().unwrap().to_owned();
    let listed = server.get(&format!("/api/sessions/{id}/compacted")).await.ok();
    let name = listed["compacted"][0]["name"].as_str().unwrap();
    server.post(&format!("/api/sessions/{id}/compacted/{name}/restore"), json!({})).await.ok();
    let history = server.get(&format!("/api/sessions/{id}/history")).await.ok();
    assert_eq!(history["messages"], conversation(8)["messages"]);
}

#[tokio::test]
async fn busy_session_refuses_compression() {
    let slow = json!({"steps": [{"gate": "g"}, {"text": "Yes."}, {"finish": "stop"}]});
    let world = World::new(script([slow])).await.with_file("sessions/s.json", &conversation(8).to_string());
    let server = world.serve().await;
    let archive = accepted(&server, "It.").await["archive"].clone();
    let chat = server.open_chat("s", "go on").await;
    eventually("it is asked", async || !world.asked().is_empty()).await;
    let busy = (409, "busy".to_owned());
    assert_eq!(server.get(PATH).await.refused(), busy);
    assert_eq!(server.post(&restore(&archive), json!({})).await.refused(), busy);
    world.provider.open_gate("g");
    chat.rest().await;
    server.settled("s").await;
    server.post(&restore(&archive), json!({})).await.ok();
}
