//! Requests to a service that answers with a document or with a stream of events, through the guard. No redirect is followed:
//! these requests carry credentials.

use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::get::{FetchError, Getter};
use crate::egress::{Guard, Lookup};

/// How long a server has to begin its answer.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

pub struct StreamClient {
    getter: Getter,
}

/// An answer of which the body has not been read.
pub struct StreamAnswer {
    pub status: u16,
    pub content_type: String,
    headers: HeaderMap,
    response: reqwest::Response,
}

impl StreamClient {
    pub fn new(guard: Guard, lookup: Lookup) -> Self {
        Self { getter: Getter::new(guard, lookup) }
    }

    /// Sends a document, and returns the answer, whatever its status is.
    ///
    /// # Errors
    /// Returns an error if the address may not be reached, leads elsewhere, or does not answer in time.
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(String, SecretString)],
        body: &Value,
    ) -> Result<StreamAnswer, FetchError> {
        let sending = self.client(url)?.post(url.clone()).headers(header_map(headers)?).json(body);
        answered(sending.header(ACCEPT, "application/json, text/event-stream")).await
    }

    /// Fetches a document, and returns the answer, whatever its status is.
    ///
    /// # Errors
    /// Returns an error if the address may not be reached, leads elsewhere, or does not answer in time.
    pub async fn get(&self, url: &Url) -> Result<StreamAnswer, FetchError> {
        answered(self.client(url)?.get(url.clone()).header(ACCEPT, "application/json")).await
    }

    /// Asks for a stream of events, from the event with an id on if one is named, and returns the answer, whatever its status is.
    ///
    /// # Errors
    /// Returns an error if the address may not be reached, leads elsewhere, or does not answer in time.
    pub async fn listen(
        &self,
        url: &Url,
        headers: &[(String, SecretString)],
        last_event: Option<&str>,
    ) -> Result<StreamAnswer, FetchError> {
        let mut asking = self.client(url)?.get(url.clone()).headers(header_map(headers)?);
        if let Some(last_event) = last_event {
            let unfit = |_| FetchError::Failed("the id of an event has characters that no header can have".to_owned());
            asking = asking.header("Last-Event-ID", HeaderValue::from_str(last_event).map_err(unfit)?);
        }
        answered(asking.header(ACCEPT, "text/event-stream")).await
    }

    /// Sends a form, and returns the answer, whatever its status is.
    ///
    /// # Errors
    /// Returns an error if the address may not be reached, leads elsewhere, or does not answer in time.
    pub async fn post_form(
        &self,
        url: &Url,
        headers: &[(String, SecretString)],
        fields: &[(&str, &str)],
    ) -> Result<StreamAnswer, FetchError> {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let sending = self.client(url)?.post(url.clone()).headers(header_map(headers)?);
        let sending = sending.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        answered(sending.header(ACCEPT, "application/json")).await
    }

    /// Checks everything about an address that needs no resolver.
    ///
    /// # Errors
    /// Returns an error if it may not be reached.
    pub fn check(&self, url: &Url) -> Result<(), FetchError> {
        Ok(self.getter.guard.check(url).map(drop)?)
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, FetchError> {
        self.getter.client(self.getter.guard.check(url)?)
    }
}

fn header_map(headers: &[(String, SecretString)]) -> Result<HeaderMap, FetchError> {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let unfit = || FetchError::Failed(format!("the header {name} has characters that no header can have"));
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| unfit())?;
        value.set_sensitive(true);
        all.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value);
    }
    Ok(all)
}

async fn answered(sending: RequestBuilder) -> Result<StreamAnswer, FetchError> {
    let late = || FetchError::Failed(format!("no answer within {} s", HEAD_TIMEOUT.as_secs()));
    let response = tokio::time::timeout(HEAD_TIMEOUT, sending.send()).await.map_err(|_| late())?;
    let response = response.map_err(super::get::explain)?;
    if response.status().is_redirection() {
        return Err(FetchError::Redirected);
    }
    let headers = response.headers().clone();
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Ok(StreamAnswer {
        status: response.status().as_u16(),
        content_type: content_type.to_ascii_lowercase(),
        headers,
        response,
    })
}

impl StreamAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the values of a header that may be there more than once.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// Returns the whole body; `None` if it is longer than `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the connection breaks.
    pub async fn whole(mut self, limit: usize) -> Result<Option<Vec<u8>>, FetchError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > limit {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    /// Returns the next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// Returns an error if the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        Ok(self.response.chunk().await.map_err(super::get::explain)?.map(|bytes| bytes.to_vec()))
    }
}
