//! A failing disk: the server never acknowledges data that it could not sync, keeps acknowledged data, and recovers
//! when the disk does.

use serde_json::{Value, json};

use crate::script::{always, says, script, steps};
use crate::syscall_faults::SyscallFaultInjection;
use crate::world::{World, eventually, files};

fn asked(session: &Value) -> Vec<&str> {
    let messages = session["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "user").map(|m| m["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn failed_sync_is_neither_acknowledged_nor_retried() {
    let world = World::new(script([says(["Yes."]), says(["A title"]), always(says(["Again."]))])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let Some(injection) = SyscallFaultInjection::start(&server, ("fdatasync,fsync", "error=EIO"), &[]) else { return };
    let said = server.post("/api/sessions/s/messages", json!({"message": "second"})).await;
    assert!(matches!(said.refused(), (500, code) if code == "io"));
    // The journal is now uncertain: everything must go to a new file, which fails too.
    let said = server.post("/api/sessions/s/messages", json!({"message": "third"})).await;
    assert_eq!(said.refused().0, 500);
    let large = json!({"path": "workspace/SOUL.md", "content": "new"});
    assert_eq!(server.post("/api/files", large).await.refused().0, 500);
    assert_eq!(world.read("workspace/SOUL.md"), "You are the soul of a test.\n");
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["running"], Value::Null);
    drop(injection);

    server.chat("s", "fourth").await;
    server.settled("s").await;
    assert_eq!(asked(&world.session("s")), ["first", "fourth"]);
    drop(server);
    let server = world.serve().await;
    assert_eq!(asked(&server.get("/api/sessions/s/history").await.ok()), ["first", "fourth"]);
}

#[tokio::test]
async fn disk_failure_ends_run_once_and_keeps_text() {
    let held =
        steps([json!({"text": "Half."}), json!({"gate": "g"}), json!({"text": " Whole."}), json!({"finish": "stop"})]);
    let world = World::new(script([held, always(says(["Again."]))])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "first").await;
    stream.until("token").await;
    let Some(injection) = SyscallFaultInjection::start(&server, ("fdatasync,fsync", "error=EIO"), &[]) else { return };
    world.provider.open_gate("g");
    let rest = stream.rest().await;
    let ends = rest.iter().filter(|frame| frame.is("done") || frame.is("error")).count();
    assert_eq!(ends, 1, "{rest:#?}");
    drop(injection);

    server.chat("s", "second").await;
    eventually("the session settles", async || !world.path("sessions/s.journal").exists()).await;
    let session = world.session("s");
    assert_eq!(asked(&session), ["first", "second"]);
    assert!(session["messages"][1]["content"].as_str().unwrap().starts_with("Half."));
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"], session["messages"]);
}

/// System calls that fail, the error, and the text that a person reads about it.
const REFUSALS: [(&str, &str, &str); 4] = [
    ("openat,openat2", "EMFILE", "Too many open files"),
    ("openat,openat2", "EACCES", "Permission denied"),
    ("openat,openat2", "EROFS", "Read-only file system"),
    ("pwrite64,write", "EIO", "Input/output error"),
];

#[tokio::test]
async fn refused_write_is_reported_and_loses_nothing() {
    let world = World::new(script([says(["Yes."]), always(says(["Again."]))])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let mut kept = vec!["first".to_owned()];
    let (sessions, workspace, journal) =
        (world.path("sessions"), world.path("workspace"), world.path("sessions/s.journal"));
    for (calls, error, sign) in REFUSALS {
        let opens = calls.contains("open");
        // New content of a file goes to a temporary file whose name is not known in advance.
        let on = if opens { &[sessions.as_path(), workspace.as_path()][..] } else { &[journal.as_path()][..] };
        let before = world.read("sessions/s.json");
        let Some(injection) = SyscallFaultInjection::start(&server, (calls, &format!("error={error}")), on) else {
            return;
        };
        let said = server.post("/api/sessions/s/messages", json!({"message": "lost"})).await;
        assert!(said.text().contains(sign), "{error}: {}", said.text());
        assert_eq!(said.refused(), (500, "io".to_owned()), "{error}");
        if opens {
            let saved = server.post("/api/files", json!({"path": "workspace/SOUL.md", "content": "new"})).await;
            assert!(saved.text().contains(sign), "{error}: {}", saved.text());
        }
        assert_eq!(server.get("/health").await.status(), 200, "{error}");
        drop(injection);
        assert_eq!(world.read("workspace/SOUL.md"), "You are the soul of a test.\n", "{error}");
        assert_eq!(world.read("sessions/s.json"), before, "{error}");
        let message = format!("after {error}");
        server.chat("s", &message).await;
        server.settled("s").await;
        kept.push(message);
        assert_eq!(asked(&world.session("s")), kept, "{error}");
        no_temporary_files(&world);
    }
    drop(server);
    let server = world.serve().await;
    assert_eq!(asked(&server.get("/api/sessions/s/history").await.ok()), kept);
}

fn no_temporary_files(world: &World) {
    let left: Vec<_> =
        files(&world.home()).into_iter().filter(|path| path.to_string_lossy().ends_with("-tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn failed_rename_keeps_old_file_and_journal() {
    let world = World::new(script([says(["Yes."]), always(says(["Again."]))])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let before = world.read("sessions/s.json");
    let renames = ("rename,renameat,renameat2", "error=EIO");
    let Some(injection) = SyscallFaultInjection::start(&server, renames, &[]) else { return };
    let saved = server.post("/api/files", json!({"path": "workspace/SOUL.md", "content": "new"})).await;
    assert!(saved.text().contains("Input/output error"), "{}", saved.text());
    assert_eq!(saved.refused(), (500, "io".to_owned()));
    assert_eq!(world.read("workspace/SOUL.md"), "You are the soul of a test.\n");
    // The journal needs no rename: messages stay there as long as the session file cannot be replaced.
    let frames = server.chat("s", "second").await;
    assert_eq!(frames.iter().filter(|frame| frame.is("done")).count(), 1, "{frames:#?}");
    eventually("the session's file could not be replaced", async || world.log().contains("its journal is kept")).await;
    assert_eq!(world.read("sessions/s.json"), before);
    assert!(world.read("sessions/s.journal").contains("second"));
    no_temporary_files(&world);
    drop(injection);
    drop(server);
    let server = world.serve().await;
    assert_eq!(asked(&server.get("/api/sessions/s/history").await.ok()), ["first", "second"]);
    assert!(!world.path("sessions/s.journal").exists());
    server.chat("s", "third").await;
    assert_eq!(asked(&server.settled("s").await), ["first", "second", "third"]);
}

/// The disk is slow for one file: requests for other files do not wait for it.
#[tokio::test]
async fn slow_session_file_delays_no_other() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for id in ["slow", "quick", "gone"] {
        server.chat(id, "first").await;
        server.settled(id).await;
    }
    drop(server);
    let server = world.serve().await;
    let file = world.path("sessions/slow.json");
    let Some(injection) = SyscallFaultInjection::start(&server, ("read", "delay_enter=3600s"), &[&file]) else {
        return;
    };
    let path = "/api/sessions/slow/history";
    let slow = tokio::spawn(crate::http::raw_owned(server.address, server.request("GET", path, &[], b"")));
    // A second request for the same file waits too.
    let same = tokio::spawn(crate::http::raw_owned(server.address, server.request("GET", path, &[], b"")));
    server.get("/api/sessions/quick/history").await.ok();
    server.chat("quick", "second").await;
    server.chat("new", "first").await;
    server.delete("/api/sessions/gone").await.ok();
    assert_eq!(server.get("/health").await.status(), 200);
    assert!(!slow.is_finished() && !same.is_finished(), "its file was not slow");
    drop(injection);
    for answer in [slow, same] {
        assert_eq!(asked(&answer.await.unwrap().ok()), ["first"]);
    }
}
