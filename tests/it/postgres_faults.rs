//! What a home in a database costs over HTTP, and what happens when the database goes back or an import is cut off.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::crash::Rng;
use crate::postgres::{TestDatabase, postgres};
use crate::postgres_copy::{quarantined, refused};
use crate::postgres_home::{exported, kept, kept_behind, lively, run, text_of, use_it, wipe};
use crate::postgres_store::{back_up, go_back};
use crate::script::{always, says, script};
use crate::world::{World, eventually};

#[tokio::test]
async fn postgres_question_costs_few_statements() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    for number in 0..300 {
        world.write(&format!("knowledge/{}/{number}.md", number % 10), "Penguins do not fly.\n");
    }
    let Some((proxy, world)) = kept_behind(world).await else { return };
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    for _ in 0..3 {
        let before = proxy.statements();
        server.chat("s", "again").await;
        server.settled("s").await;
        let count = proxy.statements() - before;
        assert!((1..=12).contains(&count), "{count} statements");
    }
    // What changes nothing asks the database nothing. Only what is dropped later can come in between.
    let mut fewest = u32::MAX;
    for _ in 0..5 {
        let before = proxy.statements();
        assert!(server.get("/api/sessions").await.status() < 300);
        fewest = fewest.min(proxy.statements() - before);
    }
    assert_eq!(fewest, 0);
}

#[tokio::test]
async fn postgres_sessions_at_once_share_statements() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let Some((database, world)) = kept(world).await else { return };
    let server = world.serve().await;
    let asked = (0..12).map(|number| {
        let server = &server;
        async move {
            let session = format!("s{number}");
            server.chat(&session, "hello").await;
            server.settled(&session).await;
        }
    });
    futures_util::future::join_all(asked).await;
    assert!(server.terminate().await.0.success());
    let home = exported(&world, "all").await;
    for number in 0..12 {
        assert!(text_of(&home, &format!("sessions/s{number}.json")).unwrap().contains("Yes."));
    }
    let numbers = "SELECT count(*) FROM facts";
    assert_eq!(database.number(numbers).await, 0, "every session has settled");
}

#[tokio::test]
async fn postgres_database_that_went_back_is_noticed() {
    for is_before_start in [false, true] {
        let Some((database, world)) = kept(lively().await).await else { return };
        if is_before_start {
            back_up(&database).await;
        }
        let server = world.serve().await;
        if !is_before_start {
            server.chat("s", "before").await;
            server.settled("s").await;
            back_up(&database).await;
        }
        server.chat("s", "confirmed, and lost by the database").await;
        server.settled("s").await;
        world.write("knowledge/only-here.md", "Only here.\n");
        server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();
        go_back(&database).await;
        for _ in 0..2 {
            let said = server.post("/api/sessions/s/messages", json!({"message": "too late"})).await;
            assert_eq!(said.refused(), (503, "database_went_back".to_owned()));
            let said = server.put("/api/config/rag-mode", json!({"enabled": false})).await;
            assert_eq!(said.refused(), (503, "database_went_back".to_owned()));
        }
        let history = server.get("/api/sessions/s/history").await.ok().to_string();
        assert!(history.contains("lost by the database"), "it can still be read");
        let stored = exported(&world, &format!("stored {is_before_start}")).await;
        assert!(!stored.contains_key(b"knowledge/only-here.md".as_slice()), "nothing is stored on top of it");
        drop(server);
        // The next start goes on with what the database has, and keeps what only the copy had.
        let server = world.serve().await;
        let history = server.get("/api/sessions/s/history").await;
        assert!(!history.text().contains("lost by the database"));
        let kept = quarantined(&world, "sessions/s.json");
        assert!(fs::read_to_string(&kept[0]).unwrap().contains("lost by the database"), "{kept:?}");
        assert_eq!(fs::read_to_string(&quarantined(&world, "knowledge/only-here.md")[0]).unwrap(), "Only here.\n");
        server.chat("s", "and on").await;
        server.settled("s").await;
    }
}

#[tokio::test]
async fn postgres_facts_that_went_back_are_noticed() {
    let slow = crate::script::steps([json!({"tokens": {"count": 120, "per_second": 30.0}}), json!({"finish": "stop"})]);
    let Some((database, world)) = kept(World::new(script([slow, always(says(["Yes."]))])).await).await else { return };
    let server = world.serve().await;
    back_up(&database).await;
    let mut stream = server.open_chat("s", "count").await;
    stream.until("token").await;
    go_back(&database).await;
    // Its reader learns that it has ended, as after a disk error, but nothing of it is stored on top of what the database has.
    assert!(stream.rest().await.iter().any(|frame| frame.is("done")));
    let stored = database
        .number("SELECT (SELECT count(*) FROM facts) + (SELECT count(*) FROM files WHERE path = 'sessions/s.json')")
        .await;
    assert_eq!(stored, 0);
    let said = server.post("/api/sessions/t/messages", json!({"message": "too late"})).await;
    assert_eq!(said.refused(), (503, "database_went_back".to_owned()));
}

