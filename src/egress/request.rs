//! Reads the head of a proxy request, and rewrites it for the target server.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt};
use url::Url;

use crate::domain::proxy_request::{HEAD_END, HEAD_LIMIT, ProxyRequest};

/// Headers that are meant only for the proxy, or for one connection.
const NOT_PASSED_ON: [&str; 5] =
    ["proxy-authorization", "proxy-connection", "connection", "keep-alive", "proxy-authenticate"];

/// A request, and what followed its head.
#[derive(Debug)]
pub struct Request {
    pub head: ProxyRequest,
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
        if let Some(at) = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END) {
            break at;
        }
        if bytes.len() > HEAD_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if from.read_buf(&mut bytes).await? == 0 {
            return if bytes.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
    };
    let rest = bytes.split_off(end + HEAD_END.len());
    let head = ProxyRequest::parse(&bytes[..end]).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(Request { head, rest }))
}

impl Request {
    /// Returns the credentials as `user:password`.
    pub fn credentials(&self) -> Option<String> {
        let given = self.head.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"));
        let (scheme, coded) = given?.1.split_once(' ')?;
        let plain = scheme.eq_ignore_ascii_case("basic").then(|| BASE64_STANDARD.decode(coded.trim()).ok())??;
        String::from_utf8(plain).ok()
    }

    /// Returns the head for the target server: only the path, the host from the URL, and no headers for the proxy.
    pub fn for_server(&self, url: &Url) -> Vec<u8> {
        let ProxyRequest { method, version, headers, .. } = &self.head;
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut head = format!("{method} {path} {version}\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in headers {
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
        let url = request.head.destination().unwrap();
        assert_eq!(
            String::from_utf8(request.for_server(&url)).unwrap(),
            "POST /a%20b?c HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\nX: y\r\nContent-Length: 2\r\n\r\n"
        );
        assert_eq!(request.rest, b"hi");
    }

    #[tokio::test]
    async fn malformed_request_is_refused() {
        for text in ["GET http://a/\r\n\r\n", "GET http://a/ HTTP/1.1\r\n", ""] {
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
            if let Some(head) = ProxyRequest::parse(head.as_bytes()) {
                let request = Request { head, rest: Vec::new() };
                request.credentials();
                if let Some(url) = request.head.destination() {
                    let sent = String::from_utf8(request.for_server(&url)).unwrap();
                    let lines: Vec<&str> = sent.strip_suffix("\r\n\r\n").unwrap().split("\r\n").collect();
                    prop_assert!(lines.iter().all(|line| !line.is_empty() && !line.contains(['\r', '\n'])));
                    prop_assert_eq!(lines[0].split(' ').count(), 3);
                    let named = |name: &str| lines[1..].iter().filter(|l| l.to_ascii_lowercase().starts_with(name)).count();
                    prop_assert_eq!((named("host:"), named("connection:")), (1, 1));
                }
            }
        }
    }
}
