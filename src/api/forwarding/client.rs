//! The HTTP client that servers of a cluster use among themselves: HTTP/1.1 with kept connections, over TLS to those whose address
//! begins with `https`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

/// Maximum time to make a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long an unused connection is kept. The other server closes it after 30 seconds.
const IDLE: Duration = Duration::from_secs(20);
/// Maximum number of unused connections to one server.
const MAX_IDLE: usize = 32;
/// The kernel asks the other machine this often whether it is still there while nothing is sent, and gives up after
/// [`PROBES`] times without an answer.
const PROBE_EVERY: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;
/// How long sent data may stay unacknowledged.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

pub type HopClient = Client<HttpsConnector<HttpConnector>, Body>;

/// Makes a client that trusts these authorities. It follows no redirect, asks no proxy, and has no limit of time once it is connected.
pub fn hop_client(authorities: RootCertStore) -> HopClient {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_keepalive(Some(PROBE_EVERY));
    tcp.set_keepalive_interval(Some(PROBE_EVERY));
    tcp.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let tls = tls.expect("the provider has the default versions").with_root_certificates(authorities);
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls.with_no_client_auth()).https_or_http().enable_http1();
    let connector = connector.wrap_connector(tcp);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MAX_IDLE)
        .build(connector)
}
