//! Commands that are rehearsed: a person is asked about their effect, and exactly that is applied.

use serde_json::{Value, json};

use crate::command_changes::{cannot_capture, cannot_record, noise};
use crate::http::Incoming;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, PLAIN, Server, World, eventually};

/// Only commands need approval.
const COMMANDS: &str = "find_local_models: false\napprovals: {effects: {write: unattended}}\n";

pub fn run(id: &str, command: &str) -> Value {
    call(id, "terminal", json!({"command": command}))
}

async fn world(made: impl IntoIterator<Item = Value>) -> World {
    let world = World::new(script([calls(made), says(["Done."]), says(["Done."])])).await;
    world.write("config.yml", PLAIN);
    world.write("scratch/a.txt", "one\ntwo\n");
    world.write("scratch/gone.txt", "gone\n");
    world
}

/// Returns the results of the calls as the model read them.
pub fn results(world: &World) -> Vec<String> {
    let messages = world.asked().pop().expect("a request")["messages"].take();
    let tools = messages.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    tools.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

pub async fn files(server: &Server<'_>, asked: &Value) -> Vec<Value> {
    let path = format!("/api/approvals/{}/changes", asked["id"].as_str().unwrap());
    server.get(&path).await.ok()["files"].as_array().unwrap().clone()
}

/// Sends a message, and returns its stream with the question that its work asks.
pub async fn question(server: &Server<'_>) -> (Incoming, Value) {
    let stream = server.open_chat("s", "go").await;
    (stream, server.waiting(1).await.remove(0))
}

pub fn captures(world: &World) -> usize {
    std::fs::read_dir(world.path("storage/captures/project.scratch")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn command_without_effect_needs_no_question() {
    if cannot_capture().await {
        return;
    }
    let world =
        world([run("c1", "cat a.txt; grep -c o a.txt; touch \"$TMPDIR/x\""), run("c2", "ls /root; false")]).await;
    let server = world.serve().await;
    let frames = server.chat("s", "go").await;
    assert!(!frames.iter().any(|frame| frame.is("approval_request")), "{frames:#?}");
    server.settled("s").await;
    let results = results(&world);
    assert!(results[0].starts_with("one\ntwo\n2"), "{results:?}");
    assert!(results[1].contains("[exit code 1]"), "{results:?}");
}

#[tokio::test]
async fn effect_is_shown_whole_and_exactly_it_is_applied() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "sed -i s/one/ONE/ a.txt; rm gone.txt; date +%N > now.txt; echo said")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let rehearsal = &asked["shown"]["rehearsal"];
    assert_eq!(
        (&rehearsal["outcome"], &rehearsal["created"], &rehearsal["changed"], &rehearsal["deleted"]),
        (&json!("exit code 0"), &json!(1), &json!(1), &json!(1)),
    );
    assert_eq!((rehearsal["output"].as_str().unwrap(), &asked["because"]["code"]), ("said", &json!("rehearsed")));
    let files = files(&server, &asked).await;
    let listed: Vec<(&str, &str)> =
        files.iter().map(|file| (file["path"].as_str().unwrap(), file["kind"].as_str().unwrap())).collect();
    assert_eq!(listed, [("gone.txt", "deleted"), ("a.txt", "changed"), ("now.txt", "created")]);
    assert_eq!((&files[1]["added"], &files[1]["removed"]), (&json!(1), &json!(1)));
    let content = |path: &str, side: &str| {
        format!("/api/approvals/{}/changes/content?path={path}&side={side}", asked["id"].as_str().unwrap())
    };
    assert_eq!(server.get(&content("a.txt", "before")).await.text(), "one\ntwo\n");
    assert_eq!(server.get(&content("a.txt", "after")).await.text(), "ONE\ntwo\n");
    let now = server.get(&content("now.txt", "after")).await.text();
    assert_eq!(server.get(&content("now.txt", "before")).await.status(), 404);
    assert_eq!(server.get(&content("../../config.yml", "before")).await.status(), 404);
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/now.txt").exists()), ("one\ntwo\n", false));

    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/a.txt"), "ONE\ntwo\n");
    assert_eq!(world.read("scratch/now.txt"), now, "what was shown is applied, not a second run");
    assert!(!world.path("scratch/gone.txt").exists());
    assert!(results(&world)[0].starts_with("said"), "{:?}", results(&world));
    assert_eq!(server.get(&content("a.txt", "after")).await.status(), 404, "the question is answered");
    server.post("/api/sessions/s/operations/c1/undo", json!({})).await.ok();
    assert_eq!(world.read("scratch/a.txt"), "one\ntwo\n");
    assert_eq!((world.path("scratch/now.txt").exists(), captures(&world)), (false, 0));
}

#[tokio::test]
async fn denied_effect_is_discarded() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm -r *; echo gone")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    assert_eq!(asked["shown"]["rehearsal"]["deleted"], 2);
    server.decide(&asked, "deny").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/gone.txt"), "gone\n");
    assert!(results(&world)[0].contains("what it changed was discarded"), "{:?}", results(&world));
    eventually("the layer is removed", async || captures(&world) == 0).await;
}

