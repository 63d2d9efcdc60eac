//! `miniclaw verify` on homes that the real server has written: it finds what was changed outside, and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::crash::{AcknowledgedState, Rng, watch, works};
use crate::script::{call, calls, says, script};
use crate::world::{ASKING, Server, World};

const FILE: &str = "knowledge/tea.md";

/// Returns a home in which two sessions have written a file, one after the other.
async fn used() -> World {
    let create = call("c1", "create_file", json!({"path": FILE, "content": "green\n"}));
    let edits = json!([{"search": "green", "replace": "black"}]);
    let edit = call("c2", "edit_file", json!({"path": FILE, "edits": edits}));
    let read = || call("r", "read_file", json!({"path": FILE}));
    let replies = [calls([create, read()]), says(["Done."]), calls([edit, read()]), says(["Done."])];
    let world = World::new(script(replies)).await.with_file("knowledge/birds.md", "Penguins cannot fly.\n");
    let server = world.serve().await;
    for session in ["a", "b"] {
        server.chat(session, "Write about tea.").await;
        server.settled(session).await;
    }
    drop(server);
    world
}

/// Runs the command. Returns its exit code and its result.
async fn verified(world: &World) -> (i32, Value) {
    let home = world.home();
    let output = world.run(&["verify", "--home", home.to_str().unwrap(), "--json"]).await;
    let result = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap(), result)
}

/// Returns the paths of the alarms or of the notes.
fn paths(result: &Value, what: &str) -> Vec<String> {
    let checks = result["checks"].as_array().unwrap();
    let found = checks.iter().flat_map(|check| check[what].as_array().unwrap());
    found.map(|finding| finding["path"].as_str().unwrap().to_owned()).collect()
}

fn count(result: &Value, name: &str) -> u64 {
    let checks = result["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["count"].as_u64().unwrap()
}

/// Returns the files in a folder of the home, sorted.
fn files_in(world: &World, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(folder)).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let mut names: Vec<_> = files.map(|file| format!("{folder}/{}", file.file_name().into_string().unwrap())).collect();
    names.sort();
    names
}

#[tokio::test]
async fn verify_of_used_home_finds_nothing() {
    let world = used().await;
    let before = snapshot(&world);
    let (code, result) = verified(&world).await;
    assert_eq!((code, &result["ok"], paths(&result, "alarms")), (0, &json!(true), Vec::new()), "{result:#}");
    assert_eq!(paths(&result, "notes"), Vec::<String>::new(), "{result:#}");
    let counts = ["sessions", "heads", "transcripts", "files"].map(|name| count(&result, name));
    assert_eq!(counts, [2, 2, 2, 1]);
    assert!(count(&result, "requests") >= 8 && count(&result, "changes") >= 4, "{result:#}");
    assert_eq!(snapshot(&world), before, "it writes nothing");

    // A request is bound to its answer: the session has the hash of the body.
    let work = &world.session("a")["works"][0];
    assert_eq!(work["requests"].as_array().unwrap().len(), 2, "{work}");
    let server = world.serve().await;
    let (code, running) = verified(&world).await;
    assert_eq!((code, paths(&running, "alarms")), (0, Vec::new()), "{running:#}");
    drop(server);

    let home = world.home();
    let text = world.run(&["verify", "--home", home.to_str().unwrap()]).await;
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("ok     sessions           2 checked\n"), "{text}");
    let nothing = world.run(&["verify", "--home", "/nonexistent"]).await;
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("could not be checked: there is no home folder"));
}

/// Returns all files of the home with their contents.
fn snapshot(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = crate::world::files(&world.home()).into_iter();
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[tokio::test]
async fn changed_byte_of_a_written_home_is_named() {
    let world = used().await;
    let mut files = vec!["sessions/a.json".to_owned(), "sessions/heads.jsonl".to_owned()];
    for folder in ["changes/a", "changes/b/blobs", "requests/a", "requests/b/texts"] {
        files.extend(files_in(&world, &format!("sessions/{folder}")).into_iter().take(2));
    }
    assert_eq!(files.len(), 9, "{files:?}");
    for file in files {
        let path = world.path(&file);
        let whole = std::fs::read(&path).unwrap();
        let mut changed = whole.clone();
        let at = whole.len() / 3;
        changed[at] ^= 1;
        std::fs::write(&path, changed).unwrap();
        let (code, result) = verified(&world).await;
        assert_eq!((code, &result["ok"], paths(&result, "alarms")), (1, &json!(false), vec![file.clone()]), "{file}");
        std::fs::write(&path, whole).unwrap();
    }
    let (code, _) = verified(&world).await;
    assert_eq!(code, 0, "everything is as it was");
}

#[tokio::test]
async fn file_edited_outside_is_listed_with_exit_code_0() {
    let world = used().await;
    world.write(FILE, "white\n");
    world.write("skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\n");
    let (code, result) = verified(&world).await;
    assert_eq!((code, paths(&result, "alarms")), (0, Vec::new()), "{result:#}");
    assert_eq!(paths(&result, "notes"), [FILE, "skills/x/SKILL.md"], "{result:#}");
    let home = world.home();
    let output = world.run(&["verify", "--home", home.to_str().unwrap()]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("note   {FILE}: it was edited after the last call on record\n")), "{text}");
}

