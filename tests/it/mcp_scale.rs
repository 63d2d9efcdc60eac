//! Many MCP servers with many tools, and servers that go away and come back.

use serde_json::{Value, json};

use crate::mcp::{confirmed, entry, one, results, trust};
use crate::script::{always, call, calls, says, script};
use crate::world::{Server, World, eventually};

const PROGRAM: &str = include_str!("../fixtures/mcp/catalogue.py");
const CATALOGUE: &str = include_str!("../fixtures/mcp/catalogue.txt");
/// The tool that answers a question, and the question.
const QUESTIONS: &str = include_str!("../fixtures/mcp/questions.txt");

/// Adds a server for each section of the catalogue, and trusts all of their tools.
async fn add_catalogue(server: &Server<'_>) -> usize {
    let mut tools = 0;
    for section in CATALOGUE.lines().filter_map(|line| line.strip_prefix("# ")) {
        let entry = json!({"command": "/usr/bin/python3", "args": ["-c", PROGRAM, section, CATALOGUE]});
        let listed = confirmed(server, section, entry).await;
        let names: Vec<&str> =
            listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(!names.is_empty(), "{listed}");
        tools += names.len();
        trust(server, section, &names).await;
    }
    tools
}

#[tokio::test]
async fn three_hundred_tools_cost_a_request_nothing() {
    let world = World::new(script([always(says(["Hello."]))])).await.with_file("workspace/SOUL.md", "mine\n");
    world.run(&["init", world.home().to_str().unwrap()]).await;
    let server = world.serve().await;
    assert_eq!(add_catalogue(&server).await, 300);
    for turn in 0..20 {
        server.chat(&format!("s{}", turn % 3), "hi").await;
    }
    let asked = world.asked();
    let bytes = asked[0].to_string().len();
    assert!(bytes <= 6_844, "{bytes} bytes for \"hi\"");
    let arrays: Vec<String> = asked.iter().map(|request| request["tools"].to_string()).collect();
    assert_eq!(arrays.len(), 20);
    assert!(arrays.windows(2).all(|pair| pair[0] == pair[1]), "a provider's cache holds");
}

#[tokio::test]
async fn right_tool_is_among_five_for_most_questions() {
    let questions: Vec<(&str, &str)> = QUESTIONS.lines().filter_map(|line| line.split_once('\t')).collect();
    assert_eq!(questions.len(), 60);
    let ids: Vec<String> = (0..questions.len()).map(|index| format!("q{index}")).collect();
    let find = |index: usize| call(&ids[index], "find_tools", json!({"query": questions[index].1}));
    let mut replies: Vec<_> =
        (0..6).map(|part| calls((0..10).map(|at| find(part * 10 + at)).collect::<Vec<_>>())).collect();
    replies.push(says(["Yes."]));
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    add_catalogue(&server).await;
    server.chat("s", "go").await;
    server.settled("s").await;
    let found = results(&world);
    assert_eq!(found.len(), 60);
    let is_found = |(tool, _): (&str, &str), text: &str| {
        let (section, name) = tool.split_once('/').unwrap();
        let defined = text.split("\nAlso: ").next().unwrap();
        defined.contains(&format!("mcp__{section}__{name}"))
    };
    let missed: Vec<_> = questions
        .iter()
        .zip(&found)
        .filter(|(question, text)| !is_found(**question, text))
        .map(|(question, _)| question)
        .collect();
    assert!(missed.len() <= 3, "{missed:?}");
}

/// Returns the names of a server's tools in the last request.
fn offered(world: &World) -> Vec<String> {
    let tools = world.asked().pop().expect("a request")["tools"].take();
    let names = tools.as_array().unwrap().iter().filter_map(|tool| tool["function"]["name"].as_str());
    names.filter(|name| name.starts_with("mcp__")).map(str::to_owned).collect()
}

#[tokio::test]
async fn tools_are_there_after_each_of_fifty_kills() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    confirmed(&server, "pets", entry("legacy", json!({"load": "always"}))).await;
    trust(&server, "pets", &["echo", "die"]).await;
    let tool = async |name: &str| {
        let body = json!({"tool": name, "arguments": {"text": "x"}});
        server.as_page("POST", "/api/mcp/pets/call", body).await
    };
    for kill in 0..50 {
        assert_eq!(tool("die").await.status(), 502, "kill {kill}");
        server.chat(&format!("s{}", kill % 5), "go").await;
        assert_eq!(offered(&world), ["mcp__pets__echo", "mcp__pets__die"], "kill {kill}");
        assert_eq!(tool("echo").await.ok()["text"], "you said x", "kill {kill}");
    }
}

#[tokio::test]
async fn announced_tools_are_there_in_the_next_exchange() {
    let replies = (0..10).flat_map(|turn| {
        let text = json!({});
        [calls([call(&format!("c{turn}"), "mcp__pets__pull", text)]), says(["Yes."])]
    });
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    confirmed(&server, "pets", entry("legacy", json!({"load": "always"}))).await;
    trust(&server, "pets", &["echo", "pull"]).await;
    let mode = world.path("storage/mcp/pets/mode");
    for turn in 0..10 {
        let _ = std::fs::remove_file(&mode);
        server.as_page("POST", "/api/mcp/pets/reconnect", json!({})).await.ok();
        server.chat(&format!("s{turn}"), "go").await;
        // The call has changed a description, and the exchange after it knows.
        let shown = one(&server.get("/api/mcp").await.ok(), "pets");
        assert_eq!(crate::mcp::state(&shown, "echo"), "description_changed", "turn {turn}: {:?}", results(&world));
        assert!(offered(&world).contains(&"mcp__pets__echo".to_owned()));
    }
}

#[tokio::test]
async fn server_that_starts_late_is_there_once_it_runs() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let program = world.path("scratch/late.py");
    let late = json!({"command": "/usr/bin/python3", "args": [program], "miniclaw": {"read": ["scratch/late.py"], "load": "always"}});
    std::fs::create_dir_all(world.path("scratch")).unwrap();
    let refused = confirmed(&server, "late", late).await;
    assert_eq!(refused["status"], "failed", "{refused}");
    server.chat("s", "go").await;
    assert!(offered(&world).is_empty());
    let text = PROGRAM.replace("sys.argv[1], sys.argv[2]", &format!("\"chat\", {}", Value::from(CATALOGUE)));
    std::fs::write(&program, text).unwrap();
    let mut turn = 0;
    eventually("it is started again by itself", async || {
        turn += 1;
        server.chat(&format!("s{turn}"), "go").await;
        one(&server.get("/api/mcp").await.ok(), "late")["status"] == "running"
    })
    .await;
    trust(&server, "late", &["post_message"]).await;
    server.chat("last", "go").await;
    assert_eq!(offered(&world), ["mcp__late__post_message"]);
}
