//! The OpenAPI document of this API, and a page to try it.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

use super::app::App;
use super::routes::add_all;
use crate::api::chat::events::Notice;
use crate::api::chat::frame::Frame;

#[derive(OpenApi)]
#[openapi(
    info(title = "miniclaw", description = "A file-driven, fully transparent local AI agent."),
    components(schemas(Frame, Notice))
)]
struct Description;

/// Returns the OpenAPI document, generated from the routes that the server uses.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = utoipa::openapi::OpenApi::default();
    add_all(&mut document);
    document.merge(Description::openapi());
    document.info = Description::openapi().info;
    for path in document.paths.paths.values_mut() {
        let PathItem { get, put, post, delete, patch, .. } = path;
        [get, put, post, delete, patch].into_iter().flatten().for_each(name_by_tag);
    }
    document
}

/// Prefixes the `operationId` with the tag (`sessions_list`, `files_list`): it must be unique, and handlers of
/// different modules may have the same name.
fn name_by_tag(operation: &mut Operation) {
    let tag = operation.tags.iter().flatten().next();
    if let (Some(tag), Some(id)) = (tag, &operation.operation_id) {
        operation.operation_id = Some(format!("{tag}_{id}"));
    }
}

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/openapi.json", get(served))
        .route("/api/docs", get(async || asset("text/html; charset=utf-8", include_str!("docs/page.html"))))
        .route("/api/docs.js", get(async || asset("text/javascript", include_str!("docs/script.js"))))
        .route("/api/docs.css", get(async || asset("text/css", include_str!("docs/style.css"))))
}

/// Serves the document. It is generated for each request and its memory is given back, because it is requested rarely
/// and takes megabytes to generate.
async fn served() -> Response {
    let made = tokio::task::spawn_blocking(|| {
        let bytes = serde_json::to_vec(&document());
        crate::heap::trim_heap();
        bytes
    });
    match made.await {
        Ok(Ok(bytes)) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn asset(kind: &'static str, body: &'static str) -> Response {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_has_tag_and_unique_id() {
        let document = serde_json::to_value(document()).unwrap();
        let paths = document["paths"].as_object().unwrap().values().filter_map(Value::as_object);
        let operations: Vec<&Value> = paths.flat_map(|path| path.values()).collect();
        let ids: BTreeSet<&str> =
            operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert!(operations.len() > 60, "{}", operations.len());
        assert_eq!(ids.len(), operations.len());
        let named = |operation: &&Value| {
            let (tag, id) = (operation["tags"][0].as_str().unwrap(), operation["operationId"].as_str().unwrap());
            id.strip_prefix(tag).is_some_and(|rest| rest.starts_with('_'))
        };
        assert!(operations.iter().all(named), "{ids:?}");
    }
}
