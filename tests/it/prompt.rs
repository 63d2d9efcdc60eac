//! The prompt: assembled from the files for every request, and shown exactly as it is sent.

use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script};
use crate::world::{World, eventually};

/// Returns the system prompt of the last request for an answer.
fn system(world: &World) -> String {
    world.asked().pop().expect("a request")["messages"][0]["content"].as_str().expect("a text").to_owned()
}

async fn world() -> World {
    World::new(script([always(says(["Yes."]))])).await
}

#[tokio::test]
async fn disk_edit_is_in_next_request() {
    let world = world().await;
    let server = world.serve().await;
    server.chat("s", "one").await;
    assert!(system(&world).contains("You are the soul of a test."));
    world.write("workspace/SOUL.md", "You are a penguin.\n");
    server.chat("s", "two").await;
    assert_eq!(system(&world), "<!-- Soul -->\nYou are a penguin.");
    server.post("/api/files", json!({"path": "workspace/SOUL.md", "content": "You are a whale."})).await.ok();
    server.chat("s", "three").await;
    assert_eq!(system(&world), "<!-- Soul -->\nYou are a whale.");
}

#[tokio::test]
async fn new_skill_is_in_shown_request() {
    let world = world().await;
    let server = world.serve().await;
    for name in ["first", "second", "third"] {
        world.write(&format!("skills/{name}/SKILL.md"), format!("---\nname: {name}\ndescription: Does it.\n---\n"));
        let shown = server.get("/api/prompt").await.ok();
        assert!(shown["system"].as_str().unwrap().contains(&format!("skills/{name}/SKILL.md")), "{shown}");
    }
}

#[tokio::test]
async fn prompt_parts_follow_documented_order_and_caps() {
    let world = world().await;
    let labels = ["Skills Snapshot", "Soul", "Identity", "User Profile", "Agents Guide", "Long-term Memory"];
    for (file, text) in [("SOUL", "soul"), ("IDENTITY", "identity"), ("USER", "user"), ("AGENTS", "agents")] {
        world.write(&format!("workspace/{file}.md"), format!("text of {text}"));
    }
    world.write("memory/MEMORY.md", "企".repeat(20_001));
    world.write("skills/one/SKILL.md", "---\nname: one\ndescription: The first skill.\n---\nDo it.\n");
    let server = world.serve().await;
    server.chat("s", "hi").await;
    let system = system(&world);
    let places: Vec<usize> =
        labels.iter().map(|label| system.find(&format!("<!-- {label} -->\n")).expect(label)).collect();
    assert!(places.is_sorted(), "{places:?}");
    for place in &places[1..] {
        assert!(system[..*place].ends_with("\n\n"));
    }
    assert!(system.ends_with(&format!("{}\n...[truncated]", "企".repeat(20_000))));
    assert_eq!(system.matches('企').count(), 20_000);
}

