//! A disk that fails: an acknowledgement is never given for what could not be synced, what was acknowledged stays, and it
//! goes on when the disk does. The errors come from the kernel's side of the call (`strace --inject`).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::script::{always, says, script, steps};
use crate::world::{Server, World, eventually};

/// Makes system calls of a server fail until it is dropped.
struct Failing(Child);

impl Failing {
    /// `None`, said why, where a process cannot be traced.
    fn start(server: &Server<'_>, what: &str) -> Option<Self> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "trace=fsync,fdatasync", "-e", &format!("inject={what}"), "-p"]);
        let child = strace.arg(server.pid().to_string()).stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: there is no strace: {error}");
                return None;
            }
        };
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        if !first.contains("attached") {
            println!("skipped: the server cannot be traced here: {first}");
            let _ = child.wait();
            return None;
        }
        // What it tells must be read, or it waits.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self(child))
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).expect("a process id");
        // SAFETY: our own child, not waited for yet. An interrupt makes it let go of the server.
        unsafe { libc::kill(pid, libc::SIGINT) };
        let _ = self.0.wait();
    }
}

fn asked(session: &Value) -> Vec<&str> {
    let messages = session["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "user").map(|m| m["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_sync_that_fails_is_no_acknowledgement_and_is_not_tried_again_as_if_nothing_had_been() {
    let world = World::new(script([says(["Yes."]), says(["A title"]), always(says(["Again."]))])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let Some(failing) = Failing::start(&server, "fdatasync,fsync:error=EIO") else { return };
    let said = server.post("/api/sessions/s/messages", json!({"message": "second"})).await;
    assert!(matches!(said.refused(), (500, code) if code == "io"));
    // The journal is in doubt now: everything has to go to a new file, which fails too.
    let said = server.post("/api/sessions/s/messages", json!({"message": "third"})).await;
    assert_eq!(said.refused().0, 500);
    let large = json!({"path": "workspace/SOUL.md", "content": "new"});
    assert_eq!(server.post("/api/files", large).await.refused().0, 500);
    assert_eq!(world.read("workspace/SOUL.md"), "You are the soul of a test.\n");
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["running"], Value::Null);
    drop(failing);

    server.chat("s", "fourth").await;
    server.settled("s").await;
    assert_eq!(asked(&world.session("s")), ["first", "fourth"]);
    drop(server);
    let server = world.serve().await;
    assert_eq!(asked(&server.get("/api/sessions/s/history").await.ok()), ["first", "fourth"]);
}

#[tokio::test]
async fn a_disk_that_fails_in_the_middle_of_a_run_ends_it_once_and_keeps_what_was_said() {
    let held =
        steps([json!({"text": "Half."}), json!({"gate": "g"}), json!({"text": " Whole."}), json!({"finish": "stop"})]);
    let world = World::new(script([held, always(says(["Again."]))])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "first").await;
    stream.until("token").await;
    let Some(failing) = Failing::start(&server, "fdatasync,fsync:error=EIO") else { return };
    world.provider.open_gate("g");
    let rest = stream.rest().await;
    let ends = rest.iter().filter(|frame| frame.is("done") || frame.is("error")).count();
    assert_eq!(ends, 1, "{rest:#?}");
    drop(failing);

    server.chat("s", "second").await;
    eventually("the session settles", async || !world.path("sessions/s.journal").exists()).await;
    let session = world.session("s");
    assert_eq!(asked(&session), ["first", "second"]);
    assert!(session["messages"][1]["content"].as_str().unwrap().starts_with("Half."));
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"], session["messages"]);
}
