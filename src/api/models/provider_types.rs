//! Providers and models as the page sees them. Keys are never part of it.

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::clock;
use crate::config::providers::ProviderPlace;
use crate::domain::ErrorParams;
use crate::engine::provider_list::{KnownThinking, KnownWindow, ListedModel, ListedPlace, ListedProvider};
use crate::provider::{Api, Health, HealthState, Problem};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Providers {
    pub(super) providers: Vec<ProviderInfo>,
    /// Providers that can be added.
    pub(super) known: Vec<KnownProvider>,
    /// Id of the default model; null if there is no model.
    pub(super) default_model: Option<String>,
    pub(super) fallback_model: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProviderInfo {
    pub(super) id: String,
    pub(super) name: String,
    /// `deepseek`, `openai`, …; `other` for any server with OpenAI's API.
    pub(super) kind: String,
    /// Empty for the embedded model.
    pub(super) base_url: String,
    /// The form of requests: `openai`, `anthropic` or `responses`; null if the address tells it.
    #[schema(value_type = Option<String>)]
    pub(super) api: Option<Api>,
    pub(super) source: ProviderOrigin,
    pub(super) editable: bool,
    /// Why it cannot be changed here: `in_environment`, `in_env_file`, `in_models`, `found`, `built_in`.
    pub(super) read_only_reason: Option<String>,
    pub(super) key: KeyInfo,
    /// What the last request or check had as a result.
    pub(super) state: ProviderState,
    /// When it got into this state, as RFC 3339; null before the first request.
    pub(super) state_since: Option<String>,
    pub(super) detail: Option<ProviderDetail>,
    pub(super) models: Vec<ProviderModelInfo>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub enum ProviderOrigin {
    #[serde(rename = "environment")]
    Environment,
    #[serde(rename = ".env")]
    EnvFile,
    #[serde(rename = "config.yml")]
    ConfigFile,
    #[serde(rename = "found")]
    Found,
    #[serde(rename = "built-in")]
    BuiltIn,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct KeyInfo {
    pub(super) set: bool,
    /// `environment`, `.env` or `config.yml`; null without a key.
    pub(super) source: Option<String>,
    pub(super) variable: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderState {
    /// Nothing was asked since the start.
    Unchecked,
    Ready,
    Unreachable,
    /// The key is not accepted, or the account has no credit.
    Refused,
    Error,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProviderDetail {
    pub(super) code: String,
    pub(super) message: String,
    /// Values that the message contains, by name.
    #[schema(value_type = HashMap<String, String>)]
    pub(super) params: ErrorParams,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProviderModelInfo {
    /// The id in `GET /api/models`, if the model is enabled.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) label: Option<String>,
    pub(super) context_window: WindowInfo,
    pub(super) price: Option<PriceInfo>,
    /// Null if it is not known.
    pub(super) vision: Option<bool>,
    pub(super) thinking: Option<ThinkingAbility>,
    pub(super) enabled: bool,
    pub(super) favorite: bool,
    pub(super) default: bool,
    pub(super) fallback: bool,
    pub(super) parameters: ModelParameters,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct WindowInfo {
    /// Null if it is not known.
    pub(super) tokens: Option<u32>,
    pub(super) source: WindowOrigin,
}

#[derive(Serialize, utoipa::ToSchema)]
pub enum WindowOrigin {
    #[serde(rename = "provider")]
    Provider,
    #[serde(rename = "known")]
    Known,
    #[serde(rename = "config.yml")]
    ConfigFile,
    #[serde(rename = "default")]
    Default,
}

/// The price of a million tokens.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PriceInfo {
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) cached_input: Option<f64>,
    pub(super) currency: String,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingAbility {
    Switchable,
    Always,
    Never,
}

/// What a person has set; null leaves it to the model.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ModelParameters {
    pub(super) temperature: Option<f32>,
    pub(super) top_p: Option<f32>,
    pub(super) max_tokens: Option<u32>,
    pub(super) context_window: Option<u32>,
    pub(super) thinking: Option<bool>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct KnownProvider {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) base_url: String,
    pub(super) needs_key: bool,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderToAdd {
    /// Base URL of the API, e.g. `https://api.openai.com/v1`.
    pub(super) base_url: String,
    /// The form of requests: `openai`, `anthropic` or `responses`; absent or null if the address tells it.
    #[schema(value_type = Option<String>)]
    pub(super) api: Option<Api>,
    /// The key. May be absent for a server that needs none.
    #[schema(value_type = Option<String>)]
    pub(super) api_key: Option<SecretString>,
    pub(super) name: Option<String>,
    /// The name of its model that becomes the default model; absent keeps the present one.
    pub(super) default_model: Option<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderAddress {
    /// Base URL of the API, e.g. `https://api.openai.com/v1`.
    pub(super) base_url: String,
    /// The form of requests: `openai`, `anthropic` or `responses`; absent or null if the address tells it.
    #[schema(value_type = Option<String>)]
    pub(super) api: Option<Api>,
    /// The key. May be absent for a server that needs none.
    #[schema(value_type = Option<String>)]
    pub(super) api_key: Option<SecretString>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProviderModels {
    /// The models that can be chosen, by the provider's names.
    pub(super) models: Vec<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderPatch {
    pub(super) name: Option<String>,
    pub(super) base_url: Option<String>,
    /// The form of requests: `openai`, `anthropic` or `responses`. Null if the address tells it; absent keeps it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(super) api: Option<Option<Api>>,
    /// Null removes the key; absent keeps it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(super) api_key: Option<Option<SecretString>>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPatch {
    pub(super) favorite: Option<bool>,
    pub(super) enabled: Option<bool>,
    /// `temperature`, `top_p`, `max_tokens`, `context_window`, `thinking`; null removes one.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>)]
    pub(super) parameters: Map<String, Value>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRole {
    /// Id of a model that can be chosen; null for none.
    pub(super) model: Option<String>,
}

/// Distinguishes a null from an absent field.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

impl ProviderState {
    pub(super) fn of(health: Option<&Health>) -> Self {
        match health.map(|health| health.state) {
            None => Self::Unchecked,
            Some(HealthState::Ready) => Self::Ready,
            Some(HealthState::Unreachable) => Self::Unreachable,
            Some(HealthState::Refused) => Self::Refused,
            Some(HealthState::Error) => Self::Error,
        }
    }
}

impl From<Problem> for ProviderDetail {
    fn from(Problem { code, message, params }: Problem) -> Self {
        Self { code: code.to_owned(), message, params }
    }
}

impl From<ListedProvider> for ProviderInfo {
    fn from(provider: ListedProvider) -> Self {
        let (source, reason) = match provider.place {
            ListedPlace::Configured(ProviderPlace::Environment) => {
                (ProviderOrigin::Environment, Some("in_environment"))
            }
            ListedPlace::Configured(ProviderPlace::EnvFile) => (ProviderOrigin::EnvFile, Some("in_env_file")),
            ListedPlace::Configured(ProviderPlace::Models) => (ProviderOrigin::ConfigFile, Some("in_models")),
            ListedPlace::Configured(ProviderPlace::Providers(_)) => (ProviderOrigin::ConfigFile, None),
            ListedPlace::Found => (ProviderOrigin::Found, Some("found")),
            ListedPlace::BuiltIn => (ProviderOrigin::BuiltIn, Some("built_in")),
        };
        let key_source = match &provider.variable {
            Some((_, from)) => Some((*from).to_owned()),
            None => provider.has_key.then(|| "config.yml".to_owned()),
        };
        let health = provider.health;
        Self {
            id: provider.id,
            name: provider.name,
            kind: provider.kind.word().to_owned(),
            base_url: provider.base_url,
            api: provider.api,
            source,
            editable: reason.is_none(),
            read_only_reason: reason.map(str::to_owned),
            key: KeyInfo {
                set: provider.has_key,
                source: key_source,
                variable: provider.variable.map(|(name, _)| name),
            },
            state: ProviderState::of(health.as_ref()),
            state_since: health.as_ref().map(|health| clock::rfc3339(health.since)),
            detail: health.and_then(|health| health.problem).map(ProviderDetail::from),
            models: provider.models.into_iter().map(ProviderModelInfo::from).collect(),
        }
    }
}

impl From<ListedModel> for ProviderModelInfo {
    fn from(model: ListedModel) -> Self {
        let settings = model.settings;
        let (tokens, source) = match model.window {
            KnownWindow::Unknown => (None, WindowOrigin::Default),
            KnownWindow::Provider(tokens) => (Some(tokens), WindowOrigin::Provider),
            KnownWindow::Known(tokens) => (Some(tokens), WindowOrigin::Known),
            KnownWindow::Configured(tokens) => (Some(tokens), WindowOrigin::ConfigFile),
        };
        Self {
            id: model.id,
            name: settings.name,
            label: settings.label,
            context_window: WindowInfo { tokens, source },
            price: settings.price.map(|price| PriceInfo {
                input: price.input,
                output: price.output,
                cached_input: price.cached_input,
                currency: price.currency,
            }),
            vision: model.vision,
            thinking: model.thinking.map(|thinking| match thinking {
                KnownThinking::Switchable => ThinkingAbility::Switchable,
                KnownThinking::Always => ThinkingAbility::Always,
                KnownThinking::Never => ThinkingAbility::Never,
            }),
            enabled: model.is_enabled,
            favorite: model.is_favorite,
            default: model.is_default,
            fallback: model.is_fallback,
            parameters: ModelParameters {
                temperature: settings.temperature,
                top_p: settings.top_p,
                max_tokens: settings.max_tokens,
                context_window: settings.context_window,
                thinking: settings.thinking,
            },
        }
    }
}
