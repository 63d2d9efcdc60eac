//! A home whose truth is a database: the folder of the server is a copy that may be lost at any moment.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::crash::{AcknowledgedState, Rng, check, watch, works};
use crate::interrupt::{a_long_time, is_running};
use crate::postgres::{PASSWORD, PgProxy, TestDatabase, postgres};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{ASKING, CONFIG, Server, World, eventually};

/// Makes the world's folder the copy of a home in the database at this address.
pub async fn kept_at(world: World, url: &str) -> World {
    let world = world.with_env("DATABASE_URL", url);
    let config = world.read("config.yml");
    world.write("config.yml", format!("{config}store: {{postgres: '${{DATABASE_URL}}'}}\n"));
    let home = world.home();
    let home = home.to_str().unwrap();
    run(&world, &["db", "migrate", "--home", home]).await;
    run(&world, &["import", home, "--home", home]).await;
    world
}

pub async fn kept(world: World) -> Option<(TestDatabase, World)> {
    let database = postgres().await?.database().await;
    let world = kept_at(world, &database.url("")).await;
    Some((database, world))
}

/// Like [`kept`], with a proxy in front of the database.
pub async fn kept_behind(world: World) -> Option<(PgProxy, World)> {
    let database = postgres().await?.database().await;
    let proxy = PgProxy::to(database.port).await;
    let url = database.url("?sslmode=disable").replace(&database.port.to_string(), &proxy.port.to_string());
    let world = kept_at(world, &url).await;
    Some((proxy, world))
}

pub async fn run(world: &World, arguments: &[&str]) {
    let output = world.run(arguments).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains(PASSWORD), "{arguments:?}: {said}");
}

/// Deletes the copy: everything but what belongs to the machine.
pub fn wipe(world: &World) {
    for entry in fs::read_dir(world.home()).unwrap().flatten() {
        match entry.path() {
            path if path.ends_with("config.yml") => {}
            path if path.is_dir() => fs::remove_dir_all(path).unwrap(),
            path => fs::remove_file(path).unwrap(),
        }
    }
}

/// Returns everything below a folder: the mode, and the content of a file or the target of a link.
pub fn tree(folder: &Path) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    collect(folder, folder, &mut all);
    all
}

fn collect(root: &Path, folder: &Path, all: &mut BTreeMap<Vec<u8>, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        let content = match meta.file_type() {
            kind if kind.is_dir() => Vec::new(),
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => fs::read(&path).unwrap(),
        };
        all.insert(name, (meta.permissions().mode() & 0o7777, content));
        if meta.is_dir() {
            collect(root, &path, all);
        }
    }
}

/// Returns the home in the database, as `miniclaw export` writes it.
pub async fn exported(world: &World, name: &str) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    let folder = world.home().parent().unwrap().join(name);
    run(world, &["export", folder.to_str().unwrap(), "--home", world.home().to_str().unwrap()]).await;
    tree(&folder)
}

pub fn text_of<'t>(tree: &'t BTreeMap<Vec<u8>, (u32, Vec<u8>)>, path: &str) -> Option<&'t str> {
    tree.get(path.as_bytes()).map(|(_, content)| std::str::from_utf8(content).unwrap())
}

/// A world whose model makes files, runs a command, and answers.
pub async fn lively() -> World {
    let made = calls([
        call("c1", "create_file", json!({"path": "knowledge/new.md", "content": "New.\n"})),
        call("c2", "terminal", json!({"command": "mkdir -p deep/empty; echo x > deep/made.sh; chmod +x deep/made.sh"})),
    ]);
    World::new(script([made, always(says(["Yes."]))])).await.with_file("memory/MEMORY.md", "Penguins.\n")
}

pub async fn use_it(server: &Server<'_>) {
    for (session, message) in [("s", "first"), ("s", "second"), ("gone", "first")] {
        server.chat(session, message).await;
        server.settled(session).await;
    }
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    server.delete("/api/sessions/gone").await.ok();
    server.put("/api/config/rag-mode", json!({"enabled": true})).await;
}

