//! The HTTP client of the exporter.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;
use url::Url;

use crate::provider::http_client_builder;

/// Maximum bytes of an answer.
const MAX_ANSWER: usize = 64 << 10;

/// Sends over this program's client, which follows no redirect. The exporter has a thread of its own, so the requests run on the
/// runtime.
#[derive(Debug)]
pub struct Collector {
    http: reqwest::Client,
    runtime: Handle,
}

impl Collector {
    /// # Errors
    /// Returns an error if no client can be made.
    pub fn new(url: &Url, limit: Duration) -> Result<Self, reqwest::Error> {
        let http = http_client_builder(url, Default::default()).timeout(limit).build()?;
        Ok(Self { http, runtime: Handle::current() })
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (http, request) = (self.http.clone(), request.try_into()?);
        self.runtime.spawn(answer(http, request)).await?
    }
}

async fn answer(http: reqwest::Client, request: reqwest::Request) -> Result<Response<Bytes>, HttpError> {
    let mut answer = http.execute(request).await?;
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > MAX_ANSWER {
            return Err("the collector's answer is too long".into());
        }
        body.extend_from_slice(&piece);
    }
    let mut taken = Response::new(Bytes::from(body));
    *taken.status_mut() = answer.status();
    *taken.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(taken)
}
