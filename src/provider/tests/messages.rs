//! Tests of Anthropic's Messages API against the scripted provider, over real HTTP.

use std::sync::Arc;

use super::*;
use crate::domain::picture::Media;
use crate::domain::{Effect, Reasoning, ToolSpec};
use crate::provider::scripted::broken_by_messages;

fn anthropic(base_url: &Url, model: &str, thinking: Thinking) -> Client {
    let profile = Profile { thinking, ..Profile::of_api(ProfileKind::Other, Api::Messages, model) };
    let endpoint =
        Endpoint { profile, model: model.into(), context_window: 200_000, ..endpoint(ProfileKind::Other, base_url) };
    Client::new(endpoint).unwrap()
}

async fn played<const N: usize>(replies: [Value; N]) -> (MockProvider, Client) {
    let server = start(Script::of_steps(replies).unwrap()).await.unwrap();
    let client = anthropic(&server.base_url, "claude-sonnet-4-5", Thinking::Auto);
    (server, client)
}

fn nowhere(model: &str, thinking: Thinking) -> Client {
    anthropic(&Url::parse("http://127.0.0.1:9").unwrap(), model, thinking)
}

fn called(content: &str, reasoning: Option<Reasoning>, ids: &[&str]) -> ChatMessage {
    let call = |id: &&str| CallRequest { id: (*id).into(), name: "read".into(), arguments: "{\"path\":\"a\"}".into() };
    let calls = ids.iter().map(call).collect();
    ChatMessage::Assistant { content: content.into(), thinking: None, reasoning: reasoning.map(Arc::new), calls }
}

fn result(call_id: &str) -> ChatMessage {
    ChatMessage::Tool { call_id: call_id.into(), content: "found".into() }
}

fn tools() -> Arc<[ToolSpec]> {
    let (name, description, parameters) = ("read".to_owned(), "Reads.".to_owned(), json!({"type": "object"}));
    Arc::from([ToolSpec { name, description, parameters, effect: Effect::Read }])
}

fn signed(client: &Client, signature: &str) -> Reasoning {
    let item = json!({"type": "thinking", "thinking": "hm", "signature": signature});
    let items = vec![ReasoningItem { text_before: 0, calls_before: 0, item }];
    Reasoning { dialogue: 0, origin: client.endpoint().origin(), items }
}

#[tokio::test]
async fn answer_of_the_messages_api_streams() {
    let (server, client) = played([json!([
        {"usage": {"prompt_tokens": 30, "completion_tokens": 4, "cached_tokens": 20, "written_tokens": 5}},
        {"thinking": "H"}, {"thinking": "m."}, {"signature": "c2ln"}, {"redacted": "ZGF0YQ"},
        {"text": "Hel"}, {"text": "lo"},
        {"tool_call": {"id": "toolu_1", "name": "read", "arguments": {"path": "a.md"}}}, {"finish": "tool_calls"}
    ])])
    .await;
    let (chunks, error) = run(&client).await;
    assert_eq!(error, None);
    let sealed = |item| StreamChunk::Reasoning(ReasoningItem { text_before: 0, calls_before: 0, item });
    assert_eq!(
        gist(chunks),
        [
            StreamChunk::Thinking("Hm.".into()),
            sealed(json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})),
            sealed(json!({"type": "redacted_thinking", "data": "ZGF0YQ"})),
            text("Hello"),
            start_of(0, "toolu_1", "read"),
            arguments(0, "{\"path\":\"a.md\"}"),
            usage(30, 4, 20),
            StreamChunk::Finish(Finish::ToolCalls),
        ]
    );
    assert_eq!(server.requests(), [client.body(&ask("hi"))], "body() is what was sent");
}

