//! Accepts connections and closes stalled ones: a client that sends its request too slowly, or does not read, occupies
//! a connection for a bounded time only.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Maximum time to receive a request's line and headers. A connection without a request is closed after it, too.
const HEADERS: Duration = Duration::from_secs(30);
/// Maximum time between two chunks of a request's body.
pub const BODY: Duration = Duration::from_secs(30);
/// How long a client may leave sent data unread or unacknowledged; then the kernel closes the connection
/// (`TCP_USER_TIMEOUT`). A tab reconnects with its last id.
#[cfg(target_os = "linux")]
const UNREAD: Duration = Duration::from_secs(60);
/// Pause after `accept` fails, for instance because too many files are open.
const NO_MORE: Duration = Duration::from_secs(1);

/// Serves until `stopping` is cancelled, then until the requests under way are answered.
pub async fn serve(listener: TcpListener, router: Router, stopping: CancellationToken) {
    let service = TowerToHyperService::new(router.into_service::<Incoming>());
    let open = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                refused(error).await;
                continue;
            }
        };
        if let Err(error) = prepare(&stream) {
            tracing::debug!(%error, "a connection could not be prepared");
        }
        let service = service.clone();
        let with_peer = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer));
            service.call(request)
        });
        let connection = open.watch(http.serve_connection(TokioIo::new(stream), with_peer));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::trace!(%error, "a connection ended");
            }
        });
    }
    drop(listener);
    open.shutdown().await;
}

async fn refused(error: io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "no connection can be accepted");
        sleep(NO_MORE).await;
    }
}

/// Disables Nagle's algorithm, because tokens are small packets that must not wait for each other, and limits how long
/// data may stay unacknowledged.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tower_http::timeout::RequestBodyTimeoutLayer;

    async fn started() -> (SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stopping) = (listener.local_addr().unwrap(), CancellationToken::new());
        let router = Router::new().route("/", post(|body: String| async move { body }));
        tokio::spawn(serve(listener, router.layer(RequestBodyTimeoutLayer::new(BODY)), stopping.clone()));
        (address, stopping)
    }

    /// Returns what the server sends to a client that sends `sent` and then nothing, until the connection ends.
    async fn said_to(sent: &str) -> String {
        let (address, _stopping) = started().await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(sent.as_bytes()).await.unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        said
    }

    #[tokio::test(start_paused = true)]
    async fn client_with_unfinished_request_is_disconnected() {
        for begun in ["", "POST / HT", "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
            let said = said_to(begun).await;
            assert!(!said.contains("200 OK"), "{said}");
        }
        let said = said_to("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nslow").await;
        assert!(said.starts_with("HTTP/1.1 400"), "{said}");
        let whole = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nwell";
        assert!(said_to(whole).await.starts_with("HTTP/1.1 200"), "the same, sent whole, is answered");
    }

    #[tokio::test]
    async fn shutdown_closes_idle_connections() {
        let (address, stopping) = started().await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nwell").await.unwrap();
        let mut first = [0; 12];
        client.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stopping.cancel();
        client.read_to_end(&mut Vec::new()).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn stalled_reader_is_disconnected() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (_client, (stream, _)) = (client.unwrap(), accepted.unwrap());
        assert_eq!(socket2::SockRef::from(&stream).tcp_user_timeout().unwrap(), None);
        prepare(&stream).unwrap();
        assert_eq!(socket2::SockRef::from(&stream).tcp_user_timeout().unwrap(), Some(UNREAD));
    }
}
