//! Figures for monitoring: `GET /metrics`, and what counts every request.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::forwarding::home_moving;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::engine::metrics::Metrics;
use crate::sandbox::OwnProcess;

pub const METRICS_PATH: &str = "/metrics";
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Figures about the server, in the text format of OpenMetrics. Only if `metrics` in config.yml is on; with several people only for
/// admins. A token of `miniclaw token add --scope metrics` reads them, and nothing else.
#[utoipa::path(get, path = "/metrics", tag = "status",
    responses((status = 200, content_type = "application/openmetrics-text", body = String)))]
pub async fn metrics(State(app): State<App>, requester: Requester) -> Result<Response, ApiError> {
    requester.person.rights().require(Right::ManageServer)?;
    if app.people.as_ref().is_some_and(|people| !people.is_current()) {
        return Err(home_moving());
    }
    let Some(metrics) = app.tenants.runtime().metrics.clone() else {
        let message = "this server counts nothing; `metrics: true` in config.yml and a restart change that";
        return Err(ApiError::new(StatusCode::NOT_FOUND, "metrics_off", message));
    };
    let now = app.tenants.snapshot().await?;
    let exposition = metrics.exposition(&now, &OwnProcess::now(app.started_at));
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], exposition).into_response())
}

/// Counts a request.
pub async fn counted(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let method = method(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let answer = next.run(request).await;
    let route = route.as_ref().map(MatchedPath::as_str);
    metrics.answered((method, route), answer.status().as_u16(), since.elapsed());
    answer
}

/// Returns a method that this server knows, so that clients cannot make up labels.
fn method(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}
