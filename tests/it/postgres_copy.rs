//! The copy of a home in a database: when it wins, when the database wins, and that neither deletes what only one of them has.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::postgres::TestDatabase;
use crate::postgres_home::{exported, kept, lively, text_of, use_it, wipe};
use crate::script::{always, says, script};
use crate::world::{World, eventually};

/// Starts a server that is refused, and returns what it says.
pub async fn refused(world: &World) -> String {
    let output = world.run(&["serve", "--port", "0", "--home", world.home().to_str().unwrap()]).await;
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the files in quarantine with this name.
pub fn quarantined(world: &World, name: &str) -> Vec<PathBuf> {
    let folders = fs::read_dir(world.path("storage/quarantine")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join(name)).filter(|path| path.exists()).collect()
}

/// Copies a folder as a backup does.
fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

async fn damage(database: &TestDatabase, path: &str) {
    let sql = format!(
        "UPDATE pieces SET bytes = bytes || '\\x00' WHERE sha256 = ANY(SELECT unnest(pieces) FROM files WHERE path = '{path}')"
    );
    database.execute(&sql).await;
}

async fn repair(database: &TestDatabase, path: &str) {
    let sql = format!(
        "UPDATE pieces SET bytes = substring(bytes FROM 1 FOR octet_length(bytes) - 1) WHERE sha256 = ANY(SELECT unnest(pieces) \
         FROM files WHERE path = '{path}')"
    );
    database.execute(&sql).await;
}

#[tokio::test]
async fn postgres_start_that_dies_restoring_deletes_nothing() {
    let Some((database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    use_it(&server).await;
    assert!(server.terminate().await.0.success());
    let before = exported(&world, "before").await;
    // At an early and at a late file; twice each, so that a start finds what the one before left.
    for path in ["config.json", "memory/MEMORY.md", "workspace/SOUL.md"] {
        wipe(&world);
        damage(&database, path).await;
        for _ in 0..2 {
            let said = refused(&world).await;
            assert!(said.contains("database_damaged"), "{path}: {said}");
        }
        repair(&database, path).await;
        let after = exported(&world, &format!("after {}", path.replace('/', " "))).await;
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{path}");
    }
    assert!(world.serve().await.terminate().await.0.success());
    let after = exported(&world, "after").await;
    for (path, what) in &before {
        assert!(after.get(path) == Some(what), "{}", String::from_utf8_lossy(path));
    }
    assert_eq!(
        fs::read_dir(world.path("storage/quarantine")).unwrap().count(),
        0,
        "an empty folder has nothing to keep"
    );
}

#[tokio::test]
async fn postgres_refused_import_keeps_the_home() {
    let Some((database, _world)) = kept(lively().await).await else { return };
    let other = World::new(script([always(says(["Yes."]))])).await.with_file("knowledge/own.md", "Mine.\n");
    other.write("config.yml", format!("store: {{postgres: '{}'}}\n", database.url("")));
    let home = other.home();
    let home = home.to_str().unwrap();
    for _ in 0..2 {
        let output = other.run(&["import", home, "--home", home]).await;
        assert!(String::from_utf8_lossy(&output.stderr).contains("database_not_empty"));
        let said = refused(&other).await;
        assert!(said.contains("cache_is_a_home"), "{said}");
    }
    assert_eq!(other.read("knowledge/own.md"), "Mine.\n");
    assert_eq!(other.read("workspace/SOUL.md"), "You are the soul of a test.\n");
    // Any file makes a folder a home, also without workspace/.
    fs::remove_dir_all(other.path("workspace")).unwrap();
    let said = refused(&other).await;
    assert!(said.contains("cache_is_a_home"), "{said}");
    assert_eq!(other.read("knowledge/own.md"), "Mine.\n");
}

#[tokio::test]
async fn postgres_copy_that_is_behind_deletes_nothing() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    let behind = world.home().parent().unwrap().join("behind");
    copy(&world.home(), &behind);
    let newer = server.put("/api/config/rag-mode", json!({"enabled": true})).await;
    assert!(newer.status() < 300, "{}", newer.text());
    world.write("knowledge/newer.md", "Newer.\n");
    let mut tries = 0;
    eventually("the file is stored", async || {
        tries += 1;
        text_of(&exported(&world, &format!("try{tries}")).await, "knowledge/newer.md").is_some()
    })
    .await;
    drop(server);
    fs::remove_dir_all(world.home()).unwrap();
    fs::rename(&behind, world.home()).unwrap();
    world.write("memory/MEMORY.md", "Changed in the copy that is behind.\n");
    world.write("knowledge/only-here.md", "Only here.\n");
    assert!(world.serve().await.terminate().await.0.success());
    assert_eq!(world.read("knowledge/newer.md"), "Newer.\n");
    assert_eq!(world.read("memory/MEMORY.md"), "Penguins.\n");
    for (name, content) in
        [("memory/MEMORY.md", "Changed in the copy that is behind.\n"), ("knowledge/only-here.md", "Only here.\n")]
    {
        let kept = quarantined(&world, name);
        assert_eq!(kept.len(), 1, "{name}");
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), content);
    }
    let stored = exported(&world, "last").await;
    assert_eq!(text_of(&stored, "knowledge/newer.md"), Some("Newer.\n"));
}

