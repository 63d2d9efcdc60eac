//! A small HTTP/1.1 client: one connection per request, server-sent events, and malformed requests.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::world::KEY;

/// Timeout of every wait; a passing test never reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Returns the value of a header. Names are in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub struct Answer {
    pub head: Head,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.head.status
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON in {}: {}", self.status(), self.text()))
    }

    /// Returns the body of a request that must succeed.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status()), "{}: {}", self.status(), self.text());
        self.json()
    }

    /// Returns status and `code` of a request that must be refused with a message.
    #[track_caller]
    pub fn refused(&self) -> (u16, String) {
        let body = self.json();
        assert!(self.status() >= 400, "{}: {}", self.status(), self.text());
        assert!(body["message"].as_str().is_some_and(|m| !m.is_empty()), "no message: {body}");
        assert_eq!(body["message"], body["error"]);
        (self.status(), body["code"].as_str().expect("a code").to_owned())
    }
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub id: Option<String>,
    pub event: String,
    pub data: Value,
}

impl Frame {
    pub fn is(&self, event: &str) -> bool {
        self.event == event
    }
}

/// A response whose body is still arriving. Dropping it closes the connection.
pub struct Incoming {
    pub head: Head,
    body: Body,
    text: String,
    _write: OwnedWriteHalf,
}

impl Incoming {
    /// Returns the next event, or None when the server has ended the stream.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            while let Some((message, rest)) = self.text.split_once("\n\n") {
                let frame = parse_event(message);
                self.text = rest.to_owned();
                if let Some(frame) = frame {
                    assert!(!frame.data.to_string().contains(KEY), "the key is in a frame: {frame:?}");
                    return Some(frame);
                }
            }
            let chunk = within(self.body.next()).await?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("events are whole UTF-8 chunks"));
        }
    }

    /// Returns the data of the next event, whatever its name; None when the server has ended the stream.
    pub async fn next_data(&mut self) -> Option<Value> {
        loop {
            while let Some((message, rest)) = self.text.split_once("\n\n") {
                let data =
                    message.lines().find_map(|line| line.strip_prefix("data:")).map(str::trim).unwrap_or_default();
                let data = (!data.is_empty()).then(|| serde_json::from_str(data).expect("data is JSON"));
                self.text = rest.to_owned();
                if data.is_some() {
                    return data;
                }
            }
            let chunk = within(self.body.next()).await?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("events are whole UTF-8 chunks"));
        }
    }

    /// Reads up to and including the first event of this name.
    pub async fn until(&mut self, event: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
            if frames.last().is_some_and(|frame| frame.is(event)) {
                return frames;
            }
        }
        panic!("the stream ended without {event}: {frames:#?}");
    }

    /// Reads the whole body as text.
    pub async fn body_text(mut self) -> String {
        let mut body = Vec::new();
        while let Some(chunk) = within(self.body.next()).await {
            body.extend(chunk);
        }
        String::from_utf8_lossy(&body).into_owned()
    }

    /// Reads the whole response.
    pub async fn whole(mut self) -> Answer {
        let mut body = Vec::new();
        while let Some(chunk) = within(self.body.next()).await {
            body.extend(chunk);
        }
        let answer = Answer { head: self.head, body };
        assert!(!answer.text().contains(KEY), "the key is in an answer: {answer:?}");
        answer
    }

    pub async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}

fn parse_event(message: &str) -> Option<Frame> {
    let field =
        |name: &str| message.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim_start().to_owned());
    let event = field("event:")?;
    let data = serde_json::from_str(&field("data:").expect("an event has data")).expect("data is JSON");
    Some(Frame { id: field("id:"), event, data })
}

/// Sends exactly `request` and reads the response headers.
pub async fn open(address: SocketAddr, request: &[u8]) -> Incoming {
    open_if_there(address, request).await.unwrap_or_else(|error| panic!("the server does not answer: {error}"))
}

/// Same as [`open`], for a server that may have ended.
pub async fn open_if_there(address: SocketAddr, request: &[u8]) -> io::Result<Incoming> {
    let (read, mut write) = TcpStream::connect(address).await?.into_split();
    let mut read = BufReader::new(read);
    let head_only = request.starts_with(b"HEAD ");
    // A server may respond and close before it has read the whole request.
    let send = async {
        let _ = write.write_all(request).await;
    };
    let (head, ()) = tokio::join!(within(read_head(&mut read)), send);
    let head = head?;
    let body = if head_only || head.status == 204 || head.status == 304 {
        Body { read, left: Left::Exactly(0) }
    } else if head.header("transfer-encoding") == Some("chunked") {
        Body { read, left: Left::Chunks }
    } else {
        let length = head.header("content-length").map(|length| length.parse().expect("a length"));
        Body { read, left: length.map_or(Left::UntilClosed, Left::Exactly) }
    };
    Ok(Incoming { head, body, text: String::new(), _write: write })
}

/// Sends exactly `request` and reads the whole response.
pub async fn raw(address: SocketAddr, request: &[u8]) -> Answer {
    open(address, request).await.whole().await
}

/// Same as [`raw`], with an owned request, for use in a spawned task.
pub async fn raw_owned(address: SocketAddr, request: Vec<u8>) -> Answer {
    raw(address, &request).await
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("the server says something in time")
}

async fn read_head(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Head> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).await? == 0 {
            return Err(io::Error::other("the server closed the connection without an answer"));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let status = lines[0].split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    Ok(Head { status, headers: headers.map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned())).collect() })
}

struct Body {
    read: BufReader<OwnedReadHalf>,
    left: Left,
}

enum Left {
    Exactly(usize),
    Chunks,
    UntilClosed,
}

impl Body {
    /// Returns the next piece. A broken connection ends the body.
    async fn next(&mut self) -> Option<Vec<u8>> {
        match self.left {
            Left::Exactly(0) => None,
            Left::Exactly(length) => {
                self.left = Left::Exactly(0);
                self.exactly(length).await
            }
            Left::Chunks => {
                let mut line = String::new();
                self.read.read_line(&mut line).await.ok()?;
                let length = usize::from_str_radix(line.trim(), 16).ok()?;
                let mut chunk = self.exactly(length + 2).await?;
                chunk.truncate(length);
                (length > 0).then_some(chunk)
            }
            Left::UntilClosed => {
                self.left = Left::Exactly(0);
                let mut all = Vec::new();
                self.read.read_to_end(&mut all).await.ok()?;
                Some(all)
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read.read_exact(&mut bytes).await.ok()?;
        Some(bytes)
    }
}

/// Returns a port of this machine that a server can have again after it was stopped: one from below those that the system gives to
/// clients, which could take it meanwhile.
pub fn lasting_port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time begin at different places.
    let start = (std::process::id() % u32::from(COUNT)) as u16;
    let next = || FIRST + start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
    std::iter::repeat_with(next).find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port")
}
