//! The HTTP client that servers of a cluster use among themselves: HTTP/1.1 with kept connections.

use std::time::Duration;

use axum::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

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

pub type HopClient = Client<HttpConnector, Body>;

/// Makes a client. It follows no redirect, asks no proxy, and has no limit of time once it is connected.
pub fn hop_client() -> HopClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    connector.set_keepalive(Some(PROBE_EVERY));
    connector.set_keepalive_interval(Some(PROBE_EVERY));
    connector.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MAX_IDLE)
        .build(connector)
}
