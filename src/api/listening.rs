//! The server's address from the moment it is bound: until the server is ready, `/ready` says so, and every other request
//! waits for it.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::RouterIntoService;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::connections;
use super::security::guard;
use super::server::router;
use super::status::ready::{READY_PATH, starting};
use super::tls::Tls;
use crate::heap;

/// An address that accepts connections. Dropping it closes the address.
pub struct Listening {
    entrance: Entrance,
    stopping: CancellationToken,
    connections: JoinHandle<()>,
}

/// Where requests go.
#[derive(Clone, Default)]
struct Entrance {
    /// Empty while the server starts.
    router: Arc<OnceLock<TowerToHyperService<RouterIntoService<Body>>>>,
    opened: CancellationToken,
}

impl Listening {
    /// Accepts connections. With `tls` they speak HTTPS only.
    pub fn start(listener: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        let (entrance, stopping) = (Entrance::default(), CancellationToken::new());
        let waiting = Router::new().fallback(enter).with_state(entrance.clone());
        let connections = tokio::spawn(connections::serve(listener, waiting, tls, stopping.clone()));
        Self { entrance, stopping, connections }
    }

    /// Returns the token that ends all connections when it is cancelled.
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Answers requests from now on.
    pub fn open(&self, app: App) {
        let _ = self.entrance.router.set(TowerToHyperService::new(router(app).into_service()));
        self.entrance.opened.cancel();
        // What was needed to start is given back.
        tokio::task::spawn_blocking(heap::trim_heap);
    }

    /// Waits until the requests under way are answered, after [`Listening::stopping`] was cancelled.
    pub async fn closed(&mut self) {
        if let Err(error) = (&mut self.connections).await {
            tracing::error!(%error, "the task that accepts connections ended");
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.connections.abort();
    }
}

async fn enter(State(entrance): State<Entrance>, request: Request) -> Response {
    if entrance.router.get().is_none() && request.uri().path() == READY_PATH {
        return guard::harden(starting().into_response());
    }
    entrance.opened.cancelled().await;
    let router = entrance.router.get().expect("it is set before the entrance is opened");
    let Ok(answer) = router.call(request).await;
    answer
}
