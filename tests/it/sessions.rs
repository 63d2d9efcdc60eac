//! Sessions as files: both versions of the documented format, and the operations of people on them.

use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, World, eventually, files};

const DOCUMENTED: &str = r#"{
  "title": "讨论天气查询",
  "created_at": 1706000000.0,
  "updated_at": 1706000100.0,
  "compressed_context": "用户之前询问了北京天气...",
  "messages": [
    { "role": "user", "content": "北京天气怎么样？" },
    { "role": "assistant", "content": "让我查一下...",
      "tool_calls": [ { "tool": "terminal", "input": "curl wttr.in/Beijing", "output": "..." } ] },
    { "role": "assistant", "content": "北京今天晴，气温 25°C。", "mood": "sunny" }
  ],
  "mine": {"kept": true}
}"#;

#[tokio::test]
async fn documented_session_file_keeps_unknown_fields() {
    let world = World::new(script([says(["多云。"])])).await.with_file("sessions/abc123.json", DOCUMENTED);
    let server = world.serve().await;
    let original: Value = serde_json::from_str(DOCUMENTED).unwrap();
    let history = server.get("/api/sessions/abc123/history").await.ok();
    assert_eq!((&history["messages"], &history["title"]), (&original["messages"], &original["title"]));
    assert_eq!(history["compressed_context"], original["compressed_context"]);
    let messages = server.get("/api/sessions/abc123/messages").await.ok()["messages"].take();
    assert_eq!(messages[0]["role"], "system");
    assert!(messages[0]["content"].as_str().unwrap().contains("You are the soul of a test."));
    assert_eq!(messages.as_array().unwrap()[1..], original["messages"].as_array().unwrap()[..]);
    assert_eq!(world.read("sessions/abc123.json"), DOCUMENTED, "showing changes nothing");

    server.chat("abc123", "明天呢？").await;
    server.settled("abc123").await;
    let file = world.session("abc123");
    assert_eq!(file["messages"].as_array().unwrap()[..3], original["messages"].as_array().unwrap()[..]);
    for kept in ["title", "created_at", "compressed_context", "mine"] {
        assert_eq!(file[kept], original[kept], "{kept}");
    }
    let sent = world.asked()[0]["messages"].take();
    let roles: Vec<_> = sent.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "assistant", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(sent[1]["content"], "[以下是之前对话的摘要]\n用户之前询问了北京天气...");
}

#[tokio::test]
async fn history_is_read_in_pages_from_its_end() {
    let messages: Vec<Value> = (0..20)
        .map(|n| match n % 2 {
            0 => json!({"role": "user", "content": format!("q{n}"), "id": format!("i{n}"), "work_id": format!("w{n}")}),
            _ => json!({"role": "assistant", "content": format!("a{n}"), "work_id": format!("w{}", n - 1)}),
        })
        .collect();
    let file = json!({"messages": messages, "pinned": [{"id": "i0", "role": "user", "content": "q0"}]});
    let world = World::new(script([says(["Yes."])])).await.with_file("sessions/s.json", &file.to_string());
    let server = world.serve().await;
    let page = async |query: &str| server.get(&format!("/api/sessions/s/history{query}")).await;
    let texts = |history: &Value| -> Vec<String> {
        let all = history["messages"].as_array().unwrap().iter();
        all.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    let (mut read, mut query) = (Vec::new(), "?last=7".to_owned());
    loop {
        let history = page(&query).await.ok();
        assert_eq!(history["pinned"][0]["content"], "q0", "what concerns the whole session is in every page");
        assert_eq!(history["messages"][0]["role"], "user");
        read.splice(..0, texts(&history));
        if history.get("earlier").is_none() {
            break;
        }
        query = format!("?last=7&before={}", history["messages"][0]["id"].as_str().unwrap());
    }
    assert_eq!(read, texts(&page("").await.ok()));
    let since = page("?last=2&from=i14").await.ok();
    assert_eq!((since["earlier"].as_u64(), texts(&since).len()), (Some(14), 6));
    assert_eq!(page("?before=none").await.refused(), (404, "not_found".to_owned()));
    assert_eq!(page("?last=many").await.refused().0, 400);

    server.chat("s", "more").await;
    server.settled("s").await;
    let newest = page("?last=2").await.ok();
    assert_eq!(newest["works"].as_array().unwrap().len(), 1, "{newest}");
    let old = page("?last=2&before=i4").await.ok();
    assert_eq!(old.get("works"), None, "only of these messages: {old}");
}

#[tokio::test]
async fn consecutive_answers_are_merged_for_model() {
    let file = json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "One."},
                                   {"role": "assistant", "content": "Two."}]});
    let world = World::new(script([says(["Three."])])).await.with_file("sessions/s.json", &file.to_string());
    let server = world.serve().await;
    server.chat("s", "more").await;
    assert_eq!(world.asked()[0]["messages"][2]["content"], "One.\n\nTwo.");
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"][1]["content"], "One.", "the file keeps them apart");
}

