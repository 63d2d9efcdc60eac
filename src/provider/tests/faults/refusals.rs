//! Tests of error responses: rate limits, server errors, and errors that only a person can fix.

use super::*;

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let (server, client) = scripted([limited("7"), limited("60"), ok("yes")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert_eq!(waits(&chunks), [(StatusKind::Waiting, 7.0), (StatusKind::Waiting, 60.0)]);
    assert!((67.0..68.0).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(gist(chunks)[0], text("yes"));
}

#[tokio::test(start_paused = true)]
async fn retry_after_accepts_date_and_ignores_nonsense() {
    let then = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&then).unwrap();
    let (_server, client) = scripted([limited(&date), limited("soon"), json!([{"status": 429}]), ok("yes")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!(error, None);
    let waits: Vec<f64> = waits(&chunks).into_iter().map(|(_, seconds)| seconds).collect();
    assert!((18.0..=20.0).contains(&waits[0]) && near(waits[1], 3.0) && near(waits[2], 9.0), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn day_long_retry_after_is_reported() {
    let (server, client) = scripted([limited("86400")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(chunks, []);
    assert_eq!(error.unwrap().to_string(), "Test: Rate limit reached (429). Try again in 24 hours.");
    assert!(took < Duration::from_secs(1));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn server_errors_are_retried_three_times() {
    let status = |status: u16| json!([{"status": status}]);
    let (_server, client) = scripted([status(500), status(502), status(529), ok("yes")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert!(waits(&chunks).iter().all(|(kind, _)| *kind == StatusKind::Retrying));
    assert!(near(took.as_secs_f64(), 13.0), "{took:?}");

    let (server, client) = scripted([status(503), status(503), status(503), status(503), ok("never")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((waits(&chunks).len(), code(error), server.requests().len()), (3, Some("server"), 4));
}

#[tokio::test(start_paused = true)]
async fn permanent_refusal_is_not_retried() {
    for (status, words, expected) in [
        (401, "bad key", "auth"),
        (402, "pay", "quota"),
        (403, "no", "auth"),
        (404, "model not found", "model_not_found"),
        (400, "maximum context length is 10", "context_overflow"),
        (422, "what?", "refused"),
        (501, "", "server"),
    ] {
        let body = json!({"error": {"message": words}}).to_string();
        let (server, client) = scripted([json!([{"status": status}, {"bytes": body}])]).await;
        let (chunks, error, took) = timed(&client).await;
        assert_eq!((chunks.len(), code(error), server.requests().len()), (0, Some(expected), 1), "{status}");
        assert!(took < Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_turn_cancels_wait() {
    let (server, client) = scripted([limited("30"), ok("yes")]).await;
    let mut turn = client.turn(&ask("hi"));
    assert!(matches!(turn.next().await, Some(Ok(StreamChunk::Status { status: StatusKind::Waiting, .. }))));
    assert!(tokio::time::timeout(Duration::from_secs(10), turn.next()).await.is_err());
    drop(turn);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn refused_field_is_omitted_afterwards() {
    let refuse = |words: &str| json!([{"status": 400}, {"bytes": json!({"error": {"message": words}}).to_string()}]);
    let (server, client) = scripted([
        refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refuse("Unsupported value: 'temperature'"),
        ok("yes"),
        ok("again"),
    ])
    .await;
    let request = ModelRequest { temperature: Some(0.5), max_tokens: Some(9), ..ask("hi") };
    let (chunks, error) = collect(client.turn(&request)).await;
    assert_eq!((error, waits(&chunks)), (None, vec![(StatusKind::Retrying, 0.0); 2]));
    let body = client.body(&request);
    assert_eq!(body.get("temperature"), None);
    assert_eq!((body.get("max_tokens"), &body["max_completion_tokens"]), (None, &json!(9)));
    assert_eq!(collect(client.turn(&request)).await.1, None);
    assert_eq!(server.requests()[2..], [body.clone(), body]);

    // A repeated refusal is returned as an error.
    let words = "Unsupported value: 'temperature'";
    let (server, client) = scripted([refuse(words), refuse(words), ok("never")]).await;
    let (_, error) = collect(client.turn(&request)).await;
    assert_eq!((code(error), server.requests().len()), (Some("refused"), 2));

    // A server that refuses both names of a field does not cause an endless loop.
    let either = refuse("Unsupported: 'max_tokens' and 'max_completion_tokens'");
    let script = json!({"replies": [{"repeat": true, "steps": either}]});
    let server = start(Script::from_value(&script).unwrap()).await.unwrap();
    let client = Client::new(endpoint(ProfileKind::Other, &server.base_url)).unwrap();
    let (_, error) = collect(client.turn(&request)).await;
    assert_eq!((code(error), server.requests().len()), (Some("refused"), 2));
}
