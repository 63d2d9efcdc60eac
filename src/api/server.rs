//! Assembles the server from routes, guard and limits, and runs it.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use super::app::App;
use super::error::ApiError;
use super::routes::add_all;
use super::security::guard;
use super::tls::Tls;
use super::{aliases, connections, openapi, web};
use crate::heap;

/// Maximum bytes of a request body: a file for the editor, with room for its JSON encoding.
const MAX_BODY: usize = 24 << 20;

/// Serves until `app.stopping` is cancelled, which also ends open streams. With `tls` it serves HTTPS only.
pub async fn serve(app: App, listener: TcpListener, tls: Option<Arc<Tls>>) {
    let mut routes = Router::new();
    add_all(&mut routes);
    let stopping = app.stopping.clone();
    let router: Router = routes
        .merge(openapi::routes())
        .merge(aliases::routes())
        .fallback(web::asset)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(RequestBodyTimeoutLayer::new(connections::BODY))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| ApiError::panicked()))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app);
    // What was needed to start is given back.
    tokio::task::spawn_blocking(heap::trim_heap);
    connections::serve(listener, router, tls, stopping).await;
}