#[tokio::test]
async fn version_1_file_is_upgraded_by_next_message() {
    let v1 = r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]"#;
    let world = World::new(script([says(["again"])])).await.with_file("sessions/old.json", v1);
    let server = world.serve().await;
    let list = server.get("/api/sessions").await.ok();
    assert_eq!((&list["sessions"][0]["id"], &list["sessions"][0]["message_count"]), (&json!("old"), &json!(2)));
    assert_eq!(server.get("/api/sessions/old/history").await.ok()["messages"].as_array().unwrap().len(), 2);
    server.chat("old", "again").await;
    server.settled("old").await;
    let file = world.session("old");
    assert_eq!(file["messages"].as_array().unwrap().len(), 4);
    assert!(file["created_at"].as_f64().unwrap() > 1.7e9);
}

#[tokio::test]
async fn sessions_are_listed_renamed_deleted_and_restored() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for id in ["one", "two", "three"] {
        server.chat(id, "hi").await;
        server.settled(id).await;
    }
    let ids = async || -> Vec<String> {
        let list = server.get("/api/sessions").await.ok();
        list["sessions"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids().await, ["three", "two", "one"]);
    let renamed = server.put("/api/sessions/one", json!({"title": "  The \n first "})).await.ok();
    assert_eq!(
        (&renamed["title"], &renamed["id"], &renamed["state"]),
        (&json!("The first"), &json!("one"), &json!("idle"))
    );
    assert_eq!(ids().await, ["three", "two", "one"], "a renamed session keeps its place");
    assert_eq!(world.session("one")["title"], "The first");

    let before = world.read("sessions/two.json");
    assert_eq!(server.delete("/api/sessions/two").await.ok(), json!({"deleted": true, "id": "two"}));
    assert_eq!(ids().await, ["three", "one"]);
    let missing = (404, "not_found".to_owned());
    assert_eq!(server.get("/api/sessions/two/history").await.refused(), missing);
    assert_eq!(server.delete("/api/sessions/two").await.refused(), missing);
    assert_eq!(world.read("sessions/archive/deleted/two.json"), before);
    assert_eq!(server.post("/api/sessions/two/restore", json!({})).await.ok()["message_count"], 2);
    assert_eq!(world.read("sessions/two.json"), before);
    assert_eq!(server.post("/api/sessions/two/restore", json!({})).await.refused(), missing);
    let asks: [(&str, &str); 5] =
        [("PUT", ""), ("POST", "/interrupt"), ("POST", "/generate-title"), ("POST", "/compress"), ("POST", "/restore")];
    for (method, what) in asks {
        let path = format!("/api/sessions/unknown{what}");
        let headers = [("Content-Type", "application/json")];
        assert_eq!(server.send(method, &path, &headers, br#"{"title": "x"}"#).await.refused(), missing, "{path}");
    }
}

#[tokio::test]
async fn sessions_deleted_under_one_id_are_both_kept() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for message in ["the first life", "the second life"] {
        server.chat("s", message).await;
        server.delete("/api/sessions/s").await.ok();
    }
    let kept = files(&world.path("sessions/archive/deleted"));
    let texts: Vec<String> = kept.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for message in ["the first life", "the second life"] {
        assert!(texts.iter().any(|text| text.contains(message)), "{message} is lost: {kept:?}");
    }
    assert_eq!(server.post("/api/sessions/s/restore", json!({})).await.ok()["id"], "s");
    assert!(world.read("sessions/s.json").contains("the second life"), "the newest comes back");
}

#[tokio::test]
async fn deleting_a_running_session_stops_its_work() {
    let world = World::new(script([steps([json!({"text": "a"}), json!({"gate": "never"})])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    server.delete("/api/sessions/s").await.ok();
    let rest = stream.rest().await;
    assert_eq!(rest.iter().filter(|f| f.is("done")).count(), 1, "{rest:?}");
    assert_eq!(server.get("/api/status").await.ok()["running"], json!([]));
    assert!(!world.path("sessions/s.journal").exists());
    assert!(world.read("sessions/archive/deleted/s.json").contains("\"interrupted\""));
}

#[tokio::test]
async fn id_is_never_a_path() {
    let world = World::new(script([])).await.with_file("outside.json", r#"{"messages": [], "title": "outside"}"#);
    let server = world.serve().await;
    let before = files(&world.home()).len();
    let ids = [
        "..%2foutside",
        "..%2F..%2Fetc%2Fpasswd",
        "%2e%2e%2foutside",
        "a%2fb",
        "a%5cb",
        "a.json",
        "-rf",
        "%20",
        "a%00",
        "%E4%BC%9A%E8%AF%9D",
        "archive%2fx",
        ".lock",
    ];
    let long = "x".repeat(65);
    for id in ids.into_iter().chain([long.as_str()]) {
        for (method, what) in [
            ("GET", "/history"),
            ("GET", "/messages"),
            ("GET", "/events"),
            ("POST", "/messages"),
            ("POST", "/interrupt"),
            ("POST", "/compress"),
            ("POST", "/restore"),
            ("POST", "/generate-title"),
            ("PUT", ""),
            ("DELETE", ""),
        ] {
            let path = format!("/api/sessions/{id}{what}");
            let body = br#"{"message": "hi", "title": "x"}"#;
            let refused = server.send(method, &path, &[("Content-Type", "application/json")], body).await.refused();
            assert_eq!(refused, (400, "bad_session_id".to_owned()), "{method} {path}");
        }
        let tokens = server.get(&format!("/api/tokens/session/{id}")).await.refused();
        assert_eq!(tokens, (400, "bad_session_id".to_owned()), "{id}");
    }
    for id in ["../outside", "a/b", "/etc/passwd", "..", "a\u{0}"] {
        let refused = server.post("/api/chat", json!({"message": "hi", "session_id": id})).await.refused();
        assert_eq!(refused, (400, "bad_session_id".to_owned()), "{id}");
    }
    assert_eq!(files(&world.home()).len(), before);
}

#[tokio::test]
async fn edited_session_file_is_continued() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    server.chat("s", "My name is Ann.").await;
    server.settled("s").await;
    let edited = world.read("sessions/s.json").replace("My name is Ann.", "My name is Bea.");
    world.write("sessions/s.json", edited);
    assert!(server.get("/api/sessions/s/history").await.ok().to_string().contains("Bea"), "shown");
    server.chat("s", "What is my name?").await;
    server.settled("s").await;
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("Bea") && !sent.contains("Ann"), "sent: {sent}");
    assert!(world.read("sessions/s.json").contains("Bea"), "kept");
}

#[tokio::test]
async fn broken_session_file_moves_aside_and_loses_nothing() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    server.chat("s", "My name is Ann.").await;
    server.settled("s").await;
    let broken = world.read("sessions/s.json").replace("My name is Ann.", "My name is \"Bea");
    world.write("sessions/s.json", &broken);
    server.chat("s", "What is my name?").await;
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 4, "what the server knew goes on");
    let aside = files(&world.path("storage/quarantine"));
    assert_eq!(aside.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect::<Vec<_>>(), [broken]);
    assert_eq!(server.get("/health").await.ok()["status"], "degraded");
}

#[tokio::test]
async fn damaged_session_is_moved_aside_and_reported() {
    let world = World::new(script([says(["Yes."])]))
        .await
        .with_file("sessions/bad.json", "{\"messages\": [")
        .with_file("sessions/empty.json", "")
        .with_file("sessions/worse.json", "{\"messages\": [{\"role\": \"king\"}]}")
        .with_file("sessions/good.json", "{\"messages\": []}");
    std::fs::create_dir(world.path("sessions/folder.json")).unwrap();
    let server = world.serve().await;
    let list = server.get("/api/sessions").await.ok();
    let mut ids: Vec<_> = list["sessions"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert!(server.get("/api/sessions/worse/history").await.status() == 404);
    ids.retain(|id| *id != "worse");
    assert_eq!(ids, ["good"]);
    let health = server.get("/health").await.ok();
    assert_eq!(health["status"], "degraded");
    let reported = health["quarantine"].as_array().unwrap();
    assert_eq!(reported.len(), 3, "{health}");
    for entry in reported {
        assert!(world.path(entry["moved_to"].as_str().unwrap()).is_file(), "{entry}");
        assert!(!entry["reason"].as_str().unwrap().is_empty() && entry["at"].is_number());
    }
    server.chat("bad", "begin anew").await;
    server.settled("bad").await;
    assert_eq!(files(&world.path("storage/quarantine")).len(), 3);
}

#[tokio::test]
async fn second_server_on_home_exits_and_names_first() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let home = world.home();
    let output = world.run(&["serve", "--home", home.to_str().unwrap(), "--port", "0"]).await;
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&server.pid().to_string()), "{said}");
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
}

