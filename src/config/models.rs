//! The models of `models` in config.yml and of the environment's variables, and which of them is the default.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{ConfigError, ConfiguredEndpoint, Environment, File, OPENAI_URL, bad, substitute, url};
use crate::provider::{Api, Endpoint, Profile, ProfileKind};

const DEEPSEEK_URL: &str = "https://api.deepseek.com";
const DEEPSEEK_MODEL: &str = "deepseek-chat";
const OPENAI_MODEL: &str = "gpt-5-mini";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    id: String,
    name: Option<String>,
    api_url: String,
    /// The form of requests, if the address does not tell it.
    api: Option<Api>,
    api_key: Option<SecretString>,
    /// Name to send as `model`; the id if absent.
    model: Option<String>,
    context_window: Option<u32>,
    /// Whether the model sees pictures.
    vision: Option<bool>,
}

impl ModelEntry {
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

pub(super) fn deepseek(environment: &Environment) -> Result<Option<ConfiguredEndpoint>, ConfigError> {
    let Some((key, from)) = environment.get("DEEPSEEK_API_KEY") else { return Ok(None) };
    let address = environment.value("DEEPSEEK_BASE_URL").unwrap_or(DEEPSEEK_URL);
    let model = environment.value("DEEPSEEK_MODEL").unwrap_or(DEEPSEEK_MODEL);
    let url = url(address).map_err(|reason| bad(from, format!("DEEPSEEK_BASE_URL {reason}")))?;
    let endpoint = endpoint(url, model, Some(key.to_owned().into()));
    Ok(Some(ConfiguredEndpoint { id: None, endpoint, from: from.to_owned() }))
}

pub(super) fn openai(environment: &Environment) -> Result<Option<ConfiguredEndpoint>, ConfigError> {
    let key = environment.get("OPENAI_API_KEY");
    let address = environment.get("OPENAI_BASE_URL");
    // A self-hosted server may need no key; its address alone is then enough.
    let from = match (key, address) {
        (Some((_, from)), _) => from,
        (None, Some((address, from))) if address.trim_end_matches('/') != OPENAI_URL => from,
        _ => return Ok(None),
    };
    let model = environment.value("OPENAI_MODEL").unwrap_or(OPENAI_MODEL);
    let address = address.map_or(OPENAI_URL, |(address, _)| address);
    let url = url(address).map_err(|reason| bad(from, format!("OPENAI_BASE_URL {reason}")))?;
    let key = key.map(|(key, _)| SecretString::from(key.to_owned()));
    Ok(Some(ConfiguredEndpoint { id: None, endpoint: endpoint(url, model, key), from: from.to_owned() }))
}

/// Reads a model of config.yml. A variable that is not set makes the entry unusable, which is only a warning: the
/// others still work.
pub(super) fn configured(
    entry: &ModelEntry,
    environment: &Environment,
) -> Result<Result<Endpoint, String>, ConfigError> {
    let unset = |name: String| format!("model {}: the variable {name} is not set, so this model is left out", entry.id);
    let address = match substitute(&entry.api_url, environment) {
        Ok(address) => address,
        Err(name) => return Ok(Err(unset(name))),
    };
    let key = match entry.api_key.as_ref().map(|key| substitute(key.expose_secret(), environment)).transpose() {
        Ok(key) => key.filter(|key| !key.is_empty()).map(SecretString::from),
        Err(name) => return Ok(Err(unset(name))),
    };
    let url = url(&address).map_err(|reason| bad("config.yml", format!("models: {}: api_url {reason}", entry.id)))?;
    let mut endpoint = endpoint(url, entry.model.as_deref().unwrap_or(&entry.id), key).with_api(entry.api);
    if let Some(name) = &entry.name {
        endpoint.label.clone_from(name);
    }
    if let Some(window) = entry.context_window {
        endpoint.context_window = window;
    }
    endpoint.profile.vision = entry.vision.unwrap_or_default();
    Ok(Ok(endpoint))
}

pub(super) fn endpoint(base_url: Url, model: &str, api_key: Option<SecretString>) -> Endpoint {
    let profile = Profile::from_url(&base_url, model);
    let context_window = profile.context_window(model);
    let label = match profile.kind {
        ProfileKind::Other => model.to_owned(),
        ref kind => format!("{} {model}", kind.name()),
    };
    Endpoint { profile, base_url, api_key, model: model.to_owned(), label, context_window, price: None, reach: None }
}

/// Moves the chosen model to the front. Returns the choice if it is not a configured model.
pub(super) fn choose(endpoints: &mut [ConfiguredEndpoint], file: &File) -> Option<String> {
    let wanted = file.default_model.as_ref()?;
    let name = model_of(file, wanted);
    let has_id = |one: &ConfiguredEndpoint| one.id.as_ref() == Some(wanted);
    let fits = |ConfiguredEndpoint { endpoint, .. }: &ConfiguredEndpoint| {
        endpoint.model == name || endpoint.profile.kind.name().eq_ignore_ascii_case(wanted)
    };
    match endpoints.iter().position(has_id).or_else(|| endpoints.iter().position(fits)) {
        Some(place) => {
            endpoints[..=place].rotate_right(1);
            None
        }
        None => Some(wanted.clone()),
    }
}

/// Returns the name to send as `model` for an id of the list; other names stay unchanged.
pub(super) fn model_of<'a>(file: &'a File, id: &'a str) -> &'a str {
    let entry = file.models.iter().find(|entry| entry.id == *id);
    entry.map_or(id, |entry| entry.model.as_deref().unwrap_or(&entry.id))
}
