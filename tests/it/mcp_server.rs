//! The MCP server: what it offers, who may use it, and how a work asks a person.

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, NEW, OLD, messages, token};
use crate::people::{admin, ask, joined};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{ASKING, World, eventually};

fn text(result: &Value) -> &str {
    result["structuredContent"]["text"].as_str().unwrap_or_else(|| panic!("no answer: {result}"))
}

fn session(result: &Value) -> String {
    result["structuredContent"]["session"].as_str().unwrap_or_else(|| panic!("no session: {result}")).to_owned()
}

fn run_command() -> Value {
    calls([call("t", "terminal", json!({"command": "echo run >> ran.txt"}))])
}

#[tokio::test]
async fn both_revisions_are_served_without_state() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let new = McpClient::new(&server, NEW).await;
    let found = new.result("server/discover", json!({})).await;
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)), "{found}");
    assert!(found["capabilities"]["tools"].is_object(), "{found}");

    let old = McpClient::with_token(&server, OLD, new.bearer.strip_prefix("Bearer ").unwrap());
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": client});
    let answer = old.send("initialize", hello).await;
    assert_eq!(answer.head.header("mcp-session-id"), None, "the server keeps nothing");
    let hello = messages(&answer).pop().unwrap();
    assert_eq!(hello["result"]["protocolVersion"], OLD);
    assert_eq!(hello["result"]["serverInfo"]["name"], "miniclaw");

    let names = |list: &Value| -> Vec<String> {
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let (newer, older) = (new.result("tools/list", json!({})).await, old.result("tools/list", json!({})).await);
    assert_eq!(names(&newer), names(&older));
    assert_eq!(newer["cacheScope"], "private");
    let tools = names(&newer).join(" ");
    assert_eq!(tools, "ask search_memory search_knowledge read_file list_sessions read_session remember");
    // There is nothing to follow or to end.
    for method in ["GET", "DELETE"] {
        let answer = server.send(method, "/mcp", &[("Authorization", &new.bearer)], b"").await;
        assert_eq!(answer.status(), 405, "{method}");
    }
}