#[tokio::test]
async fn postgres_fields_of_the_document_name_the_database_of_a_home() {
    let Some(postgres) = postgres().await else { return };
    let database = postgres.database().await;
    let world = World::new(script([says(["Kept."])])).await;
    let login = format!("db_user: miniclaw\ndb_password: '{PASSWORD}'\ndb_name: {}\n", database.name);
    let fields = format!("db_type: postgresql\ndb_host: 127.0.0.1\ndb_port: {}\n{login}", database.port);
    world.write("config.yml", format!("{CONFIG}{fields}"));
    wipe(&world);
    run(&world, &["db", "migrate", "--home", world.home().to_str().unwrap()]).await;
    let server = world.serve().await;
    server.chat("s", "hello").await;
    server.settled("s").await;
    assert!(server.terminate().await.0.success());
    wipe(&world);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert!(history.to_string().contains("Kept."), "{history}");
}

#[tokio::test]
async fn postgres_home_comes_back_byte_for_byte() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    use_it(&server).await;
    let before = server.get("/api/sessions/s/history").await.ok()["messages"].take();
    assert!(server.terminate().await.0.success());
    let home = exported(&world, "one").await;
    for kept in ["sessions/s.json", "knowledge/new.md", "config.json", "session-key.json", "scratch/deep/made.sh"] {
        let (mode, content) = &home[kept.as_bytes()];
        assert_eq!(content, &fs::read(world.path(kept)).unwrap(), "{kept}");
        assert_eq!(*mode, fs::metadata(world.path(kept)).unwrap().permissions().mode() & 0o7777, "{kept}");
    }
    assert!(home.contains_key(b"scratch/deep/empty".as_slice()), "also an empty folder");
    assert!(home.contains_key(b"sessions/archive/deleted/gone.json".as_slice()));
    assert!(!home.contains_key(b"config.yml".as_slice()), "what belongs to the machine stays there");

    wipe(&world);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"], before);
    assert!(server.terminate().await.0.success());
    let again = exported(&world, "two").await;
    let differs: Vec<_> =
        home.iter().filter(|(path, what)| again.get(*path) != Some(what)).map(|(path, _)| path).collect();
    assert!(differs.is_empty(), "{:?}", differs.iter().map(|path| String::from_utf8_lossy(path)).collect::<Vec<_>>());

    // What was exported is a home without a database.
    let home = world.home().parent().unwrap().join("two");
    fs::write(home.join("config.yml"), CONFIG).unwrap();
    let verified = world.run(&["verify", "--home", home.to_str().unwrap()]).await;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[tokio::test]
async fn postgres_kills_without_the_copy_lose_nothing() {
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let world = World::new(works(2 * kills)).await.with_file("knowledge/a.md", "企鹅不会飞。\n");
    let Some((_database, world)) = kept(world).await else { return };
    let mut rng = Rng(20_261_128);
    let mut acknowledged = AcknowledgedState::default();
    for round in 0..kills {
        let server = world.serve().await;
        check(&world, &acknowledged);
        let message = format!("message {round}.");
        let said = server.post("/api/sessions/s/messages", json!({"message": message})).await.ok();
        acknowledged.messages.push(message);
        watch(&server, &said, rng.below(50), &mut acknowledged).await;
        // Dropping the server kills it.
        drop(server);
        if rng.below(4) > 0 {
            wipe(&world);
        }
    }
    drop(world.serve().await);
    check(&world, &acknowledged);
    assert!(
        acknowledged.ended.len() >= 4 && !acknowledged.done.is_empty(),
        "the kills came too early to mean anything"
    );
}

#[tokio::test]
async fn postgres_kill_in_a_tool_runs_it_once() {
    let long = a_long_time(4751);
    let slow = call("c1", "terminal", json!({"command": format!("echo begun >> ran.txt; sleep {long}")}));
    let world = World::new(script([calls([slow]), always(says(["Next."]))])).await;
    let Some((_database, world)) = kept(world).await else { return };
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "wait").await;
    stream.until("tool_start").await;
    eventually("the tool runs", async || is_running(&long)).await;
    drop(server);
    eventually("the tool ends with its server", async || !is_running(&long)).await;
    wipe(&world);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][0]["content"], "wait");
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "interrupted", "{history:#}");
    server.chat("s", "and now").await;
    server.settled("s").await;
    assert!(!is_running(&long), "it is not run again");
}

