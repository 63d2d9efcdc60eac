//! Requests of other tools to the services that they use, through the same guard, time limit and size limit as pages.

use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::get::{FetchError, Fetched, Getter};
use super::{FetchConfig, TIME};
use crate::egress::Guard;

/// One request to a service.
pub struct ApiRequest {
    pub(super) url: Url,
    pub(super) accept: &'static str,
    /// A header with a key. A request with a key, or with a body, does not follow redirects.
    pub(super) key: Option<(&'static str, SecretString)>,
    pub(super) body: Option<Value>,
}

impl ApiRequest {
    pub fn get(url: Url, accept: &'static str) -> Self {
        Self { url, accept, key: None, body: None }
    }

    /// Returns a request with a body of JSON.
    pub fn post(url: Url, body: Value) -> Self {
        Self { url, accept: "application/json", key: None, body: Some(body) }
    }

    pub fn with_key(self, header: &'static str, value: SecretString) -> Self {
        Self { key: Some((header, value)), ..self }
    }
}

/// Why a service gave no usable answer. No text names a key or quotes what the service said.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("{0}")]
    Configuration(String),
    #[error("the key was refused")]
    Key,
    #[error("too many requests")]
    TooMany,
    #[error("the server answered {0}")]
    Status(u16),
    #[error("the answer does not have the documented form")]
    Answer,
    #[error("no complete answer within {0} s")]
    Timeout(u64),
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

/// The client of such requests.
pub struct ApiClient(Getter);

impl ApiClient {
    pub fn new(config: FetchConfig) -> Self {
        let guard = Guard::new(&config.allow_hosts).but_not(config.own_port);
        Self(Getter::new(guard, config.lookup))
    }

    /// Sends a request and returns its answer, whatever its status is.
    ///
    /// # Errors
    /// Returns an error if the address may not be reached or does not answer in time.
    pub async fn send(&self, request: ApiRequest) -> Result<Fetched, ApiError> {
        match tokio::time::timeout(TIME, self.0.send(request)).await {
            Ok(fetched) => Ok(fetched?),
            Err(_) => Err(ApiError::Timeout(TIME.as_secs())),
        }
    }
}
