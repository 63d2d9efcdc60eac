//! Several servers on one database: a home has one owner, and its works go on when that ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::postgres::{PASSWORD, PgProxy, TestDatabase, postgres};
use crate::postgres_home::{exported, run, text_of, wipe};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, Server, World, eventually};

/// What the servers of these tests know each other by.
const SECRET: &str = "cluster-canary-60c1b7e2f3a94d58a1";

/// Makes a world a member of the cluster in this database, with an empty folder. Its model is that of `provider`.
fn member(world: World, url: &str, provider: Option<&World>) -> World {
    let world = world.with_env("DATABASE_URL", url).with_env("CLUSTER_SECRET", SECRET);
    let world = match provider {
        Some(first) => world.with_env("OPENAI_BASE_URL", first.provider.base_url.as_str()),
        None => world,
    };
    wipe(&world);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cluster = format!("{{address: 'http://127.0.0.1:{port}', secret: '${{CLUSTER_SECRET}}'}}");
    let store = format!("store: {{postgres: '${{DATABASE_URL}}', experimental: true, cluster: {cluster}}}\n");
    world.write("config.yml", format!("{CONFIG}port: {port}\n{store}"));
    world
}

async fn started(world: &World) -> Server<'_> {
    world.serve_with(&[]).await
}

/// Returns two members, the first of which has a model with these replies, and the database.
async fn two_members(replies: impl IntoIterator<Item = Value>) -> Option<(TestDatabase, World, World)> {
    let database = postgres().await?.database().await;
    let first = member(World::new(script(replies)).await, &database.url(""), None);
    let second = member(World::new(script([])).await, &database.url(""), Some(&first));
    run(&first, &["db", "migrate", "--home", first.home().to_str().unwrap()]).await;
    Some((database, first, second))
}

