//! The server: routes, guard and limits put together, for as long as it runs.

use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;

use super::app::App;
use super::error::ApiError;
use super::routes::described;
use super::{guard, openapi, web};

/// The largest body of a request: a file for the editor, with room for its JSON.
const MAX_BODY: usize = 24 << 20;

/// How long a client may leave what was sent to it unread, or unacknowledged. Then the kernel closes its connection; a tab
/// comes back with its last id.
#[cfg(target_os = "linux")]
const UNREAD: Duration = Duration::from_secs(60);

/// A connection does not wait for ever for who does not read.
#[cfg(target_os = "linux")]
fn bound_unread(stream: &impl std::os::fd::AsFd) -> std::io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD))
}

/// Other kernels have no such option.
#[cfg(not(target_os = "linux"))]
fn bound_unread<S>(_: &S) -> std::io::Result<()> {
    Ok(())
}

/// Serves until `app.stopping` is cancelled; open streams end then.
pub async fn serve(app: App, listener: TcpListener) -> std::io::Result<()> {
    let (routes, _) = described().split_for_parts();
    let stopping = app.stopping.clone();
    let router: Router = routes
        .merge(openapi::routes())
        .fallback(web::asset)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| ApiError::panicked()))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app);
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // Tokens are small packets that must not wait for each other.
        if let Err(error) = stream.set_nodelay(true).and_then(|()| bound_unread(stream)) {
            tracing::debug!(%error, "a connection could not be prepared");
        }
    });
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, router).with_graceful_shutdown(async move { stopping.cancelled().await }).await
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_does_not_wait_for_ever_for_who_does_not_read() {
        use super::*;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (_client, (stream, _)) = (client.unwrap(), accepted.unwrap());
        assert_eq!(socket2::SockRef::from(&stream).tcp_user_timeout().unwrap(), None);
        bound_unread(&stream).unwrap();
        assert_eq!(socket2::SockRef::from(&stream).tcp_user_timeout().unwrap(), Some(UNREAD));
    }
}
