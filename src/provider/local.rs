//! A client for what the embedded model's server (`miniclaw-llm`) offers beyond the chat API: its health and the shared
//! prefix.

use std::time::Duration;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{Client, ModelRequest};

/// The state of the embedded model, from `GET /health`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LocalHealth {
    /// `loading`, `ready` or `failed`.
    pub status: String,
    #[serde(default)]
    pub detail: Option<String>,
    /// 0 to 1 while loading.
    #[serde(default)]
    pub progress: Option<f32>,
    #[serde(default)]
    pub prefix: Prefix,
}

/// The state of the prompt prefix that all sessions share: `none`, `reading` or `ready`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Prefix {
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub progress: Option<f32>,
}

/// A running `miniclaw-llm` on this machine.
#[derive(Clone)]
pub struct LocalServer {
    base: Url,
    secret: SecretString,
    http: reqwest::Client,
}

/// Request timeout: the server answers from memory, so one that takes longer hangs.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

impl LocalServer {
    /// Creates a client. `base` is the address that the server printed, e.g. `http://127.0.0.1:40123`.
    pub fn new(base: Url, secret: SecretString) -> Result<Self, String> {
        let http = super::client::build(&base, HeaderMap::new()).map_err(|error| error.to_string())?;
        Ok(Self { base, secret, http })
    }

    /// Requests the health of the server.
    ///
    /// # Errors
    /// Returns a message if the server does not answer, or answers in an unexpected form.
    pub async fn health(&self) -> Result<LocalHealth, String> {
        let url = self.base.join("health").map_err(|error| error.to_string())?;
        let answer = self.http.get(url).timeout(REQUEST_TIMEOUT).send().await.map_err(|error| error.to_string())?;
        answer.json().await.map_err(|error| error.to_string())
    }

    /// Makes the server read the prompt prefix that all requests share. Returns at once; [`LocalServer::health`]
    /// reports the progress.
    pub async fn set_prefix(&self, client: &Client, request: &ModelRequest) -> Result<(), String> {
        let url = self.base.join("v1/prefix").map_err(|error| error.to_string())?;
        let sent = self.http.post(url).timeout(REQUEST_TIMEOUT).bearer_auth(self.secret.expose_secret());
        let answer = sent.json(&client.body(request)).send().await.map_err(|error| error.to_string())?;
        if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status())) }
    }
}
