//! Requests sent to the model: kept exactly, shown by origin, compared with the preceding request.

use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script};
use crate::world::{KEY, Server, World};

async fn kept(server: &Server<'_>) -> Vec<Value> {
    server.settled("s").await;
    let list = server.get("/api/sessions/s/requests").await.ok();
    let mut details = Vec::new();
    for request in list["requests"].as_array().unwrap() {
        let name = request["name"].as_str().unwrap();
        details.push(server.get(&format!("/api/sessions/s/requests/{name}")).await.ok());
    }
    details
}

fn origins(detail: &Value) -> Vec<&str> {
    let pieces = detail["pieces"].as_array().unwrap().iter().filter(|piece| piece["absent"].is_null());
    pieces.map(|piece| piece["origin"].as_str().unwrap()).collect()
}

fn change<'a>(detail: &'a Value, origin: &str) -> Option<&'a Value> {
    detail["difference"]["changes"].as_array().unwrap().iter().find(|change| change["origin"] == origin)
}

#[tokio::test]
async fn each_request_is_kept_exactly_as_sent() {
    let world = World::new(script([
        calls([call("c", "read_file", json!({"path": "knowledge/a.md"}))]),
        says(["Read."]),
        says(["Second."]),
    ]))
    .await
    .with_file("knowledge/a.md", "alpha\n");
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.chat("s", "second").await;
    let details = kept(&server).await;
    let bodies: Vec<Value> = details.iter().map(|detail| detail["body"].clone()).collect();
    assert_eq!(bodies, world.asked());
    assert_eq!(origins(&details[0]), ["tools", "file", "question"]);
    assert_eq!(origins(&details[1]), ["tools", "file", "question", "work", "work"]);
    let history = ["tools", "file", "history", "history", "history", "history", "question"];
    assert_eq!(origins(&details[2]), history);
    let places: Vec<_> = details.iter().map(|detail| (&detail["dialogue"], &detail["attempt"])).collect();
    assert_eq!(places, [(&json!(0), &json!(0)), (&json!(1), &json!(0)), (&json!(0), &json!(0))]);
    for detail in &details {
        assert_eq!(detail["bytes"], detail["body"].to_string().len());
        assert!(detail["usage"]["input_tokens"].is_u64(), "{}", detail["usage"]);
        let pieces = detail["pieces"].as_array().unwrap();
        let tokens: u64 = pieces.iter().map(|piece| piece["tokens"].as_u64().unwrap()).sum();
        assert_eq!(detail["total_tokens"], tokens);
    }
    let soul = &details[0]["pieces"][2];
    assert_eq!((&soul["file"], &soul["lines"]), (&json!("workspace/SOUL.md"), &json!([1, 1])));
    assert_eq!(details[0]["difference"], Value::Null);
    // Each request continues the preceding one, so that the provider's cache stays valid.
    for detail in &details[1..] {
        assert_eq!(detail["difference"]["parted"], Value::Null, "{detail}");
        assert!(change(detail, "file").is_none());
    }

    let work = details[2]["work_id"].as_str().unwrap();
    let of_work = server.get(&format!("/api/sessions/s/requests?work_id={work}")).await.ok();
    assert_eq!(of_work["requests"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/api/sessions/s/requests/..%2Fs").await.refused().0, 404);
    assert_eq!(server.get("/api/sessions/none/requests").await.refused().0, 404);
    drop(server);
    let mut all = String::new();
    read_all(&world.path("sessions/requests"), &mut all);
    assert!(all.contains("You are the soul of a test.") && !all.contains(KEY));
}

fn read_all(folder: &std::path::Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => read_all(&entry.path(), into),
            false => into.push_str(&std::fs::read_to_string(entry.path()).unwrap()),
        }
    }
}

#[tokio::test]
async fn request_diff_names_file_author_and_cache_break() {
    let world = World::new(script([always(says(["Yes."]))]))
        .await
        .with_file("workspace/SOUL.md", "\nLine one.\nLine two.\n")
        .with_file("workspace/USER.md", "Ann.\n");
    let server = world.serve().await;
    server.chat("s", "one").await;
    server.post("/api/files", json!({"path": "workspace/SOUL.md", "content": "\nLine one.\nLine 2, 茶.\n"})).await.ok();
    server.chat("s", "two").await;
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    world.write("workspace/USER.md", "Bob.\n");
    tab.until("file_changed").await;
    server.chat("s", "three").await;
    let details = kept(&server).await;

    let soul = change(&details[1], "file").unwrap();
    assert_eq!((&soul["file"], &soul["how"]), (&json!("workspace/SOUL.md"), &json!("changed")));
    assert_eq!(soul["by"], "editor");
    assert!(soul["at"].as_f64().unwrap() > 1e9);
    let diff = soul["diff"].as_str().unwrap();
    assert!(diff.contains("-Line two.") && diff.contains("+Line 2, 茶."), "{diff}");
    let changes = details[1]["difference"]["changes"].as_array().unwrap();
    let moved = changes.iter().find(|change| change["how"] == "moved").unwrap();
    assert_eq!(moved["file"], "workspace/USER.md");
    let parted = &details[1]["difference"]["parted"];
    assert_eq!(parted["line"], 3, "{parted}");
    assert_eq!(details[1]["pieces"][parted["piece"].as_u64().unwrap() as usize]["file"], "workspace/SOUL.md");
    assert!(details[1]["difference"]["kept_tokens"].as_u64() < details[1]["total_tokens"].as_u64());

    let user = change(&details[2], "file").unwrap();
    assert_eq!((&user["file"], &user["by"]), (&json!("workspace/USER.md"), &json!("disk")));
}

#[tokio::test]
async fn retrieval_is_recorded_and_not_resent() {
    let world = World::new(script([always(says(["On ice."]))]))
        .await
        .with_file("memory/birds.md", "# Birds\n\nPenguins live on ice.\n");
    let server = world.serve().await;
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    server.chat("s", "Where do penguins live?").await;
    server.chat("s", "zzz").await;
    let details = kept(&server).await;
    assert!(origins(&details[0]).contains(&"retrieval"));
    assert!(!details[1]["body"].to_string().contains("记忆检索结果\n"), "{}", details[1]["body"]);
    assert!(details[1]["difference"]["changes"].to_string().contains("retrieval"), "it is gone");

    let check = async |server: &Server<'_>| {
        let history = server.get("/api/sessions/s/history").await.ok();
        let works = history["retrieved"].as_array().unwrap();
        let work = works.iter().find(|work| work["hits"] == 1).unwrap()["work_id"].as_str().unwrap().to_owned();
        let search = server.get(&format!("/api/sessions/s/works/{work}/retrieved")).await.ok();
        assert_eq!(search["hits"][0]["source"], "memory/birds.md");
        assert_eq!(search["query"], "Where do penguins live?");
    };
    check(&server).await;
    drop(server);
    let server = world.serve().await;
    check(&server).await;
    assert!(!world.read("sessions/s.json").contains("Penguins live on ice"));
    server.delete("/api/sessions/s").await.ok();
    assert!(!world.path("sessions/requests/s").exists());
    server.post("/api/sessions/s/restore", json!({})).await.ok();
    check(&server).await;
}

#[tokio::test]
async fn answer_does_not_depend_on_request_record() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    // A file is in the place of the folder.
    world.write("sessions/requests", "in the way");
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    assert!(frames.iter().any(|frame| frame.is("done")));
    assert_eq!(server.get("/api/sessions/s/requests").await.ok(), json!({"requests": []}));
    assert_eq!(server.get("/api/sessions/s/history").await.ok().get("retrieved"), None);
}
