//! Finding sessions again, archiving them, exporting and importing them, branching them.

use serde_json::{Value, json};

use crate::script::{always, says, script, steps};
use crate::world::World;

fn session(title: &str, at: f64, said: &[&str]) -> String {
    let messages: Vec<_> = said
        .iter()
        .enumerate()
        .map(|(n, text)| {
            json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": text, "id": format!("i{n}"),
                   "work_id": format!("w{}", n / 2), "mood": "sunny"})
        })
        .collect();
    json!({"title": title, "created_at": 1.0, "updated_at": at, "messages": messages, "mine": [1]}).to_string()
}

async fn world() -> World {
    World::new(script([always(says(["Yes."]))]))
        .await
        .with_file("sessions/keys.json", &session("Keys", 10.0, &["Where is the API key?", "In the drawer."]))
        .with_file("sessions/march.json", &session("三月发票", 20.0, &["整理发票", "好的。", "the key too", "Done."]))
        .with_file("sessions/roses.json", &session("Roses", 30.0, &["water", "Mondays"]))
}

#[tokio::test]
async fn search_covers_titles_and_messages() {
    let world = world().await;
    let server = world.serve().await;
    let found = server.get("/api/sessions/search?q=KEY").await.ok();
    let shape: Vec<_> =
        found["sessions"].as_array().unwrap().iter().map(|s| (&s["id"], &s["in_title"], &s["found"])).collect();
    assert_eq!(shape, [(&json!("keys"), &json!(true), &json!(1)), (&json!("march"), &json!(false), &json!(1))]);
    let hit = json!({"message_id": "i2", "role": "user", "excerpt": "the key too"});
    assert_eq!((&found["sessions"][1]["messages"], &found["more"]), (&json!([hit]), &json!(false)));

    let chinese = server.get("/api/sessions/search?q=%E5%8F%91%E7%A5%A8").await.ok();
    assert_eq!((&chinese["sessions"][0]["id"], &chinese["sessions"][0]["found"]), (&json!("march"), &json!(1)));
    assert_eq!(
        server.get("/api/sessions/search?q=key%20drawer").await.ok()["sessions"],
        json!([]),
        "not in one message"
    );
    assert_eq!(server.get("/api/sessions/search?q=%20").await.refused(), (400, "no_words".to_owned()));
    let long = "x".repeat(201);
    assert_eq!(server.get(&format!("/api/sessions/search?q={long}")).await.refused(), (400, "too_long".to_owned()));
}

#[tokio::test]
async fn search_finds_text_of_running_session() {
    let reply = steps([json!({"text": "A platypus "}), json!({"gate": "on"}), json!({"text": "swims."})]);
    let world = World::new(script([reply])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "tell me").await;
    stream.until("token").await;
    let found = server.get("/api/sessions/search?q=platypus").await.ok();
    assert_eq!(found["sessions"][0]["id"], "s");
    world.provider.open_gate("on");
    stream.rest().await;
}

#[tokio::test]
async fn pins_survive_restart_and_need_a_session() {
    let world = world().await;
    {
        let server = world.serve().await;
        assert_eq!(server.get("/api/sessions").await.ok()["pinned"], json!([]));
        server.put("/api/sessions/keys/pin", json!({})).await.ok();
        server.put("/api/sessions/roses/pin", json!({})).await.ok();
        let again = server.put("/api/sessions/keys/pin", json!({})).await.ok();
        assert_eq!(again["pinned"], json!(["roses", "keys"]));
        assert_eq!(server.put("/api/sessions/nowhere/pin", json!({})).await.refused().0, 404);
        server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
        server.terminate().await;
    }
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions").await.ok()["pinned"], json!(["roses", "keys"]));
    assert_eq!(server.get("/api/config/rag-mode").await.ok()["enabled"], true);
    assert_eq!(server.delete("/api/sessions/roses/pin").await.ok()["pinned"], json!(["keys"]));
}

