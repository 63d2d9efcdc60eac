//! Servers of a version go on while the tables are those of the next one, if these say so.

use serde_json::json;

use crate::cluster_world::{Client, Cluster, Network};
use crate::postgres::postgres;
use crate::postgres_home::run;
use crate::script::{always, call, calls, says, script};
use crate::world::{CONFIG, World, eventually};

/// What the migration of a next version does that only expands the tables.
const EXPAND: &str = "ALTER TABLE \"schema\" ADD COLUMN IF NOT EXISTS works_from integer, ADD COLUMN later text;
    ALTER TABLE homes ADD COLUMN later integer; ALTER TABLE servers ADD COLUMN later text NOT NULL DEFAULT 'none';
    CREATE TABLE later (home_id uuid PRIMARY KEY REFERENCES homes);
    INSERT INTO \"schema\" (version, name, sha256, works_from) SELECT 1000, 'later', '\\x00', max(version) FROM \"schema\"";
/// What the migration of the version after that does, which takes something away.
const CONTRACT: &str =
    "INSERT INTO \"schema\" (version, name, sha256, works_from) VALUES (1001, 'less', '\\x00', 1000)";

#[tokio::test]
async fn servers_go_on_with_the_tables_of_the_next_version() {
    let wait = json!({"command": "touch began; until [ -e go ]; do sleep 0.05; done"});
    let cluster = Cluster::new(2, (CONFIG, Network::Direct), |_| {
        script([calls([call("c1", "terminal", wait)]), always(says(["Done."]))])
    });
    let Some(cluster) = cluster.await else { return };
    let (first, second) = (cluster.serve(0).await, cluster.serve(1).await);
    let mut client = Client::default();
    client.say(&[&first], "go").await;
    let scratch = cluster.members[0].world.path("scratch");
    eventually("the command runs", async || scratch.join("began").exists()).await;
    cluster.database.execute(EXPAND).await;
    std::fs::write(scratch.join("go"), "").unwrap();
    client.read_to_the_end(&[&first, &second]).await;
    // The server stops, another one claims the home, and the one that starts again joins and claims it after that.
    assert!(first.terminate().await.0.success());
    client.say(&[&second], "and on").await;
    client.read_to_the_end(&[&second]).await;
    let first = cluster.serve(0).await;
    assert!(second.terminate().await.0.success());
    client.say(&[&first], "and on").await;
    client.read_to_the_end(&[&first]).await;
    assert_eq!(cluster.owner().await, Some(0));
    let home = cluster.members[0].world.home();
    let home = home.to_str().unwrap();
    let said = cluster.members[0].world.run(&["db", "status", "--home", home]).await;
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("schema     version 1000, which a newer miniclaw made; this one knows version "), "{said}");
    run(&cluster.members[0].world, &["db", "migrate", "--home", home]).await;
    cluster.check(&client, "expanded").await;
    drop(first);
    // The next step says that it needs the newer program.
    cluster.database.execute(CONTRACT).await;
    for (command, code) in [("serve", 78), ("db status", 1), ("db migrate", 1)] {
        let arguments: Vec<&str> = command.split(' ').chain(["--home", home]).collect();
        let output = cluster.members[0].world.run(&arguments).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(said.contains("database_newer") && said.contains("Update miniclaw"), "{command}: {said}");
    }
}

#[tokio::test]
async fn waiting_migration_lets_writes_pass() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let world = World::new(script([])).await.with_env("DATABASE_URL", &database.url(""));
    world.write("config.yml", "store: {postgres: '${DATABASE_URL}'}\n");
    let home = world.home();
    let migrate = ["db", "migrate", "--home", home.to_str().unwrap()];
    run(&world, &migrate).await;
    // A step waits for whoever writes homes.
    database
        .execute(
            "DROP TABLE libraries; DROP FUNCTION drop_library; DROP FUNCTION append_facts; ALTER TABLE servers DROP COLUMN secret; \
             DELETE FROM \"schema\" WHERE \
             version >= 6",
        )
        .await;
    let long = database.hold("LOCK TABLE homes IN ROW EXCLUSIVE MODE").await;
    let mut migration = tokio::process::Command::from(world.command(&migrate)).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'homes'::regclass AND NOT granted";
    eventually("the migration waits", async || database.number(waits).await == 1).await;
    // A server that starts reads the table `schema`, and one that takes a home over locks `homes`.
    let asked = "BEGIN; SELECT FROM \"schema\"; LOCK TABLE homes IN SHARE UPDATE EXCLUSIVE MODE; COMMIT";
    database.execute(asked).await;
    assert!(migration.try_wait().unwrap().is_none(), "it tries again");
    drop(long);
    assert!(migration.wait().await.unwrap().success());
    let steps = database.number("SELECT count(*) FROM \"schema\" WHERE works_from = version").await;
    assert_eq!(steps, 6);
}
