//! Several servers on one database: a home has one owner, and its works go on when that ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::postgres::{TestDatabase, postgres};
use crate::postgres_home::{run, wipe};
use crate::postgres_store::{back_up, go_back};
use crate::script::{always, call, calls, says, script};
use crate::sign_in::{TOKEN, cookie};
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
    let cluster = format!("address: 'http://127.0.0.1:{port}', cluster_secret: '${{CLUSTER_SECRET}}'");
    let store = format!("store: {{postgres: '${{DATABASE_URL}}', {cluster}}}\n");
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

#[tokio::test]
async fn takeover_runs_no_call_twice() {
    let slow = call("c1", "terminal", json!({"command": "sleep 4715"}));
    let replies = [calls([slow]), always(says(["It was cut off."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "go").await;
    stream.until("tool_start").await;
    first.signal_command("scratch", "seen").await;
    drop((stream, old));
    let (_, history) = answered(&new, "s", "It was cut off.").await;
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "interrupted");
    assert_eq!(first.asked().len(), 2, "the model is asked once more, with what is known of the call");
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
    assert_eq!(new.get("/api/sessions/s/history").await.ok()["messages"][1]["content"], "First.");
    assert!(new.chat("s", "two").await.iter().any(|frame| frame.is("done")), "asked over the other server");
    let history = old.settled("s").await;
    assert_eq!(history["messages"][3]["content"], "Second.");
    assert!(!second.path("sessions/s.json").exists(), "the home is not there");
    // The other way round: a stopped server leaves the home to whoever is asked for it.
    assert!(old.terminate().await.0.success());
    let (took, history) = answered(&new, "s", "Second.").await;
    eprintln!("the home was there {took:?} after its owner had left");
    assert_eq!(roles(&history).len(), 4);
    assert_eq!(second.read("sessions/s.json"), first.read("sessions/s.json"));
    drop(database);
}

#[tokio::test]
async fn cluster_secret_that_differs_is_refused() {
    let Some((_database, first, second)) = two_members([]).await else { return };
    let old = started(&first).await;
    assert_eq!(old.get("/api/sessions").await.status(), 200);
    let right = second.read("config.yml");
    second.write("config.yml", right.replace("${CLUSTER_SECRET}", "other-canary-60c1b7e2f3a94d58a1b2"));
    let output = second.run(&["serve", "--home", second.home().to_str().unwrap()]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("cluster_secret_differs") && !said.contains("canary"), "{said}");
    second.write("config.yml", right);
    assert_eq!(started(&second).await.get("/api/sessions").await.status(), 200, "the other server has the home");
}

#[tokio::test]
async fn address_of_a_member_that_leads_nowhere_is_said() {
    let Some((_database, first, second)) = two_members([]).await else { return };
    let said = "does not reach itself at store.address";
    let config = second.read("config.yml");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = config.split_once("port: ").and_then(|(_, rest)| rest.lines().next()).unwrap();
    second.write(
        "config.yml",
        config
            .replace(&format!("address: 'http://127.0.0.1:{port}'"), &format!("address: 'http://127.0.0.1:{nobody}'")),
    );
    let (right, wrong) = (started(&first).await, started(&second).await);
    eventually("the log says so", async || second.log().contains(said)).await;
    drop((right, wrong));
    assert!(!first.log().contains(said), "{}", first.log());
}

#[tokio::test]
async fn sign_out_still_counts_after_a_takeover() {
    let Some((_database, first, second)) = two_members([]).await else { return };
    let [first, second] = [first, second].map(|world| world.with_env("MINICLAW_TOKEN", TOKEN));
    let (old, new) = (started(&first).await, started(&second).await);
    let signed_in = async || cookie(&old.post("/api/login", json!({"token": TOKEN})).await);
    let (out, other) = (signed_in().await, signed_in().await);
    let sessions =
        async |server: &Server<'_>, cookie: &str| server.send("GET", "/api/sessions", &[("Cookie", cookie)], b"").await;
    assert_eq!(sessions(&old, &out).await.status(), 200, "this server has the home");
    let json = ("Content-Type", "application/json");
    assert_eq!(new.send("POST", "/api/logout", &[json, ("Cookie", &out)], b"{}").await.status(), 204);
    assert_eq!(sessions(&new, &out).await.status(), 401, "the owner knows it");
    drop(old);
    eventually("the other server has the home", async || sessions(&new, &other).await.status() == 200).await;
    assert_eq!(sessions(&new, &out).await.status(), 401);
}

#[tokio::test]
async fn stopped_member_hands_its_works_over() {
    let command = "echo once >> ran.txt; until [ -e \"$TMPDIR/go\" ]; do sleep 0.05; done";
    let waits = call("c1", "terminal", json!({"command": command}));
    let replies = [calls([waits]), always(says(["Done elsewhere."]))];
    let Some((_database, first, second)) = two_members(replies).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    let mut stream = old.open_chat("s", "go").await;
    stream.until("tool_start").await;
    old.signal(libc::SIGTERM);
    eventually("the server is ending", async || first.log().contains("stopping")).await;
    first.signal_command("scratch", "go").await;
    let (status, took) = old.ended().await;
    assert!(status.success() && took < Duration::from_secs(30), "{status} after {took:?}");
    assert_eq!(first.asked().len(), 1, "the server that ends asks no model any more");
    drop(stream);
    let (silence, history) = answered(&new, "s", "Done elsewhere.").await;
    eprintln!("it ended after {took:?}, and the answer was whole {silence:?} later");
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "done");
    assert_eq!(second.read("scratch/ran.txt"), "once\n");
}

#[tokio::test]
async fn cluster_member_keeps_the_home_of_a_database_that_went_back() {
    let Some((database, first, second)) = two_members([always(says(["Yes."]))]).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    old.chat("s", "before").await;
    old.settled("s").await;
    back_up(&database).await;
    old.chat("s", "lost by the database").await;
    old.settled("s").await;
    let claims = "SELECT fence FROM homes";
    let before = database.number(claims).await;
    go_back(&database).await;
    for server in [&old, &new, &old] {
        let said = server.post("/api/sessions/s/messages", json!({"message": "too late"})).await;
        assert_eq!(said.refused(), (503, "database_went_back".to_owned()));
    }
    assert_eq!(old.get("/ready").await.refused(), (503, "database_went_back".to_owned()));
    assert_eq!(new.get("/ready").await.status(), 200);
    let history = new.get("/api/sessions/s/history").await.ok().to_string();
    assert!(history.contains("lost by the database"), "it can still be read over both");
    // By then, each server has looked twice for homes that nobody has.
    let now = database.number("SELECT extract(epoch FROM clock_timestamp())::int8").await;
    let later = format!("SELECT count(*) FROM servers WHERE NOT dead AND alive_until > to_timestamp({})", now + 16);
    eventually("both have lived for six seconds", async || database.number(&later).await == 2).await;
    assert_eq!(database.number(claims).await, before, "nobody claims it again and again");
    // Whoever stops the member lets the database count.
    drop(old);
    eventually("another member has the home", async || {
        let history = new.get("/api/sessions/s/history").await;
        history.status() == 200 && !history.text().contains("lost by the database")
    })
    .await;
    new.chat("s", "and on").await;
    let history = new.settled("s").await;
    assert_eq!(roles(&history).len(), 4);
}

#[tokio::test]
async fn home_that_a_member_cannot_open_goes_to_another() {
    let Some((database, first, second)) = two_members([always(says(["Yes."]))]).await else { return };
    let old = started(&second).await;
    old.chat("s", "one").await;
    old.settled("s").await;
    assert!(old.terminate().await.0.success());
    let new = started(&first).await;
    assert_eq!(roles(&answered(&new, "s", "Yes.").await.1).len(), 2);
    // What differs in its copy cannot be moved away.
    std::fs::remove_dir_all(second.path("workspace")).unwrap();
    second.write("workspace", "in the way");
    let _ = std::fs::remove_dir_all(second.path("storage/quarantine"));
    second.write("storage/quarantine", "in the way, too");
    let claims = "SELECT fence FROM homes";
    let before = database.number(claims).await;
    let broken = started(&second).await;
    drop(new);
    eventually("it has tried to take the home", async || {
        let answer = broken.get("/api/sessions/s/history").await;
        assert!(answer.status() >= 500, "{}", answer.text());
        database.number(claims).await > before
    })
    .await;
    let new = started(&first).await;
    assert_eq!(roles(&answered(&new, "s", "Yes.").await.1).len(), 2);
    assert_eq!(roles(&answered(&broken, "s", "Yes.").await.1).len(), 2, "over the other server");
}

#[tokio::test]
async fn copy_that_was_given_up_leaves_no_old_versions() {
    let Some((_database, first, second)) = two_members([always(says(["Yes."]))]).await else { return };
    let old = started(&first).await;
    for session in ["s", "gone"] {
        old.chat(session, "one").await;
        old.settled(session).await;
    }
    assert!(old.terminate().await.0.success());
    let new = started(&second).await;
    new.chat("s", "two").await;
    new.settled("s").await;
    new.delete("/api/sessions/gone").await.ok();
    assert!(new.terminate().await.0.success());
    first.write("knowledge/by-hand.md", "Nobody else has this.");
    let old = started(&first).await;
    assert_eq!(roles(&answered(&old, "s", "Yes.").await.1).len(), 4);
    assert!(!first.path("sessions/gone.json").exists());
    let copies = std::fs::read_dir(first.path("storage/quarantine")).unwrap().flatten();
    let kept: Vec<_> = copies.filter(|entry| entry.file_name().to_string_lossy().starts_with("copy-")).collect();
    let [copy] = &kept[..] else { panic!("{kept:?}") };
    let mut files = Vec::new();
    let mut folders = vec![copy.path()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() { folders.push(entry.path()) } else { files.push(entry.file_name()) }
        }
    }
    assert_eq!(files, ["by-hand.md"], "only what was changed after it was given up");
}