#[tokio::test]
async fn missing_and_empty_parts_are_left_out_with_a_reason() {
    let world = world().await;
    world.write("workspace/IDENTITY.md", " \n");
    let server = world.serve().await;
    server.chat("s", "hi").await;
    assert_eq!(system(&world), "<!-- Soul -->\nYou are the soul of a test.");
    let shown = server.get("/api/prompt").await.ok();
    let reason = |label: &str| {
        let part = shown["parts"].as_array().unwrap().iter().find(|part| part["label"] == label).unwrap();
        part["absent"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(reason("Soul"), "");
    assert!(reason("Identity").contains("empty"));
    assert!(reason("Agents Guide").contains("not found"));
}

#[tokio::test]
async fn unreadable_prompt_part_ends_run_and_is_named() {
    let world = world().await;
    let server = world.serve().await;
    let held = tempfile::tempdir().unwrap();
    type Damage<'d> = (&'d str, &'d str, &'d str, Box<dyn Fn(&std::path::Path) + 'd>);
    let damages: [Damage<'_>; 5] = [
        ("workspace/USER.md", "User Profile", "UTF-8", Box::new(|path| std::fs::write(path, b"\xff\xfe\x00").unwrap())),
        ("memory/MEMORY.md", "Long-term Memory", "folder", Box::new(|path| std::fs::create_dir(path).unwrap())),
        (
            "workspace/AGENTS.md",
            "Agents Guide",
            "",
            Box::new(|path| std::os::unix::fs::symlink(held.path(), path).unwrap()),
        ),
        (
            "workspace/SOUL.md",
            "Soul",
            "Broken link",
            Box::new(|path| std::os::unix::fs::symlink("gone.md", path).unwrap()),
        ),
        (
            "workspace/IDENTITY.md",
            "Identity",
            "limit",
            Box::new(|path| {
                std::fs::File::create(path).unwrap().set_len(11 << 20).unwrap();
            }),
        ),
    ];
    for (file, label, cause, damage) in damages {
        let path = world.path(file);
        let before = std::fs::read(&path).ok();
        if before.is_some() {
            std::fs::remove_file(&path).unwrap();
        }
        damage(&path);
        let asked = world.asked().len();
        let frames = server.chat("s", "hi").await;
        let end = frames.iter().find(|frame| frame.is("error")).unwrap_or_else(|| panic!("{file}: {frames:#?}"));
        let error = end.data["error"].as_str().unwrap();
        assert_eq!(end.data["code"], "prompt_unreadable");
        assert!(error.contains(file) && error.contains(cause) && error.contains("remove it"), "{error}");
        assert_eq!(end.data["about"]["file"], file);
        assert_eq!(world.asked().len(), asked, "{file}: nothing was sent without it");
        let shown = server.get("/api/prompt").await.ok();
        let part = shown["parts"].as_array().unwrap().iter().find(|part| part["label"] == label).unwrap().clone();
        assert_eq!(part["unreadable"], true, "{part}");
        assert!(part["absent"].as_str().unwrap().contains(cause), "{part}");
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let frames = server.chat("s", "again").await;
        assert!(frames.iter().any(|frame| frame.is("done")), "{file}: {frames:#?}");
    }
}

#[tokio::test]
async fn shown_prompt_equals_sent_prompt() {
    let world = World::new(script([
        calls([call("c", "read_file", json!({"path": "knowledge/a.md"}))]),
        says(["Read."]),
        says(["Second."]),
        says(["Third."]),
    ]))
    .await
    .with_file("knowledge/a.md", "alpha\n")
    .with_file("memory/MEMORY.md", "Pingu is a penguin.\n");
    let server = world.serve().await;
    let compare = async |session: Option<&str>, message: &str, number: usize| {
        let query = session.map(|id| format!("?session_id={id}")).unwrap_or_default();
        let shown = server.get(&format!("/api/prompt{query}")).await.ok();
        server.chat("s", message).await;
        server.settled("s").await;
        let sent = world.asked()[number].clone();
        let mut expected = shown["request"].clone();
        expected["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": message}));
        assert_eq!(sent, expected);
        assert_eq!(shown["system"], sent["messages"][0]["content"]);
        assert_eq!(shown["messages"], sent["messages"].as_array().unwrap().len() - 2);
        assert_eq!(shown["total_bytes"], shown["request"].to_string().len());
        for part in shown["parts"].as_array().unwrap().iter().filter(|part| part["absent"].is_null()) {
            let (start, end) = (part["start"].as_u64().unwrap() as usize, part["end"].as_u64().unwrap() as usize);
            let text = &shown["system"].as_str().unwrap()[start..end];
            assert!(text.starts_with(&format!("<!-- {} -->\n", part["label"].as_str().unwrap())), "{text}");
            assert_eq!(part["bytes"], text.len());
        }
    };
    compare(None, "first", 0).await;
    compare(Some("s"), "second", 2).await;
    // In RAG mode without a hit.
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    compare(Some("s"), "zzz", 3).await;
}

