//! Databases that are restored from backups, and homes that pass through a database.

use std::path::Path;

use serde_json::json;

use crate::cluster_rolling::started;
use crate::cluster_world::{Client, Cluster, Network};
use crate::postgres_home::{exported, round_trips};
use crate::postgres_node::PostgresNode;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, eventually};

#[tokio::test]
async fn cluster_export_of_generated_homes_is_the_same() {
    let homes = std::env::var("MINICLAW_HOMES").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    round_trips(homes).await;
}

#[tokio::test]
async fn cluster_goes_on_with_a_point_in_time() {
    let archive = tempfile::tempdir().unwrap();
    crate::postgres::give(archive.path(), 0o700);
    let settings = format!("archive_mode = on\narchive_command = 'cp %p {}/%f'\n", archive.path().display());
    let Some(primary) = PostgresNode::primary(&settings).await else { return };
    let made = |number: usize| {
        let file = json!({"path": format!("knowledge/{number}.md"), "content": format!("{number}\n")});
        [calls([call(&format!("c{number}"), "create_file", file)]), says(["Done."])]
    };
    let script = |_: &Path| script((0..4).flat_map(made));
    let mut cluster = Cluster::on(primary.database(), 2, (CONFIG, Network::Direct), script).await;
    let mut client = Client::default();
    let servers = started(&cluster).await;
    let answered = async |client: &mut Client, message: &str| {
        let both = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
        client.say(&both, message).await;
        client.read_to_the_end(&both).await;
    };
    answered(&mut client, "message 0.").await;
    let backup = primary.backed_up().await;
    answered(&mut client, "message 1.").await;
    // A title and the settled session are stored a moment after the answer.
    let under_way = "SELECT count(*) FROM facts";
    eventually("the home rests", async || primary.database().number(under_way).await == 0).await;
    let at_the_point = exported(&cluster.members[0].world, "at-the-point").await;
    primary.execute("SELECT pg_create_restore_point('before_the_mistake')").await;
    let kept = client.clone();
    answered(&mut client, "message 2, the mistake.").await;
    for server in servers.into_iter().flatten() {
        assert!(server.terminate().await.0.success());
    }
    primary.execute("SELECT pg_switch_wal()").await;
    let waiting = "SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'";
    eventually("the log is in the archive", async || primary.database().number(waiting).await == 0).await;
    let restored = backup.restored(archive.path(), "before_the_mistake").await;
    let url = restored.database().url("?sslmode=disable");
    cluster = cluster.with_env("DATABASE_URL", &url);
    cluster.database.port = restored.port;
    let now = exported(&cluster.members[0].world, "restored").await;
    assert_eq!(now.keys().collect::<Vec<_>>(), at_the_point.keys().collect::<Vec<_>>());
    for (path, what) in &at_the_point {
        assert!(now[path] == *what, "{} differs", String::from_utf8_lossy(path));
    }
    // The copies of the servers have more than the database, which wins.
    let servers = started(&cluster).await;
    let both = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
    let mut client = kept;
    client.say(&both, "message 2, corrected.").await;
    client.read_to_the_end(&both).await;
    cluster.check(&client, "after").await;
}
