//! Malformed bodies and URLs: each is refused with a reason, and the server keeps running.

use serde_json::json;

use crate::http::{open, raw};
use crate::script::{says, script};
use crate::world::{Server, World};

const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

async fn lives(server: &Server<'_>) {
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
}

#[tokio::test]
async fn non_json_body_is_refused_with_reason() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 12] = [
        b"{",
        b"nonsense",
        b"{\"message\": \"hi\"",
        b"{\"message\": \"\xff\xfe\"}",
        b"\xef\xbb\xbf{}",
        b"null",
        b"[]",
        b"3",
        b"{\"message\": {\"a\": 1}}",
        b"{\"message\": \"\\ud800\"}",
        b"{\"message\": \"hi\"} trailing",
        deep.as_bytes(),
    ];
    for (method, path) in [
        ("POST", "/api/chat"),
        ("POST", "/api/sessions/s/messages"),
        ("POST", "/api/files"),
        ("PUT", "/api/sessions/s"),
        ("PUT", "/api/config/rag-mode"),
        ("POST", "/api/tokens/files"),
        ("POST", "/api/login"),
    ] {
        for body in bodies {
            let (status, code) = server.send(method, path, &JSON, body).await.refused();
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert!((400..423).contains(&status) && code == "bad_json", "{method} {path} {shown}: {status} {code}");
        }
    }
    lives(&server).await;
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"], json!([]));
}

#[tokio::test]
async fn oversized_body_is_refused() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let huge = format!("{{\"path\": \"memory/x.md\", \"content\": \"{}\"}}", "x".repeat(25 << 20));
    let (status, _) = server.send("POST", "/api/files", &JSON, huge.as_bytes()).await.refused();
    assert_eq!(status, 413);
    assert!(!world.path("memory/x.md").exists());
    // Below the size limit of a request, above the size limit of a file.
    let large = json!({"path": "memory/x.md", "content": "x".repeat(11 << 20)});
    assert_eq!(server.post("/api/files", large).await.refused(), (413, "too_large".to_owned()));
    lives(&server).await;
}

#[tokio::test]
async fn aborted_request_is_harmless() {
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    use tokio::io::AsyncWriteExt;
    let whole = server.request("POST", "/api/chat", &JSON, br#"{"message": "hi", "session_id": "cut"}"#);
    for cut in (1..whole.len()).step_by(7) {
        let mut connection = tokio::net::TcpStream::connect(server.address).await.unwrap();
        connection.write_all(&whole[..cut]).await.unwrap();
    }
    lives(&server).await;
    assert_eq!(server.get("/api/sessions").await.ok()["sessions"], json!([]));
    assert!(server.chat("s", "hi").await.iter().any(|frame| frame.is("done")));
}

#[tokio::test]
async fn unknown_path_error_has_reason() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    for (method, path, status) in [
        ("GET", "/api/nothing", 404),
        ("GET", "/api", 404),
        ("GET", "/api/", 404),
        ("GET", "/api/files", 400),
        ("GET", "/api/files/list", 400),
        ("GET", "/api/files/list?root=sessions", 400),
        ("GET", "/api/files/list?root=.", 400),
        ("GET", "/api/files/folder", 400),
        ("GET", "/api/files/folder?path=sessions", 403),
        ("GET", "/api/files/folder?path=memory/../sessions", 400),
        ("GET", "/api/files/folder?path=SKILLS_SNAPSHOT.md", 403),
        ("GET", "/api/files/find?root=sessions", 400),
        ("GET", "/api/files/find?limit=0", 400),
        ("GET", "/api/files/find?limit=1000000", 400),
        ("GET", "/api/sessions/%ff/history", 400),
        ("GET", "/api/sessions/..%2f..%2fetc/history", 400),
        ("GET", "/api/sessions/%2e%2e/history", 400),
        ("GET", "/api/sessions/a%00b/history", 400),
        ("DELETE", "/api/status", 405),
        ("GET", "/api/sessions/s", 405),
        ("PATCH", "/api/sessions/s", 405),
    ] {
        let (got, code) = server.send(method, path, &JSON, b"").await.refused();
        assert_eq!(got, status, "{method} {path}: {code}");
    }
    let endless = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(1 << 20), server.address);
    assert!((400..500).contains(&raw(server.address, endless.as_bytes()).await.status()));
    let header = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", server.address, "a".repeat(1 << 20));
    assert!((400..500).contains(&raw(server.address, header.as_bytes()).await.status()));
    lives(&server).await;
}

/// Returns the server's resident memory, in bytes.
pub fn held(server: &Server<'_>) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a running server");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().unwrap().parse::<u64>().expect("a number") << 10
}

/// Runs long answers in a session, and returns by how many bytes the server's memory grew.
async fn much(server: &Server<'_>, session: &str) -> u64 {
    let before = held(server);
    for round in 0..4 {
        let frames = server.chat(session, &format!("much {round}")).await;
        assert!(frames.iter().any(|frame| frame.is("done")), "who reads gets all of it");
        assert!(server.chat("other", "hi").await.iter().any(|frame| frame.is("done")));
    }
    held(server).saturating_sub(before)
}

/// More data than the kernel buffers for a connection, sent to many clients that read none of it.
#[tokio::test]
async fn stalled_readers_cost_little_and_block_nobody() {
    use tokio::io::AsyncWriteExt;
    const READERS: u64 = 40;
    let texts = (0..900).map(|n| json!({"text": format!("{n} {}", "x".repeat(2000))}));
    let steps: Vec<_> = texts.chain([json!({"finish": "stop"})]).collect();
    let reply = json!({"repeat": true, "match": "much", "steps": steps});
    let world = World::new(script([reply, crate::script::always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for session in ["s", "t", "other"] {
        server.chat(session, "hi").await;
    }
    let alone = much(&server, "s").await;
    let mut unread = Vec::new();
    for _ in 0..READERS {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut connection = socket.connect(server.address).await.unwrap();
        connection.write_all(&server.request("GET", "/api/sessions/t/events", &[], b"")).await.unwrap();
        unread.push(connection);
    }
    let with_readers = much(&server, "t").await;
    println!("said once {} MB more, with {READERS} who read nothing {} MB more", alone >> 20, with_readers >> 20);
    // 7 MB are sent, of which the last frame repeats 2: 80 MB if each reader had its own copy. The readers share one copy.
    let most = READERS * (1 << 18) + alone.max(48 << 20);
    assert!(with_readers < most, "{} MB", with_readers >> 20);
    drop(unread);
    lives(&server).await;
}

#[tokio::test]
async fn stalled_reader_delays_no_other() {
    let texts: Vec<_> = (0..3000).map(|n| json!({"text": format!("{n} {}", "x".repeat(200))})).collect();
    let reply = json!({"steps": texts.into_iter().chain([json!({"finish": "stop"})]).collect::<Vec<_>>()});
    let world = World::new(script([reply, says(["Yes."])])).await;
    let server = world.serve().await;
    let request = server.request("POST", "/api/chat", &JSON, br#"{"message": "hi", "session_id": "s"}"#);
    let unread = open(server.address, &request).await;
    let history = server.settled("s").await;
    assert!(history["messages"][1]["content"].as_str().unwrap().len() > 600_000);
    assert!(server.chat("other", "hi").await.iter().any(|frame| frame.is("done")));
    drop(unread);
}
