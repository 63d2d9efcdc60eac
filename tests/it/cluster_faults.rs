//! Faults of a cluster: whatever dies, freezes or is cut off, nothing acknowledged is lost and nothing happens twice.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster_world::{Client, Cluster, Network};
use crate::crash::Rng;
use crate::fault_proxy::Direction;
use crate::script::{call, calls, script, steps};
use crate::world::{ASKING, CONFIG, Server, eventually};

/// Returns a reply to the message with this text only.
pub fn to(message: &str, reply: &Value) -> Value {
    json!({"match": message, "steps": reply["steps"]})
}

/// Returns a reply to the message with this text, however often it is asked for.
pub fn always_to(message: &str, reply: &Value) -> Value {
    json!({"match": message, "repeat": true, "steps": reply["steps"]})
}

pub fn slow_text() -> Value {
    steps([json!({"tokens": {"count": 60, "per_second": 200.0, "text": "w{n} "}}), json!({"finish": "stop"})])
}

/// Returns the replies to a message: a call that leaves its id outside of the home, then text.
pub fn effect_and_text(message: &str, id: &str, effects: &Path) -> [Value; 2] {
    let command = format!("echo {id} >> {}", effects.display());
    let made = calls([call(id, "terminal", json!({"command": command}))]);
    [to(message, &made), always_to(message, &slow_text())]
}

/// Returns a cluster whose model calls a tool and then answers, for each of these rounds.
pub async fn busy(network: Network, rounds: u64) -> Option<Cluster> {
    let replies = |effects: &Path| {
        let of_round = |n| effect_and_text(&format!("message {n}."), &format!("c{n}"), effects);
        script((0..rounds).flat_map(of_round))
    };
    Cluster::new(2, (CONFIG, network), replies).await
}

/// Returns a cluster whose model wants to run a command, about which a person is asked.
pub async fn asking() -> Option<Cluster> {
    Cluster::new(2, (ASKING, Network::Direct), |effects| script(effect_and_text("go", "c1", effects))).await
}

pub fn others<'a, 'w>(servers: &'a [Option<Server<'w>>]) -> Vec<&'a Server<'w>> {
    servers.iter().flatten().collect()
}

#[tokio::test]
async fn cluster_kills_lose_nothing_and_double_nothing() {
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let Some(cluster) = busy(Network::Direct, kills).await else { return };
    let mut servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let (mut rng, mut client) = (Rng(20_261_128), Client::default());
    let mut took = Vec::new();
    for number in 0..kills {
        client.say(&others(&servers), &format!("message {number}.")).await;
        let at = usize::try_from(rng.below(2)).unwrap();
        client.read(servers[at].as_ref().unwrap(), rng.below(40)).await;
        let owner = cluster.owner().await.expect("a server has the home");
        servers[owner] = None;
        took.push(client.read_to_the_end(&others(&servers)).await);
        cluster.check(&client, &format!("after-{number}")).await;
        servers[owner] = Some(cluster.serve(owner).await);
    }
    took.sort();
    eprintln!(
        "{kills} kills; answers were complete after {:?} at most, {:?} in the median",
        took.last(),
        took[took.len() / 2]
    );
    assert!(!cluster.effects().is_empty(), "the kills came too early to mean anything");
}