#[tokio::test]
async fn effect_on_files_that_changed_meanwhile_is_refused() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "echo more >> a.txt; echo new > new.txt")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    world.write("scratch/a.txt", "a person's\n");
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/new.txt").exists()), ("a person's\n", false));
    assert!(results(&world)[0].contains("changed by somebody else"), "{:?}", results(&world));
    assert_eq!(world.session("s")["messages"][1]["tool_calls"][0]["status"], "error");
}

#[tokio::test]
async fn question_about_an_effect_outlives_the_server() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "echo once >> a.txt"), run("c2", "cat a.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let before = server.waiting(1).await.remove(0);
    drop(stream);
    // Dropping the server kills it.
    drop(server);
    let server = world.serve().await;
    let after = server.waiting(1).await.remove(0);
    assert_eq!((&after["id"], &after["hash"]), (&before["id"], &before["hash"]), "the same effect");
    assert_eq!(files(&server, &after).await.len(), 1);
    let stream = server.follow("/api/sessions/s/events?until=settled").await;
    server.decide(&after, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/a.txt"), "one\ntwo\nonce\n");
    assert!(results(&world)[1].starts_with("one\ntwo\nonce"), "the next call sees it: {:?}", results(&world));
}

#[tokio::test]
async fn answer_to_another_effect_does_not_count() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "wc -l < a.txt > count.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let before = server.waiting(1).await.remove(0);
    drop(stream);
    drop(server);
    world.write("scratch/a.txt", "one\n");
    let server = world.serve().await;
    let after = server.waiting(1).await.remove(0);
    assert_ne!(after["hash"], before["hash"]);
    let old = json!({"decision": "approve", "hash": before["hash"]});
    let refused = server.answer(after["id"].as_str().unwrap(), old).await;
    assert_eq!(refused.refused(), (409, "hash_differs".to_owned()));
    server.decide(&after, "approve").await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/count.txt"), "1\n");
}

