//! Tests of streams that break, end in unusual ways, or violate the protocol.

use super::*;

#[tokio::test(start_paused = true)]
async fn broken_stream_is_retried_only_before_first_output() {
    for end in [json!({"close": true}), json!({"sleep_ms": 0})] {
        let (server, client) = scripted([json!([{"text": "Hel"}, end]), ok("never")]).await;
        let (chunks, error, _) = timed(&client).await;
        assert_eq!((chunks, code(error), server.requests().len()), (vec![text("Hel")], Some("interrupted"), 1));

        let call = json!({"tool_call": {"name": "f", "arguments": "{\"a\":"}});
        let (server, client) = scripted([json!([call, end]), ok("never")]).await;
        let (chunks, error, _) = timed(&client).await;
        assert_eq!((chunks.len(), code(error), server.requests().len()), (2, Some("interrupted"), 1));

        let nothing =
            || json!([{"bytes": ": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"}, end]);
        let (server, client) = scripted([nothing(), ok("yes")]).await;
        let (chunks, error, _) = timed(&client).await;
        assert_eq!((error, server.requests().len()), (None, 2));
        assert_eq!(gist(chunks)[0], text("yes"));

        let (server, client) = scripted([nothing(), nothing(), nothing(), nothing(), ok("never")]).await;
        let (_, error, _) = timed(&client).await;
        assert_eq!((code(error), server.requests().len()), (Some("interrupted"), 4));
    }
}

#[tokio::test(start_paused = true)]
async fn end_is_recognised_in_both_forms() {
    let chunk = |delta: Value, finish: Value| {
        format!("data: {}\n\n", json!({"choices": [{"delta": delta, "finish_reason": finish}]}))
    };
    let hello = || chunk(json!({"content": "hello"}), Value::Null);
    let call = |arguments: &str| {
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}]}),
            json!(null),
        )
    };
    let done = "data: [DONE]\n\n";
    for (stream, finish) in [
        // A finish reason and then nothing.
        (hello() + &chunk(json!({}), json!("stop")), Ok(Finish::Stop)),
        // Only [DONE], with and without its blank line.
        (hello() + done, Ok(Finish::Stop)),
        (hello() + done.trim_end(), Ok(Finish::Stop)),
        (call("{}") + done, Ok(Finish::ToolCalls)),
        // Calls take precedence over the finish reason.
        (call("{}") + &chunk(json!({}), json!("stop")) + done, Ok(Finish::ToolCalls)),
        (hello() + &call("{}") + &chunk(json!({}), json!("tool_calls")) + done, Ok(Finish::ToolCalls)),
        (call("{\"a\": \"b") + &chunk(json!({}), json!("length")) + done, Ok(Finish::Length)),
        (call("{\"a\": \"b") + done, Err("interrupted")),
        (hello() + &chunk(json!({}), json!("content_filter")) + done, Ok(Finish::Refusal)),
        (chunk(json!({}), json!("content_filter")) + done, Ok(Finish::Refusal)),
        (chunk(json!({"refusal": "I cannot."}), json!("stop")) + done, Ok(Finish::Refusal)),
        (hello() + &chunk(json!({}), json!("error")) + done, Err("server")),
        // An error after the finish reason is ignored.
        (hello() + &chunk(json!({}), json!("stop")) + "data: {\"error\":{\"message\":\"late\"}}\n\n", Ok(Finish::Stop)),
    ] {
        let (_server, client) = scripted([json!([{"bytes": stream}])]).await;
        let (chunks, error, _) = timed(&client).await;
        let ended = match (chunks.last(), error) {
            (Some(StreamChunk::Finish(finish)), None) => Ok(*finish),
            (_, error) => Err(code(error).unwrap()),
        };
        assert_eq!(ended, finish, "{stream}");
    }
}

#[tokio::test(start_paused = true)]
async fn open_connection_after_end_does_not_delay_turn() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (_server, client) = scripted([json!([{"bytes": stream}, {"sleep_ms": 100_000_000}])]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks, error), (vec![text("a"), StreamChunk::Finish(Finish::Stop)], None));
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn malformed_events_are_skipped_up_to_a_limit() {
    let bad = || json!({"bytes": "data: {\"choices\": oops\n\n"});
    let (_server, client) =
        scripted([json!([bad(), {"text": "a"}, bad(), {"text": "b"}, bad(), {"finish": "stop"}])]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((&gist(chunks)[0], error), (&text("ab"), None));

    let (server, client) = scripted([json!([bad(), bad(), bad(), bad(), {"text": "a"}, {"finish": "stop"}])]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((chunks.len(), code(error), server.requests().len()), (0, Some("bad_stream"), 1));
}

#[tokio::test(start_paused = true)]
async fn stream_error_is_handled_as_http_error() {
    let error = |error: Value| json!({"bytes": format!("data: {}\n\n", json!({"error": error}))});
    let (server, client) = scripted([json!([error(json!({"code": 429, "message": "slow"}))]), ok("yes")]).await;
    let (chunks, failed, _) = timed(&client).await;
    assert_eq!((failed, server.requests().len()), (None, 2));
    assert_eq!(waits(&chunks)[0].0, StatusKind::Waiting);

    let (server, client) = scripted([json!([{"text": "a"}, error(json!({"code": 502}))]), ok("never")]).await;
    let (chunks, failed, _) = timed(&client).await;
    assert_eq!((chunks, code(failed), server.requests().len()), (vec![text("a")], Some("server"), 1));

    let (_server, client) = scripted([json!([error(json!({"code": "invalid_api_key", "message": "no"}))])]).await;
    assert_eq!(code(timed(&client).await.1), Some("auth"));

    let named = json!({"bytes": "event: error\ndata: {\"message\":\"n_ctx exceeded\",\"type\":\"exceed_context_size_error\",\"n_ctx\":4096}\n\n"});
    let (_server, client) = scripted([json!([named])]).await;
    assert_eq!(timed(&client).await.1, Some(ProviderError::ContextOverflow { limit: Some(4096) }));
}
