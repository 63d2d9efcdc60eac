//! Whether anybody listens at the address of a server.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::net::TcpStream;
use url::Url;

/// Maximum time to wait for a connection.
const LIMIT: Duration = Duration::from_millis(500);
/// After which time the log says again that this server is not reached.
const REPEATED_AFTER: Duration = Duration::from_secs(60);

/// Whether the machine at this address answers, and nobody listens there. A machine that does not answer says nothing.
pub async fn refuses(address: &str) -> bool {
    connected(address).await.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

async fn connected(address: &str) -> io::Result<TcpStream> {
    let no_address = || io::Error::new(ErrorKind::InvalidInput, "it is not an address of a server");
    let url = Url::parse(address).map_err(|_| no_address())?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Err(no_address()) };
    // An address of version 6 is in brackets in an URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    tokio::time::timeout(LIMIT, TcpStream::connect((host, port))).await?
}

/// Says in the log, again and again, if this server does not reach itself at the address that it tells the others.
pub async fn watch_own_address(address: String) {
    while let Err(error) = connected(&address).await {
        tracing::error!(
            %address, %error,
            "this server does not reach itself at store.address; if the others do not either, they cannot pass requests on to its homes"
        );
        tokio::time::sleep(REPEATED_AFTER).await;
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
