//! MCP servers that are off in one conversation.

use serde_json::{Value, json};

use crate::mcp::{confirmed, entry, results, trust};
use crate::script::{call, calls, says, script};
use crate::world::World;

fn offered(request: &Value) -> bool {
    request["tools"].to_string().contains("mcp__pets__echo")
}

#[tokio::test]
async fn server_that_is_off_is_not_in_the_request() {
    let replies = [
        says(["On."]),
        calls([call("a", "mcp__pets__echo", json!({"text": "x"}))]),
        says(["Off."]),
        says(["Other."]),
        says(["On."]),
    ];
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    confirmed(&server, "pets", entry("legacy", json!({"load": "always"}))).await;
    trust(&server, "pets", &["echo"]).await;
    server.chat("s", "one").await;
    server.settled("s").await;
    let put = |body: Value| server.put("/api/sessions/s/model", body);
    assert_eq!(put(json!({"mcp_off": ["pets"]})).await.ok()["chosen"]["mcp_off"], json!(["pets"]));
    assert_eq!(put(json!({"mcp_off": ["no__name"]})).await.status(), 400);
    assert_eq!(put(json!({})).await.status(), 403, "only the page switches it on again");
    let headers = [("Content-Type", "application/json")];
    let patched = server.send("PATCH", "/api/conversations/s", &headers, br#"{"mcp_off": []}"#).await;
    assert_eq!(patched.status(), 403, "{}", patched.text());
    server.chat("s", "two").await;
    server.settled("s").await;
    server.chat("other", "three").await;
    let asked = world.asked();
    assert_eq!([0, 1, 3].map(|at| offered(&asked[at])), [true, false, true]);
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["chosen"]["mcp_off"], json!(["pets"]), "it is kept");
    server.as_page("PUT", "/api/sessions/s/model", json!({})).await.ok();
    server.chat("s", "four").await;
    server.settled("s").await;
    assert!(offered(&world.asked()[4]));
    assert!(results(&world)[0].contains("there is no tool named"), "{:?}", results(&world));
}