#[tokio::test]
async fn network_is_asked_about_first_and_other_tools_as_before() {
    if cannot_capture().await {
        return;
    }
    let network = call("c1", "terminal", json!({"command": "echo x > x.txt", "network": true}));
    let python = call("c2", "python_repl", json!({"code": "1"}));
    let world = world([network, python]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(2).await;
    let codes: Vec<&str> = asked.iter().map(|asked| asked["because"]["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["network", "unrehearsed"]);
    assert!(
        asked.iter().all(|asked| asked["shown"].get("rehearsal").is_none()) && !world.path("scratch/x.txt").exists()
    );
    for asked in &asked {
        server.decide(asked, "deny").await;
    }
    stream.rest().await;
}

/// Asks the proxy for a host, as a program would, and fails as it would.
pub fn ask_for(host: &str) -> String {
    format!(
        "(exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}; printf \"CONNECT {host} HTTP/1.1\\r\\n\\r\\n\" >&3; \
         grep -q \" 200 \" <&3)"
    )
}

#[tokio::test]
async fn question_names_the_hosts_a_command_asked_for() {
    if cannot_record().await {
        return;
    }
    let own = format!("{}; echo x > x.txt", ask_for("sk-canary-b.example:8443"));
    let curl = "curl -sS https://a.example/path?token=secret; echo y > y.txt";
    let world = world([run("c1", &own), run("c2", curl)]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    assert_eq!(asked["shown"]["rehearsal"]["hosts"], json!(["sk-canary-b.example:8443"]));
    assert_eq!(asked["shown"]["network"], false);
    server.decide(&asked, "approve").await;
    let asked = server.waiting(1).await.remove(0);
    if std::path::Path::new("/usr/bin/curl").exists() {
        assert_eq!(asked["shown"]["rehearsal"]["hosts"], json!(["a.example"]));
        assert_eq!(asked["shown"]["rehearsal"].get("more_hosts"), None);
    }
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!((world.read("scratch/x.txt").as_str(), world.read("scratch/y.txt").as_str()), ("x\n", "y\n"));
    let result = &results(&world)[0];
    assert!(result.contains("[network: sk-canary-b.example:8443 (refused)]"), "{result}");
    assert!(result.contains("call it again with \"network\": true"), "{result}");
    let call = world.session("s")["messages"][1]["tool_calls"][0].take();
    let contact = json!([{"host": "sk-canary-b.example:8443", "refused": true}]);
    assert_eq!(call["result"]["data"]["contacts"], contact, "{call}");
    assert!(!world.log().contains(".example"), "{}", world.log());
}

#[tokio::test]
async fn question_names_what_an_undo_could_not_bring_back() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm large gone.txt; mv small moved")]).await;
    world.write("config.yml", format!("{PLAIN}undo: {{kept_mib: 1}}\n"));
    world.write("scratch/large", noise(1, 2_000_000));
    world.write("scratch/small", noise(2, 2_000));
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let not_kept = json!([{"path": "large", "size": 2_000_000, "why": "limit_reached"}]);
    assert_eq!(asked["shown"]["rehearsal"]["not_kept"], not_kept);
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    let result = &results(&world)[0];
    assert!(result.contains("cannot be undone: project/scratch/large (2000000 bytes)"), "{result}");
}

#[tokio::test]
async fn command_that_only_asks_for_hosts_needs_no_question() {
    if cannot_record().await {
        return;
    }
    let bash =
        json!({"commands": [{"instruction": ask_for("a.example:443")}, {"instruction": ask_for("b.example:443")}]});
    let world = World::new(script([calls([call("c1", "bash", bash)]), says(["Done."])])).await;
    world.write("config.yml", PLAIN);
    let server = world.serve().await;
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    let id = made["id"].as_str().unwrap();
    let frames = server.chat(id, "go").await;
    assert!(!frames.iter().any(|frame| frame.is("approval_request")), "{frames:#?}");
    server.settled(id).await;
    let result = &results(&world)[0];
    for words in ["[network: a.example (refused)]", "[network: b.example (refused)]", "\"network\": true"] {
        assert!(result.contains(words), "{words}: {result}");
    }
    let call = world.session(id)["messages"][1]["tool_calls"][0].take();
    let contacts = json!([{"host": "a.example", "refused": true}, {"host": "b.example", "refused": true}]);
    assert_eq!(call["result"]["data"]["contacts"], contacts, "{call}");
}

#[tokio::test]
async fn question_stays_if_only_the_hosts_differ() {
    if cannot_record().await {
        return;
    }
    let world = world([run("c1", &format!("{}; echo x > x.txt", ask_for("$(head -1 a.txt).example:443")))]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let before = server.waiting(1).await.remove(0);
    assert_eq!(before["shown"]["rehearsal"]["hosts"], json!(["one.example"]));
    drop(stream);
    drop(server);
    world.write("scratch/a.txt", "other\n");
    let server = world.serve().await;
    let mut after = Value::Null;
    eventually("the command is rehearsed again", async || {
        after = server.waiting(1).await.remove(0);
        after["shown"]["rehearsal"]["hosts"] == json!(["other.example"])
    })
    .await;
    assert_eq!((&after["id"], &after["hash"]), (&before["id"], &before["hash"]), "an answer allows the changes only");
    server.decide(&after, "approve").await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/x.txt"), "x\n");
}

#[tokio::test]
async fn command_that_is_not_rehearsed_has_no_proxy() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "echo \"[$http_proxy]\"; curl -s http://a.example/; echo x > x.txt")]).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    server.chat("s", "go").await;
    server.settled("s").await;
    assert!(results(&world)[0].starts_with("[]"), "{:?}", results(&world));
    let data = world.session("s")["messages"][1]["tool_calls"][0]["result"]["data"].take();
    assert_eq!((&data["undo"], data.get("contacts")), (&json!(true), None), "captured only: {data}");
}

