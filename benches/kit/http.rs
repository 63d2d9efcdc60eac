//! A minimal HTTP/1.1 client on one persistent connection, which adds as little as possible to the measurements.

use std::io::{self, Error};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Read timeout, longer than any response of the programs under test takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    /// The header of a person who has signed in, with its line break; otherwise empty.
    authorization: String,
    /// Received bytes; those before `at` are consumed.
    buffer: Vec<u8>,
    at: usize,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    /// Parses the body as JSON.
    ///
    /// # Errors
    /// Returns an error if the status is not 2xx or the body is not JSON.
    pub fn json(&self) -> io::Result<Value> {
        if !(200..300).contains(&self.status) {
            let text = String::from_utf8_lossy(&self.body);
            return Err(Error::other(format!("status {}: {}", self.status, &text[..text.len().min(300)])));
        }
        serde_json::from_slice(&self.body).map_err(Error::other)
    }
}

enum Length {
    Chunked,
    Bytes(usize),
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address, authorization: String::new(), buffer: Vec::with_capacity(16 << 10), at: 0 })
    }

    /// Sends every further request with this token.
    pub fn signed_in(mut self, token: &str) -> Self {
        self.authorization = format!("authorization: Bearer {token}\r\n");
        self
    }

    /// Sends every further request as the page does, with the secret that it has.
    pub async fn into_page(mut self) -> io::Result<Self> {
        let page = String::from_utf8(self.get("/").await?.body).map_err(Error::other)?;
        let secret = page.split_once("name=\"miniclaw-secret\" content=\"").and_then(|(_, rest)| rest.split_once('"'));
        let (secret, _) = secret.ok_or_else(|| Error::other("the page has no secret"))?;
        self.authorization = format!("x-miniclaw-secret: {secret}\r\n");
        Ok(self)
    }

    pub async fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send("GET", path, "").await?;
        self.answer().await
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.send("POST", path, &body.to_string()).await?;
        self.answer().await
    }

    /// Uploads a form of one file with this many bytes, which are made as they are sent.
    pub async fn upload(&mut self, path: &str, name: &str, bytes: usize) -> io::Result<Answer> {
        static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];
        let file = format!("--part\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
        let end = "\r\n--part--\r\n";
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: multipart/form-data; boundary=part\r\ncontent-length: {}\r\n\r\n{file}",
            self.address,
            file.len() + bytes + end.len()
        );
        self.stream.write_all(head.as_bytes()).await?;
        for at in (0..bytes).step_by(PIECE.len()) {
            self.stream.write_all(&PIECE[..PIECE.len().min(bytes - at)]).await?;
        }
        self.stream.write_all(end.as_bytes()).await?;
        self.answer().await
    }

    /// Posts a request and passes every SSE event and the time it was read to `seen`, until the stream ends.
    pub async fn stream(&mut self, path: &str, body: &str, mut seen: impl FnMut(&[u8], Instant)) -> io::Result<()> {
        self.send("POST", path, body).await?;
        self.stream_begins().await?;
        self.events(|event| seen(event, Instant::now())).await
    }

    /// Opens a stream with GET, calls `opened`, and passes every SSE event to `seen`, until the stream ends.
    pub async fn follow(&mut self, path: &str, opened: impl FnOnce(), seen: impl FnMut(&[u8])) -> io::Result<()> {
        self.send("GET", path, "").await?;
        self.stream_begins().await?;
        opened();
        self.events(seen).await
    }

    async fn stream_begins(&mut self) -> io::Result<()> {
        let (status, length) = self.head().await?;
        if status != 200 || !matches!(length, Length::Chunked) {
            return Err(Error::other(format!("status {status} instead of a stream")));
        }
        Ok(())
    }

    async fn events(&mut self, mut seen: impl FnMut(&[u8])) -> io::Result<()> {
        let mut pending = Vec::new();
        while let Some(piece) = self.chunk().await? {
            pending.extend_from_slice(&piece);
            let mut done = 0;
            while let Some(end) = find(&pending[done..], b"\n\n") {
                seen(&pending[done..done + end]);
                done += end + 2;
            }
            pending.drain(..done);
        }
        Ok(())
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.authorization,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await
    }

    async fn answer(&mut self) -> io::Result<Answer> {
        let (status, length) = self.head().await?;
        let mut body = Vec::new();
        match length {
            Length::Bytes(count) => body = self.take(count).await?,
            Length::Chunked => {
                while let Some(piece) = self.chunk().await? {
                    body.extend_from_slice(&piece);
                }
            }
        }
        Ok(Answer { status, body })
    }

    async fn head(&mut self) -> io::Result<(u16, Length)> {
        let status = self.line().await?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut length = Length::Bytes(0);
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            match line.split_once(':').map(|(name, value)| (name, value.trim())) {
                Some(("content-length", value)) => length = Length::Bytes(value.parse().map_err(Error::other)?),
                Some(("transfer-encoding", "chunked")) => length = Length::Chunked,
                Some(_) => {}
                None => return status.map(|status| (status, length)).ok_or_else(|| Error::other("no status line")),
            }
        }
    }

    /// Returns the next chunk of a chunked body, or `None` at its end.
    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line().await?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
        let piece = self.take(size).await?;
        self.line().await?;
        Ok((size > 0).then_some(piece))
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer[self.at..], b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[self.at..self.at + end]).into_owned();
                self.at += end + 2;
                return Ok(line);
            }
            self.fill().await?;
        }
    }

    async fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() - self.at < count {
            self.fill().await?;
        }
        self.at += count;
        Ok(self.buffer[self.at - count..self.at].to_vec())
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        match timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await {
            Ok(Ok(0)) => Err(Error::other("the connection was closed")),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::other("no answer")),
        }
    }
}

pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