#[tokio::test]
async fn mcp_ask_tells_steps_and_returns_the_answer() {
    let read = calls([call("r", "read_file", json!({"path": "memory/MEMORY.md"}))]);
    let world = World::new(script([read, says(["Green ", "tea."]), says(["Black tea."])])).await;
    world.write("memory/MEMORY.md", "# Tea\n\nGreen.\n");
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let arguments = json!({"message": "Which tea?"});
    let params = json!({"name": "ask", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let told = client.messages("tools/call", params).await;
    let (steps, answer) = (&told[..told.len() - 1], &told[told.len() - 1]["result"]);
    assert!(!steps.is_empty(), "{told:?}");
    for (at, step) in steps.iter().enumerate() {
        assert_eq!(
            (&step["method"], &step["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
        assert_eq!(step["params"]["progress"].as_f64(), Some((at + 1) as f64));
    }
    assert!(steps[0]["params"]["message"].as_str().unwrap().contains("read_file"), "{steps:?}");
    assert_eq!((text(answer), &answer["structuredContent"]["state"]), ("Green tea.", &json!("done")));
    assert_eq!(answer["content"][0]["text"], "Green tea.");
    assert_eq!(answer["structuredContent"]["page"], format!("http://{}/s/{}", server.address, session(answer)));

    // The old revision goes on in the same session, on a named model.
    let old = McpClient::with_token(&server, OLD, client.bearer.strip_prefix("Bearer ").unwrap());
    let more = old.call("ask", json!({"message": "And now?", "session": session(answer), "model": "mock"})).await;
    assert_eq!((text(&more), session(&more)), ("Black tea.", session(answer)));
    assert_eq!(more["resultType"], Value::Null, "a field of the new revision");
    let stored = server.settled(&session(answer)).await;
    assert_eq!(stored["messages"].as_array().unwrap().len(), 5);

    for (arguments, word) in [
        (json!({"message": "x", "session": "nobody-has-this"}), "nobody-has-this"),
        (json!({"message": "x", "session": "../../etc/passwd"}), "bad_session_id"),
        (json!({"message": "x", "model": "gpt-9"}), "model_not_found"),
        (json!({"message": ""}), "empty"),
        (json!({"massage": "x"}), "massage"),
        (json!({}), "message"),
    ] {
        let refused = client.call("ask", arguments.clone()).await;
        assert_eq!(refused["isError"], true, "{arguments}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains(word), "{arguments}: {refused}");
    }
}

#[tokio::test]
async fn mcp_needs_a_token_that_reaches_it() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let hello = json!({"message": "hi"});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let plain = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let refused = server.send("POST", "/mcp", &plain, body.as_bytes()).await;
    assert_eq!(refused.refused(), (401, "signed_out".to_owned()));
    assert_eq!(refused.head.header("www-authenticate"), Some("Bearer"));
    for wrong in ["", "mck_nobody", "x"] {
        let client = McpClient::with_token(&server, NEW, wrong);
        assert_eq!(client.send("tools/list", json!({})).await.refused().0, 401, "{wrong:?}");
    }
    let cookie = [&plain[..], &[("Cookie", "miniclaw_session=x")]].concat();
    assert_eq!(server.send("POST", "/mcp", &cookie, body.as_bytes()).await.refused().0, 401);

    let reads = token(&world, "read").await;
    let reader = McpClient::with_token(&server, NEW, &reads);
    assert_eq!(reader.call("list_sessions", json!({})).await["structuredContent"]["sessions"], json!([]));
    for tool in ["ask", "remember"] {
        let error = reader.error("tools/call", json!({"name": tool, "arguments": hello})).await;
        assert_eq!(error["data"]["code"], "read_only_token", "{error}");
    }
    assert_eq!(world.asked().len(), 0, "nothing was asked");
    let bearer = format!("Bearer {reads}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let models = server.send("GET", "/v1/models", &headers, b"").await;
    assert_eq!((models.status(), &models.json()["error"]["code"]), (403, &json!("read_only_token")));
    assert_eq!(server.send("GET", "/api/sessions", &headers, b"").await.refused(), (403, "ask_token".to_owned()));

    let asker = McpClient::new(&server, NEW).await;
    assert_eq!(text(&asker.call("ask", hello).await), "Yes.");
    let home = world.home();
    let home = home.to_str().unwrap();
    let listed = String::from_utf8(world.run(&["token", "--home", home, "list"]).await.stdout).unwrap();
    for line in listed.lines() {
        let id = line.split_whitespace().next().unwrap();
        assert!(world.run(&["token", "--home", home, "revoke", id]).await.status.success());
    }
    assert_eq!(asker.send("tools/list", json!({})).await.refused().0, 401, "it was revoked");
    assert_eq!(reader.send("tools/list", json!({})).await.refused().0, 401);
}

#[tokio::test]
async fn pages_of_other_sites_do_not_reach_mcp() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let token = token(&world, "ask").await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}).to_string();
    let send = async |host: &str, more: &str| {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        crate::http::raw(server.address, request.as_bytes()).await.status()
    };
    let host = server.address.to_string();
    assert_eq!(send(&host, "").await, 200);
    assert_eq!(send(&host, &format!("Origin: http://{host}\r\n")).await, 200);
    assert_eq!(send("evil.example", "").await, 403);
    for more in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        &format!("Origin: http://{host}\r\nOrigin: http://evil.example\r\n"),
    ] {
        assert_eq!(send(&host, more).await, 403, "{more}");
    }
}

#[tokio::test]
async fn question_of_an_mcp_work_is_answered_on_the_page() {
    let world = World::new(script([run_command(), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut client = McpClient::new(&server, NEW).await;
    client.capabilities = json!({"elicitation": {"form": {}, "url": {}}});
    let params = json!({"name": "ask", "arguments": {"message": "Run it"}, "_meta": {"progressToken": 1}});
    let asked = client.result("tools/call", params.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approval"];
    assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    let approval = server.waiting(1).await.remove(0);
    let address = format!("http://{}/s/{}", server.address, approval["session_id"].as_str().unwrap());
    assert_eq!(question["params"]["url"], address);
    assert!(!world.path("scratch/ran.txt").exists());

    let state = asked["requestState"].as_str().unwrap().to_owned();
    let repeated = |state: &str, message: &str| {
        let mut params = params.clone();
        params["arguments"]["message"] = message.into();
        params["requestState"] = state.into();
        params["inputResponses"] = json!({"approval": {"action": "accept"}});
        params
    };
    // The state is that of this request, this token and this server only.
    let forged = format!("{}AAAA", &state[..state.len() - 4]);
    let other = McpClient { capabilities: client.capabilities.clone(), ..McpClient::new(&server, NEW).await };
    assert_eq!(client.error("tools/call", repeated(&forged, "Run it")).await["code"], -32602);
    assert_eq!(client.error("tools/call", repeated(&state, "Run another")).await["code"], -32602);
    assert_eq!(other.error("tools/call", repeated(&state, "Run it")).await["code"], -32602);
    assert_eq!(server.waiting(1).await[0]["id"], approval["id"], "what the client says is no answer");

    let waits = client.open("tools/call", repeated(&state, "Run it")).await;
    server.decide(&approval, "approve").await;
    let body = waits.body_text().await;
    let last = body.lines().filter_map(|line| line.strip_prefix("data:")).next_back().unwrap();
    let answer: Value = serde_json::from_str(last.trim()).unwrap();
    assert_eq!(text(&answer["result"]), "Done.");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}

#[tokio::test]
async fn client_without_pages_is_told_where_to_answer() {
    let world = World::new(script([run_command(), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let client = McpClient::new(&server, OLD).await;
    let waiting = client.call("ask", json!({"message": "Run it", "wait": 0})).await;
    assert_eq!(waiting["structuredContent"]["state"], "waiting", "{waiting}");
    let page = waiting["structuredContent"]["page"].as_str().unwrap();
    assert!(waiting["content"][0]["text"].as_str().unwrap().contains(page), "{waiting}");
    let approval = server.waiting(1).await.remove(0);
    // The same request again waits for the same work.
    let again = client.call("ask", json!({"message": "Run it", "wait": 0})).await;
    assert_eq!(again["structuredContent"]["work"], waiting["structuredContent"]["work"]);
    server.decide(&approval, "approve").await;
    server.settled(&session(&waiting)).await;
    // The same request after its end gets the answer, and nothing runs again.
    let ended = client.call("ask", json!({"message": "Run it", "wait": 0})).await;
    assert_eq!(ended["structuredContent"]["work"], waiting["structuredContent"]["work"]);
    assert_eq!(ended["structuredContent"]["state"], "done", "{ended}");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn queued_message_is_told_to_wait_and_found_again() {
    let slow = steps([json!({"text": "Ti"}), json!({"gate": "g"}), json!({"text": "me."}), json!({"finish": "stop"})]);
    let world = World::new(script([slow, always(says(["Tea."]))])).await;
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let _running = server.open_chat("s", "Which time?").await;
    let arguments = json!({"message": "Which tea?", "session": "s", "wait": 0});
    let waiting = client.call("ask", arguments.clone()).await;
    assert_eq!(waiting["structuredContent"]["state"], "waiting", "{waiting}");
    let again = client.call("ask", arguments.clone()).await;
    assert_eq!(again["structuredContent"]["work"], waiting["structuredContent"]["work"]);
    world.provider.open_gate("g");
    eventually("both answers are there", async || {
        let history = server.get("/api/sessions/s/history").await.ok();
        history["messages"].as_array().unwrap().len() == 4 && history["running"].is_null()
    })
    .await;
    let ended = client.call("ask", arguments).await;
    assert_eq!((text(&ended), &ended["structuredContent"]["state"]), ("Tea.", &json!("done")));
    assert_eq!(ended["structuredContent"]["work"], waiting["structuredContent"]["work"]);
}

#[tokio::test]
async fn message_to_a_session_that_waits_answers_no_question() {
    let world = World::new(script([run_command(), says(["Done."]), says(["Later."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let client = McpClient::new(&server, OLD).await;
    let waiting = client.call("ask", json!({"message": "Run it", "wait": 0})).await;
    let (session, approval) = (session(&waiting), server.waiting(1).await.remove(0));
    let arguments = json!({"message": "yes, go on", "session": session});
    let next = client.open("tools/call", json!({"name": "ask", "arguments": arguments})).await;
    let history = format!("/api/sessions/{session}/history");
    eventually("the message is queued", async || {
        server.get(&history).await.ok()["queue"].as_array().is_some_and(|queue| queue.len() == 1)
    })
    .await;
    assert_eq!(server.waiting(1).await[0]["id"], approval["id"]);
    server.decide(&approval, "approve").await;
    assert!(next.body_text().await.contains("Later."));
    assert_eq!(world.read("scratch/ran.txt"), "run\n", "the person's answer counted");
}

#[tokio::test]
async fn closing_a_request_stops_its_work_unless_detached() {
    let slow = |gate: &str| {
        steps([json!({"text": "Ti"}), json!({"gate": gate}), json!({"text": "me."}), json!({"finish": "stop"})])
    };
    let world = World::new(script([slow("one"), slow("two")])).await;
    let server = world.serve().await;
    // In this revision the stream begins at once.
    let client = McpClient::new(&server, OLD).await;
    let begin = async |arguments: Value, works: usize| {
        let open = client.open("tools/call", json!({"name": "ask", "arguments": arguments})).await;
        eventually("the work runs", async || world.asked().len() == works).await;
        open
    };
    let sessions = async || server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().clone();
    drop(begin(json!({"message": "one"}), 1).await);
    eventually("the work is stopped", async || {
        let list = sessions().await;
        list.len() == 1 && list[0]["state"] == "idle"
    })
    .await;
    drop(begin(json!({"message": "two", "detach": true}), 2).await);
    world.provider.open_gate("two");
    let detached = sessions().await[0]["id"].as_str().unwrap().to_owned();
    let stored = server.settled(&detached).await;
    assert_eq!(stored["messages"][1]["content"], "Time.", "{stored}");
}

#[tokio::test]
async fn reading_tools_return_what_their_schemas_say() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    world.write("memory/MEMORY.md", "# Memory\n\nThe quetzalcoatlus is a pterosaur.\n");
    world.write("knowledge/birds/a b.md", "# Birds\n\nThe kiwi does not fly.\n");
    let server = world.serve().await;
    server.chat("talk", "hello there").await;
    server.settled("talk").await;
    let token = token(&world, "read").await;
    let client = McpClient::with_token(&server, NEW, &token);
    let found = client.call("search_memory", json!({"query": "quetzalcoatlus"})).await;
    let hit = &found["structuredContent"]["hits"][0];
    assert!(hit["text"].as_str().unwrap().contains("pterosaur") && hit["how"].is_object(), "{found}");
    assert!(hit["place"].as_str().unwrap().starts_with("memory/MEMORY.md"), "{found}");
    let found = client.call("search_knowledge", json!({"query": "kiwi", "k": 1})).await;
    assert_eq!(found["structuredContent"]["hits"].as_array().unwrap().len(), 1);
    let read = client.call("read_file", json!({"path": "memory/MEMORY.md", "offset": 2})).await;
    assert!(read["structuredContent"]["content"].as_str().unwrap().starts_with("Memory"), "{read}");
    for path in [".env", "../config.yml", "sessions/talk.json", "config.yml", "memory/none.md", "/etc/passwd"] {
        assert_eq!(client.call("read_file", json!({"path": path})).await["isError"], true, "{path}");
    }
    let talk = client.call("read_session", json!({"session": "talk"})).await;
    assert_eq!(talk["structuredContent"]["messages"][0], json!({"role": "user", "text": "hello there"}));
    assert_eq!(client.error("tools/call", json!({"name": "terminal", "arguments": {}})).await["code"], -32602);

    let list = client.result("resources/list", json!({})).await;
    let uris: Vec<&str> = list["resources"].as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect();
    for uri in ["miniclaw:///memory/MEMORY.md", "miniclaw:///knowledge/birds/a%20b.md", "miniclaw:///sessions/talk"] {
        assert!(uris.contains(&uri), "{uris:?}");
        let read = client.result("resources/read", json!({"uri": uri})).await;
        assert_eq!((&read["contents"][0]["uri"], &read["cacheScope"]), (&json!(uri), &json!("private")));
    }
    for uri in ["miniclaw:///.env", "miniclaw:///sessions/none", "file:///etc/passwd", "miniclaw:///..%2f.env"] {
        assert!(client.error("resources/read", json!({"uri": uri})).await["code"].is_i64(), "{uri}");
    }
    let templates = client.result("resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn trusted_skills_are_prompts_and_others_are_not() {
    let world = World::new(script([])).await;
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Makes tea.\n---\n\nBoil water for {name}.\n");
    world.write("skills/tea/SKILL.md", skill("tea"));
    // The first start trusts what is there.
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let names = async || {
        let list = client.result("prompts/list", json!({})).await;
        list["prompts"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["tea"]);
    let got = client.result("prompts/get", json!({"name": "tea"})).await;
    assert!(got["messages"][0]["content"]["text"].as_str().unwrap().contains("Boil water for tea"), "{got}");
    world.write("skills/tea/SKILL.md", skill("tea").replace("Boil", "Spill"));
    eventually("the changed skill is no prompt", async || names().await.is_empty()).await;
    assert_eq!(client.error("prompts/get", json!({"name": "tea"})).await["code"], -32602);
}

#[tokio::test]
async fn remember_is_an_edit_that_a_person_is_asked_about() {
    let edit = json!({"search": "# Memory\n", "replace": "# Memory\n\nAnn likes tea.\n"});
    let edit = json!({"path": "memory/MEMORY.md", "edits": [edit]});
    let world = World::new(script([calls([call("w", "edit_file", edit)]), says(["Noted."])])).await;
    world.write("config.yml", "find_local_models: false\n");
    world.write("memory/MEMORY.md", "# Memory\n");
    let server = world.serve().await;
    let client = McpClient::new(&server, NEW).await;
    let waiting = client.call("remember", json!({"text": "Ann likes tea.", "wait": 0})).await;
    assert_eq!(waiting["structuredContent"]["state"], "waiting", "{waiting}");
    assert!(world.asked()[0].to_string().contains("Ann likes tea."));
    assert_eq!(world.read("memory/MEMORY.md"), "# Memory\n");
    let approval = server.waiting(1).await.remove(0);
    server.decide(&approval, "approve").await;
    server.settled(&session(&waiting)).await;
    assert_eq!(world.read("memory/MEMORY.md"), "# Memory\n\nAnn likes tea.\n");
}

#[tokio::test]
async fn mcp_shows_nothing_of_another_person() {
    let world = crate::people::world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "bob").await;
    let token = async |person, scope: &str| {
        let made =
            ask(&server, person, ("POST", "/api/auth/tokens"), json!({"name": "mcp", "scope": scope})).await.ok();
        made["data"]["token"].as_str().unwrap().to_owned()
    };
    let (hers, his, reads) = (token(&ada, "ask").await, token(&bob, "full").await, token(&bob, "read").await);
    let client = |token: &str| McpClient::with_token(&server, NEW, token);
    let made = client(&hers).call("ask", json!({"message": "a secret of Ada"})).await;
    let id = session(&made);
    for token in [&his, &reads] {
        let bob = client(token);
        assert_eq!(bob.call("list_sessions", json!({})).await["structuredContent"]["sessions"], json!([]));
        for (tool, arguments) in
            [("read_session", json!({"session": id})), ("ask", json!({"message": "x", "session": id}))]
        {
            let answer = bob.send("tools/call", json!({"name": tool, "arguments": arguments})).await.text();
            assert!(!answer.contains("secret of Ada") && answer.contains("rror"), "{tool}: {answer}");
        }
        let uri = format!("miniclaw:///sessions/{id}");
        assert!(bob.error("resources/read", json!({"uri": uri})).await["code"].is_i64());
        assert!(!bob.send("resources/list", json!({})).await.text().contains(&id));
    }
    let error = client(&reads).error("tools/call", json!({"name": "ask", "arguments": {"message": "x"}})).await;
    assert_eq!(error["data"]["code"], "read_only_token");

    let refused = client("mct_nobody").send("tools/list", json!({})).await;
    let challenge = refused.head.header("www-authenticate").unwrap().to_owned();
    let path = "/.well-known/oauth-protected-resource/mcp";
    assert_eq!(challenge, format!("Bearer resource_metadata=\"http://{}{path}\"", server.address));
    let document = server.get(path).await.ok();
    assert_eq!(document["resource"], format!("http://{}/mcp", server.address));
    assert_eq!(document["scopes_supported"], json!(["ask", "read", "tools"]));
}

#[tokio::test]
async fn malformed_mcp_bodies_are_refused_and_nothing_breaks() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let token = token(&world, "ask").await;
    let bearer = format!("Bearer {token}");
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let bodies = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "7".to_owned(),
        "\"x\"".to_owned(),
        deep,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"-1"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{meta}}}}}"#),
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(),
    ];
    for body in &bodies {
        for accept in ["application/json, text/event-stream", "application/json", ""] {
            for version in ["2026-07-28", "2025-11-25", "1999-01-01", ""] {
                let headers = [
                    ("Authorization", bearer.as_str()),
                    ("Content-Type", "application/json"),
                    ("Accept", accept),
                    ("MCP-Protocol-Version", version),
                ];
                let answer = server.send("POST", "/mcp", &headers, body.as_bytes()).await;
                let shown: String = body.chars().take(80).collect();
                assert!(answer.status() < 500, "{shown} {accept} {version}: {}", answer.text());
            }
        }
    }
    assert_eq!(server.get("/health").await.status(), 200);
}

#[tokio::test]
async fn mcp_over_stdio_finds_the_server_or_starts_one() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    let home = world.home();
    let speak = async |lines: &[Value]| -> Vec<Value> {
        let mut child = world
            .command(&["mcp", "--home", home.to_str().unwrap()])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let out = child.stdout.take().unwrap();
        tokio::task::spawn_blocking(move || {
            let mut out = std::io::BufRead::lines(std::io::BufReader::new(out));
            let mut told = Vec::new();
            for line in lines {
                std::io::Write::write_all(&mut input, line.as_bytes()).unwrap();
                let sent: Value = serde_json::from_str(&line).unwrap();
                if sent.get("id").is_none() {
                    continue;
                }
                loop {
                    let said: Value = serde_json::from_str(&out.next().unwrap().unwrap()).expect("only messages");
                    let is_answer = said["id"] == sent["id"];
                    told.push(said);
                    if is_answer {
                        break;
                    }
                }
            }
            drop(input);
            assert!(child.wait().unwrap().success());
            told
        })
        .await
        .unwrap()
    };
    let request =
        |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let client = json!({"name": "test", "version": "1"});
    let lines = [
        request(1, "initialize", json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": client})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({"name": "ask", "arguments": {"message": "hi"}})),
    ];
    let told = speak(&lines).await;
    assert_eq!(told[0]["result"]["protocolVersion"], OLD, "{told:?}");
    assert_eq!(told[1]["result"]["tools"].as_array().unwrap().len(), 7);
    assert_eq!(text(&told.last().unwrap()["result"]), "Fine.");

    let server = world.serve().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let lines = [
        request(1, "server/discover", json!({"_meta": meta})),
        request(2, "tools/call", json!({"name": "list_sessions", "arguments": {}, "_meta": meta})),
        request(3, "no/such", json!({"_meta": meta})),
    ];
    let told = speak(&lines).await;
    assert!(told[0]["result"]["supportedVersions"].is_array(), "{told:?}");
    assert_eq!(told[1]["result"]["structuredContent"]["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(told[2]["error"]["code"], -32601);
    drop(server);
}
