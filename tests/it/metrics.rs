//! `/metrics`: figures about the server, for whoever may manage it, without anything about people or contents.

use std::collections::BTreeMap;

use serde_json::json;

use crate::cluster_world::{Client, Cluster, Network};
use crate::people::{admin, get, joined, world_with};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, Server, World, eventually};

const TOKEN: &str = "a-long-random-word-0123456789";

fn counting(world: World) -> World {
    let world = world.with_env("MINICLAW_TOKEN", TOKEN);
    world.write("config.yml", format!("metrics: true\n{CONFIG}"));
    world
}

/// Returns the samples of an exposition by their names with labels. Fails if its form is not that of OpenMetrics.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let rest = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let mut found = BTreeMap::new();
    let mut families = Vec::new();
    for line in rest.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(!families.contains(&name.to_owned()), "{name} is there twice");
            families.push(name.to_owned());
        } else if !line.starts_with("# ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            assert!(families.last().is_some_and(|known| family.starts_with(known)), "{line}");
            assert!(found.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} is there twice");
        }
    }
    assert!(families.len() > 10, "{families:?}");
    found
}

async fn scraped(server: &Server<'_>) -> BTreeMap<String, f64> {
    let answer = server.get("/metrics").await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let kind = answer.head.header("content-type").unwrap();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    samples(&answer.text())
}

#[tokio::test]
async fn figures_of_works_requests_and_tools_are_counted() {
    let read = call("c1", "read_file", json!({"path": "workspace/SOUL.md"}));
    let missing = call("c2", "read_file", json!({"path": "workspace/no-such-canary-file.md"}));
    let refusal = steps([json!({"status": 401})]);
    let world = counting(World::new(script([calls([read, missing]), says(["Fine."]), refusal])).await);
    let mut server = world.serve().await;
    assert_eq!(server.get("/metrics").await.refused(), (401, "signed_out".to_owned()));
    server.token = Some(TOKEN.to_owned());
    server.chat("canary-session", "canary words").await;
    server.settled("canary-session").await;
    server.chat("canary-session", "canary words again").await;
    server.settled("canary-session").await;
    server.get("/api/sessions/canary-session/history").await.ok();
    server.get("/no/such/canary").await;
    let found = scraped(&server).await;
    let value = |name: &str| *found.get(name).unwrap_or_else(|| panic!("no {name} in {found:#?}"));
    assert_eq!(value("miniclaw_tool_calls_total{tool=\"read_file\",outcome=\"done\"}"), 1.0);
    assert_eq!(value("miniclaw_tool_calls_total{tool=\"read_file\",outcome=\"error\"}"), 1.0);
    assert_eq!(value("miniclaw_works_total{outcome=\"done\"}"), 1.0);
    assert_eq!(value("miniclaw_works_total{outcome=\"error\"}"), 1.0);
    let errors: Vec<_> = found.keys().filter(|name| name.starts_with("miniclaw_work_errors_total")).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let history = "miniclaw_http_requests_total{method=\"GET\",route=\"/api/sessions/{id}/history\",status=\"200\"}";
    assert!(value(history) >= 1.0);
    assert!(value("miniclaw_tokens_total{model=\"mock\",kind=\"input\"}") > 0.0);
    assert!(value("miniclaw_first_token_seconds_count{model=\"mock\"}") >= 1.0);
    assert!(value("miniclaw_fact_commit_seconds_count{store=\"files\"}") >= 4.0);
    assert_eq!(value("miniclaw_works_under_way"), 0.0);
    assert!(value("process_resident_memory_bytes") > 1e6);
    let names = found.keys().cloned().collect::<String>();
    assert!(!names.contains("canary") && !names.contains(TOKEN), "{names}");
}

#[tokio::test]
async fn figures_are_off_unless_they_are_configured() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    assert_eq!(server.get("/metrics").await.refused(), (404, "metrics_off".to_owned()));
}

