//! Conversations that go on while the servers of a cluster are stopped one after the other, replaced, and killed.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::cluster_world::{Client, Cluster, Door, Network};
use crate::crash::Rng;
use crate::script::{call, calls, script, steps};
use crate::world::{CONFIG, Server, eventually};

/// Messages of a session; then a client begins another one.
const ROUNDS: usize = 8;
/// Sessions of a client for which there are calls.
const SESSIONS: usize = 60;
/// Messages that are acknowledged between two restarts, at least.
const BETWEEN: u64 = 3;

/// How long the long form takes; `None` for the short one.
fn long_form() -> Option<Duration> {
    let minutes: f64 = std::env::var("MINICLAW_MINUTES").ok()?.parse().ok()?;
    Some(Duration::from_secs_f64(minutes * 60.0))
}

/// The address of a server that may run or not.
pub struct Address(pub SocketAddr);

impl Door for Address {
    fn address(&self) -> SocketAddr {
        self.0
    }

    fn bytes(&self, (method, path): (&str, &str), headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.0);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        [head.as_bytes(), body].concat()
    }
}

/// Clients, each with one conversation after the other, until the faults are over.
pub struct Load {
    clients: usize,
    acknowledged: Cell<u64>,
    is_over: Cell<bool>,
}

impl Load {
    pub fn of(clients: usize) -> Self {
        Self { clients, acknowledged: Cell::default(), is_over: Cell::default() }
    }

    /// The model calls a tool for every second message, which leaves its id outside of the home, and then writes.
    pub fn script(&self, effects: &Path) -> Script {
        let text =
            steps([json!({"tokens": {"count": 30, "per_second": 100.0, "text": "w{n} "}}), json!({"finish": "stop"})]);
        let mut replies = Vec::new();
        for (client, session) in
            (0..self.clients).flat_map(|client| (0..SESSIONS).map(move |session| (client, session)))
        {
            for round in (0..ROUNDS).step_by(2) {
                let id = format!("c-{client}-{session}-{round}");
                let command = format!("echo {id} >> {}", effects.display());
                let made = calls([call(&id, "terminal", json!({"command": command}))]);
                replies.push(json!({"match": format!("s{client}-{session} message {round}."), "steps": made["steps"]}));
            }
        }
        replies.push(json!({"repeat": true, "steps": text["steps"]}));
        script(replies)
    }

    /// Returns the clients of the sessions that this one had.
    async fn converse(&self, client: usize, doors: &[&impl Door]) -> Vec<Client> {
        // Each begins with another server.
        let mut doors = doors.to_vec();
        let first = client % doors.len();
        doors.rotate_left(first);
        let mut had = Vec::new();
        while had.is_empty() || !self.is_over.get() {
            let name = format!("s{client}-{}", had.len());
            let mut client = Client::of(&name);
            for round in 0..ROUNDS {
                client.say(&doors, &format!("{name} message {round}.")).await;
                self.acknowledged.set(self.acknowledged.get() + 1);
                client.read_to_the_end(&doors).await;
                if self.is_over.get() {
                    break;
                }
            }
            had.push(client);
        }
        had
    }

    /// Lets the clients converse while `faults` happen. Returns one for each session.
    pub async fn during(&self, doors: &[&impl Door], faults: impl Future<Output = ()>) -> Vec<Client> {
        let faults = async {
            faults.await;
            self.is_over.set(true);
        };
        let all = join_all((0..self.clients).map(|client| self.converse(client, doors)));
        let (all, ()) = tokio::join!(all, faults);
        all.into_iter().flatten().collect()
    }

    /// Waits until the clients have gone on.
    pub async fn goes_on(&self) {
        let before = self.acknowledged.get();
        eventually("the clients go on", async || self.acknowledged.get() >= before + BETWEEN).await;
    }
}

pub async fn started(cluster: &Cluster) -> Vec<Option<Server<'_>>> {
    join_all((0..cluster.members.len()).map(|at| cluster.serve(at))).await.into_iter().map(Some).collect()
}

pub fn addresses(cluster: &Cluster) -> Vec<Address> {
    cluster.members.iter().map(|member| Address(member.address)).collect()
}

