//! Addresses and keys of providers as a person enters them.

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::api::error::ApiError;

/// Maximum length of a key and of a model's name, in bytes.
pub(super) const MAX_LENGTH: usize = 500;
/// Maximum length of an address, in bytes.
const MAX_URL: usize = 2000;

/// Parses the address of a provider.
pub(super) fn url_of(base_url: &str) -> Result<Url, ApiError> {
    let bad = |message: &str| ApiError::bad_request("bad_address", message);
    let url = Url::parse(base_url.trim()).map_err(|_| bad("invalid URL; use one like https://api.openai.com/v1"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(bad("the URL must start with https:// or http:// and include a host"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("the URL can't include a user, password or query; enter the API key in its own field"));
    }
    if base_url.len() > MAX_URL || base_url.contains("${") {
        return Err(bad("the URL is too long, or contains ${"));
    }
    Ok(url)
}

/// Checks a key; `None` if it is empty.
pub(super) fn key_of(api_key: Option<&SecretString>) -> Result<Option<SecretString>, ApiError> {
    let key = api_key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    let fits = |key: &str| key.len() <= MAX_LENGTH && key.chars().all(|c| c.is_ascii_graphic() && c != '\'');
    if key.is_some_and(|key| !fits(key)) {
        return Err(ApiError::bad_request(
            "bad_key",
            "invalid API key: it contains spaces, quotes or other invalid characters, or is too long",
        ));
    }
    Ok(key.map(|key| SecretString::from(key.to_owned())))
}
