//! Providers and what a person has set for their models. Keys are never returned.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde_json::Value;

use super::provider_address::{MAX_LENGTH, key_of, url_of};
use super::provider_types::{
    KnownProvider, ModelPatch, ModelRole, ProviderAddress, ProviderInfo, ProviderModels, ProviderPatch, ProviderToAdd,
    Providers,
};
use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::requester::Requester;
use crate::engine::provider_changes::{KeyChange, ModelChange, NewProvider, ProviderChange, models_of};
use crate::engine::{EngineError, Tenant};
use crate::provider::ProfileKind;

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 100;

/// The kinds that are offered for adding, in this order.
const OFFERED: [ProfileKind; 10] = [
    ProfileKind::DeepSeek,
    ProfileKind::OpenAi,
    ProfileKind::Anthropic,
    ProfileKind::Gemini,
    ProfileKind::OpenRouter,
    ProfileKind::Glm,
    ProfileKind::Moonshot,
    ProfileKind::Qwen,
    ProfileKind::Ollama,
    ProfileKind::LmStudio,
];

/// Returns the providers, their state and their models.
#[utoipa::path(get, path = "/api/providers", tag = "models",
    responses((status = 200, body = Providers), (status = 403, body = ErrorBody)))]
pub async fn providers(requester: Requester) -> Result<Json<Providers>, ApiError> {
    let server = requester.server().await?;
    shown(&server).map(Json)
}

/// Tests an address and a key: asks the provider for its models, for at most ten seconds.
///
/// Nothing is stored. Requires the page's secret.
#[utoipa::path(post, path = "/api/providers/check", tag = "models", request_body = ProviderAddress,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = ProviderModels), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 502, description = "the provider's refusal: auth, unreachable, timeout …", body = ErrorBody)))]
pub async fn check_address(
    requester: Requester,
    request: Result<JsonBody<ProviderAddress>, JsonRejection>,
) -> Result<Json<ProviderModels>, ApiError> {
    managed(&requester).await?;
    let JsonBody(ProviderAddress { base_url, api, api_key }) = request.map_err(redacted_json_error)?;
    let models = models_of(&url_of(&base_url)?, key_of(api_key.as_ref())?, api).await.map_err(EngineError::from)?;
    Ok(Json(ProviderModels { models }))
}

/// Tests a provider, stores it in config.yml and its key in `.env`, and lists its models.
///
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/providers", tag = "models", request_body = ProviderToAdd,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 201, body = ProviderInfo), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 409, description = "provider_exists, config_invalid, config_not_editable", body = ErrorBody),
              (status = 502, description = "the provider's refusal", body = ErrorBody)))]
pub async fn add(
    requester: Requester,
    request: Result<JsonBody<ProviderToAdd>, JsonRejection>,
) -> Result<(StatusCode, Json<ProviderInfo>), ApiError> {
    let server = managed(&requester).await?;
    let JsonBody(ProviderToAdd { base_url, api, api_key, name, default_model }) =
        request.map_err(redacted_json_error)?;
    let new = NewProvider {
        base_url: url_of(&base_url)?,
        api,
        name: name.map(checked_name).transpose()?,
        api_key: key_of(api_key.as_ref())?,
        default_model: default_model.map(checked_model).transpose()?,
    };
    let id = server.add_provider(new).await?;
    one(&server, &id).map(|provider| (StatusCode::CREATED, Json(provider)))
}

/// Changes a provider of config.yml after a test of its address and key.
///
/// Requires the page's secret.
#[utoipa::path(patch, path = "/api/providers/{id}", tag = "models", request_body = ProviderPatch,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = ProviderInfo), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody), (status = 409, description = "not_editable, key_needed, config_invalid", body = ErrorBody),
              (status = 502, body = ErrorBody)))]
pub async fn change(
    requester: Requester,
    Path(id): Path<String>,
    request: Result<JsonBody<ProviderPatch>, JsonRejection>,
) -> Result<Json<ProviderInfo>, ApiError> {
    let server = managed(&requester).await?;
    let JsonBody(ProviderPatch { name, base_url, api, api_key }) = request.map_err(redacted_json_error)?;
    let api_key = match api_key {
        None => KeyChange::Keep,
        Some(key) => key_of(key.as_ref())?.map_or(KeyChange::Remove, KeyChange::Set),
    };
    let base_url = base_url.as_deref().map(url_of).transpose()?;
    let change = ProviderChange { name: name.map(checked_name).transpose()?, base_url, api, api_key };
    server.change_provider(&id, change).await?;
    one(&server, &id).map(Json)
}

/// Removes a provider from config.yml, and its key from `.env`.
///
/// Requires the page's secret.
#[utoipa::path(delete, path = "/api/providers/{id}", tag = "models",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Providers), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "not_editable, config_invalid", body = ErrorBody)))]
pub async fn remove(requester: Requester, Path(id): Path<String>) -> Result<Json<Providers>, ApiError> {
    let server = managed(&requester).await?;
    server.remove_provider(&id).await?;
    shown(&server).map(Json)
}

/// Asks a provider for its models. The state of the provider says whether it answered.
///
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/providers/{id}/check", tag = "models",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = ProviderInfo), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn check(requester: Requester, Path(id): Path<String>) -> Result<Json<ProviderInfo>, ApiError> {
    let server = managed(&requester).await?;
    server.check_provider(&id).await?;
    one(&server, &id).map(Json)
}

