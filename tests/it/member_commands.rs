//! A member of a project of somebody else learns why commands do not run in it.

use serde_json::{Value, json};

use crate::conversations::{data, refused};
use crate::people::{admin, ask, get, joined, world};

#[tokio::test]
async fn member_learns_why_no_command_runs_in_a_project() {
    let world = world("").await;
    let server = world.serve_with(&["--port", "0", "--sandbox", "off"]).await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    get(&server, &bob, "/api/projects").await.ok();
    let made = data(&ask(&server, &ada, ("POST", "/api/projects"), json!({"name": "Tea"})).await);
    assert_eq!(made["commands_problem"], Value::Null, "the owner learns it from the state of the server");
    let path = format!("/api/projects/{}", made["id"].as_str().unwrap());
    let problem = async |role: &str| {
        ask(&server, &ada, ("PUT", &format!("{path}/members/bob")), json!({"role": role})).await.ok();
        let invitation = format!("/api/projects/invitations/{}", made["id"].as_str().unwrap());
        ask(&server, &bob, ("POST", &invitation), json!({})).await;
        let one = data(&get(&server, &bob, &path).await)["commands_problem"].clone();
        let listed = data(&get(&server, &bob, "/api/projects").await);
        assert_eq!(listed["items"][0]["commands_problem"], one);
        one
    };
    let why = problem("editor").await;
    assert_eq!((&why["code"], &why["available"]), (&json!("off"), &json!(false)));
    let why = why["note"].as_str().unwrap();
    assert!(why.starts_with("Commands") && why.contains("off"), "{why}");
    assert!(!why.contains(world.home().to_str().unwrap()), "{why}");
    let (status, _) = refused(&get(&server, &bob, &format!("{path}/git")).await);
    assert!(status >= 400, "git does not run either");
    assert_eq!(problem("viewer").await, Value::Null, "whoever only reads runs no commands");
}
