//! Records which hosts a job asks for that has no network. The job sees an HTTP proxy, which answers every request with a
//! refusal. It connects to nothing and never blocks; what the job sends is bounded in size, time and number.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use crate::domain::EgressAttempts;
use crate::domain::egress::short;
use crate::domain::proxy_request::{HEAD_END, HEAD_LIMIT, ProxyRequest, host_of};

/// Maximum simultaneous connections; others wait.
const MAX_CONNECTIONS: usize = 32;
/// Maximum time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes read of a request's body, for the client to receive the answer instead of a reset.
const BODY_LIMIT: usize = 1 << 20;
const CHUNK: usize = 4 << 10;

const REFUSED: (&str, &str) = (
    "403 Forbidden",
    "miniclaw: a command has no network while it is tried out. A call with \"network\": true asks the user for it first.\n",
);
const MALFORMED: (&str, &str) = ("400 Bad Request", "miniclaw: this is not a request to a proxy.\n");

/// The listener of a job, with its connections.
pub struct EgressRecorder {
    /// Absent if the system accepts no more connections.
    listener: Option<TcpListener>,
    connections: Vec<Connection>,
    attempts: EgressAttempts,
}

struct Connection {
    stream: TcpStream,
    until: Instant,
    phase: Phase,
}

enum Phase {
    /// The head received so far.
    Head(Vec<u8>),
    /// Number of bytes received since the answer.
    Answered(usize),
}

/// What a connection does next.
enum Next {
    Continue,
    /// It has asked for a host and was answered.
    Refused(String),
    Close,
}

impl EgressRecorder {
    /// `listener` must not block.
    pub fn new(listener: TcpListener) -> Self {
        Self { listener: Some(listener), connections: Vec::new(), attempts: EgressAttempts::default() }
    }

    /// Returns the descriptors that [`Self::serve`] should be called for when one of them is readable.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let has_room = self.connections.len() < MAX_CONNECTIONS;
        let listener = self.listener.as_ref().filter(|_| has_room).map(AsRawFd::as_raw_fd);
        listener.into_iter().chain(self.connections.iter().map(|connection| connection.stream.as_raw_fd()))
    }

    /// Returns the time after which [`Self::serve`] should be called although nothing is readable.
    pub fn timeout(&self) -> Option<Duration> {
        let first = self.connections.iter().map(|connection| connection.until).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Handles what has arrived, without waiting for more. Returns the hosts that are new in the list.
    pub fn serve(&mut self) -> Vec<String> {
        self.accept();
        let mut new = Vec::new();
        let attempts = &mut self.attempts;
        self.connections.retain_mut(|connection| match connection.advance() {
            Next::Continue => true,
            Next::Close => false,
            Next::Refused(host) => {
                if attempts.refuse(&host) {
                    new.push(short(&host).to_owned());
                }
                true
            }
        });
        new
    }

    /// Returns the number of attempts to reach hosts for which the list has no room.
    pub fn more(&self) -> u64 {
        self.attempts.more
    }

    fn accept(&mut self) {
        while self.connections.len() < MAX_CONNECTIONS {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                    let until = Instant::now() + CONNECTION_TIMEOUT;
                    self.connections.push(Connection { stream, until, phase: Phase::Head(Vec::new()) });
                }
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    // Out of descriptors. The listener would stay readable, and the supervisor would do nothing else.
                    _ => self.listener = None,
                },
            }
        }
    }
}

impl Connection {
    /// Handles at most one chunk, so that no connection keeps the supervisor from its other work.
    fn advance(&mut self) -> Next {
        if Instant::now() >= self.until {
            return Next::Close;
        }
        let mut chunk = [0; CHUNK];
        let got = match self.stream.read(&mut chunk) {
            Ok(0) => return Next::Close,
            Ok(got) => got,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Next::Continue;
            }
            Err(_) => return Next::Close,
        };
        match &mut self.phase {
            Phase::Answered(received) => {
                *received += got;
                if *received > BODY_LIMIT { Next::Close } else { Next::Continue }
            }
            Phase::Head(head) => {
                // The end of the head may have begun in an earlier chunk.
                let from = head.len().saturating_sub(HEAD_END.len() - 1);
                head.extend_from_slice(&chunk[..got]);
                let end = head[from..].windows(HEAD_END.len()).position(|window| window == HEAD_END);
                let host = match end {
                    Some(end) => requested_host(&head[..from + end]),
                    None if head.len() > HEAD_LIMIT => None,
                    None => return Next::Continue,
                };
                self.answer(host)
            }
        }
    }

    fn answer(&mut self, host: Option<String>) -> Next {
        self.phase = Phase::Answered(0);
        let answer = if host.is_some() { REFUSED } else { MALFORMED };
        // An answer fits the empty buffer of a new connection.
        let sent = self.stream.write(response(answer).as_bytes()).and_then(|_| self.stream.shutdown(Shutdown::Write));
        match (host, sent) {
            (Some(host), _) => Next::Refused(host),
            (None, Ok(())) => Next::Continue,
            (None, Err(_)) => Next::Close,
        }
    }
}