#[tokio::test]
async fn postgres_question_survives_the_loss_of_the_copy() {
    let run = call("t", "terminal", json!({"command": "echo once >> ran.txt"}));
    let world = World::new(script([calls([run]), says(["Done."])])).await.with_file("config.yml", ASKING);
    let Some((_database, world)) = kept(world).await else { return };
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let before = server.waiting(1).await.remove(0);
    drop(stream);
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    let after = server.waiting(1).await.remove(0);
    for field in ["id", "hash", "call_id", "arguments", "shown", "session_id", "work_id"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    server.decide(&after, "approve").await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/ran.txt"), "once\n");
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    assert_eq!(world.read("scratch/ran.txt"), "once\n");
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"][2]["content"], "Done.");
}

#[tokio::test]
async fn postgres_outage_of_five_seconds_loses_nothing() {
    let slow = steps([json!({"tokens": {"count": 400, "per_second": 100.0}}), json!({"finish": "stop"})]);
    let Some((proxy, world)) = kept_behind(World::new(script([slow, always(says(["Yes."]))])).await).await else {
        return;
    };
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "count").await;
    stream.until("token").await;
    proxy.set_down(true);
    // The outage is the fault itself; nothing is waited for.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    proxy.set_down(false);
    let frames = stream.rest().await;
    let done = frames.iter().find(|frame| frame.is("done")).unwrap_or_else(|| panic!("{frames:#?}"));
    server.settled("s").await;
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][1]["content"], done.data["content"]);
    assert_eq!(history["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn postgres_cut_answers_neither_lose_nor_double() {
    let made = |n: usize| {
        let path = format!("knowledge/{n}.md");
        [calls([call(&format!("c{n}"), "create_file", json!({"path": path, "content": "x\n"}))]), says(["Done."])]
    };
    let Some((proxy, world)) = kept_behind(World::new(script((0..12).flat_map(made))).await).await else { return };
    let server = world.serve().await;
    let mut acknowledged = Vec::new();
    for n in 0..12 {
        let message = format!("message {n}");
        proxy.cut_next_answer();
        server.chat("s", &message).await;
        server.settled("s").await;
        acknowledged.push(json!(message));
    }
    assert_eq!(proxy.cuts_left(), 0, "every fault happened");
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    let messages = history["messages"].as_array().unwrap();
    let asked: Vec<Value> = messages.iter().filter(|m| m["role"] == "user").map(|m| m["content"].clone()).collect();
    assert_eq!(asked, acknowledged);
    let ended = messages.iter().flat_map(|m| m["tool_calls"].as_array().cloned().unwrap_or_default());
    assert_eq!(ended.filter(|call| call["status"] == "done").count(), 12);
    assert!((0..12).all(|n| world.path(&format!("knowledge/{n}.md")).is_file()));
}

#[tokio::test]
async fn postgres_changes_of_other_programs_are_stored() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    world.write("knowledge/mine.md", "While it runs.\n");
    fs::remove_file(world.path("memory/MEMORY.md")).unwrap();
    let mut tries = 0;
    eventually("the change is stored", async || {
        tries += 1;
        let home = exported(&world, &format!("try{tries}")).await;
        text_of(&home, "knowledge/mine.md") == Some("While it runs.\n") && text_of(&home, "memory/MEMORY.md").is_none()
    })
    .await;
    drop(server);
    world.write("knowledge/mine.md", "While it is off.\n");
    assert!(world.serve().await.terminate().await.0.success());
    assert_eq!(text_of(&exported(&world, "off").await, "knowledge/mine.md"), Some("While it is off.\n"));
    // Negative control: a folder that is no copy of the last state is overwritten.
    let stale = fs::read(world.path("storage/database.json")).unwrap();
    wipe(&world);
    drop(world.serve().await);
    world.write("storage/database.json", stale);
    world.write("knowledge/mine.md", "Of a copy that is behind.\n");
    drop(world.serve().await);
    assert_eq!(world.read("knowledge/mine.md"), "While it is off.\n");
}

