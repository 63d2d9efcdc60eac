//! The client of one provider.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use super::adapt::Adjustment;
use super::classify::ErrorContext;
use super::error::{ConnectionFailure, KeyProblem, ProviderError};
use super::health::HealthLog;
use super::profile::{Api, Profile, Thinking, is_loopback};
use super::reach::ReachableNames;
use super::turn::AnswerStream;
use super::{Endpoint, Finish, ModelRequest, StreamChunk, body};

/// The path of the embeddings API, relative to the base address.
pub(super) const EMBEDDINGS: &str = "/embeddings";
/// The version of Anthropic's API that every server with this API knows. Later ones refuse fields that some models need.
const ANTHROPIC_VERSION: &str = "2023-06-01";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that is cheap to create and to clone. Its connections stay open between turns.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    /// Overrides the profile's choice.
    thinking: Option<Thinking>,
    /// Whom the answers are for, and so what their errors say.
    audience: Audience,
}

/// Whom errors are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Somebody who configures the server.
    #[default]
    Admin,
    /// Somebody who does not: errors do not name the provider's address.
    Member,
}

/// State shared by all requests of one client.
pub(super) struct Shared {
    pub endpoint: Endpoint,
    pub error_context: Arc<ErrorContext>,
    url: Url,
    /// Created by the first request: loading the certificates takes longer than everything else.
    http: OnceLock<reqwest::Client>,
    /// Changes that the provider asked for; applied to every later request.
    changes: Mutex<Vec<Adjustment>>,
    /// Whether the provider answers.
    pub health: HealthLog,
}

impl Audience {
    /// Returns an error as this audience is told of it. What a member is not told is in the server's log.
    pub(super) fn told(self, error: ProviderError) -> ProviderError {
        match (self, &error) {
            (Self::Member, ProviderError::Unreachable { .. }) => {
                tracing::warn!(%error, "a provider cannot be reached");
                error.without_address()
            }
            (Self::Admin | Self::Member, _) => error,
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.shared.endpoint).finish()
    }
}

