//! Accepts connections and closes stalled ones: a client that sends its request too slowly, or does not read, occupies
//! a connection for a bounded time only.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::security::client::OverTls;
use super::tls::{Opened, Tls};

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

/// Serves until `stopping` is cancelled, then until the requests under way are answered. With `tls` it serves HTTPS only.
pub async fn serve(listener: TcpListener, router: Router, tls: Option<Arc<Tls>>, stopping: CancellationToken) {
    let open = TaskTracker::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let service = TowerToHyperService::new(router.into_service::<Incoming>());
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
        let connection = Connection { http: http.clone(), service: service.clone(), stopping: stopping.clone() };
        let (tls, stopping) = (tls.clone(), stopping.clone());
        open.spawn(async move {
            let Some(tls) = tls else { return connection.answer(stream, peer, None).await };
            let opened = tokio::select! {
                opened = tls.handshake(stream) => opened,
                () = stopping.cancelled() => None,
            };
            match opened {
                Some(Opened::Tls(stream)) => connection.answer(*stream, peer, Some(OverTls)).await,
                Some(Opened::Plain(stream)) => connection.explain(stream).await,
                None => {}
            }
        });
    }
    drop(listener);
    open.close();
    open.wait().await;
}

/// What serves one connection.
struct Connection {
    http: http1::Builder,
    service: TowerToHyperService<RouterService>,
    stopping: CancellationToken,
}

type RouterService = axum::routing::RouterIntoService<Incoming>;

impl Connection {
    /// Answers the requests of a connection, until it becomes a WebSocket or ends.
    async fn answer<S>(self, stream: S, peer: SocketAddr, over_tls: Option<OverTls>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = self.service;
        let with_peer = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer));
            if let Some(over_tls) = over_tls {
                request.extensions_mut().insert(over_tls);
            }
            service.call(request)
        });
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), with_peer).with_upgrades());
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = self.stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "a connection ended");
        }
    }

    /// Answers one request of a client that speaks HTTP to a server with TLS.
    async fn explain(mut self, stream: TcpStream) {
        let explained = service_fn(|request: hyper::Request<Incoming>| {
            let answer = https_only(request.method(), request.uri(), request.headers());
            async { Ok::<_, std::convert::Infallible>(answer) }
        });
        self.http.keep_alive(false);
        let connection = self.http.serve_connection(TokioIo::new(stream), explained);
        tokio::select! {
            ended = connection => {
                if let Err(error) = ended {
                    tracing::trace!(%error, "a connection ended");
                }
            }
            () = self.stopping.cancelled() => {}
        }
    }
}

/// Returns the answer to a request without TLS. The visit of a page leads to the same page with TLS. Anything with a body or a
/// credential is refused, so that a program which sends its credential without encryption is corrected.
fn https_only(method: &Method, uri: &Uri, headers: &HeaderMap) -> Response<Body> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let is_plain = |host: &&str| host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let place = host.filter(is_plain).and_then(|host| HeaderValue::try_from(format!("https://{host}{path}")).ok());
    let is_visit = matches!(*method, Method::GET | Method::HEAD)
        && path.starts_with('/')
        && !path.starts_with("/api")
        && !headers.contains_key(header::AUTHORIZATION)
        && !headers.contains_key(header::COOKIE);
    let mut answer =
        Response::new(Body::from("This port speaks HTTPS only: use an address that begins with https://\n"));
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let fields = answer.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(place) = place.filter(|_| is_visit) {
        fields.insert(header::LOCATION, place);
        *answer.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    }
    answer
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
        tokio::spawn(serve(listener, router.layer(RequestBodyTimeoutLayer::new(BODY)), None, stopping.clone()));
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
