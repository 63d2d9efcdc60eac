//! Resources and prompts of MCP servers, which a person puts into a message.

use miniclaw::domain::mcp::offered_name;
use miniclaw::store::sha256;
use serde_json::{Value, json};

use crate::mcp::{add, confirmed, entry, results};
use crate::mcp_elicitation::{PROGRAM, with_server};
use crate::script::{call, calls, says, script};
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
        for (uri, why) in [("pets://2", "no text"), ("pets://odd", "no text"), ("pets://big", "up to 262144")] {
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

/// A home whose model looks for a pet, and reads what it has found.
async fn finding() -> World {
    let name = offered_name("pets", "resource:pets://1", sha256);
    let replies = [
        calls([call("a", "find_tools", json!({"query": "first pet"}))]),
        calls([call("b", "use_tool", json!({"name": name, "arguments": {}}))]),
        says(["Yes."]),
    ];
    World::new(script(replies)).await
}

fn findable(era: &str, load: &str) -> Value {
    json!({"command": "/usr/bin/python3", "args": ["-c", PROGRAM, era, "findable"], "env": {"PET": "cat-91c4-canary-value"},
           "miniclaw": {"load": load}})
}

#[tokio::test]
async fn model_finds_and_reads_a_resource() {
    for era in ["modern", "legacy"] {
        let world = finding().await;
        let server = world.serve().await;
        confirmed(&server, "pets", findable(era, "auto")).await;
        server.chat("s", "go").await;
        server.settled("s").await;
        assert!(!server.get("/api/tools").await.ok().to_string().contains("mcp__pets__resource"));
        let first = world.asked()[0].to_string();
        assert!(first.contains("and resources of MCP servers"), "{first}");
        assert!(!first.contains("pets://") && !first.contains("The first"), "nobody has trusted these: {first}");
        let read = results(&world);
        assert!(
            read[0].contains("[pets] Reads the resource The first\\\\u200b pet (text/plain): pets://1"),
            "{}",
            read[0]
        );
        assert!(!read[0].contains("secret\u{202e}"), "{}", read[0]);
        assert!(read[1].contains("A cat\\u200b of [secret PET]"), "{era}: {}", read[1]);
        assert_eq!(world.session("s")["taint"][0]["from"], "outside");
    }
}

#[tokio::test]
async fn resource_that_may_not_be_found_is_not_read() {
    // Of a server whose tools are never loaded, and of one that declares no resources.
    let mut undeclared = findable("modern", "auto");
    undeclared["args"][3] = json!("plain");
    for entry in [findable("modern", "never"), undeclared] {
        let world = finding().await;
        let server = world.serve().await;
        confirmed(&server, "pets", entry).await;
        server.chat("s", "go").await;
        server.settled("s").await;
        assert!(!world.asked()[0].to_string().contains("resources of MCP servers"));
        let read = results(&world);
        assert!(!read.iter().any(|text| text.contains("pets://1") || text.contains("A cat")), "{read:?}");
    }
}