#[test]
fn conversation_is_written_as_the_messages_api_wants_it() {
    let client = nowhere("claude-sonnet-4-5", Thinking::On);
    let seen = Picture { media_type: Media::Gif, hash: "h".into(), bytes: 3, width: 1, height: 1 };
    let picture =
        RequestPicture { label: "[picture 1]".into(), picture: seen, url: "data:image/gif;base64,R0lG".into() };
    let request = ModelRequest {
        messages: vec![
            ChatMessage::System("Be kind.".into()),
            called("Earlier.", None, &[]),
            ChatMessage::User("Read.".into()),
            called("", Some(signed(&client, "s1")), &["functions.read:0", "b"]),
            result("functions.read:0"),
            result("b"),
            ChatMessage::Pictured {
                sender: PictureSender::Tools,
                content: "[picture 1]".into(),
                pictures: vec![picture],
            },
            called("Done.", None, &[]),
            ChatMessage::User("Again.".into()),
            called("Well:", Some(signed(&client, "s2")), &["c"]),
            result("c"),
        ],
        tools: tools(),
        temperature: Some(0.5),
        max_tokens: Some(8_000),
        form: Default::default(),
    };
    let cache = || json!({"type": "ephemeral"});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "found"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}});
    let thought = |signature: &str| json!({"type": "thinking", "thinking": "hm", "signature": signature});
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "cache_control": cache()}],
        "system": [{"type": "text", "text": "Be kind.", "cache_control": cache()}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What happened before?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Earlier."}]},
            {"role": "user", "content": [{"type": "text", "text": "Read."}]},
            {"role": "assistant", "content": [thought("s1"), call("functions_read_0"), call("b")]},
            {"role": "user", "content": [
                result("functions_read_0"), result("b"), {"type": "text", "text": "[picture 1]"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lG"},
                    "cache_control": cache()}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            {"role": "user", "content": [{"type": "text", "text": "Again."}]},
            {"role": "assistant", "content": [thought("s2"), {"type": "text", "text": "Well:"}, call("c")]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "found", "cache_control": cache()}]},
        ],
        "stream": true,
        "max_tokens": 8_000,
        "thinking": {"type": "enabled", "budget_tokens": 4_000},
    });
    let body = client.body(&request);
    assert_eq!(body, expected);
    assert_eq!(broken_by_messages(&body), None);
}

#[test]
fn thoughts_go_back_only_to_the_model_that_had_them() {
    let ours = nowhere("claude-sonnet-4-5", Thinking::Auto);
    let request = |reasoning| ModelRequest {
        messages: vec![ChatMessage::User("hi".into()), called("", Some(reasoning), &["c"]), result("c")],
        ..Default::default()
    };
    let sent = |client: &Client| client.body(&request(signed(&ours, "s"))).to_string().contains("signature");
    assert!(sent(&ours));
    assert!(!sent(&nowhere("claude-opus-5", Thinking::Auto)), "another model");
    let elsewhere = Url::parse("http://127.0.0.2:9").unwrap();
    assert!(!sent(&anthropic(&elsewhere, "claude-sonnet-4-5", Thinking::Auto)), "another provider");
    assert!(!sent(&nowhere("claude-sonnet-4-5", Thinking::Off)), "it does not think any more");
    // A thought after a text stays there, wherever the text ends.
    let mut late = signed(&ours, "s");
    late.items[0].text_before = 99;
    let request = ModelRequest {
        messages: vec![ChatMessage::User("hi".into()), called("é", Some(late), &["c"]), result("c")],
        ..Default::default()
    };
    let blocks = ours.body(&request)["messages"][1]["content"].clone();
    let kinds: Vec<_> = blocks.as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
    assert_eq!(kinds, ["text", "thinking", "tool_use"]);
}

#[test]
fn thinking_and_limit_fit_the_model() {
    let body = |model: &str, thinking, max_tokens| {
        let request = ModelRequest { max_tokens, temperature: Some(0.5), ..ask("hi") };
        let body = nowhere(model, thinking).body(&request);
        (body["thinking"].clone(), body["max_tokens"].clone(), body["temperature"].clone())
    };
    use Thinking::{Auto, Off, On};
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let none = Value::Null;
    assert_eq!(body("claude-sonnet-4-5", On, None), (budget(16_000), json!(32_000), none.clone()));
    assert_eq!(body("claude-sonnet-4-5", On, Some(1_500)), (budget(1_024), json!(1_500), none.clone()));
    assert_eq!(body("claude-sonnet-4-5", On, Some(1_024)), (none.clone(), json!(1_024), json!(0.5)));
    assert_eq!(body("claude-sonnet-4-5", Off, Some(5)), (none.clone(), json!(5), json!(0.5)));
    assert_eq!(body("claude-3-5-haiku-latest", On, None), (none.clone(), json!(8_192), json!(0.5)));
    assert_eq!(body("claude-opus-4-6", On, None), (adaptive.clone(), json!(32_000), none.clone()));
    assert_eq!(body("claude-opus-5", Auto, None), (none.clone(), json!(32_000), none.clone()));
    assert_eq!(body("claude-opus-5", Off, None), (json!({"type": "disabled"}), json!(32_000), none.clone()));
    // A long prompt leaves less for the answer.
    let long = ask(&"word ".repeat(110_000));
    let most = nowhere("claude-sonnet-4-5", Auto).body(&long)["max_tokens"].as_u64().unwrap();
    assert_eq!(most, 200_000 - 550_000 / 3);
    // With a budget, a work that another model began is continued without thinking.
    let begun = ModelRequest {
        messages: vec![ChatMessage::User("hi".into()), called("", None, &["c"]), result("c")],
        ..Default::default()
    };
    assert_eq!(nowhere("claude-sonnet-4-5", On).body(&begun)["thinking"], none);
    assert_eq!(nowhere("claude-opus-4-6", On).body(&begun)["thinking"], adaptive);
}

