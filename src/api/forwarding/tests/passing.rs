//! What passes through, and what it costs.

use std::time::{Duration, Instant};

use futures_util::SinkExt;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;

use super::*;

#[tokio::test]
async fn request_and_answer_pass_through_unchanged() {
    let (first, _owner) = cluster().await;
    let request = request(Method::PUT, first.url("/api/echo?a=%20b&c"))
        .header("host", "desk.example:8002")
        .header("cookie", "one=1")
        .header("cookie", "two=2")
        .header("authorization", "Bearer t")
        .header("te", "trailers")
        .header("keep-alive", "timeout=5")
        .header("connection", "cookie, keep-alive, te")
        .body(Body::from("12345"))
        .unwrap();
    let answer = sent(&client(), request).await;
    assert_eq!(answer.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(
        (&answer.headers()["x-one"], &answer.headers()["set-cookie"]),
        (&"1".parse().unwrap(), &"a=b; Secure".parse().unwrap())
    );
    let told: Value = serde_json::from_slice(&to_bytes(answer.into_body(), 1 << 20).await.unwrap()).unwrap();
    assert_eq!(told["method"], "PUT");
    assert_eq!(told["path"], "/api/echo?a=%20b&c");
    assert_eq!(told["bytes"], 5);
    assert_eq!(told["is_forwarded"], true);
    assert_eq!(told["peer"], "127.0.0.1");
    let headers = told["headers"].as_array().unwrap();
    let all = |name: &str| headers.iter().filter(|pair| pair[0] == name).map(|pair| &pair[1]).collect::<Vec<_>>();
    assert_eq!(all("host"), ["desk.example:8002"]);
    assert_eq!(all("cookie"), ["one=1", "two=2"], "a client cannot remove what counts");
    assert_eq!(all("authorization"), ["Bearer t"]);
    assert_eq!(all("content-length"), ["5"]);
    for of_connection in ["te", "keep-alive", "connection", FORWARDED.as_str()] {
        assert!(all(of_connection).is_empty(), "{of_connection}: {told}");
    }
}

#[tokio::test]
async fn invented_header_is_refused() {
    let (first, owner) = cluster().await;
    for value in ["", "1", "1 1764327600000 10.0.0.1 https 7 00", "2 x", &"1 ".repeat(300)] {
        let request = request(Method::GET, owner.url("/api/echo")).header(FORWARDED, value).body(Body::empty());
        assert_eq!(code(sent(&client(), request.unwrap()).await).await, (403, "bad_forward".to_owned()), "{value}");
    }
    let stranger = Server::start("another secret, which is as long as it").await;
    first.known.set(Destination::Server(stranger.owner()));
    assert_eq!(get_code(&first, "/api/echo").await, (403, "bad_forward".to_owned()), "the secrets differ");
}

#[tokio::test]
async fn stream_passes_through_piece_by_piece() {
    let (first, owner) = cluster().await;
    let request = request(Method::GET, first.url("/api/events")).body(Body::empty()).unwrap();
    // The answer begins before the first event.
    let answer = sent(&client(), request).await;
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut pieces = answer.into_body().into_data_stream();
    for number in 0..200 {
        let event = format!("event: n\ndata: {number}\n\n");
        owner.events.send(event.clone().into()).await.unwrap();
        // The next one is sent only after this one was read.
        assert_eq!(text(&mut pieces).await, event);
    }
    drop(pieces);
    // The owner notices that nobody reads any more.
    tokio::time::timeout(Duration::from_secs(20), owner.events.closed()).await.expect("the stream ends");
}

#[tokio::test]
async fn client_that_leaves_cancels_what_waits() {
    let (first, mut owner) = cluster().await;
    let request = request(Method::POST, first.url("/api/wait")).body(Body::from("{}")).unwrap();
    let waiting = tokio::spawn(async move { client().request(request).await });
    assert_eq!(owner.arrival().await, "waits");
    waiting.abort();
    assert_eq!(owner.arrival().await, "dropped");
}

#[tokio::test]
async fn upload_passes_through_as_a_stream() {
    let (first, mut owner) = cluster().await;
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    let pieces = tokio_stream::wrappers::ReceiverStream::new(receiver).map(Ok::<_, std::io::Error>);
    let request = request(Method::POST, first.url("/api/upload")).body(Body::from_stream(pieces)).unwrap();
    let answer = tokio::spawn(async move { sent(&client(), request).await });
    for number in 1..=20_usize {
        sender.send(vec![b'x'; 1000].into()).await.unwrap();
        // The owner has it before the client sends more.
        assert_eq!(owner.arrival().await, format!("piece {}", number * 1000));
    }
    drop(sender);
    let body = to_bytes(answer.await.unwrap().into_body(), 100).await.unwrap();
    assert_eq!(body, "20000");
}

type Socket = WebSocketStream<TcpStream>;

/// Opens a WebSocket over this server.
async fn connect(server: &Server, path: &str) -> Socket {
    let connection = TcpStream::connect(server.address).await.unwrap();
    let address = format!("ws://{}{path}", server.address);
    tokio_tungstenite::client_async(address, connection).await.unwrap().0
}

/// Waits until the connection ends, and returns the code with which it was closed, if it was.
async fn ended(socket: &mut Socket) -> Option<u16> {
    match tokio::time::timeout(Duration::from_secs(20), socket.next()).await.expect("the connection ends") {
        Some(Ok(Message::Close(Some(close)))) => Some(u16::from(close.code)),
        Some(Ok(message)) => panic!("{message:?}"),
        Some(Err(_)) | None => None,
    }
}

#[tokio::test]
async fn websocket_passes_through_in_both_directions() {
    let (first, owner) = cluster().await;
    let lost = CancellationToken::new();
    first.known.set(Destination::Server(Owner { lost: lost.clone(), ..owner.owner() }));
    let mut socket = connect(&first, "/ws").await;
    for length in [0, 1, 200, 70_000] {
        let message = Message::text("x".repeat(length));
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    lost.cancel();
    assert_eq!(ended(&mut socket).await, Some(1001), "the client is told to come again");
}

#[tokio::test]
async fn frame_that_is_far_too_long_is_refused_on_the_way() {
    let (first, _owner) = cluster().await;
    let mut socket = connect(&first, "/ws").await;
    // The beginning of a masked text of five megabytes.
    let begin = [&[0x81, 0xff], (5_u64 << 20).to_be_bytes().as_slice(), &[0; 4]].concat();
    socket.get_mut().write_all(&begin).await.unwrap();
    assert_eq!(ended(&mut socket).await, Some(1009));
}

#[tokio::test]
async fn silent_client_of_a_passed_websocket_is_left() {
    let (first, _owner) = cluster().await;
    let mut socket = connect(&first, "/greeted").await;
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("Hello"), "the greeting came back");
    socket.send(Message::text("More")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("More"));
    assert_eq!(ended(&mut socket).await, None);
}

#[tokio::test]
async fn client_of_a_passed_websocket_is_told_that_the_home_moves() {
    for is_owner_lost in [false, true] {
        let (first, owner) = cluster().await;
        let lost = CancellationToken::new();
        first.known.set(Destination::Server(Owner { lost: lost.clone(), ..owner.owner() }));
        let mut socket = connect(&first, "/greeted").await;
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("Hello"));
        if is_owner_lost {
            socket.send(Message::text(LEAVE)).await.unwrap();
        } else {
            lost.cancel();
        }
        assert_eq!(ended(&mut socket).await, Some(1001), "{is_owner_lost}");
    }
}

