//! Starts with any content in the home: damaged files of every kind prevent nothing, and are never overwritten silently.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use miniclaw::domain::{Event, Fact, SessionId, WorkId};
use miniclaw::store::{Durability, Home, SessionLog};
use serde_json::{Value, json};

use crate::script::{always, call, calls, says, script};
use crate::world::{CONFIG, Server, World, files};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Empty,
    Brace,
    Half,
    Flipped,
    OtherType,
    Huge,
    Folder,
    Link,
    DanglingLink,
    Unreadable,
}

const ALL: [Damage; 10] = [
    Damage::Empty,
    Damage::Brace,
    Damage::Half,
    Damage::Flipped,
    Damage::OtherType,
    Damage::Huge,
    Damage::Folder,
    Damage::Link,
    Damage::DanglingLink,
    Damage::Unreadable,
];

impl Damage {
    fn to(self, path: &Path) {
        let bytes = std::fs::read(path).expect("a file");
        let replaced = |bytes: &[u8]| std::fs::write(path, bytes).expect("a file");
        match self {
            Damage::Empty => replaced(b""),
            Damage::Brace => replaced(b"{"),
            Damage::Half => replaced(&bytes[..bytes.len() / 2]),
            Damage::Flipped => {
                let mut bytes = bytes;
                let middle = bytes.len() / 2;
                if let Some(byte) = bytes.get_mut(middle) {
                    *byte ^= 0x10;
                }
                replaced(&bytes);
            }
            Damage::OtherType => replaced(b"[1, \"two\", null]\n"),
            Damage::Huge => std::fs::File::create(path).expect("a file").set_len(50 << 20).expect("50 MB"),
            Damage::Unreadable => {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).expect("its mode");
            }
            Damage::Folder => {
                std::fs::remove_file(path).expect("the file");
                std::fs::create_dir(path).expect("a folder");
                std::fs::write(path.join("inside"), "x").expect("a file");
            }
            Damage::Link | Damage::DanglingLink => {
                std::fs::remove_file(path).expect("the file");
                let to = if self == Damage::Link { "/etc/passwd" } else { "/nonexistent/file" };
                symlink(to, path).expect("a link");
            }
        }
    }
}

/// Creates a home with a file of every kind that use creates.
async fn lived_in() -> World {
    let world = World::new(script([
        calls([
            call("c1", "create_file", json!({"path": "knowledge/new.md", "content": "New.\n"})),
            call("c2", "terminal", json!({"command": "echo x > made.txt"})),
        ]),
        always(says(["Yes."])),
    ]))
    .await;
    world.write("knowledge/a.md", "Penguins do not fly.\n");
    world.write("memory/MEMORY.md", "The person likes penguins.\n");
    world.write("skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\nDo.\n");
    world.write(
        "knowledge/retrieval-tests.jsonl",
        "{\"question\": \"Do penguins fly?\", \"file\": \"knowledge/a.md\"}\n",
    );
    let server = world.serve().await;
    for (session, message) in [("s", "first"), ("s", "second"), ("gone", "first"), ("other", "first")] {
        server.chat(session, message).await;
        server.settled(session).await;
    }
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    server.delete("/api/sessions/gone").await.ok();
    server.put("/api/config/rag-mode", json!({"enabled": true})).await;
    server.get("/api/retrieval/status").await;
    server.get("/api/retrieval/search?root=knowledge&q=penguins").await;
    drop(server);
    // The state after a crash.
    world.write("sessions/cut.json", world.read("sessions/other.json"));
    world.write("sessions/cut.journal", "{\"seq\": 1}\n");
    world
}

/// Returns all files except the configuration that a person wrote and the parts of the prompt: an error in the former is
/// refused with its line; errors in the latter end each run until they are fixed (`prompt`).
fn kinds(world: &World) -> Vec<PathBuf> {
    let spared = [
        "config.yml",
        "sessions/other.json",
        "sessions/.lock",
        "workspace/SOUL.md",
        "memory/MEMORY.md",
        "SKILLS_SNAPSHOT.md",
    ];
    let spared = spared.map(|path| world.path(path));
    files(&world.home()).into_iter().filter(|path| !spared.contains(path)).collect()
}

async fn lives(server: &Server<'_>, how: &str) {
    assert_eq!(server.get("/health").await.status(), 200, "{how}");
    assert_eq!(server.get("/api/status").await.status(), 200, "{how}");
    let sessions = server.get("/api/sessions").await.ok();
    let listed: BTreeSet<_> = sessions["sessions"].as_array().unwrap().iter().map(|s| s["id"].to_string()).collect();
    assert!(listed.contains("\"other\""), "{how}: {sessions}");
    let other = server.get("/api/sessions/other/history").await.ok();
    assert_eq!(other["messages"][0]["content"], "first", "{how}");
    let frames = server.chat("other", "go on").await;
    assert!(frames.iter().any(|frame| frame.is("done")), "{how}: {frames:#?}");
    // Whatever the responses are, nothing panics.
    for id in ["s", "cut"] {
        server.get(&format!("/api/sessions/{id}/history")).await;
    }
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp");
    assert!(done.success());
}

