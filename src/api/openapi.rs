//! The API's own description, and a page to try it.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use utoipa::OpenApi;

use super::app::App;
use super::routes::described;
use crate::api::chat::events::Notice;
use crate::api::chat::frame::Frame;

#[derive(OpenApi)]
#[openapi(
    info(title = "miniclaw", description = "A file-driven, fully transparent local AI agent."),
    components(schemas(Frame, Notice))
)]
struct Description;

/// The OpenAPI document, made from the routes that serve.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = described().into_openapi();
    document.merge(Description::openapi());
    document.info = Description::openapi().info;
    document
}

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/openapi.json", get(async || Json(document())))
        .route("/api/docs", get(async || asset("text/html; charset=utf-8", include_str!("docs/docs.html"))))
        .route("/api/docs.js", get(async || asset("text/javascript", include_str!("docs/docs.js"))))
        .route("/api/docs.css", get(async || asset("text/css", include_str!("docs/docs.css"))))
}

fn asset(kind: &'static str, body: &'static str) -> Response {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)], body).into_response()
}