#[tokio::test]
async fn greeting_request_stays_within_its_limit() {
    let world = World::new(script([says(["Hi."])])).await;
    let starter = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("starter");
    for file in crate::world::files(&starter) {
        let name = file.strip_prefix(&starter).unwrap().to_str().unwrap().to_owned();
        world.write(&name, std::fs::read(&file).unwrap());
    }
    let server = world.serve().await;
    server.chat("s", "hi").await;
    let body = world.asked().pop().unwrap().to_string();
    // The limit in docs/benchmarks.md.
    assert!(body.len() <= 6 * 1024, "{} bytes", body.len());
}

#[tokio::test]
async fn new_skill_is_in_snapshot_and_next_request() {
    let world = world().await.with_file("skills/broken/SKILL.md", "no front matter\n");
    let server = world.serve().await;
    let skills = server.get("/api/skills").await.ok()["skills"].take();
    assert_eq!(skills[0]["location"], "skills/broken/SKILL.md");
    assert!(!skills[0]["error"].as_str().unwrap().is_empty());
    assert_eq!(server.get("/api/status").await.ok()["skills"], 1);
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    let skill =
        "---\nname: 天气查询\ndescription: 查询天气。\nallowed-tools: fetch_url\nlicense: MIT\n---\n1. 查询。\n";
    world.write("skills/天气/SKILL.md", skill);
    tab.until("skills_changed").await;
    let snapshot = world.read("SKILLS_SNAPSHOT.md");
    assert!(snapshot.contains("<name>天气查询</name><description>查询天气。</description>"), "{snapshot}");
    server.chat("s", "hi").await;
    assert!(system(&world).contains(snapshot.trim()));
    let skills = server.get("/api/skills").await.ok()["skills"].take();
    let weather = skills.as_array().unwrap().iter().find(|skill| skill["name"] == "天气查询").unwrap();
    assert_eq!((&weather["license"], &weather["allowed_tools"]), (&json!("MIT"), &json!(["fetch_url"])));
    assert_eq!(weather.get("error"), None);

    std::fs::remove_dir_all(world.path("skills/天气")).unwrap();
    eventually("the snapshot follows", async || !world.read("SKILLS_SNAPSHOT.md").contains("天气")).await;
}

#[tokio::test]
async fn change_notice_names_file_and_author() {
    let world = world().await;
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    let told = async |tab: &mut crate::http::Incoming| -> Value {
        let frame = tab.until("file_changed").await.pop().unwrap();
        assert!(frame.id.is_some());
        frame.data
    };
    let saved = server.post("/api/files", json!({"path": "memory/MEMORY.md", "content": "one"})).await.ok();
    let expected = json!({"type": "file_changed", "path": "memory/MEMORY.md", "etag": saved["etag"], "by": "editor"});
    assert_eq!(told(&mut tab).await, expected);
    world.write("workspace/USER.md", "Ann\n");
    let by_person = told(&mut tab).await;
    assert_eq!((&by_person["path"], &by_person["by"]), (&json!("workspace/USER.md"), &json!("disk")));
    std::fs::remove_file(world.path("workspace/USER.md")).unwrap();
    assert_eq!(told(&mut tab).await["etag"], Value::Null);
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    let config = tab.until("config_changed").await.pop().unwrap();
    assert_eq!(config.data, json!({"type": "config_changed", "rag_mode": true, "rag_conversations": false}));
    server.post("/api/sessions", json!({})).await.ok();
    tab.until("sessions_changed").await;
}

#[tokio::test]
async fn long_conversation_drops_oldest_and_says_so() {
    let messages: Vec<Value> = (0..40)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("{n} {}", "word ".repeat(2000))}))
        .collect();
    let world = world().await.with_file("sessions/s.json", &json!({"messages": messages}).to_string());
    let server = world.serve().await;
    let frames = server.chat("s", "the question").await;
    let status = frames.iter().find(|frame| frame.is("status")).expect("it is said");
    assert!(status.data["message"].as_str().unwrap().contains("not sent"), "{status:?}");
    let sent = world.asked()[0]["messages"].take();
    let sent = sent.as_array().unwrap();
    assert!(sent.len() < 42 && sent.last().unwrap()["content"] == "the question");
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 42, "nothing is taken from the file");
}
