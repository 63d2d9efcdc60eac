//! Tools that each person switches on or off for themselves.

use serde_json::{Value, json};

use crate::people::{Person, admin, ask, get, joined, world};
use crate::world::Server;

/// Returns whether a tool is enabled, chosen and forbidden.
async fn state(server: &Server<'_>, person: &Person, name: &str) -> [bool; 3] {
    let data = get(server, person, "/api/tools").await.ok()["data"].clone();
    let tool = data["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    ["enabled", "chosen", "forbidden"].map(|field| tool[field].as_bool().unwrap())
}

async fn choose(server: &Server<'_>, person: &Person, name: &str, enabled: Value) -> u16 {
    ask(server, person, ("PATCH", &format!("/api/tools/{name}")), json!({"enabled": enabled})).await.status()
}

/// Sends a message and returns the names of the tools that the model was offered.
async fn offered(server: &Server<'_>, person: &Person, session: &str) -> Vec<String> {
    ask(server, person, ("POST", "/api/chat"), json!({"message": "go", "session_id": session})).await;
    let asked = server.world.asked();
    let tools = asked.last().unwrap()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn person_switches_tools_for_the_next_request() {
    let world = world("tools: {weather: false}").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    assert!(has(&offered(&server, &bob, "b1").await, "fetch_url"));
    assert_eq!(choose(&server, &bob, "fetch_url", json!(false)).await, 200);
    assert!(!has(&offered(&server, &bob, "b1").await, "fetch_url"), "also in a conversation that is there");
    assert!(has(&offered(&server, &ada, "a1").await, "fetch_url"), "others keep theirs");
    assert_eq!(state(&server, &bob, "fetch_url").await, [false, true, false]);
    assert_eq!(state(&server, &ada, "fetch_url").await, [true, false, false]);

    assert_eq!(choose(&server, &bob, "calculator", json!(true)).await, 200, "off unless somebody wants it");
    assert_eq!(state(&server, &bob, "calculator").await, [true, true, false]);
    assert_eq!(choose(&server, &bob, "weather", json!(true)).await, 409, "off for everybody");
    assert_eq!(state(&server, &bob, "weather").await, [false, false, true]);
    for (name, enabled, status) in [
        ("none", json!(true), 404),
        ("..", json!(true), 404),
        ("fetch_url", json!("no"), 422),
        ("mcp__x__y", json!(false), 404),
    ] {
        let answer = choose(&server, &bob, name, enabled).await;
        assert!(answer == status || (status == 422 && answer == 400), "{name}: {answer}");
    }
    assert_ne!(ask(&server, &bob, ("PATCH", "/api/tools/fetch_url"), json!({})).await.status(), 200);
    drop(server);
    let server = world.serve().await;
    assert_eq!(state(&server, &bob, "fetch_url").await, [false, true, false], "it outlives a restart");
    assert_eq!(choose(&server, &bob, "fetch_url", Value::Null).await, 200);
    assert_eq!(state(&server, &bob, "fetch_url").await, [true, false, false]);
    let names = server.get("/api/tools").await.ok()["data"]["tools"].clone();
    assert_eq!(names[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["name"], "choices need a sign-in");
}