#[tokio::test]
async fn token_for_figures_reads_nothing_else() {
    let world = counting(World::new(script([])).await);
    let home = world.home();
    let made = |scope| {
        ["token".to_owned(), "add".into(), "--scope".into(), scope, "--home".into(), home.to_str().unwrap().into()]
    };
    let mut tokens = Vec::new();
    for scope in ["metrics", "ask", "read"] {
        let output = world.run(&made(scope.to_owned()).each_ref().map(String::as_str)).await;
        tokens.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    let mut server = world.serve().await;
    server.token = Some(tokens[0].clone());
    scraped(&server).await;
    for path in ["/api/status", "/api/sessions", "/api/files?path=workspace/SOUL.md"] {
        assert_eq!(server.get(path).await.refused(), (403, "ask_token".to_owned()), "{path}");
    }
    assert_eq!(server.get("/v1/models").await.status(), 401);
    assert_eq!(server.post("/mcp", json!({})).await.status(), 401);
    assert_eq!(server.post("/metrics", json!({})).await.status(), 403);
    for other in &tokens[1..] {
        server.token = Some(other.clone());
        assert_eq!(server.get("/metrics").await.status(), 403, "a token for something else");
    }
    server.token = Some("mck-made-up".to_owned());
    assert_eq!(server.get("/metrics").await.status(), 401);
}

#[tokio::test]
async fn of_several_people_only_admins_see_figures() {
    let world = world_with(script([always(says(["Fine."]))]), "metrics: true").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let ben = joined(&server, &ada, "Ben").await;
    assert_eq!(get(&server, &ben, "/metrics").await.refused(), (403, "not_allowed".to_owned()));
    assert_eq!(server.get("/metrics").await.status(), 401);
    let answer = get(&server, &ada, "/metrics").await;
    let text = answer.text();
    samples(&text);
    for name in ["ada", "ben", &ada.id, &ben.id] {
        assert!(!text.to_lowercase().contains(name), "{name} is in {text}");
    }
}

#[tokio::test]
async fn figures_of_a_cluster_are_counted() {
    let config = format!("metrics: true\n{CONFIG}");
    let cluster = Cluster::new(2, (config.as_str(), Network::Direct), |_| script([always(says(["Fine."]))]));
    let Some(cluster) = cluster.await else { return };
    let (first, second) = (cluster.serve(0).await, cluster.serve(1).await);
    let mut client = Client::default();
    client.say(&[&first], "one").await;
    client.read_to_the_end(&[&first]).await;
    client.say(&[&second], "over the other server").await;
    client.read_to_the_end(&[&second]).await;
    let value = |found: &BTreeMap<String, f64>, name: &str| *found.get(name).unwrap_or_else(|| panic!("no {name}"));
    let alive = "miniclaw_cluster_servers_alive";
    eventually("both see each other", async || {
        value(&scraped(&first).await, alive) == 2.0 && value(&scraped(&second).await, alive) == 2.0
    })
    .await;
    let (owner, other) = (scraped(&first).await, scraped(&second).await);
    for (name, of_owner, of_other) in [
        ("miniclaw_cluster_homes_owned", 1.0, 0.0),
        ("miniclaw_database_claims_total", 1.0, 0.0),
        ("miniclaw_database_takeovers_total", 0.0, 0.0),
        ("miniclaw_database_fenced_writes_total", 0.0, 0.0),
    ] {
        assert_eq!((value(&owner, name), value(&other, name)), (of_owner, of_other), "{name}");
    }
    assert!(value(&owner, "miniclaw_database_writes_total") > 4.0);
    assert!(value(&owner, "miniclaw_database_write_seconds_total") > 0.0);
    assert!(value(&other, "miniclaw_forwarded_requests_total{outcome=\"answered\"}") >= 2.0);
    assert!(value(&owner, "miniclaw_fact_commit_seconds_count{store=\"postgres\"}") >= 4.0);
    // Killed, not stopped: its home is taken over.
    drop(first);
    eventually("the home is there", async || second.get("/api/sessions/s/history").await.status() == 200).await;
    let taken = scraped(&second).await;
    assert_eq!(value(&taken, "miniclaw_database_takeovers_total"), 1.0);
    assert_eq!(value(&taken, "miniclaw_cluster_homes_owned"), 1.0);
}
