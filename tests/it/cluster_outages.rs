//! Faults of a cluster: a server that sleeps, and a database that is away, slow, or restarted.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster_faults::{always_to, others, to};
use crate::cluster_world::{Client, Cluster, Network, is_long};
use crate::interrupt::{a_long_time, is_running};
use crate::postgres::postgres_of_its_own;
use crate::script::{call, calls, says, script, steps};
use crate::world::{CONFIG, eventually};

/// Longer than the promised 14 seconds, for a busy machine.
const GENEROUS: Duration = Duration::from_secs(30);

fn text(count: u32, per_second: f64) -> Value {
    steps([json!({"tokens": {"count": count, "per_second": per_second, "text": "w{n} "}}), json!({"finish": "stop"})])
}

#[tokio::test]
async fn cluster_frozen_server_kills_its_command_on_waking() {
    let long = a_long_time(4733);
    let replies = |effects: &Path| {
        let gate = effects.with_file_name("gate");
        let later = format!("until [ -e {} ]; do sleep 0.1; done; echo late >> {}", gate.display(), effects.display());
        let command = format!("echo c1 >> {}; sh -c '{later}' {long}", effects.display());
        let made = calls([call("c1", "terminal", json!({"command": command}))]);
        script([to("message 0.", &made), always_to("message", &text(20, 100.0))])
    };
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), replies).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let owner = cluster.owner().await.expect("a server has the home");
    let (sleeper, other) = (servers[owner].as_ref().unwrap(), servers[1 - owner].as_ref().unwrap());
    eventually("the command runs", async || is_running(&long)).await;
    let watching = client.stream(sleeper).await.expect("it has the home");
    sleeper.signal(libc::SIGSTOP);
    client.read_to_the_end(&[other]).await;
    assert!(is_running(&long), "nobody else can end it");
    let since = Instant::now();
    sleeper.signal(libc::SIGCONT);
    eventually("its command ends", async || !is_running(&long)).await;
    eprintln!("the command was killed {:?} after its server woke up", since.elapsed());
    let frames = watching.rest().await;
    let is_stale = |event: &str| ["token", "tool_end", "new_response", "done"].contains(&event);
    assert!(!frames.iter().any(|frame| is_stale(&frame.event)), "sent after the takeover: {frames:#?}");
    eventually("it drops the home", async || {
        sleeper.world.log().contains("dropped a home that another server may have")
    })
    .await;
    std::fs::write(cluster.outside("gate"), "").unwrap();
    client.say(&[sleeper], "message 1.").await;
    client.read_to_the_end(&[sleeper]).await;
    assert_eq!(cluster.effects(), ["c1"], "nothing was written after the takeover");
    assert_eq!(cluster.owner().await, Some(1 - owner));
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_owner_cut_from_the_database_gives_up() {
    let replies = |_: &Path| {
        script([to("message 0.", &text(60_000, 40.0)), always_to("message", &says(["Done ", "elsewhere."]))])
    };
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), replies).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let (owner, fence) = (cluster.owner().await.expect("a server has the home"), cluster.fence().await);
    let (cut_off, other) = (servers[owner].as_ref().unwrap(), servers[1 - owner].as_ref().unwrap());
    client.read(cut_off, 20).await;
    let since = Instant::now();
    cluster.members[owner].database.set_down(true);
    // It sends what it has, and ends the stream without the answer's end.
    client.read(cut_off, u64::MAX).await;
    let gave_up = since.elapsed();
    assert_eq!(cut_off.get("/api/sessions").await.refused(), (503, "home_moving".to_owned()));
    eventually("another server has the home", async || cluster.owner().await == Some(1 - owner)).await;
    let moved = since.elapsed();
    client.read_to_the_end(&[other]).await;
    eprintln!("cut from the database, it gave up after {gave_up:?}; another server had the home after {moved:?}");
    assert!(gave_up < moved && moved < GENEROUS, "{gave_up:?}, {moved:?}");
    assert_eq!(cluster.fence().await, fence + 1, "one takeover");
    cluster.members[owner].database.set_down(false);
    client.say(&[cut_off], "message 1.").await;
    client.read_to_the_end(&[cut_off]).await;
    assert_eq!(cluster.owner().await, Some(1 - owner), "it does not take the home back");
    cluster.check(&client, "after").await;
}

/// Returns how many facts were ever stored.
async fn stored(cluster: &Cluster) -> i64 {
    cluster.database.number("SELECT count(*) FROM watch.facts").await
}

#[tokio::test]
async fn cluster_restarted_database_loses_no_work() {
    let Some(database) = postgres_of_its_own().await else { return };
    let replies = |_: &Path| script([always_to("message", &text(160, 20.0))]);
    let cluster = Cluster::on(database.database().await, 2, (CONFIG, Network::Direct), replies).await;
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    let long: &[_] = if is_long() { &[("fast", 30), ("immediate", 30)] } else { &[] };
    for (number, (mode, seconds)) in [("fast", 4), ("immediate", 4)].iter().chain(long).enumerate() {
        client.say(&others(&servers), &format!("message {number}.")).await;
        let (owner, fence) = (cluster.owner().await.expect("a server has the home"), cluster.fence().await);
        client.read(servers[owner].as_ref().unwrap(), 10).await;
        database.stop(mode).await;
        tokio::time::sleep(Duration::from_secs(*seconds)).await;
        database.start_again().await;
        let since = Instant::now();
        let before = stored(&cluster).await;
        eventually("facts are stored again", async || stored(&cluster).await > before).await;
        eprintln!("after {seconds} s without the database ({mode}), facts were stored after {:?}", since.elapsed());
        client.read_to_the_end(&others(&servers)).await;
        if *seconds < 8 && !cluster.was_late() {
            assert_eq!(
                (cluster.owner().await, cluster.fence().await),
                (Some(owner), fence),
                "nobody took the home over"
            );
        }
        cluster.check(&client, &format!("after-{number}")).await;
    }
}

#[tokio::test]
async fn cluster_tokens_flow_while_facts_wait() {
    let replies = |_: &Path| script([always_to("message", &text(2000, 40.0))]);
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), replies).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await];
    let mut client = Client::default();
    client.say(&[&servers[0]], "message 0.").await;
    let fence = cluster.fence().await;
    let mut stream = client.stream(&servers[0]).await.expect("it has the home");
    stream.until("token").await;
    let held = cluster.database.hold("LOCK TABLE facts IN SHARE MODE").await;
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    eventually("a piece of the text waits", async || cluster.database.number(waiting).await > 0).await;
    let mut tokens = 0;
    while tokens < 80 {
        let frame = stream.next().await.expect("the answer goes on");
        assert!(!frame.is("done"), "it is over before the facts are stored");
        tokens += usize::from(frame.is("token"));
    }
    assert!(cluster.database.number(waiting).await > 0, "it still waits");
    drop((held, stream));
    servers[0].post("/api/sessions/s/interrupt", json!({})).await.ok();
    client.read_to_the_end(&[&servers[0], &servers[1]]).await;
    assert_eq!(cluster.fence().await, fence, "no home has moved");
    cluster.check(&client, "after").await;
}
