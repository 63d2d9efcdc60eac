//! Providers that people connect for themselves on a server of several people. Keys are never returned.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::provider_address::{key_of, url_of};
use super::provider_types::{KnownProvider, ProviderDetail, ProviderState, present};
use super::providers::{checked_model, checked_name, known_providers, redacted_json_error};
use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::clock;
use crate::engine::own_providers::{ListedOwnProvider, NewOwnProvider, OwnProviderEdit};
use crate::provider::Api;
use crate::store::OwnKey;

/// Maximum number of models of a provider that can be chosen.
const MAX_MODELS: usize = 100;

#[derive(Serialize, utoipa::ToSchema)]
pub struct OwnProviders {
    providers: Vec<OwnProviderInfo>,
    /// Providers that can be added.
    known: Vec<KnownProvider>,
    /// Id of the model that is used by default; null leaves it to the server.
    default_model: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct OwnProviderInfo {
    id: String,
    name: String,
    /// `deepseek`, `openai`, …; `other` for any server with OpenAI's API.
    kind: String,
    base_url: String,
    /// `openai`, `anthropic` or `responses`; null if the address tells it.
    api: Option<String>,
    key: OwnKeyState,
    /// What the last request or check had as a result.
    state: ProviderState,
    /// When it got into this state, as RFC 3339; null before the first request.
    state_since: Option<String>,
    detail: Option<ProviderDetail>,
    models: Vec<OwnModelInfo>,
    /// The names of the models that it named when it was asked last, since the start of the server.
    named: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnKeyState {
    None,
    Set,
    /// It belongs to another home or address, and has to be entered again.
    Unreadable,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct OwnModelInfo {
    /// The id in `GET /api/models`.
    id: String,
    name: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnProviderToAdd {
    /// Base URL of the API, e.g. `https://api.openai.com/v1`.
    base_url: String,
    /// The key. May be absent for a server that needs none.
    #[schema(value_type = Option<String>)]
    api_key: Option<SecretString>,
    name: Option<String>,
    /// The form of requests: `openai`, `anthropic` or `responses`; absent if the address tells it.
    #[schema(value_type = Option<String>)]
    api: Option<Api>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnProviderPatch {
    name: Option<String>,
    /// A new key; null removes it; absent keeps it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    api_key: Option<Option<SecretString>>,
    /// The names of the models that can be chosen, at most 100.
    models: Option<Vec<String>>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnDefault {
    /// The id of a model of an own provider; null leaves the default to the server.
    model: Option<String>,
}

/// Returns the providers that the caller has connected for themselves, their state and their models.
#[utoipa::path(get, path = "/api/own-providers", tag = "models",
    responses((status = 200, body = OwnProviders), (status = 403, description = "single_mode, own_providers_off", body = ErrorBody)))]
pub async fn own_providers(caller: Caller) -> Result<Json<OwnProviders>, ApiError> {
    shown(&caller).await
}

/// Tests a provider, keeps it in `providers.json` of the caller's home, its key sealed, and lists its models.
///
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/own-providers", tag = "models", request_body = OwnProviderToAdd,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 201, body = OwnProviders), (status = 400, description = "bad_address, address_not_encrypted", body = ErrorBody),
              (status = 403, body = ErrorBody), (status = 409, description = "provider_exists, too_many_providers", body = ErrorBody),
              (status = 502, description = "the provider's refusal", body = ErrorBody)))]
pub async fn add_own(
    caller: Caller,
    request: Result<JsonBody<OwnProviderToAdd>, JsonRejection>,
) -> Result<(StatusCode, Json<OwnProviders>), ApiError> {
    caller.require_page()?;
    let JsonBody(OwnProviderToAdd { base_url, api_key, name, api }) = request.map_err(redacted_json_error)?;
    let new = NewOwnProvider {
        base_url: url_of(&base_url)?,
        name: name.map(checked_name).transpose()?,
        api,
        api_key: key_of(api_key.as_ref())?,
    };
    caller.tenant().add_own_provider(new).await?;
    Ok((StatusCode::CREATED, shown(&caller).await?))
}

/// Changes name, key or models of an own provider. A new key is tested first.
///
/// Requires the page's secret.
#[utoipa::path(patch, path = "/api/own-providers/{id}", tag = "models", request_body = OwnProviderPatch,
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = OwnProviders), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
              (status = 404, body = ErrorBody), (status = 502, description = "the provider's refusal", body = ErrorBody)))]
