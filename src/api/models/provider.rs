//! Connects a provider from the page: tests its key, stores it in the home's `.env`, and never returns it.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::config::{Config, Environment};
use crate::engine::model_status::ModelStatus;
use crate::engine::{EngineError, blocking};
use crate::provider::{Endpoint, Profile, ProfileKind, list_models};

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
    let Json(ProviderAddress { base_url, api_key }) = request.map_err(redacted_json_error)?;
    let endpoint = endpoint(&base_url, api_key.as_ref(), "")?;
    let models = list_models(endpoint).await.map_err(EngineError::from)?;
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
    let Json(ProviderChoice { base_url, api_key, model }) = request.map_err(redacted_json_error)?;
    let model = model.trim().to_owned();
    if model.is_empty() || model.len() > MAX_LENGTH {
        return Err(ApiError::bad_request("bad_model", format!("a model name has 1 to {MAX_LENGTH} characters")));
    }
    let endpoint = endpoint(&base_url, api_key.as_ref(), &model)?;
    let env_vars = ProviderEnvVars::of(&endpoint);
    // An empty variable counts as unset.
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let taken = env_vars.all().into_iter().chain([DEEPSEEK.key]).find(is_set);
    if let Some(name) = taken {
        let message = format!(
            "{name} is set in the server's environment, which overrides .env. Restart the server without that variable, or \
             change it there."
        );
        return Err(ApiError::new(StatusCode::CONFLICT, "environment_wins", message));
    }
    list_models(endpoint.clone()).await.map_err(EngineError::from)?;
    let home = caller.tenant().home.clone();
    let chosen = endpoint.clone();
    let config = blocking(move || {
        let key = chosen.api_key.as_ref().map(|key| key.expose_secret().to_owned());
        let url = chosen.base_url.to_string();
        let mut variables = vec![
            (env_vars.key, key.as_deref()),
            (env_vars.address, Some(url.as_str())),
            (env_vars.model, Some(chosen.model.as_str())),
        ];
        if env_vars.key != DEEPSEEK.key {
            // A DeepSeek key in `.env` would take precedence.
            variables.push((DEEPSEEK.key, None));
        }
        home.set_variables(&variables)?;
        let process =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let environment = Environment::load(home.path(), process);
        Ok(environment.and_then(|environment| Config::load(home.path(), &environment)))
    })
    .await?;
    let refused = |message: String| ApiError::new(StatusCode::CONFLICT, "not_used", message);
    let config = config.map_err(|error| refused(format!("saved to .env, but {error}")))?;
    let first = config.endpoints.first().map(|(first, _)| (first.model.as_str(), &first.base_url));
    if first != Some((endpoint.model.as_str(), &endpoint.base_url)) || config.wanted.is_some() {
        let message = "saved to .env, but config.yml sets another model (default_model); change it there and restart \
                       the server";
        return Err(refused(message.to_owned()));
    }
    let models = &caller.tenant().models;
    caller.tenant().runtime.models.set(&config.endpoints).map_err(EngineError::from)?;
    Ok(Json(models.status()))
}

/// The environment variables of one provider.
struct ProviderEnvVars {
    key: &'static str,
    address: &'static str,
    model: &'static str,
}

const DEEPSEEK: ProviderEnvVars =
    ProviderEnvVars { key: "DEEPSEEK_API_KEY", address: "DEEPSEEK_BASE_URL", model: "DEEPSEEK_MODEL" };
const OPENAI: ProviderEnvVars =
    ProviderEnvVars { key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", model: "OPENAI_MODEL" };

impl ProviderEnvVars {
    fn of(endpoint: &Endpoint) -> Self {
        if endpoint.profile.kind == ProfileKind::DeepSeek && endpoint.api_key.is_some() { DEEPSEEK } else { OPENAI }
    }

    fn all(&self) -> [&'static str; 3] {
        [self.key, self.address, self.model]
    }
}

/// Reports a malformed body without quoting it, because it may contain a key.
fn redacted_json_error(_: JsonRejection) -> ApiError {
    ApiError::bad_request("bad_json", "send base_url, api_key where there is one, and nothing else but the model")
}

fn endpoint(base_url: &str, api_key: Option<&SecretString>, model: &str) -> Result<Endpoint, ApiError> {
    let bad = |message: &str| ApiError::bad_request("bad_address", message);
    let url = Url::parse(base_url.trim()).map_err(|_| bad("invalid URL; use one like https://api.openai.com/v1"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(bad("the URL must start with https:// or http:// and include a host"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("the URL can't include a user, password or query; enter the API key in its own field"));
    }
    let key = api_key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    let fits = |key: &str| key.len() <= MAX_LENGTH && key.chars().all(|c| c.is_ascii_graphic() && c != '\'');
    if key.is_some_and(|key| !fits(key)) {
        return Err(ApiError::bad_request(
            "bad_key",
            "invalid API key: it contains spaces, quotes or other invalid characters, or is too long",
        ));
    }
    let profile = Profile::from_url(&url, model);
    Ok(Endpoint {
        context_window: profile.context_window(model),
        label: String::new(),
        model: model.to_owned(),
        api_key: key.map(|key| SecretString::from(key.to_owned())),
        base_url: url,
        profile,
    })
}
