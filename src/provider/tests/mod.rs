//! Tests of the client against the scripted provider, over real HTTP.

mod any;
mod bodies;
mod embeddings;
mod faults;
mod messages;
mod recorded;
mod responses;
mod secrets;

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::scripted::{MockProvider, Script, start};
use super::*;

/// A key that must never appear in any output.
const CANARY: &str = "sk-canary-7f3a9c51";

fn endpoint(kind: ProfileKind, base_url: &Url) -> Endpoint {
    Endpoint {
        profile: Profile::new(kind, "scripted"),
        base_url: base_url.clone(),
        api_key: Some(SecretString::from(CANARY)),
        model: "scripted".into(),
        label: "Test".into(),
        context_window: 32_768,
        price: None,
        reach: None,
    }
}

fn ask(words: &str) -> ModelRequest {
    ModelRequest { messages: vec![ChatMessage::User(words.into())], ..Default::default() }
}

/// Starts a server that plays one list of steps for each request, and creates a client for it.
async fn scripted<const N: usize>(replies: [Value; N]) -> (MockProvider, Client) {
    scripted_as(ProfileKind::Other, replies).await
}

async fn scripted_as<const N: usize>(kind: ProfileKind, replies: [Value; N]) -> (MockProvider, Client) {
    let server = start(Script::of_steps(replies).unwrap()).await.unwrap();
    let client = Client::new(endpoint(kind, &server.base_url)).unwrap();
    (server, client)
}

/// Returns all chunks of a turn, and its error.
async fn run(client: &Client) -> (Vec<StreamChunk>, Option<ProviderError>) {
    collect(client.turn(&ask("hi"))).await
}

async fn collect(mut turn: AnswerStream) -> (Vec<StreamChunk>, Option<ProviderError>) {
    let mut chunks = Vec::new();
    while let Some(next) = turn.next().await {
        match next {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => {
                assert!(turn.next().await.is_none(), "nothing comes after an error");
                return (chunks, Some(error));
            }
        }
    }
    assert!(
        matches!(chunks.last(), Some(StreamChunk::Finish(_))),
        "a turn without an error ends with Finish: {chunks:?}"
    );
    assert!(turn.next().await.is_none());
    (chunks, None)
}

/// Returns the chunks without statuses, with adjacent texts joined.
fn gist(chunks: Vec<StreamChunk>) -> Vec<StreamChunk> {
    let mut gist: Vec<StreamChunk> = Vec::new();
    for chunk in chunks {
        match (gist.last_mut(), chunk) {
            (_, StreamChunk::Status { .. }) => {}
            (Some(StreamChunk::Text(before)), StreamChunk::Text(more)) => before.push_str(&more),
            (Some(StreamChunk::Thinking(before)), StreamChunk::Thinking(more)) => before.push_str(&more),
            (
                Some(StreamChunk::ToolCallArguments { index: a, delta }),
                StreamChunk::ToolCallArguments { index: b, delta: more },
            ) if *a == b => delta.push_str(&more),
            (_, chunk) => gist.push(chunk),
        }
    }
    gist
}

fn waits(chunks: &[StreamChunk]) -> Vec<(StatusKind, f64)> {
    chunks
        .iter()
        .filter_map(|chunk| match chunk {
            StreamChunk::Status { status, retry_in_ms: Some(ms), .. } => Some((*status, *ms as f64 / 1000.0)),
            _ => None,
        })
        .collect()
}

fn text(text: &str) -> StreamChunk {
    StreamChunk::Text(text.into())
}

fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> StreamChunk {
    StreamChunk::Usage(Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })
}

fn start_of(index: u32, id: &str, name: &str) -> StreamChunk {
    StreamChunk::ToolCallStart { index, id: id.into(), name: name.into() }
}

fn arguments(index: u32, delta: &str) -> StreamChunk {
    StreamChunk::ToolCallArguments { index, delta: delta.into() }
}

