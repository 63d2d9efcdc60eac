//! The HTTP client of a server, with the events of an answer.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::provider::http_client_builder;
use crate::store::ServerContact;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum silence of a server: an idle stream has a comment every 15 seconds.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// Maximum wait for the works before an answer.
const QUEUED: Duration = Duration::from_secs(3600);
/// Maximum length of an event, in bytes.
pub(super) const MAX_EVENT: usize = 64 << 20;
const SECRET: HeaderName = HeaderName::from_static("x-miniclaw-secret");

pub struct Client {
    http: reqwest::Client,
    has_secret: bool,
    pub(super) base: Url,
}

/// What a server refused, or why it could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{message} ({code})")]
    Answered { code: String, message: String },
    #[error("this server needs a token: set MINICLAW_TOKEN to its token, or to an access token of yours")]
    SignedOut,
    #[error("the server at {base} does not answer: {cause}")]
    Unreachable { base: Url, cause: String },
}

/// The body of an error, with and without the envelope.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorText {
    error: Value,
    message: String,
}

impl Client {
    /// `token` is that of the person, and counts more than the secret of the server.
    pub fn new(contact: &ServerContact, token: Option<&str>) -> anyhow::Result<Self> {
        let base = Url::parse(&contact.url).with_context(|| format!("{} is no address of a server", contact.url))?;
        if !matches!(base.scheme(), "http" | "https") {
            bail!("{base} is no address of a server: it begins with http:// or https://");
        }
        let mut headers = HeaderMap::new();
        let secret = contact.secret.as_deref();
        let has_secret = secret.is_some();
        let bearer = token.or(secret).map(|token| (AUTHORIZATION, format!("Bearer {token}")));
        let secret = secret.map(|secret| (SECRET, secret.to_owned()));
        for (name, value) in bearer.into_iter().chain(secret) {
            let mut value =
                HeaderValue::from_str(&value).context("the token has characters that no header can have")?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let http = http_client_builder(&base, headers).connect_timeout(CONNECT_TIMEOUT).build()?;
        Ok(Self { http, has_secret, base })
    }

    /// Returns whether it has the secret of the server, so that its requests count as those of the page.
    pub fn has_secret(&self) -> bool {
        self.has_secret
    }

    /// Returns the address of the server's page.
    pub fn page(&self) -> &Url {
        &self.base
    }

    pub async fn get(&self, path: &str) -> Result<Value, Refused> {
        self.json(self.request(Method::GET, path)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Result<Value, Refused> {
        self.json(self.request(Method::PUT, path).json(&body)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value, Refused> {
        self.json(self.request(Method::POST, path).json(&body)).await
    }

    /// Sends a request whose answer takes longer than others.
    pub async fn post_within(&self, path: &str, body: Value, within: Duration) -> Result<Value, Refused> {
        let answered = async {
            let response = self.send(self.request(Method::POST, path).json(&body)).await?;
            response.json().await.map_err(|error| unreachable(&self.base, &error))
        };
        tokio::time::timeout(within, answered).await.unwrap_or_else(|_| Err(silent(&self.base)))
    }

    pub async fn delete(&self, path: &str) -> Result<Value, Refused> {
        self.json(self.request(Method::DELETE, path)).await
    }

    /// Sends a message and returns the events of its work.
    pub async fn chat(&self, message: Value) -> Result<Frames, Refused> {
        let sending = self.send(self.request(Method::POST, "api/chat").json(&message));
        let response = tokio::time::timeout(QUEUED, sending).await.unwrap_or_else(|_| Err(silent(&self.base)))?;
        Ok(Frames { response, base: self.base.clone(), bytes: Vec::new() })
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut url = self.base.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url.set_query(query);
        self.http.request(method, url)
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, Refused> {
        let answered =
            async { self.send(request).await?.json().await.map_err(|error| unreachable(&self.base, &error)) };
        tokio::time::timeout(SILENCE, answered).await.unwrap_or_else(|_| Err(silent(&self.base)))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Refused> {
        let response = request.send().await.map_err(|error| unreachable(&self.base, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(Refused::SignedOut);
        }
        let ErrorText { error, message } = response.json().await.unwrap_or_default();
        let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
        let (code, said) = (text("code"), text("message"));
        let message = [said, message].into_iter().find(|text| !text.is_empty());
        let message = message.unwrap_or_else(|| "the server refused the request".to_owned());
        let code = if code.is_empty() { status.as_str().to_owned() } else { code };
        Err(Refused::Answered { code, message })
    }
}

pub(super) fn unreachable(base: &Url, error: &reqwest::Error) -> Refused {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Refused::Unreachable { base: base.clone(), cause: cause.to_string() }
}

pub(super) fn silent(base: &Url) -> Refused {
    Refused::Unreachable { base: base.clone(), cause: "it took too long".to_owned() }
}

/// The events of a work.
pub struct Frames {
    response: Response,
    base: Url,
    /// What has arrived of lines that are not complete or not read yet.
    bytes: Vec<u8>,
}

impl Frames {
    /// Returns the id of the work.
    pub fn work_id(&self) -> Option<&str> {
        self.response.headers().get("x-work-id")?.to_str().ok()
    }

    /// Returns the data of the next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    return Ok(Some(serde_json::from_slice(data).context("the server sent an event that is no JSON")?));
                }
            }
            if self.bytes.len() > MAX_EVENT {
                bail!("the server sent an event that is too long");
            }
            let chunk = tokio::time::timeout(SILENCE, self.response.chunk()).await.map_err(|_| silent(&self.base))?;
            match chunk.map_err(|error| unreachable(&self.base, &error))? {
                Some(bytes) => self.bytes.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}
