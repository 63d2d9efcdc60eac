//! Tests with streams as providers send them: whole, in pieces of any size, and truncated at every byte.

use bytes::Bytes;
use tokio::sync::mpsc;

use super::assemble::Assembler;
use super::client::Shared;
use super::turn::receive;
use super::*;
use crate::domain::{Cost, Currency, Usage};

const DEEPSEEK: &str = include_str!("../../../tests/fixtures/provider/deepseek.sse");
const OPENAI: &str = include_str!("../../../tests/fixtures/provider/openai.sse");
const OLLAMA: &str = include_str!("../../../tests/fixtures/provider/ollama.sse");
const OPENROUTER: &str = include_str!("../../../tests/fixtures/provider/openrouter.sse");
const ANTHROPIC: &str = include_str!("../../../tests/fixtures/provider/anthropic.sse");
const RESPONSES: &str = include_str!("../../../tests/fixtures/provider/responses.sse");

/// The streams, each with the API that sends it.
const STREAMS: [(Api, &str); 6] = [
    (Api::Chat, DEEPSEEK),
    (Api::Chat, OPENAI),
    (Api::Chat, OLLAMA),
    (Api::Chat, OPENROUTER),
    (Api::Messages, ANTHROPIC),
    (Api::Responses, RESPONSES),
];

/// Runs `receive` on the pieces of one response, without a server. The response ends after the last piece.
async fn receive_pieces(shared: &Shared, pieces: Vec<Bytes>) -> (Vec<StreamChunk>, Option<ProviderError>) {
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces.into_iter().map(std::io::Result::Ok)));
    let response = reqwest::Response::from(axum::http::Response::new(body));
    let mut assembler = Assembler::new(shared.error_context.clone(), &shared.endpoint.profile);
    let (out, mut chunks) = mpsc::channel(1_000);
    let error = receive(shared, response, &mut assembler, &out).await.err();
    drop(out);
    let mut all = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        all.push(chunk);
    }
    all.extend(assembler.take());
    (all, error)
}

fn client(kind: ProfileKind) -> Client {
    Client::new(endpoint(kind, &Url::parse("http://127.0.0.1:9/v1").unwrap())).unwrap()
}

fn client_of(api: Api) -> Client {
    let mut endpoint = endpoint(ProfileKind::Ollama, &Url::parse("http://127.0.0.1:9/v1").unwrap());
    endpoint.profile = Profile::of_api(ProfileKind::Ollama, api, "scripted");
    Client::new(endpoint).unwrap()
}

async fn whole(kind: ProfileKind, stream: &str) -> Vec<StreamChunk> {
    whole_with(&client(kind), stream).await
}

async fn whole_with(client: &Client, stream: &str) -> Vec<StreamChunk> {
    let (chunks, error) = receive_pieces(client.shared(), vec![Bytes::from(stream.to_owned())]).await;
    assert_eq!(error, None);
    gist(chunks)
}

