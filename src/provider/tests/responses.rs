//! Tests of OpenAI's Responses API against the scripted provider, over real HTTP.

use std::sync::Arc;

use super::*;
use crate::domain::{Effect, Reasoning, ToolSpec};
use crate::provider::scripted::broken_by_responses;

fn openai(base_url: &Url, model: &str, thinking: Thinking) -> Client {
    let profile = Profile { thinking, ..Profile::of_api(ProfileKind::Other, Api::Responses, model) };
    Client::new(Endpoint { profile, model: model.into(), ..endpoint(ProfileKind::Other, base_url) }).unwrap()
}

async fn played<const N: usize>(replies: [Value; N]) -> (MockProvider, Client) {
    let server = start(Script::of_steps(replies).unwrap()).await.unwrap();
    let client = openai(&server.base_url, "gpt-5.4", Thinking::On);
    (server, client)
}

#[tokio::test]
async fn answer_of_the_responses_api_streams() {
    let (server, client) = played([json!([
        {"usage": {"prompt_tokens": 30, "completion_tokens": 9, "cached_tokens": 20, "reasoning_tokens": 5}},
        {"thinking": "H"}, {"thinking": "m."}, {"signature": "ZW5j"}, {"text": "Hel"}, {"text": "lo"},
        {"tool_call": {"id": "call_1", "name": "read", "arguments": {"path": "a.md"}}}, {"finish": "tool_calls"}
    ])])
    .await;
    let (chunks, error) = run(&client).await;
    assert_eq!(error, None);
    let item = json!({"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "ZW5j"});
    let told = Usage { input_tokens: 30, output_tokens: 9, cached_tokens: 20, thinking_tokens: 5, ..Usage::default() };
    assert_eq!(
        gist(chunks),
        [
            StreamChunk::Thinking("Hm.".into()),
            StreamChunk::Reasoning(ReasoningItem { text_before: 0, calls_before: 0, item }),
            text("Hello"),
            start_of(0, "call_1", "read"),
            arguments(0, "{\"path\":\"a.md\"}"),
            StreamChunk::Usage(told),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
    assert_eq!(server.requests(), [client.body(&ask("hi"))], "body() is what was sent");
}

#[test]
fn conversation_is_written_as_the_responses_api_wants_it() {
    let client = openai(&Url::parse("http://127.0.0.1:9/v1").unwrap(), "gpt-5.4", Thinking::On);
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"});
    let items = vec![ReasoningItem { text_before: 0, calls_before: 0, item: thought.clone() }];
    let reasoning = Reasoning { dialogue: 0, origin: client.endpoint().origin(), items };
    let call = |id: &str| CallRequest { id: id.into(), name: "read".into(), arguments: "{\"a\": 1}".into() };
    let request = ModelRequest {
        messages: vec![
            ChatMessage::System("Be kind.".into()),
            ChatMessage::User("Read.".into()),
            ChatMessage::Assistant {
                content: "Well:".into(),
                thinking: Some("hm".into()),
                reasoning: Some(Arc::new(reasoning)),
                calls: vec![call("functions.read:0"), CallRequest { arguments: "{".into(), ..call("b") }],
            },
            ChatMessage::Tool { call_id: "functions.read:0".into(), content: "A".into() },
            ChatMessage::Tool { call_id: "b".into(), content: "".into() },
        ],
        tools: Arc::from([ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
            effect: Effect::Read,
        }]),
        temperature: Some(0.5),
        max_tokens: Some(8_000),
        form: Default::default(),
    };
    let body = client.body(&request);
    assert_eq!(
        body,
        json!({
            "model": "gpt-5.4",
            "instructions": "Be kind.",
            "input": [
                {"role": "user", "content": "Read."},
                thought,
                {"role": "assistant", "content": "Well:"},
                {"type": "function_call", "call_id": "functions_read_0", "name": "read", "arguments": "{\"a\": 1}"},
                {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{\"invalid_arguments\":\"{\"}"},
                {"type": "function_call_output", "call_id": "functions_read_0", "output": "A"},
                {"type": "function_call_output", "call_id": "b", "output": ""},
            ],
            "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"},
                "strict": false}],
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 8_000,
            "reasoning": {"effort": "medium", "summary": "auto"},
        })
    );
    assert_eq!(broken_by_responses(&body), None);
    let plain = openai(&Url::parse("http://127.0.0.1:9/v1").unwrap(), "gpt-4.1", Thinking::Auto).body(&request);
    assert_eq!((plain.get("include"), plain.get("reasoning"), &plain["temperature"]), (None, None, &json!(0.5)));
    assert!(!plain.to_string().contains("encrypted_content"), "another model's thoughts");
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_responses_api_are_classified() {
    let failed = |code: &str, message: &str| {
        let response = json!({"status": "failed", "error": {"code": code, "message": message}});
        json!({"type": "response.failed", "response": response}).to_string()
    };
    let error = |code: &str, message: &str| {
        json!({"type": "error", "code": code, "message": message, "param": null}).to_string()
    };
    for (event, code) in [
        (failed("server_error", "The server had an error."), "server"),
        (failed("rate_limit_exceeded", "Rate limit reached."), "rate_limited"),
        (failed("context_length_exceeded", "Your input exceeds the context window of this model."), "context_overflow"),
        (error("rate_limit_exceeded", "Slow down."), "rate_limited"),
        (error("invalid_api_key", "Incorrect API key provided."), "auth"),
        (error("insufficient_quota", "You exceeded your current quota."), "quota"),
    ] {
        for is_named in [true, false] {
            let kind = if event.contains("response.failed") { "response.failed" } else { "error" };
            let name = if is_named { format!("event: {kind}\n") } else { String::new() };
            let bytes = format!("{name}data: {event}\n\n");
            let (_server, client) = played([json!([{"text": "a"}, {"bytes": bytes}])]).await;
            let (_, told) = run(&client).await;
            assert_eq!(told.as_ref().map(|told| told.code()), Some(code), "{event}: {told:?}");
        }
    }
}

#[tokio::test]
async fn incomplete_response_says_why() {
    for (reason, finish) in [("length", Finish::Length), ("content_filter", Finish::Refusal), ("stop", Finish::Stop)] {
        let (_server, client) = played([json!([{"text": "a"}, {"finish": reason}])]).await;
        let (chunks, error) = run(&client).await;
        assert_eq!((chunks.last(), error), (Some(&StreamChunk::Finish(finish)), None), "{reason}");
    }
}
