//! The search engines: how each is asked, and how its answer is read.

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::{SearchResult, duckduckgo};
use crate::tools::fetch_url::{ApiError, ApiRequest, Fetched};

const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";
const TAVILY: &str = "https://api.tavily.com/search";
const DUCKDUCKGO: &str = "https://html.duckduckgo.com/html/";
const JSON: &str = "application/json";

/// A kind of search engine, with what it needs.
#[derive(Clone, Debug)]
pub enum SearchBackend {
    /// A SearXNG server, at the address that a person configured.
    SearXng,
    Brave(SecretString),
    Tavily(SecretString),
    DuckDuckGo,
    /// None can be used, for this reason.
    Missing(String),
}

/// A search engine at its address.
#[derive(Clone, Debug)]
pub struct SearchEngine {
    backend: SearchBackend,
    url: Option<Url>,
}

impl SearchEngine {
    /// Returns an engine at its public address; a SearXNG server has none.
    pub fn new(backend: SearchBackend) -> Self {
        let url = match &backend {
            SearchBackend::Brave(_) => BRAVE,
            SearchBackend::Tavily(_) => TAVILY,
            SearchBackend::DuckDuckGo => DUCKDUCKGO,
            SearchBackend::SearXng | SearchBackend::Missing(_) => "",
        };
        Self { backend, url: Url::parse(url).ok() }
    }

    /// Returns the engine at another address.
    pub fn at(self, url: Url) -> Self {
        Self { url: Some(url), ..self }
    }

    pub fn name(&self) -> &'static str {
        match &self.backend {
            SearchBackend::SearXng => "searxng",
            SearchBackend::Brave(_) => "brave",
            SearchBackend::Tavily(_) => "tavily",
            SearchBackend::DuckDuckGo => "duckduckgo",
            SearchBackend::Missing(_) => "none",
        }
    }

    /// Returns the host with its port, for people.
    pub fn host(&self) -> String {
        let Some(url) = &self.url else { return self.name().to_owned() };
        let host = url.host_str().unwrap_or_default();
        url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the host and port that may be reached although they are on this machine or its network.
    pub(super) fn own_host(&self) -> Option<String> {
        let url = self.url.as_ref().filter(|_| matches!(self.backend, SearchBackend::SearXng))?;
        Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
    }

    /// Returns the request for a query.
    pub(super) fn request(&self, query: &str, count: usize) -> Result<ApiRequest, ApiError> {
        let missing = || ApiError::Configuration("its address is not configured (web_search.url)".to_owned());
        let address = self.url.clone();
        let with = |url: Option<Url>, pairs: &[(&str, &str)]| {
            let mut url = url.ok_or_else(missing)?;
            url.query_pairs_mut().extend_pairs(pairs);
            Ok::<_, ApiError>(url)
        };
        match &self.backend {
            SearchBackend::Missing(why) => Err(ApiError::Configuration(why.clone())),
            SearchBackend::SearXng => {
                let mut url = address.ok_or_else(missing)?;
                url.set_path(&format!("{}/search", url.path().trim_end_matches('/')));
                Ok(ApiRequest::get(with(Some(url), &[("q", query), ("format", "json")])?, JSON))
            }
            SearchBackend::Brave(key) => {
                let url = with(address, &[("q", query), ("count", &count.to_string())])?;
                Ok(ApiRequest::get(url, JSON).with_key("X-Subscription-Token", key.clone()))
            }
            SearchBackend::Tavily(key) => {
                let bearer = SecretString::from(format!("Bearer {}", key.expose_secret()));
                let request = ApiRequest::post(with(address, &[])?, json!({"query": query, "max_results": count}));
                Ok(request.with_key("Authorization", bearer))
            }
            SearchBackend::DuckDuckGo => Ok(ApiRequest::get(with(address, &[("q", query)])?, "text/html")),
        }
    }

    /// Reads the results of an answer.
    pub(super) fn results(&self, fetched: &Fetched) -> Result<Vec<SearchResult>, ApiError> {
        match fetched.status.as_u16() {
            401 | 403 if matches!(self.backend, SearchBackend::Brave(_) | SearchBackend::Tavily(_)) => {
                return Err(ApiError::Key);
            }
            403 if matches!(self.backend, SearchBackend::SearXng) => {
                let why = "it does not answer in JSON (search.formats in its settings.yml)";
                return Err(ApiError::Configuration(why.to_owned()));
            }
            // DuckDuckGo answers 202 with a puzzle for people.
            202 | 429 => return Err(ApiError::TooMany),
            200 => {}
            status => return Err(ApiError::Status(status)),
        }
        if let SearchBackend::DuckDuckGo = self.backend {
            return duckduckgo::results(&String::from_utf8_lossy(&fetched.body)).ok_or(ApiError::TooMany);
        }
        let answer: Value = serde_json::from_slice(&fetched.body).map_err(|_| ApiError::Answer)?;
        let (list, snippet) = match self.backend {
            // Without any results, the whole part is missing.
            SearchBackend::Brave(_) if answer.is_object() && answer.get("web").is_none() => return Ok(Vec::new()),
            SearchBackend::Brave(_) => (&answer["web"]["results"], "description"),
            _ => (&answer["results"], "content"),
        };
        let list = list.as_array().ok_or(ApiError::Answer)?;
        let text = |result: &Value, field: &str| result[field].as_str().unwrap_or_default().to_owned();
        let result =
            |result: &Value| SearchResult::new(&text(result, "title"), &text(result, "url"), &text(result, snippet));
        Ok(list.iter().filter_map(result).collect())
    }
}