#[tokio::test(start_paused = true)]
async fn errors_of_anthropic_are_classified() {
    let error = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    for (status, kind, message, code) in [
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (403, "permission_error", "Your API key does not have permission to use the specified resource.", "auth"),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "quota"),
        (402, "billing_error", "There's an issue with your billing.", "quota"),
        (404, "not_found_error", "model: claude-nope", "model_not_found"),
        (413, "request_too_large", "Request exceeds the maximum size", "context_overflow"),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199759 + 20000 > 200000",
            "context_overflow",
        ),
        (400, "invalid_request_error", "messages: text content blocks must be non-empty", "refused"),
        (429, "rate_limit_error", "This request would exceed your rate limit", "rate_limited"),
        (500, "api_error", "Internal server error", "server"),
        (529, "overloaded_error", "Overloaded", "server"),
    ] {
        let body = error(kind, message).to_string();
        let steps = json!([{"status": status}, {"headers": {"retry-after": "3600"}}, {"bytes": body}]);
        let (_server, client) = played([steps]).await;
        let (_, told) = run(&client).await;
        assert_eq!(told.as_ref().map(|told| told.code()), Some(code), "{status} {message}: {told:?}");
        // The same inside a stream that has begun.
        let event = format!("event: error\ndata: {body}\n\n");
        let (_server, client) = played([json!([{"text": "a"}, {"bytes": event}])]).await;
        let (_, told) = run(&client).await;
        assert_eq!(told.as_ref().map(|told| told.code()), Some(code), "{kind} in a stream: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn overloaded_provider_is_asked_again() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string();
    let (_server, client) = played([
        json!([{"status": 529}, {"bytes": overloaded}]),
        json!([{"status": 429}, {"headers": {"retry-after": "7"}}, {"bytes": "{}"}]),
        json!([{"bytes": format!("event: error\ndata: {overloaded}\n\n")}]),
        json!([{"text": "Hi."}, {"finish": "stop"}]),
    ])
    .await;
    let (chunks, error) = run(&client).await;
    assert_eq!(error, None);
    assert_eq!(waits(&chunks).len(), 3, "{chunks:?}");
    assert_eq!(waits(&chunks)[1], (StatusKind::Waiting, 7.0));
}

#[tokio::test]
async fn stop_reasons_of_anthropic_are_mapped() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refusal),
        ("pause_turn", Finish::Stop),
    ] {
        let (_server, client) = played([json!([{"text": "a"}, {"finish": reason}])]).await;
        let (chunks, error) = run(&client).await;
        assert_eq!((chunks.last(), error), (Some(&StreamChunk::Finish(finish)), None), "{reason}");
    }
}

#[tokio::test]
async fn interrupted_thought_is_shown_and_not_kept() {
    let (_server, client) = played([json!([{"thinking": "Hm"}, {"close": true}])]).await;
    let (chunks, error) = run(&client).await;
    assert_eq!(error.map(|error| error.code()), Some("interrupted"));
    assert_eq!(gist(chunks), [StreamChunk::Thinking("Hm".into())]);
}

#[tokio::test]
async fn models_are_listed_with_the_key_of_anthropic() {
    use axum::http::{HeaderMap, StatusCode, Uri};
    let handler = |uri: Uri, headers: HeaderMap| async move {
        let good = headers["x-api-key"] == CANARY && headers.contains_key("anthropic-version");
        assert!(good && !headers.contains_key("authorization") && uri == "/v1/models?limit=1000", "{uri}");
        (StatusCode::OK, json!({"data": [{"type": "model", "id": "claude-x"}], "has_more": false}).to_string())
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(handler)).await });
    let endpoint = nowhere("", Thinking::Auto).endpoint().clone();
    assert_eq!(list_models(Endpoint { base_url: url, ..endpoint }).await.unwrap(), ["claude-x"]);
}
