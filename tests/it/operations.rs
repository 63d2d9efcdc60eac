//! The operations of a session by works, at both of their paths.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World};

async fn at_both_paths(server: &Server<'_>, query: &str) -> Value {
    let own = server.get(&format!("/api/sessions/s/operations?{query}")).await.ok();
    let documented = server.get(&format!("/getSessionOperations?session_id=s&{query}")).await.ok();
    assert_eq!(own, documented);
    own
}

/// Returns a world whose model creates a file, reads it and a missing one in the next exchange, and answers, for each
/// question.
async fn world() -> World {
    let turn = |n: usize| {
        let new =
            call(&format!("new{n}"), "create_file", json!({"path": format!("knowledge/{n}.md"), "content": "x\n"}));
        let read = |id: &str, path: String| call(&format!("{id}{n}"), "read_file", json!({"path": path}));
        let reads = [read("a", format!("knowledge/{n}.md")), read("b", "knowledge/none.md".to_owned())];
        [calls([new]), calls(reads), says(["Done."])]
    };
    let world = World::new(script((0..2).flat_map(turn))).await;
    world.write("config.yml", CONFIG);
    world
}

#[tokio::test]
async fn operations_are_grouped_by_works_in_order() {
    let world = world().await;
    let server = world.serve().await;
    for question in ["first", "second"] {
        server.chat("s", question).await;
        server.settled("s").await;
    }
    let works = at_both_paths(&server, "").await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(works.as_array().unwrap().len(), 2);
    for (n, question) in ["first", "second"].into_iter().enumerate() {
        let (work, id) = (&works[n], works[n]["work_id"].as_str().unwrap());
        assert!(history["messages"].as_array().unwrap().iter().any(|m| m["content"] == question && m["work_id"] == id));
        assert_eq!((&work["work_status"], &work["user_messages"]), (&json!(0), &json!([{"user_content": question}])));
        assert!(work["create_time"].as_f64().unwrap() > 1.7e9);
        let operations = work["operations"].as_array().unwrap();
        let [new, a, b] = operations.as_slice() else { panic!("{operations:#?}") };
        let first = json!({"operation_id": format!("new{n}"), "operation_method": "create_file", "operation_index": 0,
                           "operation_status": 0, "dialogue_id": format!("{id}.0")});
        for (field, value) in first.as_object().unwrap() {
            assert_eq!(&new[field], value, "{field}");
        }
        let codes = (json!(format!("knowledge/{n}.md")), json!("knowledge/none.md"));
        assert_eq!((&a["operation_code"], &b["operation_code"]), (&codes.0, &codes.1));
        assert_eq!((&a["operation_index"], &b["operation_index"]), (&json!(0), &json!(1)));
        assert_eq!(a["dialogue_id"], format!("{id}.1"));
        assert_eq!((&a["result"]["status"], &b["result"]["status"]), (&json!(0), &json!(1)));
    }
}

#[tokio::test]
async fn undone_operation_is_left_out_unless_included() {
    let world = world().await;
    let server = world.serve().await;
    server.chat("s", "go").await;
    server.settled("s").await;
    server.post("/api/sessions/s/operations/new0/undo", json!({})).await.ok();
    let ids = |works: &Value| -> Vec<String> {
        let operations = works[0]["operations"].as_array().unwrap();
        operations.iter().map(|operation| operation["operation_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&at_both_paths(&server, "").await), ["a0", "b0"]);
    let all = at_both_paths(&server, "withdrawn=include").await;
    assert_eq!(
        (ids(&all), &all[0]["operations"][0]["operation_status"]),
        (["new0", "a0", "b0"].map(String::from).to_vec(), &json!(1))
    );
    assert_eq!(server.get("/api/sessions/s/operations?withdrawn=perhaps").await.refused().0, 400);
}

#[tokio::test]
async fn compacted_operations_stay_and_missing_sessions_are_refused() {
    let world = world().await;
    let server = world.serve().await;
    for question in ["first", "second"] {
        server.chat("s", question).await;
        server.settled("s").await;
    }
    let before = at_both_paths(&server, "").await;
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!(at_both_paths(&server, "").await, before, "compaction loses no operation");
    let parts = server.get("/api/sessions/s/compacted").await.ok();
    let part = parts["compacted"][0]["name"].as_str().unwrap().to_owned();
    server.post(&format!("/api/sessions/s/compacted/{part}/restore"), json!({})).await.ok();
    assert_eq!(at_both_paths(&server, "").await, before, "and restoring repeats none");

    server.delete("/api/sessions/s").await.ok();
    for path in
        ["/api/sessions/s/operations", "/getSessionOperations?session_id=s", "/getSessionOperations?session_id=nobody"]
    {
        assert_eq!(server.get(path).await.refused(), (404, "not_found".to_owned()), "{path}");
    }
    assert_eq!(server.get("/getSessionOperations").await.refused().0, 400);
    assert_eq!(
        server.get("/getSessionOperations?session_id=..%2Fx").await.refused(),
        (400, "bad_session_id".to_owned())
    );
}
