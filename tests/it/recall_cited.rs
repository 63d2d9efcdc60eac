//! Citations of past messages: a fact that was said once is answered with a link to its message, and the message can be read
//! wherever it is now.

use serde_json::{Value, json};

use crate::recall::{ask, recalls, result};
use crate::script::{always, says, script};
use crate::world::World;

/// The id of a message, as the server makes it.
fn id(number: usize) -> String {
    format!("01a22139-7906-7700-b54a-{number:012}")
}

fn said(role: &str, number: usize, text: &str) -> Value {
    json!({"role": role, "id": id(number), "content": text, "created_at": 1_700_000_000 + number})
}

#[tokio::test]
async fn fact_of_a_thousand_sessions_ago_is_cited() {
    let cited = format!("The alarm code is 7319 [s0000:{}].", id(0));
    let replies = [recalls("code of the alarm"), says([cited.as_str()]), always(says(["Alarm"]))];
    let world = World::new(script(replies)).await;
    for number in 0..1_000 {
        let told = match number {
            0 => "The alarm in the cellar has the code 7319.".to_owned(),
            _ => format!("We spoke of the harbour, of tea and of day {number}."),
        };
        let messages = [said("user", 2 * number, &told), said("assistant", 2 * number + 1, "Noted.")];
        let session =
            json!({"title": format!("Talk {number}"), "created_at": 1, "updated_at": number, "messages": messages});
        world.write(&format!("sessions/s{number:04}.json"), session.to_string());
    }
    let server = world.serve().await;
    ask(&server, "now", "What is the code of the alarm?").await;
    let found = result(&world);
    assert!(found.contains(&format!("[s0000:{}] user", id(0))), "{found}");
    assert!(found.contains("> The alarm in the cellar has the code 7319."), "{found}");
    let history = server.get("/api/sessions/now/history").await.ok();
    let answer = history["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(answer["content"], cited.as_str());
    let message = server.get(&format!("/api/sessions/s0000/messages/{}", id(0))).await.ok();
    assert_eq!((&message["position"], &message["index"]), (&json!("current"), &json!(0)));
    assert_eq!(message["messages"][0]["content"], "The alarm in the cellar has the code 7319.");
    assert_eq!(message["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn cited_message_is_found_wherever_it_is() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let words = ["one", "two", "three", "four", "five", "six"];
    let role = |number: usize| if number.is_multiple_of(2) { "user" } else { "assistant" };
    let messages: Vec<Value> =
        words.iter().enumerate().map(|(number, word)| said(role(number), number, word)).collect();
    let session = json!({"title": "Numbers", "created_at": 1, "updated_at": 1, "messages": messages});
    world.write("sessions/old.json", session.to_string());
    world.write("sessions/long.json", session.to_string());
    let server = world.serve().await;
    let cited = async |session: &str, number: usize| {
        server.get(&format!("/api/sessions/{session}/messages/{}", id(number))).await
    };
    let shape =
        |found: &Value| (found["position"].clone(), found["messages"][0]["content"].clone(), found["index"].clone());
    let found = cited("old", 3).await.ok();
    assert_eq!(shape(&found), (json!("current"), json!("one"), json!(3)));
    server.post("/api/sessions/old/rewind", json!({"message_id": id(4)})).await.ok();
    let found = cited("old", 5).await.ok();
    assert_eq!(shape(&found), (json!("branch"), json!("five"), json!(1)));
    assert_eq!(found["branch"], json!({"message_id": id(4), "after": id(3), "created_at": 1_700_000_004.0}));
    server.delete(&format!("/api/conversations/old/messages/{}", id(1))).await.ok();
    assert_eq!(cited("old", 1).await.refused().0, 404);
    assert!(!cited("old", 0).await.text().contains("two"), "what was deleted is not around it");
    server.post("/api/sessions/long/compress", json!({})).await.ok();
    let found = cited("long", 2).await.ok();
    assert_eq!(
        (&found["position"], &found["messages"][2]["content"]),
        (&json!("compacted"), &json!("three")),
        "{found}"
    );
    for gone in ["/api/sessions/long/messages/none", "/api/sessions/none/messages/none"] {
        assert_eq!(server.get(gone).await.refused().0, 404, "{gone}");
    }
    server.delete("/api/sessions/long").await.ok();
    assert_eq!(cited("long", 2).await.refused().0, 404);
}

#[tokio::test]
async fn conversations_are_searched_over_http() {
    let world = World::new(script([always(says(["Noted."]))])).await;
    let server = world.serve().await;
    let said = ask(&server, "old", "My landlord is called Zelnik.").await;
    let search = async || server.get("/api/retrieval/search?folder=conversations&query=landlord").await.ok();
    let found = search().await;
    assert_eq!(
        (&found["folder"], &found["hits"][0]["source"]),
        (&json!("conversations"), &json!(format!("old:{}", said[0])))
    );
    assert!(found["hits"][0]["how"]["lexical"]["terms"].is_array(), "{found}");
    server.put("/api/sessions/old/not-for-recall", json!({})).await.ok();
    assert_eq!(search().await["hits"], json!([]));
    let refused = server.get("/api/retrieval/search?folder=sessions&query=landlord").await.refused();
    assert_eq!(refused, (400, "bad_folder".to_owned()));
}
