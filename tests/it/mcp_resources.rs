//! Resources and prompts of MCP servers, which a person puts into a message.

use serde_json::{Value, json};

use crate::mcp::{add, entry};
use crate::mcp_elicitation::with_server;
use crate::script::{says, script};
use crate::world::{Server, World};

async fn page(server: &Server<'_>, path: &str, body: Value) -> crate::http::Answer {
    server.as_page("POST", &format!("/api/mcp/pets/{path}"), body).await
}

async fn listed(server: &Server<'_>, what: &str) -> Vec<Value> {
    let answer = server.as_page("GET", &format!("/api/mcp/pets/{what}"), Value::Null).await.ok();
    answer[what].as_array().unwrap().clone()
}

#[tokio::test]
async fn resources_of_both_eras_are_listed_and_read_within_bounds() {
    for era in ["modern", "legacy"] {
        let world = World::new(script([says(["Yes."])])).await;
        let server = with_server(&world, era, "book").await;
        let found = listed(&server, "resources").await;
        let uris: Vec<&str> = found.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
        let expected: &[&str] =
            if era == "modern" { &["pets://1", "pets://2", "pets://{name}/food"] } else { &["pets://1", "pets://2"] };
        assert_eq!(uris, expected, "{era}: one with an invisible character is left out");
        assert_eq!(found[0]["title"], "The first\\u200b pet");
        let read = page(&server, "resources/read", json!({"uri": "pets://1"})).await.ok();
        assert_eq!(read["text"], "A cat\\u200b of [secret PET]");
        for (uri, why) in [("pets://2", "no text"), ("pets://big", "up to 262144")] {
            let refused = page(&server, "resources/read", json!({"uri": uri})).await;
            assert!(refused.status() == 502 && refused.text().contains(why), "{}", refused.text());
        }
        server.chat("s", "go").await;
        assert!(!world.asked()[0].to_string().contains("pets://"), "the model gets nothing of it by itself");
    }
}

#[tokio::test]
async fn prompt_is_used_in_the_version_that_was_seen() {
    let world = World::new(script([])).await;
    let server = with_server(&world, "modern", "book").await;
    let found = listed(&server, "prompts").await;
    assert_eq!((&found[0]["name"], &found[0]["arguments"][0]["required"]), (&json!("feed"), &json!(true)), "{found:?}");
    let seen = json!({"name": "feed", "sha256": found[0]["sha256"], "arguments": {"pet": "the cat"}});
    assert_eq!(page(&server, "prompts/get", seen.clone()).await.ok()["text"], "Feed the cat now.");
    std::fs::write(world.path("storage/mcp/pets/changed"), "x").unwrap();
    assert_eq!(page(&server, "prompts/get", seen).await.status(), 409);
}

#[tokio::test]
async fn nothing_is_offered_without_a_person_and_their_trust() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    add(&server, "pets", entry("legacy", json!({}))).await;
    for what in ["resources", "prompts"] {
        assert_eq!(server.get(&format!("/api/mcp/pets/{what}")).await.status(), 403, "only the page asks");
        let refused = server.as_page("GET", &format!("/api/mcp/pets/{what}"), Value::Null).await;
        assert!(refused.status() == 502 && refused.text().contains("nobody has confirmed"), "{}", refused.text());
    }
    assert_eq!(server.post("/api/mcp/pets/resources/read", json!({"uri": "pets://1"})).await.status(), 403);
    assert!(!world.path("storage/mcp/pets/starts").exists(), "nothing was started");
}
