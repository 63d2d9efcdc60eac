//! MCP servers over Streamable HTTP, and the command line.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::mcp::{confirmed, entry, one, results, trust};
use crate::script::{call, calls, says, script};
use crate::world::World;

/// The server of `tests/fixtures/mcp/remote.py`, which ends with the test.
pub struct Remote {
    child: Child,
    pub port: u16,
}

impl Remote {
    pub fn start() -> Self {
        Self::start_program("remote.py")
    }

    /// Starts a program that prints its port, which ends with the test.
    pub fn start_program(name: &str) -> Self {
        let program = format!("{}/tests/fixtures/mcp/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut child = Command::new("python3").arg(program).stdout(Stdio::piped()).spawn().expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().expect("a port") }
    }

    pub fn at(&self, path: &str) -> Value {
        json!({"type": "http", "url": format!("http://127.0.0.1:{}{path}", self.port)})
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn remote_tools_of_both_eras_are_called() {
    let remote = Remote::start();
    let name = |world: &World, index: usize| {
        let offered = world.asked()[0]["tools"].as_array().unwrap().clone();
        let names = offered.iter().filter_map(|tool| tool["function"]["name"].as_str());
        names.filter(|name| name.starts_with("mcp__")).nth(index).unwrap().to_owned()
    };
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    for era in ["modern", "legacy"] {
        let listed = confirmed(&server, era, remote.at(&format!("/{era}"))).await;
        assert_eq!((&listed["status"], &listed["era"]), (&json!("running"), &json!(era)), "{listed}");
        trust(&server, era, &["café"]).await;
        let body = json!({"tool": "café", "arguments": {"text": "tea"}});
        let answer = server.as_page("POST", &format!("/api/mcp/{era}/call"), body).await.ok();
        let expected = if era == "modern" { "tea by =?base64?Y2Fmw6k=?=" } else { "tea by None" };
        assert_eq!(answer["text"], expected, "{era}");
    }
    server.chat("s", "go").await;
    assert!(name(&world, 0).starts_with("mcp__modern__caf_") && name(&world, 1).starts_with("mcp__legacy__caf_"));
}

#[tokio::test]
async fn remote_call_has_the_effect_network_and_taints() {
    let remote = Remote::start();
    let world = World::new(script([says(["Yes."])])).await;
    world.write("config.yml", crate::world::PLAIN);
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/modern")).await;
    trust(&server, "far", &["café"]).await;
    server.chat("s", "go").await;
    let offered = world.asked()[0]["tools"].to_string();
    let at = offered.find("mcp__far__").unwrap();
    let name = offered[at..].split('"').next().unwrap().to_owned();
    drop(server);
    let world = World::new(script([calls([call("a", &name, json!({"text": "tea"}))]), says(["Yes."])])).await;
    world.write("config.yml", crate::world::PLAIN);
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/modern")).await;
    trust(&server, "far", &["café"]).await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(1).await.remove(0);
    assert_eq!((&asked["effect"], &asked["shown"]["network"]), (&json!("network"), &json!(true)), "{asked}");
    server.decide(&asked, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert!(results(&world)[0].starts_with("tea by"));
    assert_eq!(world.session("s")["taint"][0]["from"], "outside");
}

#[tokio::test]
async fn list_that_is_none_is_an_error_and_no_crash() {
    let remote = Remote::start();
    let world = World::new(script([])).await;
    let server = world.serve().await;
    confirmed(&server, "far", remote.at("/modern")).await;
    let refused = server.as_page("GET", "/api/mcp/far/resources", json!({})).await;
    assert_eq!((refused.status(), refused.text().contains("no list")), (502, true), "{}", refused.text());
}

#[tokio::test]
async fn guard_stands_before_every_address() {
    let remote = Remote::start();
    let world = World::new(script([])).await.with_env("TEA", "tea");
    let server = world.serve().await;
    let own = server.address.port();
    for (url, why) in [
        ("http://mcp.example.com/mcp".to_owned(), "use https"),
        ("https://10.0.0.1/mcp".to_owned(), "private network"),
        ("https://169.254.169.254/mcp".to_owned(), "private network"),
        ("https://user:secret@mcp.example.com/".to_owned(), "user name or password"),
        ("file:///etc/passwd".to_owned(), "no transport"),
        (format!("http://127.0.0.1:{own}/mcp"), "is not fetched"),
        (format!("http://127.0.0.1:{}/redirect", remote.port), "leads elsewhere"),
    ] {
        let listed = confirmed(&server, "far", json!({"url": url})).await;
        let reason = listed["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(why), "{url}: {listed}");
    }
    let mut opened = remote.at("/closed");
    assert_eq!(confirmed(&server, "far", opened.clone()).await["status"], "needs_sign_in");
    opened["headers"] = json!({"Authorization": "Bearer ${TEA}"});
    assert_eq!(confirmed(&server, "far", opened).await["status"], "running");
    assert_eq!(confirmed(&server, "huge", remote.at("/huge")).await["status"], "running");
    let body = json!({"tool": "café", "arguments": {"text": "tea"}});
    let answer = server.as_page("POST", "/api/mcp/huge/call", body).await;
    assert!(answer.text().contains("over 4 MiB"), "{}", answer.text());
}

#[tokio::test]
async fn command_line_adds_confirms_trusts_and_calls() {
    let world = World::new(script([])).await;
    let home = world.home().display().to_string();
    let run = async |arguments: &[&str]| {
        let output = world.run(&[&["mcp", "--home", &home][..], arguments].concat()).await;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text + &String::from_utf8_lossy(&output.stderr))
    };
    let program = entry("legacy", json!({}))["args"][1].as_str().unwrap().to_owned();
    let added = run(&["add", "pets", "--", "/usr/bin/python3", "-c", &program, "legacy"]).await;
    assert!(added.0 && added.1.contains("pets (unconfirmed)"), "{}", added.1);
    let early = run(&["call", "pets", "echo", r#"{"text": "x"}"#]).await;
    assert!(!early.0 && early.1.contains("nobody has confirmed"), "{}", early.1);
    let asked = run(&["trust", "pets"]).await;
    assert!(!asked.0 && asked.1.contains("pets (unconfirmed)"), "it is only shown: {}", asked.1);
    let trusted = run(&["trust", "pets", "--yes"]).await;
    assert!(trusted.0 && trusted.1.contains("pets (running)") && trusted.1.contains("new"), "{}", trusted.1);
    let trusted = run(&["trust", "pets", "echo", "--yes"]).await;
    assert!(trusted.0 && trusted.1.contains("trusted              echo"), "{}", trusted.1);
    assert!(!run(&["trust", "pets", "nothing"]).await.0);
    let called = run(&["call", "pets", "echo", r#"{"text": "x"}"#]).await;
    assert_eq!(called, (true, "you said x\n".to_owned()));
    let listed = run(&["list"]).await;
    assert!(listed.1.contains("pets (stopped)") && listed.1.contains("[\"-c\""), "{}", listed.1);
    assert!(run(&["remove", "pets"]).await.0);
    assert_eq!(run(&["list"]).await.1, "");
    let server = world.serve().await;
    assert_eq!(server.get("/api/mcp").await.ok()["servers"], json!([]));
    // Also while a server runs.
    assert!(run(&["add", "pets", "--", "/usr/bin/true"]).await.0);
    assert_eq!(one(&server.get("/api/mcp").await.ok(), "pets")["status"], "unconfirmed");
}
