//! Tests of servers that send nothing, or nothing that counts as progress.

use super::*;

#[tokio::test(start_paused = true)]
async fn silence_before_first_byte_is_retried_once() {
    let hang = || json!([{"sleep_ms": 100_000_000}, {"text": "late"}]);
    let (_server, client) = scripted([hang(), ok("yes")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert_eq!(waits(&chunks).len(), 1);
    assert!((60.0..63.0).contains(&took.as_secs_f64()), "{took:?}");

    let (server, client) = scripted([hang(), hang(), ok("never")]).await;
    let (_, error, _) = timed(&client).await;
    let expected = ProviderError::Timeout {
        provider: "Test".into(),
        phase: TimeoutPhase::FirstByte,
        waited: Duration::from_secs(60),
    };
    assert_eq!((error, server.requests().len()), (Some(expected), 2));
}

#[tokio::test(start_paused = true)]
async fn silence_within_answer_ends_it_and_keeps_text() {
    let (server, client) = scripted([json!([{"text": "Hel"}, {"sleep_ms": 100_000_000}]), ok("never")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks, code(error)), (vec![text("Hel")], Some("timeout")));
    assert!((90.0..91.0).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pings_do_not_count_as_progress() {
    let mut steps = vec![json!({"text": "a"})];
    for ping in [
        ": ping\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"role\":\"assistant\"}}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n",
        "event: ping\ndata: {}\n\n",
    ]
    .iter()
    .cycle()
    .take(20)
    {
        steps.extend([json!({"sleep_ms": 20_000}), json!({"bytes": ping})]);
    }
    let (_server, client) = scripted([Value::Array(steps)]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks, code(error)), (vec![text("a")], Some("timeout")));
    assert!((90.0..91.0).contains(&took.as_secs_f64()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn slow_answer_is_not_cancelled() {
    let mut steps = Vec::new();
    for n in 0..20 {
        let step = if n % 2 == 0 { json!({"text": "a"}) } else { json!({"thinking": "b"}) };
        steps.extend([step, json!({"sleep_ms": 85_000})]);
    }
    steps.push(json!({"finish": "stop"}));
    let (_server, client) = scripted([Value::Array(steps)]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks.len(), error), (22, None));
    assert!(took > Duration::from_secs(1_600));
}

#[tokio::test(start_paused = true)]
async fn advancing_prompt_evaluation_counts_as_progress() {
    let progress = |processed: u64| {
        let chunk = json!({"choices": [], "prompt_progress": {"total": 100, "cache": 10, "processed": processed}});
        json!({"bytes": format!("data: {chunk}\n\n")})
    };
    let queue = |ahead: u64| json!({"bytes": format!("data: {}\n\n", json!({"queue_position": ahead}))});
    let pause = || json!({"sleep_ms": 80_000});
    let steps = json!([
        queue(1), pause(), queue(0), pause(), progress(10), pause(), progress(50), pause(), progress(100), pause(),
        {"text": "a"}, {"finish": "stop"}
    ]);
    let (_server, client) = scripted_as(ProfileKind::Local, [steps]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert!(took > Duration::from_secs(390));
    let statuses: Vec<(StatusKind, Option<f32>)> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            StreamChunk::Status { status, progress, .. } => Some((*status, *progress)),
            _ => None,
        })
        .collect();
    let reading = |part: f32| (StatusKind::ReadingPrompt, Some(part));
    assert_eq!(
        statuses,
        [(StatusKind::Waiting, None), (StatusKind::Waiting, None), reading(0.1), reading(0.5), reading(1.0)]
    );

    let stuck = json!([
        {"text": "a"}, progress(10), pause(), progress(10), pause(), progress(10), pause(), progress(10), pause()
    ]);
    let (_server, client) = scripted_as(ProfileKind::Local, [stuck]).await;
    let (_, error, took) = timed(&client).await;
    assert_eq!(code(error), Some("timeout"));
    assert!((90.0..91.0).contains(&took.as_secs_f64()), "{took:?}");
}