/// Waits until a session has rested with this answer on the server, and returns how long that took, and the history.
async fn answered(server: &Server<'_>, session: &str, content: &str) -> (Duration, Value) {
    let (since, path) = (Instant::now(), format!("/api/sessions/{session}/history"));
    let mut history = Value::Null;
    eventually("the answer is whole", async || {
        let answer = server.get(&path).await;
        if answer.status() != 200 {
            return false;
        }
        history = answer.ok();
        let last = history["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        history["running"].is_null() && last["role"] == "assistant" && last["content"] == content
    })
    .await;
    (since.elapsed(), history)
}

fn roles(history: &Value) -> Vec<&str> {
    history["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// Waits until the text of an answer is in the journal, and so in the database.
async fn stored(world: &World, text: &str) {
    let is_there = || std::fs::read_to_string(world.path("sessions/s.journal")).is_ok_and(|facts| facts.contains(text));
    eventually("the text is stored", async || is_there()).await;
}

/// A reply that stops in the middle, for ever.
fn begun(text: &str) -> Value {
    steps([json!({"text": text}), json!({"gate": "never"}), json!({"finish": "stop"})])
}

#[tokio::test]
async fn takeover_after_kill_goes_on_with_the_answer() {
    let replies = [begun("Once upon a ti"), always(says(["me there was."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "a story").await;
    stream.until("token").await;
    stored(&first, "upon a ti").await;
    drop(old);
    let (took, history) = answered(&new, "s", "Once upon a time there was.").await;
    eprintln!("the answer went on after {took:?}");
    assert_eq!(roles(&history), ["user", "assistant"]);
    assert_eq!(history["messages"][1]["stop_reason"], Value::Null);
    assert!(new.terminate().await.0.success());
    assert!(!second.log().contains(SECRET) && !second.log().contains(PASSWORD));
    let home = exported(&second, "after").await;
    assert!(text_of(&home, "sessions/s.json").unwrap().contains("time there was."));
}

#[tokio::test]
async fn takeover_runs_no_call_twice() {
    let slow = call("c1", "terminal", json!({"command": "echo once >> ran.txt; sleep 4715"}));
    let replies = [calls([slow]), always(says(["It was cut off."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let stream = old.open_chat("s", "go").await;
    eventually("it runs", async || first.path("scratch/ran.txt").exists()).await;
    drop((stream, old));
    let (_, history) = answered(&new, "s", "It was cut off.").await;
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "interrupted");
    assert!(!second.path("scratch/ran.txt").exists() || second.read("scratch/ran.txt") == "once\n");
}

#[tokio::test]
async fn takeover_of_a_frozen_server_leaves_no_stale_fact() {
    let replies = [begun("From the fir"), says(["st to the second."]), always(says(["Later."]))];
    let Some((database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "go").await;
    stream.until("token").await;
    stored(&first, "From the fir").await;
    old.signal(libc::SIGSTOP);
    let (took, _) = answered(&new, "s", "From the first to the second.").await;
    eprintln!("the answer went on {took:?} after the freeze");
    assert!(took > Duration::from_secs(5), "nobody is declared dead in its time");
    old.signal(libc::SIGCONT);
    eventually("the sleeper is a member again", async || {
        first.log().matches("member of the cluster again").count() == 1
    })
    .await;
    eventually("it dropped the home", async || first.log().contains("dropped a home")).await;
    new.chat("s", "and then?").await;
    new.settled("s").await;
    let facts = "DO $$ BEGIN IF EXISTS (SELECT FROM facts WHERE fence < (SELECT fence FROM homes)) THEN RAISE 'stale'; END IF; END $$";
    database.execute(facts).await;
    // It is an ordinary member: it takes over what the other leaves.
    drop(new);
    let (_, history) = answered(&old, "s", "Later.").await;
    assert_eq!(roles(&history), ["user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn takeover_of_a_server_cut_from_the_database() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let proxy = PgProxy::to(database.port).await;
    let behind = database.url("?sslmode=disable").replace(&database.port.to_string(), &proxy.port.to_string());
    let replies = [begun("Cut o"), always(says(["ff."]))];
    let first = member(World::new(script(replies)).await, &behind, None);
    let second = member(World::new(script([])).await, &database.url(""), Some(&first));
    run(&first, &["db", "migrate", "--home", first.home().to_str().unwrap()]).await;
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "go").await;
    stream.until("token").await;
    stored(&first, "Cut o").await;
    let since = Instant::now();
    proxy.set_down(true);
    // The stream ends by itself, and no later than nobody else may have the home.
    stream.rest().await;
    let ended = since.elapsed();
    assert!(ended < Duration::from_secs(10), "it went on for {ended:?}");
    let refused = old.get("/api/sessions").await;
    assert_eq!(refused.refused(), (503, "home_moving".to_owned()));
    let (_, history) = answered(&new, "s", "Cut off.").await;
    eprintln!("the stream ended after {ended:?}, and the answer was whole after {:?}", since.elapsed());
    assert_eq!(roles(&history), ["user", "assistant"]);
    proxy.set_down(false);
    eventually("it is a member again", async || first.log().contains("member of the cluster again")).await;
}

#[tokio::test]
async fn work_that_takes_servers_down_ends_after_two() {
    let replies = [begun("One. "), begun("Two. "), always(says(["Three."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "go").await;
    stream.until("token").await;
    stored(&first, "One. ").await;
    drop(old);
    eventually("the second server goes on with it", async || first.asked().len() == 2).await;
    stored(&second, "Two. ").await;
    drop(new);
    let last = started(&first).await;
    let mut history = Value::Null;
    eventually("the work has ended", async || {
        let answer = last.get("/api/sessions/s/history").await;
        history = if answer.status() == 200 { answer.ok() } else { json!({"running": "elsewhere"}) };
        history["running"].is_null()
    })
    .await;
    assert!(history.to_string().contains("took_servers_down"), "{history:#}");
    assert_eq!(first.asked().len(), 2, "there is no third try");
    // A person can try it.
    last.post("/api/sessions/s/continue", json!({})).await.ok();
    let (_, history) = answered(&last, "s", "One. Two. Three.").await;
    assert_eq!(roles(&history), ["user", "assistant"]);
}

#[tokio::test]
async fn start_takes_no_home_from_a_living_member() {
    let replies = [says(["First."]), says(["Second."])];
    let Some((database, first, second)) = two_members(replies).await else { return };
    let old = started(&first).await;
    old.chat("s", "one").await;
    old.settled("s").await;
    let new = started(&second).await;
    assert_eq!(new.get("/health").await.status(), 200);
    let seen = new.get("/api/sessions/s/history").await;
    assert!(seen.status() == 200 || seen.refused() == (503, "home_moving".to_owned()), "{}", seen.text());
    assert!(!second.path("sessions/s.json").exists(), "the home is not here");
    old.chat("s", "two").await;
    let history = old.settled("s").await;
    assert_eq!(history["messages"][3]["content"], "Second.");
    // The other way round: a stopped server leaves the home to whoever is asked for it.
    assert!(old.terminate().await.0.success());
    let (took, history) = answered(&new, "s", "Second.").await;
    eprintln!("the home was there {took:?} after its owner had left");
    assert_eq!(roles(&history).len(), 4);
    assert_eq!(second.read("sessions/s.json"), first.read("sessions/s.json"));
    drop(database);
}

#[tokio::test]
async fn stopped_member_hands_its_works_over() {
    let slow = call("c1", "terminal", json!({"command": "echo once >> ran.txt; sleep 3"}));
    let replies = [calls([slow]), always(says(["Done elsewhere."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let stream = old.open_chat("s", "go").await;
    eventually("it runs", async || first.path("scratch/ran.txt").exists()).await;
    let (status, took) = old.terminate().await;
    assert!(status.success() && took < Duration::from_secs(20), "{status} after {took:?}");
    assert_eq!(first.asked().len(), 1, "the server that ends asks no model any more");
    drop(stream);
    let (silence, history) = answered(&new, "s", "Done elsewhere.").await;
    eprintln!("it ended after {took:?}, and the answer was whole {silence:?} later");
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "done");
    assert_eq!(second.read("scratch/ran.txt"), "once\n");
}
