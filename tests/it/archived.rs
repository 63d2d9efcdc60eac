//! Conversations that a person has archived: out of the list, and there when they are asked for.

use serde_json::json;

use crate::conversations::{data, refused};
use crate::script::script;
use crate::world::World;

const CONVERSATIONS: &str = "/api/conversations";

#[tokio::test]
async fn archived_conversations_are_listed_when_asked_for() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut ids = Vec::new();
    for (title, project) in [("kept", None), ("archived", None), ("bound", Some("scratch")), ("done", Some("scratch"))]
    {
        let made = data(&server.post(CONVERSATIONS, json!({"title": title, "project_id": project})).await);
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    for id in [&ids[1], &ids[3]] {
        server.put(&format!("/api/sessions/{id}/archived"), json!({})).await.ok();
    }
    let titles = async |query: &str| {
        let page = data(&server.get(&format!("{CONVERSATIONS}{query}")).await);
        let items = page["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles("").await, ["bound", "kept"]);
    assert_eq!(titles("?archived=false").await, ["bound", "kept"]);
    assert_eq!(titles("?archived=true").await, ["done", "bound", "archived", "kept"]);
    assert_eq!(titles("?archived=true&project_id=scratch").await, ["done", "bound"]);
    let first = data(&server.get(&format!("{CONVERSATIONS}?archived=true&limit=1")).await);
    let next = format!("?archived=true&limit=1&cursor={}", first["next_cursor"].as_str().unwrap());
    assert_eq!(titles(&next).await, ["bound"], "pages join");
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}?archived=true&cursor=none")).await).0, 400);
}
