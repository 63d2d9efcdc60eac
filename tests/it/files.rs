//! The endpoints for files, token counts, settings and status.

use miniclaw::prompt::budget::MESSAGE_OVERHEAD;
use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::World;

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test]
async fn save_with_stale_etag_overwrites_nothing() {
    let world = World::new(script([])).await.with_file("memory/MEMORY.md", "one\n");
    let server = world.serve().await;
    let read = server.get("/api/files?path=memory/MEMORY.md").await.ok();
    let mut keys: Vec<&String> = read.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["content", "etag", "path", "size", "tokens"]);
    assert_eq!((&read["content"], &read["size"]), (&json!("one\n"), &json!(4)));
    let etag = read["etag"].as_str().unwrap().to_owned();

    let save = async |headers: &[(&str, &str)], content: &str| {
        let body = json!({"path": "memory/MEMORY.md", "content": content}).to_string();
        server.send("POST", "/api/files", &[&[JSON], headers].concat(), body.as_bytes()).await
    };
    let quoted = format!("\"{etag}\"");
    let saved = save(&[("If-Match", &quoted)], "two\n").await.ok();
    assert_eq!((&saved["saved"], &saved["path"]), (&json!(true), &json!("memory/MEMORY.md")));
    let stale = save(&[("If-Match", &quoted)], "three\n").await;
    assert_eq!(stale.refused(), (412, "changed_on_disk".to_owned()));
    assert_eq!(stale.json()["etag"], saved["etag"]);
    assert_eq!(save(&[("If-None-Match", "*")], "three\n").await.refused().0, 412);
    assert_eq!(save(&[("If-Match", "*")], "three\n").await.refused(), (400, "bad_precondition".to_owned()));
    assert_eq!(world.read("memory/MEMORY.md"), "two\n");
    world.write("memory/MEMORY.md", "a person's\n");
    let newest = saved["etag"].as_str().unwrap();
    assert_eq!(save(&[("If-Match", newest)], "four\n").await.refused().0, 412, "an edit on disk is not lost");
    save(&[], "on purpose\n").await.ok();
    assert_eq!(world.read("memory/MEMORY.md"), "on purpose\n");

    let new =
        json!({"path": "skills/new/deep/SKILL.md", "content": "---\nname: new\ndescription: d\n---\n"}).to_string();
    server.send("POST", "/api/files", &[JSON, ("If-None-Match", "*")], new.as_bytes()).await.ok();
    assert!(world.path("skills/new/deep/SKILL.md").is_file());
}

#[tokio::test]
async fn folders_are_listed_one_at_a_time() {
    let world = World::new(script([]))
        .await
        .with_file("workspace/project/src/main.rs", "fn main() {}\n")
        .with_file("workspace/project/README.md", "one two\n")
        .with_file("workspace/project/.git/HEAD", "hidden");
    std::fs::write(world.path("workspace/project/src/logo.png"), [0xff, 0xd8]).unwrap();
    let server = world.serve().await;
    let root = server.get("/api/files/folder?path=workspace").await.ok();
    assert_eq!((&root["path"], &root["left_out"]), (&json!("workspace"), &json!(0)));
    let project = root["folders"].as_array().unwrap().iter().find(|folder| folder["path"] == "workspace/project");
    let readme = &server.get("/api/files?path=workspace/project/README.md").await.ok()["tokens"];
    let main = &server.get("/api/files?path=workspace/project/src/main.rs").await.ok()["tokens"];
    let sum = readme.as_u64().unwrap() + main.as_u64().unwrap();
    assert_eq!(project, Some(&json!({"path": "workspace/project", "tokens": sum})));
    let project = server.get("/api/files/folder?path=workspace/project").await.ok();
    assert_eq!(project["folders"], json!([{"path": "workspace/project/src", "tokens": main}]));
    assert_eq!((&project["files"][0]["tokens"], &project["files"][1]), (readme, &Value::Null));
    let src = server.get("/api/files/folder?path=workspace/project/src").await.ok();
    assert_eq!((&src["files"][0]["problem"], &src["files"][1]["tokens"]), (&json!("not UTF-8 text"), main));
    for (path, status) in [("workspace/none", 404), ("workspace/project/README.md", 403), ("sessions", 403)] {
        let refused = server.get(&format!("/api/files/folder?path={path}")).await.refused();
        assert_eq!(refused.0, status, "{path}");
    }
}

