//! Messages that a person deletes: nothing shows or sends them, and the record keeps them.

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script};
use crate::world::{ASKING, Server, World};

/// Returns a script whose first work writes a file, and which answers every later question at once.
fn canary() -> Script {
    let creates = call("c1", "create_file", json!({"path": "knowledge/canary.md", "content": "it sings\n"}));
    script([calls([creates]), says(["The canary is written down."]), always(says(["Yes."]))])
}

/// Asks a question and waits until its work has settled. Returns the id of the work.
async fn ask(server: &Server<'_>, question: &str) -> String {
    server.chat("s", question).await;
    let history = server.settled("s").await;
    history["messages"].as_array().unwrap().last().unwrap()["work_id"].as_str().unwrap().to_owned()
}

async fn delete(server: &Server<'_>, message: &str) -> u16 {
    let answer = server.delete(&format!("/api/conversations/s/messages/{message}")).await;
    let body = answer.json();
    match answer.status() {
        200 => assert_eq!(body, json!({"code": 0, "data": null})),
        status => assert!(body["code"] == status && body["reason"].is_string(), "{body}"),
    }
    answer.status()
}

async fn listed(server: &Server<'_>) -> Vec<Value> {
    let page = server.get("/api/conversations/s/messages").await.ok();
    page["data"]["items"].as_array().unwrap().clone()
}