#[tokio::test]
async fn server_of_its_own_is_refused_beside_a_cluster() {
    let Some((_database, first, second)) = two_members([always(says(["Yes."]))]).await else { return };
    let member = started(&first).await;
    member.chat("s", "one").await;
    let config = second.read("config.yml");
    let store = "store: {postgres: '${DATABASE_URL}'}\n";
    let alone: String =
        config.lines().filter(|line| !line.starts_with("store:")).map(|line| format!("{line}\n")).collect();
    second.write("config.yml", format!("{alone}{store}"));
    let home = second.home().to_str().unwrap().to_owned();
    let ended = tokio::time::timeout(Duration::from_secs(60), second.run(&["serve", "--home", &home])).await;
    let output = ended.expect("it does not start");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("servers of a cluster use this database"), "{said}");
    assert_eq!(roles(&answered(&member, "s", "Yes.").await.1).len(), 2, "it goes on");
}

#[tokio::test]
async fn admins_see_the_servers_of_a_cluster() {
    let Some((_database, first, second)) = two_members([always(says(["Yes."]))]).await else { return };
    let (old, new) = (started(&first).await, started(&second).await);
    old.chat("s", "one").await;
    old.settled("s").await;
    for server in [&old, &new] {
        assert_eq!(server.get("/api/status").await.ok()["in_cluster"], true);
        let seen = server.get("/api/cluster").await.ok();
        let servers = seen["servers"].as_array().unwrap();
        let of = |server: &Server<'_>| {
            let address = json!(format!("http://{}", server.address));
            servers.iter().find(|seen| seen["address"] == address).unwrap_or_else(|| panic!("{address} in {servers:?}"))
        };
        assert_eq!((servers.len(), &of(&old)["state"], &of(&new)["state"]), (2, &json!("alive"), &json!("alive")));
        assert_eq!((&of(&old)["homes"], &of(&new)["homes"]), (&json!(1), &json!(0)));
        assert!(of(&new)["since_beat"].as_f64().unwrap() < 10.0, "{servers:?}");
        assert_eq!(seen["this_server"], of(&old)["id"], "the one that has the home answers");
        assert_eq!((&seen["home_count"], &seen["homes"][0]["owner"]), (&json!(1), &of(&old)["address"]));
        assert!(seen["homes"][0]["last_change"].as_i64().unwrap() > 0);
    }
    let changed = old.as_page("PATCH", "/api/settings", json!({"set": {"max_iterations": 3}})).await;
    assert_eq!(changed.refused(), (409, "config_of_cluster".to_owned()), "the next owner would not know it");
    drop(old);
    eventually("the server that was killed is seen to have ended", async || {
        let seen = new.get("/api/cluster").await;
        seen.status() == 200 && seen.text().contains(r#""state":"dead""#)
    })
    .await;
    let alone = World::new(script([])).await;
    let alone = alone.serve().await;
    assert_eq!(alone.get("/api/status").await.ok()["in_cluster"], false);
    assert_eq!(alone.get("/api/cluster").await.refused(), (404, "no_cluster".to_owned()));
}
