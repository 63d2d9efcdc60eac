//! `traces` in config.yml: a collector gets spans of works, requests to models and calls, and nothing that anybody wrote.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::script::{call, calls, says, script, steps};
use crate::world::{CONFIG, World};

const KEY: &str = "collector-canary-19ab44";

#[derive(Default)]
struct Got {
    spans: Vec<Span>,
    bytes: Vec<u8>,
    keys: Vec<String>,
}

type Shared = Arc<Mutex<Got>>;

/// Starts a collector that answers with this status, and keeps what it gets.
async fn collector(status: StatusCode) -> (String, Shared) {
    let got = Shared::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/traces", post(take)).with_state((status, got.clone()));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, got)
}

async fn take(State((status, got)): State<(StatusCode, Shared)>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    let mut got = got.lock().unwrap();
    let of_scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    got.spans.extend(of_scopes.flat_map(|scope| scope.spans));
    got.bytes.extend_from_slice(&body);
    got.keys.push(headers["x-key"].to_str().unwrap().to_owned());
    status
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &AnyValue| match value {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let pairs = span.attributes.iter();
    pairs.map(|pair| (&*pair.key, text(pair.value.as_ref().unwrap().value.as_ref().unwrap()))).collect()
}

fn traced(world: &World, address: &str) {
    let traces = format!("traces: {{endpoint: '{address}', headers: {{x-key: '${{COLLECTOR_KEY}}'}}}}\n");
    world.write("config.yml", format!("{traces}{CONFIG}"));
}

#[tokio::test]
async fn collector_gets_works_without_their_words() {
    let (address, got) = collector(StatusCode::OK).await;
    let read = call("c1", "read_file", json!({"path": "workspace/canary-file.md"}));
    let world = World::new(script([calls([read]), says(["canary answer"]), steps([json!({"status": 401})])])).await;
    let world = world.with_env("COLLECTOR_KEY", KEY);
    traced(&world, &address);
    let server = world.serve().await;
    server.chat("s1", "canary question").await;
    server.settled("s1").await;
    server.chat("s1", "canary question again").await;
    server.settled("s1").await;
    assert!(server.terminate().await.0.success());
    let got = got.lock().unwrap();
    let named = |name: &str| got.spans.iter().filter(|span| span.name.starts_with(name)).collect::<Vec<_>>();
    let [first, failed] = &named("invoke_agent miniclaw")[..] else { panic!("{:?}", got.spans) };
    let ([chat, second, ..], [tool]) = (&named("chat ")[..], &named("execute_tool read_file")[..]) else {
        panic!("{:?}", got.spans)
    };
    for span in [chat, second, tool] {
        assert_eq!((&span.trace_id, &span.parent_span_id), (&first.trace_id, &first.span_id), "{}", span.name);
        assert!(
            span.start_time_unix_nano >= first.start_time_unix_nano
                && span.end_time_unix_nano <= first.end_time_unix_nano
        );
    }
    let of_work = attributes(first);
    assert_eq!((&*of_work["gen_ai.conversation.id"], &*of_work["miniclaw.work.outcome"]), ("s1", "done"));
    assert!(attributes(chat)["gen_ai.usage.input_tokens"].parse::<u64>().unwrap() > 0);
    assert_eq!(attributes(tool)["gen_ai.tool.call.id"], "c1");
    assert_eq!(attributes(tool)["error.type"], "tool_error", "there is no such file");
    assert_eq!(failed.status.as_ref().unwrap().code, 2, "{failed:?}");
    assert!(!attributes(failed)["error.type"].is_empty());
    assert!(!String::from_utf8_lossy(&got.bytes).contains("canary"), "a trace has words of a conversation");
    assert!(got.keys.iter().all(|key| key == KEY) && !world.log().contains(KEY), "the key is for the collector alone");
}

#[tokio::test]
async fn collector_that_fails_holds_nothing_up() {
    let (broken, got) = collector(StatusCode::INTERNAL_SERVER_ERROR).await;
    let world = World::new(script([says(["Yes."]), says(["Yes."])])).await.with_env("COLLECTOR_KEY", KEY);
    for address in [&*broken, "http://127.0.0.1:9"] {
        traced(&world, address);
        let server = world.serve().await;
        server.chat("s1", "go").await;
        let history = server.settled("s1").await;
        assert_eq!(history["messages"].as_array().unwrap().last().unwrap()["content"], "Yes.");
        assert!(server.terminate().await.0.success());
    }
    assert!(!got.lock().unwrap().spans.is_empty());
    assert!(!world.log().contains(KEY));
}
