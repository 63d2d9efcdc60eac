//! Errors in the form of the OpenAI API: `{error: {message, type, param, code}}`.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api::error::{ApiError, RefusedWith};
use crate::domain::Outcome;
use crate::engine::raw_turns::RawRefused;
use crate::provider::ProviderError;

/// The body of an error response below `/v1`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OpenAiErrorBody {
    pub error: OpenAiError,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OpenAiError {
    /// What happened and what to do, as an English sentence.
    pub message: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The field of the request that is wrong, such as `messages[0].content`.
    pub param: Option<String>,
    /// A stable code for programs, e.g. `model_not_found`.
    pub code: Option<String>,
}

impl OpenAiError {
    /// Returns the error for a status and a code of this server.
    pub fn new(status: StatusCode, code: &str, message: String) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let code = match (status, code) {
            (StatusCode::UNAUTHORIZED, _) => "invalid_api_key",
            (_, code) => code,
        };
        Self { message, kind, param: None, code: Some(code.to_owned()) }
    }
}

/// Rewrites an error response in the form of the OpenAI API. Other responses stay as they are.
pub(in crate::api) fn openai_error(answer: Response) -> Response {
    let Some(RefusedWith { code, message, field }) = answer.extensions().get::<RefusedWith>().cloned() else {
        return answer;
    };
    // The API has one status for a body that is not valid.
    let status = match answer.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let error = OpenAiError { param: field, ..OpenAiError::new(status, code, message) };
    let (parts, _) = answer.into_parts();
    let mut rewritten = (status, Json(OpenAiErrorBody { error })).into_response();
    for kept in [header::RETRY_AFTER, header::ALLOW] {
        if let Some(value) = parts.headers.get(&kept) {
            rewritten.headers_mut().insert(kept, value.clone());
        }
    }
    rewritten
}

/// Returns the error of a field of the request.
pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> ApiError {
    ApiError::bad_request("invalid_value", message).of_field(field)
}

/// Returns the error of a parameter that this server does not have.
pub fn unsupported(field: &str, message: &str) -> ApiError {
    ApiError::bad_request("unsupported_parameter", message).of_field(field)
}

pub fn model_not_found(model: &str) -> ApiError {
    let message = format!("there is no model \"{model}\"; GET /v1/models lists those that there are");
    ApiError::new(StatusCode::NOT_FOUND, "model_not_found", message).of_field("model")
}

/// Returns the error of a work that failed, or was stopped with the server; `None` if it has an answer.
pub fn of_outcome(outcome: &Outcome) -> Option<ApiError> {
    match outcome {
        Outcome::Error { error, code, .. } => {
            let (status, code) = (status_of(code), known(code));
            Some(ApiError::new(status, code, error.clone()))
        }
        Outcome::Interrupted { detail, by: crate::domain::StoppedBy::Server } => {
            Some(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail.clone()))
        }
        Outcome::Done | Outcome::Length | Outcome::Refusal | Outcome::Interrupted { .. } | Outcome::Limit { .. } => {
            None
        }
    }
}

/// Returns the error of a provider.
pub fn of_provider(error: &ProviderError) -> ApiError {
    let (status, code) = (status_of(error.code()), known(error.code()));
    ApiError::new(status, code, error.to_string())
}

/// Returns the status for a code with which a work, or a request to a model, fails.
fn status_of(code: &str) -> StatusCode {
    match code {
        "usage_limit" | "own_usage_limit" | "rate_limited" | "quota" => StatusCode::TOO_MANY_REQUESTS,
        "context_overflow" => StatusCode::BAD_REQUEST,
        "no_model" | "timeout" | "unreachable" => StatusCode::SERVICE_UNAVAILABLE,
        "unknown_model" | "model_not_found" => StatusCode::NOT_FOUND,
        "internal" | "not_saved" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_GATEWAY,
    }
}

/// Returns the code as it is said to programs.
fn known(code: &str) -> &'static str {
    match code {
        "usage_limit" => "usage_limit",
        "own_usage_limit" => "own_usage_limit",
        "rate_limited" => "rate_limited",
        "quota" => "quota",
        "context_overflow" => "context_length_exceeded",
        "no_model" => "no_model",
        "unknown_model" | "model_not_found" => "model_not_found",
        "internal" | "not_saved" => "internal",
        _ => "work_failed",
    }
}

impl From<RawRefused> for ApiError {
    fn from(refused: RawRefused) -> Self {
        match refused {
            RawRefused::Engine(error) => error.into(),
            RawRefused::Limit(reached) => {
                let code = reached.code();
                Self::new(StatusCode::TOO_MANY_REQUESTS, code, reached.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn error_has_the_form_of_the_api() {
        let answer = openai_error(invalid("messages[1]", "it is empty").into_response());
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        let body = axum::body::to_bytes(answer.into_body(), 4096).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            body,
            serde_json::json!({"error": {"message": "it is empty", "type": "invalid_request_error",
                "param": "messages[1]", "code": "invalid_value"}})
        );
    }

    #[test]
    fn kind_follows_the_status() {
        let kind = |status| OpenAiError::new(status, "x", String::new());
        assert_eq!(kind(StatusCode::UNAUTHORIZED).code.as_deref(), Some("invalid_api_key"));
        assert_eq!(kind(StatusCode::TOO_MANY_REQUESTS).kind, "rate_limit_error");
        assert_eq!(kind(StatusCode::BAD_GATEWAY).kind, "server_error");
        assert_eq!(kind(StatusCode::NOT_FOUND).kind, "invalid_request_error");
    }
}