#[tokio::test]
async fn approved_network_command_is_captured_and_promoted() {
    if cannot_capture().await {
        return;
    }
    let command = "echo \"$http_proxy\" | grep -o '^http://job:'; sed -i s/one/ONE/ a.txt; echo x > x.txt";
    let world = world([call("c1", "terminal", json!({"command": command, "network": true}))]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    assert_eq!((&asked["because"]["code"], asked["shown"].get("rehearsal")), (&json!("network"), None));
    assert_eq!(world.read("scratch/a.txt"), "one\ntwo\n", "it has not run");
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert!(results(&world)[0].starts_with("http://job:"), "with the network: {:?}", results(&world));
    assert_eq!((world.read("scratch/a.txt").as_str(), world.read("scratch/x.txt").as_str()), ("ONE\ntwo\n", "x\n"));
    let data = world.session("s")["messages"][1]["tool_calls"][0]["result"]["data"].take();
    assert_eq!((&data["undo"], &data["changed_count"]), (&json!(true), &json!(2)), "captured: {data}");
    server.post("/api/sessions/s/operations/c1/undo", json!({})).await.ok();
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/x.txt").exists()), ("one\ntwo\n", false));
}

#[tokio::test]
async fn effect_can_be_seen_in_a_bound_session_with_several_commands() {
    if cannot_capture().await {
        return;
    }
    let commands = json!({"commands": [{"instruction": "mkdir src"}, {"instruction": "echo x > src/x.txt"}, {"instruction": "ls src"}]});
    let script = script([calls([call("c1", "bash", commands)]), says(["Done."])]);
    let world = World::new(script).await;
    world.write("config.yml", COMMANDS);
    let server = world.serve().await;
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    let id = made["id"].as_str().unwrap();
    let stream = server.open_chat(id, "go").await;
    let asked = server.waiting(1).await.remove(0);
    assert!(asked["shown"]["rehearsal"]["output"].as_str().unwrap().contains("x.txt"), "each sees those before it");
    assert!(!world.path("scratch/src").exists());
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled(id).await;
    assert_eq!(world.read("scratch/src/x.txt"), "x\n");
}

#[tokio::test]
async fn person_may_change_the_command_instead() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm a.txt")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let own = json!({"decision": "approve", "hash": asked["hash"], "arguments": {"command": "rm gone.txt"}});
    server.answer(asked["id"].as_str().unwrap(), own).await.ok();
    stream.rest().await;
    server.settled("s").await;
    assert!(world.path("scratch/a.txt").exists() && !world.path("scratch/gone.txt").exists());
}

#[tokio::test]
async fn stopped_rehearsal_changes_nothing() {
    if cannot_capture().await {
        return;
    }
    let bash = json!({"commands": [{"instruction": "rm -r *; echo begun; sleep 60"}]});
    let world = World::new(script([calls([call("c1", "bash", bash)]), says(["Done."])])).await;
    world.write("config.yml", PLAIN);
    world.write("scratch/a.txt", "one\n");
    let server = world.serve().await;
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    let id = made["id"].as_str().unwrap();
    let mut stream = server.open_chat(id, "go").await;
    stream.until("tool_output").await;
    server.post(&format!("/api/sessions/{id}/interrupt"), json!({})).await.ok();
    server.settled(id).await;
    assert_eq!(world.read("scratch/a.txt"), "one\n");
    assert_eq!(server.get("/api/approvals").await.ok()["approvals"], json!([]));
    assert_eq!(server.get(&format!("/api/sessions/{id}/changes")).await.ok()["files"], json!([]));
}
