//! `miniclaw ask` as scripts use it: what it prints, how it exits, what it may do.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script, steps};
use crate::world::{ASKING, PLAIN, World, eventually};

/// Runs `miniclaw ask` on the world's home.
async fn ask(world: &World, arguments: &[&str]) -> Output {
    let home = world.home();
    let all = [&["ask", "--home", home.to_str().unwrap()], arguments].concat();
    world.run(&all).await
}

fn out(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal ended it")
}

/// Returns the texts of the last request's messages.
fn asked(world: &World) -> Vec<String> {
    let messages = world.asked().pop().expect("a request")["messages"].take();
    messages.as_array().unwrap().iter().map(|message| message["content"].to_string()).collect()
}

#[tokio::test]
async fn ask_answers_with_and_without_a_running_server() {
    let world = World::new(script([says(["Green", " tea."]), says(["Black tea."]), says(["Both."])])).await;
    let first = ask(&world, &["Which tea?", "--session", "tea"]).await;
    assert_eq!((code(&first), out(&first)), (0, "Green tea.\n"), "{}", err(&first));
    assert_eq!(err(&first), "", "nothing is said beside the answer");
    let server = world.serve().await;
    let second = ask(&world, &["And for breakfast?", "--session", "tea"]).await;
    assert_eq!((code(&second), out(&second)), (0, "Black tea.\n"), "{}", err(&second));
    assert!(asked(&world).iter().any(|text| text.contains("Which tea?")), "the session goes on");
    let address = format!("http://{}/", server.address);
    let third = world.run(&["ask", "--server", &address, "Which?"]).await;
    assert_eq!((code(&third), out(&third)), (0, "Both.\n"), "{}", err(&third));
    let session = err(&third).trim().strip_prefix("miniclaw: session ").expect("it names the new session");
    assert_eq!(server.get(&format!("/api/sessions/{session}/history")).await.status(), 200);
}

#[tokio::test]
async fn ask_reaches_a_server_that_needs_a_token() {
    let world =
        World::new(script([says(["Yes."])])).await.with_env("MINICLAW_TOKEN", "a-token-of-the-server-0123456789");
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions").await.status(), 401);
    let output = ask(&world, &["Well?"]).await;
    assert_eq!((code(&output), out(&output)), (0, "Yes.\n"), "{}", err(&output));
}

#[tokio::test]
async fn ask_reads_standard_input() {
    let world = World::new(script([says(["A recipe."]), says(["Tea."])])).await;
    let home = world.home();
    let piped = async |arguments: &[&str], input: &'static str| {
        let all = [&["ask", "--home", home.to_str().unwrap()], arguments].concat();
        let mut child = world.command(&all).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap()
    };
    let output = piped(&["What is this?"], "Boil water.\n").await;
    assert_eq!((code(&output), out(&output)), (0, "A recipe.\n"));
    let question = asked(&world).pop().unwrap();
    assert!(question.contains("What is this?") && question.contains("Boil water."), "{question}");
    let output = piped(&["-"], "Which drink?").await;
    assert_eq!((code(&output), out(&output)), (0, "Tea.\n"));
    assert!(asked(&world).pop().unwrap().contains("Which drink?"));
}

fn run_command() -> Value {
    calls([call("t", "terminal", json!({"command": "echo run >> ran.txt"}))])
}

#[tokio::test]
async fn ask_denies_what_needs_a_person() {
    let world = World::new(script([run_command(), says(["I could not."])])).await;
    world.write("config.yml", ASKING);
    let output = ask(&world, &["Run it", "--session", "s"]).await;
    assert_eq!((code(&output), out(&output)), (0, "I could not.\n"), "{}", err(&output));
    assert!(err(&output).contains("terminal is denied"), "{}", err(&output));
    assert!(!world.path("scratch/ran.txt").exists());
    assert!(asked(&world).pop().unwrap().contains("nobody can be asked"), "the model reads why");
}

#[tokio::test]
async fn ask_runs_sandboxed_commands_if_told_to() {
    let world = World::new(script([run_command(), says(["Done."]), run_command(), says(["No."])])).await;
    world.write("config.yml", ASKING);
    let output = ask(&world, &["Run it", "--approve", "sandboxed"]).await;
    assert_eq!((code(&output), out(&output)), (0, "Done.\n"), "{}", err(&output));
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    // Only for this answer.
    let session = err(&output).lines().find_map(|line| line.strip_prefix("miniclaw: session ")).unwrap().to_owned();
    assert_eq!(world.session(&session).get("chosen"), None);
    let output = ask(&world, &["Run it again", "--session", &session]).await;
    assert_eq!(out(&output), "No.\n");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}

