//! Faults of a cluster with much to do: many claims of one home, and many homes whose server ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use miniclaw::domain::HomeId;
use miniclaw::store::{
    Claimant, ClusterMarks, DatabaseAddress, FoundHome, HomeDatabase, Joined, LossPolicy, NewServer, ServerRow,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cluster_faults::{always_to, others};
use crate::cluster_people::{fence_of, first_account};
use crate::cluster_world::{Client, Cluster, Network, number};
use crate::crash::Rng;
use crate::people::{self, Person, ask, joined};
use crate::script::{says, script, steps};
use crate::world::{CONFIG, Server, eventually};

/// Records each claim in the order of its commit: a claim holds the row of the home until it is committed.
const WATCH_CLAIMS: &str = "CREATE TABLE watch.claims (at bigserial, fence bigint, owner uuid, is_stolen boolean);
    CREATE FUNCTION watch.claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO watch.claims (fence, owner, is_stolen) VALUES (NEW.fence, NEW.owner, OLD.owner <> NEW.owner AND EXISTS (SELECT FROM
      servers WHERE server_id = OLD.owner AND NOT dead)); RETURN NULL; END $$;
    CREATE TRIGGER claim AFTER UPDATE ON homes FOR EACH ROW WHEN (NEW.fence <> OLD.fence) EXECUTE FUNCTION watch.claim();";
/// Claims that one server tries at once.
const AT_ONCE: usize = 4;

/// A server that only claims.
struct Claimer {
    address: DatabaseAddress,
    homes: HomeDatabase,
    rng: Rng,
    /// How many claims each of its ids has won.
    won: BTreeMap<Uuid, i64>,
}

impl Claimer {
    fn new(url: String, seed: u64) -> Self {
        let address = DatabaseAddress::parse(&SecretString::from(url)).unwrap();
        let homes = HomeDatabase::new(address.clone(), LossPolicy::Refuse);
        Self { address, homes, rng: Rng(seed), won: BTreeMap::new() }
    }

    async fn join(&self) -> (Uuid, ServerRow) {
        let id = Uuid::new_v4();
        let marks = ClusterMarks { sign_ins: None, secret: b"of this test".to_vec() };
        let server = NewServer { id, address: "http://127.0.0.1:1".into(), version: "test".into(), marks };
        let Joined { row, .. } = ServerRow::join(&self.address, &server).await.unwrap();
        (id, row)
    }

    /// Claims until no claims are left. What it wins it gives up, or it ends as a server does that dies.
    async fn claim(mut self, left: Arc<AtomicU64>) -> BTreeMap<Uuid, i64> {
        let (mut id, mut row) = self.join().await;
        let take = |left: u64| left.checked_sub(AT_ONCE as u64);
        while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            let homes = &self.homes;
            let tries = (0..AT_ONCE).map(async |_| {
                let found = FoundHome::find(homes, &HomeId::Server).await.unwrap();
                found.claim(Claimant::Member(id)).await.unwrap()
            });
            let won: Vec<_> = futures_util::future::join_all(tries).await.into_iter().flatten().collect();
            *self.won.entry(id).or_default() += won.len() as i64;
            if won.is_empty() {
                continue;
            }
            match self.rng.below(2) {
                0 => {
                    row.leave().await.unwrap();
                    (id, row) = self.join().await;
                }
                // Only the last claim counts: those before it are fenced off.
                _ => {
                    let mut released = 0;
                    for (rows, _) in &won {
                        released += u32::from(rows.release().await.is_ok());
                    }
                    assert_eq!(released, 1, "of {} claims", won.len());
                }
            }
        }
        row.leave().await.unwrap();
        self.won
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cluster_concurrent_claims_have_one_winner_each() {
    let tries = number("MINICLAW_CLAIMS", (240, 10_000));
    let replies = |_: &Path| script([always_to("message", &says(["Fine."]))]);
    let Some(cluster) = Cluster::new(1, (CONFIG, Network::Direct), replies).await else { return };
    cluster.database.execute(WATCH_CLAIMS).await;
    let (left, since) = (Arc::new(AtomicU64::new(tries)), Instant::now());
    let claimers = (1..=3).map(|seed| {
        let claimer = Claimer::new(cluster.database.url("?sslmode=disable"), seed);
        tokio::spawn(claimer.claim(left.clone()))
    });
    let mut won = BTreeMap::new();
    for claimer in futures_util::future::join_all(claimers).await {
        won.extend(claimer.unwrap().into_iter().filter(|(_, won)| *won > 0));
    }
    let fences: Vec<i64> = numbers(&cluster, "SELECT fence::text FROM watch.claims ORDER BY at").await;
    let count = fences.len() as i64;
    eprintln!("{tries} claims, {count} of them won, took {:?}", since.elapsed());
    assert_eq!(fences, (1..=count).collect::<Vec<_>>(), "each fence once, in the order of the commits");
    assert_eq!(numbers(&cluster, "SELECT count(*)::text FROM watch.claims WHERE is_stolen").await, [0]);
    for (id, won) in &won {
        let sql = format!("SELECT count(*)::text FROM watch.claims WHERE owner = '{id}'");
        assert_eq!(numbers(&cluster, &sql).await, [*won], "what {id} was told");
    }
    assert_eq!(won.values().sum::<i64>(), count);
    assert!(count > 10 && won.len() > 3, "{won:?} means nothing");
    let server = cluster.serve(0).await;
    let mut client = Client::default();
    client.say(&[&server], "message 0.").await;
    client.read_to_the_end(&[&server]).await;
    cluster.check(&client, "after").await;
}

async fn numbers(cluster: &Cluster, sql: &str) -> Vec<i64> {
    cluster.ask(sql).await.iter().map(|number| number.parse().unwrap()).collect()
}

/// Returns a cluster of three servers for several people, with these replies.
async fn cluster_of_people(replies: impl IntoIterator<Item = Value>) -> Option<Cluster> {
    let settings = format!("auth_mode: multi\njwt_secret: {}\n{CONFIG}", people::SECRET);
    Cluster::new(3, (&settings, Network::Direct), |_| script(replies)).await
}

fn text(count: u32, per_second: f64) -> Value {
    steps([json!({"tokens": {"count": count, "per_second": per_second, "text": "w{n} "}}), json!({"finish": "stop"})])
}

/// Makes an account whose home this server takes, with a work under way.
async fn busy_person(server: &Server<'_>, admin: &Person, name: &str) -> (Person, Client) {
    let person = joined(server, admin, name).await;
    let mut client = Client::default().signed_in(&person);
    client.say(&[server], "slow").await;
    (person, client)
}

async fn interrupt(servers: &[&Server<'_>], person: &Person) {
    let mut tries = 0;
    eventually("the answer is stopped", async || {
        tries += 1;
        let path = ("POST", "/api/sessions/s/interrupt");
        ask(servers[tries % servers.len()], person, path, json!({})).await.status() == 200
    })
    .await;
}

#[tokio::test]
async fn cluster_death_of_a_busy_server_moves_all_its_homes() {
    let homes = number("MINICLAW_HOMES", (6, 60));
    let replies = [
        json!({"match": "neighbour", "repeat": true, "steps": text(60_000, 40.0)["steps"]}),
        always_to("slow", &text(160, 20.0)),
    ];
    let Some(cluster) = cluster_of_people(replies).await else { return };
    let mut servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await), Some(cluster.serve(2).await)];
    let (a, b) = (servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap());
    let ada = first_account(a, a).await;
    let mut neighbour = Client::default().signed_in(&ada);
    neighbour.say(&[a], "neighbour").await;
    let (mut persons, mut clients) = (Vec::new(), Vec::new());
    for number in 0..homes {
        let (person, client) = busy_person(b, &ada, &format!("Person{number}")).await;
        persons.push(person);
        clients.push(client);
    }
    let owned = "SELECT count(*) FROM homes JOIN servers ON server_id = owner AND NOT dead WHERE address = ";
    let of_b = format!("{owned}'http://{}'", cluster.members[1].address);
    assert_eq!(cluster.database.number(&of_b).await, homes as i64, "one server has all of them");
    let before = fence_of(&cluster, &ada).await;
    let mut stream = neighbour.stream(a).await.expect("it has the home");
    servers[1] = None;
    let left = others(&servers);
    let ends = clients.iter_mut().map(async |client| client.read_to_the_end(&left).await);
    let mut all_end = Box::pin(futures_util::future::join_all(ends));
    let (mut gaps, mut last) = (Vec::new(), Instant::now());
    let took = loop {
        tokio::select! {
            took = &mut all_end => break took,
            frame = stream.next() => {
                assert!(frame.is_some(), "the neighbour's stream goes on");
                gaps.push(last.elapsed());
                last = Instant::now();
            }
        }
    };
    drop(all_end);
    gaps.sort();
    let (middle, late) = (gaps[gaps.len() / 2], gaps[gaps.len() * 99 / 100]);
    eprintln!("{homes} homes of the server that was killed; all answers were complete after {:?}", took.iter().max());
    eprintln!(
        "{} frames for the neighbour, {middle:?} apart in the median and {late:?} in 99 of 100 cases",
        gaps.len()
    );
    assert!(gaps.len() > 100, "tokens come all the time");
    assert_eq!(fence_of(&cluster, &ada).await, before, "the neighbour's home stayed");
    drop(stream);
    interrupt(&left, &ada).await;
    neighbour.read_to_the_end(&left).await;
    cluster.check_all(&clients.iter().chain([&neighbour]).collect::<Vec<_>>(), "after").await;
}
