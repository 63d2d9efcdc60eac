//! Whether anybody listens at the address of a server.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::net::TcpStream;
use url::Url;

/// Maximum time to wait for a connection.
const LIMIT: Duration = Duration::from_millis(500);

/// Whether the machine at this address answers, and nobody listens there. A machine that does not answer says nothing.
pub async fn refuses(address: &str) -> bool {
    let Some(url) = Url::parse(address).ok() else { return false };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
    // An address of version 6 is in brackets in an URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::time::timeout(LIMIT, TcpStream::connect((host, port))).await {
        Ok(Err(error)) => error.kind() == ErrorKind::ConnectionRefused,
        Ok(Ok(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_closed_port_refuses() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        assert!(!refuses(&address).await, "it listens");
        drop(listener);
        assert!(refuses(&address).await);
        for unknown in ["", "http://", "not an address"] {
            assert!(!refuses(unknown).await, "{unknown:?} says nothing");
        }
    }
}
