//! `miniclaw acp` as an editor uses it.

use serde_json::{Value, json};

use crate::acp_editor::Editor;
use crate::mcp::PROGRAM;
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{ASKING, PLAIN, World, eventually};

fn run_command() -> Value {
    calls([call("t", "terminal", json!({"command": "echo run >> ran.txt"}))])
}

#[tokio::test]
async fn acp_answers_with_and_without_a_running_server() {
    let reply = steps([
        json!({"thinking": "Hm."}),
        json!({"text": "Green "}),
        json!({"text": "tea."}),
        json!({"usage": {"prompt_tokens": 12, "completion_tokens": 3}}),
        json!({"finish": "stop"}),
    ]);
    let world = World::new(script([reply, always(says(["Black tea."]))])).await;
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(folder.path()).await;
    let prompt = editor.prompt(&session, "Which tea?");
    // A folder that was never linked is asked about; without it the conversation works in the home.
    let question = editor.until("session/request_permission").await;
    assert!(question["params"].to_string().contains(folder.path().to_str().unwrap()), "{question}");
    editor.choose(&question, "home");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(
        (editor.text("agent_message_chunk"), editor.text("agent_thought_chunk")),
        ("Green tea.".into(), "Hm.".into())
    );
    assert_eq!(editor.of("usage_update")[0]["used"], 15);
    // It is not asked again.
    let prompt = editor.prompt(&session, "And now?");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    editor.quit().await;

    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let listed = editor.call("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    let opened = json!({"sessionId": session, "cwd": folder.path(), "mcpServers": []});
    let loaded = editor.call("session/load", opened.clone()).await;
    assert_eq!(loaded["modes"]["currentModeId"], "ask");
    assert_eq!(editor.text("user_message_chunk"), "Which tea?And now?");
    assert_eq!(editor.text("agent_message_chunk"), "Green tea.Black tea.");
    editor.updates.clear();
    editor.call("session/resume", opened).await;
    assert_eq!(editor.text("agent_message_chunk"), "");
    let prompt = editor.prompt(&session, "Again?");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(server.settled(&session).await["messages"].as_array().unwrap().len(), 6);
    editor.call("session/close", json!({"sessionId": session})).await;
    assert_eq!(editor.refused("session/prompt", json!({"sessionId": session, "prompt": []})).await, -32602);
    editor.call("session/delete", json!({"sessionId": session})).await;
    assert_eq!(editor.call("session/list", json!({})).await["sessions"], json!([]));
    editor.quit().await;
}

#[tokio::test]
async fn folder_is_asked_about_once_and_edits_show_a_diff() {
    let create = calls([call("c", "create_file", json!({"items": [{"path": "tea.md", "content": "Green.\n"}]}))]);
    let edit = json!({"path": "tea.md", "operations": [{"search": "Green.", "replace": "Black."}]});
    let edit = calls([call("e", "edit_file", edit)]);
    let world = World::new(script([create, says(["Made."]), edit, says(["Changed."]), always(says(["Fine."]))])).await;
    world.write("config.yml", PLAIN);
    let _server = world.serve().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(&path).await;
    let prompt = editor.prompt(&session, "Make it");
    let question = editor.until("session/request_permission").await;
    editor.choose(&question, "link");
    let question = editor.until("session/request_permission").await;
    let call = &question["params"]["toolCall"];
    assert_eq!((&call["toolCallId"], &call["kind"]), (&json!("c"), &json!("edit")));
    let file = path.join("tea.md");
    let diff = call["content"].as_array().unwrap().iter().find(|part| part["type"] == "diff").expect("a diff");
    assert_eq!((&diff["path"], &diff["newText"]), (&json!(file), &json!("Green.\n")));
    assert_eq!(call["locations"][0]["path"], json!(file));
    assert!(!file.exists());
    editor.choose(&question, "once");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Green.\n");
    let last = editor.of("tool_call_update").pop().unwrap().clone();
    assert_eq!((&last["toolCallId"], &last["status"]), (&json!("c"), &json!("completed")));

    // Another session in the same folder is not asked about it, by whatever path it is named.
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let session = editor.session(&link).await;
    let prompt = editor.prompt(&session, "Change it");
    let question = editor.until("session/request_permission").await;
    let content = question["params"]["toolCall"]["content"].as_array().unwrap().clone();
    let diff = content.iter().find(|part| part["type"] == "diff").expect("a diff");
    assert_eq!((&diff["oldText"], &diff["newText"]), (&json!("Green.\n"), &json!("Black.\n")));
    editor.choose(&question, "reject");
    editor.answer(prompt).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Green.\n");
    assert_eq!(editor.of("tool_call_update").pop().unwrap()["status"], "failed");
    let listed = editor.call("session/list", json!({"cwd": path})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    editor.quit().await;
}

#[tokio::test]
async fn question_answered_on_the_page_is_withdrawn() {
    let world = World::new(script([run_command(), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let home = world.home();
    let session = editor.session(&home).await;
    let prompt = editor.prompt(&session, "Run it");
    let question = editor.until("session/request_permission").await;
    assert!(question["params"]["toolCall"]["content"].to_string().contains("echo run >> ran.txt"), "{question}");
    let approval = server.waiting(1).await.remove(0);
    server.decide(&approval, "deny").await;
    let withdrawn = editor.until("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // An answer that comes late does not count.
    editor.choose(&question, "once");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert!(!world.path("scratch/ran.txt").exists());
    editor.quit().await;
}

#[tokio::test]
async fn cancelled_prompt_runs_nothing() {
    let world = World::new(script([run_command(), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(&world.home()).await;
    let prompt = editor.prompt(&session, "Run it");
    let question = editor.until("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session}));
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    editor.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": cancelled}).to_string());
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "cancelled");
    server.settled(&session).await;
    assert!(!world.path("scratch/ran.txt").exists());
    editor.quit().await;
}

#[tokio::test]
async fn cancelled_prompt_leaves_the_queue_only() {
    let held = steps([
        json!({"text": "Half"}),
        json!({"gate": "g"}),
        json!({"text": " and half."}),
        json!({"finish": "stop"}),
    ]);
    let world = World::new(script([held, always(says(["T"]))])).await;
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(&world.home()).await;
    let page = server.open_chat(&session, "First").await;
    eventually("the page's work runs", async || world.asked().len() == 1).await;
    let prompt = editor.prompt(&session, "And then?");
    let history = format!("/api/sessions/{session}/history");
    eventually("the prompt waits in the queue", async || {
        server.get(&history).await.ok()["queue"].as_array().is_some_and(|queue| queue.len() == 1)
    })
    .await;
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "cancelled");
    assert!(server.get(&history).await.ok().get("queue").is_none());
    // The page's work goes on to its end.
    world.provider.open_gate("g");
    page.rest().await;
    let messages = server.settled(&session).await["messages"].clone();
    assert_eq!((messages.as_array().unwrap().len(), &messages[1]["content"]), (2, &json!("Half and half.")));
    editor.quit().await;
}

#[tokio::test]
async fn editor_undoes_and_compresses() {
    let create = calls([call("c", "create_file", json!({"items": [{"path": "tea.md", "content": "Green.\n"}]}))]);
    let world = World::new(script([create, says(["Made."]), always(says(["Fine."]))])).await;
    world.write("config.yml", PLAIN);
    let _server = world.serve().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(&path).await;
    let prompt = editor.prompt(&session, "Make it");
    let question = editor.until("session/request_permission").await;
    editor.choose(&question, "link");
    let question = editor.until("session/request_permission").await;
    editor.choose(&question, "once");
    editor.answer(prompt).await;
    assert!(path.join("tea.md").exists());
    let command = async |editor: &mut Editor, text: &str| {
        editor.updates.clear();
        let prompt = editor.prompt(&session, text);
        let answer = editor.answer(prompt).await;
        (answer, editor.text("agent_message_chunk"))
    };
    let (answer, said) = command(&mut editor, "/undo").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(said.contains("withdrawn") && said.contains("tea.md"), "{said}");
    assert!(!path.join("tea.md").exists());
    let (answer, _) = command(&mut editor, "/undo").await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("nothing to undo"), "{answer}");
    let (answer, _) = command(&mut editor, "/compress").await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("too short"), "{answer}");
    for _ in 0..4 {
        command(&mut editor, "Which tea?").await;
    }
    let (answer, said) = command(&mut editor, "/compress").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(said.starts_with("Messages replaced by this summary: "), "{said}");
    editor.quit().await;
}

#[tokio::test]
async fn modes_of_the_editor_decide_what_is_asked() {
    let world = World::new(script([run_command(), says(["Ran."]), run_command(), says(["Could not."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(&world.home()).await;
    let mode = |id: &str| json!({"sessionId": session, "modeId": id});
    editor.call("session/set_mode", mode("sandboxed")).await;
    let prompt = editor.prompt(&session, "Run it");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    editor.call("session/set_mode", mode("read-only")).await;
    let prompt = editor.prompt(&session, "Run it again");
    editor.answer(prompt).await;
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    assert_eq!(editor.refused("session/set_mode", mode("everything")).await, -32602);
    assert_eq!(
        server.get(&format!("/api/sessions/{session}/history")).await.ok()["chosen"]["permission_mode"],
        "read_only"
    );
    editor.quit().await;
}

#[tokio::test]
async fn skills_are_commands_and_models_can_be_chosen() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    let skill = "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n";
    let world = world.with_file("skills/tea/SKILL.md", skill);
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let made = editor.call("session/new", json!({"cwd": world.home(), "mcpServers": []})).await;
    let session = made["sessionId"].as_str().unwrap().to_owned();
    let model = made["configOptions"][0]["currentValue"].clone();
    let choice = |value: Value| json!({"sessionId": session, "configId": "model", "value": value});
    let chosen = editor.call("session/set_config_option", choice(model.clone())).await;
    assert_eq!(chosen["configOptions"][0]["currentValue"], model);
    assert!(editor.refused("session/set_config_option", choice(json!("nobody/has-this"))).await < 0);
    let history = server.get(&format!("/api/sessions/{session}/history")).await.ok();
    assert_eq!((&history["chosen"]["model"], &history["chosen"]["permission_mode"]), (&model, &json!("ask")));
    let prompt = editor.prompt(&session, "/tea for two");
    editor.answer(prompt).await;
    let commands = editor.of("available_commands_update")[0]["availableCommands"].clone();
    let names: Vec<_> = commands.as_array().unwrap().iter().map(|command| command["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["compress", "undo", "tea"]);
    let asked = world.asked()[0]["messages"].to_string();
    assert!(asked.contains("Use the skill tea (skills/tea/SKILL.md)") && asked.contains("for two"), "{asked}");
    editor.quit().await;
}

#[tokio::test]
async fn servers_of_the_editor_are_used_once_confirmed() {
    let call = calls([call("m", "mcp__Notes__echo", json!({"text": "sky"}))]);
    let world = World::new(script([call, always(says(["Fine."]))])).await;
    world.write("config.yml", PLAIN);
    let server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let notes =
        |name: &str| json!({"name": name, "command": "/usr/bin/python3", "args": ["-c", PROGRAM, "legacy"], "env": []});
    let servers = json!([
        notes("Notes!"),
        {"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []},
    ]);
    let made = editor.call("session/new", json!({"cwd": world.home(), "mcpServers": servers})).await;
    let session = made["sessionId"].as_str().unwrap().to_owned();
    let prompt = editor.prompt(&session, "Look");
    // Its command is shown before it starts, its tools before the model reads them.
    let question = editor.until("session/request_permission").await;
    assert!(question["params"].to_string().contains("python3"), "{question}");
    assert_eq!(server.get("/api/mcp").await.ok()["servers"], json!([]));
    editor.choose(&question, "use");
    let question = editor.until("session/request_permission").await;
    assert!(question["params"].to_string().contains("Repeats a text."), "{question}");
    assert!(world.asked().is_empty());
    editor.choose(&question, "use");
    let question = editor.until("session/request_permission").await;
    assert_eq!(question["params"]["toolCall"]["toolCallId"], "m");
    editor.choose(&question, "once");
    editor.answer(prompt).await;
    let said = editor.text("agent_thought_chunk");
    assert!(said.contains("SSE"), "{said}");
    let offered = world.asked()[0]["tools"].to_string();
    assert!(offered.contains("mcp__Notes__echo"), "{offered}");
    assert_eq!(editor.of("tool_call_update").pop().unwrap()["status"], "completed");

    // Another session with it asks nothing; one with another program of this name is told.
    let brings = |server: Value| json!({"cwd": world.home(), "mcpServers": [server]});
    let other = json!({"name": "Notes", "command": "/bin/false", "args": [], "env": []});
    for (server, is_other) in [(notes("Notes"), false), (other, true)] {
        editor.updates.clear();
        let made = editor.call("session/new", brings(server)).await;
        let prompt = editor.prompt(made["sessionId"].as_str().unwrap(), "hi");
        assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
        assert_eq!(editor.text("agent_thought_chunk").contains("another server has this name"), is_other);
    }
    editor.quit().await;
}

#[tokio::test]
async fn malformed_lines_of_an_editor_are_refused() {
    let world = World::new(script([])).await;
    let _server = world.serve().await;
    let mut editor = Editor::greeted(&world).await;
    let deep = "[".repeat(5_000);
    for (line, code) in [("{", -32700), ("7", -32600), ("[]", -32600), ("{}", -32600), (deep.as_str(), -32700)] {
        editor.write(line);
        let refused = editor.next().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(code)), "{line:.20}");
    }
    editor.write(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    editor.notify("no/such", json!({}));
    editor.notify("session/cancel", json!({"sessionId": "../../x"}));
    assert_eq!(editor.refused("no/such", json!({})).await, -32601);
    assert_eq!(editor.refused("session/new", json!({})).await, -32602);
    assert_eq!(editor.refused("session/new", json!({"cwd": "here", "mcpServers": []})).await, -32602);
    let nobody = json!({"sessionId": "nobody", "cwd": "/tmp", "mcpServers": []});
    assert!(editor.refused("session/load", nobody).await < 0);
    let outside = json!({"sessionId": "../status", "cwd": "/tmp", "mcpServers": []});
    assert_eq!(editor.refused("session/load", outside).await, -32602);
    editor.quit().await;
    eventually("the server still answers", async || _server.get("/health").await.status() == 200).await;
}
