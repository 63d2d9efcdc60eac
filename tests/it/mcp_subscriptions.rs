//! Clients of the MCP server that listen to changes, and what ends their streams.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::http::Incoming;
use crate::mcp_client::{McpClient, NEW, OLD, token};
use crate::people::{admin, ask, joined};
use crate::script::{always, says, script, steps};
use crate::socket_client::Socket;
use crate::world::{Server, World, eventually};

const MEMORY: &str = "miniclaw:///memory/MEMORY.md";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const UPDATED: &str = "notifications/resources/updated";
const RESOURCES: &str = "notifications/resources/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";

fn listening(uris: &[&str]) -> Value {
    json!({"notifications": {"resourcesListChanged": true, "promptsListChanged": true, "resourceSubscriptions": uris}})
}

/// Opens a stream, and returns it with what was acknowledged.
async fn listen(client: &McpClient<'_, '_>, params: Value) -> (Incoming, Value) {
    let mut open = client.open("subscriptions/listen", params).await;
    let mut first = open.next_data().await.expect("an acknowledgement");
    assert_eq!(first["method"], ACKNOWLEDGED, "{first}");
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7, "{first}");
    let accepted = first["params"]["notifications"].take();
    (open, accepted)
}

/// Reads up to a notification, and returns the names and addresses of all.
async fn told_until(open: &mut Incoming, method: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let message = open.next_data().await.expect("the stream is open");
        let name = message["method"].as_str().unwrap_or_else(|| panic!("no notification: {message}")).to_owned();
        let uri = message["params"]["uri"].as_str().unwrap_or_default();
        told.push(format!("{name} {uri}").trim_end().to_owned());
        if name == method {
            return told;
        }
    }
}

/// Revokes all tokens of a home, as a person does on the command line.
async fn revoke_all(world: &World) {
    let home = world.home();
    let home = home.to_str().unwrap();
    let listed = String::from_utf8(world.run(&["token", "--home", home, "list"]).await.stdout).unwrap();
    for id in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(world.run(&["token", "--home", home, "revoke", id]).await.status.success());
    }
}

#[tokio::test]
async fn listener_is_told_of_files_skills_and_sessions() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    world.write("memory/MEMORY.md", "# Memory\n");
    world.write("skills/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil.\n");
    let server = world.serve().await;
    let found = McpClient::new(&server, NEW).await.result("server/discover", json!({})).await;
    assert_eq!(found["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    let reads = token(&world, "read").await;
    let client = McpClient::with_token(&server, NEW, &reads);
    let talk = "miniclaw:///sessions/talk";
    let asked = listening(&[MEMORY, talk, "miniclaw:///.env", "file:///etc/passwd"]);
    let (mut open, accepted) = listen(&client, asked).await;
    assert_eq!(accepted["resourceSubscriptions"], json!([MEMORY, talk]), "{accepted}");

    world.write("memory/MEMORY.md", "# Memory\n\nTea.\n");
    assert_eq!(told_until(&mut open, UPDATED).await, [format!("{UPDATED} {MEMORY}")]);
    world.write("knowledge/new.md", "# New\n");
    assert_eq!(told_until(&mut open, RESOURCES).await, [RESOURCES], "files that are not listened to are in the list");
    world.write("memory/MEMORY.md", "# Memory\n\nCoffee.\n");
    assert_eq!(told_until(&mut open, UPDATED).await, [format!("{UPDATED} {MEMORY}")], "the list is the same");
    world.write("skills/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\n\nSpill.\n");
    assert_eq!(told_until(&mut open, PROMPTS).await, [PROMPTS], "what nobody trusts is no prompt");
    server.chat("talk", "hello").await;
    let told = told_until(&mut open, UPDATED).await;
    assert_eq!(told.last().unwrap(), &format!("{UPDATED} {talk}"));
    assert!(told_until(&mut open, RESOURCES).await.len() <= 3, "the new conversation is in the list");
    drop(open);

    // The old revision has no such streams, and is offered none.
    let old = McpClient::with_token(&server, OLD, &reads);
    assert_eq!(old.error("subscriptions/listen", listening(&[MEMORY])).await["code"], -32601);
    let hello = json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let hello = old.result("initialize", hello).await;
    assert_eq!(hello["capabilities"], json!({"prompts": {}, "resources": {}, "tools": {}}));
    assert_eq!(old.error("resources/subscribe", json!({"uri": MEMORY})).await["code"], -32601);
}

#[tokio::test]
async fn listeners_are_bounded_and_free_their_place() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(listen(&client, listening(&[])).await.0);
    }
    let (mut more, _) = listen(&client, listening(&[])).await;
    let refused = more.next_data().await.unwrap();
    assert!(refused["error"]["message"].as_str().unwrap().contains("16"), "{refused}");
    assert_eq!(more.next_data().await, None, "the stream has ended");
    drop(open);
    eventually("a place is free", async || {
        let (mut again, _) = listen(&client, listening(&[MEMORY])).await;
        world.write("memory/MEMORY.md", format!("{:?}", std::time::Instant::now()));
        again.next_data().await.is_some_and(|message| message["method"].is_string())
    })
    .await;
}