/// Copies the world's home to a folder that is imported, and leaves only config.yml.
async fn to_import(database: &TestDatabase, files: usize) -> (World, std::path::PathBuf) {
    let world = lively().await.with_env("DATABASE_URL", &database.url(""));
    let mut rng = Rng(7);
    for number in 0..files {
        let line = format!("{} {}\n", rng.below(1 << 30), number);
        world.write(&format!("knowledge/{}/{number}.md", number % 20), line.repeat(40));
    }
    let other = world.home().parent().unwrap().join("imported");
    fs::rename(world.home(), &other).unwrap();
    fs::create_dir(world.home()).unwrap();
    world.write("config.yml", "store: {postgres: '${DATABASE_URL}'}\n");
    run(&world, &["db", "migrate", "--home", world.home().to_str().unwrap()]).await;
    (world, other)
}

#[tokio::test]
async fn postgres_interrupted_import_goes_on() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let (world, other) = to_import(&database, 1_500).await;
    let home = world.home();
    let home = home.to_str().unwrap();
    let mut import = world.command(&["import", other.to_str().unwrap(), "--home", home]);
    let mut import = import.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("a part is stored", async || database.number("SELECT count(*) FROM files").await > 0).await;
    import.kill().unwrap();
    import.wait().unwrap();
    let stored = database.number("SELECT count(*) FROM files").await;
    assert!(stored < 1_500, "it was interrupted: {stored}");

    let status = world.run(&["db", "status", "--home", home]).await;
    let said = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(said.starts_with("miniclaw: database_import_incomplete: ") && said.contains("miniclaw import"), "{said}");
    let said = refused(&world).await;
    assert!(said.contains("database_import_incomplete"), "{said}");
    let half = world.home().parent().unwrap().join("half");
    let export = world.run(&["export", half.to_str().unwrap(), "--home", home]).await;
    assert!(String::from_utf8_lossy(&export.stderr).contains("database_import_incomplete"));

    // What was changed between the two counts as it is now.
    fs::remove_file(other.join("knowledge/0/0.md")).unwrap();
    run(&world, &["import", other.to_str().unwrap(), "--home", home]).await;
    run(&world, &["db", "status", "--home", home]).await;
    let all = exported(&world, "all").await;
    assert_eq!(all.keys().filter(|path| path.ends_with(b".md") && path.starts_with(b"knowledge/")).count(), 1_499);
    wipe(&world);
    assert!(world.serve().await.terminate().await.0.success());
    assert_eq!(world.read("memory/MEMORY.md"), "Penguins.\n");
    let again = world.run(&["import", other.to_str().unwrap(), "--home", home]).await;
    assert!(String::from_utf8_lossy(&again.stderr).contains("database_not_empty"));
}

#[tokio::test]
async fn postgres_pieces_nobody_needs_are_dropped() {
    let Some((database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    use_it(&server).await;
    assert!(server.terminate().await.0.success());
    let unneeded =
        "SELECT count(*) FROM pieces WHERE NOT EXISTS (SELECT FROM files WHERE files.pieces @> ARRAY[pieces.sha256])";
    assert_eq!(database.number(unneeded).await, 0);
    let missing = "SELECT count(*) FROM files, unnest(pieces) AS piece WHERE NOT EXISTS (SELECT FROM pieces WHERE sha256 = piece)";
    assert_eq!(database.number(missing).await, 0);
}

#[tokio::test]
async fn postgres_writes_that_wait_for_a_lock_keep_no_connections() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let Some((database, world)) = kept(world).await else { return };
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let held = database.hold("SELECT FROM homes FOR UPDATE").await;
    let said = server.post("/api/sessions/s/messages", json!({"message": "it waits"}));
    // Facts and files are written apart, so two statements wait for the row. Each is given up after 20 seconds, and for a moment the
    // next attempt waits beside it.
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let given_up = "a statement that nobody waits for was cancelled";
    let watched = async {
        let mut most = 0;
        eventually("a statement is given up, and the write is tried again", async || {
            most = database.number(waiting).await.max(most);
            world.log().contains(given_up) && database.number(waiting).await > 0
        })
        .await;
        most
    };
    let watched = async {
        let most = watched.await;
        drop(held);
        most
    };
    let (said, most) = tokio::join!(said, watched);
    assert_eq!(said.status(), 202, "{}", said.text());
    assert!((1..=4).contains(&most), "{most} statements waited at once");
    server.settled("s").await;
    let history = server.get("/api/sessions/s/history").await.ok().to_string();
    assert_eq!(history.matches("it waits").count(), 1, "{history}");
    eventually("no statement is left", async || database.number(waiting).await == 0).await;
}
