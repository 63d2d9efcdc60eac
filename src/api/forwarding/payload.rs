//! The body of a request that is passed on. A short one is kept, so that the request can be sent twice; a long one is a stream,
//! which is never in memory as a whole.

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use tokio::time::timeout;

use crate::api::connections::BODY;
use crate::api::error::ApiError;

/// Maximum bytes of a body that is kept.
const KEPT: u64 = 64 << 10;

pub enum Payload {
    Kept(Bytes),
    /// `None` once it was sent.
    Stream(Option<Body>),
}

impl Payload {
    /// Reads a short body.
    ///
    /// # Errors
    /// Returns `body_incomplete` if a short body does not arrive.
    pub async fn of(headers: &HeaderMap, body: Body) -> Result<Self, ApiError> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if body.is_end_stream() {
            return Ok(Self::Kept(Bytes::new()));
        }
        if length.is_none_or(|length| length > KEPT) {
            return Ok(Self::Stream(Some(body)));
        }
        match timeout(BODY, to_bytes(body, KEPT as usize)).await {
            Ok(Ok(bytes)) => Ok(Self::Kept(bytes)),
            Ok(Err(_)) | Err(_) => {
                let message = "the body of the request did not arrive in time; send it again";
                Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_incomplete", message))
            }
        }
    }

    /// Returns the body for one attempt; `None` if it was sent already and is not kept.
    pub fn take(&mut self) -> Option<Body> {
        match self {
            Self::Kept(bytes) => Some(Body::from(bytes.clone())),
            Self::Stream(body) => body.take(),
        }
    }
}

/// Whether a request that may have been carried out can be sent again: it only reads, or its key makes two of it one.
pub fn is_repeatable(Parts { method, uri, headers, .. }: &Parts) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    reads || headers.contains_key("idempotency-key") && counts_key(uri.path())
}

/// Whether the key of a request to this path makes two of it one. Elsewhere nothing looks at it.
fn counts_key(path: &str) -> bool {
    path.starts_with("/v1/") || path.ends_with("/messages") || path.contains("/regenerate/")
}
