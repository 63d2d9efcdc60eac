//! Weak hits: the record and the page have them, and a model only if it asks for them.

use serde_json::{Value, json};

use crate::recall::{ask, result};
use crate::script::{always, call, calls, says, script};
use crate::world::{Server, World};

const GARDEN: &str = "# Garden\n\nThe roses in the garden need water on Mondays.\n";
/// It shares one word with the note, and asks for something else.
const OTHER_TOPIC: &str = "How many moons of Jupiter are visible from a garden with binoculars?";
const ANSWERABLE: &str = "When do the roses need water?";

/// Returns the messages of the last request as one text, without the system prompt.
fn sent(world: &World) -> String {
    let request = world.asked().pop().unwrap();
    request["messages"].as_array().unwrap()[1..].iter().map(Value::to_string).collect()
}

/// Returns the counts of the newest work, and the search that is stored for it.
async fn record(server: &Server<'_>, session: &str) -> (Value, Value, Value) {
    let history = server.settled(session).await;
    let work = history["retrieved"].as_array().unwrap().last().unwrap().clone();
    let path = format!("/api/sessions/{session}/works/{}/retrieved", work["work_id"].as_str().unwrap());
    (work["hits"].clone(), work["withheld"].clone(), server.get(&path).await.ok())
}

#[tokio::test]
async fn rag_mode_withholds_weak_hits_and_records_them() {
    let world = World::new(script([always(says(["I see."]))])).await.with_file("memory/garden.md", GARDEN);
    let server = world.serve().await;
    server.put("/api/config/rag-mode", json!({"enabled": true})).await.ok();

    let frames = server.chat("s", OTHER_TOPIC).await;
    let found = &frames.iter().find(|frame| frame.is("retrieval")).unwrap().data;
    assert_eq!((&found["results"][0]["weak"], &found["search"]["withheld"]), (&json!(true), &json!(1)));
    assert!(!sent(&world).contains("roses") && !sent(&world).contains("记忆检索结果"), "{}", sent(&world));
    let (hits, withheld, search) = record(&server, "s").await;
    assert_eq!((hits, withheld, &search["withheld"]), (json!(0), json!(1), &json!(1)));
    assert_eq!((&search["hits"][0]["source"], &search["hits"][0]["weak"]), (&json!("memory/garden.md"), &json!(true)));

    server.chat("t", ANSWERABLE).await;
    assert!(sent(&world).contains("roses in the garden"), "{}", sent(&world));
    let (hits, withheld, search) = record(&server, "t").await;
    assert_eq!((hits, withheld, search.get("withheld")), (json!(1), json!(0), None));
    assert_eq!(search["hits"][0]["weak"], false);
    // The next server reads the same from the records.
    drop(server);
    let server = world.serve().await;
    let (hits, withheld, search) = record(&server, "s").await;
    assert_eq!((hits, withheld, &search["query"]), (json!(0), json!(1), &json!(OTHER_TOPIC)));
}

/// Lets the model call a search with these arguments. Returns what it reads, and the data that the page receives.
async fn searched(tool: &str, arguments: Value) -> (String, Value) {
    let world = World::new(script([calls([call("c", tool, arguments)]), says(["I see."])]))
        .await
        .with_file("memory/garden.md", GARDEN)
        .with_file("knowledge/garden.md", GARDEN);
    let server = world.serve().await;
    ask(&server, "s", "Please look it up.").await;
    let history = server.settled("s").await;
    let calls = history["messages"][1]["tool_calls"].clone();
    (result(&world), calls[0]["result"].clone())
}

#[tokio::test]
async fn search_tools_withhold_weak_hits_unless_asked() {
    for (tool, folder) in [("search_memory", "memory"), ("search_knowledge_base", "knowledge")] {
        let (text, record) = searched(tool, json!({"query": OTHER_TOPIC})).await;
        assert!(!text.contains("roses"), "{text}");
        assert!(text.starts_with(&format!("Nothing in {folder}/ matches.")), "{text}");
        assert!(
            text.ends_with("1 weak passage that probably does not answer is withheld; include_weak: true returns it.")
        );
        let source = json!(format!("{folder}/garden.md"));
        assert_eq!((&record["data"]["hits"], &record["message"]), (&json!([]), &json!("only weak passages found")));
        assert_eq!(record["data"]["withheld"][0]["source"], source);

        let (text, record) = searched(tool, json!({"query": OTHER_TOPIC, "include_weak": true})).await;
        assert!(text.contains("(weak: it probably does not answer)\n"), "{text}");
        assert!(text.contains("The roses in the garden need water on Mondays."), "{text}");
        assert_eq!((&record["data"]["withheld"], &record["data"]["hits"][0]["weak"]), (&json!([]), &json!(true)));

        let (text, record) = searched(tool, json!({"query": ANSWERABLE})).await;
        assert!(text.contains("The roses in the garden") && !text.contains("weak"), "{text}");
        assert_eq!((&record["data"]["hits"][0]["weak"], &record["data"]["withheld"]), (&json!(false), &json!([])));
    }
}

#[tokio::test]
async fn weak_passages_of_conversations_are_withheld() {
    let recall = |arguments: Value| calls([call("r", "search_memory", arguments)]);
    let everywhere = json!({"query": OTHER_TOPIC, "in": "all"});
    let with_weak = json!({"query": OTHER_TOPIC, "in": "conversations", "include_weak": true});
    let replies = [says(["Noted."]), recall(everywhere), says(["Four."]), recall(with_weak), says(["Four."])];
    let world = World::new(script(replies)).await;
    let server = world.serve().await;
    let said = ask(&server, "old", "The roses in the garden need water on Mondays.").await;
    ask(&server, "a", "Look for it.").await;
    let text = result(&world);
    assert!(text.contains("In conversations:\nNo conversation matches.") && !text.contains("> The roses"), "{text}");
    assert!(text.contains("1 weak passage that probably does not answer is withheld"), "{text}");
    let call = server.settled("a").await["messages"][1]["tool_calls"][0]["result"].take();
    assert_eq!(call["data"]["withheld"][0]["source"], json!(format!("old:{}", said[0])));
    ask(&server, "b", "Look again, please.").await;
    let text = result(&world);
    assert!(text.contains("> The roses in the garden need water on Mondays."), "{text}");
    assert!(text.contains("(weak: it probably does not answer)\n"), "{text}");
}

#[tokio::test]
async fn withheld_document_is_no_source_of_taint() {
    let (_, record) = searched("search_knowledge_base", json!({"query": OTHER_TOPIC})).await;
    assert_eq!(record["data"]["hits"], json!([]));
    let world = World::new(script([
        calls([call("c", "search_knowledge_base", json!({"query": OTHER_TOPIC}))]),
        says(["I see."]),
        calls([call("c", "search_knowledge_base", json!({"query": ANSWERABLE}))]),
        says(["I see."]),
    ]))
    .await
    .with_file("knowledge/garden.md", GARDEN);
    let server = world.serve().await;
    ask(&server, "s", "Please look it up.").await;
    // That knowledge/ was searched taints in any case.
    assert_eq!(world.session("s")["taint"], json!([{"from": "document", "name": "knowledge/"}]));
    ask(&server, "s", "And the roses?").await;
    let taint = world.session("s")["taint"].take();
    assert!(taint.to_string().contains("knowledge/garden.md"), "{taint}");
}