#[tokio::test]
async fn postgres_change_between_starts_is_found_by_its_looks() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    let soul = world.path("workspace/SOUL.md");
    let looks = world.path("storage/database-files.json");
    for (round, damage) in [None, None, Some("{"), None].into_iter().enumerate() {
        if round < 3 {
            assert!(world.serve().await.terminate().await.0.success());
        } else {
            fs::write(&looks, "{").unwrap();
            let server = world.serve().await;
            eventually("a start notes it, too", async || fs::read(&looks).is_ok_and(|noted| noted.len() > 1)).await;
            drop(server);
        }
        let noted = fs::read_to_string(&looks).unwrap();
        assert!(noted.contains("workspace/SOUL.md"), "round {round}: {noted}");
        if let Some(damage) = damage {
            fs::write(&looks, damage).unwrap();
        }
        // As long as before, and of the same time.
        let (mut text, modified) = (fs::read(&soul).unwrap(), fs::metadata(&soul).unwrap().modified().unwrap());
        text[0] = b'0' + u8::try_from(round).unwrap();
        fs::write(&soul, &text).unwrap();
        fs::File::options().write(true).open(&soul).unwrap().set_modified(modified).unwrap();
        assert!(world.serve().await.terminate().await.0.success());
        let exported = exported(&world, &format!("round {round}")).await;
        assert_eq!(text_of(&exported, "workspace/SOUL.md").map(str::as_bytes), Some(&*text), "round {round}");
    }
}

#[tokio::test]
async fn postgres_copy_of_another_boot_is_not_trusted() {
    let Some((_database, world)) = kept(lively().await).await else { return };
    drop(world.serve().await);
    let marker: serde_json::Value = serde_json::from_str(&world.read("storage/database.json")).unwrap();
    assert!(marker["boot"].is_string(), "the server was killed: {marker}");
    let mut of_another = marker.clone();
    of_another["boot"] = json!("another");
    world.write("storage/database.json", of_another.to_string());
    // As a power cut leaves a file that was not written to the disk.
    world.write("memory/MEMORY.md", "");
    assert!(world.serve().await.terminate().await.0.success());
    assert_eq!(world.read("memory/MEMORY.md"), "Penguins.\n");
    // A home that was given up is on the disk, and what differs was changed by somebody.
    let mut marker: serde_json::Value = serde_json::from_str(&world.read("storage/database.json")).unwrap();
    assert!(marker["boot"].is_null(), "{marker}");
    world.write("memory/MEMORY.md", "Changed while it was off.\n");
    assert!(world.serve().await.terminate().await.0.success());
    marker = serde_json::from_str(&world.read("storage/database.json")).unwrap();
    assert!(marker["boot"].is_null(), "{marker}");
    assert_eq!(world.read("memory/MEMORY.md"), "Changed while it was off.\n");
    // The marker of a start is not synced: a power cut can leave the one of before with files of after.
    drop(world.serve().await);
    world.write("storage/database.json", marker.to_string());
    world.write("memory/MEMORY.md", "");
    assert!(world.serve().await.terminate().await.0.success());
    assert_eq!(world.read("memory/MEMORY.md"), "Changed while it was off.\n");
}

#[tokio::test]
async fn postgres_start_that_fails_takes_no_home() {
    let Some((database, first)) = kept(lively().await).await else { return };
    let owner = first.serve().await;
    let second = World::new(script([])).await.with_env("DATABASE_URL", &database.url(""));
    wipe(&second);
    second.write("config.yml", first.read("config.yml"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let home = second.home();
    let output = second.run(&["serve", "--port", &port, "--home", home.to_str().unwrap()]).await;
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("cannot listen"));
    let no_tls =
        ["serve", "--port", "0", "--tls-cert", "/none", "--tls-key", "/none", "--home", home.to_str().unwrap()];
    assert!(!second.run(&no_tls).await.status.success());
    owner.chat("s", "still mine").await;
    owner.settled("s").await;
    assert!(owner.terminate().await.0.success());
    assert!(text_of(&exported(&first, "kept").await, "sessions/s.json").unwrap().contains("still mine"));
}

#[tokio::test]
async fn postgres_links_in_the_database_lead_nowhere() {
    let Some((database, world)) = kept(lively().await).await else { return };
    let before = world.read("config.yml");
    for (what, path) in [
        (
            "INSERT INTO files SELECT home_id, 'scratch/l', 2, 511, 2, 0, pieces, 1 FROM files WHERE path = 'memory/MEMORY.md'",
            "scratch/l/x",
        ),
        (
            "INSERT INTO files SELECT home_id, 'memory/MEMORY.md/x', 1, 420, size, 0, pieces, 1 FROM files WHERE path = 'memory/MEMORY.md'",
            "memory/MEMORY.md/x",
        ),
        ("UPDATE files SET size = 1099511627776 WHERE path = 'memory/MEMORY.md'", "memory/MEMORY.md"),
    ] {
        database.execute("CREATE SCHEMA IF NOT EXISTS kept; DROP TABLE IF EXISTS kept.files; CREATE TABLE kept.files AS TABLE files").await;
        database.execute(what).await;
        if path.starts_with("scratch") {
            let below = "INSERT INTO files SELECT home_id, 'scratch/l/x', 1, 420, size, 0, pieces, 1 FROM files WHERE path = \
                         'memory/MEMORY.md'";
            database.execute(below).await;
        }
        wipe(&world);
        let said = refused(&world).await;
        assert!(said.contains("database_damaged") && said.contains(path), "{said}");
        assert!(!world.path("memory/MEMORY.md").exists(), "nothing is written");
        database.execute("DELETE FROM files; INSERT INTO files TABLE kept.files").await;
    }
    database.execute("UPDATE files SET mode = 2541 WHERE path = 'memory/MEMORY.md'").await;
    wipe(&world);
    assert!(world.serve().await.terminate().await.0.success());
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(world.path("memory/MEMORY.md")).unwrap().permissions());
    assert_eq!(mode & 0o7777, 0o755, "without setuid");
    assert_eq!(world.read("config.yml"), before);
}