pub async fn change_own(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<OwnProviderPatch>, JsonRejection>,
) -> Result<Json<OwnProviders>, ApiError> {
    caller.require_page()?;
    let JsonBody(OwnProviderPatch { name, api_key, models }) = request.map_err(redacted_json_error)?;
    if models.as_ref().is_some_and(|models| models.len() > MAX_MODELS) {
        return Err(ApiError::bad_request("too_many_models", format!("choose at most {MAX_MODELS} models")));
    }
    let models = models.map(|names| names.into_iter().map(checked_model).collect()).transpose()?;
    let api_key = api_key.map(|key| key_of(key.as_ref())).transpose()?;
    let edit = OwnProviderEdit { name: name.map(checked_name).transpose()?, api_key, models };
    caller.tenant().change_own_provider(&id, edit).await?;
    shown(&caller).await
}

/// Removes an own provider and its key.
///
/// Requires the page's secret.
#[utoipa::path(delete, path = "/api/own-providers/{id}", tag = "models",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = OwnProviders), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn remove_own(caller: Caller, Path(id): Path<String>) -> Result<Json<OwnProviders>, ApiError> {
    caller.require_page()?;
    caller.tenant().remove_own_provider(&id).await?;
    shown(&caller).await
}

/// Asks an own provider for its models. The state of the provider says whether it answered.
///
/// Requires the page's secret.
#[utoipa::path(post, path = "/api/own-providers/{id}/check", tag = "models",
    params(("id" = String, Path), ("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = OwnProviders), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
              (status = 409, description = "key_unreadable", body = ErrorBody)))]
pub async fn check_own(caller: Caller, Path(id): Path<String>) -> Result<Json<OwnProviders>, ApiError> {
    caller.require_page()?;
    caller.tenant().check_own_provider(&id).await?;
    shown(&caller).await
}

/// Chooses the model that the caller uses by default.
///
/// Requires the page's secret.
#[utoipa::path(put, path = "/api/own-providers/default", tag = "models", request_body = OwnDefault,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = OwnProviders), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn set_own_default(
    caller: Caller,
    request: Result<JsonBody<OwnDefault>, JsonRejection>,
) -> Result<Json<OwnProviders>, ApiError> {
    caller.require_page()?;
    let JsonBody(OwnDefault { model }) = request?;
    caller.tenant().choose_own_default(model).await?;
    shown(&caller).await
}

async fn shown(caller: &Caller) -> Result<Json<OwnProviders>, ApiError> {
    let (providers, default_model) = caller.tenant().own_providers().await?;
    let providers = providers.into_iter().map(OwnProviderInfo::from).collect();
    Ok(Json(OwnProviders { providers, known: known_providers(), default_model }))
}

impl From<ListedOwnProvider> for OwnProviderInfo {
    fn from(listed: ListedOwnProvider) -> Self {
        let ListedOwnProvider { provider, kind, models, named, health } = listed;
        Self {
            id: provider.id,
            name: provider.name,
            kind: kind.word().to_owned(),
            base_url: provider.base_url.as_str().trim_end_matches('/').to_owned(),
            api: provider.api,
            key: match provider.api_key {
                OwnKey::None => OwnKeyState::None,
                OwnKey::Set(_) => OwnKeyState::Set,
                OwnKey::Unreadable => OwnKeyState::Unreadable,
            },
            state: ProviderState::of(health.as_ref()),
            state_since: health.as_ref().map(|health| clock::rfc3339(health.since)),
            detail: health.and_then(|health| health.problem).map(ProviderDetail::from),
            models: models.into_iter().map(|(id, name)| OwnModelInfo { id, name }).collect(),
            named,
        }
    }
}
