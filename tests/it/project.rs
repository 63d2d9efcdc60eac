//! Sessions that are bound to a project: its tools, their answers and their undo.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{ASKING, CONFIG, Server, World};

/// Creates the session `s`-like session that is bound to scratch/, and returns its id.
async fn bound(server: &Server<'_>) -> String {
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// Asks a question in a bound session and returns the calls of the answer as they are recorded.
async fn made(world: &World, question: &str) -> Vec<Value> {
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, question).await;
    server.settled(&id).await;
    recorded(world, &id)
}

fn recorded(world: &World, id: &str) -> Vec<Value> {
    let session = world.session(id);
    let messages = session["messages"].as_array().unwrap().iter();
    messages.flat_map(|message| message["tool_calls"].as_array().cloned().unwrap_or_default()).collect()
}

fn offered(world: &World, at: usize) -> Vec<String> {
    let tools = world.asked()[at]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn bound_session_has_its_own_tools_and_is_told_so() {
    let world = World::new(script([says(["One."]), says(["Two."]), says(["Three."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "hi").await;
    server.settled(&id).await;
    let names = offered(&world, 0);
    for tool in ["create_file", "move_file", "list_files", "search_files", "bash", "create_todolist", "fetch_url"] {
        assert!(names.iter().any(|name| name == tool), "{tool}: {names:?}");
    }
    assert!(!names.iter().any(|name| name == "terminal" || name == "search_memory"), "{names:?}");
    let system = world.asked()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("<!-- Project -->") && !system.contains("project_id"), "{system}");
    assert_eq!(server.get(&format!("/api/sessions/{id}/history")).await.ok()["project_id"], "scratch");

    let free = server.put(&format!("/api/sessions/{id}/project"), json!({"project_id": null})).await.ok();
    assert_eq!(free["project_id"], json!(null));
    server.chat(&id, "hi").await;
    server.settled(&id).await;
    assert!(offered(&world, 1).iter().any(|name| name == "terminal"));
    server.put(&format!("/api/sessions/{id}/project"), json!({"project_id": "scratch"})).await.ok();
    drop(server);
    let server = world.serve().await;
    server.chat(&id, "hi").await;
    server.settled(&id).await;
    assert!(offered(&world, 2).iter().any(|name| name == "bash"), "the binding outlives a restart");
}

#[tokio::test]
async fn unknown_project_is_refused() {
    let world = World::new(script([says(["Hi."])])).await;
    let server = world.serve().await;
    let refused = server.post("/api/sessions", json!({"project_id": "none"})).await;
    assert_eq!((refused.status(), refused.json()["code"].clone()), (404, json!("not_found")));
    assert_eq!(server.post("/api/sessions", json!({"project_id": "../x"})).await.status(), 422);
    let id = bound(&server).await;
    let path = format!("/api/sessions/{id}/project");
    assert_eq!(server.put(&path, json!({"project_id": "none"})).await.status(), 404);
    assert_eq!(server.put("/api/sessions/nobody/project", json!({"project_id": "scratch"})).await.status(), 404);
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn shown_request_of_a_new_session_is_that_of_its_project() {
    let world = World::new(script([says(["Hi."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let shown = server.get("/api/prompt?project_id=scratch").await.ok();
    let home = server.get("/api/prompt").await.ok();
    let draft = json!({"message": "hi", "project_id": "scratch"});
    let size = server.post("/api/tokens/request", draft).await.ok();
    for path in ["/api/prompt?project_id=none", "/api/prompt?project_id=scratch&session_id=nobody"] {
        assert_eq!(server.get(path).await.refused(), (404, "not_found".to_owned()), "{path}");
    }
    let refused = server.post("/api/tokens/request", json!({"message": "", "project_id": "none"})).await;
    assert_eq!(refused.refused(), (404, "not_found".to_owned()));

    let id = bound(&server).await;
    server.chat(&id, "hi").await;
    server.settled(&id).await;
    let sent = world.asked().remove(0);
    assert_eq!((&shown["request"]["tools"], &shown["system"]), (&sent["tools"], &sent["messages"][0]["content"]));
    assert_ne!(home["request"]["tools"], sent["tools"]);
    assert_eq!((&size["tools_tokens"], &size["system_tokens"]), (&shown["tools_tokens"], &json!(tokens(&shown))));
}

/// Returns the tokens of the system prompt, which the X-ray does not show by itself.
fn tokens(shown: &Value) -> u64 {
    let of = |name: &str| shown[name].as_u64().unwrap();
    of("total_tokens") - of("tools_tokens") - of("message_tokens") - of("retrieved_tokens")
}

#[tokio::test]
async fn items_of_a_call_succeed_or_fail_one_by_one() {
    let items = json!([
        {"path": "/src/a.txt", "content": "one\ntwo\n"}, {"path": "empty", "folder": true}, {"path": "there.txt"},
        {"path": "/src/a.txt/below"}, {"path": "../out.txt"}, {"path": ".git/hooks/x", "content": "x"},
    ]);
    let world =
        World::new(script([calls([call("new", "create_file", json!({"items": items}))]), says(["好。"])])).await;
    world.write("config.yml", CONFIG);
    world.write("scratch/there.txt", "kept");
    let result = made(&world, "请创建文件").await.remove(0)["result"].take();
    assert_eq!(result["status"], 1);
    let data = &result["data"];
    for (path, words) in [
        ("/src/a.txt", "创建结果：create success"),
        ("/empty", "创建结果：create success"),
        ("/there.txt", "创建结果：create fail【文件已存在】"),
        ("/src/a.txt/below", "创建结果：create fail【父目录不存在】"),
        ("/../out.txt", "创建结果：create fail【路径无效】"),
        ("/.git/hooks/x", "创建结果：create fail【路径受保护】"),
    ] {
        assert_eq!(data[path], words, "{path}: {data}");
    }
    let summary = &data["summary"];
    assert_eq!((&summary["total_items"], &summary["failed_creations"]), (&json!(6), &json!(4)));
    assert_eq!(summary["items_by_type"], json!({"files": 5, "folders": 1}));
    assert_eq!(summary["failed_details"][0]["code"], "exists");
    assert_eq!(
        (world.read("scratch/src/a.txt").as_str(), world.read("scratch/there.txt").as_str()),
        ("one\ntwo\n", "kept")
    );
    assert!(world.path("scratch/empty").is_dir() && !world.path("out.txt").exists());
    let changes = json!([{"path": "project/scratch/src/a.txt", "added": 2, "removed": 0, "deleted": false}]);
    assert_eq!((&data["undo"], &data["changes"]), (&json!(true), &changes));
}

#[tokio::test]
async fn all_changes_of_a_call_are_undone_together() {
    let edit =
        json!({"path": "a.txt", "operations": [{"search": "one", "replace": "1"}, {"insert_after": 2, "text": "3"}]});
    let moves = json!({"items": [{"from": "sub", "to": "moved/deep"}, {"from": "run.sh", "to": "bin/run.sh"}]});
    let world = World::new(script([
        calls([call("edit", "edit_file", edit)]),
        calls([call("move", "move_file", moves)]),
        calls([call("gone", "delete_file", json!({"paths": ["moved", "a.txt"], "recursive": true}))]),
        says(["Done."]),
    ]))
    .await;
    world.write("config.yml", CONFIG);
    world.write("scratch/a.txt", "one\r\ntwo\r\n");
    world.write("scratch/sub/x.bin", [0, 255, 1]);
    world.write("scratch/sub/.hidden", "h");
    world.write("scratch/run.sh", "#!/bin/sh\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.path("scratch/run.sh"), executable).unwrap();
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "go").await;
    server.settled(&id).await;
    let calls = recorded(&world, &id);
    assert!(calls.iter().all(|call| call["status"] == "done"), "{calls:#?}");
    assert!(!world.path("scratch/moved").exists() && !world.path("scratch/a.txt").exists());
    for call in ["gone", "move", "edit"] {
        server.post(&format!("/api/sessions/{id}/operations/{call}/undo"), json!({})).await.ok();
    }
    assert_eq!(world.read("scratch/a.txt"), "one\r\ntwo\r\n");
    assert_eq!(std::fs::read(world.path("scratch/sub/x.bin")).unwrap(), [0, 255, 1]);
    assert_eq!(world.read("scratch/sub/.hidden"), "h");
    let mode = std::fs::metadata(world.path("scratch/run.sh")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o111, 0o111);
}

#[tokio::test]
async fn commands_run_in_order_with_the_shape_of_the_document() {
    let commands = json!([
        {"instruction": "pwd; echo one > f", "working_directory": "/sub"}, {"instruction": "ls", "working_directory": "/none"},
        {"instruction": "rm -rf /"}, {"instruction": "no_such_program_x"}, {"instruction": "echo bad >&2; exit 3"},
        {"instruction": "ls", "working_directory": "../../"},
    ]);
    let world = World::new(script([calls([call("run", "bash", json!({"commands": commands}))]), says(["好。"])])).await;
    world.write("config.yml", CONFIG);
    world.write("scratch/sub/x", "");
    let result = made(&world, "运行命令").await.remove(0)["result"].take();
    let rows = result["data"]["commands"].as_array().unwrap().clone();
    let told: Vec<_> = rows.iter().map(|row| (row["result"].as_str().unwrap(), row["exit_code"].clone())).collect();
    assert_eq!(
        told,
        [
            ("执行结果：execute success", json!(0)),
            ("执行结果：execute fail【工作目录不存在】", json!(1)),
            ("执行结果：execute fail【危险操作被阻止】", json!(1)),
            ("执行结果：execute fail【命令不存在】", json!(127)),
            ("执行结果：execute fail【命令执行失败】", json!(3)),
            ("执行结果：execute fail【工作目录不存在】", json!(1)),
        ]
    );
    assert!(rows[0]["output"].as_str().unwrap().ends_with("scratch/sub"));
    assert_eq!((&rows[4]["output_type"], &rows[0]["working_directory"]), (&json!("stderr"), &json!("/sub")));
    let summary = &result["data"]["summary"];
    assert_eq!((&summary["success_rate"], &summary["failed_commands"]), (&json!("16%"), &json!(5)));
    assert_eq!(summary["failed_details"][0]["suggestion"], "请检查工作目录路径是否正确");
    assert_eq!(world.read("scratch/sub/f"), "one\n");
}

#[tokio::test]
async fn output_of_a_running_command_is_shown() {
    // A command does not see what others write into its folder while it runs; its folder for temporary files is another.
    let wait = "echo begun; until [ -e \"$TMPDIR/go\" ]; do sleep 0.05; done; echo ended";
    let run = json!({"commands": [{"instruction": wait}]});
    let world = World::new(script([calls([call("run", "bash", run)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = bound(&server).await;
    let frames = server.open_chat(&id, "go").await.until("tool_output").await;
    let shown = &frames.last().expect("the output is shown before the command ends").data;
    assert_eq!((&shown["call_id"], &shown["text"]), (&json!("run"), &json!("begun\n")));
    let history = server.get(&format!("/api/sessions/{id}/history")).await.ok();
    assert!(history["messages"].to_string().contains("begun"), "a reload shows it too");
    world.signal_command("scratch", "go").await;
    server.settled(&id).await;
    assert_eq!(recorded(&world, &id)[0]["output"], "begun\nended");
}

#[tokio::test]
async fn background_job_is_looked_at_and_stopped() {
    let run = json!({"commands": [{"instruction": "echo begun; touch started; sleep 500"}], "background": true, "timeout": 600});
    let wait = json!({"commands": [{"instruction": "until [ -e started ]; do sleep 0.05; done"}]});
    let world = World::new(script([
        calls([call("start", "bash", run)]),
        calls([call("wait", "bash", wait)]),
        calls([call("look", "bash", json!({"job": "job1"})), call("none", "bash", json!({"job": "job9"}))]),
        calls([call("stop", "bash", json!({"job": "job1", "stop": true}))]),
        says(["Done."]),
    ]))
    .await;
    world.write("config.yml", CONFIG);
    let calls = made(&world, "go").await;
    let data = |at: usize| calls[at]["result"]["data"].clone();
    assert_eq!(data(0), json!({"job": "job1", "state": "running"}));
    assert_eq!(data(2)["state"], "running", "{:#}", calls[2]);
    assert!(calls[3]["output"].as_str().unwrap().contains("there is no job9"));
    assert_eq!(data(4)["state"], "ended");
    assert!(calls[4]["output"].as_str().unwrap().starts_with("begun\n[stopped]"), "{}", calls[4]["output"]);
}

#[tokio::test]
async fn todo_list_is_part_of_the_history_and_outlives_a_restart() {
    let world = World::new(script([
        calls([call("new", "create_todolist", json!({"titles": ["Plan", "Build"]}))]),
        calls([call("done", "done_todo", json!({"item_ids": ["TD_001"]}))]),
        says(["One is done."]),
    ]))
    .await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "go").await;
    server.settled(&id).await;
    drop(server);
    let server = world.serve().await;
    let list = server.get(&format!("/api/sessions/{id}/history")).await.ok()["todo_list"].take();
    assert_eq!((&list["items"][0]["id"], &list["items"][0]["title"]), (&json!("TD_001"), &json!("Plan")));
    assert!(list["items"][0]["completed"].is_string() && list["items"][1]["completed"].is_null());
}

#[tokio::test]
async fn person_sees_every_difference_before_several_files_change() {
    let items = json!([{"path": "a.txt", "content": "new a\n"}, {"path": "b.txt", "content": "new b\n"}]);
    let new = call("new", "create_file", json!({"items": items}));
    let world = World::new(script([calls([new]), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let id = bound(&server).await;
    let frames = server.open_chat(&id, "go").await.until("approval_request").await;
    let asked = &frames.last().expect("a question").data;
    assert_eq!(asked["shown"]["command"], "create /a.txt (+1 line)\ncreate /b.txt (+1 line)");
    let diff = asked["shown"]["diff"].as_str().unwrap();
    assert!(diff.contains("+new a") && diff.contains("+new b"), "{diff}");
    // The file appears while the question waits: nothing may be overwritten.
    world.write("scratch/b.txt", "a person's");
    server.decide(asked, "approve").await;
    server.settled(&id).await;
    assert_eq!(world.read("scratch/b.txt"), "a person's");
    assert!(!world.path("scratch/a.txt").exists(), "what was approved is no longer what would happen");
}

#[tokio::test]
async fn database_is_made_read_and_taken_back() {
    let sql = |id: &str, sql: &str, write: bool| call(id, "sql", json!({"sql": sql, "write": write}));
    let world = World::new(script([
        calls([sql("none", "SELECT 1", false)]),
        calls([sql("new", "CREATE TABLE tea (name TEXT); INSERT INTO tea VALUES ('龙井'), ('oolong')", true)]),
        calls([sql("read", "SELECT name FROM tea ORDER BY name", false), sql("sneak", "DELETE FROM tea", false)]),
        calls([sql("out", "ATTACH '/etc/passwd' AS x", true)]),
        says(["Done."]),
    ]))
    .await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "go").await;
    server.settled(&id).await;
    let calls = recorded(&world, &id);
    let data = |at: usize| calls[at]["result"]["data"].clone();
    assert_eq!((data(0)["code"].clone(), data(1)["affected_rows"].clone()), (json!("not_found"), json!(2)));
    assert_eq!(data(2)["rows"], json!([{"name": "oolong"}, {"name": "龙井"}]));
    assert_eq!(data(2)["schema_info"], json!({"table": "tea", "columns": ["name"], "operation_type": "SELECT"}));
    assert_eq!(data(3)["code"], "read_only", "{:#}", calls[3]);
    assert!(calls[4]["output"].as_str().unwrap().contains("not authorized"), "{}", calls[4]["output"]);
    assert!(world.path("scratch/data.sqlite").is_file());
    server.post(&format!("/api/sessions/{id}/operations/new/undo"), json!({})).await.ok();
    assert!(!world.path("scratch/data.sqlite").exists());
}
