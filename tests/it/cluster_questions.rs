//! Faults of a cluster around calls: while a person is asked, between an answer and the call's start, and by the call itself.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::cluster_faults::{always_to, effect_and_text, others, to};
use crate::cluster_world::{Client, Cluster, Network, is_temporary};
use crate::http::Answer;
use crate::script::{call, calls, says, script};
use crate::world::{ASKING, CONFIG, Server, eventually};

/// A call whose start is being stored waits as long as somebody has this lock.
const HOLD_STARTS: &str = "CREATE FUNCTION watch.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF encode(NEW.body, 'escape') LIKE '%\"tool_started\"%' THEN PERFORM pg_advisory_xact_lock_shared(4711); END IF; RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION watch.hold();";
/// The connections that wait for it.
const HELD: &str = "FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted AND database = (SELECT oid FROM \
                    pg_database WHERE datname = current_database())";

/// Returns the answer to a request that is repeated as long as the home is on its way.
async fn settled_answer(mut ask: impl AsyncFnMut() -> Answer) -> Answer {
    let mut last = None;
    eventually("the home is somewhere", async || {
        let answer = ask().await;
        let is_settled = !is_temporary(&answer);
        last = Some(answer);
        is_settled
    })
    .await;
    last.expect("asked at least once")
}

/// Waits until a server asks one question, and returns it.
async fn question(server: &Server<'_>) -> Value {
    let mut asked = Value::Null;
    eventually("the question is asked", async || {
        let answer = server.get("/api/approvals").await;
        let all = if answer.status() == 200 { answer.json()["approvals"].take() } else { Value::Null };
        asked = all[0].clone();
        asked.is_object()
    })
    .await;
    asked
}

#[tokio::test]
async fn cluster_approved_call_of_a_killed_server_runs_once() {
    let replies = |effects: &Path| {
        let gate = effects.with_file_name("gate");
        let command = format!("echo c1 >> {}; until [ -e {} ]; do sleep 0.05; done", effects.display(), gate.display());
        let made = calls([call("c1", "terminal", json!({"command": command}))]);
        script([to("go", &made), always_to("go", &says(["It ran."]))])
    };
    let Some(cluster) = Cluster::new(2, (ASKING, Network::Direct), replies).await else { return };
    cluster.database.execute(HOLD_STARTS).await;
    let mut servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "go").await;
    let owner = cluster.owner().await.expect("a server has the home");
    let held = cluster.database.hold("SELECT pg_advisory_xact_lock(4711)").await;
    let other = servers[1 - owner].as_ref().unwrap();
    let asked = question(other).await;
    other.decide(&asked, "approve").await;
    eventually("the start of the call is on its way", async || {
        cluster.ask(&format!("SELECT pid::text {HELD}")).await.len() == 1
    })
    .await;
    servers[owner] = None;
    // What the killed server had sent is never committed.
    cluster.ask(&format!("SELECT pg_terminate_backend(pid)::text {HELD}")).await;
    drop(held);
    let other = servers[1 - owner].as_ref().unwrap();
    let late = json!({"decision": "deny", "hash": asked["hash"]});
    let id = asked["id"].as_str().unwrap();
    let told = settled_answer(async || other.answer(id, late.clone()).await).await;
    assert_eq!(told.status(), 409, "{}", told.text());
    assert!(told.text().contains("approved"), "it says what the first answer was: {}", told.text());
    eventually("the call runs", async || !cluster.effects().is_empty()).await;
    std::fs::write(cluster.outside("gate"), "").unwrap();
    client.read_to_the_end(&[other]).await;
    assert_eq!(cluster.effects(), ["c1"]);
    let call = &client.history(other).await.unwrap()["messages"][1]["tool_calls"][0];
    assert_eq!(call["status"], "done", "{call}");
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_question_expires_at_the_next_owner() {
    let config = "find_local_models: false\napprovals: {effects: {execute: ask}, timeout_seconds: 8}\n";
    let replies = |effects: &Path| script(effect_and_text("go", "c1", effects));
    let Some(cluster) = Cluster::new(2, (config, Network::Direct), replies).await else { return };
    let mut servers = vec![Some(cluster.serve(0).await), Some(cluster.serve(1).await)];
    let mut client = Client::default();
    client.say(&others(&servers), "go").await;
    let owner = cluster.owner().await.expect("a server has the home");
    let before = question(servers[owner].as_ref().unwrap()).await;
    servers[owner] = None;
    let other = servers[1 - owner].as_ref().unwrap();
    let again = question(other).await;
    let since = Instant::now();
    assert_eq!(again["hash"], before["hash"], "it shows the same");
    assert!(again["expires_at"].as_f64() > before["expires_at"].as_f64(), "it has its whole time again: {again}");
    client.read_to_the_end(&[other]).await;
    eprintln!("asked again with 8 s, it expired and the answer was complete after {:?}", since.elapsed());
    let call = &client.history(other).await.unwrap()["messages"][1]["tool_calls"][0];
    assert_eq!(call["approval"]["decision"], "expired", "{call}");
    let late = json!({"decision": "approve", "hash": again["hash"]});
    let told = other.answer(again["id"].as_str().unwrap(), late).await;
    assert_eq!(told.refused(), (409, "expired".to_owned()));
    assert_eq!(cluster.effects(), Vec::<String>::new(), "nobody allowed it");
    cluster.check(&client, "after").await;
}

#[tokio::test]
async fn cluster_work_that_kills_its_servers_is_ended() {
    // The file with the process id is two folders above that of commands.
    let killing = |effects: &Path, id: &str| {
        let command = format!("echo {id} >> {}; kill -9 $(cat ../../pid)", effects.display());
        to("poison", &calls([call(id, "terminal", json!({"command": command}))]))
    };
    let replies = |effects: &Path| {
        let [again, text] = effect_and_text("message 1.", "c3", effects);
        script([killing(effects, "c1"), killing(effects, "c2"), always_to("poison", &says(["Survived."])), again, text])
    };
    let Some(cluster) = Cluster::new(3, (CONFIG, Network::Direct), replies).await else { return };
    let mut servers = Vec::new();
    for (at, member) in cluster.members.iter().enumerate() {
        let server = cluster.serve(at).await;
        std::fs::write(member.world.home().with_file_name("pid"), server.pid().to_string()).unwrap();
        servers.push(Some(server));
    }
    let mut client = Client::default();
    client.say(&others(&servers), "poison").await;
    let since = Instant::now();
    for killed in 1..=2 {
        eventually("it kills its server", async || {
            servers.iter_mut().flatten().filter_map(|server| server.has_ended().then_some(())).count() == killed
        })
        .await;
    }
    for server in &mut servers {
        if server.as_mut().is_some_and(Server::has_ended) {
            *server = None;
        }
    }
    let left = others(&servers);
    assert_eq!((left.len(), cluster.effects()), (1, vec!["c1".to_owned(), "c2".to_owned()]));
    client.read_to_the_end(&left).await;
    eprintln!("it was ended {:?} after it began", since.elapsed());
    let history = client.history(left[0]).await.unwrap();
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "interrupted");
    let last = history["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["stop_reason"]), (&json!("assistant"), &json!("error")), "{last}");
    assert!(history["failures"].to_string().contains("took_servers_down"), "{history}");
    assert_eq!(cluster.members[0].world.asked().len(), 2, "the model is not asked a third time");
    client.say(&left, "message 1.").await;
    client.read_to_the_end(&left).await;
    assert_eq!(cluster.effects(), ["c1", "c2", "c3"], "the server that is left goes on");
    cluster.check(&client, "after").await;
}
