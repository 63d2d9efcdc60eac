//! What the embedded model's server (`miniclaw-llm`) offers beside the chat API: its health, and the shared prefix.

use std::time::Duration;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{Client, ModelRequest};

/// How the embedded model is, as `GET /health` says.
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

/// The prompt that all sessions share: `none`, `reading` or `ready`.
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

/// It answers from memory; longer means that it hangs.
const PATIENCE: Duration = Duration::from_secs(5);

impl LocalServer {
    /// `base` is the address it printed, e.g. `http://127.0.0.1:40123`.
    pub fn new(base: Url, secret: SecretString) -> Result<Self, String> {
        let http = super::client::build(&base, HeaderMap::new()).map_err(|error| error.to_string())?;
        Ok(Self { base, secret, http })
    }

    /// # Errors
    /// A sentence, when it does not answer or not as expected.
    pub async fn health(&self) -> Result<LocalHealth, String> {
        let url = self.base.join("health").map_err(|error| error.to_string())?;
        let answer = self.http.get(url).timeout(PATIENCE).send().await.map_err(|error| error.to_string())?;
        answer.json().await.map_err(|error| error.to_string())
    }

    /// Has it read the prompt that all requests begin with. Answers at once; [`LocalServer::health`] tells how it comes on.
    pub async fn set_prefix(&self, client: &Client, request: &ModelRequest) -> Result<(), String> {
        let url = self.base.join("v1/prefix").map_err(|error| error.to_string())?;
        let sent = self.http.post(url).timeout(PATIENCE).bearer_auth(self.secret.expose_secret());
        let answer = sent.json(&client.body(request)).send().await.map_err(|error| error.to_string())?;
        if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status())) }
    }
}
