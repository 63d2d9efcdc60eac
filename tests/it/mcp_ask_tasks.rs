//! The Tasks extension of the MCP server: an answer that takes longer is a task, which the client asks for later.

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, NEW, OLD};
use crate::script::{call, calls, says, script, steps};
use crate::world::{ASKING, Server, World, eventually};

fn slow(gate: &str) -> Value {
    steps([json!({"text": "Ti"}), json!({"gate": gate}), json!({"text": "me."}), json!({"finish": "stop"})])
}

async fn client<'s, 'w>(server: &'s Server<'w>) -> McpClient<'s, 'w> {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    McpClient { capabilities, ..McpClient::new(server, NEW).await }
}

/// Asks, and returns the task that the answer is.
async fn task(client: &McpClient<'_, '_>, message: &str) -> Value {
    let task = client.call("ask", json!({"message": message, "wait": 0})).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    task
}

async fn state(client: &McpClient<'_, '_>, task: &Value) -> Value {
    client.result("tasks/get", json!({"taskId": task["taskId"]})).await
}

#[tokio::test]
async fn task_has_the_result_of_its_call_also_after_a_restart() {
    let world = World::new(script([slow("one"), says(["Again."])])).await;
    let (task, bearer) = {
        let server = world.serve().await;
        let client = client(&server).await;
        let task = task(&client, "one").await;
        assert_eq!(state(&client, &task).await["status"], "working");
        world.provider.open_gate("one");
        eventually("the task has ended", async || state(&client, &task).await["status"] == "completed").await;
        let ended = state(&client, &task).await;
        let answer = &ended["result"]["structuredContent"];
        assert_eq!((&answer["text"], &answer["state"]), (&json!("Time."), &json!("done")), "{ended}");
        assert_eq!(answer["work"], task["taskId"]);
        // A quick answer is no task, and has the same shape.
        let slower = McpClient { capabilities: json!({}), ..McpClient::new(&server, NEW).await };
        let call = slower.call("ask", json!({"message": "two"})).await;
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(answer), keys(&call["structuredContent"]));
        (task, client.bearer.clone())
    };
    let server = world.serve().await;
    let again = McpClient { bearer, ..client(&server).await };
    let ended = state(&again, &task).await;
    assert_eq!(ended["result"]["structuredContent"]["text"], "Time.", "{ended}");
}

#[tokio::test]
async fn task_is_seen_by_its_credential_only() {
    let world = World::new(script([slow("one")])).await;
    let server = world.serve().await;
    let (hers, other) = (client(&server).await, client(&server).await);
    let task = task(&hers, "one").await;
    let named = json!({"taskId": task["taskId"]});
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let mut params = named.clone();
        params["inputResponses"] = json!({});
        assert_eq!(other.error(method, params).await["code"], -32602, "{method}");
    }
    for wrong in ["", "no-such-task", "../../etc/passwd"] {
        assert_eq!(hers.error("tasks/get", json!({"taskId": wrong})).await["code"], -32602, "{wrong:?}");
    }
    // Who has not declared tasks gets none.
    let without = McpClient { capabilities: json!({}), bearer: hers.bearer.clone(), ..client(&server).await };
    assert_eq!(without.error("tasks/get", named.clone()).await["code"], -32021);
    let old = McpClient { version: OLD, bearer: hers.bearer.clone(), ..client(&server).await };
    assert!(old.send("tasks/get", named.clone()).await.text().contains("error"));
    assert_eq!(state(&hers, &task).await["status"], "working");

    hers.result("tasks/cancel", named).await;
    eventually("the task is cancelled", async || state(&hers, &task).await["status"] == "cancelled").await;
    let sessions = server.get("/api/sessions").await.ok();
    assert_eq!(sessions["sessions"][0]["state"], "idle", "{sessions}");
    world.provider.open_gate("one");
}

#[tokio::test]
async fn task_says_where_its_question_is_answered() {
    let run = calls([call("t", "terminal", json!({"command": "echo run >> ran.txt"}))]);
    let world = World::new(script([run, says(["Done."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let client = client(&server).await;
    let task = task(&client, "run it").await;
    let approval = server.waiting(1).await.remove(0);
    let page = format!("http://{}/s/{}", server.address, approval["session_id"].as_str().unwrap());
    let waits = state(&client, &task).await;
    assert_eq!(waits["status"], "working");
    assert!(waits["statusMessage"].as_str().unwrap().contains(&page), "{waits}");
    let said = json!({"taskId": task["taskId"], "inputResponses": {"approval": {"action": "accept"}}});
    client.result("tasks/update", said).await;
    assert_eq!(server.waiting(1).await[0]["id"], approval["id"], "what the client says is no answer");
    server.decide(&approval, "approve").await;
    eventually("the task has ended", async || state(&client, &task).await["status"] == "completed").await;
    assert_eq!(state(&client, &task).await["result"]["structuredContent"]["text"], "Done.");
    assert_eq!(world.read("scratch/ran.txt"), "run\n");
}