/// Returns the roles and texts of the messages of the last request, without the system prompt.
fn sent(world: &World) -> Vec<(String, String)> {
    let request = world.asked().pop().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = request["messages"].as_array().unwrap().iter().skip(1);
    messages.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

async fn verified(world: &World) {
    let output = world.run(&["verify", "--home", world.home().to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn deleted_answer_goes_with_its_calls_and_results() {
    let world = World::new(canary()).await;
    let server = world.serve().await;
    let work = ask(&server, "What sings?").await;
    let mut stream = server.follow("/api/sessions/s/events").await;
    assert_eq!(delete(&server, &format!("{work}.1")).await, 200, "any segment names the answer");
    let frame = stream.until("branched").await.pop().unwrap();
    assert_eq!(frame.data["message_id"], format!("{work}.0"), "pages read the history again");

    let left = listed(&server).await;
    assert_eq!((left.len(), &left[0]["text"]), (1, &json!("What sings?")));
    assert_eq!(server.get("/api/conversations/s").await.ok()["data"]["message_count"], 1);
    assert_eq!(server.get("/api/conversations").await.ok()["data"]["items"][0]["message_count"], 1);
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/api/sessions/search?q=canary").await.ok()["sessions"], json!([]));
    assert!(!server.get("/api/sessions/s/export?format=md").await.text().contains("canary"));
    assert!(!server.get("/api/sessions/s/operations").await.text().contains("canary"));

    ask(&server, "And now?").await;
    assert_eq!(sent(&world), [pair("user", "What sings?"), pair("user", "And now?")]);
    assert_eq!(delete(&server, &format!("{work}.0")).await, 404, "it is deleted already");
    assert_eq!(delete(&server, "nobody").await, 404);
    let again = server.post(&format!("/api/conversations/s/regenerate/{work}.0"), json!({})).await;
    assert_eq!(again.status(), 404);

    assert!(world.session("s")["deleted"].to_string().contains("it sings"), "the record keeps it");
    verified(&world).await;
    assert!(world.path("knowledge/canary.md").exists());
    server.post("/api/sessions/s/operations/c1/undo", json!({})).await.ok();
    assert!(!world.path("knowledge/canary.md").exists(), "what it changed in files can still be undone");
    verified(&world).await;
}

#[tokio::test]
async fn deleted_question_leaves_its_answer_in_order() {
    let looks = call("c1", "read_file", json!({"path": "workspace/SOUL.md"}));
    let world = World::new(script([says(["One."]), calls([looks]), says(["Two."]), always(says(["Yes."]))])).await;
    let server = world.serve().await;
    ask(&server, "first").await;
    let history = server.settled("s").await;
    let first = history["messages"][0]["id"].as_str().unwrap().to_owned();
    let work = ask(&server, "the canary").await;
    let history = server.settled("s").await;
    let second = history["messages"][2]["id"].as_str().unwrap().to_owned();
    assert_eq!(delete(&server, &second).await, 200);
    assert_eq!(listed(&server).await.len(), 3);
    ask(&server, "third").await;
    let request = sent(&world);
    let roles: Vec<_> = request.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"], "no two answers stand in a row");
    assert_eq!(request[1].1, "One.");
    assert!(!format!("{request:?}").contains("canary"));
    let regenerated = server.post(&format!("/api/conversations/s/regenerate/{work}.0"), json!({})).await;
    assert_eq!(regenerated.status(), 404, "the answer has no question any more");

    assert_eq!(delete(&server, &first).await, 200);
    ask(&server, "fourth").await;
    assert_eq!(sent(&world)[0], pair("assistant", "One."));
}

#[tokio::test]
async fn message_stays_deleted_in_copies_branches_and_restarts() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    ask(&server, "The canary sings.").await;
    ask(&server, "two").await;
    let history = server.settled("s").await;
    let [canary, second, last] = [0, 2, 3].map(|at| history["messages"][at]["id"].as_str().unwrap().to_owned());
    assert_eq!(delete(&server, &canary).await, 200);
    // A kill.
    drop(server);
    let server = world.serve().await;
    assert_eq!(listed(&server).await.len(), 3);
    verified(&world).await;
    let off = server.post("/api/sessions/s/branch", json!({"message_id": last, "cut": "after"})).await.ok();
    assert!(!world.session(off["id"].as_str().unwrap()).to_string().contains("canary"));
    let exported = server.get("/api/sessions/s/export?format=json").await.json();
    let imported = server.post("/api/sessions/import", exported).await.ok();
    for copy in [&off["id"], &imported["id"]] {
        let copy = copy.as_str().unwrap();
        server.chat(copy, "three").await;
        assert!(!world.asked().last().unwrap()["messages"].to_string().contains("canary"));
        let page = server.get(&format!("/api/conversations/{copy}/messages")).await.text();
        assert!(!page.contains("canary"), "{page}");
    }
    let regenerated = server.post(&format!("/api/conversations/s/regenerate/{last}"), json!({})).await;
    assert_eq!(regenerated.status(), 200);
    let shown = server.settled("s").await;
    assert_eq!(shown["messages"].as_array().unwrap().len(), 3);
    assert!(!world.asked().last().unwrap()["messages"].to_string().contains("canary"));
    let again = shown["messages"][1]["id"].as_str().unwrap();
    server.post("/api/sessions/s/rewind", json!({"message_id": again, "to": second})).await.ok();
    assert!(!server.get("/api/sessions/s/history").await.text().contains("canary"));
    verified(&world).await;
}

#[tokio::test]
async fn page_after_a_deleted_message_begins_where_it_was() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let works = [ask(&server, "one").await, ask(&server, "two").await];
    let texts = async |cursor: &str| {
        let page = server.get(&format!("/api/conversations/s/messages?limit=2&cursor={cursor}")).await.ok();
        let items = page["data"]["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let cursor = format!("{}.0", works[0]);
    assert_eq!(texts(&cursor).await, ["two", "Yes."]);
    assert_eq!(delete(&server, &cursor).await, 200);
    assert_eq!(texts(&cursor).await, ["two", "Yes."]);
    let first = listed(&server).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(delete(&server, &first).await, 200);
    assert_eq!((texts(&cursor).await, texts(&first).await.len()), (vec!["two".to_owned(), "Yes.".to_owned()], 2));
}

#[tokio::test]
async fn nothing_is_deleted_while_the_session_is_at_work() {
    let asks = calls([call("c1", "terminal", json!({"command": "touch x"}))]);
    let world = World::new(script([says(["Yes."]), asks, says(["Not done."])])).await.with_file("config.yml", ASKING);
    let server = world.serve().await;
    let work = ask(&server, "first").await;
    let mut stream = server.open_chat("s", "second").await;
    let asked = stream.until("approval_request").await.pop().unwrap();
    assert_eq!(delete(&server, &format!("{work}.0")).await, 409);
    assert_eq!(delete(&server, "nobody").await, 404);
    server.decide(&asked.data, "deny").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(delete(&server, &format!("{work}.0")).await, 200);
}

#[tokio::test]
async fn message_behind_a_summary_is_refused() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let work = ask(&server, "first").await;
    ask(&server, "second").await;
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    let answer = server.delete(&format!("/api/conversations/s/messages/{work}.0")).await;
    assert_eq!((answer.status(), &answer.json()["reason"]), (409, &json!("compacted")));
    let part = server.get("/api/sessions/s/compacted").await.ok()["compacted"][0]["name"].as_str().unwrap().to_owned();
    server.post(&format!("/api/sessions/s/compacted/{part}/restore"), json!({})).await.ok();
    assert_eq!(delete(&server, &format!("{work}.0")).await, 200);
    assert_eq!(listed(&server).await.len(), 3);
}

#[tokio::test]
async fn key_of_a_deleted_message_sends_nothing_again() {
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    let id = server.post("/api/conversations", json!({"title": "t"})).await.ok()["data"]["id"].clone();
    let path = format!("/api/conversations/{}/messages", id.as_str().unwrap());
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
    let body = json!({"text": "hi"}).to_string();
    assert!(server.send("POST", &path, &headers, body.as_bytes()).await.text().contains("event: done"));
    let items = server.get(&path).await.ok()["data"]["items"].clone();
    for item in items.as_array().unwrap() {
        let message = item["id"].as_str().unwrap();
        assert_eq!(server.delete(&format!("{path}/{message}")).await.status(), 200);
    }
    drop(server);
    let server = world.serve().await;
    let again = server.send("POST", &path, &headers, body.as_bytes()).await.text();
    assert!(again.contains("event: error") && !again.contains("Yes."), "{again}");
    assert_eq!((server.get(&path).await.ok()["data"]["items"].clone(), world.asked().len()), (json!([]), 1));
}