#[tokio::test]
async fn bulk_checkout_is_one_notice() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    for n in 0..300 {
        world.write(&format!("scratch/checkout/{n}.md"), "x");
    }
    std::fs::rename(world.path("scratch/checkout"), world.path("workspace/checkout")).unwrap();
    let told = tab.until("folder_changed").await;
    assert_eq!(told.last().unwrap().data["path"], "workspace");
    assert!(!told.iter().any(|event| event.is("file_changed")));
    world.write("workspace/checkout/7.md", "changed");
    let told = tab.until("file_changed").await.pop().unwrap().data;
    assert_eq!((&told["path"], &told["by"]), (&json!("workspace/checkout/7.md"), &json!("disk")));
}

#[tokio::test]
async fn change_is_announced_exactly_once() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    let saved = server.post("/api/files", json!({"path": "memory/a.md", "content": "one"})).await.ok();
    let trash = server.delete("/api/files?path=memory/a.md").await.ok()["trash"].clone();
    server.post("/api/files/restore", json!({"trash": trash})).await.ok();
    // The watcher tells this change only after it has seen the ones before it.
    world.write("memory/z.md", "last");
    let mut told = Vec::new();
    while !told.iter().any(|notice: &Value| notice["path"] == "memory/z.md") {
        told.push(tab.until("file_changed").await.pop().unwrap().data);
    }
    let of = |path: &str| -> Vec<(Value, Value)> {
        let of_path = told.iter().filter(|notice| notice["path"] == path);
        of_path.map(|notice| (notice["etag"].clone(), notice["by"].clone())).collect()
    };
    let (editor, etag) = (json!("editor"), saved["etag"].clone());
    let expected = [(etag.clone(), editor.clone()), (Value::Null, editor.clone()), (etag, editor)];
    assert_eq!(of("memory/a.md"), expected);
    assert_eq!(of("memory/z.md").len(), 1);
}