async fn survives(damages: &[Damage]) {
    let world = lived_in().await;
    let kept = tempfile::tempdir().unwrap();
    copy(&world.home(), &kept.path().join("home"));
    let kinds = kinds(&world);
    assert!(kinds.len() >= 12, "{kinds:#?}");
    for damage in damages {
        kinds.iter().for_each(|path| damage.to(path));
        let server = world.serve().await;
        lives(&server, &format!("{damage:?}")).await;
        if matches!(damage, Damage::Empty | Damage::Brace | Damage::Half | Damage::OtherType | Damage::Huge) {
            let said = server.get("/api/status").await.ok().to_string();
            assert!(said.contains("sessions/s.json"), "{damage:?}: what was moved aside is said: {said}");
            assert!(!world.path("sessions/s.json").exists(), "{damage:?}");
        }
        drop(server);
        std::fs::remove_dir_all(world.home()).unwrap();
        copy(&kept.path().join("home"), &world.home());
    }
}

#[tokio::test]
async fn corrupted_files_do_not_stop_the_start() {
    survives(&ALL[..5]).await;
}

#[tokio::test]
async fn damaged_files_do_not_stop_the_start() {
    survives(&ALL[5..]).await;
}

#[tokio::test]
async fn lock_path_of_wrong_type_is_reported() {
    let world = World::new(script([])).await;
    drop(world.serve().await);
    Damage::Folder.to(&world.path("sessions/.lock"));
    let home = world.home();
    let output = world.run(&["serve", "--home", home.to_str().unwrap(), "--port", "0"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("sessions/.lock"), "{said}");
}

#[tokio::test]
async fn restart_removes_temporary_files_of_crash() {
    let world = World::new(script([])).await;
    let half = ".0190-x.miniclaw-tmp";
    let left = [
        "",
        "sessions/",
        "sessions/changes/s/",
        "workspace/",
        "memory/deep/",
        "skills/x/",
        "knowledge/",
        "storage/",
        "storage/retrieval/",
        "storage/mcp-sign-ins/",
    ];
    left.iter().for_each(|folder| world.write(&format!("{folder}{half}"), "half"));
    world.write("knowledge/mine.miniclaw-tmp", "a person's");
    let _server = world.serve().await;
    for folder in left {
        assert!(!world.path(&format!("{folder}{half}")).exists(), "{folder}");
    }
    assert_eq!(world.read("knowledge/mine.miniclaw-tmp"), "a person's");
}

/// The session was written while the clock was ahead, so its times are later than the current time.
#[tokio::test]
async fn clock_going_back_keeps_order() {
    const AHEAD: f64 = 4_000_000_000.0;
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for message in ["first", "second"] {
        server.chat("s", message).await;
        server.settled("s").await;
    }
    drop(server);
    let mut session = world.session("s");
    ahead(&mut session, AHEAD);
    world.write("sessions/s.json", session.to_string());
    let seq = session["seq"].as_u64().unwrap();
    // An unfinished work in which each fact is earlier than the one before.
    let home = Home::open(&world.home()).unwrap();
    let work_id = WorkId::new("w3");
    let events = [
        Event::WorkStarted {
            work_id: work_id.clone(),
            message_id: "m3".to_owned(),
            content: "third".to_owned(),
            attachments: Vec::new(),
            model: String::new(),
            without_tools: false,
            client: None,
        },
        Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 },
        Event::Text { work_id, at: 0, text: "Half.".to_owned() },
    ];
    let facts: Vec<Fact> = events
        .into_iter()
        .zip(1..)
        .map(|(event, n)| Fact { seq: seq + n, at: AHEAD / (n as f64 + 1.0), event })
        .collect();
    let log = SessionLog::Folder(home);
    let claim = log.claim().await.unwrap().claim;
    let mut writer = log.writer(claim, &SessionId::parse("s").unwrap());
    writer.append(&facts, Durability::Synced).await.unwrap();
    drop((writer, log));
    let server = world.serve().await;
    server.chat("s", "fourth").await;
    server.settled("s").await;
    let said: Vec<Value> =
        world.session("s")["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said, ["first", "Yes.", "second", "Yes.", "third", "Half.", "fourth", "Yes."]);
    let asked = world.asked().pop().unwrap()["messages"].take();
    let asked: Vec<_> = asked.as_array().unwrap().iter().filter(|m| m["role"] == "user").collect();
    assert_eq!(asked.last().unwrap()["content"], "fourth");
    assert!(world.session("s")["updated_at"].as_f64().unwrap() < AHEAD / 2.0, "the clock was behind");
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len(), 1);
}

/// Adds `seconds` to every time.
fn ahead(value: &mut Value, seconds: f64) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.ends_with("_at"), value.as_f64()) {
                    (true, Some(at)) => *value = json!(at + seconds),
                    _ => ahead(value, seconds),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| ahead(value, seconds)),
        _ => {}
    }
}

#[tokio::test]
async fn private_files_have_owner_only_permissions() {
    use std::os::unix::process::CommandExt;
    let world = World::new(script([always(says(["Yes."]))])).await.with_file("config.yml", CONFIG);
    let open = |command: &mut std::process::Command| {
        // SAFETY: a single system call that cannot fail, between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::umask(0);
                Ok(())
            });
        }
    };
    let server = world.serve_prepared(&["--port", "0"], open).await;
    server.chat("s", "hi").await;
    server.settled("s").await;
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
    let mode = |path: &str| std::fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o777;
    for folder in ["sessions", "storage", "scratch"] {
        assert_eq!(mode(folder) & 0o077, 0, "{folder}: {:o}", mode(folder));
    }
    for file in ["sessions/s.json", "sessions/.lock", "config.json"] {
        assert_eq!(mode(file), 0o600, "{file}: {:o}", mode(file));
    }
}