/// Returns a response that announces one byte more than it has. To some programs (curl) a refusal is a page like any other:
/// with this they fail, as they do without a proxy.
fn response((status, text): (&str, &str)) -> String {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// Returns the host that a head asks for: of a tunnel, or of a URL whose kind has hosts.
fn requested_host(head: &[u8]) -> Option<String> {
    let url = ProxyRequest::parse(head)?.destination()?;
    Some(host_of(&url)).filter(|host| url.is_special() && !host.is_empty())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::domain::egress::MAX_HOSTS;

    struct Proxy {
        recorder: EgressRecorder,
        port: u16,
        hosts: Vec<String>,
    }

    impl Proxy {
        fn new() -> Self {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            listener.set_nonblocking(true).unwrap();
            let port = listener.local_addr().unwrap().port();
            Self { recorder: EgressRecorder::new(listener), port, hosts: Vec::new() }
        }

        fn client(&self) -> TcpStream {
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap()
        }

        /// Serves until `done`.
        fn until(&mut self, mut done: impl FnMut(&Self) -> bool) {
            let limit = Instant::now() + Duration::from_secs(20);
            while !done(self) {
                assert!(Instant::now() < limit, "never happened");
                self.hosts.extend(self.recorder.serve());
                std::thread::yield_now();
            }
        }

        /// Sends a request in pieces of this size and returns the answer.
        fn exchange(&mut self, request: &[u8], piece: usize) -> String {
            let mut client = self.client();
            client.set_nonblocking(true).unwrap();
            let (mut answer, mut left) = (Vec::new(), request);
            self.until(|_| {
                let sent = client.write(&left[..left.len().min(piece)]).unwrap_or(0);
                left = &left[sent..];
                let mut chunk = [0; 1024];
                match client.read(&mut chunk) {
                    Ok(0) => true,
                    Ok(got) => {
                        answer.extend_from_slice(&chunk[..got]);
                        false
                    }
                    Err(error) => error.kind() != ErrorKind::WouldBlock,
                }
            });
            String::from_utf8(answer).unwrap()
        }
    }

    #[test]
    fn hosts_are_recorded_once_and_refused() {
        let mut proxy = Proxy::new();
        for (request, piece) in [
            ("CONNECT b.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", 1),
            ("GET http://u:secret@A.example/path?key=secret HTTP/1.1\r\nHost: other.example\r\n\r\n", 3),
            ("POST http://a.example:8080/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 1_000),
            ("CONNECT b.example:443 HTTP/1.1\r\n\r\n", 1_000),
            ("GET ftp://c.example/ HTTP/1.0\r\n\r\n", 1_000),
        ] {
            let answer = proxy.exchange(request.as_bytes(), piece);
            assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("\"network\": true"), "{answer}");
        }
        assert_eq!(proxy.hosts, ["b.example", "a.example", "a.example:8080", "c.example:21"]);
    }

    #[test]
    fn anything_else_is_answered_without_a_host() {
        let mut proxy = Proxy::new();
        let endless = [b"GET http://a.example/ HTTP/1.1\r\nA: ".as_slice(), &vec![b'b'; HEAD_LIMIT * 2]].concat();
        for request in [
            b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".as_slice(),
            b"\x16\x03\x01\x02\x00\x01\x00\x00\r\n\r\n",
            b"CONNECT a.example:443\r\nX: y HTTP/1.1\r\n\r\n",
            b"CONNECT a\x1b[2Jb.example:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a\xe2\x80\xae\xff.example:443 HTTP/1.1\r\n\r\n",
            b"GET http://a.example\n.b.example/ HTTP/1.1\r\n\r\n",
            b"GET x://a.example/ HTTP/1.1\r\n\r\n",
            b"GET data:text/plain,x HTTP/1.1\r\n\r\n",
            &endless,
        ] {
            let answer = proxy.exchange(request, CHUNK);
            assert!(answer.starts_with("HTTP/1.1 400 "), "{}: {answer}", request.escape_ascii());
        }
        assert_eq!(proxy.hosts, Vec::<String>::new());
    }

    #[test]
    fn silent_clients_wait_and_others_get_their_turn() {
        let mut proxy = Proxy::new();
        let silent: Vec<TcpStream> = (0..MAX_CONNECTIONS + 8).map(|_| proxy.client()).collect();
        proxy.until(|proxy| proxy.recorder.connections.len() == MAX_CONNECTIONS);
        assert_eq!(proxy.recorder.descriptors().count(), MAX_CONNECTIONS, "the listener waits");
        assert!(proxy.recorder.timeout().is_some_and(|left| left <= CONNECTION_TIMEOUT));
        for connection in &mut proxy.recorder.connections {
            connection.until = Instant::now();
        }
        assert_eq!(proxy.recorder.timeout(), Some(Duration::ZERO));
        proxy.until(|proxy| proxy.recorder.connections.len() == 8);
        let answer = proxy.exchange(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", 100);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        drop(silent);
        proxy.until(|proxy| proxy.recorder.connections.is_empty());
        assert_eq!((proxy.recorder.timeout(), proxy.recorder.descriptors().count()), (None, 1));
    }

    #[test]
    fn hosts_beyond_the_list_are_counted() {
        let mut proxy = Proxy::new();
        for number in 0..MAX_HOSTS + 3 {
            proxy.exchange(format!("CONNECT {number}.example:443 HTTP/1.1\r\n\r\n").as_bytes(), 100);
        }
        assert_eq!((proxy.hosts.len(), proxy.recorder.more()), (MAX_HOSTS, 3));
    }
}
