//! What the framework refuses, in the words and the form of this API.

use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;

/// Maximum bytes of the framework's error text that are passed on.
const MAX_ERROR_TEXT_BYTES: usize = 4096;

/// Rewrites error responses of the framework (a missing query field, a method that a path does not support) in this
/// API's format.
pub(super) async fn normalize_error_response(answer: Response) -> Response {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !(status.is_client_error() || status.is_server_error()) || kind.starts_with("application/json") {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let text = axum::body::to_bytes(body, MAX_ERROR_TEXT_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let text = match text.strip_prefix("Failed to deserialize query string: ") {
        Some(why) => format!("the query is not valid: {why}"),
        None => text,
    };
    let (code, default) = match status {
        StatusCode::METHOD_NOT_ALLOWED => ("wrong_method", "method not allowed; see GET /api/docs"),
        _ => ("bad_request", status.canonical_reason().unwrap_or("the request was refused")),
    };
    let mut normalized =
        ApiError::new(status, code, if text.is_empty() { default.to_owned() } else { text }).into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        normalized.headers_mut().insert(header::ALLOW, allow.clone());
    }
    normalized
}

impl ApiError {
    pub(super) fn not_json() -> Self {
        let message = "send a JSON body with Content-Type: application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message)
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        if matches!(rejection, JsonRejection::MissingJsonContentType(_)) {
            return Self::not_json();
        }
        let text = rejection.body_text();
        let message = match (&rejection, text.split_once(": ")) {
            (JsonRejection::JsonDataError(_), Some((_, why))) => format!("a field of the body is not valid: {why}"),
            (JsonRejection::JsonSyntaxError(_), Some((_, why))) => format!("the body is not valid JSON: {why}"),
            _ => text,
        };
        Self::new(rejection.status(), "bad_json", message)
    }
}
