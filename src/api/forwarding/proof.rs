//! The header with which one server tells another who the client of a request is. It counts only with the cluster's secret.
//!
//! Its value is `1 TIME ADDRESS SCHEME MAC`: the shared time in milliseconds, the other end of the connection that the first
//! server has, and its scheme. The MAC is HMAC-SHA-256 over these and over the method, the path, the query and the `Host` of the
//! request, so that the header counts for this request only, and for half a minute. The first server has checked `Host` and
//! `Origin` before it signs.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderName, HeaderValue, StatusCode, header};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::api::error::ApiError;
use crate::api::security::client::{OverTls, Peer};

pub const FORWARDED: HeaderName = HeaderName::from_static("x-miniclaw-forwarded");
/// How long the header counts, and how far the shared time of two servers may differ.
const VALIDITY: Duration = Duration::from_secs(30);
/// Maximum bytes of the header.
const MAX_VALUE: usize = 256;

/// The mark of a request that another server of the cluster has passed on, and for which it has checked `Host` and `Origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarded;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Statement {
    millis: u64,
    peer: IpAddr,
    is_over_tls: bool,
}

/// Signs and checks the header.
pub struct Key(Hmac<Sha256>);

impl Key {
    pub fn of(secret: &SecretString) -> Self {
        let keyed = |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
        let derived = keyed(secret.expose_secret().as_bytes()).chain_update(b"miniclaw forwarding 1").finalize();
        Self(keyed(&derived.into_bytes()))
    }

    /// Returns the header for a request that is passed on.
    pub fn sign(&self, parts: &Parts, now: Duration) -> HeaderValue {
        let Peer { address, is_over_tls } = Peer::of(&parts.extensions);
        let statement = Statement { millis: millis(now), peer: address, is_over_tls };
        let mac = self.mac(&statement, parts).finalize().into_bytes();
        let text = format!("1 {} {}", statement.text(), base16ct::lower::encode_string(&mac));
        HeaderValue::try_from(text).expect("numbers, an address and hexadecimal digits")
    }

    /// Removes the header from a request. If there is one and it counts, the request gets the connection that the header tells of,
    /// and the mark [`Forwarded`].
    ///
    /// # Errors
    /// Returns `bad_forward` if there is a header that does not count: it was invented, or the servers have different secrets.
    pub fn receive(&self, request: &mut Request, now: Duration) -> Result<(), ApiError> {
        if !request.headers().contains_key(FORWARDED) {
            return Ok(());
        }
        let (mut parts, body) = std::mem::take(request).into_parts();
        let statement = self.checked(&parts, now);
        parts.headers.remove(FORWARDED);
        if let Some(statement) = statement {
            statement.apply(&mut parts.extensions);
        }
        *request = Request::from_parts(parts, body);
        statement.map(drop).ok_or_else(bad_forward)
    }

    fn checked(&self, parts: &Parts, now: Duration) -> Option<Statement> {
        let mut given = parts.headers.get_all(FORWARDED).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return None };
        let text = value.to_str().ok().filter(|text| text.len() <= MAX_VALUE)?;
        let (said, mac) = text.strip_prefix("1 ")?.rsplit_once(' ')?;
        let statement = Statement::parse(said)?;
        let mut bytes = [0; 32];
        let mac = base16ct::lower::decode(mac, &mut bytes).ok()?;
        self.mac(&statement, parts).verify_slice(mac).ok()?;
        (statement.millis.abs_diff(millis(now)) <= millis(VALIDITY)).then_some(statement)
    }

    /// None of the parts can contain a line break.
    fn mac(&self, statement: &Statement, parts: &Parts) -> Hmac<Sha256> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = parts.headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
        let mut mac = self.0.clone();
        for part in [statement.text().as_bytes(), parts.method.as_str().as_bytes(), path.as_bytes(), host] {
            mac.update(part);
            mac.update(b"\n");
        }
        mac
    }
}

impl Statement {
    fn text(&self) -> String {
        let scheme = if self.is_over_tls { "https" } else { "http" };
        format!("{} {} {scheme}", self.millis, self.peer)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (millis, peer, scheme) = (parts.next()?, parts.next()?, parts.next()?);
        let is_over_tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let read = Self { millis: millis.parse().ok()?, peer: peer.parse().ok()?, is_over_tls };
        parts.next().is_none().then_some(read)
    }