#[tokio::test]
async fn archived_session_returns_with_next_message() {
    let world = world().await.with_file("config.json", r#"{"put_away": ["long-gone"], "mine": 1}"#);
    {
        let server = world.serve().await;
        let mut notices = server.follow("/api/events").await;
        assert_eq!(
            server.put("/api/sessions/keys/archived", json!({})).await.ok()["archived"],
            json!(["long-gone", "keys"])
        );
        notices.until("sessions_changed").await;
        server.put("/api/sessions/roses/archived", json!({})).await.ok();
        let again = server.put("/api/sessions/keys/archived", json!({})).await.ok();
        assert_eq!(again["archived"], json!(["long-gone", "roses", "keys"]));
        assert_eq!(server.put("/api/sessions/nowhere/archived", json!({})).await.refused().0, 404);
        server.terminate().await;
    }
    assert_eq!(serde_json::from_str::<Value>(&world.read("config.json")).unwrap()["mine"], 1);
    let server = world.serve().await;
    let list = server.get("/api/sessions").await.ok();
    assert_eq!(list["archived"], json!(["long-gone", "roses", "keys"]));
    assert_eq!(list["sessions"].as_array().unwrap().len(), 3, "nothing was deleted");
    let found = server.get("/api/sessions/search?q=drawer").await.ok();
    assert_eq!(found["sessions"][0]["id"], "keys", "a search finds it still");

    server.chat("keys", "and the other one?").await;
    assert_eq!(server.get("/api/sessions").await.ok()["archived"], json!(["long-gone", "roses"]));
    assert_eq!(server.delete("/api/sessions/roses/archived").await.ok()["archived"], json!(["long-gone"]));
    assert_eq!(server.delete("/api/sessions/roses/archived").await.ok()["archived"], json!(["long-gone"]));
}

/// A client of an earlier version can use the old paths and field names.
#[tokio::test]
async fn paths_of_earlier_versions_still_answer() {
    let world = world().await;
    let server = world.serve().await;
    assert_eq!(server.put("/api/sessions/keys/away", json!({})).await.ok()["put_away"], json!(["keys"]));
    assert_eq!(server.get("/api/sessions").await.ok()["put_away"], json!(["keys"]));
    assert_eq!(server.delete("/api/sessions/keys/away").await.ok()["put_away"], json!([]));
    server.post("/api/sessions/march/compress", json!({})).await.ok();
    let list = server.get("/api/sessions/march/archives").await.ok();
    let name = list["archives"][0]["name"].as_str().unwrap();
    let read = server.get(&format!("/api/sessions/march/archives/{name}")).await.ok();
    assert_eq!(read["messages"].as_array().unwrap().len(), 4);
    let back = server.post(&format!("/api/sessions/march/archives/{name}/restore"), json!({})).await.ok();
    assert_eq!(back["restored_count"], 4);
}

#[tokio::test]
async fn compacted_parts_are_listed_and_names_stay_inside() {
    let world = world().await;
    let server = world.serve().await;
    let before: Value = serde_json::from_str(&world.read("sessions/march.json")).unwrap();
    server.post("/api/sessions/march/compress", json!({})).await.ok();
    let list = server.get("/api/sessions/march/compacted").await.ok();
    let [archive] = list["compacted"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!(archive["message_count"], 4);
    let name = archive["name"].as_str().unwrap();
    let read = server.get(&format!("/api/sessions/march/compacted/{name}")).await.ok();
    assert_eq!(read["messages"], before["messages"]);
    assert_eq!(server.get("/api/sessions/keys/compacted").await.ok()["compacted"], json!([]));
    let config = "..%2F..%2Fconfig.yml";
    for other in [&name.replace("march", "keys"), config, "deleted", "march_x.json", &format!("{name}x")] {
        assert_eq!(server.get(&format!("/api/sessions/march/compacted/{other}")).await.refused().0, 404, "{other}");
    }
    assert_eq!(
        server.get(&format!("/api/sessions/keys/compacted/{name}")).await.refused().0,
        404,
        "of another session"
    );
}

#[tokio::test]
async fn deleted_sessions_are_listed_until_restored() {
    let world = world().await;
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/deleted").await.ok()["sessions"], json!([]));
    server.delete("/api/sessions/march").await.ok();
    let gone = json!({"id": "march", "title": "三月发票", "message_count": 4, "updated_at": 20.0});
    assert_eq!(server.get("/api/sessions/deleted").await.ok()["sessions"], json!([gone]));
    assert_eq!(server.get("/api/sessions/search?q=key").await.ok()["sessions"].as_array().unwrap().len(), 1);
    server.post("/api/sessions/march/restore", json!({})).await.ok();
    assert_eq!(server.get("/api/sessions/deleted").await.ok()["sessions"], json!([]));
}

#[tokio::test]
async fn only_deleted_sessions_can_be_forgotten() {
    let world = world().await;
    let server = world.serve().await;
    let refused = server.delete("/api/sessions/deleted/march").await.refused();
    assert_eq!((refused.0, world.path("sessions/march.json").exists()), (404, true));
    server.delete("/api/sessions/march").await.ok();
    server.delete("/api/sessions/deleted/march").await.ok();
    assert_eq!(server.get("/api/sessions/deleted").await.ok()["sessions"], json!([]));
    assert_eq!(server.post("/api/sessions/march/restore", json!({})).await.refused().0, 404);
    assert!(!world.path("sessions/archive/deleted/march.json").exists());
    assert_eq!(server.delete("/api/sessions/deleted/..%2Fkeys").await.refused().0, 400);
}

#[tokio::test]
async fn exported_session_imports_completely_with_compacted_parts() {
    let world = world().await;
    let server = world.serve().await;
    server.post("/api/sessions/march/compress", json!({})).await.ok();
    server.chat("march", "and the roses?").await;
    server.settled("march").await;
    let file = server.get("/api/sessions/march/export?format=json").await;
    assert_eq!(file.head.header("content-disposition"), Some("attachment; filename=\"march.json\""));
    let exported = file.ok();
    let imported = server.post("/api/sessions/import", exported.clone()).await.ok();
    let id = imported["id"].as_str().unwrap();
    assert_ne!(id, "march");
    // Archives are renamed after the new session.
    let mut kept = world.session(id);
    let archive = kept["archived"][0]["archive"].take();
    assert!(world.path("sessions/archive").join(archive.as_str().unwrap()).exists(), "{archive}");
    let mut own = world.session("march");
    kept["archived"][0]["archive"] = own["archived"][0]["archive"].clone();
    // Fields that grant the file any rights are valid only in the home that wrote it.
    own["archived"][0].as_object_mut().unwrap().remove("sha256");
    own.as_object_mut().unwrap().remove("seq");
    for work in own["works"].as_array_mut().unwrap() {
        work.as_object_mut().unwrap().remove("requests");
        // Its tokens were not used by this copy.
        work["foreign"] = json!(true);
    }
    own["taint"] = json!([{"from": "imported"}]);
    assert_eq!(kept, own, "nothing is lost, unknown fields are kept");
    let back = server.get(&format!("/api/sessions/{id}/export?format=json")).await.ok();
    let archives = |value: &Value| value["archives"].as_object().unwrap().values().cloned().collect::<Vec<_>>();
    assert_eq!(archives(&back), archives(&exported));
    for bad in [
        json!({}),
        json!({"messages": "x"}),
        json!({"messages": [{"role": "king"}]}),
        json!({"messages": [], "archives": 3}),
    ] {
        assert_eq!(
            server.post("/api/sessions/import", bad.clone()).await.refused(),
            (400, "bad_session".to_owned()),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn session_is_exported_as_markdown() {
    let world = world().await;
    let server = world.serve().await;
    let answer = server.get("/api/sessions/keys/export?format=md").await;
    assert_eq!(answer.head.header("content-disposition"), Some("attachment; filename=\"keys.md\""));
    assert_eq!(answer.text(), "# Keys\n\n## You\n\nWhere is the API key?\n\n## miniclaw\n\nIn the drawer.\n");
    assert_eq!(server.get("/api/sessions/keys/export?format=exe").await.refused().0, 400);
    assert_eq!(server.get("/api/sessions/nowhere/export?format=md").await.refused().0, 404);
}

#[tokio::test]
async fn rewind_keeps_both_branches() {
    let world = world().await;
    let tail = {
        let server = world.serve().await;
        let before = world.session("march")["messages"].take();
        server.post("/api/sessions/march/rewind", json!({"message_id": "i2"})).await.ok();
        let after_rewind = server.get("/api/sessions/march/history").await.ok();
        assert_eq!(after_rewind["messages"].as_array().unwrap()[..], before.as_array().unwrap()[..2]);
        assert_eq!(after_rewind["branches"], json!([{"message_id": "i2", "after": "i1"}]));
        server.chat("march", "the key, please").await;
        server.settled("march").await;
        server.terminate().await;
        before
    };
    let server = world.serve().await;
    let now = server.get("/api/sessions/march/history").await.ok();
    let asked = now["messages"][2]["id"].as_str().unwrap();
    assert_eq!(now["messages"][2]["content"], "the key, please");
    // The next request contains only the branch that is shown.
    let sent = world.asked()[0]["messages"].to_string();
    assert!(sent.contains("the key, please") && !sent.contains("the key too"), "{sent}");

    let back = json!({"message_id": asked, "to": "i2"});
    server.post("/api/sessions/march/rewind", back.clone()).await.ok();
    let old = server.get("/api/sessions/march/history").await.ok();
    assert_eq!(old["messages"], tail);
    assert_eq!(old["branches"][0]["message_id"], asked);
    for (bad, code) in [(back, 404), (json!({"message_id": "i3"}), 404), (json!({"message_id": "i0", "to": "i9"}), 404)]
    {
        assert_eq!(server.post("/api/sessions/march/rewind", bad.clone()).await.refused().0, code, "{bad}");
    }
    assert_eq!(server.get("/api/sessions/march/history").await.ok()["messages"], tail, "refused is refused");
}

#[tokio::test]
async fn busy_session_cannot_be_rewound() {
    let reply = steps([json!({"text": "A "}), json!({"gate": "on"}), json!({"text": "b."})]);
    let world = World::new(script([reply])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "tell me").await;
    let begun = stream.until("token").await;
    let message = begun.iter().find(|frame| frame.is("user_message")).expect("it began").data["message_id"].clone();
    let refused = server.post("/api/sessions/s/rewind", json!({"message_id": message})).await.refused();
    assert_eq!(refused, (409, "busy".to_owned()));
    world.provider.open_gate("on");
    stream.rest().await;
}

#[tokio::test]
async fn branch_shares_the_past_and_diverges() {
    let world = world().await;
    let server = world.serve().await;
    let original = world.session("march");
    let branch = async |message: &str, cut: &str| {
        server.post("/api/sessions/march/branch", json!({"message_id": message, "cut": cut})).await
    };
    for (message, cut, kept, point) in [
        ("i2", "before", 2, "the key too"),
        ("i1", "after", 2, "整理发票"),
        ("i3", "after", 4, "the key too"),
        ("i0", "before", 0, "整理发票"),
    ] {
        let made = branch(message, cut).await.ok();
        let file = world.session(made["id"].as_str().unwrap());
        assert_eq!(file["messages"].as_array().unwrap()[..], original["messages"].as_array().unwrap()[..kept]);
        assert_eq!(file["parent"], json!({"session_id": "march", "message_id": message}));
        assert_eq!((&file["title"], &file["mine"]), (&json!(format!("↳ {point}")), &original["mine"]));
    }
    let id = branch("i1", "after").await.ok()["id"].take();
    let id = id.as_str().unwrap();
    let parent = |history: Value| history["parent"].clone();
    let history = server.get(&format!("/api/sessions/{id}/history")).await.ok();
    assert_eq!(parent(history), json!({"session_id": "march", "message_id": "i1"}));
    assert_eq!(parent(server.get("/api/sessions/march/history").await.ok()), Value::Null, "it was not branched off");
    server.chat(id, "something else").await;
    server.settled(id).await;
    assert_eq!(world.session(id)["messages"].as_array().unwrap().len(), 4);
    assert_eq!(world.session("march"), original, "the original is as it was");
    assert_eq!(branch("nowhere", "after").await.refused().0, 404);
    assert_eq!(branch("i1", "around").await.refused().0, 422);
}

#[tokio::test]
async fn invalid_parent_is_ignored() {
    let mut world = world().await;
    let parents = [json!("march"), json!({"session_id": "../config", "message_id": "i0"}), json!({"message_id": "i0"})];
    for (at, parent) in parents.iter().enumerate() {
        let file = json!({"title": "", "created_at": 1.0, "updated_at": 1.0, "messages": [], "parent": parent});
        world = world.with_file(&format!("sessions/p{at}.json"), &file.to_string());
    }
    let server = world.serve().await;
    for (at, parent) in parents.iter().enumerate() {
        let history = server.get(&format!("/api/sessions/p{at}/history")).await.ok();
        assert_eq!(history["parent"], Value::Null, "{parent}");
    }
}
