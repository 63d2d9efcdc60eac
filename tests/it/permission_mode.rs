//! What may run in one conversation, as a person chooses it there.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{ASKING, PLAIN, Server, World};

const CHOICE: &str = "/api/sessions/s/model";

fn touch(id: &str) -> Value {
    calls([call(id, "terminal", json!({"command": "echo run >> ran.txt"}))])
}

async fn serving(world: &World) -> Server<'_> {
    let server = world.serve().await;
    server.chat("s", "hello").await;
    server.settled("s").await;
    server
}

/// Returns the system prompt of the last request.
fn system(world: &World) -> String {
    world.asked().pop().expect("a request")["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn read_only_and_plan_deny_changes_and_tell_the_model() {
    for (mode, words) in [("read_only", "read only"), ("plan", "wants a plan")] {
        let write =
            call("w", "edit_file", json!({"path": "knowledge/a.md", "edits": [{"search": "a", "replace": "b"}]}));
        let read = call("r", "read_file", json!({"path": "knowledge/a.md"}));
        let run = call("t", "terminal", json!({"command": "echo run >> ran.txt"}));
        let world = World::new(script([says(["Hi."]), calls([read, write, run]), says(["No."])])).await;
        // Rules that allow everything do not override the conversation's mode.
        world.write("config.yml", format!("{PLAIN}approvals: {{effects: {{write: allow, execute: unattended}}}}\n"));
        world.write("knowledge/a.md", "a\n");
        let server = serving(&world).await;
        assert!(!system(&world).contains("Permission Mode"));
        server.as_page("PUT", CHOICE, json!({"permission_mode": mode})).await.ok();
        let frames = server.chat("s", "go").await;
        server.settled("s").await;
        assert!(!frames.iter().any(|frame| frame.is("approval_request")));
        let made = world.session("s")["messages"].as_array().unwrap().iter().find_map(|message| {
            let made = message["tool_calls"].as_array().filter(|made| !made.is_empty())?;
            Some(made.iter().map(|call| call["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
        });
        assert_eq!(made.unwrap(), ["done", "denied", "denied"], "{mode}");
        assert_eq!((world.read("knowledge/a.md").as_str(), world.path("scratch/ran.txt").exists()), ("a\n", false));
        assert!(system(&world).contains(words), "{}", system(&world));
        // The X-ray and the meter show the same request.
        let prompt = server.get("/api/prompt?session_id=s").await.ok();
        let parts = prompt["parts"].as_array().unwrap();
        assert_eq!(parts.last().unwrap()["label"], "Permission Mode");
        let meter = server.get("/api/tokens/session/s").await.ok();
        assert_eq!(prompt["total_tokens"], meter["total_tokens"]);
        assert_eq!(server.get("/api/sessions/s/history").await.ok()["chosen"]["permission_mode"], mode);
    }
}

#[tokio::test]
async fn only_the_page_changes_what_may_run() {
    let world = World::new(script([says(["Hi."]), touch("a"), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = serving(&world).await;
    for mode in ["read_only", "plan", "ask", "sandboxed"] {
        let refused = server.put(CHOICE, json!({"permission_mode": mode, "confirm_loosening": true})).await.refused();
        assert_eq!(refused, (403, "no_secret".to_owned()), "{mode}");
    }
    let wrong = server.as_page("PUT", CHOICE, json!({"permission_mode": "anything"})).await;
    assert_eq!(wrong.status(), 422);
    server.as_page("PUT", CHOICE, json!({"permission_mode": "read_only"})).await.ok();
    // Leaving it out would reset it.
    assert_eq!(server.put(CHOICE, json!({})).await.refused(), (403, "no_secret".to_owned()));
    assert_eq!(server.put(CHOICE, json!({"permission_mode": "read_only"})).await.status(), 200, "it stays as it is");
    server.chat("s", "go").await;
    server.settled("s").await;
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn sandboxed_is_confirmed_and_runs_commands_without_approval() {
    let world = World::new(script([says(["Hi."]), touch("a"), says(["One."]), touch("b"), says(["Two."])])).await;
    world.write("config.yml", ASKING);
    let server = serving(&world).await;
    let choose = async |body: Value| server.as_page("PUT", CHOICE, body).await;
    let unconfirmed = choose(json!({"permission_mode": "sandboxed"})).await.refused();
    assert_eq!(unconfirmed, (409, "confirm_loosening".to_owned()));
    choose(json!({"permission_mode": "sandboxed", "confirm_loosening": true})).await.ok();
    let frames = server.chat("s", "go").await;
    server.settled("s").await;
    assert!(!frames.iter().any(|frame| frame.is("approval_request")));
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    assert!(!system(&world).contains("Permission Mode"));
    // After a restart it is still chosen; back at the rules, the command needs approval again.
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["chosen"]["permission_mode"], "sandboxed");
    server.as_page("PUT", CHOICE, json!({})).await.ok();
    let stream = server.open_chat("s", "again").await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "deny").await;
    stream.rest().await;
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}

#[tokio::test]
async fn foreign_session_does_not_bring_its_mode() {
    let world = World::new(script([touch("a"), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let session = json!({"title": "Theirs", "created_at": 1.0, "updated_at": 1.0,
        "chosen": {"permission_mode": "sandboxed"},
        "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]});
    let id = server.post("/api/sessions/import", session).await.ok()["id"].as_str().unwrap().to_owned();
    let stream = server.open_chat(&id, "go").await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "deny").await;
    stream.rest().await;
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn size_of_a_new_conversation_knows_what_is_chosen_for_it() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let size = async |chosen: Value| {
        let body = json!({"message": "", "chosen": chosen});
        server.post("/api/tokens/request", body).await.ok()["total_tokens"].as_u64().unwrap()
    };
    let shown = async |query: &str| server.get(&format!("/api/prompt{query}")).await.ok();
    let (plain, planned) = (size(json!({})).await, size(json!({"permission_mode": "plan"})).await);
    assert!(planned > plain + 20, "{planned} {plain}");
    assert_eq!(shown("").await["total_tokens"], plain);
    let prompt = shown("?permission_mode=plan").await;
    assert_eq!(prompt["total_tokens"], planned);
    assert!(prompt["system"].as_str().unwrap().contains("wants a plan"));
}

#[tokio::test]
async fn host_is_allowed_until_the_rule_is_removed() {
    let fetch = |id: &str, url: &str| calls([call(id, "fetch_url", json!({"url": url}))]);
    let (first, other) = ("http://localhost:9/one", "http://localhost:9/two");
    let world = World::new(script([
        fetch("a", first),
        says(["One."]),
        fetch("b", other),
        says(["Two."]),
        fetch("c", "http://127.0.0.1:9/"),
        says(["Three."]),
        fetch("d", other),
        says(["Four."]),
    ]))
    .await;
    world.write("config.yml", "fetch_allow_hosts: ['localhost:9', '127.0.0.1:9']\n");
    let server = world.serve().await;
    let asked = async |session: &str| {
        let stream = server.open_chat(session, "go").await;
        let asked = server.waiting(1).await.remove(0);
        (stream, asked)
    };
    let (stream, first) = asked("s1").await;
    assert_eq!(first["shown"]["host"], "localhost:9");
    assert_eq!(server.decide(&first, "always_host").await, json!({"decision": "approved", "scope": "always"}));
    stream.rest().await;
    assert!(!server.chat("s2", "go").await.iter().any(|frame| frame.is("approval_request")), "the same host");
    let (stream, third) = asked("s3").await;
    assert_eq!(third["shown"]["host"], "127.0.0.1:9", "the same machine by another name is another host");
    server.decide(&third, "deny").await;
    stream.rest().await;
    let rules = server.get("/api/approvals/always").await.ok()["rules"].take();
    assert_eq!((rules.as_array().unwrap().len(), &rules[0]["host"]), (1, &json!("localhost:9")));
    let path = format!("/api/approvals/always/{}", rules[0]["id"].as_str().unwrap());
    server.as_page("DELETE", &path, Value::Null).await.ok();
    let (stream, fourth) = asked("s4").await;
    server.decide(&fourth, "deny").await;
    stream.rest().await;
}

#[tokio::test]
async fn only_a_page_can_be_allowed_by_its_host() {
    let world = World::new(script([touch("a"), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(1).await.remove(0);
    let body = json!({"decision": "always_host", "hash": asked["hash"]});
    let refused = server.answer(asked["id"].as_str().unwrap(), body).await.refused();
    assert_eq!(refused, (409, "no_host".to_owned()));
    server.decide(&asked, "deny").await;
    stream.rest().await;
}