/// Searches for Ollama and LM Studio on this machine again, unless `find_local_models` is off.
///
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/providers/find", tag = "models", params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Providers), (status = 403, body = ErrorBody)))]
pub async fn find(requester: Requester) -> Result<Json<Providers>, ApiError> {
    let server = managed(&requester).await?;
    server.find_providers().await?;
    shown(&server).map(Json)
}

/// Changes what a person has set for a model.
///
/// Requires the page's secret.
#[utoipa::path(patch, path = "/api/models/{id}", tag = "models", request_body = ModelPatch,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Providers), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn change_model(
    requester: Requester,
    Path(id): Path<String>,
    request: Result<JsonBody<ModelPatch>, JsonRejection>,
) -> Result<Json<Providers>, ApiError> {
    let server = managed(&requester).await?;
    let JsonBody(ModelPatch { favorite, enabled, parameters }) = request?;
    parameters.iter().try_for_each(|(name, value)| checked_parameter(name, value))?;
    server.change_model(&id, ModelChange { favorite, enabled, parameters }).await?;
    shown(&server).map(Json)
}

/// Chooses the default model.
///
/// Requires the page's secret.
#[utoipa::path(put, path = "/api/models/default", tag = "models", request_body = ModelRole,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Providers), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn set_default(
    requester: Requester,
    request: Result<JsonBody<ModelRole>, JsonRejection>,
) -> Result<Json<Providers>, ApiError> {
    choose(&requester, "default_model", request).await
}

/// Chooses the model that is asked when another does not answer.
///
/// Requires the page's secret.
#[utoipa::path(put, path = "/api/models/fallback", tag = "models", request_body = ModelRole,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Providers), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn set_fallback(
    requester: Requester,
    request: Result<JsonBody<ModelRole>, JsonRejection>,
) -> Result<Json<Providers>, ApiError> {
    choose(&requester, "fallback_model", request).await
}

async fn choose(
    requester: &Requester,
    key: &'static str,
    request: Result<JsonBody<ModelRole>, JsonRejection>,
) -> Result<Json<Providers>, ApiError> {
    let server = managed(requester).await?;
    let JsonBody(ModelRole { model }) = request?;
    server.choose_model(key, model).await?;
    shown(&server).map(Json)
}

/// Returns the tenant with the configuration of the server.
async fn managed(requester: &Requester) -> Result<Arc<Tenant>, ApiError> {
    requester.require_page()?;
    requester.changeable_server().await
}

/// Reports a malformed body without quoting it, because it may contain a key.
pub(super) fn redacted_json_error(rejection: JsonRejection) -> ApiError {
    let too_large = rejection.status() == StatusCode::PAYLOAD_TOO_LARGE;
    ApiError::new(
        if too_large { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST },
        "bad_json",
        "send base_url, api_key, name and default_model, each as a text, and nothing else",
    )
}

pub(super) fn checked_name(name: String) -> Result<String, ApiError> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(ApiError::bad_request("bad_name", format!("a name is a line of 1 to {MAX_NAME} bytes")));
    }
    Ok(name.to_owned())
}

pub(super) fn checked_model(name: String) -> Result<String, ApiError> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_LENGTH || name.chars().any(char::is_control) {
        return Err(ApiError::bad_request("bad_model", format!("a model's name is a line of 1 to {MAX_LENGTH} bytes")));
    }
    Ok(name.to_owned())
}

fn checked_parameter(name: &str, value: &Value) -> Result<(), ApiError> {
    let within = |most: f64| value.as_f64().is_some_and(|number| (0.0..=most).contains(&number));
    let whole = |least: u64, most: u64| value.as_u64().is_some_and(|number| (least..=most).contains(&number));
    let (fits, must) = match name {
        "temperature" => (within(2.0), "a number from 0 to 2"),
        "top_p" => (within(1.0), "a number from 0 to 1"),
        "max_tokens" => (whole(1, 10_000_000), "a whole number from 1 to 10,000,000"),
        "context_window" => (whole(256, 100_000_000), "a whole number from 256 to 100,000,000"),
        "thinking" => (value.is_boolean(), "true or false"),
        _ => return Err(ApiError::bad_request("bad_parameter", "there is no parameter of this name")),
    };
    if fits || value.is_null() {
        return Ok(());
    }
    Err(ApiError::bad_request("bad_parameter", format!("{name} must be {must}")))
}

fn shown(server: &Tenant) -> Result<Providers, ApiError> {
    let list = server.providers()?;
    Ok(Providers {
        providers: list.providers.into_iter().map(ProviderInfo::from).collect(),
        known: known_providers(),
        default_model: list.default_model,
        fallback_model: list.fallback_model,
    })
}

/// Returns the providers that can be added by their names.
pub(super) fn known_providers() -> Vec<KnownProvider> {
    let known = OFFERED.into_iter().filter_map(|kind| {
        let base_url = kind.default_base_url()?.to_owned();
        Some(KnownProvider {
            kind: kind.word().to_owned(),
            name: kind.name().to_owned(),
            base_url,
            needs_key: kind.key_variable().is_some(),
        })
    });
    known.collect()
}

fn one(server: &Tenant, id: &str) -> Result<ProviderInfo, ApiError> {
    let list = server.providers()?;
    let found = list.providers.into_iter().find(|provider| provider.id == id).map(ProviderInfo::from);
    found.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "unknown_provider", "the provider is not there any more"))
}