#[tokio::test]
async fn cluster_answers_at_once_on_two_servers_run_once() {
    let Some(cluster) = asking().await else { return };
    let (first, second) = (cluster.serve(0).await, cluster.serve(1).await);
    let mut client = Client::default();
    client.say(&[&first, &second], "go").await;
    let shown = second.waiting(1).await;
    let id = shown[0]["id"].as_str().unwrap();
    let decision = json!({"decision": "approve", "hash": shown[0]["hash"]});
    let (one, other) = tokio::join!(first.answer(id, decision.clone()), second.answer(id, decision));
    let mut statuses = [one.status(), other.status()];
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200, "{} {}", one.text(), other.text());
    client.read_to_the_end(&[&first, &second]).await;
    assert_eq!(cluster.effects(), ["c1"]);
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_question_is_asked_again_after_a_kill() {
    let Some(cluster) = asking().await else { return };
    let mut servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "go").await;
    let before = servers[0].as_ref().unwrap().waiting(1).await;
    let owner = cluster.owner().await.expect("a server has the home");
    servers[owner] = None;
    let left = servers[1 - owner].as_ref().unwrap();
    eventually("the question is asked again", async || {
        let answer = left.get("/api/approvals").await;
        answer.status() == 200 && answer.json()["approvals"].as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    let after = left.waiting(1).await;
    assert_eq!(after[0]["hash"], before[0]["hash"], "it shows the same");
    left.decide(&after[0], "approve").await;
    client.read_to_the_end(&[left]).await;
    assert_eq!(cluster.effects(), ["c1"]);
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_freeze_loses_nothing_and_doubles_nothing() {
    let Some(cluster) = busy(Network::Direct, 2).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let owner = cluster.owner().await.expect("a server has the home");
    let (sleeper, other) = (servers[owner].as_ref().unwrap(), servers[1 - owner].as_ref().unwrap());
    // By the other server, whose way to the owner is silent from now on.
    client.read(other, 8).await;
    sleeper.signal(libc::SIGSTOP);
    let took = client.read_to_the_end(&[other]).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    sleeper.signal(libc::SIGCONT);
    client.say(&[sleeper], "message 1.").await;
    client.read_to_the_end(&[sleeper]).await;
    cluster.check(&client, "after").await;
    eprintln!("the answer was complete {took:?} after the freeze");
}

#[tokio::test]
async fn cluster_servers_cut_from_each_other_take_nothing_over() {
    let Some(cluster) = busy(Network::Proxied, 1).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let (owner, fence) = (cluster.owner().await.expect("a server has the home"), cluster.fence().await);
    let (own, other) = (servers[owner].as_ref().unwrap(), servers[1 - owner].as_ref().unwrap());
    cluster.members.iter().for_each(|member| member.peers.as_ref().expect("it has one").set_down(true));
    let refused = other.get("/api/sessions").await;
    assert_eq!(refused.head.header("retry-after"), Some("1"));
    assert_eq!(refused.refused(), (503, "home_moving".to_owned()));
    client.read_to_the_end(&[own]).await;
    assert_eq!((cluster.owner().await, cluster.fence().await), (Some(owner), fence), "nobody took the home over");
    cluster.members.iter().for_each(|member| member.peers.as_ref().expect("it has one").set_down(false));
    eventually("the other server reaches the owner again", async || other.get("/api/sessions").await.status() == 200)
        .await;
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_database_away_for_five_seconds_moves_nothing() {
    let Some(cluster) = busy(Network::Direct, 1).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let (owner, fence) = (cluster.owner().await.expect("a server has the home"), cluster.fence().await);
    cluster.members.iter().for_each(|member| member.database.set_down(true));
    tokio::time::sleep(Duration::from_secs(5)).await;
    cluster.members.iter().for_each(|member| member.database.set_down(false));
    client.read_to_the_end(&[servers[owner].as_ref().unwrap()]).await;
    if !cluster.was_late() {
        assert_eq!((cluster.owner().await, cluster.fence().await), (Some(owner), fence), "nobody took the home over");
    }
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_answers_of_the_database_that_are_cut_cost_nothing() {
    let cuts = std::env::var("MINICLAW_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let Some(cluster) = busy(Network::Direct, cuts).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let (mut rng, mut client) = (Rng(8), Client::default());
    for number in 0..cuts {
        let owner = cluster.owner().await.unwrap_or(0);
        cluster.members[owner].database.cut_after(rng.below(4000));
        client.say(&others(&servers), &format!("message {number}.")).await;
        client.read_to_the_end(&others(&servers)).await;
    }
    // The last cut may not have come yet, and must not hit the check.
    cluster.members.iter().for_each(|member| member.database.cut_after(u64::MAX));
    cluster.check(&client, "after").await;
    assert!(cluster.effects().len() as u64 == cuts, "no call was lost: {:?}", cluster.effects());
}

#[tokio::test]
async fn cluster_slow_database_moves_nothing() {
    let Some(cluster) = busy(Network::Direct, 1).await else { return };
    let servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "message 0.").await;
    let fence = cluster.fence().await;
    for member in &cluster.members {
        member.database.delay(Direction::Answers, Duration::from_millis(200));
    }
    let since = Instant::now();
    client.read_to_the_end(&others(&servers)).await;
    eprintln!("with 200 ms a statement, the answer took {:?}", since.elapsed());
    assert_eq!(cluster.fence().await, fence, "nobody took the home over");
    cluster.check(&client, "after").await;
}

/// Nobody but a server of the cluster can say who a client is.
#[tokio::test]
async fn cluster_header_from_outside_is_refused() {
    let Some(cluster) = busy(Network::Direct, 1).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await];
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let forged = format!("1 {now} 127.0.0.1 https 1 {}", "0".repeat(64));
    for server in &servers {
        for path in ["/api/status", "/", "/v1/models", "/ws", "/mcp"] {
            let answer = server.send("GET", path, &[("X-Miniclaw-Forwarded", &forged)], b"").await;
            assert_eq!(answer.status(), 403, "{path}: {}", answer.text());
        }
        let evil = "GET /api/status HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
        assert_eq!(crate::http::raw(server.address, evil.as_bytes()).await.refused().1, "bad_host");
        assert_eq!(server.get("/api/status").await.status(), 200, "the same without it");
    }
}
