//! Tests of the embeddings client over real HTTP. Waits use virtual time, except where a thread blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use base64::Engine;
use futures_util::StreamExt;

use super::*;
use crate::domain::{EmbedError, Embedder, EmbeddingInput};
use crate::provider::embeddings::Service;

/// What the server does with a request.
#[derive(Clone)]
enum Reply {
    /// Vectors `[length of the text, 1]`, in the requested format.
    Vectors,
    /// The same as arrays, whatever format was requested.
    Arrays,
    Status(u16, &'static str, Option<&'static str>),
    Document(Value),
    Text(String),
    /// Response headers and part of a body, then the end of the connection.
    Dropped,
    Silence,
}

#[derive(Default)]
struct ServerState {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
}

/// A server that plays the replies in order, and then answers with vectors.
struct Played {
    url: Url,
    state: Arc<ServerState>,
}

async fn played(replies: impl IntoIterator<Item = Reply>) -> Played {
    let state =
        Arc::new(ServerState { replies: Mutex::new(replies.into_iter().collect()), requests: Mutex::default() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    let router = axum::Router::new().route("/v1/embeddings", axum::routing::post(answer)).with_state(state.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Played { url, state }
}

async fn answer(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: String) -> Response<Body> {
    let request: Value = serde_json::from_str(&body).unwrap();
    state.requests.lock().unwrap().push((headers, request.clone()));
    let reply = state.replies.lock().unwrap().pop_front().unwrap_or(Reply::Vectors);
    let respond = |status: u16, text: String| {
        Response::builder().status(StatusCode::from_u16(status).unwrap()).body(Body::from(text)).unwrap()
    };
    match reply {
        Reply::Vectors => respond(200, vectors(&request, request["encoding_format"] == "base64").to_string()),
        Reply::Arrays => respond(200, vectors(&request, false).to_string()),
        Reply::Document(document) => respond(200, document.to_string()),
        Reply::Text(text) => respond(200, text),
        Reply::Status(status, words, after) => {
            let mut response = respond(status, json!({"error": {"message": words}}).to_string());
            if let Some(after) = after {
                response.headers_mut().insert("retry-after", after.parse().unwrap());
            }
            response
        }
        Reply::Dropped => {
            let pieces = [Ok("{\"data\":"), Err(std::io::Error::other("the connection closes"))];
            // Lets the server send the headers before the connection breaks.
            let pieces = futures_util::stream::iter(pieces).then(async |piece| {
                tokio::task::yield_now().await;
                piece
            });
            Response::new(Body::from_stream(pieces))
        }
        Reply::Silence => std::future::pending().await,
    }
}

/// Returns the vectors in reverse order: only their indexes give the order of the texts.
fn vectors(request: &Value, base64: bool) -> Value {
    let texts = request["input"].as_array().unwrap();
    let item = |(index, text): (usize, &Value)| {
        let vector = [text.as_str().unwrap().len() as f32, 1.0];
        let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
        let embedding = if base64 {
            Value::from(base64::engine::general_purpose::STANDARD.encode(bytes))
        } else {
            Value::from(vector.to_vec())
        };
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let data: Vec<Value> = texts.iter().enumerate().rev().map(item).collect();
    json!({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1}})
}

impl Played {
    fn service(&self) -> Service {
        Service::new(endpoint(ProfileKind::Other, &self.url)).unwrap()
    }

    fn requests(&self) -> Vec<Value> {
        self.state.requests.lock().unwrap().iter().map(|(_, request)| request.clone()).collect()
    }
}

fn texts(lengths: impl IntoIterator<Item = usize>) -> Vec<String> {
    lengths.into_iter().map(|length| "x".repeat(length)).collect()
}

/// Returns the server's vectors for texts of these lengths, normalized to length 1.
fn expected(lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<f32>> {
    let unit = |length: usize| {
        let scale = 1.0 / ((length * length + 1) as f64).sqrt();
        vec![(length as f64 * scale) as f32, scale as f32]
    };
    lengths.into_iter().map(unit).collect()
}

async fn embed(
    service: &Service,
    side: EmbeddingInput,
    lengths: impl IntoIterator<Item = usize>,
) -> Result<Vec<Vec<f32>>, ProviderError> {
    service.embed(side, &texts(lengths)).await
}

#[tokio::test]
async fn vectors_keep_text_order_and_unit_length() {
    let server = played([]).await;
    let service = server.service();
    assert_eq!(embed(&service, EmbeddingInput::Passage, [3, 1, 2]).await, Ok(expected([3, 1, 2])));
    assert_eq!(embed(&service, EmbeddingInput::Query, []).await, Ok(vec![]));
    let request = json!({"model": "scripted", "input": ["xxx", "x", "xx"], "encoding_format": "base64"});
    assert_eq!(server.requests(), [request]);
    assert_eq!(server.state.requests.lock().unwrap()[0].0["authorization"], format!("Bearer {CANARY}"));
}

#[tokio::test]
async fn base64_is_optional() {
    let server = played([Reply::Arrays]).await;
    assert_eq!(embed(&server.service(), EmbeddingInput::Query, [5]).await, Ok(expected([5])));
    for words in ["Unknown field: encoding_format", "bad request"] {
        let server = played([Reply::Status(400, words, None)]).await;
        let service = server.service();
        assert_eq!(embed(&service, EmbeddingInput::Query, [5]).await, Ok(expected([5])));
        assert_eq!(embed(&service, EmbeddingInput::Query, [6]).await, Ok(expected([6])));
        let formats: Vec<_> = server.requests().iter().map(|request| request["encoding_format"].clone()).collect();
        assert_eq!(formats, [json!("base64"), Value::Null, Value::Null], "{words}: and so from then on");
    }
}

#[tokio::test]
async fn refused_batches_shrink() {
    let server = played([]).await;
    assert_eq!(embed(&server.service(), EmbeddingInput::Passage, 1..=150).await, Ok(expected(1..=150)));
    let counts = |requests: Vec<Value>| -> Vec<usize> {
        requests.iter().map(|request| request["input"].as_array().unwrap().len()).collect()
    };
    assert_eq!(counts(server.requests()), [64, 64, 22]);

    let long = || std::iter::repeat_n(4000, 60);
    let server = played([]).await;
    assert_eq!(embed(&server.service(), EmbeddingInput::Passage, long()).await, Ok(expected(long())));
    assert_eq!(counts(server.requests()), [24, 24, 12], "not more than 96 KiB");

    let refused = Reply::Status(400, "batch size is invalid, it should not be larger than 10.", None);
    let server = played([refused]).await;
    let service = server.service();
    assert_eq!(embed(&service, EmbeddingInput::Passage, 1..=20).await, Ok(expected(1..=20)));
    assert_eq!(counts(server.requests())[..3], [20, 2, 2]);
    assert_eq!(server.requests()[1]["encoding_format"], "base64");
}

#[tokio::test(start_paused = true)]
async fn rate_limits_and_server_errors_are_retried() {
    let server = played([
        Reply::Status(429, "slow down", Some("7")),
        Reply::Status(503, "busy", None),
        Reply::Dropped,
        Reply::Vectors,
    ])
    .await;
    let begun = Instant::now();
    assert_eq!(embed(&server.service(), EmbeddingInput::Passage, [1, 2]).await, Ok(expected([1, 2])));
    let took = begun.elapsed().as_secs_f64();
    // 7 s from `Retry-After`, then about 3 s and 9 s of backoff.
    assert!((7.0 + 12.0 * 0.8..7.0 + 12.0 * 1.2 + 0.5).contains(&took), "{took}");
    assert_eq!(server.requests().len(), 4);

    let server = played((0..4).map(|_| Reply::Dropped)).await;
    let error = embed(&server.service(), EmbeddingInput::Passage, [1]).await.unwrap_err();
    assert_eq!((error.code(), server.requests().len()), ("interrupted", 4));
}

#[tokio::test(start_paused = true)]
async fn slow_service_delays_one_question_only() {
    for (reply, code) in [(Reply::Silence, "timeout"), (Reply::Status(429, "later", Some("30")), "rate_limited")] {
        let server = played([reply]).await;
        let service = server.service();
        let begun = Instant::now();
        assert_eq!(embed(&service, EmbeddingInput::Query, [1]).await.unwrap_err().code(), code);
        assert_eq!(embed(&service, EmbeddingInput::Query, [1]).await.unwrap_err().code(), code);
        assert!(begun.elapsed() <= Duration::from_secs(11), "{:?}", begun.elapsed());
        assert_eq!(server.requests().len(), 1);
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(
            embed(&service, EmbeddingInput::Query, [1]).await,
            Ok(expected([1])),
            "after a minute it is asked again"
        );
    }
    // A successful request for passages ends the pause.
    let server = played([Reply::Status(429, "later", Some("30"))]).await;
    let service = server.service();
    assert!(embed(&service, EmbeddingInput::Query, [1]).await.is_err());
    assert!(embed(&service, EmbeddingInput::Passage, [1]).await.is_ok());
    assert!(embed(&service, EmbeddingInput::Query, [1]).await.is_ok());
}

#[tokio::test]
async fn permanent_failure_is_not_retried() {
    for (status, words, code) in [
        (401, "bad key", "auth"),
        (402, "pay", "quota"),
        (404, "the model does not exist", "model_not_found"),
        (404, "", "unreachable"),
    ] {
        let server = played([Reply::Status(status, words, None)]).await;
        assert_eq!(embed(&server.service(), EmbeddingInput::Passage, [1, 2]).await.unwrap_err().code(), code);
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn malformed_vectors_are_refused() {
    let data = |vectors: Value| Reply::Document(json!({"data": vectors}));
    let encoded = |floats: &[f32]| {
        let bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    let one = json!({"index": 0, "embedding": [1.0, 2.0]});
    for (reply, words) in [
        (data(json!([one])), "1 vectors for 2 texts"),
        (data(json!([one, one, one])), "3 vectors for 2 texts"),
        (data(json!([one, one])), "not one for each text"),
        (data(json!([one, {"index": 9, "embedding": [1.0, 2.0]}])), "not one for each text"),
        (data(json!([one, {"index": 1, "embedding": [1.0]}])), "1 numbers in a vector where there were 2"),
        (data(json!([one, {"index": 1, "embedding": [0.0, 0.0]}])), "without length"),
        (data(json!([one, {"index": 1, "embedding": []}])), "without length"),
        (data(json!([one, {"index": 1, "embedding": [1e39, 0.0]}])), "no number"),
        (data(json!([one, {"index": 1, "embedding": [null, 0.0]}])), "no embeddings"),
        (data(json!([one, {"index": 1, "embedding": encoded(&[f32::NAN, 1.0])}])), "no number"),
        (data(json!([one, {"index": 1, "embedding": "AAAA"}])), "cut off"),
        (data(json!([one, {"index": 1, "embedding": "???"}])), "no base64"),
        (Reply::Text("{\"data\":[{\"embedding\":[NaN]}]}".to_owned()), "no embeddings"),
        (Reply::Document(json!({"hello": 1})), "no embeddings"),
        (Reply::Document(json!({"error": {"message": "the model does not exist", "code": 404}})), "doesn't offer"),
        (Reply::Text("<html>".to_owned()), "a web page"),
        (Reply::Text(" ".repeat(17 << 20)), "16 MiB"),
    ] {
        let server = played([reply]).await;
        let error = embed(&server.service(), EmbeddingInput::Passage, [1, 2]).await.unwrap_err();
        assert!(error.to_string().contains(words) && !error.retryable(), "{words}: {error}");
    }
}

#[tokio::test]
async fn dimension_must_not_change() {
    let other = json!({"data": [{"embedding": [1.0, 2.0, 3.0]}]});
    let server = played([Reply::Vectors, Reply::Document(other)]).await;
    let service = server.service();
    assert!(embed(&service, EmbeddingInput::Passage, [1]).await.is_ok());
    let error = embed(&service, EmbeddingInput::Passage, [1]).await.unwrap_err().to_string();
    assert!(error.contains("3 numbers in a vector where there were 2"), "{error}");
}

#[tokio::test]
async fn blocking_thread_gets_vectors_and_dimension() {
    let server = played([]).await;
    let endpoint = endpoint(ProfileKind::Other, &server.url);
    let runtime = tokio::runtime::Handle::current();
    let work = move || {
        let embeddings = Embeddings::connect(endpoint, runtime).unwrap();
        assert_eq!(embeddings.dimension(), 2);
        assert!(embeddings.id().starts_with("scripted-") && embeddings.knows("Ελληνικά"));
        embeddings.embed(EmbeddingInput::Passage, &["ab", "", " abc "])
    };
    let vectors = tokio::task::spawn_blocking(work).await.unwrap();
    assert_eq!(vectors, Ok(expected([2, 1, 3])));
    let inputs: Vec<_> = server.requests().iter().map(|request| request["input"].clone()).collect();
    assert_eq!(inputs, [json!(["dimension"]), json!(["ab", ".", "abc"])]);
}

#[tokio::test]
async fn errors_state_remedy_without_key() {
    let words = "Incorrect API key provided: sk-canary-7f3a9c51.";
    for (reply, waits) in [
        (Reply::Status(401, words, None), false),
        (Reply::Status(400, words, None), false),
        (Reply::Status(429, words, Some("600")), true),
        (Reply::Status(501, words, None), true),
    ] {
        let server = played([reply.clone(), reply]).await;
        let (endpoint, runtime) = (endpoint(ProfileKind::Other, &server.url), tokio::runtime::Handle::current());
        let connect = move || Embeddings::connect(endpoint, runtime).err().unwrap();
        let error = tokio::task::spawn_blocking(connect).await.unwrap();
        assert_eq!(matches!(error, EmbedError::Unavailable(_)), waits, "{error}");
        assert!(!format!("{error} {error:?}").contains(CANARY), "{error}");
    }
}

#[test]
fn runtime_shutdown_releases_the_waiting_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(played([Reply::Silence]));
    let (endpoint, handle) = (endpoint(ProfileKind::Other, &server.url), runtime.handle().clone());
    let waiting = std::thread::spawn(move || Embeddings::connect(endpoint, handle).err());
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    runtime.shutdown_background();
    assert!(matches!(waiting.join().unwrap(), Some(EmbedError::Unavailable(_))));
}
