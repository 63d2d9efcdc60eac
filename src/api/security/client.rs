//! Where a request comes from: the address of the client, and whether it used TLS.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName};

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::domain::TrustedProxy;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The mark of a request that came over this server's own TLS.
#[derive(Clone, Copy, Debug)]
pub struct OverTls;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub address: IpAddr,
    pub is_over_tls: bool,
}

impl Peer {
    pub fn of(extensions: &Extensions) -> Self {
        let known = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
        let address = known.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Self { address, is_over_tls: extensions.get::<OverTls>().is_some() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub address: IpAddr,
    pub is_https: bool,
}

impl Client {
    /// Returns the client of a connection from `peer`. What a trusted proxy has added counts; anybody else can write
    /// anything into these headers, so they are ignored.
    pub fn of(proxies: &[TrustedProxy], peer: Peer, headers: &HeaderMap) -> Self {
        let is_proxy = |address: &IpAddr| proxies.iter().any(|proxy| proxy.is_at(*address));
        if !is_proxy(&peer.address) {
            return Self { address: peer.address, is_https: peer.is_over_tls };
        }
        let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
        let mut passed: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        let mut address = peer.address;
        // From the nearest to the farthest: what is beyond the first stranger may be invented.
        while is_proxy(&address)
            && let Some(before) = passed.pop()
        {
            let Ok(before) = before.parse::<IpAddr>() else { break };
            address = before;
        }
        let protocol = headers.get_all(FORWARDED_PROTO).iter().next_back().and_then(|value| value.to_str().ok());
        let said = protocol.map(|value| value.rsplit(',').next().is_some_and(|last| last.trim() == "https"));
        let is_https = said.unwrap_or(peer.is_over_tls);
        Self { address, is_https }
    }
}

impl FromRequestParts<App> for Peer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Ok(Self::of(&parts.extensions))
    }
}

impl FromRequestParts<App> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self::of(&app.access.proxies, Peer::of(&parts.extensions), &parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str], protocol: &str) -> (String, bool) {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        headers.insert(FORWARDED_PROTO, protocol.parse().unwrap());
        let proxies = ["10.0.0.1", "10.0.0.2", "10.7.0.0/16"].map(|proxy| proxy.parse().unwrap());
        let peer = Peer { address: peer.parse().unwrap(), is_over_tls: false };
        let client = Client::of(&proxies, peer, &headers);
        (client.address.to_string(), client.is_https)
    }

    #[test]
    fn only_a_trusted_proxy_names_the_client() {
        assert_eq!(client("192.0.2.1", &["1.1.1.1"], "https"), ("192.0.2.1".to_owned(), false));
        assert_eq!(client("10.0.0.1", &["1.1.1.1"], "https"), ("1.1.1.1".to_owned(), true));
        assert_eq!(client("10.7.3.1", &["1.1.1.1"], "https"), ("1.1.1.1".to_owned(), true));
        assert_eq!(client("10.0.0.1", &["6.6.6.6, 1.1.1.1", "10.0.0.2"], "http"), ("1.1.1.1".to_owned(), false));
        assert_eq!(client("10.0.0.1", &["nonsense"], "http"), ("10.0.0.1".to_owned(), false));
        assert_eq!(client("::ffff:10.0.0.1", &["2001:db8::1"], "https"), ("2001:db8::1".to_owned(), true));
        assert_eq!(client("10.0.0.1", &[], "https, http"), ("10.0.0.1".to_owned(), false));
    }

    #[test]
    fn own_tls_counts_unless_a_proxy_says_otherwise() {
        let proxy = IpAddr::from([10, 0, 0, 1]);
        let is_https = |address, protocol: Option<&str>| {
            let lines = protocol.map(|protocol| (FORWARDED_PROTO, protocol.parse().unwrap()));
            let headers: HeaderMap = lines.into_iter().collect();
            Client::of(&["10.0.0.1".parse().unwrap()], Peer { address, is_over_tls: true }, &headers).is_https
        };
        let stranger = IpAddr::from([192, 0, 2, 1]);
        assert!(is_https(stranger, None) && is_https(stranger, Some("http")) && is_https(proxy, None));
        assert!(is_https(proxy, Some("https")) && !is_https(proxy, Some("http")));
    }
}
