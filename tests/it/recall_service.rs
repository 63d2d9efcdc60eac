//! Conversations and an embedding service beyond this machine: nothing of them is sent to it unless a person wants it.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::recall::{ask, recalls, result};
use crate::script::{always, says, script};
use crate::world::{CONFIG, Server, World};

type Texts = Arc<Mutex<Vec<String>>>;

/// Starts an embedding service that keeps what it is sent. Its address is one of this machine that does not look like it.
async fn service() -> (String, Texts) {
    let sent = Texts::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/v1/embeddings", post(embed)).with_state(sent.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://0.0.0.0:{port}/v1"), sent)
}

async fn embed(State(sent): State<Texts>, Json(body): Json<Value>) -> Json<Value> {
    let texts: Vec<String> = match &body["input"] {
        Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
        text => vec![text.as_str().unwrap().to_owned()],
    };
    let vector = |text: &String| [1.0, if text.contains("Zelnik") { 1.0 } else { 0.1 }];
    let data = texts.iter().enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)}));
    let answer = json!({"object": "list", "model": "made", "data": data.collect::<Vec<_>>()});
    sent.lock().unwrap().extend(texts);
    Json(answer)
}

fn config(address: &str, more: &str) -> String {
    format!("{CONFIG}embedding: {{provider: openai, api_url: '{address}', api_key: none, model: made{more}}}\n")
}

fn is_sent(sent: &Texts, words: &str) -> bool {
    sent.lock().unwrap().iter().any(|text| text.contains(words))
}

/// Returns why the search of the last tool call had the weights that it had.
async fn weight_reason(server: &Server<'_>, session: &str) -> Value {
    let history = server.get(&format!("/api/sessions/{session}/history")).await.ok();
    history["messages"][1]["tool_calls"][0]["result"]["data"]["weights"]["reason"].clone()
}

#[tokio::test]
async fn conversations_stay_here_unless_a_person_wants_it() {
    let (address, sent) = service().await;
    let round = || [recalls("landlord Zelnik"), says(["Zelnik."])];
    let replies = [says(["Noted."])].into_iter().chain(round()).chain(round()).chain([always(says(["Yes."]))]);
    let world = World::new(script(replies)).await.with_file("config.yml", &config(&address, ""));
    world.write("memory/MEMORY.md", "# Pets\n\nThe cat is called Mau.\n");
    let server = world.serve().await;
    ask(&server, "old", "My landlord is called Zelnik.").await;
    let memory = server.get("/api/retrieval/search?folder=memory&query=cat").await.ok();
    assert_eq!(memory["hits"][0]["source"], "memory/MEMORY.md");
    ask(&server, "new", "Who is it?").await;
    assert!(result(&world).contains("> My landlord is called Zelnik."), "words find it: {}", result(&world));
    assert_eq!(weight_reason(&server, "new").await, "withheld");
    let status = server.get("/api/retrieval/status").await.ok();
    assert_eq!(status["conversations"]["words_only"], true, "{status}");
    assert!(!is_sent(&sent, "Zelnik"), "{sent:?}");
    drop(server);
    world.write("config.yml", config(&address, ", conversations: true"));
    let server = world.serve().await;
    let status = server.get("/api/retrieval/status").await.ok();
    assert_eq!(status["conversations"]["words_only"], false, "{status}");
    ask(&server, "third", "Who is it?").await;
    crate::world::eventually("the conversation is embedded", async || is_sent(&sent, "landlord is called Zelnik"))
        .await;
}
