//! The server: its state, its routes, its life.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::Access;
use super::{chat, events, files, guard, openapi, prompt, sessions, settings, status, tokens, web};
use crate::engine::Engine;
use crate::engine::watch::{Saves, Skills};

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub engine: Arc<Engine>,
    pub skills: Arc<Skills>,
    pub saves: Arc<Saves>,
    pub access: Arc<Access>,
    /// What a person should know about this server: warnings from the start.
    pub problems: Arc<Vec<String>>,
    /// One sentence about what tools' processes may do.
    pub sandbox: Arc<str>,
    pub sandbox_level: &'static str,
    /// Unix seconds.
    pub started_at: f64,
    /// Ends streams when the server stops.
    pub stopping: CancellationToken,
}

/// The largest body of a request: a file for the editor, with room for its JSON.
const MAX_BODY: usize = 24 << 20;

/// All routes that the OpenAPI document describes.
pub(super) fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(status::health))
        .routes(routes!(status::status))
        .routes(routes!(status::models))
        .routes(routes!(status::login))
        .routes(routes!(chat::chat))
        .routes(routes!(events::all_events))
        .routes(routes!(events::session_events))
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::rename, sessions::delete))
        .routes(routes!(sessions::restore))
        .routes(routes!(sessions::messages, sessions::say))
        .routes(routes!(sessions::history))
        .routes(routes!(sessions::interrupt))
        .routes(routes!(sessions::generate_title))
        .routes(routes!(sessions::compress))
        .routes(routes!(files::read, files::save))
        .routes(routes!(files::list))
        .routes(routes!(files::skills))
        .routes(routes!(tokens::session_tokens))
        .routes(routes!(tokens::file_tokens))
        .routes(routes!(settings::rag_mode, settings::set_rag_mode))
        .routes(routes!(prompt::prompt))
}

/// Serves until `app.stopping` is cancelled; open streams end then.
pub async fn serve(app: App, listener: TcpListener) -> std::io::Result<()> {
    let (routes, _) = described().split_for_parts();
    let stopping = app.stopping.clone();
    let router: Router = routes
        .merge(openapi::routes())
        .fallback(web::asset)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| openapi::panicked()))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app);
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // Tokens are small packets that must not wait for each other.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
    });
    axum::serve(listener, router).with_graceful_shutdown(async move { stopping.cancelled().await }).await
}