#[tokio::test]
async fn postgres_server_that_lost_the_home_stores_nothing() {
    let Some((database, first)) = kept(lively().await).await else { return };
    let old = first.serve().await;
    old.chat("s", "first").await;
    old.settled("s").await;
    let second =
        World::new(script([always(says(["From the second."]))])).await.with_env("DATABASE_URL", &database.url(""));
    wipe(&second);
    second.write("config.yml", first.read("config.yml"));
    let new = second.serve().await;
    let said = old.post("/api/sessions/s/messages", json!({"message": "too late"})).await;
    assert_eq!(said.refused(), (503, "fenced".to_owned()));
    assert_eq!(said.head.header("retry-after"), Some("1"));
    first.write("knowledge/late.md", "late\n");
    new.chat("s", "in time").await;
    new.settled("s").await;
    let (status, _) = old.terminate().await;
    assert_eq!(status.code(), Some(78), "it ends by itself, and nothing starts it again");
    assert!(new.terminate().await.0.success());
    let home = exported(&second, "after").await;
    let session = text_of(&home, "sessions/s.json").unwrap();
    assert!(session.contains("in time") && !session.contains("too late"), "{session}");
    assert!(!home.contains_key(b"knowledge/late.md".as_slice()));
}

#[tokio::test]
async fn postgres_copy_can_be_in_another_folder() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let world = lively().await.with_env("DATABASE_URL", &database.url(""));
    let cache = world.home().parent().unwrap().join("cache");
    let store = format!("store: {{postgres: '${{DATABASE_URL}}', cache: {}}}\n", cache.display());
    world.write("config.yml", format!("{CONFIG}{store}"));
    run(&world, &["db", "migrate", "--home", world.home().to_str().unwrap()]).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    assert!(cache.join("home/sessions/s.json").is_file() && !world.path("sessions").exists());
    let mode = fs::metadata(cache.join("home/sessions")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "nobody else reads sessions");
    let settings = server.get("/api/settings").await.ok();
    assert_eq!(settings["warnings"], json!([]), "the folder with config.yml is another one than that of the home");
    let changed = server.as_page("PATCH", "/api/settings", json!({"set": {"max_minutes": 5}})).await;
    assert_eq!(changed.refused(), (403, "config_elsewhere".to_owned()), "it is changed there");
    let models = format!("models: [{{id: another, api_url: '{}', api_key: none}}]\n", world.provider.base_url);
    world.write("config.yml", format!("{CONFIG}{store}{models}"));
    let (copy, file) = (cache.join("home"), world.home().parent().unwrap().join("copy.tar.zst"));
    let output = world.run(&["backup", file.to_str().unwrap(), "--home", copy.to_str().unwrap()]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("name the folder with config.yml instead"), "{said}");
    assert!(!file.exists());
    eventually("a change of config.yml is followed there", async || {
        server.get("/api/models").await.text().contains("another")
    })
    .await;
    drop(server);
    fs::remove_dir_all(&cache).unwrap();
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][0]["content"], "first");
    assert_eq!(fs::read_to_string(cache.join("home/knowledge/new.md")).unwrap(), "New.\n");
}

#[tokio::test]
async fn postgres_deleted_copy_is_no_deletion() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    wipe(&world);
    let said = server.put("/api/config/rag-mode", json!({"enabled": true})).await;
    assert!(said.status() >= 500, "{}", said.text());
    drop(server);
    wipe(&world);
    drop(world.serve().await);
    assert_eq!(world.read("memory/MEMORY.md"), "Penguins.\n");
}

