//! Assembles the server from routes, guard and limits.

use axum::extract::DefaultBodyLimit;
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use super::app::App;
use super::error::ApiError;
use super::metrics::counted;
use super::routes::add_all;
use super::security::guard;
use super::{aliases, connections, openapi, web};

/// Maximum bytes of a request body: a file for the editor, with room for its JSON encoding.
const MAX_BODY: usize = 24 << 20;

/// Returns what answers all requests.
pub fn router(app: App) -> Router {
    let mut routes = Router::new();
    add_all(&mut routes);
    let metrics = app.tenants.runtime().metrics.clone();
    let routes = routes
        .merge(openapi::routes())
        .merge(aliases::routes())
        .fallback(web::asset)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(RequestBodyTimeoutLayer::new(connections::BODY))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| ApiError::panicked()))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app);
    match metrics {
        Some(metrics) => routes.layer(middleware::from_fn_with_state(metrics, counted)),
        None => routes,
    }
}