#[tokio::test]
async fn answer_streams_in_pieces() {
    let (server, client) = scripted([json!([
        {"thinking": "Hm."}, {"text": "Hel"}, {"text": "lo"},
        {"tool_call": {"id": "c1", "name": "read_file", "arguments": {"path": "a.md"}}},
        {"tool_call": {"id": "c2", "name": "read_file", "arguments": "{\"path\": "}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}, {"finish": "tool_calls"}
    ])])
    .await;
    let (chunks, error) = run(&client).await;
    assert_eq!(error, None);
    assert_eq!(
        chunks,
        [
            StreamChunk::Thinking("Hm.".into()),
            text("Hel"),
            text("lo"),
            start_of(0, "c1", "read_file"),
            arguments(0, "{\"path\":\"a.md\"}"),
            start_of(1, "c2", "read_file"),
            arguments(1, "{\"path\": "),
            usage(9, 4, 0),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
    assert_eq!(server.requests(), [client.body(&ask("hi"))], "body() is what was sent");
}

#[tokio::test]
async fn chunk_is_yielded_before_next_arrives() {
    let (server, client) = scripted([json!([{"text": "a"}, {"gate": "g"}, {"text": "b"}, {"finish": "stop"}])]).await;
    let mut turn = client.turn(&ask("hi"));
    assert_eq!(turn.next().await, Some(Ok(text("a"))));
    // Cancelling `next` loses nothing.
    for _ in 0..3 {
        assert!(tokio::time::timeout(Duration::from_millis(5), turn.next()).await.is_err());
    }
    server.open_gate("g");
    assert_eq!(turn.next().await, Some(Ok(text("b"))));
}

#[tokio::test]
async fn turn_is_lazy_and_drop_closes_the_connection() {
    let (server, client) = scripted([json!([{"text": "a"}, {"gate": "never"}]), json!([{"finish": "stop"}])]).await;
    let turn = client.turn(&ask("hi"));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(server.connections(), 0);
    let mut turn = turn;
    assert_eq!(turn.next().await, Some(Ok(text("a"))));
    assert_eq!(server.connections(), 1);
    drop(turn);
}

#[tokio::test]
async fn second_turn_reuses_connection() {
    // The response ends a little after [DONE].
    let reply = || json!([{"text": "a"}, {"finish": "stop"}, {"sleep_ms": 20}]);
    let (server, client) = scripted([reply(), json!([{"status": 401}]), reply()]).await;
    assert_eq!(run(&client).await.1, None);
    // The client reads the end in the background.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(run(&client).await.1.map(|error| error.code()), Some("auth"));
    assert_eq!(run(&client).await.1, None);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn complete_returns_only_text() {
    let (server, client) = scripted_as(
        ProfileKind::Qwen,
        [json!([{"thinking": "Hm"}, {"text": "A "}, {"text": "title"}, {"finish": "length"}])],
    )
    .await;
    assert_eq!(client.complete(&ask("name it")).await, Ok("A title".to_owned()));
    assert_eq!(server.requests()[0]["enable_thinking"], false);
}

#[tokio::test]
async fn scripted_provider_matches_repeats_and_records() {
    let script = Script::from_value(&json!({"replies": [
        {"match": "weather", "repeat": true, "steps": [{"text": "rain"}, {"finish": "stop"}]},
        {"steps": [{"gate": "door"}, {"text": "once"}, {"finish": "stop"}]},
    ]}));
    let server = start(script.unwrap()).await.unwrap();
    let client = Client::new(endpoint(ProfileKind::Other, &server.base_url)).unwrap();
    let origin = server.base_url.join("/").unwrap();
    let http = super::client::build(&origin, Default::default()).unwrap();
    http.post(origin.join("gates/door").unwrap()).send().await.unwrap().error_for_status().unwrap();
    for (words, answer) in [("the weather?", "rain"), ("hi", "once"), ("weather!", "rain")] {
        assert_eq!(client.complete(&ask(words)).await.as_deref(), Ok(answer));
    }
    let recorded: Value = http.get(origin.join("requests").unwrap()).send().await.unwrap().json().await.unwrap();
    assert_eq!(recorded, Value::Array(server.requests()));
    assert_eq!(recorded.as_array().map(Vec::len), Some(3));
    let models: Value = http.get(origin.join("v1/models").unwrap()).send().await.unwrap().json().await.unwrap();
    assert_eq!(models["data"][0]["id"], "scripted");
    let none = http.post(origin.join("v1/chat/completions").unwrap()).body("{}").send().await.unwrap();
    assert_eq!(none.status().as_u16(), 500);
    assert!(none.text().await.unwrap().contains("no reply left for the user message"));
}

/// Also returns how long the turn took, in virtual time.
async fn timed(client: &Client) -> (Vec<StreamChunk>, Option<ProviderError>, Duration) {
    let begun = Instant::now();
    let (chunks, error) = run(client).await;
    (chunks, error, begun.elapsed())
}

#[test]
fn turn_is_send() {
    fn sendable<T: Send>() {}
    fn shareable<T: Send + Sync>() {}
    sendable::<AnswerStream>();
    shareable::<Client>();
    shareable::<Endpoint>();
}