#[tokio::test]
async fn ask_returns_json_that_matches_or_fails() {
    let right = "```json\n{\"cups\": 2}\n```";
    let world = World::new(script([says(["Two cups."]), says([right]), always(says(["{\"cups\": \"two\"}"]))])).await;
    let schema = world.home().join("cups.json");
    std::fs::write(&schema, r#"{"type": "object", "required": ["cups"], "properties": {"cups": {"type": "integer"}}}"#)
        .unwrap();
    let schema = schema.to_str().unwrap();
    let output = ask(&world, &["How many?", "--json-schema", schema]).await;
    assert_eq!((code(&output), out(&output)), (0, "{\"cups\":2}\n"), "{}", err(&output));
    assert!(asked(&world).pop().unwrap().contains("does not match"), "the model was told");
    let before = world.asked().len();
    let output = ask(&world, &["How many?", "--json-schema", schema]).await;
    assert_eq!((code(&output), out(&output)), (4, ""), "{}", err(&output));
    assert!(err(&output).contains("does not match the schema: \"cups\""), "{}", err(&output));
    assert_eq!(world.asked().len() - before, 3, "one question and two corrections");
    std::fs::write(schema, r#"{"type": 7}"#).unwrap();
    let output = ask(&world, &["How many?", "--json-schema", schema]).await;
    assert_eq!((code(&output), out(&output)), (1, ""));
    assert!(err(&output).contains("cups.json is no JSON Schema"), "{}", err(&output));
}

#[tokio::test]
async fn exit_code_of_ask_says_how_it_ended() {
    let cut = steps([json!({"text": "It was"}), json!({"finish": "length"})]);
    let world = World::new(script([cut, always(steps([json!({"status": 401})]))])).await;
    let output = ask(&world, &["Tell me"]).await;
    assert_eq!((code(&output), out(&output)), (3, "It was\n"), "{}", err(&output));
    assert!(err(&output).contains("cut off"), "{}", err(&output));
    let output = ask(&world, &["Tell me"]).await;
    assert_eq!((code(&output), out(&output)), (1, ""));
    assert!(err(&output).contains("API key"), "{}", err(&output));

    let output = ask(&world, &[]).await;
    assert_eq!(code(&output), 1);
    assert!(err(&output).contains("standard input is empty"), "{}", err(&output));
    assert_eq!(code(&ask(&world, &["a", "--approve", "everything"]).await), 2);
    let output = world.run(&["ask", "a", "--home", "/nonexistent"]).await;
    assert!(code(&output) == 1 && err(&output).contains("there is no home at /nonexistent"), "{}", err(&output));
    let output = world.run(&["ask", "a", "--server", "http://127.0.0.1:1"]).await;
    assert!(code(&output) == 1 && err(&output).contains("does not answer"), "{}", err(&output));
    let output = world.run(&["ask", "a", "--server", "ftp://127.0.0.1"]).await;
    assert!(code(&output) == 1 && err(&output).contains("no address of a server"), "{}", err(&output));
    world.write("config.yml", format!("{PLAIN}port: many\n"));
    assert_eq!(code(&ask(&world, &["a"]).await), 78);
}

/// An answer that takes minutes.
fn long() -> Value {
    steps([json!({"tokens": {"count": 4000, "per_second": 20}}), json!({"finish": "stop"})])
}

#[tokio::test]
async fn ask_stops_the_answer_when_it_is_stopped() {
    let world = World::new(script([long(), long()])).await;
    let server = world.serve().await;
    let output = ask(&world, &["Tell me", "--session", "a", "--timeout", "1"]).await;
    assert_eq!(code(&output), 124, "{}", err(&output));
    server.settled("a").await;
    let home = world.home();
    let arguments = ["ask", "--home", home.to_str().unwrap(), "Tell me", "--session", "b"];
    let child = world.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the answer begins", async || world.asked().len() == 2).await;
    // SAFETY: it sends a signal to a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert_eq!(code(&output), 130, "{}", err(&output));
    server.settled("b").await;
    assert_eq!(world.session("b")["works"][0]["outcome"]["stop_reason"], "interrupted");
}

#[tokio::test]
async fn killed_ask_leaves_no_permission_behind() {
    let gated = steps([json!({"gate": "killed"}), run_command()["steps"][0].clone(), json!({"finish": "tool_calls"})]);
    let world = World::new(script([gated, says(["Done."]), run_command(), says(["Denied."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let home = world.home();
    let arguments = ["ask", "--home", home.to_str().unwrap(), "Run it", "--session", "a", "--approve", "sandboxed"];
    let mut child = world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the answer begins", async || world.asked().len() == 1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(server.get("/api/sessions/a/history").await.ok()["chosen"].get("permission_mode"), None);
    world.provider.open_gate("killed");
    server.settled("a").await;
    assert_eq!(world.read("scratch/ran.txt"), "run\n", "the work goes on as it was begun");
    assert_eq!(world.session("a").get("chosen"), None);
    let next = server.open_chat("a", "Run it again").await;
    let asked = server.waiting(1).await.remove(0);
    server.decide(&asked, "deny").await;
    next.rest().await;
    assert_eq!(world.read("scratch/ran.txt"), "run\n", "the next message is asked about");
}

#[tokio::test]
async fn only_the_page_sends_a_permission_with_a_message() {
    let world = World::new(script([run_command(), says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let body =
        json!({"message": "Run it", "session_id": "a", "permission_mode": "sandboxed", "confirm_loosening": true});
    assert_eq!(server.post("/api/chat", body.clone()).await.refused(), (403, "no_secret".to_owned()));
    let mut unconfirmed = body.clone();
    unconfirmed["confirm_loosening"] = json!(false);
    let refused = server.as_page("POST", "/api/chat", unconfirmed).await.refused();
    assert_eq!(refused, (409, "confirm_loosening".to_owned()));
    assert_eq!(world.asked().len(), 0);
    assert_eq!(server.as_page("POST", "/api/chat", body).await.status(), 200);
    server.settled("a").await;
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
    assert!(!world.read("sessions/a.json").contains("permission_mode"), "nothing is left of it");
}
