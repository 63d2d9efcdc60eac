//! Randomly malformed requests: each gets a response with a reason, no handler panics, and nothing is left behind.
//! `PROPTEST_CASES` sets their number.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::script::{always, says, script};
use crate::world::World;

/// A persistent connection, reopened when the server has closed it.
struct Line {
    address: SocketAddr,
    reader: Option<BufReader<TcpStream>>,
}

impl Line {
    /// Returns status and body of the response to these bytes, or `None` if the server only closed the connection.
    fn ask(&mut self, request: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut reader = self.reader.take().unwrap_or_else(|| {
            let stream = TcpStream::connect(self.address).expect("the server listens");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
            stream.set_nodelay(true).expect("no delay");
            BufReader::new(stream)
        });
        reader.get_mut().write_all(request).ok()?;
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let (mut length, mut keeps) = (None, true);
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            match header.split_once(": ") {
                Some(("content-length", value)) => length = value.parse::<usize>().ok(),
                Some(("connection", "close")) => keeps = false,
                _ => {}
            }
        }
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        // A stream is not read to its end: a client that disconnects is harmless.
        if keeps && length.is_some() {
            self.reader = Some(reader);
        }
        Some((status, body))
    }
}

const FIELDS: &str = "message|session_id|stream|path|content|etag|title|enabled|rag_mode|paths|decision|hash|query|\
                      folder|messages|role|k|id|pinned|token|[a-z]{1,4}";

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "(memory|sessions|knowledge|\\.\\.|/|~|\\.env|a\\.md|%2e|\0){1,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((FIELDS, inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Returns bodies: JSON, JSON that is truncated or damaged somewhere, and arbitrary bytes.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let fields = prop::collection::vec((FIELDS, any_value()), 0..5);
    let object = fields.prop_map(|fields| Value::Object(fields.into_iter().collect()).to_string().into_bytes());
    let damaged = (any_value(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(value, place, byte)| {
        let mut bytes = value.to_string().into_bytes();
        let at = place.index(bytes.len());
        if byte < 64 {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        bytes
    });
    prop_oneof![5 => object, 3 => damaged, 1 => prop::collection::vec(any::<u8>(), 0..80)]
}

/// Returns all routes that read a body or a path, except those that start a run: their response is a stream of the model.
fn any_route() -> impl Strategy<Value = (&'static str, String)> {
    let part = "[a-z0-9_-]{1,6}|(\\.\\.|%2e|%2f|%00|%ff|%e4%bc%9a|a|\\.|~){1,4}";
    let fixed = prop::sample::select(vec![
        ("POST", "/api/sessions"),
        ("POST", "/api/files"),
        ("PUT", "/api/config/rag-mode"),
        ("POST", "/api/tokens/files"),
        ("POST", "/api/login"),
        ("POST", "/api/sessions/import"),
        ("POST", "/api/retrieval/tests/run"),
    ]);
    let of_session = prop::sample::select(vec![
        ("PUT", ""),
        ("DELETE", ""),
        ("POST", "/interrupt"),
        ("POST", "/compress"),
        ("POST", "/branch"),
        ("POST", "/restore"),
        ("POST", "/undo"),
        ("PUT", "/pin"),
        ("PUT", "/archived"),
        ("DELETE", "/archived"),
        ("GET", "/works/w/undo"),
        ("GET", "/works/w/before"),
        ("GET", "/works/w/before?path=../x"),
        ("GET", "/changes?work_id=%00"),
        ("GET", "/changes/content?path=../x&side=before"),
        ("GET", "/changes/content?side=after"),
        ("GET", "/history"),
        ("GET", "/history?last=-1&before=%00"),
        ("GET", "/operations"),
        ("GET", "/operations?withdrawn="),
        ("GET", "/messages"),
        ("GET", "/export"),
        ("GET", "/tokens"),
    ]);
    let query = "(path|query|folder|root|k|after|format|[a-z]{1,3})=[a-z0-9./%&=+-]{0,12}";
    prop_oneof![
        4 => fixed.prop_map(|(method, path)| (method, path.to_owned())),
        4 => (of_session, part).prop_map(|((method, what), id)| (method, format!("/api/sessions/{id}{what}"))),
        1 => part.prop_map(|id| ("POST", format!("/api/approvals/{id}"))),
        2 => (prop::sample::select(vec!["files", "files/list", "files/folder", "files/find", "sessions/find", "retrieval/search", "retrieval/chunks",
            "prompt", "status"]), query).prop_map(|(path, query)| ("GET", format!("/api/{path}?{query}"))),
        1 => "/[a-z0-9/._%~-]{0,24}".prop_map(|path| ("GET", path)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn any_request_is_answered_and_server_survives() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let address = server.address;
    let config = Config { failure_persistence: None, ..Config::default() };
    let asked = tokio::task::spawn_blocking(move || {
        let line = std::cell::RefCell::new(Line { address, reader: None });
        TestRunner::new(config).run(&(any_route(), any_body()), |((method, path), body)| {
            let body = if method == "GET" { Vec::new() } else { body };
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let answer = line.borrow_mut().ask(&[head.as_bytes(), &body].concat());
            let Some((status, body)) = answer else {
                return Err(TestCaseError::fail("the server closed without an answer"));
            };
            prop_assert!(status < 500, "{}: {}", status, String::from_utf8_lossy(&body));
            if status >= 400 && path.starts_with("/api") {
                let said: Value = serde_json::from_slice(&body).unwrap_or_default();
                let reason = said["message"].as_str().is_some_and(|text| !text.is_empty());
                prop_assert!(reason && said["code"].is_string(), "{}: {}", status, String::from_utf8_lossy(&body));
            }
            Ok(())
        })
    });
    asked.await.expect("no panic").unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    // Nothing was written outside the home, and no file in it was overwritten.
    assert_eq!(world.read("config.yml").lines().next(), Some("find_local_models: false"));
    assert!(server.chat("still-here", "hi").await.iter().any(|frame| frame.is("done")));
    assert_eq!(server.post("/api/sessions", json!({})).await.status(), 200);
}