#[tokio::test]
async fn server_starts_without_network_or_model() {
    let world = World::new(script([])).await.with_env("OPENAI_API_KEY", "").with_env("OPENAI_BASE_URL", "");
    let server = world.serve().await;
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    assert_eq!(server.get("/api/status").await.ok()["model"]["state"], "none");
    let frames = server.chat("s", "hi").await;
    let end = frames.last().unwrap();
    assert_eq!((end.event.as_str(), &end.data["code"]), ("error", &json!("no_model")));
    assert!(end.data["error"].as_str().unwrap().contains("OPENAI_API_KEY"), "{end:?}");
    assert_eq!(server.settled("s").await["messages"][0]["content"], "hi");
    drop(server);

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = World::new(script([])).await.with_env("OPENAI_BASE_URL", &format!("http://{nobody}/v1"));
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("status").await;
    server.post("/api/sessions/s/interrupt", json!({})).await.ok();
    stream.rest().await;
}

#[tokio::test]
async fn title_set_during_first_work_stays() {
    let held = steps([json!({"text": "a"}), json!({"gate": "g"}), json!({"finish": "stop"})]);
    let world = World::new(script([held])).await.with_file("config.yml", CONFIG);
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    server.put("/api/sessions/s", json!({"title": "Mine"})).await.ok();
    world.provider.open_gate("g");
    let rest = stream.rest().await;
    assert_eq!(rest.iter().filter(|f| f.is("title")).count(), 1, "{rest:?}");
    server.settled("s").await;
    assert_eq!(world.session("s")["title"], "Mine");
}