#[tokio::test]
async fn deepseek_thinking_and_parallel_calls_are_read() {
    assert_eq!(
        whole(ProfileKind::DeepSeek, DEEPSEEK).await,
        [
            StreamChunk::Thinking("The user wants 两个文件 → both.".into()),
            text("我来看看 📄"),
            start_of(0, "call_00_yS2pYQ5yJ3rC1aXz", "read_file"),
            arguments(0, "{\"path\": \"笔记.md\"}"),
            start_of(1, "call_01_Tq8bWm0nKd7vLr2s", "read_file"),
            arguments(1, "{\"path\": \"b.md\"}"),
            StreamChunk::Usage(Usage {
                input_tokens: 412,
                output_tokens: 91,
                cached_tokens: 384,
                thinking_tokens: 17,
                ..Usage::default()
            }),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn openai_usage_after_end_is_read() {
    assert_eq!(
        whole(ProfileKind::OpenAi, OPENAI).await,
        [
            text("Looking it up…"),
            start_of(0, "call_nZ1Hc8EoXw", "search"),
            arguments(0, "{\"q\":\"café\"}"),
            usage(1187, 21, 1024),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn ollama_complete_call_is_read() {
    assert_eq!(
        whole(ProfileKind::Ollama, OLLAMA).await,
        [
            StreamChunk::Thinking("Need the time.".into()),
            start_of(0, "call_9n4qk2vd", "clock"),
            arguments(0, "{\"zone\":\"Asia/東京\"}"),
            usage(156, 48, 0),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn openrouter_thinking_names_and_comments_are_read() {
    assert_eq!(
        whole(ProfileKind::OpenRouter, OPENROUTER).await,
        [
            StreamChunk::Thinking("Short thought".into()),
            text("Voilà — done."),
            StreamChunk::Usage(Usage {
                input_tokens: 33,
                output_tokens: 12,
                thinking_tokens: 4,
                cost: Cost::of(0.00004, Currency::USD),
                priced_tokens: 45,
                ..Usage::default()
            }),
            StreamChunk::Finish(Finish::Stop)
        ]
    );
}

fn thought(text_before: usize, item: Value) -> StreamChunk {
    StreamChunk::Reasoning(ReasoningItem { text_before, calls_before: 0, item })
}

#[tokio::test]
async fn anthropic_blocks_and_signatures_are_read() {
    let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds==";
    let redacted = "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP";
    let thinking = "天气 first: two places.";
    assert_eq!(
        whole_with(&client_of(Api::Messages), ANTHROPIC).await,
        [
            StreamChunk::Thinking(thinking.into()),
            thought(0, json!({"type": "thinking", "thinking": thinking, "signature": signature})),
            thought(0, json!({"type": "redacted_thinking", "data": redacted})),
            text("Let me check 🌦"),
            start_of(0, "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather"),
            arguments(0, "{\"location\": \"北京\"}"),
            start_of(1, "toolu_01A09q90qw90lq917835lq9", "get_time"),
            StreamChunk::Usage(Usage {
                input_tokens: 28 + 512 + 2048,
                output_tokens: 89,
                cached_tokens: 2048,
                thinking_tokens: 21,
                ..Usage::default()
            }),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn responses_items_and_encrypted_reasoning_are_read() {
    let items = whole_with(&client_of(Api::Responses), RESPONSES).await;
    let Some(StreamChunk::Reasoning(reasoning)) = items.get(1) else { panic!("{items:?}") };
    assert_eq!(reasoning.item["encrypted_content"], "gAAAAABo_w9sY2ZkX3JlYXNvbmluZw==");
    assert_eq!(
        items,
        [
            StreamChunk::Thinking("**Plan**\n\nTwo calls.".into()),
            StreamChunk::Reasoning(reasoning.clone()),
            text("Checking … 🌦"),
            start_of(0, "call_unLAR8MvFNptuiZK6K6HCy5k", "get_weather"),
            arguments(0, "{\"location\":\"北京\"}"),
            StreamChunk::Usage(Usage {
                input_tokens: 291,
                output_tokens: 123,
                cached_tokens: 256,
                thinking_tokens: 64,
                ..Usage::default()
            }),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn answer_that_was_not_streamed_is_read() {
    let message = json!({"type": "message", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}}], "stop_reason": "tool_use"});
    let call = [start_of(0, "a", "t"), arguments(0, "{\"x\":1}"), StreamChunk::Finish(Finish::ToolCalls)];
    let said = whole_with(&client_of(Api::Messages), &message.to_string()).await;
    let sealed = thought(0, json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
    assert_eq!(said, [&[StreamChunk::Thinking("hm".into()), sealed, text("Yes.")][..], &call].concat());
    let response = json!({"object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]},
        {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{\"x\":1}"}]});
    let said = whole_with(&client_of(Api::Responses), &response.to_string()).await;
    assert_eq!(said, [&[text("Yes.")][..], &call].concat());
}

#[tokio::test]
async fn profile_extracts_thinking_from_content() {
    let chunk = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    let stream = ["<th", "ink>\nhm", "</thi", "nk>", "\n\n", "yes"].map(chunk).concat() + "data: [DONE]\n\n";
    assert_eq!(
        whole(ProfileKind::Vllm, &stream).await,
        [StreamChunk::Thinking("\nhm".into()), text("yes"), StreamChunk::Finish(Finish::Stop)]
    );
    assert_eq!(
        whole(ProfileKind::OpenAi, &stream).await,
        [text("<think>\nhm</think>\n\nyes"), StreamChunk::Finish(Finish::Stop)]
    );
}

#[tokio::test]
async fn answer_is_independent_of_chunk_size() {
    for (api, stream) in STREAMS {
        let client = client_of(api);
        let expected = whole_with(&client, stream).await;
        for spelling in
            [stream.to_owned(), stream.replace('\n', "\r\n"), stream.replace('\n', "\r"), format!("\u{feff}{stream}")]
        {
            for size in (1..40).chain([1_000]) {
                let pieces = spelling.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
                let (chunks, error) = receive_pieces(client.shared(), pieces).await;
                assert_eq!((gist(chunks), error), (expected.clone(), None), "{size}");
            }
        }
    }
}

/// Whether `part` is a prefix of `whole`; its last text or arguments may be truncated anywhere.
fn is_beginning(part: &[StreamChunk], whole: &[StreamChunk]) -> bool {
    let Some((last, before)) = part.split_last() else { return true };
    let cut = match (last, whole.get(before.len())) {
        (StreamChunk::Text(a), Some(StreamChunk::Text(b)))
        | (StreamChunk::Thinking(a), Some(StreamChunk::Thinking(b))) => b.starts_with(a),
        (
            StreamChunk::ToolCallArguments { index: i, delta: a },
            Some(StreamChunk::ToolCallArguments { index: j, delta: b }),
        ) => i == j && b.starts_with(a),
        (a, Some(b)) => a == b,
        (_, None) => false,
    };
    cut && whole.starts_with(before)
}

#[tokio::test]
async fn truncated_stream_keeps_text_and_is_interrupted() {
    for (api, stream) in STREAMS {
        let client = client_of(api);
        let expected = whole_with(&client, stream).await;
        let mut complete = 0;
        for cut in 0..stream.len() {
            let piece = Bytes::copy_from_slice(&stream.as_bytes()[..cut]);
            let (chunks, error) = receive_pieces(client.shared(), vec![piece]).await;
            let chunks = gist(chunks);
            match error {
                Some(error) => {
                    assert_eq!(error.code(), "interrupted", "{cut}");
                    assert!(is_beginning(&chunks, &expected), "{cut}: {chunks:?}");
                    assert_eq!(complete, 0, "{cut}: once the end was said, a cut loses nothing");
                }
                None => {
                    complete += 1;
                    let content = expected.len() - 2;
                    assert_eq!(chunks[..content], expected[..content], "{cut}");
                    assert_eq!(chunks.last(), expected.last());
                }
            }
        }
        assert!(complete > 0);
    }
}

#[tokio::test]
async fn truncated_http_response_is_interrupted() {
    let events: Vec<&str> = DEEPSEEK.split_inclusive("\n\n").collect();
    for events in [&events[..4], &events[..6], &events[..8]] {
        let steps = json!([{"bytes": events.concat()}, {"bytes": "data: {\"choices\":[{\"del"}, {"close": true}]);
        let (_server, client) = scripted_as(ProfileKind::DeepSeek, [steps]).await;
        let (chunks, error) = run(&client).await;
        assert_eq!(error.map(|error| error.code()), Some("interrupted"));
        assert!(!chunks.is_empty());
    }
}