#[tokio::test]
async fn files_are_found_by_words_of_their_paths() {
    let world = World::new(script([]))
        .await
        .with_file("workspace/Deep/er/Plan of June.md", "x")
        .with_file("knowledge/plan.md", "x")
        .with_file("knowledge/other.md", "x");
    let server = world.serve().await;
    let found = async |query: &str| {
        let found = server.get(&format!("/api/files/find?{query}")).await.ok();
        let paths = found["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned());
        (paths.collect::<Vec<_>>(), found["more"].as_bool().unwrap())
    };
    let both = vec!["workspace/Deep/er/Plan of June.md".to_owned(), "knowledge/plan.md".to_owned()];
    assert_eq!(found("words=PLAN").await, (both.clone(), false));
    assert_eq!(found("words=june+deep").await, (both[..1].to_vec(), false));
    assert_eq!(found("words=plan&root=knowledge").await, (both[1..].to_vec(), false));
    assert_eq!(found("words=plan&limit=1").await, (both[..1].to_vec(), true));
    assert_eq!(found("words=nothing+plan").await, (vec![], false));
}

#[tokio::test]
async fn only_roots_and_skill_list_can_be_opened() {
    let world = World::new(script([]))
        .await
        .with_file(".env", "HIDDEN=the-hidden-word\n")
        .with_file("sessions/s.json", r#"{"messages": [], "title": "the-hidden-word"}"#);
    std::os::unix::fs::symlink("/etc/hostname", world.path("memory/out.md")).unwrap();
    std::os::unix::fs::symlink(world.path(".env"), world.path("memory/env.md")).unwrap();
    std::os::unix::fs::symlink(world.path("sessions"), world.path("memory/sessions")).unwrap();
    let server = world.serve().await;
    assert_eq!(server.get("/api/files?path=SKILLS_SNAPSHOT.md").await.ok()["content"], "");
    assert_eq!(server.get("/api/files?path=./workspace//SOUL.md").await.ok()["path"], "workspace/SOUL.md");
    for path in [
        "../x",
        "memory/../../x",
        "memory/..",
        "/etc/passwd",
        "~/.ssh/id",
        "C:\\x",
        "memory\\x",
        "",
        ".",
        ".env",
        "config.yml",
        "config.json",
        "sessions/s.json",
        "storage/x",
        "scratch/x",
        "memory/out.md",
        "memory/env.md",
        "memory/sessions/s.json",
        "workspace",
        "memory/a\u{0}b",
        "SKILLS_SNAPSHOT.md/x",
        "SKILLS_SNAPSHOT.MD",
        "..%2fx",
    ] {
        let encoded: String = path.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let read = server.get(&format!("/api/files?path={encoded}")).await.refused();
        assert!([400, 403, 404].contains(&read.0), "{path}: {read:?}");
        let saved = server.post("/api/files", json!({"path": path, "content": "evil"})).await;
        assert!(saved.status() == 400 || saved.status() == 403, "{path}: {} {}", saved.status(), saved.text());
        assert!(!saved.text().contains("the-hidden-word"));
    }
    assert_eq!(world.read(".env"), "HIDDEN=the-hidden-word\n");
    assert_eq!(server.get("/api/files?path=memory/none.md").await.refused(), (404, "not_found".to_owned()));
    assert_eq!(server.get("/api/files/list?root=memory").await.ok()["files"], json!([]));
}

#[tokio::test]
async fn binary_file_is_listed_with_its_problem() {
    let world = World::new(script([]))
        .await
        .with_file("knowledge/b/文.md", "企鹅\n")
        .with_file("knowledge/a.md", "alpha\n")
        .with_file("knowledge/.hidden", "x");
    world.write("knowledge/z.bin", b"\xff\xfe\x00");
    let server = world.serve().await;
    assert_eq!(server.get("/api/files?path=knowledge/z.bin").await.refused(), (415, "not_utf8".to_owned()));
    let list = server.get("/api/files/list?root=knowledge").await.ok();
    let files = list["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["knowledge/a.md", "knowledge/b/文.md", "knowledge/z.bin"]);
    assert_eq!((&files[2]["tokens"], files[2]["problem"].is_string()), (&Value::Null, true));
    assert_eq!(files[2]["problem_code"], "not_utf8");
    assert_eq!(files[0].get("problem"), None);
    let etag = server.get("/api/files?path=knowledge/a.md").await.ok()["etag"].take();
    assert_eq!(files[0]["etag"], etag);
    assert!(files[0]["modified"].as_f64().unwrap() > 1.7e9 && files[0]["size"] == 6);
}

#[tokio::test]
async fn token_counts_match_cl100k_base() {
    let reference = tiktoken_rs::cl100k_base().unwrap();
    let texts = [
        ("memory/a.md", "hello world"),
        ("memory/b.md", "企鹅不会飞，但是游得很快。🐧 naïve café"),
        ("knowledge/c.md", "fn main() {\n    println!(\"{}\", 1 + 1);\n}\n\n\n  <|endoftext|> I'll don't\t\t12345 "),
        ("workspace/d.md", ""),
    ];
    let world = World::new(script([says(["Yes."])])).await;
    for (path, text) in texts {
        world.write(path, text);
    }
    let server = world.serve().await;
    let mut paths: Vec<&str> = texts.iter().map(|(path, _)| *path).collect();
    paths.extend(["memory/none.md", "../x", ".env"]);
    let counted = server.post("/api/tokens/files", json!({"paths": paths})).await.ok();
    let mut total = 0;
    for (path, text) in texts {
        let expected = reference.encode_ordinary(text).len();
        assert_eq!(counted["tokens"][path], expected, "{path}");
        total += expected;
    }
    assert_eq!(counted["tokens"]["memory/a.md"], 2);
    assert_eq!((&counted["tokens"]["memory/none.md"], &counted["tokens"]["../x"]), (&Value::Null, &Value::Null));
    assert_eq!(counted["total_tokens"], total);

    server.chat("s", "hello world").await;
    server.settled("s").await;
    let session = server.get("/api/tokens/session/s").await.ok();
    let system = "<!-- Soul -->\nYou are the soul of a test.";
    assert_eq!(session["system_tokens"], reference.encode_ordinary(system).len());
    assert_eq!(session["message_tokens"], 2 + reference.encode_ordinary("Yes.").len() + 2 * MESSAGE_OVERHEAD);
    let parts = ["system_tokens", "tools_tokens", "message_tokens"];
    let sum: u64 = parts.iter().map(|part| session[part].as_u64().unwrap()).sum();
    assert_eq!((&session["total_tokens"], &session["context_window"]), (&json!(sum), &json!(32768)));
    assert_eq!(server.get("/api/tokens/session/none").await.refused().0, 404);
}

#[tokio::test]
async fn rag_mode_survives_restart_and_keeps_other_fields() {
    let world = World::new(script([])).await.with_file("config.json", r#"{"mine": [1], "rag_mode": false}"#);
    let server = world.serve().await;
    assert_eq!(server.get("/api/config/rag-mode").await.ok(), json!({"enabled": false, "conversations": false}));
    let on = json!({"enabled": true, "conversations": false});
    assert_eq!(server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok(), on);
    assert_eq!(server.put("/api/config/rag-mode", json!({"enabled": "yes"})).await.refused().0, 422);
    drop(server);
    let file: Value = serde_json::from_str(&world.read("config.json")).unwrap();
    assert_eq!(file, json!({"mine": [1], "rag_mode": true}));
    let server = world.serve().await;
    assert_eq!(server.get("/api/config/rag-mode").await.ok(), on);
    assert_eq!(server.get("/api/status").await.ok()["rag_mode"], true);
}

#[tokio::test]
async fn memory_saved_in_the_editor_is_found_by_the_next_question() {
    let world = World::new(script([says(["One."]), says(["Two."])])).await;
    let server = world.serve().await;
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    let found = async |question: &str| {
        let frames = server.chat("s", question).await;
        server.settled("s").await;
        frames.into_iter().find(|frame| frame.is("retrieval")).unwrap().data["results"].take()
    };
    assert_eq!(found("企鹅叫什么名字？").await, json!([]));
    let content = "# 宠物\n\n企鹅的名字叫小蓝。\n";
    server.post("/api/files", json!({"path": "memory/MEMORY.md", "content": content})).await.ok();
    assert!(found("企鹅叫什么名字？").await[0]["text"].as_str().unwrap().contains("小蓝"));
}

#[tokio::test]
async fn status_models_and_health_match_configuration() {
    let world = World::new(script([calls([call("c", "terminal", json!({"command": "echo"}))]), says(["Yes."])])).await;
    let server = world.serve().await;
    let health = server.get("/health").await.ok();
    assert_eq!(health, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "quarantine": []}));
    let status = server.get("/api/status").await.ok();
    let model = json!({"provider": status["model"]["provider"], "model": "mock", "label": status["model"]["label"],
        "state": "ready", "progress": null, "detail": null, "small": false, "context_window": 32768,
        "vision": false});
    assert_eq!(status["model"], model);
    let names: Vec<_> = status["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    for tool in ["terminal", "python_repl", "read_file", "search_knowledge_base"] {
        assert!(names.contains(&tool), "{tool}: {names:?}");
    }
    assert_eq!((&status["live_sessions"], &status["running"]), (&json!(0), &json!([])));
    assert!(!status["boot_id"].as_str().unwrap().is_empty() && status["sandbox"]["note"].is_string());
    assert_eq!(status["home"], world.home().canonicalize().unwrap().to_str().unwrap());
    let models = server.get("/api/models").await.ok();
    assert_eq!(models["current"], status["model"]);
    assert_eq!(
        (&models["available"][0]["model"], &models["available"][0]["from"]),
        (&json!("mock"), &json!("environment"))
    );
    server.chat("s", "hi").await;
    assert_eq!(server.get("/api/status").await.ok()["live_sessions"], 1);
}

#[tokio::test]
async fn invalid_file_name_is_refused_with_reason() {
    let world = World::new(script([])).await.with_file("memory/a.md", "x");
    let server = world.serve().await;
    // 86 characters, 258 bytes.
    for name in ["x".repeat(256), "字".repeat(86)] {
        let long = format!("memory/{name}");
        let refused = [
            server.get(&format!("/api/files?path=memory/{}", "x".repeat(256))).await,
            server.post("/api/files", json!({"path": long, "content": "x"})).await,
            server.post("/api/files", json!({"path": format!("{long}/a.md"), "content": "x"})).await,
            server.post("/api/files", json!({"path": format!("skills/{name}/SKILL.md"), "content": "x"})).await,
            server.post("/api/files/rename", json!({"from": "memory/a.md", "to": long})).await,
            server.delete(&format!("/api/files?path=memory/{}", "x".repeat(256))).await,
        ];
        for (at, answer) in refused.into_iter().enumerate() {
            assert!(answer.text().contains("255 bytes"), "{at}: {}", answer.text());
            assert_eq!(answer.refused(), (400, "bad_path".to_owned()), "{at}");
        }
        let long = "1".repeat(256);
        for path in [
            format!("/api/sessions/{long}/history"),
            format!("/api/sessions/s/compacted/s_{long}.json"),
            format!("/api/sessions/s/requests/{long}"),
            format!("/api/sessions/s/works/{long}/retrieved"),
            format!("/api/sessions/s/pictures/{long}"),
        ] {
            assert!(server.get(&path).await.status() < 500, "{path}");
        }
        let trash = format!("20261121T222444.123Z/memory/{name}");
        assert!(server.post("/api/files/restore", json!({"trash": trash})).await.status() < 500);
    }
    let longest = format!("memory/{}.md", "x".repeat(252));
    server.post("/api/files", json!({"path": longest, "content": "x"})).await.ok();
    assert_eq!(world.read(&longest), "x");
}

#[tokio::test]
async fn text_is_found_in_the_files_of_one_root() {
    let world = World::new(script([])).await;
    world.write("knowledge/b/tea.md", "# Tea\n\nGreen TEA is 绿茶.\n");
    world.write("knowledge/a.md", "No such drink.\n");
    world.write("knowledge/tea.pdf", b"%PDF tea \xff\xfe");
    world.write("knowledge/.hidden.md", "green tea\n");
    world.write("memory/m.md", "green tea\n");
    let many = "green tea\n".repeat(60);
    world.write("knowledge/c.md", &many);
    std::os::unix::fs::symlink(world.path("memory/m.md"), world.path("knowledge/link.md")).unwrap();
    let server = world.serve().await;
    let found = server.get("/api/files/search?root=knowledge&text=green%20tea").await.ok();
    let files = found["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["knowledge/b/tea.md", "knowledge/c.md"]);
    assert_eq!(files[0]["lines"], json!([{"line": 3, "excerpt": "Green TEA is 绿茶."}]));
    assert_eq!((files[1]["lines"].as_array().unwrap().len(), &files[1]["left_out"]), (50, &json!(10)));
    assert_eq!(found["more"], false);
    for (query, code) in [("root=knowledge&text=%20", "bad_request"), ("root=sessions&text=a", "bad_root")] {
        assert_eq!(server.get(&format!("/api/files/search?{query}")).await.refused(), (400, code.to_owned()));
    }
}
