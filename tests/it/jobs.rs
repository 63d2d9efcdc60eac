//! Commands in the background: people see them with their output, and stop them.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually};

/// Creates a session that is bound to scratch/, has it start a command in the background, and returns its id.
async fn started(server: &Server<'_>) -> String {
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    let id = made["id"].as_str().unwrap().to_owned();
    server.chat(&id, "go").await;
    server.settled(&id).await;
    id
}

async fn jobs(server: &Server<'_>, id: &str) -> Vec<Value> {
    server.get(&format!("/api/sessions/{id}/jobs")).await.ok().as_array().unwrap().clone()
}

async fn stop(server: &Server<'_>, id: &str, job: &str) -> (u16, Value) {
    let answer = server.post(&format!("/api/sessions/{id}/jobs/{job}/stop"), json!({})).await;
    (answer.status(), answer.json())
}

fn run(call_id: &str, instruction: &str) -> Value {
    let arguments = json!({"commands": [{"instruction": instruction}], "background": true, "timeout": 600});
    calls([call(call_id, "bash", arguments)])
}

#[tokio::test]
async fn person_sees_a_background_job_and_stops_it() {
    let command = "echo 'be\u{202e}gun'; sleep 500";
    let world = World::new(script([run("start", command), says(["Started."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    let id = started(&server).await;
    let told = tab.until("jobs_changed").await;
    let told = &told.last().unwrap().data;
    assert_eq!((&told["session_id"], &told["running"]), (&json!(id), &json!(1)));
    eventually("its output", async || jobs(&server, &id).await[0]["output"] != "").await;
    let job = jobs(&server, &id).await.remove(0);
    assert_eq!((&job["id"], &job["call_id"], &job["state"]), (&json!("job1"), &json!("start"), &json!("running")));
    assert_eq!(job["command"], "echo 'be\\u202egun'; sleep 500", "nothing in it is hidden");
    assert!(job["started_at"].as_f64().unwrap() > 1e9 && job["outcome"].is_null() && job["truncated"] == false);

    let (status, stopped) = stop(&server, &id, "job1").await;
    assert_eq!((status, &stopped["state"], &stopped["code"]), (200, &json!("ended"), &json!("stopped")));
    assert_eq!((&stopped["outcome"], &stopped["exit_code"]), (&json!("stopped"), &json!(null)));
    assert_eq!(tab.until("jobs_changed").await.last().unwrap().data["running"], 0);
    assert_eq!(stop(&server, &id, "job1").await, (200, stopped.clone()), "a second stop changes nothing");
    assert_eq!(jobs(&server, &id).await, [stopped]);
}

#[tokio::test]
async fn job_of_another_session_is_neither_seen_nor_stopped() {
    let world = World::new(script([run("start", "sleep 500"), says(["Started."]), says(["Nothing to do."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (owner, other) = (started(&server).await, started(&server).await);
    assert_eq!((jobs(&server, &owner).await.len(), jobs(&server, &other).await.len()), (1, 0));
    let foreign = stop(&server, &other, "job1").await;
    assert_eq!((foreign.0, &foreign.1["code"]), (404, &json!("not_found")));
    assert_eq!(stop(&server, &owner, "none").await.0, 404);
    assert_eq!(server.get("/api/sessions/nobody/jobs").await.refused(), (404, "not_found".to_owned()));
    assert_eq!(stop(&server, "nobody", "job1").await.0, 404);
    assert_eq!(jobs(&server, &owner).await[0]["state"], "running");
}

#[tokio::test]
async fn end_of_a_background_job_is_told_and_forgotten_at_a_restart() {
    let command = "seq 3000; until [ -e go ]; do sleep 0.05; done; exit 3";
    let world = World::new(script([run("start", command), says(["Started."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    let id = started(&server).await;
    tab.until("jobs_changed").await;
    world.write("scratch/go", "");
    assert_eq!(tab.until("jobs_changed").await.last().unwrap().data["running"], 0);
    let job = jobs(&server, &id).await.remove(0);
    assert_eq!((&job["outcome"], &job["code"]), (&json!("exit code 3"), &json!("exit_code")));
    assert_eq!((&job["exit_code"], &job["truncated"]), (&json!(3), &json!(true)));
    let output = job["output"].as_str().unwrap();
    assert!(output.len() <= 5000 && output.trim_end().ends_with("\n3000"), "{output}");
    drop(server);
    let server = world.serve().await;
    assert!(jobs(&server, &id).await.is_empty());
    assert_eq!(stop(&server, &id, "job1").await.0, 404);
}