#[tokio::test]
async fn lost_home_cuts_streams_off() {
    let (first, owner) = cluster().await;
    let lost = CancellationToken::new();
    first.known.set(Destination::Server(Owner { lost: lost.clone(), ..owner.owner() }));
    let request = request(Method::GET, first.url("/api/events")).body(Body::empty()).unwrap();
    let mut pieces = sent(&client(), request).await.into_body().into_data_stream();
    owner.events.send("event: n\n\n".into()).await.unwrap();
    assert_eq!(text(&mut pieces).await, "event: n\n\n");
    lost.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), pieces.next()).await.expect("the stream ends");
    assert!(ended.expect("it does not look complete").is_err());
}

/// The median of what passing through adds to a request, and to a piece of a stream. The limits are far above the goals of
/// 1 ms and 0.3 ms, for machines that do much else; the figures are printed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passing_through_costs_little() {
    let (first, owner) = cluster().await;
    let client = client();
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..600 {
        for (server, took) in [&owner, &first].into_iter().zip(&mut took) {
            let since = Instant::now();
            let request = request(Method::GET, server.url("/api/echo")).body(Body::empty()).unwrap();
            to_bytes(sent(&client, request).await.into_body(), 1 << 20).await.unwrap();
            if round >= 100 {
                took.push(since.elapsed());
            }
        }
    }
    let mut pieces = Vec::new();
    let through = Server::start(SECRET).await;
    for (server, source) in [(&owner, &owner), (&first, &through)] {
        first.known.set(Destination::Server(through.owner()));
        let request = request(Method::GET, server.url("/api/events")).body(Body::empty()).unwrap();
        let mut stream = sent(&client, request).await.into_body().into_data_stream();
        let mut took = Vec::new();
        for _ in 0..600 {
            let since = Instant::now();
            source.events.send("event: n\ndata: 1\n\n".into()).await.unwrap();
            text(&mut stream).await;
            took.push(since.elapsed());
        }
        pieces.push(median(took));
    }
    let [here, there] = took.map(median);
    let (request, piece) = (there.saturating_sub(here), pieces[1].saturating_sub(pieces[0]));
    println!("passing through adds {request:?} to a request ({here:?} without), {piece:?} to a piece of a stream");
    assert!(request < Duration::from_secs(1) && piece < Duration::from_millis(500), "{request:?} {piece:?}");
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

#[test]
fn only_a_websocket_is_an_upgrade() {
    let headers = |connection: &str, upgrade: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, connection.parse().unwrap());
        headers.insert(header::UPGRADE, upgrade.parse().unwrap());
        super::relay::asks_for_upgrade(&headers)
    };
    assert!(headers("keep-alive, Upgrade", "WebSocket"));
    assert!(!headers("keep-alive", "websocket") && !headers("upgrade", "h2c"));
}
