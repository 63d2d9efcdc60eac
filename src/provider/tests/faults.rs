//! What goes wrong on the way, each as a script. Waiting happens in virtual time.

use super::*;

fn ok(words: &str) -> Value {
    json!([{"text": words}, {"finish": "stop"}])
}

fn limited(retry_after: &str) -> Value {
    json!([{"status": 429}, {"headers": {"retry-after": retry_after}}])
}

fn code(error: Option<ProviderError>) -> Option<&'static str> {
    error.map(|error| error.code())
}

fn near(value: f64, expected: f64) -> bool {
    (expected * 0.79..=expected * 1.21 + 0.05).contains(&value)
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_out_as_long_as_told() {
    let (server, client) = scripted([limited("7"), limited("60"), ok("yes")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert_eq!(waits(&chunks), [(StatusKind::Waiting, 7.0), (StatusKind::Waiting, 60.0)]);
    assert!((67.0..68.0).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(gist(chunks)[0], text("yes"));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_may_name_a_date_or_nonsense() {
    let then = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&then).unwrap();
    let (_server, client) = scripted([limited(&date), limited("soon"), json!([{"status": 429}]), ok("yes")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!(error, None);
    let waits: Vec<f64> = waits(&chunks).into_iter().map(|(_, seconds)| seconds).collect();
    assert!((18.0..=20.0).contains(&waits[0]) && near(waits[1], 3.0) && near(waits[2], 9.0), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_a_day_is_told_and_not_waited_for() {
    let (server, client) = scripted([limited("86400")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(chunks, []);
    assert_eq!(error.unwrap().to_string(), "Test allows no more requests for now. Try again in 24 hours.");
    assert!(took < Duration::from_secs(1));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_server_are_retried_three_times() {
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
async fn what_only_a_person_can_mend_is_not_retried() {
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
async fn waiting_is_cancelled_by_dropping_the_turn() {
    let (server, client) = scripted([limited("30"), ok("yes")]).await;
    let mut turn = client.turn(&ask("hi"));
    assert!(matches!(turn.next().await, Some(Ok(Chunk::Status { status: StatusKind::Waiting, .. }))));
    assert!(tokio::time::timeout(Duration::from_secs(10), turn.next()).await.is_err());
    drop(turn);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn silence_before_the_first_byte_is_tried_once_more() {
    let hang = || json!([{"sleep_ms": 100_000_000}, {"text": "late"}]);
    let (_server, client) = scripted([hang(), ok("yes")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(error, None);
    assert_eq!(waits(&chunks).len(), 1);
    assert!((60.0..63.0).contains(&took.as_secs_f64()), "{took:?}");

    let (server, client) = scripted([hang(), hang(), ok("never")]).await;
    let (_, error, _) = timed(&client).await;
    let expected =
        ProviderError::Timeout { provider: "Test".into(), phase: Phase::FirstByte, waited: Duration::from_secs(60) };
    assert_eq!((error, server.requests().len()), (Some(expected), 2));
}

#[tokio::test(start_paused = true)]
async fn silence_within_an_answer_ends_it_and_keeps_its_text() {
    let (server, client) = scripted([json!([{"text": "Hel"}, {"sleep_ms": 100_000_000}]), ok("never")]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks, code(error)), (vec![text("Hel")], Some("timeout")));
    assert!((90.0..91.0).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pings_are_no_progress() {
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
async fn a_slow_answer_that_goes_on_is_let_alone() {
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
async fn a_prompt_that_is_being_read_is_progress_while_it_advances() {
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
            Chunk::Status { status, progress, .. } => Some((*status, *progress)),
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

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_tried_again_only_while_nothing_was_shown() {
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
async fn an_end_may_be_said_in_either_way() {
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
        // Calls outweigh the word.
        (call("{}") + &chunk(json!({}), json!("stop")) + done, Ok(Finish::ToolCalls)),
        (hello() + &call("{}") + &chunk(json!({}), json!("tool_calls")) + done, Ok(Finish::ToolCalls)),
        (call("{\"a\": \"b") + &chunk(json!({}), json!("length")) + done, Ok(Finish::Length)),
        (call("{\"a\": \"b") + done, Err("interrupted")),
        (hello() + &chunk(json!({}), json!("content_filter")) + done, Ok(Finish::Refusal)),
        (chunk(json!({}), json!("content_filter")) + done, Ok(Finish::Refusal)),
        (chunk(json!({"refusal": "I cannot."}), json!("stop")) + done, Ok(Finish::Refusal)),
        (hello() + &chunk(json!({}), json!("error")) + done, Err("server")),
        // What comes after the model's own end no longer matters.
        (hello() + &chunk(json!({}), json!("stop")) + "data: {\"error\":{\"message\":\"late\"}}\n\n", Ok(Finish::Stop)),
    ] {
        let (_server, client) = scripted([json!([{"bytes": stream}])]).await;
        let (chunks, error, _) = timed(&client).await;
        let ended = match (chunks.last(), error) {
            (Some(Chunk::Finish(finish)), None) => Ok(*finish),
            (_, error) => Err(code(error).unwrap()),
        };
        assert_eq!(ended, finish, "{stream}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_left_open_after_the_end_does_not_hold_the_turn() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (_server, client) = scripted([json!([{"bytes": stream}, {"sleep_ms": 100_000_000}])]).await;
    let (chunks, error, took) = timed(&client).await;
    assert_eq!((chunks, error), (vec![text("a"), Chunk::Finish(Finish::Stop)], None));
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn bad_events_are_skipped_until_there_are_too_many() {
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
async fn an_error_inside_a_stream_is_handled_like_an_http_error() {
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

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_once_more() {
    let empty = || json!([{"finish": "stop"}]);
    let blank = || json!([{"text": " \n"}, {"text": "\n"}, {"finish": "stop"}]);
    let (server, client) = scripted([empty(), ok("yes")]).await;
    assert_eq!((timed(&client).await.1, server.requests().len()), (None, 2));

    let (server, client) = scripted([blank(), empty(), ok("never")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((gist(chunks), code(error), server.requests().len()), (vec![], Some("empty"), 2));

    // The thought was shown, so it is not replaced by another.
    let (server, client) = scripted([json!([{"thinking": "hm"}, {"finish": "stop"}]), ok("never")]).await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!((chunks.len(), code(error), server.requests().len()), (1, Some("empty"), 1));

    // A limit explains the silence.
    let (_server, client) = scripted([json!([{"thinking": "hm"}, {"finish": "length"}])]).await;
    assert_eq!(timed(&client).await.1, None);
}

#[tokio::test(start_paused = true)]
async fn white_space_before_the_first_word_is_kept_with_it() {
    let (_server, client) =
        scripted([json!([{"text": "\n"}, {"text": "  a"}, {"text": " b"}, {"finish": "stop"}])]).await;
    assert_eq!(timed(&client).await.0[..2], [text("\n  a"), text(" b")]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_is_stopped() {
    let (_server, client) = scripted([json!([
        {"tokens": {"count": 3000, "text": "0123456789".repeat(1000)}}, {"finish": "stop"}
    ])])
    .await;
    let (chunks, error, _) = timed(&client).await;
    assert_eq!(code(error), Some("bad_stream"));
    assert!((1_500..1_700).contains(&chunks.len()), "{}", chunks.len());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_understood() {
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
            Chunk::Thinking("hm".into()),
            text("Let me see."),
            start_of(0, "c", "f"),
            arguments(0, "{}"),
            usage(5, 6, 0),
            Chunk::Finish(Finish::ToolCalls)
        ]
    );
    let (_server, client) =
        scripted([json!([json_type, {"bytes": "{\"error\":{\"message\":\"no\",\"code\":401}}"}])]).await;
    assert_eq!(code(timed(&client).await.1), Some("auth"));
}

#[tokio::test(start_paused = true)]
async fn a_web_page_is_no_answer() {
    let page = json!([{"headers": {"content-type": "text/html"}}, {"bytes": "<!doctype html><title>Hi</title>"}]);
    let (_server, client) = scripted([page]).await;
    let (_, error, _) = timed(&client).await;
    assert!(matches!(error, Some(ProviderError::Unreachable { trouble: Trouble::NotAnApi, .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_address_where_nobody_listens_is_named() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = Url::parse(&format!("http://{free}/v1")).unwrap();
    let client = Client::new(endpoint(ProfileKind::Ollama, &url)).unwrap();
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(waits(&chunks).len(), 3);
    assert!(near(took.as_secs_f64(), 13.0), "{took:?}");
    assert_eq!(
        error.unwrap().to_string(),
        format!("Test cannot be reached at {url}: nothing is listening there. Start the server, or correct base_url.")
    );
}

/// A name server that does not know the name so many times, and then says where it is.
struct Names {
    unknown: std::sync::atomic::AtomicUsize,
    found: std::net::SocketAddr,
}

impl reqwest::dns::Resolve for Names {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        use std::sync::atomic::Ordering::SeqCst;
        assert_eq!(name.as_str(), "models.test");
        let known = self.unknown.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err();
        let found = self.found;
        Box::pin(async move {
            match known {
                true => Ok(Box::new(std::iter::once(found)) as reqwest::dns::Addrs),
                false => Err("failed to lookup address information: Name or service not known".into()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_found_is_looked_up_again_and_then_told() {
    let (server, _) = scripted([ok("yes")]).await;
    let found = *server.base_url.socket_addrs(|| None).unwrap().first().unwrap();
    let mut url = server.base_url.clone();
    url.set_host(Some("models.test")).unwrap();
    let client = |unknown: usize| {
        let names = Names { unknown: unknown.into(), found };
        Client::resolving(endpoint(ProfileKind::Other, &url), std::sync::Arc::new(names))
    };
    let (chunks, error, took) = timed(&client(usize::MAX)).await;
    assert_eq!(waits(&chunks).len(), 3);
    assert!(near(took.as_secs_f64(), 13.0), "{took:?}");
    assert_eq!(
        error.unwrap().to_string(),
        format!(
            "Test cannot be reached at {url}: the name could not be found. Check base_url and the network connection."
        )
    );
    assert_eq!(server.requests().len(), 0);
    let (chunks, error, _) = timed(&client(2)).await;
    assert_eq!((error, waits(&chunks).len()), (None, 2));
    assert_eq!(gist(chunks)[0], text("yes"));
}

#[tokio::test(start_paused = true)]
async fn a_secure_address_on_a_plain_port_is_named() {
    let (server, _) = scripted([]).await;
    let mut url = server.base_url.clone();
    url.set_scheme("https").unwrap();
    let client = Client::new(endpoint(ProfileKind::Other, &url)).unwrap();
    let (_, error, _) = timed(&client).await;
    assert!(matches!(error, Some(ProviderError::Unreachable { trouble: Trouble::Tls(_), .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_refused_is_left_out_from_then_on() {
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

    // The same refusal again is told.
    let words = "Unsupported value: 'temperature'";
    let (server, client) = scripted([refuse(words), refuse(words), ok("never")]).await;
    let (_, error) = collect(client.turn(&request)).await;
    assert_eq!((code(error), server.requests().len()), (Some("refused"), 2));

    // A server that refuses both names of a field is not asked for ever.
    let either = refuse("Unsupported: 'max_tokens' and 'max_completion_tokens'");
    let script = json!({"replies": [{"repeat": true, "steps": either}]});
    let server = start(Script::from_value(&script).unwrap()).await.unwrap();
    let client = Client::new(endpoint(ProfileKind::Other, &server.base_url)).unwrap();
    let (_, error) = collect(client.turn(&request)).await;
    assert_eq!((code(error), server.requests().len()), (Some("refused"), 2));
}
