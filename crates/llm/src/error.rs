//! The errors of a request, and how the caller can react to them.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// One variant for each way in which the caller can react.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The caller must change the request. 400.
    #[error("{0}")]
    BadRequest(String),
    /// The caller must send less. 400, code `context_length_exceeded`. Both numbers are tokens.
    #[error(
        "the system prompt and the last message need {needed} tokens; together with the answer at most {limit} fit"
    )]
    TooLong { needed: usize, limit: usize },
    /// The caller must send the secret. 401.
    #[error("missing or wrong bearer token")]
    Unauthorized,
    /// The caller must use a loopback host name. 403.
    #[error("only requests to 127.0.0.1 or localhost are answered")]
    ForeignHost,
    /// The caller can retry later. 503 with `Retry-After`.
    #[error("the queue is full: {0} requests are waiting")]
    Busy(usize),
    /// The server must be restarted with another model. 503.
    #[error("the model could not be loaded: {0}")]
    NotLoaded(String),
    /// The caller cannot do anything about it. 500.
    #[error("{0}")]
    Internal(String),
}

impl ApiError {
    /// Returns the HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::TooLong { .. } => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::ForeignHost => StatusCode::FORBIDDEN,
            Self::Busy(_) | Self::NotLoaded(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "invalid_request",
            Self::TooLong { .. } => "context_length_exceeded",
            Self::Unauthorized => "invalid_api_key",
            Self::ForeignHost => "foreign_host",
            Self::Busy(_) => "queue_full",
            Self::NotLoaded(_) => "model_not_loaded",
            Self::Internal(_) => "internal_error",
        }
    }

    /// Returns the OpenAI error object, `{"error":{"message","type","code",…}}`. If the prompt is too long, the
    /// object also has `n_prompt_tokens` and `n_ctx`.
    pub fn body(&self) -> Value {
        let kind = match self.status() {
            StatusCode::BAD_REQUEST => "invalid_request_error",
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "authentication_error",
            _ => "server_error",
        };
        let mut error = json!({"message": self.to_string(), "type": kind, "code": self.code()});
        if let Self::TooLong { needed, limit } = self {
            error["n_prompt_tokens"] = json!(needed);
            error["n_ctx"] = json!(limit);
        }
        json!({ "error": error })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.body())).into_response();
        if matches!(self, Self::Busy(_)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_prompt_error_has_token_counts() {
        let error = ApiError::TooLong { needed: 9000, limit: 8192 };
        assert_eq!(error.status(), StatusCode::BAD_REQUEST);
        let body = error.body();
        assert_eq!(body["error"]["code"], "context_length_exceeded");
        assert_eq!(body["error"]["n_prompt_tokens"], 9000);
        assert_eq!(body["error"]["n_ctx"], 8192);
    }

    #[test]
    fn full_queue_error_has_retry_after() {
        let response = ApiError::Busy(32).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
    }
}