#[tokio::test]
async fn kill_in_the_middle_of_a_work_is_no_alarm() {
    let world = World::new(works(24)).await.with_file("knowledge/a.md", "企鹅不会飞。\n");
    let mut rng = Rng(20_261_126);
    let mut journals = 0;
    for round in 0..6 {
        let server = world.serve().await;
        let said = server.post("/api/sessions/s/messages", json!({"message": format!("message {round}.")})).await.ok();
        watch(&server, &said, rng.below(40), &mut AcknowledgedState::default()).await;
        if round % 3 == 0 {
            let (code, working) = verified(&world).await;
            assert_eq!((code, paths(&working, "alarms")), (0, Vec::new()), "while the server works: {working:#}");
        }
        drop(server);
        journals += u32::from(world.path("sessions/s.journal").exists());
        let (code, killed) = verified(&world).await;
        assert_eq!((code, paths(&killed, "alarms")), (0, Vec::new()), "after the kill: {killed:#}");
    }
    assert!(journals > 0, "no kill came in the middle of a work");
}

#[tokio::test]
async fn work_that_waits_across_restarts_keeps_its_chain() {
    let create = call("c1", "create_file", json!({"path": FILE, "content": "green\n"}));
    let world = World::new(script([calls([create]), says(["Done."])])).await.with_file("config.yml", ASKING);
    let server = world.serve().await;
    server.post("/api/sessions/s/messages", json!({"message": "Write about tea."})).await.ok();
    server.waiting(1).await;
    drop(server);
    for _ in 0..2 {
        assert_eq!(verified(&world).await.0, 0);
        let server = world.serve().await;
        server.waiting(1).await;
        drop(server);
    }
    let server = world.serve().await;
    let approval = server.waiting(1).await.remove(0);
    server.decide(&approval, "approve").await;
    server.settled("s").await;
    let (code, result) = verified(&world).await;
    assert_eq!((code, paths(&result, "alarms"), count(&result, "files")), (0, Vec::new(), 1), "{result:#}");
    let chain: Value = serde_json::from_str(&world.read("sessions/s.json")).unwrap();
    assert_eq!(chain["chain"]["since"], 0, "one chain from the first fact on");
    drop(server);
    std::fs::remove_file(world.path("sessions/heads.jsonl")).unwrap();
    drop(world.serve().await);
    assert_eq!(verified(&world).await.0, 0);
}

/// Returns what people see of a home: its sessions, one of them, what it changed, and a search.
async fn views(server: &Server<'_>) -> Vec<Value> {
    let mut views = Vec::new();
    for path in [
        "/api/sessions",
        "/api/sessions/a/history",
        "/api/sessions/a/operations",
        "/api/sessions/b/changes",
        "/api/sessions/search?q=tea",
        "/api/retrieval/search?query=penguins&k=3",
    ] {
        let mut view = server.get(path).await.ok();
        for of_moment in ["took_us", "last_event_id"] {
            view.as_object_mut().map(|fields| fields.shift_remove(of_moment));
        }
        views.push(view);
    }
    views
}

#[tokio::test]
async fn home_without_indexes_gives_the_same_answers() {
    let world = used().await;
    let server = world.serve().await;
    let before = views(&server).await;
    assert_eq!(before.last().unwrap()["hits"][0]["source"], "knowledge/birds.md");
    drop(server);
    let (code, indexed) = verified(&world).await;
    assert_eq!((code, paths(&indexed, "notes"), count(&indexed, "indexes")), (0, Vec::new(), 2), "{indexed:#}");
    std::fs::remove_dir_all(world.path("storage")).unwrap();
    assert_eq!(verified(&world).await.0, 0);
    let server = world.serve().await;
    assert_eq!(views(&server).await, before);
    drop(server);

    // A stale index and a damaged one are noted, and the next search builds them anew.
    world.write("knowledge/new.md", "Ostriches run.\n");
    let (code, stale) = verified(&world).await;
    assert_eq!((code, paths(&stale, "notes")), (0, vec!["knowledge/new.md".to_owned()]), "{stale:#}");
    world.write("storage/retrieval/knowledge/meta.json", "damaged");
    let (code, damaged) = verified(&world).await;
    assert_eq!((code, paths(&damaged, "notes")), (0, vec!["storage/retrieval/knowledge".to_owned()]), "{damaged:#}");
}