#[tokio::test]
async fn all_tool_arguments_are_kept() {
    let arguments = json!({"path": "workspace/SOUL.md", "offset": 0, "limit": 2});
    let world = World::new(script([calls([call("c", "read_file", arguments.clone())]), says(["Yes."])])).await;
    let server = world.serve().await;
    server.chat("s", "read").await;
    eventually("settled", async || !world.path("sessions/s.journal").exists()).await;
    let call = world.session("s")["messages"][1]["tool_calls"][0].take();
    assert_eq!(call["arguments"], arguments);
    assert_eq!(serde_json::from_str::<Value>(call["input"].as_str().unwrap()).unwrap(), arguments);
}

#[tokio::test]
async fn file_edited_during_work_is_kept_aside() {
    let held = steps([json!({"text": "a"}), json!({"gate": "g"}), json!({"finish": "stop"})]);
    let world = World::new(script([says(["Yes."]), held, says(["On."])])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let mut stream = server.open_chat("s", "second").await;
    stream.until("token").await;
    let edited = world.read("sessions/s.json").replace("first", "FIRST");
    world.write("sessions/s.json", &edited);
    world.provider.open_gate("g");
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 4);
    let aside = files(&world.path("storage/quarantine"));
    assert_eq!(aside.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect::<Vec<_>>(), [edited]);
    server.chat("s", "third").await;
}

#[tokio::test]
async fn untitled_session_shows_its_first_words() {
    let held = steps([json!({"text": "a"}), json!({"gate": "g"}), json!({"finish": "stop"})]);
    let world = World::new(script([held])).await;
    let server = world.serve().await;
    let mut run = server.open_chat("s", "tidy the\n invoices").await;
    run.until("token").await;
    let listed = async || server.get("/api/sessions").await.ok()["sessions"][0].clone();
    assert_eq!((&listed().await["title"], &listed().await["begins"]), (&json!(""), &json!("tidy the invoices")));
    world.provider.open_gate("g");
    server.settled("s").await;
    let named = listed().await;
    assert!(named.get("begins").is_none() || named["title"] == "", "{named}");
}

#[tokio::test]
async fn new_session_is_created_named_and_listed() {
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    let made = server.post("/api/sessions", json!({})).await.ok();
    let mut keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["created_at", "id", "message_count", "state", "title", "tokens", "updated_at"]);
    let id = made["id"].as_str().unwrap();
    let file = world.session(id);
    assert_eq!((&file["title"], &file["messages"]), (&json!(""), &json!([])));
    let long = server.post("/api/sessions", json!({"title": "x".repeat(256)})).await.refused();
    assert_eq!(long, (400, "too_long".to_owned()));
    server.chat(id, "hi").await;
    server.settled(id).await;
    let list = server.get("/api/sessions").await.ok();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["sessions"][0]["message_count"], 2);
}

#[tokio::test]
async fn labels_are_kept_and_listed() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    server.chat("a", "hi").await;
    let label = async |id: &str, labels: Value| {
        server.put(&format!("/api/sessions/{id}/labels"), json!({"labels": labels})).await
    };
    assert_eq!(label("a", json!(["work", " 工作 ", "work"])).await.ok(), json!({"labels": ["work", "工作"]}));
    assert_eq!(label("a", json!([""])).await.refused(), (400, "bad_label".to_owned()));
    assert_eq!(label("none", json!(["x"])).await.refused().0, 404);
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions").await.ok()["labels"], json!({"a": ["work", "工作"]}));
    server.put("/api/sessions/a/labels", json!({"labels": []})).await.ok();
    assert_eq!(server.get("/api/sessions").await.ok()["labels"], json!({}));
    // What somebody wrote into the file by hand is not fatal.
    world.write("config.json", r#"{"labels": ["what"]}"#);
    assert_eq!(server.get("/api/sessions").await.ok()["labels"], json!({}));
}