impl Client {
    /// Creates a client; sends nothing. Fails only if the address or the key cannot be used in a request.
    pub fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        Self::logging(endpoint, HealthLog::default())
    }

    /// As [`Client::new`]; records in `health` whether the provider answers.
    pub fn logging(endpoint: Endpoint, health: HealthLog) -> Result<Self, ProviderError> {
        let path = endpoint.profile.api.path();
        let shared = Shared { health, ..Shared::new(endpoint, path)? };
        Ok(Self { shared: Arc::new(shared), thinking: None, audience: Audience::Admin })
    }

    /// Returns a client for the same provider with thinking on or off. Has no effect if the model has no such switch.
    pub fn with_thinking(&self, thinking: Thinking) -> Self {
        Self { thinking: Some(thinking), ..self.clone() }
    }

    /// Returns a client for the same provider whose errors are for `audience`.
    pub fn with_audience(&self, audience: Audience) -> Self {
        Self { audience, ..self.clone() }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }

    /// Returns the exact JSON of the next request, unless the provider refuses one of its fields (`adapt`). Contains no
    /// key.
    pub fn body(&self, request: &ModelRequest) -> Value {
        let profile = &self.shared.endpoint.profile;
        match self.thinking {
            Some(thinking) if profile.can_switch_thinking() => {
                self.body_for(&Profile { thinking, ..profile.clone() }, request)
            }
            Some(_) | None => self.body_for(profile, request),
        }
    }

    /// Returns how many changes to the body the provider has asked for (`adapt`).
    pub fn changes(&self) -> usize {
        self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the stream of an answer. Sends nothing until it is polled; dropping it cancels the request.
    pub fn turn(&self, request: &ModelRequest) -> AnswerStream {
        AnswerStream::new(self.shared.clone(), (self.body(request), self.audience))
    }

    /// Returns the whole text of an answer without thoughts, for titles and summaries. Turns thinking off if the model
    /// has a switch. An answer that reached its output limit is not an error.
    pub async fn complete(&self, request: &ModelRequest) -> Result<String, ProviderError> {
        let profile = Profile { thinking: Thinking::Off, ..self.shared.endpoint.profile.clone() };
        let mut turn = AnswerStream::new(self.shared.clone(), (self.body_for(&profile, request), self.audience));
        let mut text = String::new();
        while let Some(chunk) = turn.next().await {
            match chunk? {
                StreamChunk::Text(more) => text.push_str(&more),
                StreamChunk::Finish(Finish::Refusal) if text.is_empty() => {
                    return Err(ProviderError::Refused {
                        provider: self.shared.error_context.provider.clone(),
                        status: 200,
                        provider_message: "the model declined to answer".to_owned(),
                    });
                }
                StreamChunk::Status { .. }
                | StreamChunk::Thinking(_)
                | StreamChunk::Reasoning(_)
                | StreamChunk::ToolCallStart { .. }
                | StreamChunk::ToolCallArguments { .. }
                | StreamChunk::Usage(_)
                | StreamChunk::Finish(_) => {}
            }
        }
        if text.is_empty() { Err(self.shared.error_context.empty()) } else { Ok(text) }
    }

    /// Creates a client with the DNS resolver of a test.
    #[cfg(test)]
    pub(super) fn resolving(endpoint: Endpoint, names: Arc<impl reqwest::dns::Resolve + 'static>) -> Self {
        let client = Self::new(endpoint).expect("an endpoint");
        let http = builder(&client.shared.url, HeaderMap::new()).dns_resolver(names).build().expect("a client");
        client.shared.http.set(http).expect("nothing was sent yet");
        client
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn body_for(&self, profile: &Profile, request: &ModelRequest) -> Value {
        let Endpoint { model, context_window, .. } = &self.shared.endpoint;
        let origin = &self.shared.endpoint.origin();
        let to = body::Recipient { profile, model, origin, context_window: *context_window };
        let mut body = body::body(to, request);
        let changes = self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.iter().for_each(|change| change.apply(&mut body));
        body
    }
}

impl Shared {
    /// Creates the shared state. `path` is that of an API, relative to the base address.
    pub fn new(endpoint: Endpoint, path: &str) -> Result<Self, ProviderError> {
        let error_context = Arc::new(error_context(&endpoint));
        let url = api_url(&endpoint.base_url, (endpoint.profile.api, path));
        let url = url.map_err(|why| error_context.unreachable(ConnectionFailure::BadAddress(why.to_owned())))?;
        if let Some(reach) = &endpoint.reach {
            reach
                .check(&url)
                .map_err(|why| error_context.unreachable(ConnectionFailure::BadAddress(why.to_string())))?;
        }
        headers(&endpoint).ok_or_else(|| error_context.key_error(KeyProblem::Unsendable, String::new()))?;
        let (http, changes, health) = (OnceLock::new(), Mutex::default(), HealthLog::default());
        Ok(Self { endpoint, error_context, url, http, changes, health })
    }

    /// Sends one request and waits for the response headers.
    pub async fn post(&self, body: bytes::Bytes) -> Result<reqwest::Response, ProviderError> {
        let http = self.http()?;
        let request = http.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        request.send().await.map_err(|error| self.error_context.transport(&error))
    }

    /// Sends a request without a body and waits for the response headers.
    pub async fn get(&self) -> Result<reqwest::Response, ProviderError> {
        self.http()?.get(self.url.clone()).send().await.map_err(|error| self.error_context.transport(&error))
    }

    /// Stores a change for all later requests.
    pub fn learn(&self, change: Adjustment) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if !changes.contains(&change) {
            changes.push(change);
        }
    }

    fn http(&self) -> Result<&reqwest::Client, ProviderError> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let headers = headers(&self.endpoint).unwrap_or_default();
        let mut builder = builder(&self.url, headers).connect_timeout(CONNECT_TIMEOUT);
        if let Some(reach) = self.endpoint.reach.clone() {
            // A proxy would resolve the name itself.
            let names = ReachableNames { reach, url: self.url.clone() };
            builder = builder.no_proxy().dns_resolver(Arc::new(names));
        }
        let http = builder.build().map_err(|error| self.error_context.transport(&error))?;
        Ok(self.http.get_or_init(|| http))
    }
}

/// Builds an HTTP client for one host: no redirects (a key never goes to another host), no proxy for loopback
/// addresses.
pub(super) fn build(url: &Url, headers: HeaderMap) -> Result<reqwest::Client, reqwest::Error> {
    builder(url, headers).connect_timeout(CONNECT_TIMEOUT).build()
}

