//! One request: checks every redirect, and limits time and size. A page is requested without credentials.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret;
use url::Url;

use super::SIZE_LIMIT;
use super::api::ApiRequest;
use super::resolver::GuardedResolver;
use crate::egress::{DialTarget, EgressRefusal, Guard, Lookup, NoPublicAddress};

const REDIRECTS: usize = 5;
const CONNECT: Duration = Duration::from_secs(7);

pub struct Fetched {
    /// The final URL after redirects.
    pub url: Url,
    pub status: StatusCode,
    /// The content type from the response header; empty without one.
    pub content_type: String,
    pub body: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Refused(#[from] EgressRefusal),
    #[error("the page leads to {to}, and {why}")]
    RedirectRefused { to: String, why: EgressRefusal },
    #[error(transparent)]
    NoPublicAddress(#[from] NoPublicAddress),
    #[error("the service leads elsewhere, which a request with a key or a body does not follow")]
    Redirected,
    #[error("more than five redirects")]
    TooManyRedirects,
    #[error("larger than {} MB", SIZE_LIMIT >> 20)]
    TooLarge,
    #[error("this machine can make no HTTP client: {0}")]
    NoClient(String),
    #[error("{0}")]
    Failed(String),
}

/// Two clients without proxy, cookies or automatic redirects: one for public addresses, one for listed hosts. Each is made when it is
/// first needed, because it reads the certificates of the system: for all clients of a home that takes longer than to open it.
pub struct Getter {
    pub guard: Guard,
    lookup: Lookup,
    public: OnceLock<Client>,
    allowed: OnceLock<Client>,
}

impl Getter {
    pub fn new(guard: Guard, lookup: Lookup) -> Self {
        Self { guard, lookup, public: OnceLock::new(), allowed: OnceLock::new() }
    }

    /// Returns the client for addresses of this kind.
    ///
    /// # Errors
    /// Returns [`FetchError::NoClient`] if it cannot be made, for example on a machine without any certificates.
    pub(super) fn client(&self, reach: DialTarget) -> Result<&Client, FetchError> {
        let made = match reach {
            DialTarget::Public => &self.public,
            DialTarget::Allowed => &self.allowed,
        };
        if let Some(client) = made.get() {
            return Ok(client);
        }
        // The client panics without a default provider. Another caller may have installed it already; it is the same
        // everywhere.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(GuardedResolver { lookup: self.lookup.clone(), reach }))
            // A kept connection would be reused without resolving the name again.
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            .user_agent(concat!("miniclaw/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| FetchError::NoClient(error.to_string()))?;
        Ok(made.get_or_init(|| client))
    }

    pub async fn get(&self, text: &str) -> Result<Fetched, FetchError> {
        let accept = "text/html,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1";
        self.send(ApiRequest::get(self.guard.parse(text)?, accept)).await
    }

    pub async fn send(&self, request: ApiRequest) -> Result<Fetched, FetchError> {
        let mut url = request.url.clone();
        let mut reach = self.guard.check(&url)?;
        for _ in 0..=REDIRECTS {
            let response = self.once(&url, reach, &request).await?;
            let Some(next) = next_hop(&url, &response) else { return read(url, response).await };
            reach = self.guard.check(&next).map_err(|why| FetchError::RedirectRefused { to: next.to_string(), why })?;
            if request.key.is_some() || request.body.is_some() {
                return Err(FetchError::Redirected);
            }
            url = next;
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn once(&self, url: &Url, reach: DialTarget, request: &ApiRequest) -> Result<Response, FetchError> {
        let client = self.client(reach)?;
        let mut sending = match &request.body {
            Some(body) => client.post(url.clone()).json(body),
            None => client.get(url.clone()),
        };
        sending = sending.header(ACCEPT, request.accept);
        if let Some((name, key)) = &request.key {
            let unfit = || FetchError::Failed("the key has characters that no header can have".to_owned());
            let mut value = HeaderValue::from_str(key.expose_secret()).map_err(|_| unfit())?;
            value.set_sensitive(true);
            sending = sending.header(*name, value);
        }
        sending.send().await.map_err(explain)
    }
}

fn next_hop(url: &Url, response: &Response) -> Option<Url> {
    if !response.status().is_redirection() {
        return None;
    }
    let location = response.headers().get(LOCATION)?;
    url.join(&String::from_utf8_lossy(location.as_bytes())).ok()
}

async fn read(url: Url, mut response: Response) -> Result<Fetched, FetchError> {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut body = Vec::new();
    // The content length is only the server's claim; count the decompressed bytes.
    while let Some(chunk) = response.chunk().await.map_err(explain)? {
        if body.len() + chunk.len() > SIZE_LIMIT {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { url, status: response.status(), content_type: content_type.unwrap_or_default(), body })
}

/// Returns the innermost cause: the outer ones repeat the URL.
pub(super) fn explain(error: reqwest::Error) -> FetchError {
    let mut cause: &dyn Error = &error;
    while let Some(next) = cause.source() {
        if let Some(NoPublicAddress(name)) = next.downcast_ref() {
            return FetchError::NoPublicAddress(NoPublicAddress(name.clone()));
        }
        cause = next;
    }
    let kind = if error.is_connect() { "no connection: " } else { "" };
    FetchError::Failed(format!("{kind}{cause}"))
}