#[tokio::test]
async fn postgres_import_needs_a_home_and_an_empty_database() {
    let Some((database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let other = lively().await;
    other.write("config.yml", format!("store: {{postgres: '{}'}}\n", database.url("")));
    let (home, of_other) = (other.home(), other.home());
    let output = other.run(&["import", of_other.to_str().unwrap(), "--home", home.to_str().unwrap()]).await;
    assert!(String::from_utf8_lossy(&output.stderr).contains("database_not_empty"));
    server.chat("s", "and it still owns the home").await;
    server.settled("s").await;
    assert!(server.terminate().await.0.success());
    let (home, nowhere) = (world.home(), world.home().parent().unwrap().join("nowhere"));
    for (folder, words) in [(&nowhere, "there is no home"), (&home, "database_not_empty")] {
        let output = world.run(&["import", folder.to_str().unwrap(), "--home", home.to_str().unwrap()]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
    assert!(!nowhere.exists());
    let full = world.run(&["export", home.to_str().unwrap(), "--home", home.to_str().unwrap()]).await;
    assert!(!full.status.success() && world.path("workspace/SOUL.md").is_file());
    assert!(world.serve().await.terminate().await.0.success());
}

/// Writes generated files, folders and links to a home.
fn write_generated(home: &Path, entries: &[(String, u8, Vec<u8>)]) {
    for (path, kind, content) in entries {
        let path = home.join(path);
        let Some(parent) = path.parent() else { continue };
        if fs::create_dir_all(parent).is_err() || path.symlink_metadata().is_ok() {
            continue;
        }
        match kind % 4 {
            0 => fs::create_dir(&path).unwrap(),
            1 => symlink("../some where/else", &path).unwrap(),
            kind => {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(if kind == 2 { 0o600 } else { 0o755 })).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn postgres_export_of_an_import_is_the_same_home() {
    round_trips(8).await;
}

/// Imports generated homes and exports them again.
pub async fn round_trips(homes_to_try: usize) {
    if postgres().await.is_none() {
        return;
    }
    let root = proptest::sample::select(vec!["workspace", "memory", "knowledge", "skills", "scratch", "workspaces/p"]);
    let name = proptest::sample::select(vec!["a", "b b", "日本", "c.md", ".hidden", "d'e\"f"]);
    let content = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..2_000),
        (any::<u8>(), 250_000usize..600_000).prop_map(|(byte, length)| vec![byte; length]),
    ];
    let entry = (root, proptest::collection::vec(name, 1..4), any::<u8>(), content)
        .prop_map(|(root, names, kind, content)| (format!("{root}/{}", names.join("/")), kind, content));
    let homes = proptest::collection::vec(entry, 0..25);
    let mut runner = TestRunner::deterministic();
    for case in 0..homes_to_try {
        let entries = homes.new_tree(&mut runner).unwrap().current();
        let Some(server) = postgres().await else { return };
        let database = server.database().await;
        let world = lively().await.with_env("DATABASE_URL", &database.url(""));
        if case % 2 == 0 {
            let server = world.serve().await;
            use_it(&server).await;
        }
        write_generated(&world.home(), &entries);
        let other = world.home().parent().unwrap().join("imported");
        fs::rename(world.home(), &other).unwrap();
        fs::create_dir(world.home()).unwrap();
        world.write("config.yml", "store: {postgres: '${DATABASE_URL}'}\n");
        let home = world.home();
        run(&world, &["db", "migrate", "--home", home.to_str().unwrap()]).await;
        run(&world, &["import", other.to_str().unwrap(), "--home", home.to_str().unwrap()]).await;
        let mut imported = tree(&other);
        // What belongs to the machine, caches, and records.
        let left =
            ["config.yml", "sessions/.lock", "sessions/requests", "sessions/found", "SKILLS_SNAPSHOT.md", "storage"];
        imported.retain(|path, _| {
            let path = String::from_utf8_lossy(path).into_owned();
            let is_kept_storage =
                ["storage/trash", "storage/trusted", "storage/quarantine"].iter().any(|of| path.starts_with(of));
            let is_left = left.iter().any(|left| path == *left || path.starts_with(&format!("{left}/")));
            is_kept_storage || !is_left
        });
        let mut exported = exported(&world, "exported").await;
        exported.retain(|path, _| path != b"storage");
        assert_eq!(exported.keys().collect::<Vec<_>>(), imported.keys().collect::<Vec<_>>(), "case {case}");
        for (path, (mode, content)) in &imported {
            let (mode_now, content_now) = &exported[path];
            let path = String::from_utf8_lossy(path);
            assert!(content_now == content, "case {case}: the content of {path} differs");
            assert_eq!(format!("{mode_now:o}"), format!("{mode:o}"), "case {case}: {path}");
        }
    }
}
