//! The address of this server's page, as the client of a request knows it.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::security::client::Client;

/// `http://127.0.0.1:8002`, or whatever name the client has used.
#[derive(Clone, Debug)]
pub struct PageAddress(String);

impl PageAddress {
    /// Returns the address of a path of this server.
    pub fn of_path(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns where a person finds a session, and answers its questions.
    pub fn of_session(&self, id: &str) -> String {
        format!("{}/s/{id}", self.0)
    }
}

impl FromRequestParts<App> for PageAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let client = Client::from_request_parts(parts, app).await?;
        let scheme = if client.is_https { "https" } else { "http" };
        // The guard has checked it.
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        Ok(Self(format!("{scheme}://{host}")))
    }
}
