//! Tests of answers that are complete, but empty, endless or in an unexpected form.

use super::*;

#[tokio::test(start_paused = true)]
async fn empty_answer_is_retried_once() {
    let empty = || json!([{"finish": "stop"}]);
    let blank = || json!([{"text": " \n"}, {"text": "\n"}, {"finish": "stop"}]);
    let (server, client) = scripted([empty(), ok("yes")]).await;
    assert_eq!((timed(&client).await.1, server.requests().len()), (None, 2));

    let (server, client) = scripted([blank(), empty(), ok("never")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((gist(chunks), code(error), server.requests().len()), (vec![], Some("empty"), 2));

    // The thought was shown, so the request is not retried.
    let (server, client) = scripted([json!([{"thinking": "hm"}, {"finish": "stop"}]), ok("never")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((chunks.len(), code(error), server.requests().len()), (1, Some("empty"), 1));

    // The output limit explains the empty answer.
    let (_server, client) = scripted([json!([{"thinking": "hm"}, {"finish": "length"}])]).await;
    assert_eq!(timed(&client).await.1, None);
}

#[tokio::test(start_paused = true)]
async fn leading_whitespace_is_kept_with_first_word() {
    let (_server, client) =
        scripted([json!([{"text": "\n"}, {"text": "  a"}, {"text": " b"}, {"finish": "stop"}])]).await;
    assert_eq!(timed(&client).await.0[..2], [text("\n  a"), text(" b")]);
}

#[tokio::test(start_paused = true)]
async fn endless_answer_is_stopped() {
    let (_server, client) = scripted([json!([
        {"tokens": {"count": 3000, "text": "0123456789".repeat(1000)}}, {"finish": "stop"}
    ])])
    .await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!(code(error), Some("bad_stream"));
    assert!((1_500..1_700).contains(&chunks.len()), "{}", chunks.len());
}

#[tokio::test(start_paused = true)]
async fn non_streaming_response_is_accepted() {
    let whole = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Let me see.", "reasoning_content": "hm",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
    });
    let json_type = json!({"headers": {"content-type": "application/json"}});
    let (_server, client) = scripted([json!([json_type, {"bytes": format!("\n{whole:#}\n")}])]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!(error, None);
    assert_eq!(
        chunks,
        [
            StreamChunk::Thinking("hm".into()),
            text("Let me see."),
            start_of(0, "c", "f"),
            arguments(0, "{}"),
            usage(5, 6, 0),
            StreamChunk::Finish(Finish::ToolCalls)
        ]
    );
    let (_server, client) =
        scripted([json!([json_type, {"bytes": "{\"error\":{\"message\":\"no\",\"code\":401}}"}])]).await;
    assert_eq!(code(timed(&client).await.1), Some("auth"));
}

#[tokio::test(start_paused = true)]
async fn html_page_is_an_error() {
    let page = json!([{"headers": {"content-type": "text/html"}}, {"bytes": "<!doctype html><title>Hi</title>"}]);
    let (_server, client) = scripted([page]).await;
    let (_, error, _) = timed(&client).await;
    assert!(
        matches!(error, Some(ProviderError::Unreachable { trouble: ConnectionFailure::NotAnApi, .. })),
        "{error:?}"
    );
}