#[tokio::test]
async fn cluster_rolling_restart_fails_no_work() {
    let load = Load::of(4);
    let script = |effects: &Path| load.script(effects);
    let Some(cluster) = Cluster::new(3, (CONFIG, Network::Direct), script).await else { return };
    let mut servers = started(&cluster).await;
    let addresses = addresses(&cluster);
    let until = long_form().map(|time| Instant::now() + time / 5);
    let mut restarts = 0;
    let restart = async {
        loop {
            for (at, server) in servers.iter_mut().enumerate() {
                load.goes_on().await;
                let (status, took) = server.take().expect("it runs").terminate().await;
                assert!(status.success() && took < Duration::from_secs(30), "{status} after {took:?}");
                *server = Some(cluster.serve(at).await);
                restarts += 1;
            }
            if until.is_none_or(|until| Instant::now() > until) {
                return;
            }
        }
    };
    let clients = load.during(&addresses.iter().collect::<Vec<_>>(), restart).await;
    let clients: Vec<_> = clients.iter().collect();
    let works = cluster.check_all(&clients, "after").await;
    let failed: Vec<_> = works.iter().filter(|work| work["outcome"]["stop_reason"] != "done").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let called: usize = clients.iter().map(|client| client.acknowledged.len().div_ceil(2)).sum();
    assert_eq!(cluster.effects().len(), called, "each call has run, and no call was cut off");
    eprintln!("{} works of {} conversations, {restarts} restarts, no failed work", works.len(), clients.len());
}

#[tokio::test]
async fn cluster_claims_no_home_of_a_newer_version() {
    let reply = json!({"match": "message 0.", "repeat": true, "steps": [
        {"tokens": {"count": 200, "per_second": 100.0, "text": "w{n} "}}, {"finish": "stop"}]});
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), |_| script([reply])).await else { return };
    let mut servers = started(&cluster).await;
    let mut client = Client::default();
    client.say(&[servers[0].as_ref().unwrap()], "message 0.").await;
    client.read(servers[0].as_ref().unwrap(), 8).await;
    let owner = cluster.owner().await.expect("a server has the home");
    // As if the owner were newer, and had written the home as only newer ones read it.
    servers[owner] = None;
    cluster.database.execute("UPDATE homes SET format = format + 1").await;
    let fence = cluster.fence().await;
    let left = servers[1 - owner].as_ref().unwrap();
    eventually("the owner is declared dead", async || cluster.owner().await.is_none()).await;
    eventually("the server that is left says why it has no home", async || {
        let refused = left.get("/api/sessions").await.refused();
        assert_eq!(refused.0, 503, "{refused:?}");
        refused.1 == "database_home_newer"
    })
    .await;
    // By then, the server that is left has looked twice for homes with works under way.
    let now = cluster.database.number("SELECT extract(epoch FROM clock_timestamp())::int8").await;
    let later = format!("SELECT count(*) FROM servers WHERE NOT dead AND alive_until > to_timestamp({})", now + 16);
    eventually("it has lived for six seconds", async || cluster.database.number(&later).await == 1).await;
    assert_eq!(cluster.fence().await, fence, "it did not claim the home");
    cluster.database.execute("UPDATE homes SET format = format - 1").await;
    client.read_to_the_end(&[left]).await;
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_random_kills_under_load_lose_nothing() {
    // Streams of each server.
    let streams = if long_form().is_some() { 20 } else { 3 };
    let load = Load::of(3 * streams);
    let script = |effects: &Path| load.script(effects);
    let Some(cluster) = Cluster::new(3, (CONFIG, Network::Direct), script).await else { return };
    let mut servers = started(&cluster).await;
    let addresses = addresses(&cluster);
    let until = long_form().map(|time| Instant::now() + time);
    let (mut rng, mut kills) = (Rng(20_261_130), 0);
    let kill = async {
        loop {
            load.goes_on().await;
            // The moment of the kill is the fault; nothing is waited for.
            let pause = if until.is_some() { 19_000 + rng.below(2_000) } else { rng.below(500) };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            // In the short form, the one with the home, which a random choice may miss.
            let owner = if until.is_none() { cluster.owner().await } else { None };
            let at = owner.unwrap_or(usize::try_from(rng.below(3)).unwrap());
            servers[at] = None;
            kills += 1;
            load.goes_on().await;
            servers[at] = Some(cluster.serve(at).await);
            if until.map_or(kills == 2, |until| Instant::now() > until) {
                return;
            }
        }
    };
    let since = Instant::now();
    let clients = load.during(&addresses.iter().collect::<Vec<_>>(), kill).await;
    let clients: Vec<_> = clients.iter().collect();
    let works = cluster.check_all(&clients, "after").await;
    let failed: Vec<&Value> = works.iter().filter(|work| work["outcome"]["stop_reason"] != "done").collect();
    let is_of_kills = |work: &&&Value| work["outcome"]["code"] == "took_servers_down";
    assert_eq!(failed.iter().filter(is_of_kills).count(), failed.len(), "{failed:#?}");
    eprintln!(
        "{kills} kills in {:?}: {} works of {} conversations, {} of them given up after two servers had ended with them",
        since.elapsed(),
        works.len(),
        clients.len(),
        failed.len()
    );
}
