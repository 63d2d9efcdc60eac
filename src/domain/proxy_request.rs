//! The head of an HTTP request to a proxy: which host it asks for. Heads come from commands, so nothing in them is trusted.

use url::Url;

/// Maximum bytes of a head; no valid one is longer.
pub const HEAD_LIMIT: usize = 64 << 10;
/// What ends a head.
pub const HEAD_END: &[u8] = b"\r\n\r\n";

/// A parsed head.
#[derive(Debug)]
pub struct ProxyRequest {
    pub(crate) method: String,
    /// `host:port` for a tunnel, otherwise a whole URL.
    pub(crate) target: String,
    pub(crate) version: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl ProxyRequest {
    /// Parses a head without its [`HEAD_END`]; `None` if it is not the head of an HTTP/1 request.
    pub fn parse(head: &[u8]) -> Option<Self> {
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
        Some(Self { method, target, version, headers })
    }

    pub fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }

    /// Returns the requested destination, which is not checked.
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
}

/// Returns the host of a URL, with its port unless that is 80 or 443.
pub fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    match url.port_or_known_default() {
        Some(80 | 443) | None => host,
        Some(port) => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tunnel_request_names_only_host_and_port() {
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
            let request = ProxyRequest::parse(format!("CONNECT {target} HTTP/1.1").as_bytes()).unwrap();
            assert_eq!(request.destination().map(String::from).as_deref(), destination, "{target}");
        }
    }

    #[test]
    fn malformed_head_is_refused() {
        for text in [
            "GET http://a/",
            "GET http://a/ HTTP/2",
            "GET http://a/ b HTTP/1.1",
            "G\u{e9}T http://a/ HTTP/1.1",
            "GET http://a/ HTTP/1.1\r\nno colon",
            "GET http://a/ HTTP/1.1\r\nA: b\r\n folded",
            "GET http://a/ HTTP/1.1\r\nA: b\nHost: c",
            "GET http://a/ HTTP/1.1\r\nA : b",
            "",
        ] {
            assert!(ProxyRequest::parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }

    #[test]
    fn host_is_shown_without_the_usual_ports() {
        for (url, host) in [
            ("https://Example.com/a?b#c", "example.com"),
            ("http://u:p@a.test:8080/", "a.test:8080"),
            ("https://a.test:80/", "a.test"),
            ("http://[::1]:8443/", "[::1]:8443"),
        ] {
            assert_eq!(host_of(&Url::parse(url).unwrap()), host);
        }
    }

    proptest! {
        #[test]
        fn any_head_is_handled_and_hosts_are_plain(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            target in "(https?://|ftp://|x://)?(u:p@)?\\PC{0,12}(:[0-9]{1,6})?(/[ -~]{0,12})?",
        ) {
            ProxyRequest::parse(&bytes);
            for method in ["GET", "CONNECT"] {
                let request = ProxyRequest::parse(format!("{method} {target} HTTP/1.1").as_bytes());
                if let Some(url) = request.and_then(|request| request.destination()).filter(Url::is_special) {
                    let host = host_of(&url);
                    prop_assert!(host.bytes().all(|byte| byte.is_ascii_graphic()), "{host:?}");
                }
            }
        }
    }
}
