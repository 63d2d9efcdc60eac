//! Failovers of the database: to a standby that has everything, and to one that does not.

use serde_json::json;

use crate::cluster_rolling::started;
use crate::cluster_world::{Client, Cluster, Network, is_long};
use crate::fault_proxy::FaultProxy;
use crate::postgres::PASSWORD;
use crate::postgres_node::PostgresNode;
use crate::script::{always, script, steps};
use crate::world::{CONFIG, eventually};

/// Returns a cluster of two servers that know both databases.
async fn cluster_of(primary: &PostgresNode, standby: &PostgresNode) -> Cluster {
    let text =
        steps([json!({"tokens": {"count": 200, "per_second": 100.0, "text": "w{n} "}}), json!({"finish": "stop"})]);
    let cluster = Cluster::on(primary.database(), 2, (CONFIG, Network::Direct), |_| script([always(text)])).await;
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port, standby.port);
    let url = format!("postgres://miniclaw:{PASSWORD}@{hosts}/{}?sslmode=disable", cluster.database.name);
    cluster.with_env("DATABASE_URL", &url)
}

#[tokio::test]
async fn cluster_loses_nothing_with_a_synchronous_standby() {
    let Some(primary) = PostgresNode::primary("").await else { return };
    let standby = primary.standby(primary.port).await;
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'").await;
    primary.execute("SELECT pg_reload_conf()").await;
    let waited_for = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
    eventually("commits wait for the standby", async || primary.database().number(waited_for).await == 1).await;
    let mut cluster = cluster_of(&primary, &standby).await;
    let servers = started(&cluster).await;
    let [first, second] = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
    let mut client = Client::default();
    client.say(&[first, second], "message 0.").await;
    client.read_to_the_end(&[first, second]).await;
    client.say(&[second], "message 1.").await;
    client.read(second, 40).await;
    primary.crash().await;
    standby.promote().await;
    let took = client.read_to_the_end(&[first, second]).await;
    for number in 2..4 {
        client.say(&[second, first], &format!("message {number}.")).await;
        client.read_to_the_end(&[second, first]).await;
    }
    drop(servers);
    cluster.database.port = standby.port;
    let works = cluster.check_all(&[&client], "after").await;
    assert!(works.iter().all(|work| work["outcome"]["stop_reason"] == "done"), "{works:#?}");
    eprintln!("the answer was complete {took:?} after the failover");
}

#[tokio::test]
async fn cluster_notices_what_an_asynchronous_standby_lacks() {
    if !is_long() {
        eprintln!(
            "SKIPPED: on a busy machine the promotion takes so long that the home moves; make cluster-faults runs it"
        );
        return;
    }
    let Some(primary) = PostgresNode::primary("").await else { return };
    let link = FaultProxy::to(([127, 0, 0, 1], primary.port).into()).await;
    let standby = primary.standby(link.address.port()).await;
    let mut cluster = cluster_of(&primary, &standby).await;
    let world = &cluster.members[0].world;
    let doctor = world.run(&["doctor", "--home", world.home().to_str().unwrap()]).await;
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned() + &String::from_utf8_lossy(&doctor.stderr);
    assert!(!doctor.status.success() && said.contains("no commit waits for any of the 1 standbys"), "{said}");
    let servers = started(&cluster).await;
    let [first, second] = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
    let mut client = Client::default();
    client.say(&[first], "message 0.").await;
    client.read_to_the_end(&[first]).await;
    let there = "SELECT coalesce(max(home_no), 0) FROM watch.facts";
    let facts = primary.database().number(there).await;
    eventually("the standby has it", async || standby.database().number(there).await == facts).await;
    let kept = client.clone();
    // From now on, the standby gets nothing.
    link.set_down(true);
    client.say(&[second], "message 1.").await;
    client.read_to_the_end(&[second]).await;
    primary.crash().await;
    standby.promote().await;
    eventually("the server with the home has noticed", async || {
        let said = first.post("/api/sessions/s/messages", json!({"message": "too late"})).await;
        assert_ne!(said.status(), 202, "nothing is stored on top of it: {}", said.text());
        said.status() == 503 && said.refused().1 == "database_went_back"
    })
    .await;
    let history = second.get("/api/sessions/s/history").await.ok().to_string();
    assert!(history.contains("message 1."), "it can still be read, over both");
    drop(servers);
    // Whoever starts them again lets the database count.
    cluster.database.port = standby.port;
    let servers = started(&cluster).await;
    let [first, second] = [servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap()];
    let mut client = kept;
    client.say(&[first, second], "message 1, again.").await;
    client.read_to_the_end(&[first, second]).await;
    cluster.check(&client, "after").await;
}
