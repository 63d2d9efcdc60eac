//! Routes of earlier API versions and of the source documents, kept for their clients. The OpenAPI document does not list
//! them.

use axum::Router;
use axum::routing::{get, post, put};

use super::app::App;
use super::sessions::{archive, compacted, compress, operations};

/// The path of the operations in the session-operations document.
pub(super) const OPERATIONS: &str = "/getSessionOperations";

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route(OPERATIONS, get(operations::session_operations))
        .route("/api/sessions/{id}/away", put(archive::archive).delete(archive::unarchive))
        .route("/api/sessions/{id}/archives", get(compacted::compacted_parts))
        .route("/api/sessions/{id}/archives/{name}", get(compacted::compacted))
        .route("/api/sessions/{id}/archives/{name}/restore", post(compress::restore_compacted))
}
