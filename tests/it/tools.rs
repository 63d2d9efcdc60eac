//! Tools through the whole loop: the model's calls, what is run, the results that the model reads, and what is recorded.

use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, Server, World};

/// Returns the texts of the tool messages in the last request for an answer.
fn results(world: &World) -> Vec<String> {
    let messages = world.asked().pop().expect("a request")["messages"].take();
    let after_question = messages.as_array().unwrap().rsplit(|m| m["role"] == "user").next().unwrap().to_vec();
    let tools = after_question.iter().filter(|m| m["role"] == "tool");
    tools.map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

async fn one_call(tool: &str, arguments: Value) -> (World, String) {
    let world = World::new(script([calls([call("c", tool, arguments)]), says(["Yes."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    assert!(frames.iter().any(|frame| frame.is("done")), "{frames:#?}");
    server.settled("s").await;
    drop(server);
    let result = results(&world).pop().expect("a result");
    (world, result)
}

#[tokio::test]
async fn terminal_output_reaches_model_and_record() {
    let (world, result) = one_call("terminal", json!({"command": "echo out; echo err >&2; exit 3"})).await;
    assert!(result.contains("out") && result.contains("err") && result.contains('3'), "{result}");
    let recorded = world.session("s")["messages"][1]["tool_calls"][0].take();
    assert_eq!(recorded["output"], result);
    assert_eq!(recorded["result"]["operationCode"], json!(["echo out; echo err >&2; exit 3"]));
    for field in ["status", "message", "data"] {
        assert!(recorded["result"].get(field).is_some(), "{recorded}");
    }
    assert!(recorded["duration_ms"].is_u64() && recorded["started_at"].is_number());
}

#[tokio::test]
async fn terminal_writes_only_in_scratch_and_reads_no_secrets() {
    let command = "pwd; echo x > made.txt; echo evil > ../workspace/SOUL.md; echo evil > ../config.yml; \
                   echo evil > ../sessions/evil.json; cat ../.env; echo end";
    let world = World::new(script([calls([call("c", "terminal", json!({"command": command}))]), says(["Yes."])]))
        .await
        .with_file(".env", "HIDDEN=the-hidden-word\n");
    let soul = world.read("workspace/SOUL.md");
    let server = world.serve().await;
    server.chat("s", "go").await;
    let result = results(&world).pop().unwrap();
    assert!(result.contains("scratch") && result.contains("end"), "{result}");
    assert!(!result.contains("the-hidden-word"), "{result}");
    assert_eq!(world.read("workspace/SOUL.md"), soul);
    assert_eq!(world.read("config.yml"), CONFIG);
    assert!(!world.path("sessions/evil.json").exists());
    assert_eq!(world.read("scratch/made.txt"), "x\n");
}

#[tokio::test]
async fn command_environment_holds_no_key() {
    let (_, result) =
        one_call("terminal", json!({"command": "env; cat /proc/self/environ | tr '\\0' '\\n'; echo end"})).await;
    assert!(result.contains("end") && !result.contains("OPENAI") && !result.contains("canary"), "{result}");
}

#[tokio::test]
async fn python_remembers_within_a_session_and_not_across() {
    let code = |id: &str, code: &str| calls([call(id, "python_repl", json!({"code": code}))]);
    let world = World::new(script([
        code("a", "x = 20"),
        code("b", "x += 1\nprint(x * 2)"),
        says(["Yes."]),
        code("c", "print('still', x)"),
        says(["Yes."]),
        code("d", "print('here', 'x' in globals())"),
        says(["Yes."]),
    ]))
    .await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    assert!(results(&world)[1].contains("42"), "{:?}", results(&world));
    server.settled("s").await;
    server.chat("s", "second").await;
    assert!(results(&world)[0].contains("still 21"), "{:?}", results(&world));
    server.chat("other", "third").await;
    assert!(results(&world)[0].contains("here False"), "{:?}", results(&world));
}

#[tokio::test]
async fn read_file_stays_in_roots() {
    let paths = [
        "../user/x",
        "/etc/hostname",
        ".env",
        "config.yml",
        "sessions/other.json",
        "memory/link.md",
        "memory/../.env",
        "storage/x",
        "nothing.md",
        "memory",
    ];
    let asked =
        calls(paths.iter().enumerate().map(|(n, path)| call(&format!("c{n}"), "read_file", json!({"path": path}))));
    let world = World::new(script([asked, says(["Yes."])]))
        .await
        .with_file(".env", "HIDDEN=the-hidden-word\n")
        .with_file("sessions/other.json", r#"{"messages": [], "title": "the-hidden-word"}"#)
        .with_file("storage/x", "the-hidden-word");
    std::os::unix::fs::symlink(world.path(".env"), world.path("memory/link.md")).unwrap();
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    let ends: Vec<_> = frames.iter().filter(|f| f.is("tool_end")).map(|f| f.data["status"].clone()).collect();
    assert_eq!(ends, vec![json!("error"); paths.len()]);
    assert_eq!(results(&world).len(), paths.len());
    assert!(!results(&world).concat().contains("the-hidden-word"));
}

#[tokio::test]
async fn chinese_search_follows_every_edit() {
    let search = |id: &str, query: &str| calls([call(id, "search_knowledge_base", json!({"query": query}))]);
    let world = World::new(script([
        search("a", "企鹅会飞吗？"),
        says(["Yes."]),
        search("b", "企鹅会飞吗？"),
        says(["Yes."]),
        search("c", "企鹅会飞吗？"),
        says(["Yes."]),
    ]))
    .await
    .with_file("knowledge/动物/鸟类.md", "# 鸟类\n\n企鹅不会飞，但是游得很快。\n")
    .with_file("knowledge/city.md", "# 城市\n\n北京是中国的首都。\n");
    let server = world.serve().await;
    server.chat("s", "one").await;
    let found = results(&world).pop().unwrap();
    assert!(found.starts_with("[1] knowledge/动物/鸟类.md") && found.contains("企鹅不会飞"), "{found}");
    world.write("knowledge/动物/鸟类.md", "# 鸟类\n\n企鹅会飞，如果坐飞机的话。\n");
    server.chat("s", "two").await;
    let found = results(&world).pop().unwrap();
    assert!(found.contains("坐飞机") && !found.contains("游得很快"), "{found}");
    std::fs::remove_file(world.path("knowledge/动物/鸟类.md")).unwrap();
    server.chat("s", "three").await;
    let found = results(&world).pop().unwrap();
    assert!(!found.contains("企鹅会飞，"), "{found}");
}

#[tokio::test]
async fn invalid_call_is_answered_and_not_run() {
    let bad = [
        call("c0", "bash", json!({"command": "touch ran"})),
        call("c1", "terminal", json!("{\"command\": \"touch ran\"")),
        call("c2", "terminal", json!({"command": ["touch", "ran"]})),
    ];
    let more = [
        call("c3", "terminal", json!({"command": "touch ran", "cwd": "/"})),
        call("c4", "terminal", json!("")),
        call("c5", "terminal", json!("[]")),
    ];
    let world = World::new(script([calls(bad), says(["Yes."]), calls(more), says(["Yes."]), says(["On."])])).await;
    let server = world.serve().await;
    for message in ["one", "two"] {
        let frames = server.chat("s", message).await;
        let ends: Vec<_> = frames.iter().filter(|f| f.is("tool_end")).map(|f| f.data["status"].clone()).collect();
        assert_eq!(ends, ["error", "error", "error"]);
        assert!(frames.iter().any(|frame| frame.is("done")));
        for result in results(&world) {
            assert!(result.contains("Nothing was run"), "{result}");
        }
        server.settled("s").await;
    }
    assert!(!world.path("scratch/ran").exists());
    let kept = world.session("s")["messages"][1]["tool_calls"].take();
    assert_eq!(kept[1]["arguments"], "{\"command\": \"touch ran\"", "exactly what the model sent");
    // The broken arguments go back to the provider in a shape that it accepts: checked when the test ends.
    server.chat("s", "three").await;
}

#[tokio::test]
async fn truncated_call_is_never_run() {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        json!({"bytes": format!("data: {chunk}\n\n")})
    };
    let begun = || {
        let function = json!({"name": "terminal", "arguments": "{\"command\": \"touch ran\""});
        chunk(json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}), Value::Null)
    };
    let at_the_limit = steps([begun(), chunk(json!({}), json!("length")), json!({"bytes": "data: [DONE]\n\n"})]);
    let broken_off = steps([json!({"text": "I run it."}), begun(), json!({"close": true})]);
    let world = World::new(script([at_the_limit, says(["Shorter."]), broken_off, says(["On."])])).await;
    let server = world.serve().await;
    for message in ["one", "two", "three"] {
        let frames = server.chat("s", message).await;
        assert_eq!(frames.iter().filter(|frame| frame.is("done") || frame.is("error")).count(), 1, "{frames:#?}");
        server.settled("s").await;
    }
    assert!(!world.path("scratch/ran").exists());
}

#[tokio::test]
async fn repeated_call_is_warned_and_then_stopped() {
    let same = calls([call("c", "terminal", json!({"command": "echo once more >> count.txt"}))]);
    let world = World::new(script([always(same)])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    let end = frames.iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!(end.data["stop_reason"], "limit");
    assert!(end.data["detail"].as_str().unwrap().contains("same terminal call"), "{end:?}");
    assert_eq!(world.read("scratch/count.txt").lines().count(), 2);
    assert_eq!(world.asked().len(), 5);
    server.settled("s").await;
    let last = world.session("s")["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["stop_reason"], "limit");
}

#[tokio::test]
async fn model_that_repeats_invalid_calls_is_stopped() {
    let replies = (0..10).map(|n| calls([call("c", "nonsense", json!({"n": n}))]));
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    let end = server.chat("s", "go").await.into_iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!(end.data["stop_reason"], "limit");
    assert_eq!(world.asked().len(), 4);
}

#[tokio::test]
async fn number_of_dialogues_is_limited() {
    let replies = (0..10).map(|n| calls([call("c", "terminal", json!({"command": format!("echo {n}")}))]));
    let world = World::new(script(replies)).await.with_file("config.yml", &format!("{CONFIG}max_iterations: 3\n"));
    let server = world.serve().await;
    let end = server.chat("s", "go").await.into_iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!(end.data["stop_reason"], "limit");
    assert!(end.data["detail"].as_str().unwrap().contains("max_iterations"), "{end:?}");
    assert_eq!(world.asked().len(), 3);
    // The next request contains all calls with their results: checked when the test ends.
    server.settled("s").await;
    server.chat("s", "go on").await;
}

#[tokio::test]
async fn run_output_is_limited() {
    let wordy = |n: usize| {
        let usage = json!({"usage": {"prompt_tokens": 10, "completion_tokens": 90_000}});
        steps([call("c", "terminal", json!({"command": format!("echo {n}")})), usage, json!({"finish": "tool_calls"})])
    };
    let world = World::new(script((0..10).map(wordy))).await;
    let server = world.serve().await;
    let end = server.chat("s", "go").await.into_iter().find(|frame| frame.is("done")).expect("an end");
    assert_eq!(end.data["stop_reason"], "limit");
    assert!(end.data["detail"].as_str().unwrap().contains("200000 tokens"), "{end:?}");
    assert_eq!(world.asked().len(), 3, "the third passes the limit");
}

#[tokio::test]
async fn parallel_calls_have_results_in_order() {
    let together = steps([
        json!({"text": "Three at once."}),
        call("same", "read_file", json!({"path": "knowledge/a.md"})),
        call("same", "read_file", json!({"path": "knowledge/b.md"})),
        call("", "terminal", json!({"command": "echo ran > order.txt; echo third"})),
        call("x", "terminal", json!({"command": "cat order.txt"})),
        call("y", "search_knowledge_base", json!({"query": "alpha"})),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([together, says(["Yes."])]))
        .await
        .with_file("knowledge/a.md", "alpha\n")
        .with_file("knowledge/b.md", "beta\n");
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    let results = results(&world);
    for (result, sign) in results.iter().zip(["alpha", "beta", "third", "ran", "knowledge/a.md"]) {
        assert!(result.contains(sign), "{sign}: {results:?}");
    }
    assert_eq!(results.len(), 5);
    let names: Vec<&str> = frames.iter().map(|f| f.event.as_str()).filter(|name| name.starts_with("tool")).collect();
    // The two read-only calls run in parallel; the others run one after another.
    let (start, end) = ("tool_start", "tool_end");
    assert_eq!(names, [start, start, end, end, start, end, start, end, start, end]);
    let started: Vec<_> = frames.iter().filter(|f| f.is(start)).map(|f| f.data["id"].clone()).collect();
    let ended: Vec<_> = frames.iter().filter(|f| f.is(end)).map(|f| f.data["id"].clone()).collect();
    assert_eq!(started, ended);
}

#[tokio::test]
async fn long_output_is_truncated_with_notice() {
    let (_, result) = one_call("terminal", json!({"command": "seq 1 20000"})).await;
    let characters = result.chars().count();
    assert!((4_000..6_000).contains(&characters), "{characters}");
    assert!(result.contains("20000"), "the end is kept");
}

#[tokio::test]
async fn unstartable_command_is_an_error_and_run_continues() {
    let long = format!("touch ran # {}", "x".repeat(200 << 10));
    let world =
        World::new(script([calls([call("c", "terminal", json!({"command": long}))]), says(["Then not."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    let end = frames.iter().find(|frame| frame.is("tool_end")).unwrap();
    assert_eq!(end.data["status"], "error");
    let said = end.data["output"].as_str().unwrap();
    assert!(said.contains("Argument list too long") && said.contains("over 128 KB is too long"), "{said}");
    assert!(!world.path("scratch/ran").exists());
    assert!(frames.iter().any(|frame| frame.is("done") && frame.data["content"] == "Then not."), "{frames:#?}");
}

#[tokio::test]
async fn exhausting_command_hits_a_named_limit() {
    let forks = "python3 -c 'import os,time\nwhile True:\n if os.fork()==0: time.sleep(60); os._exit(0)'";
    let hungry = [
        (forks, "about 256 processes"),
        ("python3 -c 'x=bytearray(3<<30)'", "3 GiB of memory"),
        ("truncate -s 2G big; exit $?", "larger than allowed here"),
        ("ulimit -t 1; while :; do :; done", "processor time"),
    ];
    let made = hungry
        .iter()
        .enumerate()
        .map(|(n, (command, _))| call(&format!("c{n}"), "terminal", json!({"command": command})));
    let world = World::new(script([calls(made.collect::<Vec<_>>()), says(["Enough."]), says(["Yes."])])).await;
    // As root the commands become another user, who must be able to enter this folder; otherwise the process limit would fail.
    std::fs::set_permissions(world.home().parent().unwrap(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "go").await;
    let mut ended = Vec::new();
    let mut served = 0;
    while ended.len() < hungry.len() {
        tokio::select! {
            frame = stream.next() => {
                let frame = frame.expect("the run goes on");
                if frame.is("tool_end") {
                    ended.push(frame.data["output"].as_str().unwrap().to_owned());
                }
            }
            answer = server.get("/health") => {
                assert_eq!(answer.status(), 200);
                served += 1;
            }
        }
    }
    for ((command, limit), said) in hungry.iter().zip(&ended) {
        assert!(said.contains(limit), "{command}: {said}");
    }
    assert!(served > 20, "{served} answers meanwhile");
    assert!(stream.rest().await.iter().any(|frame| frame.is("done")));
    server.chat("other", "hi").await;
}

#[tokio::test]
async fn failed_tool_does_not_end_run() {
    let server_alive = async |server: &Server<'_>| server.get("/health").await.ok()["status"] == "ok";
    let world = World::new(script([
        calls([call("a", "python_repl", json!({"code": "import os; os._exit(9)"}))]),
        calls([call("b", "python_repl", json!({"code": "print('new one')"}))]),
        says(["Yes."]),
    ]))
    .await;
    let server = world.serve().await;
    assert!(server.chat("s", "go").await.iter().any(|frame| frame.is("done")));
    assert!(results(&world)[1].contains("new one"), "{:?}", results(&world));
    assert!(server_alive(&server).await);
}
