//! Faults of the copies of a home: a folder that is deleted, bits that flip, and a disk that is full.

use std::fs;
use std::time::SystemTime;

use serde_json::json;

use crate::cluster_rolling::started;
use crate::cluster_world::{Client, Cluster, Network};
use crate::full_disk::SmallDisk;
use crate::postgres_copy::quarantined;
use crate::postgres_home::{exported, text_of, wipe};
use crate::script::{always, says, script};
use crate::world::{CONFIG, World, eventually};

const SOUL: &str = "You are the soul of a cluster.\n";

async fn two_members() -> Option<Cluster> {
    Cluster::new(2, (CONFIG, Network::Direct), |_| script([always(says(["Yes."]))])).await
}

#[tokio::test]
async fn cluster_copy_deleted_while_running_loses_nothing() {
    let Some(cluster) = two_members().await else { return };
    let mut servers = started(&cluster).await;
    let mut client = Client::default();
    let both = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
    both[0].post("/api/files", json!({"path": "workspace/SOUL.md", "content": SOUL})).await.ok();
    client.say(&both, "message 0.").await;
    client.read_to_the_end(&both).await;
    let owner = cluster.owner().await.expect("a server has the home");
    wipe(&cluster.members[owner].world);
    let changed = both[owner].put("/api/config/rag-mode", json!({"enabled": true})).await;
    assert!(changed.status() >= 500, "it must not be taken for a deletion: {}", changed.text());
    // Whoever runs it starts it again; another server has the home by then.
    servers[owner] = None;
    let left = servers[1 - owner].as_ref().unwrap();
    client.say(&[left], "message 1.").await;
    client.read_to_the_end(&[left]).await;
    let again = cluster.serve(owner).await;
    client.say(&[&again], "message 2.").await;
    client.read_to_the_end(&[&again]).await;
    cluster.check(&client, "after").await;
    assert_eq!(text_of(&exported(left.world, "files").await, "workspace/SOUL.md"), Some(SOUL));
}

/// Changes a bit in the middle of a file, as a disk does: nothing else says so.
fn flip(world: &World, path: &str) {
    let mut bytes = fs::read(world.path(path)).unwrap();
    let modified: SystemTime = fs::metadata(world.path(path)).unwrap().modified().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let file = fs::File::options().write(true).open(world.path(path)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    file.set_modified(modified).unwrap();
}

#[tokio::test]
async fn cluster_bits_that_flip_in_a_copy_are_repaired() {
    let Some(cluster) = two_members().await else { return };
    let (first, second) = (&cluster.members[0].world, &cluster.members[1].world);
    let mut client = Client::default();
    let old = cluster.serve(0).await;
    old.post("/api/files", json!({"path": "workspace/SOUL.md", "content": SOUL})).await.ok();
    client.say(&[&old], "message 0.").await;
    client.read_to_the_end(&[&old]).await;
    assert!(old.terminate().await.0.success());
    let new = cluster.serve(1).await;
    client.say(&[&new], "message 1.").await;
    client.read_to_the_end(&[&new]).await;
    for path in ["workspace/SOUL.md", "session-key.json", "sessions/s.json"] {
        flip(first, path);
    }
    assert!(new.terminate().await.0.success());
    let old = cluster.serve(0).await;
    client.say(&[&old], "message 2.").await;
    client.read_to_the_end(&[&old]).await;
    assert_eq!(first.read("workspace/SOUL.md"), SOUL);
    assert_eq!(first.read("session-key.json"), second.read("session-key.json"));
    cluster.check(&client, "after").await;
    assert_eq!(text_of(&exported(first, "files").await, "workspace/SOUL.md"), Some(SOUL));
    let verified = old.get("/api/sessions/s/history").await.ok();
    assert_eq!(verified["messages"].as_array().unwrap().len(), 6, "{verified:#}");
    assert!(quarantined(first, "workspace/SOUL.md").len() <= 1, "it is kept at most once");
}

#[tokio::test]
async fn cluster_full_disk_of_the_owner_stores_nothing_wrong() {
    let Some(cluster) = two_members().await else { return };
    let small = &cluster.members[0].world;
    let config = small.read("config.yml");
    let Some(disk) = SmallDisk::mount(small.home(), "6m") else { return };
    small.write("config.yml", config);
    let owner = cluster.serve(0).await;
    let mut client = Client::default();
    client.say(&[&owner], "message 0.").await;
    client.read_to_the_end(&[&owner]).await;
    owner.post("/api/files", json!({"path": "workspace/SOUL.md", "content": SOUL})).await.ok();
    fs::create_dir_all(small.path("scratch")).unwrap();
    disk.fill();
    let large = json!({"path": "workspace/SOUL.md", "content": "x".repeat(100_000)});
    let refused = owner.post("/api/files", large).await;
    assert!(refused.status() >= 500, "{}", refused.text());
    // What the client says again afterwards, under the same key.
    let (key, message) = ("s-1", format!("message 1. {}", "x".repeat(50_000)));
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
    let body = json!({"message": message, "idempotency_key": key}).to_string();
    let refused = owner.send("POST", "/api/sessions/s/messages", &headers, body.as_bytes()).await;
    assert!(refused.status() >= 500, "{}", refused.text());
    let other = cluster.serve(1).await;
    drop(owner);
    eventually("another server has the home", async || {
        cluster.owner().await == Some(1) || {
            other.get("/api/sessions").await;
            false
        }
    })
    .await;
    client.say(&[&other], &message).await;
    client.read_to_the_end(&[&other]).await;
    cluster.check(&client, "after").await;
    assert_eq!(text_of(&exported(other.world, "files").await, "workspace/SOUL.md"), Some(SOUL));
    drop(disk);
}

/// Making a connection takes longer than all that a first request asks the database.
#[tokio::test]
async fn cluster_first_request_finds_its_connections_made() {
    const MADE: &str =
        "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'miniclaw' AND datname = current_database()";
    // The last that is asked before the first claim has its connection.
    const READY: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'miniclaw' AND datname = current_database() AND state = 'idle' AND query LIKE '%FROM \"schema\" AS applied%'";
    let Some(cluster) = Cluster::new(1, (CONFIG, Network::Direct), |_| script([])).await else { return };
    let server = cluster.serve(0).await;
    let mut made = Vec::new();
    eventually("one for beats, one for look-ups and one for the first claim", async || {
        made = cluster.ask(MADE).await;
        made.len() == 3 && cluster.database.number(READY).await == 1
    })
    .await;
    server.get("/api/sessions").await.ok();
    assert_eq!(cluster.owner().await, Some(0));
    let used = cluster.ask(MADE).await;
    assert!(used.iter().all(|pid| made.contains(pid)), "{used:?}, {made:?}");
}