/// Begins a client as [`build`] makes it.
pub fn builder(url: &Url, headers: HeaderMap) -> reqwest::ClientBuilder {
    // Another part of the program may have installed the same provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .default_headers(headers)
        .user_agent(concat!("miniclaw/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        // Proxies buffer a compressed stream until a block is full.
        .gzip(false);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Plain HTTP needs no certificates: skips loading the system's.
        builder = builder.tls_certs_only([]);
    }
    builder
}

/// Returns a header value that is never printed.
fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn headers(endpoint: &Endpoint) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let key = endpoint.api_key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    match endpoint.profile.api {
        Api::Chat | Api::Responses => {
            if let Some(key) = key {
                headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {key}"))?);
            }
        }
        Api::Messages => {
            if let Some(key) = key {
                headers.insert("x-api-key", sensitive(key)?);
            }
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
    }
    Some(headers)
}

fn error_context(endpoint: &Endpoint) -> ErrorContext {
    let provider = match endpoint.label.trim() {
        "" => endpoint.profile.kind.name().to_owned(),
        label => label.to_owned(),
    };
    let setting = match endpoint.profile.kind.key_variable() {
        _ if endpoint.reach.is_some() => format!("the key of {provider} among your own providers"),
        Some(variable) => format!("api_key in the settings of {provider}, or the variable {variable}"),
        None => "OPENAI_API_KEY in .env, or its api_key in config.yml".to_owned(),
    };
    ErrorContext {
        setting,
        model: endpoint.model.clone(),
        address: shown_address(&endpoint.base_url),
        key: endpoint.api_key.clone(),
        provider,
    }
}

/// Returns an address for display: without user, password, query and fragment, any of which may contain a credential.
pub(super) fn shown_address(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// Returns `{base}{path}`; the base may end in a slash or be the full address of an API. Keeps a query (Azure). Anthropic's
/// API is below `/v1`, which its documentation leaves out of the base address.
fn api_url(base: &Url, (api, path): (Api, &str)) -> Result<Url, &'static str> {
    if !matches!(base.scheme(), "http" | "https") {
        return Err("it must begin with https:// or http://");
    }
    if base.host_str().is_none_or(str::is_empty) {
        return Err("it names no host");
    }
    let mut url = base.clone();
    let told = base.path().trim_end_matches('/');
    let full = [Api::Chat.path(), Api::Messages.path(), Api::Responses.path(), EMBEDDINGS];
    let folder = full.iter().find_map(|api| told.strip_suffix(api)).unwrap_or(told);
    let has_version = told.len() > folder.len() || folder.rsplit('/').next().is_some_and(is_version);
    let version = if api == Api::Messages && !has_version { "/v1" } else { "" };
    url.set_path(&format!("{folder}{version}{path}"));
    url.set_fragment(None);
    Ok(url)
}

/// Whether a part of a path is `v` and digits.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = "/chat/completions";

    #[test]
    fn api_base_is_derived_from_common_urls() {
        for (base, chat) in [
            ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
            ("https://api.deepseek.com/", "https://api.deepseek.com/chat/completions"),
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
            ("http://h/x?api-version=1", "http://h/x/chat/completions?api-version=1"),
        ] {
            let url = |path| api_url(&Url::parse(base).unwrap(), (Api::Chat, path)).unwrap().to_string();
            assert_eq!(url(CHAT), chat);
            assert_eq!(url(EMBEDDINGS), chat.replace(CHAT, EMBEDDINGS));
        }
        assert!(api_url(&Url::parse("file:///etc/passwd").unwrap(), (Api::Chat, CHAT)).is_err());
        assert!(api_url(&Url::parse("ftp://h/").unwrap(), (Api::Chat, CHAT)).is_err());
    }

    #[test]
    fn messages_api_is_below_v1() {
        for (base, messages) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            ("http://h/v1/messages", "http://h/v1/messages"),
            ("http://h/proxy/messages", "http://h/proxy/messages"),
            ("http://h/anthropic", "http://h/anthropic/v1/messages"),
        ] {
            let url = |path| api_url(&Url::parse(base).unwrap(), (Api::Messages, path)).unwrap().to_string();
            assert_eq!(url("/messages"), messages);
            assert_eq!(url("/models"), messages.replace("/messages", "/models"));
        }
    }
}