#[tokio::test]
async fn listener_is_told_nothing_of_another_person() {
    let world = crate::people::world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "bob").await;
    let token = async |person| {
        let made =
            ask(&server, person, ("POST", "/api/auth/tokens"), json!({"name": "mcp", "scope": "ask"})).await.ok();
        (made["data"]["token"].as_str().unwrap().to_owned(), made["data"]["id"].as_str().unwrap().to_owned())
    };
    let ((hers, _), (his, his_id)) = (token(&ada).await, token(&bob).await);
    let (hers, his) = (McpClient::with_token(&server, NEW, &hers), McpClient::with_token(&server, NEW, &his));
    let made = hers.call("ask", json!({"message": "a secret of Ada"})).await;
    let id = made["structuredContent"]["session"].as_str().unwrap();
    let (mut open, _) = listen(&his, listening(&[&format!("miniclaw:///sessions/{id}"), MEMORY])).await;
    hers.call("ask", json!({"message": "more", "session": id})).await;
    ask(&server, &bob, ("POST", "/api/files"), json!({"path": "memory/bob.md", "content": "Bob's own"})).await.ok();
    assert_eq!(told_until(&mut open, RESOURCES).await, [RESOURCES], "his own file, and nothing before it");

    // The end of the token is the end of the stream.
    ask(&server, &bob, ("DELETE", &format!("/api/auth/tokens/{his_id}")), json!({})).await.ok();
    let last = open.next_data().await.expect("a result");
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(open.next_data().await, None);
}

/// Returns a stream of `/v1/chat/completions` that waits for a gate of the provider.
async fn chat(server: &Server<'_>, model: &str, bearer: &str) -> Incoming {
    let body = json!({"model": model, "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    let headers = [("Authorization", bearer), ("Content-Type", "application/json")];
    let request = server.request("POST", "/v1/chat/completions", &headers, body.to_string().as_bytes());
    crate::http::open(server.address, &request).await
}

#[tokio::test]
async fn revoked_token_ends_its_open_streams() {
    let slow =
        steps([json!({"text": "Ti"}), json!({"gate": "never"}), json!({"text": "me."}), json!({"finish": "stop"})]);
    let world = World::new(script([always(slow)])).await;
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let (mut listener, _) = listen(&client, listening(&[MEMORY])).await;
    let agent = chat(&server, "miniclaw", &client.bearer).await;
    let raw = chat(&server, "raw/mock", &client.bearer).await;
    let asking = McpClient::with_token(&server, OLD, client.bearer.strip_prefix("Bearer ").unwrap());
    let asking = asking.open("tools/call", json!({"name": "ask", "arguments": {"message": "hi"}})).await;
    eventually("all wait for the model", async || world.provider.requests().len() >= 3).await;
    revoke_all(&world).await;
    let mut told = Vec::new();
    while let Some(message) = listener.next_data().await {
        told.push(message);
    }
    assert!(told.last().unwrap()["result"].is_object(), "{told:?}");
    let (agent, raw, asking) = (agent.body_text().await, raw.body_text().await, asking.body_text().await);
    for (door, text) in [("agent", &agent), ("raw", &raw), ("mcp", &asking)] {
        let failure = if door == "mcp" { "\"isError\":true" } else { "\"error\"" };
        assert!(text.contains(failure), "{door}: {text}");
        assert!(!text.contains("me."), "{door}: {text}");
    }
    assert_eq!(client.send("tools/list", json!({})).await.status(), 401);
    world.provider.open_gate("never");
}

#[tokio::test]
async fn listener_over_stdio_is_told_of_changes() {
    let world = World::new(script([])).await;
    world.write("memory/MEMORY.md", "# Memory\n");
    let server = world.serve().await;
    let home = world.home();
    let mut child = world
        .command(&["mcp", "--home", home.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut params = listening(&[MEMORY]);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params});
    let memory = world.path("memory/MEMORY.md");
    tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(output).lines();
        let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
        writeln!(input, "{request}").unwrap();
        assert_eq!(next()["method"], ACKNOWLEDGED);
        std::fs::write(memory, "# Memory\n\nTea.\n").unwrap();
        let told = next();
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(MEMORY)));
        drop(input);
        assert!(child.wait().unwrap().success());
    })
    .await
    .unwrap();
    drop(server);
}

#[tokio::test]
async fn deleted_access_token_ends_its_open_streams() {
    let slow =
        steps([json!({"text": "Ti"}), json!({"gate": "never"}), json!({"text": "me."}), json!({"finish": "stop"})]);
    let world = crate::people::world_with(script([always(slow)]), "").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let made = ask(&server, &ada, ("POST", "/api/auth/tokens"), json!({"name": "program"})).await.ok();
    let bearer = format!("Bearer {}", made["data"]["token"].as_str().unwrap());
    let id = made["data"]["id"].as_str().unwrap();
    let mut events = server.follow_with("/api/events", &[("Authorization", &bearer)]).await;
    events.until("hello").await;
    let mut socket = Socket::open_with(&server, "?session_id=s", &[("Authorization", bearer.clone())]).await.unwrap();
    let agent = chat(&server, "miniclaw", &bearer).await;
    let raw = chat(&server, "raw/mock", &bearer).await;
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let (mut listener, _) = listen(&McpClient::with_token(&server, NEW, token), listening(&[MEMORY])).await;
    ask(&server, &ada, ("DELETE", &format!("/api/auth/tokens/{id}")), json!({})).await.ok();
    events.rest().await;
    assert!(socket.closed().await >= 1000, "the socket is closed");
    for (door, open) in [("agent", agent), ("raw", raw)] {
        let text = open.body_text().await;
        assert!(text.contains("event: error") && !text.contains("me."), "{door}: {text}");
    }
    while listener.next_data().await.is_some() {}
    world.provider.open_gate("never");
}
