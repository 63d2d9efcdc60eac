//! Connects a provider from the page. The key is never returned.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::security::person::Right;
use crate::engine::model_status::ModelStatus;
use crate::engine::{EngineError, providers};
use crate::provider::{Endpoint, Profile};

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderAddress {
    /// Base URL of an OpenAI-compatible API, e.g. `https://api.openai.com/v1`.
    base_url: String,
    /// The key. May be absent for a server that needs none.
    #[schema(value_type = Option<String>)]
    api_key: Option<SecretString>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderChoice {
    base_url: String,
    #[schema(value_type = Option<String>)]
    api_key: Option<SecretString>,
    model: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProviderModels {
    /// The models that can be chosen, by the provider's names.
    models: Vec<String>,
}

/// Maximum length of a key and of a model name, in bytes.
const MAX_LENGTH: usize = 500;
/// Maximum length of an address, in bytes.
const MAX_URL: usize = 2000;

/// Tests an address and a key: asks the provider for its models, for at most ten seconds.
///
/// Nothing is stored. Requires the page's secret.
#[utoipa::path(post, path = "/api/provider/check", tag = "status", request_body = ProviderAddress,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = ProviderModels), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 502, description = "the provider's refusal: auth, unreachable, timeout …", body = ErrorBody)))]
pub async fn check(
    caller: Caller,
    request: Result<Json<ProviderAddress>, JsonRejection>,
) -> Result<Json<ProviderModels>, ApiError> {
    caller.require_page()?;
    caller.require(Right::ManageServer)?;
    let Json(ProviderAddress { base_url, api_key }) = request.map_err(redacted_json_error)?;
    let endpoint = endpoint(&base_url, api_key.as_ref(), "")?;
    let models = providers::test(endpoint).await.map_err(EngineError::from)?;
    Ok(Json(ProviderModels { models }))
}

/// Stores address, key and model in the home's `.env`, which only its owner can read, and uses them at once.
///
/// Requires the page's secret.
#[utoipa::path(put, path = "/api/provider", tag = "status", request_body = ProviderChoice,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = ModelStatus), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 409, description = "environment_wins: a variable of the process says otherwise", body = ErrorBody),
              (status = 502, body = ErrorBody)))]
pub async fn connect(
    caller: Caller,
    request: Result<Json<ProviderChoice>, JsonRejection>,
) -> Result<Json<ModelStatus>, ApiError> {
    caller.require_page()?;
    caller.require(Right::ManageServer)?;
    let Json(ProviderChoice { base_url, api_key, model }) = request.map_err(redacted_json_error)?;
    let model = model.trim().to_owned();
    if model.is_empty() || model.len() > MAX_LENGTH {
        return Err(ApiError::bad_request("bad_model", format!("a model name has 1 to {MAX_LENGTH} characters")));
    }
    let endpoint = endpoint(&base_url, api_key.as_ref(), &model)?;
    Ok(Json(caller.tenant().connect_provider(endpoint).await?))
}

/// Reports a malformed body without quoting it, because it may contain a key.
fn redacted_json_error(_: JsonRejection) -> ApiError {
    ApiError::bad_request("bad_json", "send base_url, api_key where there is one, and nothing else but the model")
}

fn endpoint(base_url: &str, api_key: Option<&SecretString>, model: &str) -> Result<Endpoint, ApiError> {
    let url = url_of(base_url)?;
    let api_key = key_of(api_key)?;
    let profile = Profile::from_url(&url, model);
    Ok(Endpoint {
        context_window: profile.context_window(model),
        label: String::new(),
        model: model.to_owned(),
        api_key,
        base_url: url,
        profile,
    })
}

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
