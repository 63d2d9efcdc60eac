//! Reads the head of a proxy request, validates it, and rewrites it for the target server.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt};
use url::Url;

/// Maximum bytes of a request's head; no valid one is longer.
const HEAD_LIMIT: usize = 64 << 10;

/// Headers that are meant only for the proxy, or for one connection.
const NOT_PASSED_ON: [&str; 5] =
    ["proxy-authorization", "proxy-connection", "connection", "keep-alive", "proxy-authenticate"];

#[derive(Debug)]
pub struct Request {
    method: String,
    /// `host:port` for a tunnel, otherwise a whole URL.
    target: String,
    version: String,
    headers: Vec<(String, String)>,
    /// Bytes that were received after the head.
    pub rest: Vec<u8>,
}

/// Reads the head of a request. Returns `None` if the client closes the connection without sending one.
///
/// # Errors
/// Returns an error if the connection breaks, or the bytes are not the head of an HTTP request.
pub async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > HEAD_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if from.read_buf(&mut bytes).await? == 0 {
            return if bytes.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
    };
    let rest = bytes.split_off(end + 4);
    parse(&bytes[..end], rest).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(head: &[u8], rest: Vec<u8>) -> Option<Request> {
    let head = std::str::from_utf8(head).ok()?;
    // Some servers treat a lone control character as a line end, and others do not.
    if head.replace("\r\n", "").contains(|c: char| c.is_control() && c != '\t') {
        return None;
    }
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&b))
    };
    if words.next().is_some() || !version.starts_with("HTTP/1.") || !is_token(method) {
        return None;
    }
    let headers = lines
        .map(|line| line.split_once(':').filter(|(name, _)| is_token(name)))
        .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.trim().to_owned())))
        .collect::<Option<Vec<_>>>()?;
    let [method, target, version] = [method, target, version].map(str::to_owned);
    Some(Request { method, target, version, headers, rest })
}

impl Request {
    pub fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }

    /// Returns the credentials as `user:password`.
    pub fn credentials(&self) -> Option<String> {
        let given = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"));
        let (scheme, coded) = given?.1.split_once(' ')?;
        let plain = scheme.eq_ignore_ascii_case("basic").then(|| BASE64_STANDARD.decode(coded.trim()).ok())??;
        String::from_utf8(plain).ok()
    }

    /// Returns the requested destination, for the guard to check.
    pub fn destination(&self) -> Option<Url> {
        if !self.is_tunnel() {
            return Url::parse(&self.target).ok();
        }
        // The whole target must be host and port: no part of it may become a path or a user name.
        let has_more = self.target.contains(['/', '\\', '?', '#', '@']);
        let port = self.target.rsplit_once(':')?.1;
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if has_more || !is_port { None } else { Url::parse(&format!("https://{}/", self.target)).ok() }
    }

    /// Returns the head for the target server: only the path, the host from the URL, and no headers for the proxy.
    pub fn for_server(&self, url: &Url) -> Vec<u8> {
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut head = format!("{} {path} {}\r\nHost: {host}\r\nConnection: close\r\n", self.method, self.version);
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            if lower != "host" && !NOT_PASSED_ON.contains(&lower.as_str()) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn request(text: &str) -> Option<Request> {
        read(&mut text.as_bytes()).await.ok().flatten()
    }

    #[tokio::test]
    async fn rewritten_request_drops_credentials() {
        let text = "POST http://Example.com:8080/a%20b?c#d HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic dTpw\r\n\
                    Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\nX: y\r\nContent-Length: 2\r\n\r\nhi";
        let request = request(text).await.unwrap();
        assert_eq!(request.credentials().as_deref(), Some("u:p"));
        let url = request.destination().unwrap();
        assert_eq!(
            String::from_utf8(request.for_server(&url)).unwrap(),
            "POST /a%20b?c HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\nX: y\r\nContent-Length: 2\r\n\r\n"
        );
        assert_eq!(request.rest, b"hi");
    }

    #[tokio::test]
    async fn tunnel_request_names_only_host_and_port() {
        for (target, destination) in [
            ("example.com:443", Some("https://example.com/")),
            ("[::1]:8443", Some("https://[::1]:8443/")),
            ("127.0.0.1:80", Some("https://127.0.0.1:80/")),
            ("example.com", None),
            ("example.com:", None),
            ("example.com:443/x", None),
            ("user@example.com:443", None),
            ("example.com:443@127.0.0.1:80", None),
            ("example.com:x", None),
            (":443", None),
        ] {
            let request = request(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await.unwrap();
            assert_eq!(request.destination().map(String::from).as_deref(), destination, "{target}");
        }
    }

    #[tokio::test]
    async fn malformed_request_is_refused() {
        for text in [
            "GET http://a/\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "GET http://a/ b HTTP/1.1\r\n\r\n",
            "G\u{e9}T http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA : b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n",
            "",
        ] {
            assert!(request(text).await.is_none(), "{text:?}");
        }
        let endless = format!("GET http://a/ HTTP/1.1\r\nA: {}", "b".repeat(HEAD_LIMIT * 2));
        assert!(request(&endless).await.is_none());
    }

    proptest! {
        #[test]
        fn rewritten_head_is_one_head_of_complete_lines(
            method in "GET|POST|CONNECT|[A-Z~]{1,5}|\\PC{0,4}",
            target in "http://(u:p@)?[a-z]{1,8}(\\.test)?(:[0-9]{1,6})?(/[ -~]{0,12})?|[ -~]{0,20}|\\PC{0,12}",
            headers in proptest::collection::vec(("Host|Connection|[A-Za-z-]{1,8}|[ -~]{0,6}", "[ -~]{0,12}|[\r\n\t a-z:]{0,8}"), 0..5),
        ) {
            let mut head = format!("{method} {target} HTTP/1.1\r\n");
            headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            let head = head.trim_end_matches("\r\n");
            if let Some(request) = parse(head.as_bytes(), Vec::new()) {
                request.credentials();
                if let Some(url) = request.destination() {
                    let sent = String::from_utf8(request.for_server(&url)).unwrap();
                    let lines: Vec<&str> = sent.strip_suffix("\r\n\r\n").unwrap().split("\r\n").collect();
                    prop_assert!(lines.iter().all(|line| !line.is_empty() && !line.contains(['\r', '\n'])));
                    prop_assert_eq!(lines[0].split(' ').count(), 3);
                    let named = |name: &str| lines[1..].iter().filter(|l| l.to_ascii_lowercase().starts_with(name)).count();
                    prop_assert_eq!((named("host:"), named("connection:")), (1, 1));
                }
            }
        }

        #[test]
        fn any_request_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes, Vec::new());
        }
    }
}