    /// Gives a request the connection of its client, in place of that of the other server.
    fn apply(&self, extensions: &mut Extensions) {
        extensions.insert(ConnectInfo(SocketAddr::new(self.peer, 0)));
        extensions.remove::<OverTls>();
        if self.is_over_tls {
            extensions.insert(OverTls);
        }
        extensions.insert(Forwarded);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn bad_forward() -> ApiError {
    let message = "another server of the cluster is said to have passed this request on, and the proof of it is wrong; give all \
                   servers the same store.cluster_secret";
    ApiError::new(StatusCode::FORBIDDEN, "bad_forward", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    const NOW: Duration = Duration::from_secs(1_764_327_600);

    fn key() -> Key {
        Key::of(&"the secret of the cluster, forty letters".to_owned().into())
    }

    fn request(path: &str, host: &str) -> Request {
        let builder = axum::http::Request::builder().method("POST").uri(path).header(header::HOST, host);
        builder.body(Body::empty()).unwrap()
    }

    /// Returns the header for a request of a client over TLS.
    fn signed(path: &str) -> HeaderValue {
        let (mut parts, _) = request(path, "desk.example").into_parts();
        parts.extensions.insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 4000))));
        parts.extensions.insert(OverTls);
        key().sign(&parts, NOW)
    }

    fn received(header: &HeaderValue, mut request: Request, now: Duration) -> Result<Peer, &'static str> {
        request.headers_mut().insert(FORWARDED, header.clone());
        // The connection of the other server.
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 5], 5000))));
        let told = key().receive(&mut request, now);
        assert!(!request.headers().contains_key(FORWARDED));
        told.map_err(|error| error.code)?;
        assert!(request.extensions().get::<Forwarded>().is_some());
        Ok(Peer::of(request.extensions()))
    }

    #[test]
    fn header_counts_for_its_request_and_half_a_minute() {
        let header = signed("/api/x?y=1");
        let same = || request("/api/x?y=1", "desk.example");
        let peer = received(&header, same(), NOW + Duration::from_secs(29)).unwrap();
        assert_eq!((peer.address, peer.is_over_tls), (IpAddr::from([192, 0, 2, 7]), true));
        for late in [NOW + Duration::from_secs(31), NOW - Duration::from_secs(31)] {
            assert_eq!(received(&header, same(), late), Err("bad_forward"));
        }
        let mut other_method = same();
        *other_method.method_mut() = axum::http::Method::PUT;
        for other in [
            request("/api/x?y=2", "desk.example"),
            request("/api/y?y=1", "desk.example"),
            request("/api/x?y=1", "evil.example"),
            other_method,
        ] {
            assert_eq!(received(&header, other, NOW), Err("bad_forward"));
        }
    }

    #[test]
    fn changed_header_does_not_count() {
        let text = signed("/api/x").to_str().unwrap().to_owned();
        assert!(received(&text.parse().unwrap(), request("/api/x", "desk.example"), NOW).is_ok());
        let uppercase = text.to_ascii_uppercase();
        for changed in [
            text.replace("192.0.2.7", "192.0.2.8"),
            text.replace("https", "http"),
            text.replace("1764327600000", "1764327600001"),
            format!("{text}0"),
            text[..text.len() - 1].to_owned(),
            text[..text.len() - 64].to_owned(),
            format!("{text} "),
            text.replacen("1 ", "2 ", 1),
            uppercase,
        ] {
            assert_ne!(changed, text);
            let changed = changed.parse().unwrap();
            assert_eq!(received(&changed, request("/api/x", "desk.example"), NOW), Err("bad_forward"), "{changed:?}");
        }
        let mut twice = request("/api/x", "desk.example");
        twice.headers_mut().append(FORWARDED, signed("/api/x"));
        twice.headers_mut().append(FORWARDED, signed("/api/x"));
        assert_eq!(key().receive(&mut twice, NOW).map_err(|error| error.code), Err("bad_forward"));
        assert!(!twice.headers().contains_key(FORWARDED), "it is removed in any case");
    }

    #[test]
    fn request_without_the_header_is_untouched() {
        let mut plain = request("/api/x", "desk.example");
        plain.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 4000))));
        key().receive(&mut plain, NOW).unwrap();
        assert_eq!(Peer::of(plain.extensions()).address, IpAddr::from([192, 0, 2, 7]));
        assert!(plain.extensions().get::<Forwarded>().is_none());
    }
}
