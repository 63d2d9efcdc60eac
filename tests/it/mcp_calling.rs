//! Tools that programs call themselves over MCP: who may, what a person is asked, and what is recorded.

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, NEW, OLD, token};
use crate::people::{admin, ask};
use crate::script::{always, says, script};
use crate::world::{Server, World, eventually};

const OFFERED: &str =
    "find_local_models: false\nmcp_server: {tools: [terminal, edit_file]}\napprovals: {effects: {execute: allow}}\n";
const ASKING: &str =
    "find_local_models: false\nmcp_server: {tools: [terminal]}\napprovals: {effects: {execute: ask}}\n";

async fn names(client: &McpClient<'_, '_>) -> Vec<String> {
    let list = client.result("tools/list", json!({})).await;
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

async fn sessions(server: &Server<'_>) -> Vec<Value> {
    server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().clone()
}

fn run(command: &str) -> Value {
    json!({"command": command})
}

#[tokio::test]
async fn only_tokens_for_tools_call_them() {
    let world = World::new(script([])).await;
    world.write("config.yml", OFFERED);
    let server = world.serve().await;
    let (reads, asks, calls) = (token(&world, "read").await, token(&world, "ask").await, token(&world, "tools").await);
    for bearer in [&reads, &asks] {
        let client = McpClient::with_token(&server, NEW, bearer);
        assert!(!names(&client).await.contains(&"terminal".to_owned()));
        let refused = client.error("tools/call", json!({"name": "terminal", "arguments": run("true")})).await;
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    let client = McpClient::with_token(&server, NEW, &calls);
    let listed = names(&client).await;
    assert!(["terminal", "edit_file", "ask"].iter().all(|name| listed.contains(&(*name).to_owned())), "{listed:?}");
    let refused = client.error("tools/call", json!({"name": "python_repl", "arguments": {"code": "1"}})).await;
    assert_eq!(refused["code"], -32602, "it is not named in the configuration");

    let done = client.call("terminal", run("echo one >> ran.txt; cat ran.txt")).await;
    assert_eq!(done["isError"], json!(false), "{done}");
    assert!(text(&done).contains("one"), "{done}");
    let failed = client.call("terminal", json!({"command": 7})).await;
    assert_eq!(failed["isError"], true, "{failed}");
    client.call("terminal", run("echo two >> ran.txt")).await;
    assert_eq!(world.read("scratch/ran.txt"), "one\ntwo\n");
    assert_eq!(world.asked().len() + world.provider.requests().len(), 0, "no model was asked, not even for a title");

    // The person sees each call in one conversation, and can take a change back.
    let all = sessions(&server).await;
    assert_eq!(all.len(), 1, "{all:?}");
    let stored = server.settled(all[0]["id"].as_str().unwrap()).await;
    let works = stored["messages"].as_array().unwrap();
    let called: Vec<&Value> = works.iter().filter_map(|message| message["tool_calls"].as_array()).flatten().collect();
    assert_eq!(called.len(), 3, "{stored}");
    assert!(called[0]["arguments"]["command"].as_str().unwrap().contains("echo one"));
    assert_eq!(works[0]["content"], "A program called terminal over MCP.");

    // Such a token reaches the OpenAI API, and nothing else.
    let bearer = format!("Bearer {calls}");
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(server.send("GET", "/v1/models", &headers, b"").await.status(), 200);
    assert_eq!(server.send("GET", "/api/sessions", &headers, b"").await.refused(), (403, "ask_token".to_owned()));
}

#[tokio::test]
async fn nothing_is_offered_unless_it_is_configured() {
    let world = World::new(script([])).await;
    world.write("config.yml", "find_local_models: false\n");
    let server = world.serve().await;
    let client = McpClient::with_token(&server, NEW, &token(&world, "tools").await);
    assert_eq!(names(&client).await.len(), 7);
    let refused = client.error("tools/call", json!({"name": "terminal", "arguments": run("true")})).await;
    assert_eq!(refused["code"], -32602);
    assert_eq!(sessions(&server).await, Vec::<Value>::new());
    drop(server);
    for wrong in ["ask", "bash", "read_file", "mcp__x__y", "termnal"] {
        world.write("config.yml", format!("mcp_server: {{tools: [{wrong}]}}\n"));
        let home = world.home();
        let refused = world.run(&["serve", "--home", home.to_str().unwrap(), "--port", "0"]).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(wrong) && said.contains("terminal, python_repl"), "{said}");
    }
}

#[tokio::test]
async fn called_tool_that_needs_approval_waits_for_the_page() {
    let world = World::new(script([])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let token = token(&world, "tools").await;
    let mut client = McpClient::with_token(&server, NEW, &token);
    client.capabilities = json!({"elicitation": {"url": {}}});
    // With progress, the answer to the repeated request begins at once.
    let progress = json!({"progressToken": 1});
    let params = json!({"name": "terminal", "arguments": run("echo run >> ran.txt"), "_meta": progress});
    let asked = client.result("tools/call", params.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let approval = server.waiting(1).await.remove(0);
    let page = format!("http://{}/s/{}", server.address, approval["session_id"].as_str().unwrap());
    assert_eq!(asked["inputRequests"]["approval"]["params"]["url"], page);

    // Another call does not wait behind it.
    let other = client.result("tools/call", json!({"name": "terminal", "arguments": run("echo other")})).await;
    assert_eq!(other["resultType"], "input_required", "{other}");
    assert_eq!(sessions(&server).await.len(), 2);

    // A program cannot have any number of calls under way.
    for n in 0..6 {
        let more = client.call("terminal", run(&format!("echo {n}"))).await;
        assert_eq!(more["resultType"], "input_required", "{more}");
    }
    let refused = client.call("terminal", run("echo too many")).await;
    assert!(text(&refused).contains("too_many_calls"), "{refused}");

    let mut repeated = params;
    repeated["requestState"] = asked["requestState"].clone();
    repeated["inputResponses"] = json!({"approval": {"action": "accept"}});
    let waits = client.open("tools/call", repeated).await;
    assert!(!world.path("scratch/ran.txt").exists(), "what the client says is no answer");
    server.decide(&approval, "approve").await;
    assert!(waits.body_text().await.contains("\"isError\":false"));
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}

#[tokio::test]
async fn denied_call_is_an_error_and_runs_nothing() {
    let world = World::new(script([])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let client = McpClient::with_token(&server, OLD, &token(&world, "tools").await);
    let open = client.open("tools/call", json!({"name": "terminal", "arguments": run("echo x > ran.txt")})).await;
    let approval = server.waiting(1).await.remove(0);
    server.decide(&approval, "deny").await;
    assert!(open.body_text().await.contains("\"isError\":true"));
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn call_that_waits_survives_a_restart() {
    let world = World::new(script([])).await;
    world.write("config.yml", ASKING);
    let token = token(&world, "tools").await;
    let session = {
        let server = world.serve().await;
        let mut client = McpClient::with_token(&server, NEW, &token);
        client.capabilities = json!({"elicitation": {"url": {}}});
        client.call("terminal", run("echo run >> ran.txt")).await;
        let session = server.waiting(1).await[0]["session_id"].as_str().unwrap().to_owned();
        server.signal(9);
        session
    };
    let server = world.serve().await;
    let approval = server.waiting(1).await.remove(0);
    assert_eq!(approval["session_id"], session.as_str());
    server.decide(&approval, "approve").await;
    eventually("the call has run", async || world.path("scratch/ran.txt").exists()).await;
    server.settled(&session).await;
    let stored = world.session(&session);
    assert_eq!(stored["works"][0]["outcome"]["stop_reason"], "done", "{stored}");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}

#[tokio::test]
async fn access_tokens_of_people_call_tools_in_their_home() {
    let config = "mcp_server: {tools: [edit_file, create_file]}";
    let world = crate::people::world_with(script([always(says(["Fine."]))]), config).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let token = async |scope: &str| {
        let made = ask(&server, &ada, ("POST", "/api/auth/tokens"), json!({"name": "mcp", "scope": scope})).await.ok();
        made["data"]["token"].as_str().unwrap().to_owned()
    };
    let (full, tools) = (token("full").await, token("tools").await);
    let create = json!({"path": "knowledge/made.md", "content": "# Made\n"});
    let full = McpClient::with_token(&server, NEW, &full);
    assert_eq!(full.error("tools/call", json!({"name": "create_file", "arguments": create})).await["code"], -32602);
    let client = McpClient::with_token(&server, NEW, &tools);
    let made = client.call("create_file", create).await;
    assert_eq!(made["isError"], json!(false), "{made}");
    let read = client.call("read_file", json!({"path": "knowledge/made.md"})).await;
    assert_eq!(read["structuredContent"]["content"], "# Made\n");
    let bearer = format!("Bearer {tools}");
    let refused = server.send("GET", "/api/sessions", &[("Authorization", &bearer)], b"").await.refused();
    assert_eq!(refused, (403, "ask_token".to_owned()));
}
